"""What a failure of the HTTP library means: retry or not, count on the breaker or not. No text gets into it."""

from __future__ import annotations

from typing import Final

import anyio

from tramapy.errors import ProviderError, ProviderFailureCode, ProviderTimeoutError
from tramapy.wire.http_library import HttpLibrary

__all__ = ["ANYIO_ERRORS", "transport_failure"]

ANYIO_ERRORS: Final = (anyio.EndOfStream, anyio.BrokenResourceError)
"""What httpx lets through of its backend's errors while a body is read."""


def transport_failure(
    library: HttpLibrary, error: Exception, code: ProviderFailureCode
) -> ProviderError | None:
    """Return the error to raise for what the HTTP library raised; None for what is a defect, or no failure of its.

    Args:
        library: The HTTP library.
        error: What was caught.
        code: What a connection that is lost counts as, at this point of the call.
    """
    name = type(error).__name__
    if isinstance(error, (library.TimeoutException, TimeoutError)):
        return ProviderTimeoutError(
            f"The provider took too long ({name}). Raise the timeout, or ask for less."
        )
    if isinstance(error, library.DecodingError):
        return ProviderError(
            f"The provider's answer cannot be decompressed ({name}).",
            failure_code=ProviderFailureCode.INVALID_RESPONSE,
            counts_on_breaker=True,
        )
    if isinstance(error, (library.RequestError, OSError, *ANYIO_ERRORS)):
        is_early = code is ProviderFailureCode.CONNECTION_FAILED
        message = (
            f"The provider could not be reached ({name}). Check the client's base_url, its proxy and the network."
            if is_early
            else f"The connection to the provider was lost ({name})."
        )
        return ProviderError(message, retryable=True, failure_code=code)
    return None
