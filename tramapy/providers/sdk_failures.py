"""What a failure at a provider means: retry or not, count on the breaker or not.

One table serves rejections, plain answers that hold an error, and errors in the middle of a stream. No body
ever gets into a message: it names the SDK's error class and the status, and says what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.errors import ProviderError, ProviderFailureCode, ProviderTimeoutError
from tramapy.wire.http_library import HttpLibrary
from tramapy.wire.rejection import rejection_error, rejection_under
from tramapy.wire.transport_failure import ANYIO_ERRORS, transport_failure

__all__ = ["FailureMapper", "SdkErrors", "refused_call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkErrors:
    """The error classes of an SDK.

    Args:
        base: Of all of them.
        connection: The provider was not reached.
        timeout: It took too long; may derive from `connection`.
        status: It answered with an error status; has `status_code`, `body` and `response`.
        validation: Its answer is not of the expected form.
    """

    base: type[Exception]
    connection: type[Exception]
    timeout: type[Exception]
    status: type[Any]
    validation: type[Exception]


class FailureMapper:
    """Turns what an SDK and its HTTP library raise into a `ProviderError` to be raised.

    Args:
        library: The HTTP library under the client.
        errors: The SDK's error classes.
    """

    __slots__ = ("_errors", "_library")

    def __init__(self, library: HttpLibrary, errors: SdkErrors) -> None:
        self._library = library
        self._errors = errors

    def provider_error(
        self,
        error: Exception,
        now_epoch_s: float,
        transport_code: ProviderFailureCode = ProviderFailureCode.TRANSPORT_FAILED,
    ) -> ProviderError:
        """Return the error to raise for `error`, free of it: no cause, no context, no traceback.

        Args:
            error: What was caught; a cancellation and a defect are raised on.
            now_epoch_s: Wall time, for a `Retry-After` that is a date.
            transport_code: What a connection that is lost while the body is read counts as.

        Returns:
            An error that was raised nowhere yet. Raise it outside of the `except`.
        """
        rethrow_if_cancellation(error)
        if isinstance(error, ProviderError):
            # our own, from a decoder or a bounded read; its frames hold what was read
            error.__context__ = error.__cause__ = None
            return error.with_traceback(None)
        if isinstance(error, self._errors.base):
            cause = error.__cause__
            if isinstance(error, self._errors.connection) and self._is_foreign(cause):
                # some SDKs call whatever their HTTP client raises a lost connection
                return self.provider_error(cause, now_epoch_s, transport_code)
            return self._sdk_error(error, now_epoch_s)
        failure = transport_failure(self._library, error, transport_code)
        if failure is not None:
            return failure
        if isinstance(error, UnicodeEncodeError):
            return _failure("The request has text that is no Unicode: a lone surrogate. Remove it.")
        raise error

    def _is_foreign(self, cause: BaseException | None) -> TypeGuard[Exception]:
        """Tell whether an error is none of a connection's."""
        return isinstance(cause, Exception) and not isinstance(
            cause, (self._library.RequestError, OSError, self._errors.base, *ANYIO_ERRORS)
        )

    def _sdk_error(self, error: Exception, now_epoch_s: float) -> ProviderError:
        name = type(error).__name__
        # a timeout is a connection error too
        if isinstance(error, self._errors.timeout):
            return ProviderTimeoutError(
                f"The provider took too long ({name}). Raise the timeout, or ask for less."
            )
        if isinstance(error, self._errors.connection):
            return _failure(
                f"The provider could not be reached ({name}). Check the client's base_url, its proxy and the network.",
                ProviderFailureCode.CONNECTION_FAILED,
                retryable=True,
            )
        if isinstance(error, self._errors.status):
            return _rejected(error, now_epoch_s)
        if isinstance(error, self._errors.validation):
            return _failure(
                f"The provider's answer is not of the expected form ({name}).",
                ProviderFailureCode.INVALID_RESPONSE,
                counts_on_breaker=True,
            )
        return refused_call(error)


def refused_call(error: Exception) -> ProviderError:
    """Return the error for a call that the SDK did not make."""
    return _failure(
        f"The provider's client refused the call ({type(error).__name__}). "
        "Check how it was made, and its credentials."
    )


def _rejected(error: Any, now_epoch_s: float) -> ProviderError:
    rejection = rejection_under(error.status_code, error.body, error.response.headers)
    return rejection_error(f"HTTP {error.status_code} ({type(error).__name__})", rejection, now_epoch_s)


def _failure(
    message: str,
    code: ProviderFailureCode = ProviderFailureCode.UNEXPECTED_FAILURE,
    *,
    retryable: bool = False,
    counts_on_breaker: bool | None = None,
) -> ProviderError:
    return ProviderError(message, retryable=retryable, failure_code=code, counts_on_breaker=counts_on_breaker)
