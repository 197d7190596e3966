"""The error tree: branches, attributes, messages and pickles."""

from __future__ import annotations

import pickle

import pytest

from tramapy import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    InterceptorError,
    ProviderCapabilityError,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    ResponseTooLargeError,
    TokenBudgetExceededError,
    TramapyError,
)

ONE_OF_EACH = [
    ConfigurationError("x"),
    ProviderError("x", retryable=True, status_code=503, retry_after_s=2.0),
    ProviderTimeoutError("x", retry_after_s=1.0),
    ProviderCapabilityError("x", provider_id="p", capability="vision"),
    ResponseTooLargeError("x", limit_bytes=1, read_bytes=2),
    CircuitBreakerOpenError("p", 1.5),
    DeadlineExceededError("x"),
    DlpInspectionError("x"),
    InterceptorError("x"),
    TokenBudgetExceededError("attempt", limit_tokens=1, observed_tokens=2, provider_id="p", model="m"),
]


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda error: type(error).__name__)
def test_one_except_catches_all_and_a_pickle_keeps_everything(error: TramapyError) -> None:
    assert isinstance(error, TramapyError)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert copied.__dict__ == error.__dict__


def test_timeouts_are_builtin_timeouts_too() -> None:
    assert issubclass(ProviderTimeoutError, TimeoutError)
    assert issubclass(DeadlineExceededError, TimeoutError)
    assert issubclass(ConfigurationError, ValueError)


def test_dlp_interceptor_budget_and_breaker_errors_are_no_provider_errors() -> None:
    for error_type in (
        DlpInspectionError,
        InterceptorError,
        TokenBudgetExceededError,
        CircuitBreakerOpenError,
        DeadlineExceededError,
        ConfigurationError,
    ):
        assert not issubclass(error_type, ProviderError)


def test_a_retryable_failure_counts_on_the_breaker_unless_it_says_otherwise() -> None:
    assert ProviderError("x", retryable=True).counts_on_breaker
    assert not ProviderError("x").counts_on_breaker
    assert not ProviderError("x", retryable=True, counts_on_breaker=False).counts_on_breaker
    assert ProviderError("x", counts_on_breaker=True).counts_on_breaker


def test_a_timeout_is_retryable_and_counts() -> None:
    error = ProviderTimeoutError("x")
    assert error.retryable
    assert error.counts_on_breaker
    assert error.failure_code is ProviderFailureCode.TIMEOUT


def test_messages_of_our_own_say_what_to_do() -> None:
    assert "Add a fallback route" in str(CircuitBreakerOpenError("p", 1.5))
    budget = TokenBudgetExceededError(
        "operation", limit_tokens=10, observed_tokens=11, provider_id="p", model="m"
    )
    assert "hard_max_tokens_per_operation" in str(budget)
