"""Behaviours 8 to 13 of cancellation: whose limit it was that passed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio

from tests.drivers import Driver, Rig
from tests.engine.cancelling import Cancel, Canceller
from tests.engine.doubles import OnRequest, OnResponse, breaker_of, down, retries
from tests.engine.stream_doubles import terminal_events
from tests.engine.test_cancellation import call, kinds
from tests.engine.virtual_time import LoopClock, run_virtually
from tramapy import (
    CircuitBreakerSettings,
    DeadlineExceededError,
    InterceptorError,
    ProviderError,
    ProviderTimeoutError,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import FakeClock, ScriptedProvider

NEVER = 1e6


def slow(delay_s: float = NEVER) -> Callable[[Any], Awaitable[str]]:
    """Make an answer that takes time of the event loop's."""

    async def answer(_: object) -> str:
        await anyio.sleep(delay_s)
        return "late"

    return answer


def timed(driver: Driver, *answers: Any, **settings: Any) -> Rig:
    """Make a facade whose clock is the loop's own, with a breaker that one failure opens."""
    return driver.rig(
        ScriptedProvider(answers),
        clock=LoopClock(),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **{"retry": retries(0), **settings},
    )


def outcome_of(driver: Driver, rig: Rig, kind: str) -> BaseException | None:
    """Run an operation on a loop whose time jumps, and return what it raised."""

    async def main() -> BaseException | None:
        try:
            await call(rig, kind)
        except Exception as error:
            return error
        return None

    raised: BaseException | None = run_virtually(driver.name, main)
    return raised


@kinds
def test_cancel_08_our_timeout_is_typed_counted_and_retried(async_driver: Driver, kind: str) -> None:
    rig = timed(async_driver, slow(), slow(), timeout_s=10.0, retry=retries(1))
    error = outcome_of(async_driver, rig, kind)
    assert type(error) is ProviderTimeoutError
    assert terminal_events(rig.names) == ["attempt.failed"] * 2
    assert rig.names.count("circuit.opened") == 1


@kinds
@pytest.mark.parametrize("first", ["the-caller", "our-timeout"])
def test_cancel_08_the_callers_cancel_wins_over_a_timeout_of_the_same_tick(
    canceller: Canceller, kind: str, first: str
) -> None:
    cancels: list[Cancel] = []

    async def answer(_: object) -> Any:
        if first == "our-timeout":  # our timer is set by now, so the caller's comes after it
            _cancel_at(cancels[0], 10.0)
        await anyio.sleep(NEVER)

    rig = timed(canceller.driver, answer, timeout_s=10.0)

    async def body(cancel: Cancel) -> Any:
        cancels.append(cancel)
        if first == "the-caller":
            _cancel_at(cancel, 10.0)
        return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.is_cancelled
    assert isinstance(outcome.raised, canceller.error_type)
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def _cancel_at(cancel: Cancel, at_s: float) -> None:
    """Cancel at a moment of the loop's time, by a timer of its own where the loop has such."""
    scope = getattr(cancel, "__self__", None)
    if isinstance(scope, asyncio.Task):
        scope.get_loop().call_at(at_s, cancel)
    else:
        # trio's virtual clock does not begin at 0, but no time has passed either
        scope.deadline = anyio.current_time() + at_s  # type: ignore[union-attr]  # a cancel scope's method


@kinds
def test_cancel_09_a_timeout_of_the_providers_transport_is_its_own(async_driver: Driver, kind: str) -> None:
    mapped = ProviderTimeoutError("the transport gave up")
    rig = timed(async_driver, mapped, timeout_s=10.0)
    assert outcome_of(async_driver, rig, kind) is mapped
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "timeout"


@kinds
@pytest.mark.parametrize("error", [TimeoutError(), trio.TooSlowError()], ids=["TimeoutError", "TooSlowError"])
def test_cancel_09_an_unmapped_timeout_of_the_providers_is_its_defect(
    async_driver: Driver, kind: str, error: Exception
) -> None:
    rig = timed(async_driver, error, timeout_s=10.0)
    raised = outcome_of(async_driver, rig, kind)
    assert type(raised) is ProviderError
    assert not isinstance(raised, TimeoutError)
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "provider"


@kinds
def test_cancel_09_the_operations_deadline_is_its_own(async_driver: Driver, kind: str) -> None:
    rig = timed(async_driver, slow(), timeout_s=10.0, deadline_s=4.0, retry=retries(3))
    assert type(outcome_of(async_driver, rig, kind)) is DeadlineExceededError
    assert terminal_events(rig.names) == ["attempt.failed"]
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


@kinds
@pytest.mark.parametrize("side", ["request", "response"])
def test_cancel_09_a_timeout_of_an_interceptor_is_the_interceptors(
    async_driver: Driver, kind: str, side: str
) -> None:
    async def too_slow(_: object) -> Any:
        with anyio.fail_after(1.0):
            await anyio.sleep(NEVER)

    hook = OnRequest(too_slow) if side == "request" else OnResponse(too_slow)
    rig = timed(async_driver, "one", interceptors=[hook], timeout_s=10.0)
    error = outcome_of(async_driver, rig, kind)
    assert type(error) is InterceptorError
    assert "raised TimeoutError" in str(error)
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


@kinds
def test_cancel_10_our_timeout_is_a_timeout_error_and_never_trios(async_driver: Driver, kind: str) -> None:
    error = outcome_of(async_driver, timed(async_driver, slow(), timeout_s=10.0), kind)
    assert isinstance(error, TimeoutError)
    assert not isinstance(error, trio.TooSlowError)


@kinds
def test_cancel_10_the_deadlines_error_is_a_timeout_error_too(async_driver: Driver, kind: str) -> None:
    error = outcome_of(async_driver, timed(async_driver, slow(), deadline_s=4.0), kind)
    assert isinstance(error, TimeoutError)
    assert not isinstance(error, trio.TooSlowError)


@kinds
def test_cancel_11_one_deadline_covers_hooks_waits_and_attempts(async_driver: Driver, kind: str) -> None:
    """3 s in the hook, 3 in a failing call, 2 of delay, 3 in the hook again: 1 second is left of 12."""

    async def hook(messages: Any) -> Any:
        await anyio.sleep(3.0)
        return messages

    async def fail(_: object) -> Any:
        await anyio.sleep(3.0)
        raise down(retry_after_s=2.0)

    rig = timed(
        async_driver,
        fail,
        slow(),
        timeout_s=10.0,
        deadline_s=12.0,
        retry=retries(1),
        interceptors=[OnRequest(hook)],
    )
    elapsed: list[float] = []

    async def main() -> None:
        started_s = anyio.current_time()
        with pytest.raises(DeadlineExceededError) as caught:
            await call(rig, kind)
        assert isinstance(caught.value.__cause__, ProviderError)
        elapsed.append(anyio.current_time() - started_s)

    run_virtually(async_driver.name, main)
    assert elapsed == [pytest.approx(12.0)]


@kinds
def test_cancel_12_a_deadline_that_passed_at_entry_calls_nobody(driver: Driver, kind: str) -> None:
    class Runs(FakeClock):
        """A second passes with every look at it."""

        def now_s(self) -> float:
            self.advance(1.0)
            return super().now_s()

    provider = ScriptedProvider(["one"])
    rig = driver.rig(
        provider,
        clock=Runs(),
        deadline_s=0.5,
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(DeadlineExceededError):
        rig.complete() if kind == "complete" else rig.stream()
    assert provider.requests == ()
    assert rig.names == ["operation.started", "operation.completed"]


AROUND = [
    *[(backend, outer) for backend in ("asyncio", "trio") for outer in ("move_on_after", "fail_after")],
    ("asyncio", "asyncio.timeout"),
    ("trio", "trio.move_on_after"),
]


@kinds
@pytest.mark.parametrize(("backend", "outer"), AROUND)
def test_cancel_13_a_shorter_deadline_around_us_is_a_cancellation(
    kind: str, backend: str, outer: str
) -> None:
    rig = timed(Driver(backend), slow(), timeout_s=10.0, retry=retries(2))

    async def main() -> None:
        started_s = anyio.current_time()
        await _within(outer, 4.0, lambda: call(rig, kind))
        assert anyio.current_time() - started_s == pytest.approx(4.0)

    run_virtually(backend, main)
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


async def _within(outer: str, limit_s: float, work: Callable[[], Awaitable[Any]]) -> None:
    """Run `work` inside a limit of the caller's, and check that it is the caller's own that ends it."""
    if outer in ("move_on_after", "trio.move_on_after"):
        scope: Any = anyio.move_on_after(limit_s) if outer == "move_on_after" else trio.move_on_after(limit_s)
        with scope:
            await work()
        assert scope.cancelled_caught
        return
    with pytest.raises(TimeoutError) as caught:
        await _failing_after(outer, limit_s, work)
    assert type(caught.value) is TimeoutError, "none of ours"


async def _failing_after(outer: str, limit_s: float, work: Callable[[], Awaitable[Any]]) -> None:
    if outer == "fail_after":
        with anyio.fail_after(limit_s):
            await work()
    else:
        async with asyncio.timeout(limit_s):
            await work()
