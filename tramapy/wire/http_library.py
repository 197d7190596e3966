"""The HTTP library under a vendor's client: httpx or httpx2, whichever its client was made with."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import Any, Final, Protocol, cast

import anyio

from tramapy.bounded import aread_error_preview, read_error_preview
from tramapy.errors import ConfigurationError
from tramapy.values import described

__all__ = [
    "BODY_HEADERS",
    "REJECTION_LIMIT_BYTES",
    "AsyncHttpClient",
    "AsyncHttpResponse",
    "HttpClient",
    "HttpLibrary",
    "HttpResponse",
    "abody_of",
    "abound_rejections",
    "body_of",
    "bound_rejections",
    "headers_beside_body",
    "library_of",
]

REJECTION_LIMIT_BYTES: Final = 64 * 1024
"""How much of a rejection's body is read: enough for its code, whatever follows."""

_MAX_READY_PIECES: Final = 1000

_MODULE_NAMES: Final = ("httpx2", "httpx")

BODY_HEADERS: Final = frozenset(
    {b"content-encoding", b"content-length", b"content-type", b"transfer-encoding"}
)
"""In small letters: they describe the body as it came, not as it is handed on."""


class HttpResponse(Protocol):
    """What is used of a streaming response."""

    status_code: int

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, in any case."""
        ...

    @property
    def is_stream_consumed(self) -> bool:
        """Whether the body was read before."""
        ...

    def iter_bytes(self) -> Generator[bytes, None, None]:
        """Give the decompressed body."""
        ...

    def iter_raw(self) -> Generator[bytes, None, None]:
        """Give the body as it came."""
        ...


class AsyncHttpResponse(Protocol):
    """The async form of `HttpResponse`."""

    status_code: int

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, in any case."""
        ...

    @property
    def is_stream_consumed(self) -> bool:
        """Whether the body was read before."""
        ...

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        """Give the decompressed body."""
        ...

    def aiter_raw(self) -> AsyncGenerator[bytes, None]:
        """Give the body as it came."""
        ...


class HttpClient(Protocol):
    """What is used of a client; its method types are the library's own."""

    timeout: Any
    build_request: Callable[..., Any]
    send: Callable[..., Any]

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        ...


class AsyncHttpClient(Protocol):
    """What is used of an async client."""

    timeout: Any
    build_request: Callable[..., Any]
    send: Callable[..., Awaitable[Any]]

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        ...


class HttpLibrary(Protocol):
    """What is used of the module; both libraries have it under the same names."""

    Client: type[Any]
    AsyncClient: type[Any]
    BaseTransport: type[Any]
    AsyncBaseTransport: type[Any]
    SyncByteStream: type[Any]
    AsyncByteStream: type[Any]
    ByteStream: type[Any]
    Request: type[Any]
    Response: type[Any]
    RequestError: type[Exception]
    TimeoutException: type[Exception]
    DecodingError: type[Exception]


def library_of(client: object) -> HttpLibrary:
    """Return the module that `client`, or a transport, was made with.

    Raises:
        ConfigurationError: It is of neither.
    """
    for name in _MODULE_NAMES:
        module = cast("HttpLibrary | None", sys.modules.get(name))
        if module is not None and isinstance(
            client, (module.Client, module.AsyncClient, module.BaseTransport, module.AsyncBaseTransport)
        ):
            return module
    raise ConfigurationError(
        f"The HTTP client or transport is {described(client)}; it must be one of httpx or httpx2"
    )


def headers_beside_body(response: Any) -> list[tuple[bytes, bytes]]:
    """Return a response's headers without those that describe its body.

    As bytes: a header may hold what is no ASCII, and its text form cannot be a header again.
    """
    return [(name, value) for name, value in response.headers.raw if name.lower() not in BODY_HEADERS]


def body_of(response: HttpResponse, *, is_encoded: bool) -> Generator[bytes, None, None]:
    """Give the decompressed body; one that is not compressed passes by the library's decoders."""
    # a body that was read before, by a hook, is there decoded alone
    return response.iter_bytes() if is_encoded or response.is_stream_consumed else response.iter_raw()


async def abody_of(response: AsyncHttpResponse, *, is_encoded: bool = True) -> AsyncGenerator[bytes, None]:
    """Give the decompressed body; left early, it ends the library's own generators with it.

    Both libraries read through generators within generators, and closing the outermost drops the others for
    the event loop to find: a warning on trio, a task at a bad time on asyncio. A read that is cancelled ends
    each of them in turn.
    """
    chunks = response.aiter_bytes() if is_encoded or response.is_stream_consumed else response.aiter_raw()
    is_at_end = False
    try:
        async for chunk in chunks:
            yield chunk
        is_at_end = True
    finally:
        if not is_at_end:
            with anyio.CancelScope() as scope, contextlib.suppress(Exception):
                scope.cancel()
                # pieces that are decoded already come without a read
                for _ in range(_MAX_READY_PIECES):
                    await anext(chunks)
            await chunks.aclose()


def bound_rejections(source: HttpClient) -> HttpClient:
    """Return a client that sends through `source` and reads little of a rejection's body.

    An SDK reads the body of a rejection whole, before anybody else can: this is the only place to bound it.
    Everything else stays the source's: connections, authentication, redirects, cookies, hooks. What is
    returned must not be closed; the source is its owner's.

    Args:
        source: The client to send through; it is kept alive.

    Raises:
        ConfigurationError: It is a client of neither library.
    """
    library = library_of(source)

    def send(request: object, *, stream: bool = False, **options: object) -> object:
        response = source.send(request, stream=stream, **options)
        if not stream or response.is_success:
            return response
        try:
            text = read_error_preview(response, REJECTION_LIMIT_BYTES)
        except library.RequestError:
            text = ""  # the status stands even where the rest is lost
        return _shortened(library, response, text)

    return cast("HttpClient", _client_like(library.Client, library.BaseTransport, source, send))


def abound_rejections(source: AsyncHttpClient) -> AsyncHttpClient:
    """Do what `bound_rejections` does, for an async client."""
    library = library_of(source)

    async def send(request: object, *, stream: bool = False, **options: object) -> object:
        response = await source.send(request, stream=stream, **options)
        if not stream or response.is_success:
            return response
        try:
            text = await aread_error_preview(abody_of(response), REJECTION_LIMIT_BYTES)
        except library.RequestError:
            text = ""
        finally:
            await response.aclose()
        return _shortened(library, response, text)

    client = _client_like(library.AsyncClient, library.AsyncBaseTransport, source, send)
    return cast("AsyncHttpClient", client)


def _client_like(
    base: type[Any],
    transport: type[Any],
    source: HttpClient | AsyncHttpClient,
    send: Callable[..., object],
) -> object:
    # a class made here, because SDKs ask isinstance and the base depends on the library; the transport is
    # never used, but without one the constructor would load certificates for 30 ms
    methods = {"build_request": staticmethod(source.build_request), "send": staticmethod(send)}
    return type("BoundedHttpClient", (base,), methods)(
        transport=transport(), timeout=source.timeout, trust_env=False
    )


def _shortened(library: HttpLibrary, response: Any, text: str) -> object:
    return library.Response(
        response.status_code,
        headers=headers_beside_body(response),
        content=text.encode("utf-8", "replace"),
        request=response.request,
    )
