"""`FailureMapper`: what SDKs and their HTTP library raise, where no server can make them raise it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ssl
from typing import Any, cast

import anthropic
import anyio
import httpx2
import openai
import pytest

from tramapy.errors import ProviderError, ProviderFailureCode, ProviderTimeoutError, ResponseTooLargeError
from tramapy.providers.anthropic_sdk import ANTHROPIC
from tramapy.providers.openai_sdk import OPENAI
from tramapy.providers.sdk_failures import FailureMapper
from tramapy.wire.http_library import HttpLibrary

Code = ProviderFailureCode
REQUEST = httpx2.Request("POST", "http://127.0.0.1/secret")
RESPONSE = httpx2.Response(200, request=REQUEST)

MAPPER = FailureMapper(cast("HttpLibrary", httpx2), OPENAI.errors)
ANTHROPIC_MAPPER = FailureMapper(cast("HttpLibrary", httpx2), ANTHROPIC.errors)


@pytest.mark.parametrize(
    ("error", "retryable", "counts_on_breaker", "code"),
    [
        (openai.APITimeoutError(REQUEST), True, True, Code.TIMEOUT),
        (openai.APIConnectionError(message="secret", request=REQUEST), True, True, Code.CONNECTION_FAILED),
        (openai.APIResponseValidationError(RESPONSE, "secret"), False, True, Code.INVALID_RESPONSE),
        (openai.APIError("secret", REQUEST, body={"code": "secret"}), False, False, Code.UNEXPECTED_FAILURE),
        (openai.OpenAIError("secret"), False, False, Code.UNEXPECTED_FAILURE),
        (httpx2.ReadTimeout("secret"), True, True, Code.TIMEOUT),
        (TimeoutError("secret"), True, True, Code.TIMEOUT),
        (httpx2.DecodingError("secret"), False, True, Code.INVALID_RESPONSE),
        (httpx2.ReadError("secret"), True, True, Code.STREAM_CUT),
        (ssl.SSLError("secret"), True, True, Code.STREAM_CUT),
        (ConnectionResetError("secret"), True, True, Code.STREAM_CUT),
        (anyio.EndOfStream("secret"), True, True, Code.STREAM_CUT),
        (anyio.BrokenResourceError("secret"), True, True, Code.STREAM_CUT),
        (UnicodeEncodeError("utf-8", "secret\ud800", 6, 7, "x"), False, False, Code.UNEXPECTED_FAILURE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_known_error_becomes_a_provider_error_of_fixed_words(
    error: Exception, retryable: bool, counts_on_breaker: bool, code: Code
) -> None:
    mapped = MAPPER.provider_error(error, 0.0, Code.STREAM_CUT)

    assert (mapped.retryable, mapped.counts_on_breaker, mapped.failure_code) == (
        retryable,
        counts_on_breaker,
        code,
    )
    assert "secret" not in str(mapped)
    assert isinstance(mapped, ProviderTimeoutError) == (code is Code.TIMEOUT)


@pytest.mark.parametrize(
    ("error", "retryable", "counts_on_breaker", "code"),
    [
        (anthropic.APITimeoutError(REQUEST), True, True, Code.TIMEOUT),
        (anthropic.APIConnectionError(message="secret", request=REQUEST), True, True, Code.CONNECTION_FAILED),
        (anthropic.APIResponseValidationError(RESPONSE, "secret"), False, True, Code.INVALID_RESPONSE),
        (anthropic.APIError("secret", REQUEST, body=None), False, False, Code.UNEXPECTED_FAILURE),
        (anthropic.AnthropicError("secret"), False, False, Code.UNEXPECTED_FAILURE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_of_the_other_sdk_mean_the_same(
    error: Exception, retryable: bool, counts_on_breaker: bool, code: Code
) -> None:
    mapped = ANTHROPIC_MAPPER.provider_error(error, 0.0)

    assert (mapped.retryable, mapped.counts_on_breaker, mapped.failure_code) == (
        retryable,
        counts_on_breaker,
        code,
    )
    assert "secret" not in str(mapped)


@pytest.mark.parametrize(
    "body", [None, "secret", ["secret"], {"error": "secret"}, {"error": {"type": 7}}, {}]
)
def test_status_stands_whatever_the_body_is(body: object) -> None:
    response = httpx2.Response(503, request=REQUEST)
    for mapper, error in (
        (MAPPER, openai.InternalServerError("secret", response=response, body=body)),
        (ANTHROPIC_MAPPER, anthropic.InternalServerError("secret", response=response, body=body)),
    ):
        mapped = mapper.provider_error(error, 0.0)
        assert (mapped.status_code, mapped.retryable) == (503, True)
        assert "secret" not in str(mapped)


def test_error_of_our_own_is_stripped_of_what_it_was_raised_with() -> None:
    def fail() -> None:
        try:
            raise KeyError("secret")
        except KeyError as cause:
            raise ResponseTooLargeError("x", limit_bytes=1, read_bytes=2) from cause

    with pytest.raises(ProviderError) as caught:
        fail()
    mapped = MAPPER.provider_error(caught.value, 0.0)

    assert mapped is caught.value
    assert (mapped.__cause__, mapped.__context__, mapped.__traceback__) == (None, None, None)


@pytest.mark.parametrize(
    "error",
    [
        concurrent.futures.CancelledError(),
        ExceptionGroup("g", [ValueError(), concurrent.futures.CancelledError()]),
        RuntimeError("a defect"),
        ValueError("a defect"),
        cast("Any", asyncio.CancelledError()),
    ],
    ids=["cancelled", "cancelled-in-a-group", "runtime-error", "value-error", "task-cancelled"],
)
def test_cancellation_and_defect_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        MAPPER.provider_error(error, 0.0)
    assert caught.value is error


def _wrapped(cause: Exception) -> Exception:
    """Return a cause as an SDK wraps it."""
    error = anthropic.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("cause", [RuntimeError("a defect"), concurrent.futures.CancelledError()])
def test_defect_that_the_sdk_calls_a_lost_connection_passes(cause: Exception) -> None:
    with pytest.raises(type(cause)) as caught:
        ANTHROPIC_MAPPER.provider_error(_wrapped(cause), 0.0)
    assert caught.value is cause


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (httpx2.ConnectError("secret"), Code.CONNECTION_FAILED),
        (ssl.SSLError("secret"), Code.CONNECTION_FAILED),
        (anyio.EndOfStream("secret"), Code.CONNECTION_FAILED),
        (UnicodeEncodeError("utf-8", "secret\ud800", 6, 7, "x"), Code.UNEXPECTED_FAILURE),
        (ResponseTooLargeError("x", limit_bytes=1, read_bytes=2), Code.INVALID_RESPONSE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_lost_connection_is_one_and_our_own_error_stays(cause: Exception, code: Code) -> None:
    mapped = ANTHROPIC_MAPPER.provider_error(_wrapped(cause), 0.0)

    assert mapped.failure_code is code
    assert (mapped.__cause__, mapped.__context__) == (None, None)
    assert "secret" not in str(mapped)
