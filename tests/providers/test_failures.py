"""What each failure of a provider means, by the table, over the real SDKs and a scripted server."""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.providers.worlds import API_KEY, HELLO, MESSAGES, World
from tramapy.errors import (
    ProviderError,
    ProviderFailureCode,
    ResponseTooLargeError,
)
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    GzipBomb,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    OversizedBody,
    RawBody,
    ScriptedAnswer,
    ScriptedServer,
)

Code = ProviderFailureCode


plain_and_stream = pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])


REJECTIONS: dict[str, tuple[HttpRejection, bool, bool, Code]] = {
    "400": (HttpRejection(status=400), False, False, Code.HTTP_REJECTED),
    "401": (HttpRejection(status=401), False, False, Code.HTTP_REJECTED),
    "402": (HttpRejection(status=402), False, False, Code.HTTP_REJECTED),
    "403": (HttpRejection(status=403), False, False, Code.HTTP_REJECTED),
    "404": (HttpRejection(status=404), False, False, Code.HTTP_REJECTED),
    "408": (HttpRejection(status=408), True, True, Code.HTTP_REJECTED),
    "409": (HttpRejection(status=409), True, False, Code.HTTP_REJECTED),
    "413": (HttpRejection(status=413), False, False, Code.HTTP_REJECTED),
    "422": (HttpRejection(status=422), False, False, Code.HTTP_REJECTED),
    "429": (HttpRejection(status=429), True, True, Code.RATE_LIMITED),
    "500": (HttpRejection(status=500), True, True, Code.HTTP_REJECTED),
    "501": (HttpRejection(status=501), False, True, Code.HTTP_REJECTED),
    "502": (HttpRejection(status=502), True, True, Code.HTTP_REJECTED),
    "503": (HttpRejection(status=503), True, True, Code.HTTP_REJECTED),
    "504": (HttpRejection(status=504), True, True, Code.HTTP_REJECTED),
    "529": (HttpRejection(status=529), True, True, Code.HTTP_REJECTED),
    "429-quota": (
        HttpRejection(status=429, code="insufficient_quota"),
        False,
        False,
        Code.QUOTA_EXHAUSTED,
    ),
    "429-quota-as-type": (
        HttpRejection(status=429, error_type="insufficient_quota"),
        False,
        False,
        Code.QUOTA_EXHAUSTED,
    ),
    "429-quota-told-to-retry": (
        HttpRejection(status=429, code="insufficient_quota", headers={"x-should-retry": "true"}),
        False,
        False,
        Code.QUOTA_EXHAUSTED,
    ),
    "400-content-filter": (
        HttpRejection(status=400, code="content_filter"),
        False,
        False,
        Code.CONTENT_FILTERED,
    ),
    "400-told-to-retry": (
        HttpRejection(status=400, headers={"x-should-retry": "true"}),
        True,
        False,
        Code.HTTP_REJECTED,
    ),
    "500-told-not-to-retry": (
        HttpRejection(status=500, headers={"x-should-retry": "false"}),
        False,
        True,
        Code.HTTP_REJECTED,
    ),
    "500-told-something-else": (
        HttpRejection(status=500, headers={"x-should-retry": "maybe"}),
        True,
        True,
        Code.HTTP_REJECTED,
    ),
}


@pytest.mark.unmeasured
@plain_and_stream
@pytest.mark.parametrize(
    ("fault", "retryable", "counts_on_breaker", "code"), REJECTIONS.values(), ids=REJECTIONS.keys()
)
def test_rejection_means_what_the_table_says(
    world: World,
    is_stream: bool,
    fault: HttpRejection,
    retryable: bool,
    counts_on_breaker: bool,
    code: Code,
) -> None:
    if world.wire is MESSAGES and fault.code is not None:
        fault = replace(fault, error_type=fault.code)  # its errors have no code
    error = world.failure(fault, is_stream=is_stream)

    assert (error.retryable, error.counts_on_breaker, error.failure_code) == (
        retryable,
        counts_on_breaker,
        code,
    )
    assert error.status_code == fault.status
    assert str(error).startswith(f"The provider answered HTTP {fault.status} (")


def test_redirect_that_is_not_followed_is_the_callers_fault(world: World) -> None:
    error = world.failure(HttpRejection(status=304))

    assert (error.retryable, error.counts_on_breaker, error.status_code) == (False, False, 304)


NOW_EPOCH_S = 1_750_000_000.0


@pytest.mark.parametrize(
    ("headers", "retry_after_s"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW_EPOCH_S + 30, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(NOW_EPOCH_S - 30, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
    ids=["seconds", "fraction", "milliseconds", "both", "date", "past-date", "garbage", "none"],
)
def test_retry_after_is_read(world: World, headers: dict[str, str], retry_after_s: float | None) -> None:
    error = world.failure(HttpRejection(status=429, headers=headers), now_epoch_s=lambda: NOW_EPOCH_S)

    assert error.retry_after_s == retry_after_s


BROKEN: dict[str, tuple[ScriptedAnswer, bool, bool, bool, Code]] = {
    "reset": (ConnectionReset(), False, True, True, Code.CONNECTION_FAILED),
    "stream-reset": (ConnectionReset(), True, True, True, Code.CONNECTION_FAILED),
    "reset-within": (ConnectionReset(after_events=1), False, True, True, Code.TRANSPORT_FAILED),
    "stream-reset-within": (ConnectionReset(after_events=1), True, True, True, Code.STREAM_CUT),
    "cut": (CutStream(), True, True, True, Code.STREAM_CUT),
    "cut-at-once": (CutStream(after_events=0), True, True, True, Code.STREAM_CUT),
    "cut-within-the-body": (CutStream(is_clean=False), True, True, True, Code.STREAM_CUT),
    "end-mark-without-a-reason": (
        RawBody(body=b"data: [DONE]\n\n"),
        True,
        True,
        True,
        Code.STREAM_CUT,
    ),
    "malformed-event": (MalformedStream(), True, False, True, Code.INVALID_RESPONSE),
    "event-that-is-no-object": (
        MalformedStream(data=b"data: 7\n\n"),
        True,
        False,
        True,
        Code.INVALID_RESPONSE,
    ),
    "plain-answer-to-a-stream": (
        RawBody(body={"choices": []}),
        True,
        False,
        True,
        Code.INVALID_RESPONSE,
    ),
    "error-in-the-stream": (MidStreamError(), True, True, True, Code.HTTP_REJECTED),
    "quota-in-the-stream": (
        MidStreamError(detail=ErrorDetail(code="insufficient_quota", error_type="insufficient_quota")),
        True,
        False,
        False,
        Code.QUOTA_EXHAUSTED,
    ),
    "no-json": (RawBody(body=b"<html>"), False, False, True, Code.INVALID_RESPONSE),
    "no-object": (RawBody(body=b"[]"), False, False, True, Code.INVALID_RESPONSE),
    "no-choice": (RawBody(body={"choices": []}), False, False, True, Code.INVALID_RESPONSE),
    "endless-nesting": (RawBody(body=b"[" * 200_000), False, False, True, Code.INVALID_RESPONSE),
    "error-as-an-answer": (
        RawBody(body={"error": {"code": 503}}),
        False,
        True,
        True,
        Code.HTTP_REJECTED,
    ),
    "broken-gzip": (
        RawBody(body=b"no gzip", headers={"content-encoding": "gzip"}),
        False,
        False,
        True,
        Code.INVALID_RESPONSE,
    ),
    "stream-broken-gzip": (
        RawBody(body=b"no gzip", headers={"content-encoding": "gzip"}),
        True,
        False,
        True,
        Code.INVALID_RESPONSE,
    ),
}


# where decompression fails, the library itself leaves a generator to trio's finalizer, which warns
@pytest.mark.unmeasured
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object PoolByteStream")
@pytest.mark.parametrize(
    ("fault", "is_stream", "retryable", "counts_on_breaker", "code"), BROKEN.values(), ids=BROKEN.keys()
)
def test_broken_answer_means_what_the_table_says(
    world: World,
    fault: ScriptedAnswer,
    is_stream: bool,
    retryable: bool,
    counts_on_breaker: bool,
    code: Code,
) -> None:
    error = world.failure(fault, is_stream=is_stream)

    assert (error.retryable, error.counts_on_breaker, error.failure_code) == (
        retryable,
        counts_on_breaker,
        code,
    )


def test_provider_that_is_not_there_is_a_failed_connection(world: World) -> None:
    server = ScriptedServer()
    with server:
        gone = server.base_url
    with pytest.raises(ProviderError) as caught:
        world.complete(server, client_options={"base_url": gone})

    assert (caught.value.failure_code, caught.value.retryable) == (Code.CONNECTION_FAILED, True)


LIMIT = 100_000


OVERSIZED: dict[str, tuple[ScriptedAnswer, bool]] = {
    "body": (OversizedBody(byte_count=LIMIT + 1), False),
    "bomb": (GzipBomb(byte_count=20_000_000), False),
    "stream": (OversizedBody(byte_count=LIMIT + 1), True),
    "event": (OversizedBody(byte_count=LIMIT + 1, is_one_event=True), True),
    "stream-bomb": (GzipBomb(byte_count=20_000_000), True),
}


@pytest.mark.parametrize(("fault", "is_stream"), OVERSIZED.values(), ids=OVERSIZED.keys())
def test_answer_over_its_limit_is_an_error_with_both_figures(
    world: World, fault: ScriptedAnswer, is_stream: bool
) -> None:
    error = world.failure(fault, is_stream=is_stream, limit_bytes=LIMIT)

    assert isinstance(error, ResponseTooLargeError)
    assert (error.limit_bytes, error.retryable) == (LIMIT, False)
    assert LIMIT < error.read_bytes < LIMIT + 2**20 + 1
    assert f"{error.read_bytes:_}" in str(error)
    assert "100_000" in str(error)


def test_limit_is_sixteen_mebibytes_by_default(world: World) -> None:
    error = world.failure(GzipBomb(byte_count=20_000_000))

    assert isinstance(error, ResponseTooLargeError)
    assert error.limit_bytes == 16 * 1024 * 1024


@plain_and_stream
@pytest.mark.parametrize(
    "fault",
    [OversizedBody(byte_count=3_000_000, status=503), GzipBomb(byte_count=50_000_000, status=503)],
    ids=["body", "bomb"],
)
def test_oversized_rejection_keeps_its_status(world: World, is_stream: bool, fault: ScriptedAnswer) -> None:
    error = world.failure(fault, is_stream=is_stream)

    assert (error.status_code, error.retryable) == (503, True)


@plain_and_stream
def test_oversized_rejection_is_not_read_to_its_end(world: World, is_stream: bool) -> None:
    # more than sockets hold, so that the server is left with the rest of it
    with ScriptedServer([OversizedBody(byte_count=40_000_000, status=503)]) as server:
        with pytest.raises(ProviderError):
            (world.stream if is_stream else world.complete)(server)
        server.wait_for_abandoned(1)


def test_defect_passes_as_it_is(world: World) -> None:
    kind = world.wire.client if world.name == "sync" else world.wire.async_client
    client: Any = kind(api_key=API_KEY)

    async def ask() -> object:
        if world.name == "sync":
            client.close()
            return world.wire.provider(client).complete(HELLO)
        await client.close()
        return await world.wire.async_provider(client).acomplete(HELLO)

    with pytest.raises(RuntimeError, match="has been closed"):
        anyio.run(ask, backend="asyncio" if world.name == "sync" else world.name)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_a_rejection_with_a_header_beyond_ascii_keeps_its_status(world: World, *, is_stream: bool) -> None:
    rejection = HttpRejection(status=503, headers={"Retry-After": "7", "X-Server": "caf\u00e9"})
    error = world.failure(rejection, is_stream=is_stream)
    assert (error.status_code, error.retryable, error.retry_after_s) == (503, True, 7.0)
