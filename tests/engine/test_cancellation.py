"""Behaviours 1 to 7 and 14 of cancellation: it passes through unchanged, and nothing follows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.cancelling import Cancel, Canceller, Outcome
from tests.engine.doubles import OnRequest, OnResponse, breaker_of, down, raising, retries
from tests.engine.stream_doubles import Opens, Source, terminal_events
from tests.engine.virtual_time import LoopClock
from tramapy import CircuitBreakerSettings, EngineEventObserver, ProviderError, Route
from tramapy.resilience.breaker import BreakerState, Permit
from tramapy.testing import RecordingObserver, ScriptedProvider

kinds = pytest.mark.parametrize("kind", ["complete", "stream"])

Answer = Callable[[Any], Awaitable[Any]]


async def call(rig: Rig, kind: str) -> Any:
    """Run an operation to its end."""
    if kind == "complete":
        return await rig.tramapy.complete(HELLO, model="m")
    async with rig.tramapy.stream(HELLO, model="m") as stream:
        return [chunk async for chunk in stream]


class InCall:
    """A provider whose call is cancelled while it is under way."""

    def __init__(self, *before: Any, then: tuple[Any, ...] = ()) -> None:
        self.cancel: Cancel = lambda: None
        self.seen: list[BaseException] = []
        self.provider = ScriptedProvider([*before, self._wait, *then])

    async def _wait(self, _: object) -> Any:
        self.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            self.seen.append(error)
            raise

    def run(self, canceller: Canceller, kind: str, rig: Rig) -> Outcome:
        async def body(cancel: Cancel) -> Any:
            self.cancel = cancel
            return await call(rig, kind)

        return canceller.run(body)


def fallback(
    primary: ScriptedProvider, **settings: Any
) -> tuple[dict[str, Any], dict[str, Any], ScriptedProvider]:
    backup = ScriptedProvider(["fine"])
    routes = {"default_provider": "p", "fallbacks": {"m": [Route("q")]}, **settings}
    return {"p": primary, "q": backup}, routes, backup


@kinds
def test_cancel_01_the_cancellation_comes_out_unchanged(canceller: Canceller, kind: str) -> None:
    inside = InCall()
    rig = canceller.driver.rig(inside.provider)
    outcome = inside.run(canceller, kind, rig)
    assert outcome.is_cancelled
    assert outcome.raised is inside.seen[0]
    assert isinstance(outcome.raised, canceller.error_type)


@kinds
def test_cancel_02_nothing_starts_after_it(canceller: Canceller, kind: str) -> None:
    inside = InCall()
    hook = OnResponse()
    providers, routes, backup = fallback(inside.provider, retry=retries(2), interceptors=[hook])
    rig = canceller.driver.rig(providers, **routes)
    outcome = inside.run(canceller, kind, rig)
    assert outcome.is_cancelled
    assert (len(inside.provider.requests), len(backup.requests), len(hook.inputs)) == (1, 0, 0)
    assert rig.clock.sleeps == ()


@kinds
def test_cancel_02_asyncios_count_is_left_as_the_caller_made_it(kind: str) -> None:
    inside = InCall()
    canceller = Canceller("asyncio", "task")
    outcome = inside.run(canceller, kind, canceller.driver.rig(inside.provider))
    assert outcome.cancelling == 1


@kinds
def test_cancel_02_a_cancel_before_the_call_reaches_no_provider(canceller: Canceller, kind: str) -> None:
    inside = InCall()
    rig = canceller.driver.rig(inside.provider)

    async def body(cancel: Cancel) -> Any:
        cancel()
        return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.is_cancelled
    assert inside.seen == [], "the provider's own first checkpoint raised it"


@kinds
def test_rt138_cancellation_is_one_call_no_fallback_and_one_cancelled_event(
    canceller: Canceller, kind: str
) -> None:
    """The original's callbacks are events here, by decision 6."""
    inside = InCall()
    providers, routes, backup = fallback(inside.provider, retry=retries(2))
    rig = canceller.driver.rig(providers, **routes)
    inside.run(canceller, kind, rig)
    assert (len(inside.provider.requests), len(backup.requests)) == (1, 0)
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert rig.attributes_of("attempt.cancelled")[0]["cancel_reason"] == "cancelled"
    (completed,) = rig.attributes_of("operation.completed")
    assert completed["outcome"] == "cancelled"
    assert "failure_kind" not in completed


@kinds
def test_rt142_cancellation_schedules_no_retry_and_opens_no_circuit(canceller: Canceller, kind: str) -> None:
    inside = InCall()
    settings = CircuitBreakerSettings(failure_threshold=1)
    rig = canceller.driver.rig(inside.provider, retry=retries(2), circuit_breaker=settings)
    inside.run(canceller, kind, rig)
    assert not {"retry.scheduled", "circuit.opened"} & set(rig.names)
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


@kinds
def test_rt140_an_observer_that_fails_beside_it_is_a_note_on_it(canceller: Canceller, kind: str) -> None:
    """The failure itself may hold payload, so its type alone is attached (decision 20)."""

    class Fails(EngineEventObserver):
        def on_engine_event(self, name: str, attributes: object) -> None:
            if name == "tramai.attempt.cancelled":
                raise ValueError("canary-7f3a91c2")

    inside = InCall()
    after = RecordingObserver()
    rig = canceller.driver.rig(inside.provider, event_observers=[Fails(), after])
    outcome = inside.run(canceller, kind, rig)
    assert outcome.is_cancelled
    assert outcome.raised is inside.seen[0]
    assert outcome.raised.__notes__ == [
        "An engine event observer raised ValueError on tramai.attempt.cancelled."
    ]
    assert "tramai.attempt.cancelled" in after.names


@pytest.mark.unmeasured
def test_cancel_05_a_thousand_cancelled_calls_leave_the_breaker_as_it_was(canceller: Canceller) -> None:
    inside = InCall()
    provider = ScriptedProvider([down(), down(), *[inside._wait] * 1000, down()])
    rig = canceller.driver.rig(
        provider,
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=3),
        event_observers=[],
    )
    breaker = breaker_of(rig)

    async def body(cancel: Cancel) -> Any:
        inside.cancel = cancel
        return await call(rig, "complete")

    async def fail() -> None:
        with pytest.raises(ProviderError):
            await call(rig, "complete")

    async def main() -> None:
        await fail()
        await fail()
        for _ in range(1000):
            assert (await canceller.within(body)).is_cancelled
        assert breaker.state("p") is BreakerState.CLOSED
        await fail()

    canceller.run_plainly(main)
    assert breaker.state("p") is BreakerState.OPEN, (
        "the two failures before it still count, and no more than two"
    )


def test_cancel_06_a_cancelled_probe_of_a_stream_frees_its_place(canceller: Canceller) -> None:
    inside = InCall(down(), then=("fine",))
    rig = canceller.driver.rig(
        inside.provider, retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(30.0)
    assert inside.run(canceller, "stream", rig).is_cancelled
    breaker = breaker_of(rig)
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert isinstance(breaker.admit("p"), Permit)


@kinds
@pytest.mark.parametrize("makes", [down(), ValueError("no")], ids=["a-retryable-error", "a-foreign-error"])
def test_cancel_07_an_error_that_a_provider_makes_of_it_counts_for_nothing(
    canceller: Canceller, kind: str, makes: Exception
) -> None:
    cancels: list[Cancel] = []

    async def answer(_: object) -> Any:
        cancels[0]()
        try:
            await anyio.sleep_forever()
        except BaseException:
            raise makes from None

    provider = ScriptedProvider([answer, "late"])
    rig = canceller.driver.rig(
        provider, retry=retries(2), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )

    async def body(cancel: Cancel) -> Any:
        cancels.append(cancel)
        return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.is_cancelled
    assert isinstance(outcome.raised, canceller.error_type)
    assert len(provider.requests) == 1
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert not {"retry.scheduled", "circuit.opened"} & set(rig.names)


@kinds
def test_cancel_14_a_retry_delay_is_cancelled_at_once(canceller: Canceller, kind: str) -> None:
    provider = ScriptedProvider([down(retry_after_s=20.0), "late"])
    rig = canceller.driver.rig(
        provider,
        retry=retries(2),
        clock=LoopClock(),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )

    async def body(cancel: Cancel) -> Any:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_after, 5.0, cancel)
            return await call(rig, kind)

    async def cancel_after(delay_s: float, cancel: Cancel) -> None:
        await anyio.sleep(delay_s)
        cancel()

    async def main() -> float:
        started_s = anyio.current_time()
        assert (await canceller.within(body)).is_cancelled
        return anyio.current_time() - started_s

    elapsed_s = canceller.run_plainly(main)
    assert elapsed_s == pytest.approx(5.0)
    assert len(provider.requests) == 1
    assert terminal_events(rig.names) == ["attempt.failed"]
    assert rig.names[-1] == "operation.completed"
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "cancelled"
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


@kinds
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("place", ["provider", "request", "response"])
def test_cancel_28_an_exit_takes_the_path_of_a_cancellation(
    driver: Driver, kind: str, error: type[BaseException], place: str
) -> None:
    fails = raising(error())
    primary = ScriptedProvider([fails if place == "provider" else "one", "two"])
    hooks = {"request": [OnRequest(fails)], "response": [OnResponse(fails)]}.get(place, [])
    providers, routes, backup = fallback(
        primary,
        retry=retries(2),
        interceptors=hooks,
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    rig = driver.rig(providers, **routes)
    with pytest.raises(error):
        rig.complete() if kind == "complete" else rig.stream()
    assert (len(primary.requests), len(backup.requests)) == (0 if place == "request" else 1, 0)
    assert terminal_events(rig.names) == ([] if place == "request" else ["attempt.cancelled"])
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "cancelled"
    assert not {"retry.scheduled", "circuit.opened"} & set(rig.names)
    if error is not GeneratorExit:  # that one means: wait for nothing; see below
        assert primary.open_stream_count == 0


@kinds
def test_cancel_28_a_call_whose_coroutine_is_closed_ends_once(async_driver: Driver, kind: str) -> None:
    async def main() -> None:
        inside = InCall()
        rig = async_driver.rig(inside.provider, circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
        pending: Any = call(rig, kind)
        pending.send(None)
        pending.close()
        assert terminal_events(rig.names) == ["attempt.cancelled"]
        assert rig.names[-1] == "operation.completed"

    async_driver.run(main)


def test_cancel_28_a_stream_whose_coroutine_is_closed_waits_for_nothing(async_driver: Driver) -> None:
    """A coroutine that is being closed may not await, so the provider's stream is left to its finalizer."""

    async def main() -> None:
        source = Source("one ", anyio.sleep_forever, on_close=anyio.lowlevel.checkpoint)
        rig = async_driver.rig({"p": Opens(lambda: source)})
        stream = rig.tramapy.stream(HELLO, model="m")
        await anext(stream)
        pending = anext(stream).__await__()
        next(pending)
        pending.close()
        assert source.close_count == 0
        assert terminal_events(rig.names) == ["attempt.cancelled"]
        assert [chunk async for chunk in stream] == []

    async_driver.run(main)
