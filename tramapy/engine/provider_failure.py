"""What a provider's failure becomes: one error of ours, with nothing in it that was not inspected."""

from __future__ import annotations

from typing import Final

from tramapy.cancellation import leaves, rethrow_if_cancellation
from tramapy.engine.inspection import inspect_text
from tramapy.engine.limits import check_deadline
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import Attempt
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    ResponseTooLargeError,
)
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpInterceptor
from tramapy.resilience.breaker import counts
from tramapy.values import class_label, exact_text

__all__ = ["failed_call"]

_FIELDS: Final = frozenset(("retryable", "status_code", "retry_after_s", "failure_code", "counts_on_breaker"))


_OF_A_FORMAT: Final = (DlpInspectionError, InterceptorError)


async def failed_call(attempt: Attempt, error: Exception) -> Exception:
    """Return the error to raise for what a provider raised; a cancellation is raised on.

    A plain `ProviderError` stays the same object unless DLP changed its message. A group becomes one error: its
    only leaf, or a `ProviderError` that is retryable if all leaves are. Anything else is a defect of the
    provider's: shown by type, never retried. An open breaker of the provider's own leads to the next route.
    A timeout at the operation's deadline is the deadline's, since its rest was the limit that the call got.
    """
    rethrow_if_cancellation(error)
    found = tuple(leaves(error))
    if len(found) == 1 and isinstance(found[0], CircuitBreakerOpenError):
        # under the id that the caller knows; the provider's own may be anything
        retry_after_s = _seconds(getattr(found[0], "retry_after_s", None))
        return CircuitBreakerOpenError(attempt.route.provider.provider_id, retry_after_s)
    if len(found) == 1 and isinstance(found[0], ConfigurationError):
        return await _configuration(attempt, found[0])
    if len(found) == 1 and isinstance(found[0], _OF_A_FORMAT) and attempt.operation.native is not None:
        return found[0]  # a wire format of ours has no place for what a hook made of a request
    failures = [leaf for leaf in found if isinstance(leaf, ProviderError) and _is_usable(leaf)]
    if len(failures) < len(found):
        return _defect(attempt, error, found)
    if isinstance(failures[0], ProviderTimeoutError):
        check_deadline(attempt.operation)
    failure = failures[0] if len(failures) == 1 else _merged(failures)
    is_neutral = failure.counts_on_breaker and not counts(error)
    failure = await _without_payload(attempt, failure)
    if is_neutral:  # by its cause, which goes now: a cause's words were not inspected
        failure = _reworded(failure, str(failure))
        failure.counts_on_breaker = False
    return failure


def _is_usable(error: ProviderError) -> bool:
    """Tell whether the engine can read an error's fields: a subclass may have left them out, or filled in text."""
    return (
        isinstance(getattr(error, "retryable", None), bool)
        and isinstance(getattr(error, "counts_on_breaker", None), bool)
        and isinstance(getattr(error, "failure_code", None), ProviderFailureCode)
        and isinstance(getattr(error, "status_code", ""), (int, type(None)))
        and isinstance(getattr(error, "retry_after_s", ""), (int, float, type(None)))
    )


def _defect(attempt: Attempt, error: Exception, found: tuple[BaseException, ...]) -> ProviderError:
    attempt.diagnose("provider", "call", error)
    culprit = next((leaf for leaf in found if not isinstance(leaf, ProviderError)), None)
    provider = f"Provider {attempt.route.provider.provider_id!r}"
    if culprit is None:
        return ProviderError(
            f"{provider} raised a ProviderError whose fields have the wrong type or are missing; call "
            f"super().__init__. One of diagnostic_observers=[...] sees the original"
        )
    if _is_of_another_loop(culprit):
        return ProviderError(
            f"{provider} has connections of another event loop, which may have ended; make a client for each event "
            f"loop, or make all calls in one"
        )
    return ProviderError(
        f"{provider} raised {class_label(culprit)}; a provider raises ProviderError. "
        f"One of diagnostic_observers=[...] sees the original"
    )


def _is_of_another_loop(error: BaseException) -> bool:
    """Tell what clients raise that were used in one event loop before, and now in another; the words are Python's."""
    if type(error) is not RuntimeError or len(error.args) != 1 or not isinstance(error.args[0], str):
        return False
    return error.args[0].endswith(("Event loop is closed", "a different event loop", "a different loop"))


async def _configuration(attempt: Attempt, error: ConfigurationError) -> ConfigurationError:
    """Keep a provider's complaint about its own set-up, in words that DLP has seen."""
    dlp = attempt.pipeline.dlp
    if dlp is None:
        return error
    return ConfigurationError(await _inspected_words(attempt, dlp, error))


def _merged(failures: list[ProviderError]) -> ProviderError:
    hints = [failure.retry_after_s for failure in failures if failure.retry_after_s is not None]
    return ProviderError(
        f"The provider failed in {len(failures)} ways at once",
        retryable=all(failure.retryable for failure in failures),
        retry_after_s=max(hints, default=None),
        counts_on_breaker=all(failure.counts_on_breaker for failure in failures),
    )


async def _without_payload(attempt: Attempt, error: ProviderError) -> ProviderError:
    """Inspect a provider's own words where there is a DLP; what was not inspected does not stay on the error."""
    dlp = attempt.pipeline.dlp
    if dlp is None:
        return error
    words = await _inspected_words(attempt, dlp, error)
    if type(error) is NativeRejectionError:
        return error.reworded(words, await _inspected_body(attempt, dlp, error, words))
    if _is_plain(error, words):
        return error
    attempt.diagnose("provider", "call", error)
    return _reworded(error, words)


async def _inspected_body(
    attempt: Attempt, dlp: DlpInterceptor, error: NativeRejectionError, words: str
) -> str:
    """Return what a provider said, inspected; where the inspection fails, the words of the error stand for it."""
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, DlpContentLocation.PROVIDER_ERROR_BODY)
    try:
        return await inspect_text(attempt, dlp, context, error.body)
    except DlpInspectionError:
        return words


async def _inspected_words(attempt: Attempt, dlp: DlpInterceptor, error: Exception) -> str:
    """Return an error's message, inspected; a failing inspection withholds it."""
    withheld = f"Provider {attempt.route.provider.provider_id!r} failed; DLP withheld its message"
    try:
        text = str(error)
    except Exception as failure:
        rethrow_if_cancellation(failure)
        return withheld
    text = exact_text(text)
    if not text:
        return text
    location = DlpContentLocation.PROVIDER_ERROR_BODY
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location)
    try:
        return await inspect_text(attempt, dlp, context, text)
    except DlpInspectionError:
        return withheld


def _is_plain(error: ProviderError, words: str) -> bool:
    """Tell whether an error is its message and our own fields, and nothing beside them."""
    fields = error.__dict__.keys() - _FIELDS
    if type(error) is ResponseTooLargeError:
        sizes = {"limit_bytes", "read_bytes"}
        return (
            _has_words(error, words)
            and fields == sizes
            and all(isinstance(error.__dict__[name], int) for name in sizes)
        )
    return type(error) in (ProviderError, ProviderTimeoutError) and _has_words(error, words) and not fields


def _has_words(error: ProviderError, words: str) -> bool:
    """Tell whether an error's message is `words`; a str's subclass is not asked what it equals."""
    return len(error.args) == 1 and type(error.args[0]) is str and error.args[0] == words


def _reworded(error: ProviderError, message: str) -> ProviderError:
    """Copy what an error says apart from its words. A subclass's own fields may hold them, so it goes too."""
    if type(error) is NativeRejectionError:
        return error.reworded(message, error.body)
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


def _seconds(value: object) -> float:
    return value if isinstance(value, float) and 0.0 <= value < float("inf") else 0.0
