"""`Rejection`: a provider's refusal, and the table of what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.resilience.retry_after import retry_after_from_headers
from tramapy.wire.json_values import mapping_of, text_of

__all__ = ["Rejection", "rejection_error", "rejection_in", "rejection_under"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """What is known of a refusal beside its text.

    Args:
        status: The HTTP status, or the one that an error object stands for.
        code: The error's code, where the body gives one.
        error_type: The error's type, where the body gives one.
        headers: Of the response; empty for an error object within a stream.
    """

    status: int
    code: str | None = None
    error_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def names(self, *words: str) -> bool:
        """Tell whether the code or the type is one of `words`."""
        return self.code in words or self.error_type in words


@dataclass(frozen=True, slots=True)
class _Verdict:
    retryable: bool
    counts_on_breaker: bool
    failure_code: ProviderFailureCode = ProviderFailureCode.HTTP_REJECTED
    advice: str = ""


_CALLER_FAULT: Final = _Verdict(False, False)
_PROVIDER_FAULT: Final = _Verdict(True, True)

_QUOTA: Final = _Verdict(
    False,
    False,
    ProviderFailureCode.QUOTA_EXHAUSTED,
    " The account's quota is used up; raise it, or route elsewhere.",
)
_FILTERED: Final = _Verdict(
    False, False, ProviderFailureCode.CONTENT_FILTERED, " The provider's content filter refused the request."
)

_BY_STATUS: Final = {
    401: replace(_CALLER_FAULT, advice=" Check the client's credentials."),
    403: replace(_CALLER_FAULT, advice=" Check what the credentials allow."),
    404: replace(_CALLER_FAULT, advice=" Check the model's name and the client's base_url."),
    408: _PROVIDER_FAULT,
    # a conflict says nothing about the provider's health
    409: _Verdict(True, False),
    413: replace(_CALLER_FAULT, advice=" Send less."),
    429: replace(_PROVIDER_FAULT, failure_code=ProviderFailureCode.RATE_LIMITED),
    # a method that is not implemented will not be by the next attempt
    501: _Verdict(False, True),
}

_STATUS_BY_WORD: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    # the messages format
    "billing_error": 402,
    "conflict_error": 409,
    "request_too_large": 413,
    "timeout_error": 504,
    "overloaded_error": 529,
    # a failed response
    "invalid_prompt": 400,
    "data_residency_mismatch": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_base64_image": 400,
    "invalid_image_url": 400,
    "invalid_image_mode": 400,
    "image_too_large": 400,
    "image_too_small": 400,
    "image_parse_error": 400,
    "image_file_too_large": 400,
    "image_file_not_found": 400,
    "unsupported_image_media_type": 400,
    "empty_image_file": 400,
    "failed_to_download_image": 400,
}

_FILTER_WORDS: Final = (
    "content_filter",
    "content_policy_violation",
    "image_content_policy_violation",
    "bio_policy",
    "misalignment_policy_violation",
)

_SHOULD_RETRY: Final = {"true": True, "false": False}


def rejection_error(source: str, rejection: Rejection, now_epoch_s: float) -> ProviderError:
    """Return the error for a refusal.

    An exhausted quota and a content filter are final whatever the headers say; for the rest, the provider's
    `x-should-retry` has the last word on retrying, and the status on the breaker.

    Args:
        source: What the message says was answered, in fixed words.
        rejection: What is known.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.
    """
    verdict = _verdict(rejection)
    return ProviderError(
        f"The provider answered {source}.{verdict.advice}",
        retryable=verdict.retryable,
        status_code=rejection.status,
        retry_after_s=retry_after_from_headers(rejection.headers, now_epoch_s),
        failure_code=verdict.failure_code,
        counts_on_breaker=verdict.counts_on_breaker,
    )


def rejection_in(body: Mapping[str, object], *, is_error: bool = False) -> Rejection | None:
    """Return the refusal that a body holds where an answer was due, under a status of 200; None for an answer.

    A numeric code is taken for a status, as some routers write it; else the code or type decides; an unknown
    one is the provider's fault.

    Args:
        body: What came.
        is_error: Whether it is known to be an error, so that it may be the error object itself.
    """
    error = body.get("error")
    if not error and not is_error:
        return None
    code, error_type = _words_of(mapping_of(error) or (body if is_error else {}))
    return Rejection(status=_status_of(code, error_type), code=code, error_type=error_type)


def rejection_under(status: int, body: object, headers: Mapping[str, str]) -> Rejection:
    """Return the refusal that came under an error status, which stands whatever its body says.

    Args:
        status: The HTTP status.
        body: The parsed body, or its `error` object alone, as some SDKs keep it; anything else says nothing.
        headers: Of the response.
    """
    code, error_type = _words_of(mapping_of(mapping_of(body).get("error")) or mapping_of(body))
    return Rejection(status=status, code=code, error_type=error_type, headers=headers)


def _words_of(detail: Mapping[str, object]) -> tuple[str | None, str | None]:
    raw_code = detail.get("code")
    return str(raw_code) if isinstance(raw_code, (str, int)) else None, text_of(detail.get("type"))


def _status_of(code: str | None, error_type: str | None) -> int:
    if code is not None and len(code) == 3 and code.isascii() and code.isdigit():
        return int(code)
    words = (_STATUS_BY_WORD.get(word) for word in (code, error_type) if word is not None)
    return next((status for status in words if status is not None), 500)


def _verdict(rejection: Rejection) -> _Verdict:
    if rejection.names("insufficient_quota"):
        return _QUOTA
    if rejection.names(*_FILTER_WORDS):
        return _FILTERED
    default = _PROVIDER_FAULT if rejection.status >= 500 else _CALLER_FAULT
    verdict = _BY_STATUS.get(rejection.status, default)
    told = _SHOULD_RETRY.get(rejection.headers.get("x-should-retry", ""))
    return verdict if told is None else replace(verdict, retryable=told)
