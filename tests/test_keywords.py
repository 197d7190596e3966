"""Settings of a wrong name, and facades without providers, are answered with what to write."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tramapy import (
    AsyncTramapy,
    CircuitBreakerSettings,
    ConfigurationError,
    DlpRule,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    TokenBudgetSettings,
    ToolDefinition,
    Tramapy,
)

retry: Any = RetryPolicySettings
breaker: Any = CircuitBreakerSettings
budget: Any = TokenBudgetSettings
rule: Any = DlpRule
tool: Any = ToolDefinition
configuration: Any = RuleBasedDlpConfiguration

MISNAMED: dict[str, tuple[Callable[[], object], str]] = {
    "a vendor's word": (
        lambda: retry(retries=3),
        "Unknown setting 'retries' of RetryPolicySettings; did you mean provider_retries?",
    ),
    "a part of the name": (
        lambda: breaker(threshold=3),
        "Unknown setting 'threshold' of CircuitBreakerSettings; did you mean failure_threshold?",
    ),
    "near to several": (
        lambda: budget(max_tokens=3),
        "Unknown setting 'max_tokens' of TokenBudgetSettings; known are hard_max_tokens_per_attempt, "
        "hard_max_tokens_per_operation, soft_max_tokens_per_operation",
    ),
    "a slip": (
        lambda: configuration(rule=[]),
        "Unknown setting 'rule' of RuleBasedDlpConfiguration; did you mean rules?",
    ),
    "no name": (
        lambda: retry(3),
        "RetryPolicySettings takes nothing without a name; write for example RetryPolicySettings(provider_retries=...)",
    ),
    "too many without a name": (
        lambda: configuration((), 5, ()),
        "RuleBasedDlpConfiguration takes 2 without a name; write for example RuleBasedDlpConfiguration(packs=...)",
    ),
    "a vendor's word for a field": (
        lambda: tool(name="x", parameters={}),
        "Unknown setting 'parameters' of ToolDefinition; did you mean input_schema?",
    ),
    "what is missing": (
        lambda: rule(replacement="x"),
        "id and pattern missing; write DlpRule(id=..., pattern=...)",
    ),
}


@pytest.mark.parametrize(("make", "message"), MISNAMED.values(), ids=MISNAMED)
def test_a_wrong_name_of_a_setting_is_answered_with_the_right_one(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as refused:
        make()
    assert str(refused.value) == message


def test_a_value_of_a_wrong_type_is_refused_as_before() -> None:
    with pytest.raises(TypeError, match=r"^RetryPolicySettings\.provider_retries takes an int, not str$"):
        retry(provider_retries="3")


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
def test_a_facade_without_providers_says_what_to_give(facade: Any) -> None:
    for settings in ({}, {"timeout_s": 3.0}):
        with pytest.raises(
            ConfigurationError, match=r"^providers is missing; give a mapping, for example \{"
        ):
            facade(**settings)


def test_settings_stay_the_values_that_they_are() -> None:
    settings = RetryPolicySettings(provider_retries=2)
    assert copy.copy(settings) == pickle.loads(pickle.dumps(settings)) == settings
    assert list(inspect.signature(RetryPolicySettings).parameters) == [
        "provider_retries",
        "max_retry_after_s",
        "jitter_ratio",
    ]
