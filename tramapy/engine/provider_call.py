"""The provider call and its errors: every way to fail becomes one `ProviderError` without a word of payload."""

from __future__ import annotations

from typing import NoReturn

from tramapy.cancellation import leaves, rethrow_if_cancellation
from tramapy.engine.inspection import inspect_text
from tramapy.engine.operation import Attempt
from tramapy.engine.port import Signal
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    ProviderCapabilityError,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    TramapyError,
)
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType
from tramapy.hooks.provider import ProviderCapability
from tramapy.messages import ModelRequest, ModelResponse
from tramapy.resilience.breaker import counts

__all__ = ["call_provider", "check_deadline", "expired", "failed_call", "limit_s", "require"]


async def call_provider(attempt: Attempt, request: ModelRequest) -> ModelResponse:
    """Call the attempt's provider within its limit.

    Raises:
        ProviderError: It failed; see `failed_call`.
        ProviderTimeoutError: It took longer than `timeout_s`.
        DeadlineExceededError: The operation's deadline came first.
    """
    pipeline, provider = attempt.pipeline, attempt.route.provider
    limit = request.timeout_s
    try:
        if attempt.started_event is not None and pipeline.observers.has_scopes:
            with pipeline.observers.scope(attempt.started_event):
                answer = await pipeline.port.call(provider.answer, request, limit)
        else:
            answer = await pipeline.port.call(provider.answer, request, limit)
    except Exception as error:
        raise await failed_call(attempt, error) from None
    if answer is Signal.EXPIRED:
        raise expired(attempt, limit)
    if not isinstance(answer, ModelResponse):
        raise ProviderError(
            f"Provider {provider.provider_id!r} returned {type(answer).__name__}; it must return a ModelResponse",
            failure_code=ProviderFailureCode.INVALID_RESPONSE,
        )
    return answer


async def failed_call(attempt: Attempt, error: Exception) -> Exception:
    """Return the error to raise for what a provider raised; a cancellation is raised on.

    A `ProviderError` stays the same object unless DLP changed its message. A group becomes one error: its
    only leaf, or a `ProviderError` that is retryable if all leaves are. Anything else is a defect of the
    provider's: shown by type, never retried. An open breaker of the provider's own leads to the next route.
    A timeout at the operation's deadline is the deadline's, since its rest was the limit that the call got.
    """
    rethrow_if_cancellation(error)
    found = tuple(leaves(error))
    foreign = next((leaf for leaf in found if not isinstance(leaf, ProviderError)), None)
    if isinstance(foreign, ConfigurationError | CircuitBreakerOpenError) and len(found) == 1:
        return foreign
    if foreign is not None:
        attempt.diagnose("provider", "call", error)
        return ProviderError(
            f"Provider {attempt.route.provider.provider_id!r} raised {type(foreign).__name__}; "
            f"a provider raises ProviderError. A diagnostic observer sees the original"
        )
    failures = [leaf for leaf in found if isinstance(leaf, ProviderError)]
    if isinstance(failures[0], ProviderTimeoutError):
        check_deadline(attempt)
    failure = failures[0] if len(failures) == 1 else _merged(failures)
    if failure.counts_on_breaker and not counts(error):
        failure.counts_on_breaker = False  # by its cause, which goes now: a cause's words were not inspected
    return await _without_payload(attempt, failure)


def limit_s(attempt: Attempt) -> float | None:
    """Return how long the provider may take now: the attempt's timeout, or less where the deadline is near."""
    operation = attempt.operation
    if operation.deadline_at_s is None:
        return operation.timeout_s
    left_s = max(operation.deadline_at_s - attempt.pipeline.port.now_s(), 0.0)
    return left_s if operation.timeout_s is None else min(left_s, operation.timeout_s)


def expired(attempt: Attempt, passed_limit_s: float | None) -> TramapyError:
    """Return the error for a limit that passed: the deadline's if it was the rest of it, else the attempt's.

    The clock is not asked: the limit ran on the event loop's own, which may differ by its resolution.
    """
    operation = attempt.operation
    if passed_limit_s is not None and (operation.timeout_s is None or passed_limit_s < operation.timeout_s):
        return _deadline_error(operation.attempt_count)
    return ProviderTimeoutError(
        f"Provider {attempt.route.provider.provider_id!r} took longer than timeout_s={operation.timeout_s}"
    )


def check_deadline(attempt: Attempt) -> None:
    """Raise `DeadlineExceededError` where the operation's deadline has passed."""
    deadline_at_s = attempt.operation.deadline_at_s
    if deadline_at_s is not None and attempt.pipeline.port.now_s() >= deadline_at_s:
        raise _deadline_error(attempt.operation.attempt_count)


def require(attempt: Attempt, request: ModelRequest) -> None:
    """Raise `ProviderCapabilityError` where the provider cannot take this request; it is not called."""
    provider = attempt.route.provider
    if attempt.operation.is_stream and not provider.can_stream:
        _refuse(attempt, ProviderCapability.STREAMING, "the request is a stream")
    if provider.sees_images:
        return
    if any(message.has_image for message in request.messages):
        _refuse(attempt, ProviderCapability.VISION, "the request has an image")


def _refuse(attempt: Attempt, capability: ProviderCapability, why: str) -> NoReturn:
    provider_id = attempt.route.provider.provider_id
    raise ProviderCapabilityError(
        f"Provider {provider_id!r} lacks the capability {capability.name}, but {why}; route it elsewhere",
        provider_id=provider_id,
        capability=capability.value,
    )


def _merged(failures: list[ProviderError]) -> ProviderError:
    hints = [failure.retry_after_s for failure in failures if failure.retry_after_s is not None]
    return ProviderError(
        f"The provider failed in {len(failures)} ways at once",
        retryable=all(failure.retryable for failure in failures),
        retry_after_s=max(hints, default=None),
        counts_on_breaker=all(failure.counts_on_breaker for failure in failures),
    )


async def _without_payload(attempt: Attempt, error: ProviderError) -> ProviderError:
    """Inspect a provider's own words; a failing inspection withholds them, and the error stands.

    Notes on it were not inspected, so they go.
    """
    dlp, text = attempt.pipeline.dlp, str(error)
    if dlp is None or not text:
        return error
    location = DlpContentLocation.PROVIDER_ERROR_BODY
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location)
    try:
        sanitized = await inspect_text(attempt, dlp, context, text)
    except DlpInspectionError:
        sanitized = f"Provider {attempt.route.provider.provider_id!r} failed; DLP withheld its message"
    if sanitized == text and not getattr(error, "__notes__", None):
        return error
    attempt.diagnose("provider", "call", error)
    return _reworded(error, sanitized)


def _reworded(error: ProviderError, message: str) -> ProviderError:
    """Copy what an error says apart from its words. A subclass's own fields may hold them, so it goes too."""
    if isinstance(error, ProviderTimeoutError):
        return ProviderTimeoutError(message, retry_after_s=error.retry_after_s)
    return ProviderError(
        message,
        retryable=error.retryable,
        status_code=error.status_code,
        retry_after_s=error.retry_after_s,
        failure_code=error.failure_code,
        counts_on_breaker=error.counts_on_breaker,
    )


def _deadline_error(attempt_count: int) -> DeadlineExceededError:
    return DeadlineExceededError(
        f"The operation's deadline_s passed at attempt {attempt_count}; raise deadline_s, or lower timeout_s"
    )
