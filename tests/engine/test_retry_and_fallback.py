"""Items 26 to 41 of the acceptance list: attempts, routes and delays."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from tests.drivers import HELLO, Driver
from tests.engine.doubles import FixedRandom, OnRequest, OnResponse, down, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    ConfigurationError,
    Message,
    ProviderError,
    RetryPolicySettings,
    Route,
)
from tramapy.testing import ScriptedProvider

FALLBACK = {"default_provider": "a", "fallbacks": {"m": [Route("b", "m-b")]}}


def two(a: list, b: list) -> dict[str, ScriptedProvider]:
    return {"a": ScriptedProvider(a), "b": ScriptedProvider(b)}


def test_rt26_one_route_selected_event(driver: Driver) -> None:
    rig = driver.rig(["hi"])
    assert rig.complete().content == "hi"
    (event,) = rig.attributes_of("route.selected")
    assert event["provider_id"] == "p"
    assert event["effective_model"] == "m"
    assert event["route_index"] == 0
    assert event["is_fallback"] is False


def test_rt27_transient_failure_is_retried_on_the_same_route(driver: Driver) -> None:
    providers = two([down(), "hi"], [])
    rig = driver.rig(providers, retry=retries(1), **FALLBACK)
    assert rig.complete().content == "hi"
    assert len(providers["a"].requests) == 2
    assert providers["b"].requests == ()


def test_rt28_fallback_comes_after_the_retries(driver: Driver) -> None:
    providers = two([down(), down()], ["from b"])
    rig = driver.rig(providers, retry=retries(1), **FALLBACK)
    assert rig.complete().content == "from b"
    routes = [
        (e["provider_id"], e["route_index"], e["is_fallback"]) for e in rig.attributes_of("route.selected")
    ]
    assert routes == [("a", 0, False), ("a", 0, False), ("b", 1, True)]


def test_rt29_open_circuit_is_passed_over(driver: Driver) -> None:
    providers = two([down()], ["one", "two"])
    rig = driver.rig(
        providers, retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1), **FALLBACK
    )
    assert rig.complete().content == "one"
    assert rig.complete().content == "two"
    assert len(providers["a"].requests) == 1
    (rejected,) = rig.attributes_of("circuit.rejected")
    assert (rejected["provider_id"], rejected["route_index"]) == ("a", 0)
    assert rejected["retry_after_millis"] == 30_000


def test_rt29_a_rejected_route_uses_no_attempt_number(driver: Driver) -> None:
    rig = driver.rig(
        two([down()], ["one", "two"]),
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **FALLBACK,
    )
    rig.complete()
    rig.complete()
    assert [event["attempt"] for event in rig.attributes_of("attempt.started")] == [0, 1, 0]


def test_rt30_no_provider_for_the_model_is_a_configuration_error(driver: Driver) -> None:
    providers = two([], [])
    rig = driver.rig(providers, models={"known": "a"})
    with pytest.raises(
        ConfigurationError, match=r"No provider for model 'm'; name it in models, or set default"
    ):
        rig.complete()
    assert rig.names == []


def test_rt32_permanent_failure_ends_the_operation(driver: Driver) -> None:
    error = ProviderError("bad request", status_code=400)
    providers = two([error], ["never"])
    rig = driver.rig(providers, **FALLBACK)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is error
    assert providers["b"].requests == ()
    assert rig.clock.sleeps == ()


def test_rt33_delays_double_up_to_a_second(driver: Driver) -> None:
    rig = driver.rig([*(down() for _ in range(7)), "hi"], retry=retries(7))
    rig.complete()
    assert rig.clock.sleeps == (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0)
    scheduled = rig.attributes_of("retry.scheduled")
    assert [event["retry_index"] for event in scheduled] == list(range(7))
    assert [event["delay_millis"] for event in scheduled] == [50, 100, 200, 400, 800, 1000, 1000]
    assert {event["delay_source"] for event in scheduled} == {"backoff"}


def test_rt33_by_default_a_route_has_three_retries(driver: Driver) -> None:
    rig = driver.rig([*(down() for _ in range(4)), "never"])
    with pytest.raises(ProviderError):
        rig.complete()
    assert len(rig.clock.sleeps) == 3


def test_rt34_a_hint_sets_the_delay(driver: Driver) -> None:
    started: list[float] = []
    rig = driver.rig(
        [down(retry_after_s=0.1), lambda _: started.append(rig.clock.now_s()) or "hi"], retry=retries(1)
    )
    rig.complete()
    (event,) = rig.attributes_of("retry.scheduled")
    assert (event["delay_millis"], event["delay_source"], event["retry_index"]) == (100, "retry_after", 0)
    assert started == [0.1]


def test_rt35_a_hint_over_the_cap_takes_the_next_route(driver: Driver) -> None:
    """Decision 11: the original waits for the cap and retries too early."""
    rig = driver.rig(
        two([down(retry_after_s=0.5)], ["from b"]), retry=retries(3, max_retry_after_s=0.2), **FALLBACK
    )
    assert rig.complete().content == "from b"
    assert rig.clock.sleeps == ()
    assert rig.attributes_of("retry.scheduled") == []


def test_rt35_a_hint_over_the_cap_is_raised_where_there_is_no_next_route(driver: Driver) -> None:
    """Decision 11: at once, with the hint on the error."""
    rig = driver.rig([down(retry_after_s=0.5)], retry=retries(3, max_retry_after_s=0.2))
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value.retry_after_s == 0.5
    assert rig.clock.sleeps == ()


@pytest.mark.parametrize(("sample", "delay_s"), [(0.0, 1.0), (0.5, 1.1)])
def test_rt36_jitter_only_lengthens(driver: Driver, sample: float, delay_s: float) -> None:
    rig = driver.rig(
        [down(retry_after_s=1.0), "hi"], retry=retries(1, jitter_ratio=0.2), random=FixedRandom(sample)
    )
    rig.complete()
    assert rig.clock.sleeps == (pytest.approx(delay_s),)


def test_rt36_jitter_stays_below_its_ratio(driver: Driver) -> None:
    rig = driver.rig(
        [*(down() for _ in range(6)), "hi"], retry=retries(6, jitter_ratio=0.2), random=FixedRandom(0.999)
    )
    rig.complete()
    assert 1.19 < rig.clock.sleeps[-1] < 1.2


@pytest.mark.parametrize("sample", [1.0, -0.5, math.nan, "0.5", None, [0.5]], ids=repr)
def test_rt36_a_sample_outside_the_contract_fails_the_attempt_once(driver: Driver, sample: Any) -> None:
    rig = driver.rig([down(), "never"], retry=retries(1, jitter_ratio=0.2), random=FixedRandom(sample))
    with pytest.raises(
        ConfigurationError, match=r"^random gave a sample that is no number in \[0, 1\); pass"
    ):
        rig.complete()
    (failed,) = rig.attributes_of("attempt.failed")
    assert (failed["failure_kind"], failed["error_type"]) == ("configuration", "ConfigurationError")
    assert rig.names[-1] == "operation.completed"
    assert rig.clock.sleeps == ()


def test_rt37_the_cap_holds_after_jitter(driver: Driver) -> None:
    """Decision 11: the original lets jitter pass the cap, up to 36 s."""
    rig = driver.rig(
        [down(retry_after_s=30.0), "hi"], retry=retries(1, jitter_ratio=0.2), random=FixedRandom(0.999)
    )
    rig.complete()
    assert rig.clock.sleeps == (30.0,)


def test_rt38_attempt_numbers_run_on_over_retries_and_routes(driver: Driver) -> None:
    seen = OnRequest()
    rig = driver.rig(two([down(), down()], [down(), "hi"]), retry=retries(1), interceptors=[seen], **FALLBACK)
    rig.complete()
    assert [(context.provider_id, context.attempt) for context in seen.contexts] == [
        ("a", 0),
        ("a", 1),
        ("b", 2),
        ("b", 3),
    ]


def test_rt38_each_operation_starts_at_zero(driver: Driver) -> None:
    seen = OnRequest()
    rig = driver.rig(["one", "two"], interceptors=[seen])
    rig.complete()
    rig.complete()
    assert [context.attempt for context in seen.contexts] == [0, 0]


def test_rt40_each_attempt_has_a_context_of_its_own(driver: Driver) -> None:
    before, after = OnRequest(), OnResponse()
    providers = two([down()], ["hi"])
    rig = driver.rig(providers, retry=retries(0), interceptors=[before, after], **FALLBACK)
    rig.complete()
    first, second = before.contexts
    assert first is not second
    assert after.contexts[0] is second
    assert (first.requested_model, second.requested_model) == ("m", "m")
    assert [event["effective_model"] for event in rig.attributes_of("attempt.started")] == ["m", "m-b"]
    assert [event["requested_model"] for event in rig.attributes_of("attempt.started")] == ["m", "m"]
    assert providers["b"].requests[0].model == "m-b"


def test_rt41_a_retry_starts_from_the_original_messages(driver: Driver) -> None:
    marker = OnRequest(lambda messages: [*messages, Message.user("marker")])
    provider = ScriptedProvider([down(), "hi"])
    rig = driver.rig(provider, retry=retries(1), interceptors=[marker])
    rig.complete()
    assert [len(request.messages) for request in provider.requests] == [2, 2]
    assert marker.inputs == [HELLO, HELLO]


def test_an_explicit_provider_is_the_only_route(driver: Driver) -> None:
    providers = two(["never"], [down(), down()])
    rig = driver.rig(providers, retry=retries(1), default_provider="a", fallbacks={"m": [Route("a")]})
    with pytest.raises(ProviderError, match="down"):
        rig.complete(provider="b")
    assert len(providers["b"].requests) == 2
    assert providers["a"].requests == ()


def test_exhausted_routes_raise_the_last_executed_failure(driver: Driver) -> None:
    first, second = down(), down()
    rig = driver.rig(two([first], [second]), retry=retries(0), **FALLBACK)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is second


def test_an_executed_failure_comes_before_a_later_open_circuit(driver: Driver) -> None:
    failure = down()
    rig = driver.rig(
        two([failure], [down()]),
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **FALLBACK,
    )
    with pytest.raises(ProviderError):
        rig.complete(provider="b")
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is failure


def test_all_circuits_open_is_a_circuit_error_of_the_last_route(driver: Driver) -> None:
    rig = driver.rig(
        two([down()], [down()]),
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1, open_duration_s=10.0),
        **FALLBACK,
    )
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(4.0)
    with pytest.raises(CircuitBreakerOpenError) as caught:
        rig.complete()
    assert (caught.value.provider_id, caught.value.retry_after_s) == ("b", 6.0)
    completed = rig.attributes_of("operation.completed")[-1]
    assert (completed["attempt_count"], completed["failure_kind"]) == (0, "circuit_open")


def test_a_providers_own_open_breaker_leads_to_the_next_route_at_once(driver: Driver) -> None:
    providers = two([CircuitBreakerOpenError("inner", 5.0)], ["from b"])
    rig = driver.rig(providers, retry=retries(3), **FALLBACK)
    assert rig.complete().content == "from b"
    assert rig.clock.sleeps == ()
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "circuit_open"


def test_a_providers_own_open_breaker_is_what_a_last_route_raises(driver: Driver) -> None:
    rig = driver.rig([CircuitBreakerOpenError("inner", 5.0)], retry=retries(3))
    with pytest.raises(CircuitBreakerOpenError) as caught:
        rig.complete()
    # under the id that this pipeline knows: what a provider calls itself is its own text
    assert (caught.value.provider_id, caught.value.retry_after_s) == ("p", 5.0)


def test_jitter_is_on_by_default(driver: Driver) -> None:
    rig = driver.rig([down(), "hi"], retry=RetryPolicySettings(), random=FixedRandom(0.5))
    rig.complete()
    assert rig.clock.sleeps == (pytest.approx(0.055),)


def test_the_largest_settings_give_a_delay_that_can_be_slept_for(driver: Driver) -> None:
    longest_s = 1e9
    rig = driver.rig(
        [down(retry_after_s=longest_s), "hi"],
        retry=retries(1, jitter_ratio=100, max_retry_after_s=longest_s),
        random=FixedRandom(0.999),
    )
    rig.complete()
    assert rig.clock.sleeps == (longest_s,)
    assert longest_s < threading.TIMEOUT_MAX
    assert rig.attributes_of("retry.scheduled")[0]["delay_millis"] == 10**12


def test_the_longest_open_duration_can_be_told(driver: Driver) -> None:
    longest_s = 1e9
    rig = driver.rig(
        [down()],
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1, open_duration_s=longest_s),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    with pytest.raises(CircuitBreakerOpenError):
        rig.complete()
    assert rig.attributes_of("circuit.rejected")[0]["retry_after_millis"] == 10**12
