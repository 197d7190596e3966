"""The HTTP library under a client: which it is, how a rejection is bounded, and how a body is left."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import httpx2
import pytest

from tramapy.errors import ConfigurationError
from tramapy.wire.http_library import (
    REJECTION_LIMIT_BYTES,
    abody_of,
    abound_rejections,
    body_of,
    bound_rejections,
    library_of,
)

# openai 2 brings httpx, openai 3 brings httpx2; whichever is here is tested
LIBRARIES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_library_is_found_by_the_clients_class(name: str, kind: str) -> None:
    library = importlib.import_module(name)

    assert library_of(getattr(library, kind)()) is library


def test_client_of_another_library_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is of type object; it must be one of httpx or httpx2"):
        library_of(object())


class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that counts what was taken, and may fail at its end."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.pieces = pieces
        self.error = error
        self.taken_count = 0
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken_count += 1
            yield piece
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def send(
    status: int, body: Body, headers: dict[str, str] | None = None, *, stream: bool = True
) -> httpx2.Response:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=headers, stream=body))
    client: Any = bound_rejections(httpx2.Client(transport=transport))
    response: httpx2.Response = client.send(client.build_request("POST", "http://127.0.0.1/a"), stream=stream)
    return response


def asend(
    status: int, body: Body, headers: dict[str, str] | None = None, *, stream: bool = True
) -> httpx2.Response:
    async def main() -> httpx2.Response:
        transport = httpx2.MockTransport(
            lambda request: httpx2.Response(status, headers=headers, stream=body)
        )
        client: Any = abound_rejections(httpx2.AsyncClient(transport=transport))
        response: httpx2.Response = await client.send(
            client.build_request("POST", "http://127.0.0.1/a"), stream=stream
        )
        return response

    return anyio.run(main)


both_twins = pytest.mark.parametrize("ask", [send, asend], ids=["sync", "async"])


@both_twins
def test_answer_is_handed_on_unread(ask: Any) -> None:
    body = Body(b"x")

    assert not ask(200, body).is_closed
    assert (body.taken_count, body.is_closed) == (0, False)


@both_twins
def test_rejection_is_read_and_closed(ask: Any) -> None:
    body = Body(b'{"error":', b' "x"}')
    headers = {
        "retry-after": "2",
        "content-type": "application/json; charset=latin-1",
        "content-length": "14",
    }
    response = ask(429, body, headers)

    assert (response.status_code, response.json(), body.is_closed) == (429, {"error": "x"}, True)
    assert response.headers["retry-after"] == "2"
    assert response.request.url.path == "/a"


@both_twins
def test_long_rejection_is_cut(ask: Any) -> None:
    body = Body(*[b"x" * 1024] * 5000)
    response = ask(500, body)

    assert (len(response.content), body.is_closed) == (REJECTION_LIMIT_BYTES, True)
    assert body.taken_count < 2000


@both_twins
def test_status_stands_even_where_the_body_is_lost(ask: Any) -> None:
    response = ask(401, Body(b"some", error=httpx2.ReadError("gone")))

    assert (response.status_code, response.content) == (401, b"")


@both_twins
def test_defect_in_a_body_passes(ask: Any) -> None:
    with pytest.raises(KeyError):
        ask(401, Body(b"some", error=KeyError("defect")))


@both_twins
def test_rejection_that_the_caller_reads_whole_is_left_alone(ask: Any) -> None:
    assert ask(500, Body(b"x" * 100_000), stream=False).content == b"x" * 100_000


def test_bounded_client_sends_as_its_source_does() -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=dict(request.headers)))
    source = httpx2.Client(
        transport=transport, headers={"x-own": "1"}, auth=("user", "plainly-fake"), timeout=7.0
    )
    client: Any = bound_rejections(source)

    response = client.send(client.build_request("GET", "http://127.0.0.1/"), stream=True)

    assert (isinstance(client, httpx2.Client), client.timeout) == (True, source.timeout)
    assert response.json().items() >= {"x-own": "1"}.items()
    assert "authorization" in response.json()


class Nested:
    """A response that reads through two generators, as the libraries do, and knows whether the inner one ended."""

    def __init__(self, *, ready_count: int | None) -> None:
        self.ready_count = ready_count
        self.has_inner_ended = False
        self.is_stream_consumed = False
        self.headers = {"content-encoding": "gzip"}

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        async for piece in self._inner():
            yield piece

    async def _inner(self) -> AsyncGenerator[bytes, None]:
        count = 0
        try:
            while self.ready_count is None or count < self.ready_count:
                count += 1
                yield b"x"
            await anyio.sleep_forever()
        finally:
            self.has_inner_ended = True


@pytest.mark.anyio
async def test_body_that_is_left_ends_the_inner_generators() -> None:
    response: Any = Nested(ready_count=3)
    async with aclosing(abody_of(response)) as chunks:
        assert await anext(chunks) == b"x"
        assert not response.has_inner_ended

    assert response.has_inner_ended


@pytest.mark.anyio
async def test_body_that_never_waits_is_left_all_the_same() -> None:
    response: Any = Nested(ready_count=None)
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=lambda generator: None)  # trio would warn of the one that is left
    try:
        async with aclosing(abody_of(response)) as chunks:
            assert await anext(chunks) == b"x"
    finally:
        sys.set_asyncgen_hooks(*hooks)


@pytest.mark.anyio
async def test_body_that_is_read_to_its_end_gives_all() -> None:
    response: Any = httpx2.Response(200, stream=Body(b"a", b"b"))

    assert [chunk async for chunk in abody_of(response)] == [b"a", b"b"]


@pytest.mark.anyio
async def test_failure_in_a_body_passes() -> None:
    response: Any = httpx2.Response(200, stream=Body(b"a", error=httpx2.ReadError("gone")))

    with pytest.raises(httpx2.ReadError):
        async for _ in abody_of(response):
            pass


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("is_read", [False, True], ids=["unread", "read"])
def test_body_is_decompressed_once(name: str, *, is_compressed: bool, is_read: bool) -> None:
    library = importlib.import_module(name)

    class Pieces(library.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            data = gzip.compress(b"abc") if is_compressed else b"abc"
            yield data[:2]
            yield data[2:]

    headers = {"content-encoding": "gzip"} if is_compressed else {}
    response = library.Response(200, headers=headers, stream=Pieces())
    if is_read:
        response.read()

    assert b"".join(body_of(response, is_encoded=is_compressed)) == b"abc"
    assert response.is_closed
