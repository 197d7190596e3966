"""Items 163 to 165 of the acceptance list: token budgets through the engine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Onlooker, OnResponse, breaker_of, down, retries
from tramapy import (
    CircuitBreakerSettings,
    ModelResponse,
    ProviderError,
    Route,
    TokenBudgetExceededError,
    TokenBudgetSettings,
    TokenUsage,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import ScriptedProvider


def used(input_tokens: int | None, output_tokens: int | None) -> ModelResponse:
    return ModelResponse(
        content="answer", usage=TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens)
    )


def budget(**limits: int) -> dict[str, Any]:
    return {"token_budget": TokenBudgetSettings(**limits)}


def test_rt163_what_equals_the_limit_passes(driver: Driver) -> None:
    rig = driver.rig([used(6, 4)], **budget(hard_max_tokens_per_attempt=10))
    assert rig.complete().content == "answer"
    assert not any(name.startswith("token_budget") for name in rig.names)


def test_rt163_one_more_fails_the_attempt(driver: Driver) -> None:
    rig = driver.rig([used(6, 5)], **budget(hard_max_tokens_per_attempt=10))
    with pytest.raises(TokenBudgetExceededError) as caught:
        rig.complete()
    error = caught.value
    assert (error.scope, error.limit_tokens, error.observed_tokens) == ("attempt", 10, 11)
    assert (error.provider_id, error.model) == ("p", "m")
    assert "Raise hard_max_tokens_per_attempt" in str(error)


def test_rt163_the_event_comes_before_the_attempts_end(driver: Driver) -> None:
    rig = driver.rig([used(6, 5)], **budget(hard_max_tokens_per_attempt=10))
    with pytest.raises(TokenBudgetExceededError):
        rig.complete(correlation_id="c1")
    assert rig.names[-3:] == ["token_budget.hard_limit_exceeded", "attempt.failed", "operation.completed"]
    assert rig.attributes_of("token_budget.hard_limit_exceeded") == [
        {
            "correlation_id": "c1",
            "provider_id": "p",
            "attempt": 0,
            "effective_model": "m",
            "limit_tokens": 10,
            "observed_tokens": 11,
            "scope": "attempt",
        }
    ]
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "budget"


def test_rt163_the_limit_of_the_operation_has_its_scope(driver: Driver) -> None:
    rig = driver.rig([used(6, 5)], **budget(hard_max_tokens_per_operation=10))
    with pytest.raises(TokenBudgetExceededError) as caught:
        rig.complete()
    assert caught.value.scope == "operation"
    assert rig.attributes_of("token_budget.hard_limit_exceeded")[0]["scope"] == "operation"


def test_rt164_the_soft_limit_is_told_and_nothing_else(driver: Driver) -> None:
    rig = driver.rig([used(6, 5)], **budget(soft_max_tokens_per_operation=10))
    assert rig.complete().content == "answer"
    (event,) = rig.attributes_of("token_budget.soft_limit_exceeded")
    assert (event["scope"], event["limit_tokens"], event["observed_tokens"]) == ("operation", 10, 11)
    assert rig.names[-1] == "operation.completed"


def test_rt164_each_operation_has_its_own_count(driver: Driver) -> None:
    """A single answer ends an operation here; that the soft event comes once in several is the budget's own test."""
    rig = driver.rig(
        [used(6, 0)] * 3, **budget(soft_max_tokens_per_operation=10, hard_max_tokens_per_operation=11)
    )
    for _ in range(3):
        rig.complete()
    assert not any(name.startswith("token_budget") for name in rig.names)


@pytest.mark.parametrize("usage", [(None, None), (6, None), (None, 5), (-1, 5)])
def test_rt165_without_counts_nothing_is_added(driver: Driver, usage: tuple[int | None, int | None]) -> None:
    rig = driver.rig([used(*usage)], **budget(hard_max_tokens_per_attempt=1))
    assert rig.complete(correlation_id="c1").content == "answer"
    assert rig.attributes_of("token_budget.usage_unavailable") == [
        {"correlation_id": "c1", "provider_id": "p", "attempt": 0, "effective_model": "m"}
    ]


def test_settings_without_limits_check_nothing(driver: Driver) -> None:
    rig = driver.rig([used(None, None)], **budget())
    rig.complete()
    assert not any(name.startswith("token_budget") for name in rig.names)


def test_a_hard_limit_is_neither_retried_nor_fallen_back_from(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([used(6, 5)]), "b": ScriptedProvider([])}
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **budget(hard_max_tokens_per_attempt=10),
    )
    with pytest.raises(TokenBudgetExceededError):
        rig.complete()
    assert providers["b"].requests == ()
    assert rig.clock.sleeps == ()
    assert "circuit.opened" not in rig.names


def test_a_hard_limit_is_neutral_to_a_probe(driver: Driver) -> None:
    """Decision 5: budget errors neither close nor open; the original has recorded a success by then."""
    rig = driver.rig(
        [down(), used(6, 5), used(1, 1)],
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1, open_duration_s=10.0),
        **budget(hard_max_tokens_per_attempt=10),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(10.0)
    with pytest.raises(TokenBudgetExceededError):
        rig.complete()
    assert breaker_of(rig).state("p") is BreakerState.HALF_OPEN
    assert rig.complete().content == "answer"


def test_the_dropped_answer_is_shown_to_nobody_else(driver: Driver) -> None:
    onlooker = Onlooker()
    rig = driver.rig([used(6, 5)], content_observers=[onlooker], **budget(hard_max_tokens_per_attempt=10))
    with pytest.raises(TokenBudgetExceededError):
        rig.complete()
    assert onlooker.responses == []


def test_the_budget_is_judged_after_the_response_interceptors(driver: Driver) -> None:
    seen = OnResponse()
    rig = driver.rig([used(6, 5)], interceptors=[seen], **budget(hard_max_tokens_per_attempt=10))
    with pytest.raises(TokenBudgetExceededError):
        rig.complete()
    assert len(seen.inputs) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [(used(6, 5), TokenBudgetExceededError), (used(None, 1), None)],
    ids=["hard", "unavailable"],
)
def test_a_budget_works_unheard(driver: Driver, answer: ModelResponse, error: type[Exception] | None) -> None:
    rig = driver.rig([])
    rig.tramapy = type(rig.tramapy)(
        {"p": ScriptedProvider([answer])}, token_budget=TokenBudgetSettings(hard_max_tokens_per_attempt=10)
    )
    if error is None:
        assert rig.complete() is answer
    else:
        with pytest.raises(error):
            rig.complete()
