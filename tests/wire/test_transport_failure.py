"""What the HTTP library's errors mean."""

from __future__ import annotations

import anyio
import httpx2
import pytest

from tramapy.errors import ProviderFailureCode, ProviderTimeoutError
from tramapy.wire.transport_failure import transport_failure

CONNECTION_FAILED = ProviderFailureCode.CONNECTION_FAILED
STREAM_CUT = ProviderFailureCode.STREAM_CUT


@pytest.mark.parametrize("error", [httpx2.ReadTimeout("secret"), TimeoutError("secret")])
def test_a_timeout_is_a_timeout(error: Exception) -> None:
    failure = transport_failure(httpx2, error, STREAM_CUT)
    assert type(failure) is ProviderTimeoutError
    assert "secret" not in str(failure)


def test_a_body_that_cannot_be_decompressed_is_no_answer() -> None:
    failure = transport_failure(httpx2, httpx2.DecodingError("secret"), STREAM_CUT)
    assert failure is not None
    assert failure.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert (failure.retryable, failure.counts_on_breaker) == (False, True)
    assert "secret" not in str(failure)


@pytest.mark.parametrize(
    "error",
    [httpx2.ReadError("secret"), OSError("secret"), anyio.EndOfStream(), anyio.BrokenResourceError()],
    ids=repr,
)
@pytest.mark.parametrize("code", [CONNECTION_FAILED, STREAM_CUT])
def test_a_lost_connection_is_retryable(error: Exception, code: ProviderFailureCode) -> None:
    failure = transport_failure(httpx2, error, code)
    assert failure is not None
    assert failure.retryable
    assert failure.failure_code is code
    assert ("could not be reached" in str(failure)) is (code is CONNECTION_FAILED)
    assert "secret" not in str(failure)


def test_a_defect_is_no_failure_of_the_transport() -> None:
    assert transport_failure(httpx2, ValueError("x"), STREAM_CUT) is None
