"""`derive`: a changed copy that shares the breaker's state, unless it changes the breaker; tenants share nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.doubles import OnRequest, Words, breaker_of, down, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    ConfigurationError,
    Message,
    ProviderError,
    Route,
)
from tramapy.testing import FakeClock, RecordingObserver, ScriptedProvider

ONCE = CircuitBreakerSettings(failure_threshold=1)


def opened(driver: Driver, *more: Any, **settings: Any) -> Rig:
    """Make a rig whose circuit is open."""
    rig = driver.rig([down(), *more], retry=retries(0), circuit_breaker=ONCE, **settings)
    with pytest.raises(ProviderError):
        rig.complete()
    return rig


def derive(rig: Rig, **changes: Any) -> Rig:
    """Put a derived facade into the rig; return the rig."""
    rig.tramapy = rig.tramapy.derive(**changes)
    return rig


def test_a_copy_shares_the_open_circuit(driver: Driver) -> None:
    rig = opened(driver)
    with pytest.raises(CircuitBreakerOpenError):
        derive(rig, timeout_s=5.0).complete()


def test_what_a_copy_sees_the_original_knows(driver: Driver) -> None:
    rig = driver.rig([down()], retry=retries(0), circuit_breaker=ONCE)
    original = rig.tramapy
    with pytest.raises(ProviderError):
        derive(rig).complete()
    rig.tramapy = original
    with pytest.raises(CircuitBreakerOpenError):
        rig.complete()


def test_a_copy_of_a_copy_shares_too(driver: Driver) -> None:
    rig = opened(driver)
    assert breaker_of(derive(derive(rig), timeout_s=1.0)) is breaker_of(rig)


@pytest.mark.parametrize(
    "changes",
    [
        {"circuit_breaker": CircuitBreakerSettings(failure_threshold=2)},
        {"circuit_breaker": None},
        {"clock": FakeClock()},
    ],
    ids=["other", "none", "clock"],
)
def test_a_copy_with_another_breaker_or_clock_starts_afresh(driver: Driver, changes: dict[str, Any]) -> None:
    rig = opened(driver, "answer")
    assert derive(rig, **changes).complete().content == "answer"


def test_what_is_not_named_stays(driver: Driver) -> None:
    provider = ScriptedProvider([down(), "a secret"])
    mark = OnRequest(lambda messages: [*messages, Message.user("marked")])
    rig = driver.rig(provider, retry=retries(1), interceptors=[mark], dlp=Words())
    assert derive(rig, timeout_s=5.0).complete().content == "a [S]"
    assert [len(request.messages) for request in provider.requests] == [2, 2]
    assert provider.requests[0].timeout_s == 5.0
    assert rig.names[-1] == "operation.completed"


def test_what_is_named_is_replaced_and_the_original_keeps_its_own(driver: Driver) -> None:
    rig = driver.rig(["a secret", "a secret"], dlp=Words())
    original = rig.tramapy
    assert derive(rig, dlp=None).complete().content == "a secret"
    rig.tramapy = original
    assert rig.complete().content == "a [S]"


def test_it_is_the_same_kind_of_facade(driver: Driver) -> None:
    rig = driver.rig(["answer"])
    assert type(rig.tramapy.derive()) is type(rig.tramapy)


def test_a_wrong_change_is_refused(driver: Driver) -> None:
    rig = driver.rig(["answer"])
    with pytest.raises(ConfigurationError, match=r"^Unknown setting 'provider'"):
        rig.tramapy.derive(provider=ScriptedProvider())
    with pytest.raises(ConfigurationError, match=r"^timeout_s is 0"):
        rig.tramapy.derive(timeout_s=0)


def test_hooks_from_an_iterator_are_not_lost(driver: Driver) -> None:
    """A copy without its interceptors would be a policy dropped in silence."""
    provider = ScriptedProvider(["one", "two"])
    mark = OnRequest(lambda messages: [*messages, Message.user("marked")])
    rig = driver.rig(provider, interceptors=iter([mark]))
    rig.complete()
    derive(rig, timeout_s=5.0).complete()
    assert [len(request.messages) for request in provider.requests] == [2, 2]


def test_later_changes_of_what_was_given_have_no_effect(driver: Driver) -> None:
    interceptors: list[OnRequest] = []
    models = {"m": "a"}
    fallbacks: dict[str, list[Route]] = {"m": []}
    providers = {"a": ScriptedProvider(["one", "two", down()]), "b": ScriptedProvider([])}
    rig = driver.rig(
        providers, interceptors=interceptors, models=models, fallbacks=fallbacks, retry=retries(0)
    )
    late = OnRequest()
    interceptors.append(late)
    models["m"] = "b"
    fallbacks["m"].append(Route("b"))
    providers["a"] = providers["b"]
    rig.complete()
    derive(rig).complete()
    with pytest.raises(ProviderError):
        rig.complete()
    assert late.inputs == []
    assert len(rig.attributes_of("attempt.started")) == 3


def test_two_tenants_share_nothing(driver: Driver) -> None:
    mark = OnRequest(lambda messages: [*messages, Message.user("mine")])
    first_provider, second_provider = ScriptedProvider([down()]), ScriptedProvider(["answer"])
    first = driver.rig(
        first_provider, retry=retries(0), circuit_breaker=ONCE, interceptors=[mark], dlp=Words()
    )
    second = driver.rig(second_provider, retry=retries(0), circuit_breaker=ONCE)
    with pytest.raises(ProviderError):
        first.complete()
    assert second.complete().content == "answer"
    assert second_provider.requests[0].messages == HELLO
    assert breaker_of(first) is not breaker_of(second)
    assert "attempt.failed" not in second.names
    assert len(first.observer.events) > 0


def test_two_tenants_may_share_a_provider_and_not_its_circuit(driver: Driver) -> None:
    provider = ScriptedProvider([down(), "answer"])
    first = driver.rig(provider, retry=retries(0), circuit_breaker=ONCE)
    second = driver.rig(provider, retry=retries(0), circuit_breaker=ONCE)
    with pytest.raises(ProviderError):
        first.complete()
    assert second.complete().content == "answer"


def test_a_copy_may_be_heard_by_others(driver: Driver) -> None:
    rig = driver.rig(["one", "two"])
    other = RecordingObserver()
    derive(rig, event_observers=[other]).complete()
    assert rig.names == []
    assert len(other.events) == 5
