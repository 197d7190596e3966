"""Read a body without trusting its length: four sync functions, and their async twins with an `a` in front.

==========================  =======================================  ============================
function                    takes                                    gives
==========================  =======================================  ============================
`read_bounded_body`         any source                               text, and whether it was cut
`read_bounded_response`     a streaming response                     text, and whether it was cut
`read_bounded_bytes`        any source                               the bytes, or raises
`read_error_preview`        any source, 8 KiB by default             text, cut without a word
==========================  =======================================  ============================

A source is a streaming response with `iter_bytes` (httpx, httpx2 and the SDKs built on them), a reader with
`read(n)`, or an iterable of bytes. A response is counted after decompression, so a small compressed body that
grows is stopped like any other. Never is more taken than the limit and one chunk: a reader is asked for one
byte past the limit, an iterator for no chunk after the one that passes it.

Each function closes what it was given, on every exit: after the end, on a cut, and on an error or a
cancellation in between. To keep a reader open, pass one without a `close`.
"""

from __future__ import annotations

import codecs
import inspect
import types
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

from tramapy.errors import ResponseTooLargeError
from tramapy.values import shown

__all__ = [
    "DEFAULT_LIMIT_BYTES",
    "ERROR_PREVIEW_BYTES",
    "AsyncByteReader",
    "AsyncByteSource",
    "AsyncStreamingResponse",
    "BoundedText",
    "ByteReader",
    "ByteSource",
    "StreamingResponse",
    "aread_bounded_body",
    "aread_bounded_bytes",
    "aread_bounded_response",
    "aread_error_preview",
    "read_bounded_body",
    "read_bounded_bytes",
    "read_bounded_response",
    "read_error_preview",
]

DEFAULT_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""The limit of the first three functions: 16 MiB."""

ERROR_PREVIEW_BYTES: Final = 8 * 1024
"""The limit of `read_error_preview`: 8 KiB."""

_CHUNK_BYTES: Final = 64 * 1024

# text codecs that no server sends in earnest: quadratic on long input, or warning about what they read
_UNSAFE_ENCODINGS: Final = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
)


@runtime_checkable
class ByteReader(Protocol):
    """Something with `read(n)`: a file, an `http.client` response, a pipe."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        ...


@runtime_checkable
class AsyncByteReader(Protocol):
    """Something with an awaitable `read(n)`: an asyncio `StreamReader`, aiohttp's `response.content`."""

    def read(self, size: int, /) -> Awaitable[bytes]:
        """Return at most `size` bytes; none at the end."""
        ...


@runtime_checkable
class StreamingResponse(Protocol):
    """A response whose body has not been read yet, as httpx and httpx2 give it for `stream`."""

    def iter_bytes(self) -> Iterator[bytes]:
        """Give the decompressed body in chunks."""
        ...


@runtime_checkable
class AsyncStreamingResponse(Protocol):
    """The async form of `StreamingResponse`."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Give the decompressed body in chunks."""
        ...


ByteSource: TypeAlias = StreamingResponse | ByteReader | Iterable[bytes]
AsyncByteSource: TypeAlias = AsyncStreamingResponse | AsyncByteReader | AsyncIterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BoundedText:
    """Text of a body, and whether the body was longer than the limit.

    Args:
        text: What was read; encoded as UTF-8 it never takes more than the limit.
        truncated: Whether anything is missing at the end.
    """

    text: str
    truncated: bool

    def __repr__(self) -> str:
        return f"BoundedText(<{len(self.text)} characters>, truncated={self.truncated})"


def read_bounded_body(
    source: ByteSource, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, encoding: str | None = None
) -> BoundedText:
    """Read text up to a limit and say whether it was cut.

    Args:
        source: A streaming response, a reader, or an iterable of bytes; closed afterwards.
        limit_bytes: At least 1.
        encoding: By default what the source's `encoding` or `charset_encoding` says, else UTF-8. Bytes that
            it cannot decode become U+FFFD, and a character that the limit cuts in two is dropped.

    Raises:
        TypeError: The source is none of the three kinds, or `limit_bytes` is no integer.
        ValueError: `limit_bytes` is below 1, or `encoding` names no text encoding.
    """
    check = _Check(limit_bytes, encoding)
    return check.text(_collect(source, check.limit_bytes), source)


def read_bounded_response(
    response: StreamingResponse, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, encoding: str | None = None
) -> BoundedText:
    """Read a streaming response's text up to a limit, counted after decompression.

    It is `read_bounded_body` for responses alone, so that nothing that counts compressed bytes slips in: a
    `TypeError` where `response` has no `iter_bytes`.
    """
    check = _Check(limit_bytes, encoding)
    if not isinstance(response, StreamingResponse):
        raise _not_a_response(response, "iter_bytes")
    return check.text(_collect(response, check.limit_bytes), response)


def read_bounded_bytes(
    source: ByteSource, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, source_name: str = "The body"
) -> bytes:
    """Read a whole body, or raise where it is longer than the limit.

    Args:
        source: A streaming response, a reader, or an iterable of bytes; closed afterwards.
        limit_bytes: At least 1.
        source_name: Begins the error's message, for example `Provider 'openai'`.

    Raises:
        ResponseTooLargeError: The body is longer; what was read is dropped.
        TypeError: As in `read_bounded_body`.
        ValueError: `limit_bytes` is below 1.
    """
    rest: ByteSource = source
    if isinstance(source, types.GeneratorType) and type(limit_bytes) is int and limit_bytes > 0:
        # nearly all bodies come in one piece
        pieces = cast("Generator[bytes, None, None]", source)
        taken = [next(pieces, b"")]
        if type(taken[0]) is bytes and len(taken[0]) <= limit_bytes:
            second = next(pieces, None)
            if second is None:
                return taken[0]
            taken.append(second)
        rest = _all_pieces(taken, pieces)
    check = _Check(limit_bytes, None)
    return check.whole(_collect(rest, check.limit_bytes), source_name)


def read_error_preview(
    source: ByteSource, limit_bytes: int = ERROR_PREVIEW_BYTES, *, encoding: str | None = None
) -> str:
    """Read the beginning of a rejected response, for a diagnosis; never put it into an error or a log.

    Arguments and errors are those of `read_bounded_body`.
    """
    return read_bounded_body(source, limit_bytes, encoding=encoding).text


async def aread_bounded_body(
    source: AsyncByteSource, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, encoding: str | None = None
) -> BoundedText:
    """Do what `read_bounded_body` does, with an async source."""
    check = _Check(limit_bytes, encoding)
    return check.text(await _acollect(source, check.limit_bytes), source)


async def aread_bounded_response(
    response: AsyncStreamingResponse, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, encoding: str | None = None
) -> BoundedText:
    """Do what `read_bounded_response` does, with a response that has `aiter_bytes`."""
    check = _Check(limit_bytes, encoding)
    if not isinstance(response, AsyncStreamingResponse):
        raise _not_a_response(response, "aiter_bytes")
    return check.text(await _acollect(response, check.limit_bytes), response)


async def aread_bounded_bytes(
    source: AsyncByteSource, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, source_name: str = "The body"
) -> bytes:
    """Do what `read_bounded_bytes` does, with an async source."""
    rest: AsyncByteSource = source
    if isinstance(source, types.AsyncGeneratorType) and type(limit_bytes) is int and limit_bytes > 0:
        pieces = cast("AsyncGenerator[bytes, None]", source)
        taken = [await anext(pieces, b"")]
        if type(taken[0]) is bytes and len(taken[0]) <= limit_bytes:
            second = await anext(pieces, None)
            if second is None:
                return taken[0]
            taken.append(second)
        rest = _aall_pieces(taken, pieces)
    check = _Check(limit_bytes, None)
    return check.whole(await _acollect(rest, check.limit_bytes), source_name)


async def aread_error_preview(
    source: AsyncByteSource, limit_bytes: int = ERROR_PREVIEW_BYTES, *, encoding: str | None = None
) -> str:
    """Do what `read_error_preview` does, with an async source."""
    return (await aread_bounded_body(source, limit_bytes, encoding=encoding)).text


class _Check:
    """The arguments that both twins share, checked before anything is read."""

    __slots__ = ("encoding", "limit_bytes")

    def __init__(self, limit_bytes: int, encoding: str | None) -> None:
        if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int):
            raise TypeError(f"limit_bytes takes an int, not {type(limit_bytes).__name__}")
        if limit_bytes < 1:
            raise ValueError(f"limit_bytes is {shown(limit_bytes)}; it takes at least 1")
        if encoding is not None and not _is_text_encoding(encoding):
            raise ValueError(f"encoding {encoding!r} is no text encoding; pass one like 'utf-8'")
        self.limit_bytes = limit_bytes
        self.encoding = encoding

    def text(self, collected: _Collected, source: object) -> BoundedText:
        encoding = self.encoding or _encoding_of(source)
        is_cut = collected.is_over
        text = _decode(collected.kept(), encoding, is_cut=is_cut)
        fitting = _fit_utf8(text, self.limit_bytes)
        return BoundedText(text=fitting, truncated=is_cut or len(fitting) < len(text))

    def whole(self, collected: _Collected, source_name: str) -> bytes:
        if not collected.is_over:
            return collected.kept()
        raise ResponseTooLargeError(
            f"{source_name} has {collected.read_bytes:_} bytes or more; the limit is {self.limit_bytes:_}. "
            "Raise limit_bytes or stream.",
            limit_bytes=self.limit_bytes,
            read_bytes=collected.read_bytes,
        )


class _Collected:
    """What came so far: the first `limit_bytes` of it, and the count of all of it."""

    __slots__ = ("_data", "limit_bytes", "read_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._data: bytes | bytearray = b""
        self.limit_bytes = limit_bytes
        self.read_bytes = 0

    @property
    def is_over(self) -> bool:
        return self.read_bytes > self.limit_bytes

    @property
    def next_size(self) -> int:
        """How much to ask a reader for: never past the one byte that proves an overflow."""
        return min(_CHUNK_BYTES, self.limit_bytes + 1 - self.read_bytes)

    def add(self, chunk: object) -> bool:
        """Take a chunk; return whether the limit is passed."""
        if type(chunk) is bytes and not self._data and len(chunk) <= self.limit_bytes - self.read_bytes:
            # most bodies come in one piece, which needs no copy
            self._data = chunk
            self.read_bytes += len(chunk)
            return False
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            raise TypeError(f"the source gave {type(chunk).__name__}, not bytes; open it in binary mode")
        view = memoryview(cast("bytes | bytearray | memoryview[int]", chunk)).cast("B")
        if type(self._data) is bytes:
            self._data = bytearray(self._data)
        self._data += view[: self.limit_bytes - min(self.read_bytes, self.limit_bytes)]
        self.read_bytes += view.nbytes
        return self.is_over

    def kept(self) -> bytes:
        return bytes(self._data)


def _collect(source: ByteSource, limit_bytes: int) -> _Collected:
    collected = _Collected(limit_bytes)
    try:
        chunks = _chunks(source, collected)
        try:
            for chunk in chunks:
                if collected.add(chunk):
                    break
        finally:
            # before the source: some libraries refuse to close a response under a running iterator
            _close(chunks)
    finally:
        _close(source)
    return collected


async def _acollect(source: AsyncByteSource, limit_bytes: int) -> _Collected:
    collected = _Collected(limit_bytes)
    try:
        chunks = _achunks(source, collected)
        try:
            async for chunk in chunks:
                if collected.add(chunk):
                    break
        finally:
            await _aclose(chunks)
    finally:
        await _aclose(source)
    return collected


def _chunks(source: ByteSource, collected: _Collected) -> Iterator[bytes]:
    if isinstance(source, types.GeneratorType):
        # first, for asking whether something has a method costs 15 µs
        return cast("Iterator[bytes]", source)
    if isinstance(source, StreamingResponse):
        return iter(source.iter_bytes())
    if isinstance(source, ByteReader):
        return _read_chunks(source, collected)
    if isinstance(source, Iterable):
        return iter(source)
    raise TypeError(f"{type(source).__name__} has neither iter_bytes nor read, and is not iterable")


def _all_pieces(taken: list[bytes], others: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """Give pieces of which some were taken before."""
    yield from taken
    yield from others


async def _aall_pieces(
    taken: list[bytes], others: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Do what `_all_pieces` does."""
    try:
        for piece in taken:
            yield piece
        async for piece in others:
            yield piece
    finally:
        await others.aclose()


def _read_chunks(reader: ByteReader, collected: _Collected) -> Iterator[bytes]:
    while True:
        chunk = reader.read(collected.next_size)
        yield chunk
        if not chunk:
            return


def _achunks(source: AsyncByteSource, collected: _Collected) -> AsyncIterator[bytes]:
    if isinstance(source, types.AsyncGeneratorType):
        return cast("AsyncIterator[bytes]", source)
    if isinstance(source, AsyncStreamingResponse):
        return aiter(source.aiter_bytes())
    if isinstance(source, AsyncByteReader):
        return _aread_chunks(source, collected)
    if isinstance(source, AsyncIterable):
        return aiter(source)
    raise TypeError(f"{type(source).__name__} has neither aiter_bytes nor read, and is no async iterable")


async def _aread_chunks(reader: AsyncByteReader, collected: _Collected) -> AsyncIterator[bytes]:
    while True:
        pending = reader.read(collected.next_size)
        if not inspect.isawaitable(pending):
            raise TypeError(f"{type(reader).__name__}.read is not awaitable; use the function without the a")
        chunk = await pending
        yield chunk
        if not chunk:
            return


def _close(source: object) -> None:
    close: Callable[[], object] | None = getattr(source, "close", None)
    if close is not None:
        close()


async def _aclose(source: object) -> None:
    if isinstance(source, types.AsyncGeneratorType):
        await source.aclose()
        return
    close: Callable[[], object] | None = getattr(source, "aclose", getattr(source, "close", None))
    pending = None if close is None else close()
    if inspect.isawaitable(pending):
        await pending


def _encoding_of(source: object) -> str:
    """Take the response's own word for its charset, where it is a usable one."""
    for attribute in ("encoding", "charset_encoding"):
        named: object = getattr(source, attribute, None)
        if isinstance(named, str) and _is_text_encoding(named):
            return named
    return "utf-8"


def _is_text_encoding(name: str) -> bool:
    try:
        # bytes.decode refuses codecs that give no text, such as zip; codecs.lookup takes them
        b" ".decode(name, "replace")
    except (LookupError, ValueError):
        return False
    return codecs.lookup(name).name.replace("_", "-") not in _UNSAFE_ENCODINGS


def _decode(data: bytes, encoding: str, *, is_cut: bool) -> str:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    try:
        # final=False leaves out a character that the cut left incomplete
        return decoder.decode(data, final=not is_cut)
    except UnicodeError:
        # the incremental UTF-16 and UTF-32 decoders insist on a byte order mark; the plain ones do not
        return data.decode(encoding, "replace")


def _fit_utf8(text: str, limit_bytes: int) -> str:
    if len(text) * 4 <= limit_bytes or (text.isascii() and len(text) <= limit_bytes):
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit_bytes:
        return text
    return encoded[:limit_bytes].decode("utf-8", "ignore")


def _not_a_response(response: object, method: str) -> TypeError:
    return TypeError(f"{type(response).__name__} has no {method}; use read_bounded_body for other sources")
