"""The error tree: one base class, and a branch per party whose fault it is.

::

    TramapyError
    ├── ConfigurationError         the caller's set-up; also a ValueError
    ├── ProviderError              the provider, or the way to it
    │   ├── ProviderTimeoutError   one attempt took longer than `timeout_s`; also a TimeoutError
    │   ├── ProviderCapabilityError  the provider cannot do what the request needs
    │   └── ResponseTooLargeError  a body over its limit
    ├── CircuitBreakerOpenError    the provider is shut off for now
    ├── DeadlineExceededError      the operation's `deadline_s` passed; also a TimeoutError
    ├── DlpInspectionError         DLP refused text, or could not do its work
    ├── InterceptorError           a user's interceptor or content hook failed
    └── TokenBudgetExceededError   a hard token limit was passed

No message of ours carries prompt, response, tool arguments or matched text: it says what happened, which
provider, rule or hook, and what to do.
"""

from __future__ import annotations

import enum
from typing import Literal

__all__ = [
    "CircuitBreakerOpenError",
    "ConfigurationError",
    "DeadlineExceededError",
    "DlpInspectionError",
    "InterceptorError",
    "ProviderCapabilityError",
    "ProviderError",
    "ProviderFailureCode",
    "ProviderTimeoutError",
    "ResponseTooLargeError",
    "TokenBudgetExceededError",
    "TramapyError",
]


class TramapyError(Exception):
    """Base of every error that tramapy raises on its own account."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle by message and attributes: a constructor may want more than its message."""
        return (_restored, (type(self), self.args, dict(self.__dict__)))


class ConfigurationError(TramapyError, ValueError):
    """A setting, name or hook that cannot work; the message names it and the remedy."""


class ProviderFailureCode(enum.Enum):
    """How a provider failed, for events and dashboards."""

    HTTP_REJECTED = "http_rejected"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    CONTENT_FILTERED = "content_filtered"
    TIMEOUT = "timeout"
    CONNECTION_FAILED = "connection_failed"
    TRANSPORT_FAILED = "transport_failed"
    INVALID_RESPONSE = "invalid_response"
    STREAM_CUT = "stream_cut"
    UNEXPECTED_FAILURE = "unexpected_failure"


class ProviderError(TramapyError):
    """The provider failed an attempt.

    A retryable one is retried on its route, then falls back, and counts on the breaker; any other ends the
    operation at once.

    Args:
        message: What happened, in fixed words of the adapter's; never a response body.
        retryable: Whether the same request may succeed later.
        status_code: The HTTP status, where there was one.
        retry_after_s: The provider's own hint, in seconds from now.
        failure_code: The kind of failure, for events.
        counts_on_breaker: Whether this speaks of the provider's health; by default what `retryable` says.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status_code: int | None = None,
        retry_after_s: float | None = None,
        failure_code: ProviderFailureCode = ProviderFailureCode.UNEXPECTED_FAILURE,
        counts_on_breaker: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.status_code = status_code
        self.retry_after_s = retry_after_s
        self.failure_code = failure_code
        self.counts_on_breaker: bool = retryable if counts_on_breaker is None else counts_on_breaker


class ProviderTimeoutError(ProviderError, TimeoutError):
    """One attempt took longer than `timeout_s`; retryable, and counted by the breaker.

    Also raised by a provider's adapter for the transport's own timeout.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(
            message, retryable=True, retry_after_s=retry_after_s, failure_code=ProviderFailureCode.TIMEOUT
        )


class ProviderCapabilityError(ProviderError):
    """The request needs something that the provider does not offer; it was not called.

    Not retryable and neutral on the breaker: the request is at fault, not the provider's health.
    """

    def __init__(self, message: str, *, provider_id: str, capability: str) -> None:
        super().__init__(message)
        self.provider_id = provider_id
        self.capability = capability


class ResponseTooLargeError(ProviderError):
    """A body was longer than its limit; what was read is dropped. Not retryable.

    Args:
        message: Says the source and both figures.
        limit_bytes: The limit in force.
        read_bytes: How much had come when reading stopped; at least `limit_bytes` + 1.
    """

    def __init__(self, message: str, *, limit_bytes: int, read_bytes: int) -> None:
        super().__init__(message, failure_code=ProviderFailureCode.INVALID_RESPONSE)
        self.limit_bytes = limit_bytes
        self.read_bytes = read_bytes


class CircuitBreakerOpenError(TramapyError):
    """The provider's breaker is open and no other route could answer.

    Args:
        provider_id: The provider that is shut off.
        retry_after_s: Seconds until a probe may pass; 0.0 while a probe is under way.
    """

    def __init__(self, provider_id: str, retry_after_s: float) -> None:
        super().__init__(
            f"Provider {provider_id!r} is shut off by its circuit breaker; a probe may pass in "
            f"{retry_after_s:.3f} s. Add a fallback route, or wait."
        )
        self.provider_id = provider_id
        self.retry_after_s = retry_after_s


class DeadlineExceededError(TramapyError, TimeoutError):
    """The operation's `deadline_s` passed, or its next step could not end before it. Neutral on the breaker.

    `__cause__` is the last provider error, where an attempt had failed before.
    """


class DlpInspectionError(TramapyError):
    """DLP refused text, or could not give evidence for what it did.

    Never retried, never fallen back from, and neutral on the breaker.
    """


class InterceptorError(TramapyError):
    """A user's hook raised, or returned something unusable; the message names the hook, never its text.

    Never retried, never fallen back from, and neutral on the breaker.
    """


class TokenBudgetExceededError(TramapyError):
    """A hard token limit was passed; the answer is dropped. Never retried, neutral on the breaker.

    Args:
        scope: `attempt` or `operation`.
        limit_tokens: The limit that was passed.
        observed_tokens: What was used, strictly more than the limit.
        provider_id: The provider of the attempt that passed it.
        model: The model of that attempt.
    """

    def __init__(
        self,
        scope: Literal["attempt", "operation"],
        *,
        limit_tokens: int,
        observed_tokens: int,
        provider_id: str,
        model: str,
    ) -> None:
        super().__init__(
            f"The {scope} used {observed_tokens} tokens on provider {provider_id!r}; the hard limit is "
            f"{limit_tokens}. Raise hard_max_tokens_per_{scope} or ask for less."
        )
        self.scope: Literal["attempt", "operation"] = scope
        self.limit_tokens = limit_tokens
        self.observed_tokens = observed_tokens
        self.provider_id = provider_id
        self.model = model


def _restored(
    error_type: type[TramapyError], args: tuple[object, ...], attributes: dict[str, object]
) -> TramapyError:
    error = error_type.__new__(error_type)
    error.args = args
    error.__dict__.update(attributes)
    return error
