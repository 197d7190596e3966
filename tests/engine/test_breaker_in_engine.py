"""Items 6 to 25 of the acceptance list through the engine: what an operation tells the breaker."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import pytest

from tests.drivers import Driver, Rig
from tests.engine.doubles import (
    OnRequest,
    Scripted,
    answering,
    breaker_of,
    call_inside,
    down,
    raising,
    retries,
)
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    DlpInspectionError,
    DlpResult,
    InterceptorError,
    Message,
    ProviderError,
    Route,
)
from tramapy.errors import ProviderFailureCode
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import ScriptedProvider

BROKEN = (Message.user("broken"),)


def settings(threshold: int = 1, *, probe: str = "release") -> dict[str, Any]:
    """Open for 100 s after `threshold` failures, without retries."""
    return {
        "retry": retries(0),
        "circuit_breaker": CircuitBreakerSettings(
            failure_threshold=threshold,
            open_duration_s=100.0,
            neutral_probe=probe,  # type: ignore[arg-type]  # a parameter of tests
        ),
    }


def rejecting_bad() -> Scripted:
    """Make a DLP that refuses the text `bad`."""

    def inspect(_: object, text: str) -> DlpResult:
        if text == "bad":
            raise DlpInspectionError("classified")
        return DlpResult(text)

    return Scripted(inspect)


def fail(rig: Rig, error: type[BaseException] = ProviderError, **options: Any) -> Any:
    """Complete an operation that must fail; return its error."""
    with pytest.raises(error) as caught:
        rig.complete(**options)
    return caught.value


def opened(rig: Rig) -> list[str]:
    return [event["provider_id"] for event in rig.attributes_of("circuit.opened")]


def test_rt06_a_success_resets_the_count(driver: Driver) -> None:
    provider = ScriptedProvider([down(), "ok", down(), "ok"])
    rig = driver.rig(provider, **settings(2))
    for _ in range(2):
        fail(rig)
        assert rig.complete().content == "ok"
    assert len(provider.requests) == 4
    assert opened(rig) == []


def test_a_content_filter_that_refuses_is_a_success_of_the_provider_s_and_an_event(driver: Driver) -> None:
    filtered = ProviderError(
        "filtered", failure_code=ProviderFailureCode.CONTENT_FILTERED, counts_on_breaker=False
    )
    rig = driver.rig(ScriptedProvider([down(), filtered, down()]), **settings(1))
    fail(rig)
    rig.clock.advance(100.0)
    assert fail(rig).failure_code is ProviderFailureCode.CONTENT_FILTERED
    assert breaker_of(rig).state("p") is BreakerState.CLOSED
    assert [event["reason_code"] for event in rig.attributes_of("request.refused")] == ["content_filter"]
    quiet = rig.tramapy.derive(event_observers=[])
    rig.tramapy = quiet
    fail(rig)


@pytest.mark.parametrize("probe", ["reopen", "release"])
@pytest.mark.parametrize("end", ["failure", "neutral", "abandoned"])
@pytest.mark.parametrize("late", ["success", "failure"])
def test_rt12_a_permit_of_the_closed_era_never_acts_as_the_probe(
    driver: Driver, probe: str, end: str, late: str
) -> None:
    """Decision 5: under `release` a neutral probe leaves the circuit half open; `reopen` is the original's way."""
    first_probe: dict[str, Any] = {
        "failure": down(),
        "neutral": "bad",
        "abandoned": concurrent.futures.CancelledError(),
    }
    rejected: list[CircuitBreakerOpenError] = []

    async def two_cycles(_: object) -> Any:
        await _expect(rig, ProviderError)
        rig.clock.advance(100.0)
        ends = {"failure": ProviderError, "neutral": DlpInspectionError}
        await _expect(rig, ends.get(end, concurrent.futures.CancelledError))
        rig.clock.advance(0.0 if end != "failure" and probe == "release" else 100.0)
        assert (await call_inside(rig)).content == "probe answers"
        if late == "failure":
            raise down()
        return "late"

    async def second_probe(_: object) -> str:
        rig.clock.advance(10.0)
        rejected.append(await _expect(rig, CircuitBreakerOpenError))
        return "probe answers"

    script = [
        answering(driver, two_cycles),
        down(),
        first_probe[end],
        answering(driver, second_probe),
        "after",
    ]
    provider = ScriptedProvider(script)
    rig = driver.rig(provider, dlp=rejecting_bad(), **settings(probe=probe))
    if late == "failure":
        fail(rig)
    else:
        assert rig.complete().content == "late"
    assert rejected[0].retry_after_s == 0.0
    assert breaker_of(rig).state("p") is BreakerState.CLOSED
    assert rig.complete().content == "after"
    assert len(provider.requests) == 5


async def _expect(rig: Rig, error: type[BaseException]) -> Any:
    with pytest.raises(error) as caught:
        await call_inside(rig)
    return caught.value


def test_rt13_a_late_success_does_not_close_what_opened_since(driver: Driver) -> None:
    async def overtaken(_: object) -> str:
        await _expect(rig, ProviderError)
        return "late"

    rig = driver.rig(ScriptedProvider([answering(driver, overtaken), down()]), **settings())
    assert rig.complete().content == "late"
    assert fail(rig, CircuitBreakerOpenError).retry_after_s == 100.0
    assert "circuit.closed" not in rig.names


def test_rt16_opens_probes_and_closes(driver: Driver) -> None:
    provider = ScriptedProvider([down(), "probe", "after"])
    rig = driver.rig(provider, **settings())
    fail(rig)
    rig.clock.advance(99.0)
    assert fail(rig, CircuitBreakerOpenError).retry_after_s == 1.0
    rig.clock.advance(1.0)
    assert rig.complete().content == "probe"
    assert rig.complete().content == "after"
    circuit = [name for name in rig.names if name.startswith("circuit.")]
    assert circuit == ["circuit.opened", "circuit.rejected", "circuit.half_opened", "circuit.closed"]


def test_rt16_circuit_events_name_the_provider(driver: Driver) -> None:
    rig = driver.rig([down(), "probe"], **settings())
    fail(rig, correlation_id="c1")
    rig.clock.advance(100.0)
    rig.complete(correlation_id="c2")
    assert rig.attributes_of("circuit.opened") == [{"correlation_id": "c1", "provider_id": "p", "attempt": 0}]
    assert rig.attributes_of("circuit.half_opened") == [{"correlation_id": "c2", "provider_id": "p"}]
    assert rig.attributes_of("circuit.closed") == [{"correlation_id": "c2", "provider_id": "p", "attempt": 0}]


@pytest.mark.parametrize("error", [ProviderError("no"), RuntimeError("defect")], ids=["permanent", "defect"])
@pytest.mark.parametrize("probe", ["reopen", "release"])
def test_rt20_a_probe_that_says_nothing_of_health(driver: Driver, probe: str, error: Exception) -> None:
    """Decision 5: `reopen` as the original, `release` frees the place at once."""
    rig = driver.rig([down(), error, "after"], **settings(probe=probe))
    fail(rig)
    rig.clock.advance(100.0)
    fail(rig)
    assert len(opened(rig)) == 1
    _check_neutral_probe(rig, probe)


@pytest.mark.parametrize("probe", ["reopen", "release"])
def test_rt79_a_dlp_failure_ends_a_probe_without_an_event(driver: Driver, probe: str) -> None:
    """Decision 5: `reopen` as the original, `release` frees the place at once."""
    rig = driver.rig([down(), "bad", "after"], dlp=rejecting_bad(), **settings(probe=probe))
    fail(rig)
    rig.clock.advance(100.0)
    fail(rig, DlpInspectionError)
    assert len(opened(rig)) == 1
    assert "circuit.closed" not in rig.names
    _check_neutral_probe(rig, probe)


def _check_neutral_probe(rig: Rig, probe: str) -> None:
    breaker = breaker_of(rig)
    if probe == "reopen":
        assert breaker.state("p") is BreakerState.OPEN
        assert breaker.open_until_s("p") == rig.clock.now_s() + 100.0
        assert fail(rig, CircuitBreakerOpenError).retry_after_s == 100.0
        rig.clock.advance(100.0)
    else:
        assert breaker.state("p") is BreakerState.HALF_OPEN
    assert rig.complete().content == "after"
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt21_a_neutral_end_between_failures_does_not_reset(driver: Driver) -> None:
    rig = driver.rig([down(), "bad", down()], dlp=rejecting_bad(), **settings(2))
    fail(rig)
    fail(rig, DlpInspectionError)
    assert opened(rig) == []
    fail(rig)
    assert opened(rig) == ["p"]


def test_rt22_neutral_ends_never_open(driver: Driver) -> None:
    rig = driver.rig([ProviderError("no")] * 3 + ["ok"], **settings())
    for _ in range(3):
        fail(rig)
    assert rig.complete().content == "ok"


def test_rt23_providers_are_apart_and_models_share(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([down()]), "b": ScriptedProvider(["from b"])}
    rig = driver.rig(providers, models={"m1": "a", "m2": "a", "m3": "b"}, **settings())
    fail(rig, model="m1")
    assert fail(rig, CircuitBreakerOpenError, model="m2").provider_id == "a"
    assert rig.complete(model="m3").content == "from b"


def test_rt25_one_route_gives_one_report(driver: Driver) -> None:
    rig = driver.rig([down(), down()], **{**settings(), "retry": retries(1)})
    fail(rig)
    assert opened(rig) == ["p"]


def test_rt25_retries_that_end_well_count_nothing(driver: Driver) -> None:
    rig = driver.rig([down(), "ok", down(), "ok"], **{**settings(), "retry": retries(1)})
    rig.complete()
    rig.complete()
    assert opened(rig) == []


def test_threshold_counts_routes_and_not_calls(driver: Driver) -> None:
    provider = ScriptedProvider([down()], repeat_last=True)
    rig = driver.rig(provider, **{**settings(3), "retry": retries(2)})
    for _ in range(3):
        assert opened(rig) == []
        fail(rig)
    assert opened(rig) == ["p"]
    assert len(provider.requests) == 9


def test_each_failed_route_of_an_operation_is_reported(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([down()]), "b": ScriptedProvider([down()])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, **settings())
    fail(rig)
    assert opened(rig) == ["a", "b"]


def test_without_settings_no_circuit_ever_opens(driver: Driver) -> None:
    provider = ScriptedProvider([down()], repeat_last=True)
    rig = driver.rig(provider, retry=retries(0))
    for _ in range(20):
        fail(rig)
    assert len(provider.requests) == 20


def test_a_disabled_breaker_never_opens(driver: Driver) -> None:
    provider = ScriptedProvider([down()], repeat_last=True)
    off = CircuitBreakerSettings(enabled=False, failure_threshold=1)
    rig = driver.rig(provider, retry=retries(0), circuit_breaker=off)
    for _ in range(3):
        fail(rig)
    assert len(provider.requests) == 3


def test_a_permanent_failure_that_speaks_of_health_counts(driver: Driver) -> None:
    rig = driver.rig([ProviderError("the key was revoked", counts_on_breaker=True)], **settings())
    fail(rig)
    assert opened(rig) == ["p"]


def test_a_retryable_failure_that_does_not_speak_of_health_does_not_count(driver: Driver) -> None:
    rig = driver.rig([down(counts_on_breaker=False)], **settings())
    fail(rig)
    assert opened(rig) == []


@pytest.mark.parametrize("breaker", [None, settings()["circuit_breaker"]], ids=["none", "breaker"])
def test_the_breaker_works_unheard(driver: Driver, breaker: CircuitBreakerSettings | None) -> None:
    """Without an observer no event is made, and nothing else changes."""
    facade = type(driver.rig(["x"]).tramapy)
    rig = driver.rig([down(), down()], retry=retries(0), circuit_breaker=breaker)
    rig.tramapy = facade(
        {"p": ScriptedProvider([down(), "probe"])}, retry=retries(0), circuit_breaker=breaker, clock=rig.clock
    )
    fail(rig)
    if breaker is not None:
        fail(rig, CircuitBreakerOpenError)
        rig.clock.advance(100.0)
    assert rig.complete().content == "probe"
    assert rig.names == []


def test_an_interceptor_that_fails_during_a_probe_gives_its_place_back(driver: Driver) -> None:
    broken = OnRequest(lambda messages: raising(KeyError("x"))() if messages == BROKEN else messages)
    rig = driver.rig([down(), "after"], interceptors=[broken], **settings())
    fail(rig)
    rig.clock.advance(100.0)
    fail(rig, InterceptorError, messages=BROKEN)
    assert rig.complete().content == "after"
