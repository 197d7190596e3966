"""Public bug reports of other breakers and gateways, as tests of ours (R14 and R26 are in the windowed tests, too)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import anyio
import pytest

from tests.drivers import Driver, text_of
from tests.engine.doubles import Scripted, breaker_of, down, raising, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    DeadlineExceededError,
    DlpInspectionError,
    DlpResult,
    EngineEventObserver,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    Route,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import ScriptedProvider


def breaker(threshold: int = 1, **fields: Any) -> CircuitBreakerSettings:
    return CircuitBreakerSettings(failure_threshold=threshold, open_duration_s=100.0, **fields)


def opened(rig: Any) -> list[str]:
    return [event["provider_id"] for event in rig.attributes_of("circuit.opened")]


def _caused_by_dlp() -> ProviderError:
    error = down()
    error.__cause__ = DlpInspectionError("refused")
    return error


@pytest.mark.parametrize(
    "error",
    [
        ExceptionGroup("both", [down(), DlpInspectionError("refused")]),
        ExceptionGroup("outer", [ExceptionGroup("inner", [down(), down(counts_on_breaker=False)])]),
        _caused_by_dlp(),
    ],
    ids=["beside", "nested", "cause"],
)
def test_r17_a_neutral_error_hidden_in_a_wrapper_stays_neutral(driver: Driver, error: Exception) -> None:
    rig = driver.rig([error], retry=retries(0), circuit_breaker=breaker())
    with pytest.raises(ProviderError):
        rig.complete()
    assert opened(rig) == []
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_r18_every_route_of_an_operation_gets_its_own_outcome(driver: Driver) -> None:
    providers = {name: ScriptedProvider([down()]) for name in "abc"}
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b"), Route("c")]},
        retry=retries(0),
        circuit_breaker=breaker(),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    assert opened(rig) == ["a", "b", "c"]
    with pytest.raises(CircuitBreakerOpenError):
        rig.complete()
    assert [len(provider.requests) for provider in providers.values()] == [1, 1, 1]


@pytest.mark.parametrize("message", ["Connection error.", "invalid api key", "quota", ""])
def test_r19_a_connection_failure_is_told_by_its_fields_and_never_by_its_words(
    driver: Driver, message: str
) -> None:
    dead = ProviderError(message, retryable=True, failure_code=ProviderFailureCode.CONNECTION_FAILED)
    rig = driver.rig([dead], retry=retries(0), circuit_breaker=breaker())
    with pytest.raises(ProviderError):
        rig.complete()
    assert opened(rig) == ["p"]


def test_r20_a_callers_mistake_cools_nobody(driver: Driver) -> None:
    missing = ProviderError("no such resource", status_code=404)
    providers = {name: ScriptedProvider([missing, "ok"]) for name in "ab"}
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        retry=retries(2),
        circuit_breaker=breaker(),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    assert providers["b"].requests == ()
    assert opened(rig) == []
    assert rig.complete().content == "ok"


def test_r20_a_callers_short_deadline_cools_nobody(async_driver: Driver) -> None:
    async def slow(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    rig = async_driver.rig([slow, "ok"], circuit_breaker=breaker())
    with pytest.raises(DeadlineExceededError):
        rig.complete(deadline_s=0.01)
    assert opened(rig) == []
    assert rig.complete().content == "ok"


def test_r20_a_transports_timeout_at_the_callers_deadline_cools_nobody(driver: Driver) -> None:
    """A thread cannot be interrupted: there the transport gives up, after the rest of the deadline."""

    def slow(request: Any) -> str:
        rig.clock.advance(request.timeout_s)
        raise ProviderTimeoutError("the transport gave up")

    provider = ScriptedProvider([slow, "ok"])
    rig = driver.rig(provider, circuit_breaker=breaker())
    with pytest.raises(DeadlineExceededError):
        rig.complete(deadline_s=2.0)
    assert provider.requests[0].timeout_s == 2.0
    assert opened(rig) == []
    assert rig.complete().content == "ok"


class Swallowing(EngineEventObserver):
    """Gives a context that swallows every exception."""

    def provider_call_scope(self, event: object) -> AbstractContextManager[object]:
        return _Swallow()


class _Swallow(AbstractContextManager[object]):
    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        return True


def test_r21_the_verdict_is_the_real_outcome_inside_the_boundary(driver: Driver) -> None:
    rig = driver.rig([down()], retry=retries(0), circuit_breaker=breaker(), event_observers=[Swallowing()])
    with pytest.raises(ProviderError, match="down"):
        rig.complete()
    assert opened(rig) == ["p"]


def test_r22_an_explicit_provider_has_retries_but_no_fallback_on_either_path(driver: Driver) -> None:
    for call in ("complete", "stream"):
        providers = {"a": ScriptedProvider([down(), down()]), "b": ScriptedProvider([])}
        rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, retry=retries(1))
        with pytest.raises(ProviderError):
            getattr(rig, call)(provider="a")
        assert len(providers["a"].requests) == 2
        assert providers["b"].requests == ()


def test_r22_both_paths_retry_and_fall_back_alike(driver: Driver) -> None:
    sleeps = []
    for call in ("complete", "stream"):
        providers = {"a": ScriptedProvider([down(), down()]), "b": ScriptedProvider(["from b"])}
        rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, retry=retries(1))
        answer = getattr(rig, call)()
        assert (answer.content if call == "complete" else text_of(answer)) == "from b"
        sleeps.append(rig.clock.sleeps)
    assert sleeps == [(0.05,), (0.05,)]


def test_r24_a_hint_of_61_seconds_is_neither_cut_short_nor_waited_for(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([down(retry_after_s=61.0)]), "b": ScriptedProvider(["from b"])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]})
    assert rig.complete().content == "from b"
    assert rig.clock.sleeps == ()


@pytest.mark.parametrize("hint_s", [61.0, 1800.0, float("inf")])
def test_r24_without_a_next_route_the_hint_is_the_callers(driver: Driver, hint_s: float) -> None:
    rig = driver.rig([down(retry_after_s=hint_s)])
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value.retry_after_s == hint_s
    assert rig.clock.now_s() == 0.0


@pytest.mark.parametrize("hint_s", [-1.0, float("nan")])
def test_r24_a_hint_that_is_none_is_ignored(driver: Driver, hint_s: float) -> None:
    rig = driver.rig([down(retry_after_s=hint_s), "ok"])
    assert rig.complete().content == "ok"
    assert rig.clock.sleeps == (0.05,)


def test_r25_a_recovered_circuit_opens_again_after_the_full_threshold(driver: Driver) -> None:
    provider = ScriptedProvider([down(), down(), "probe", down(), "ok", down(), down()])
    rig = driver.rig(provider, retry=retries(0), circuit_breaker=breaker(2))
    for outcome in (None, None, 100.0, None, "ok", None, None):
        if outcome == 100.0:
            rig.clock.advance(outcome)
            rig.complete()
        elif outcome == "ok":
            assert opened(rig) == ["p"]  # one failure since the recovery: still closed
            rig.complete()
        else:
            with pytest.raises(ProviderError):
                rig.complete()
    assert opened(rig) == ["p", "p"]


def test_r26_a_rejection_is_not_retried_on_the_same_provider(driver: Driver) -> None:
    provider = ScriptedProvider([down()])
    rig = driver.rig(provider, retry=retries(0), circuit_breaker=breaker())
    with pytest.raises(ProviderError):
        rig.complete()
    retried = rig.tramapy.derive(retry=retries(5))
    rig.tramapy = retried
    with pytest.raises(CircuitBreakerOpenError):
        rig.complete()
    assert rig.clock.sleeps == ()
    assert len(provider.requests) == 1


def test_r28_an_excluded_failure_between_two_is_neutral(driver: Driver) -> None:
    rig = driver.rig([down(), ProviderError("no"), down()], retry=retries(0), circuit_breaker=breaker(2))
    for _ in range(3):
        with pytest.raises(ProviderError):
            rig.complete()
    assert opened(rig) == ["p"]


def test_r28_an_excluded_failure_in_half_open_does_not_close(driver: Driver) -> None:
    refuse = Scripted(
        lambda _, text: DlpResult(text) if text != "bad" else raising(DlpInspectionError("no"))()
    )
    rig = driver.rig([down(), "bad"], retry=retries(0), circuit_breaker=breaker(), dlp=refuse)
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(100.0)
    with pytest.raises(DlpInspectionError):
        rig.complete()
    assert breaker_of(rig).state("p") is BreakerState.HALF_OPEN
    assert "circuit.closed" not in rig.names
