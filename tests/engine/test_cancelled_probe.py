"""Cancellation behaviour 6: a cancelled half-open probe never blocks the circuit, wherever the cancel hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.drivers import Driver, Rig
from tests.engine.doubles import breaker_of, call_inside, down, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    DlpContext,
    DlpInterceptor,
    DlpResult,
    Message,
    ModelResponse,
    OperationInterceptor,
    ProviderError,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import FakeClock, ScriptedProvider

PLACES = ["request interceptor", "provider", "retry delay", "dlp", "response interceptor"]


class Canceller:
    """Cancels the running operation where it is told to: by scope on a loop, by an interrupt on a thread."""

    def __init__(self, driver: Driver, place: str) -> None:
        self._driver = driver
        self._place = place
        self.scope: anyio.CancelScope | None = None
        self.is_armed = False

    def at(self, place: str, value: Any) -> Any:
        """Pass `value` through, or cancel; in a world with awaits the answer is awaitable."""
        if not self._driver.is_async:
            if self.is_armed and place == self._place:
                raise KeyboardInterrupt
            return value
        return self._aat(place, value)

    async def _aat(self, place: str, value: Any) -> Any:
        if self.is_armed and place == self._place:
            assert self.scope is not None
            self.scope.cancel()
            await anyio.lowlevel.checkpoint()
        return value


class Cancelling(OperationInterceptor, DlpInterceptor):
    def __init__(self, canceller: Canceller) -> None:
        self._canceller = canceller

    def intercept_request(self, context: object, messages: Sequence[Message]) -> Any:
        return self._canceller.at("request interceptor", messages)

    def intercept_response(self, context: object, response: ModelResponse) -> Any:
        return self._canceller.at("response interceptor", response)

    def inspect(self, context: DlpContext, text: str) -> Any:
        return self._canceller.at("dlp", DlpResult(text))


class CancellingClock(FakeClock):
    canceller: Canceller

    def sleep(self, delay_s: float) -> None:
        self.canceller.at("retry delay", None)
        super().sleep(delay_s)

    async def asleep(self, delay_s: float) -> None:
        await self.canceller.at("retry delay", None)
        await super().asleep(delay_s)


def probing(driver: Driver, place: str, **breaker: Any) -> tuple[Rig, Canceller]:
    """Make a rig with a half-open circuit to come, and a probe that is cancelled at `place`."""
    canceller = Canceller(driver, place)
    clock = CancellingClock()
    clock.canceller = canceller
    hook = Cancelling(canceller)
    probe_answer = down() if place == "retry delay" else (lambda _: canceller.at("provider", "probe"))
    answers = (
        [down(), down(), probe_answer, "after"] if _reaches_provider(place) else [down(), down(), "after"]
    )
    rig = driver.rig(
        ScriptedProvider(answers),
        retry=retries(1),
        clock=clock,
        interceptors=[hook],
        dlp=hook,
        circuit_breaker=CircuitBreakerSettings(open_duration_s=100.0, **breaker),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(101.0)
    return rig, canceller


def _reaches_provider(place: str) -> bool:
    return place != "request interceptor"


def cancel(rig: Rig, canceller: Canceller) -> None:
    """Run an operation that is cancelled."""
    canceller.is_armed = True
    if not rig.driver.is_async:
        with pytest.raises(KeyboardInterrupt):
            rig.complete()
    else:

        async def main() -> None:
            with anyio.CancelScope() as canceller.scope:
                await call_inside(rig)
            assert canceller.scope.cancelled_caught

        rig.driver.run(main)
    canceller.is_armed = False


@pytest.mark.parametrize("place", PLACES)
def test_cancel_06_release_frees_the_probes_place_at_once(driver: Driver, place: str) -> None:
    """Decision 5: the default; half open, a new generation, no event."""
    rig, canceller = probing(driver, place, failure_threshold=1)
    cancel(rig, canceller)
    assert breaker_of(rig).state("p") is BreakerState.HALF_OPEN
    assert rig.complete().content == "after"
    assert breaker_of(rig).state("p") is BreakerState.CLOSED
    assert len(rig.attributes_of("circuit.opened")) == 1


@pytest.mark.parametrize("place", PLACES)
def test_cancel_06_reopen_shuts_for_a_fresh_period_silently(driver: Driver, place: str) -> None:
    """Decision 5: the original's way, as an option."""
    rig, canceller = probing(driver, place, failure_threshold=1, neutral_probe="reopen")
    cancel(rig, canceller)
    assert breaker_of(rig).state("p") is BreakerState.OPEN
    with pytest.raises(CircuitBreakerOpenError) as caught:
        rig.complete()
    assert caught.value.retry_after_s == pytest.approx(100.0)
    rig.clock.advance(101.0)
    assert rig.complete().content == "after"
    assert len(rig.attributes_of("circuit.opened")) == 1


@pytest.mark.parametrize("place", [place for place in PLACES if place != "retry delay"])
def test_cancel_06_windowed_profile_frees_the_place_at_once(driver: Driver, place: str) -> None:
    window = CircuitBreakerWindow(size_calls=2, minimum_calls=2, half_open_permits=1)
    rig, canceller = probing(driver, place, window=window)
    cancel(rig, canceller)
    assert breaker_of(rig).state("p") is BreakerState.HALF_OPEN
    assert rig.complete().content == "after"


@pytest.mark.parametrize("place", PLACES)
def test_cancel_06_the_attempt_ends_once(driver: Driver, place: str) -> None:
    rig, canceller = probing(driver, place, failure_threshold=1)
    before = len(rig.names)
    cancel(rig, canceller)
    ends = {
        "request interceptor": [],
        "retry delay": ["attempt.failed"],  # it had failed before the delay began
    }.get(place, ["attempt.cancelled"])
    names = rig.names[before:]
    assert [
        name for name in names if name in ("attempt.failed", "attempt.cancelled", "attempt.completed")
    ] == ends
    assert names[-1] == "operation.completed"
    assert rig.attributes_of("operation.completed")[-1]["outcome"] == "cancelled"
