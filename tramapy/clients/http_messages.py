"""Requests and responses of the HTTP library, made anew with another body."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from tramapy.clients.remembered import remembered
from tramapy.wire.http_library import HttpLibrary, headers_beside_body

__all__ = [
    "BodyKind",
    "Head",
    "HttpRequest",
    "HttpResponse",
    "Original",
    "aframe_stream",
    "body_kind",
    "frame_stream",
    "is_answer_to",
    "streamed_response",
    "whole_response",
    "with_content",
]

HttpRequest: TypeAlias = Any
"""A request of httpx or httpx2; typed by neither, for either may be missing."""

HttpResponse: TypeAlias = Any
"""A response of httpx or httpx2."""

_LENGTH_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})

_TIMEOUTS: Final = ("connect", "read", "write", "pool")

# what else stands there belongs to the connection
_EXTENSIONS: Final = ("http_version", "reason_phrase")


_NAME: Final = itemgetter(0)
_VALUE: Final = itemgetter(1)


class BodyKind(NamedTuple):
    """What the head of a response says of its body.

    Args:
        content_type: Its type, as it was said.
        is_encoded: Whether it may be compressed.
    """

    content_type: str
    is_encoded: bool


def body_kind(response: HttpResponse) -> BodyKind:
    """Read what a response's head says of its body."""
    # one walk, for the library walks over all of them for each that is asked for; of several the first counts
    raw = response.headers.raw
    raw.reverse()
    found: dict[bytes, bytes] = dict(zip(map(bytes.lower, map(_NAME, raw)), map(_VALUE, raw), strict=True))
    return BodyKind(found.get(b"content-type", b"").decode("latin-1"), b"content-encoding" in found)


class Head(NamedTuple):
    """What is kept of a provider's response beside its body.

    Args:
        status: The HTTP status.
        headers: Without those about the body.
        extensions: The protocol's version and the reason phrase.
        history: The redirects before it.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    extensions: Mapping[str, Any]
    history: list[HttpResponse]

    def __repr__(self) -> str:
        return f"Head({self.status})"

    @classmethod
    def of(cls, response: HttpResponse) -> Head:
        """Read a response's head."""
        extensions = response.extensions
        return cls(
            status=response.status_code,
            headers=headers_beside_body(response),
            extensions={name: extensions[name] for name in _EXTENSIONS if name in extensions},
            history=response.history,
        )


class Original(NamedTuple):
    """A request as its client made it: an HTTP client's hooks and its auth write into the object that they send.

    Args:
        method: The method.
        url: The address.
        headers: All headers.
        extensions: What the HTTP library is told beside, such as timeouts.
        stream: The body.
    """

    method: str
    url: Any
    headers: list[tuple[bytes, bytes]]
    extensions: dict[str, Any]
    stream: Any

    def __repr__(self) -> str:
        return f"Original({self.method})"

    @classmethod
    def of(cls, request: HttpRequest) -> Original:
        """Keep what a request says."""
        return cls(request.method, request.url, request.headers.raw, dict(request.extensions), request.stream)

    def again(
        self, library: HttpLibrary, content: bytes | None = None, timeout_s: float | None = None
    ) -> HttpRequest:
        """Return it as a new request.

        Args:
            library: The request's library.
            content: Another body; None leaves it.
            timeout_s: How long it may take; None leaves what is set.
        """
        extensions = dict(self.extensions)
        if timeout_s is not None:
            extensions["timeout"] = _lower(extensions.get("timeout", {}), timeout_s)
        headers, body = self.headers, {"stream": self.stream}
        if content is not None:
            headers = [item for item in headers if item[0].lower() not in _LENGTH_HEADERS]
            body = {"content": content}
        return library.Request(self.method, self.url, headers=headers, extensions=extensions, **body)


def whole_response(
    library: HttpLibrary,
    head: Head,
    content: bytes,
    request: HttpRequest,
    *,
    content_type: bytes = b"application/json",
    elapsed_s: float,
) -> HttpResponse:
    """Return a response whose body is there, and still to be read, as of one that came over the wire.

    An empty content type is left out.
    """
    types = [(b"content-type", content_type)] if content_type else []
    length = str(len(content)).encode()
    response = _whole_class(library.Response)(
        head.status,
        headers=[*head.headers, *types, (b"content-length", length)],
        stream=library.ByteStream(content),
        request=request,
        extensions=head.extensions,
        history=head.history,
    )
    response.tramapy_content = content
    response.elapsed = timedelta(seconds=elapsed_s)
    return response


def is_answer_to(library: HttpLibrary, response: HttpResponse, request: HttpRequest) -> bool:
    """Tell whether a response is a plain one to this very request, to which `with_content` can give what was read."""
    kind = library.Response
    return type(response) is kind and response.__dict__.get("_request") is request and _keeps_content(kind)


def with_content(response: HttpResponse, content: bytes) -> HttpResponse:
    """Return a response whose body was taken as one that was read."""
    response._content = content
    return response


@remembered
def _keeps_content(kind: type[Any]) -> bool:
    """Tell whether responses keep what was read in the place that is known."""
    read = kind(200, content=b"x")
    return bool(read.__dict__.get("_content") == b"x" and read.is_closed and read.is_stream_consumed)


@remembered
def _whole_class(kind: type[Any]) -> type[Any]:
    """Return a response's class that is read at once: the library takes 10 µs to read what is there already.

    Once it was read, it is a plain response. Where the library keeps what was read in another place than those
    versions do that are known, this is the library's own class.
    """
    if not _keeps_content(kind):
        return kind

    def settle(response: Any) -> None:
        content = response.tramapy_content
        is_unread = not (response.is_closed or response.is_stream_consumed)
        response.__class__ = kind
        del response.tramapy_content
        if is_unread:
            response._content = content
            response._num_bytes_downloaded = len(content)
            response.is_closed = response.is_stream_consumed = True

    def read_now(response: Any) -> bytes:
        settle(response)
        content: bytes = response.read()
        return content

    async def aread_now(response: Any) -> bytes:
        settle(response)
        content: bytes = await response.aread()
        return content

    return type(kind.__name__, (kind,), {"read": read_now, "aread": aread_now, "__module__": kind.__module__})


def streamed_response(
    library: HttpLibrary,
    head: Head,
    stream: object,
    request: HttpRequest,
    *,
    content_type: bytes = b"text/event-stream; charset=utf-8",
    elapsed_s: float = 0.0,
) -> HttpResponse:
    """Return a response whose body is still to come."""
    response = library.Response(
        head.status,
        headers=[*head.headers, (b"content-type", content_type)],
        stream=stream,
        request=request,
        extensions=head.extensions,
        history=head.history,
    )
    response.elapsed = timedelta(seconds=elapsed_s)
    return response


def frame_stream(library: HttpLibrary, kind: type[Any]) -> type[Any]:
    """Return `kind`, which gives bytes and has `close`, as a body of this library."""
    return _body_class(library.SyncByteStream, kind)


def aframe_stream(library: HttpLibrary, kind: type[Any]) -> type[Any]:
    """Do what `frame_stream` does, for one with `aclose`."""
    return _body_class(library.AsyncByteStream, kind)


@remembered
def _body_class(base: type[Any], kind: type[Any]) -> type[Any]:
    # the library asks isinstance, and which library it is shows only at run time
    return type(kind.__name__, (kind, base), {"__slots__": ()})


def _lower(timeout: Mapping[str, float | None], limit_s: float) -> dict[str, float]:
    given = {name: timeout.get(name) for name in _TIMEOUTS}
    return {name: limit_s if value is None else min(value, limit_s) for name, value in given.items()}
