"""The windowed profile through the engine: every attempt is admitted and reported for itself (decision 12)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Scripted, breaker_of, down, raising, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    DlpInspectionError,
    ProviderError,
    Route,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import FakeClock, ScriptedProvider


def windowed(open_duration_s: float = 100.0, **window: Any) -> CircuitBreakerSettings:
    """Judge the last four calls, from two on."""
    fields = {"size_calls": 4, "minimum_calls": 2, "half_open_permits": 1, **window}
    return CircuitBreakerSettings(open_duration_s=open_duration_s, window=CircuitBreakerWindow(**fields))


def test_every_attempt_is_reported(driver: Driver) -> None:
    provider = ScriptedProvider([down(), down()])
    rig = driver.rig(provider, retry=retries(3), circuit_breaker=windowed())
    with pytest.raises(ProviderError):
        rig.complete()
    assert len(provider.requests) == 2
    assert [event["attempt"] for event in rig.attributes_of("circuit.opened")] == [1]


def test_r14_a_retry_asks_for_admission(driver: Driver) -> None:
    """The circuit opens under the first attempts, so the retries that were left are not made."""
    providers = {"a": ScriptedProvider([down(), down()]), "b": ScriptedProvider(["from b"])}
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        retry=retries(5),
        circuit_breaker=windowed(),
    )
    assert rig.complete().content == "from b"
    assert len(providers["a"].requests) == 2


def test_r14_a_retry_finds_the_circuit_that_others_opened(driver: Driver) -> None:
    """Half-open limits hold for retries: another operation took the circuit away during the delay."""

    class Meanwhile(FakeClock):
        def sleep(self, delay_s: float) -> None:
            self._others_fail()
            super().sleep(delay_s)

        async def asleep(self, delay_s: float) -> None:
            self._others_fail()
            await super().asleep(delay_s)

        def _others_fail(self) -> None:
            breaker = breaker_of(rig)
            for _ in range(4):
                breaker.fail(breaker.admit("p"))

    provider = ScriptedProvider([down(), "never"])
    rig = driver.rig(
        provider,
        retry=retries(5),
        clock=Meanwhile(),
        circuit_breaker=windowed(size_calls=10, minimum_calls=5),
    )
    with pytest.raises(ProviderError, match="down"):
        rig.complete()
    assert len(provider.requests) == 1
    assert len(rig.attributes_of("circuit.rejected")) == 1


def test_r14_a_half_open_circuit_admits_its_probes_one_attempt_at_a_time(driver: Driver) -> None:
    """A probe that fails and would be retried is one attempt: the retry is turned away."""
    provider = ScriptedProvider([down(), down(), down(), "after"])
    rig = driver.rig(provider, retry=retries(3), circuit_breaker=windowed())
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(101.0)
    with pytest.raises(ProviderError):
        rig.complete()
    assert len(provider.requests) == 3
    assert breaker_of(rig).state("p") is BreakerState.OPEN
    rig.clock.advance(101.0)
    assert rig.complete().content == "after"


def test_r26_no_delay_is_slept_for_a_circuit_that_just_opened(driver: Driver) -> None:
    rig = driver.rig(
        {"a": ScriptedProvider([down(), down()]), "b": ScriptedProvider(["from b"])},
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        retry=retries(5),
        circuit_breaker=windowed(),
    )
    rig.complete()
    assert rig.clock.sleeps == (0.05,)
    assert len(rig.attributes_of("retry.scheduled")) == 1


def test_a_delay_that_outlasts_the_open_circuit_is_slept(driver: Driver) -> None:
    """Then the retry is the probe."""
    provider = ScriptedProvider([down(), down(retry_after_s=5.0), "probe"])
    rig = driver.rig(provider, retry=retries(5), circuit_breaker=windowed(open_duration_s=5.0))
    assert rig.complete().content == "probe"
    assert rig.clock.sleeps == (0.05, 5.0)
    circuit = [name for name in rig.names if name.startswith("circuit.")]
    assert circuit == ["circuit.opened", "circuit.half_opened", "circuit.closed"]


def test_the_opening_comes_before_the_attempts_end(driver: Driver) -> None:
    rig = driver.rig([down(), down()], retry=retries(1), circuit_breaker=windowed())
    with pytest.raises(ProviderError):
        rig.complete()
    assert rig.names[-3:] == ["circuit.opened", "attempt.failed", "operation.completed"]


def test_a_slow_success_can_open(driver: Driver) -> None:
    def slowly(_: object) -> str:
        rig.clock.advance(9.0)
        return "slow"

    slow = windowed(slow_call_duration_s=5.0, slow_call_rate=0.5)
    rig = driver.rig(ScriptedProvider([slowly], repeat_last=True), circuit_breaker=slow)
    rig.complete()
    assert rig.complete().content == "slow"
    with pytest.raises(CircuitBreakerOpenError):
        rig.complete()
    assert rig.names.count("circuit.opened") == 1


def test_neutral_ends_do_not_enter_the_window(driver: Driver) -> None:
    provider = ScriptedProvider([ProviderError("no"), ProviderError("no"), down(), "ok"])
    rig = driver.rig(provider, retry=retries(0), circuit_breaker=windowed(failure_rate=0.5))
    for _ in range(3):
        with pytest.raises(ProviderError):
            rig.complete()
    assert rig.complete().content == "ok"  # one failure is no window of two: the permanent ones did not count
    assert breaker_of(rig).state("p") is BreakerState.OPEN  # and now there are two calls, one of them failed


def test_dlp_failures_do_not_enter_the_window(driver: Driver) -> None:
    rig = driver.rig(
        ScriptedProvider(["text"], repeat_last=True),
        dlp=Scripted(raising(DlpInspectionError("no"))),
        circuit_breaker=windowed(),
    )
    for _ in range(5):
        with pytest.raises(DlpInspectionError):
            rig.complete()
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_several_probes_close_together(driver: Driver) -> None:
    provider = ScriptedProvider([down(), down(), "one", "two"])
    rig = driver.rig(provider, retry=retries(1), circuit_breaker=windowed(half_open_permits=2))
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(101.0)
    rig.complete()
    assert breaker_of(rig).state("p") is BreakerState.HALF_OPEN
    rig.complete()
    assert breaker_of(rig).state("p") is BreakerState.CLOSED
