"""Bounded reads: what each function takes, gives and closes, and that none reads past its limit."""

from __future__ import annotations

import gzip
import io
from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy import bounded
from tramapy.bounded import (
    DEFAULT_LIMIT_BYTES,
    ERROR_PREVIEW_BYTES,
    BoundedText,
    aread_bounded_body,
    aread_bounded_bytes,
    aread_bounded_response,
    aread_error_preview,
    read_bounded_body,
    read_bounded_bytes,
    read_bounded_response,
    read_error_preview,
)
from tramapy.errors import ResponseTooLargeError

LIMIT = 10


class Reader(io.BytesIO):
    """A reader that counts what was taken from it."""

    taken_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        self.taken_bytes += len(chunk)
        return chunk


class AsyncReader:
    """The async form, with a plain `close` as asyncio's and aiohttp's objects have it."""

    def __init__(self, data: bytes) -> None:
        self._inner = Reader(data)
        self.is_closed = False

    @property
    def taken_bytes(self) -> int:
        return self._inner.taken_bytes

    async def read(self, size: int, /) -> bytes:
        await anyio.lowlevel.checkpoint()
        return self._inner.read(size)

    def close(self) -> None:
        self.is_closed = True


class Chunks:
    """A streaming response of both kinds that knows how many chunks were taken and whether it was closed."""

    def __init__(self, *chunks: bytes, encoding: str | None = None) -> None:
        self._chunks = chunks
        self.encoding = encoding
        self.taken_count = 0
        self.is_closed = False
        self.is_iterator_closed = False

    def iter_bytes(self) -> Iterator[bytes]:
        try:
            for chunk in self._chunks:
                self.taken_count += 1
                yield chunk
        finally:
            self.is_iterator_closed = True

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self._chunks:
                self.taken_count += 1
                yield chunk
        finally:
            self.is_iterator_closed = True

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


async def _agive(chunks: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _read_body(chunks: tuple[bytes, ...], limit_bytes: int, encoding: str | None = None) -> BoundedText:
    return read_bounded_body(iter(chunks), limit_bytes, encoding=encoding)


def _aread_body(chunks: tuple[bytes, ...], limit_bytes: int, encoding: str | None = None) -> BoundedText:
    async def read() -> BoundedText:
        return await aread_bounded_body(_agive(chunks), limit_bytes, encoding=encoding)

    return anyio.run(read)


both_twins = pytest.mark.parametrize("read", [_read_body, _aread_body], ids=["sync", "async"])
ReadBody = Callable[..., BoundedText]


@both_twins
@pytest.mark.parametrize(
    ("data", "text", "truncated"),
    [
        pytest.param(b"", "", False, id="empty"),
        pytest.param(b"123456789", "123456789", False, id="one-below"),
        pytest.param(b"1234567890", "1234567890", False, id="at-the-limit"),
        pytest.param(b"12345678901", "1234567890", True, id="one-above"),
    ],
)
def test_text_is_cut_exactly_past_the_limit(read: ReadBody, data: bytes, text: str, truncated: bool) -> None:
    assert read((data,), LIMIT) == BoundedText(text=text, truncated=truncated)


@both_twins
@pytest.mark.parametrize("cut", [1, 2, 3], ids=str)
def test_character_cut_by_the_limit_is_dropped(read: ReadBody, cut: int) -> None:
    data = "1234567😀tail".encode()

    assert read((data,), 7 + cut).text == "1234567"


@both_twins
def test_undecodable_bytes_become_replacement_characters(read: ReadBody) -> None:
    assert read((b"a\xff", b"b\xe2\x82"), 100).text == "a�b�"


@both_twins
def test_text_never_takes_more_than_the_limit_as_utf8(read: ReadBody) -> None:
    result = read((("ä" * 10).encode("latin-1"),), LIMIT, "latin-1")

    assert result == BoundedText(text="ä" * 5, truncated=True)


@both_twins
def test_encoding_argument_decides(read: ReadBody) -> None:
    assert read(("grün".encode("utf-16"),), 100, "utf-16").text == "grün"


@given(
    text=st.text(max_size=40),
    limit_bytes=st.integers(1, 60),
    chunk_size=st.integers(1, 9),
)
@settings(max_examples=200)
def test_every_split_gives_the_longest_fitting_prefix(text: str, limit_bytes: int, chunk_size: int) -> None:
    data = text.encode()
    pieces = [data[start : start + chunk_size] for start in range(0, len(data), chunk_size)]

    result = read_bounded_body(pieces, limit_bytes)

    assert result.text == data[:limit_bytes].decode("utf-8", "ignore")
    assert result.truncated == (len(data) > limit_bytes)


@given(data=st.binary(max_size=60), limit_bytes=st.integers(1, 60))
@settings(max_examples=200)
def test_any_bytes_in_any_encoding_fit_and_never_raise(data: bytes, limit_bytes: int) -> None:
    for encoding in ("utf-8", "utf-16", "utf-32", "latin-1", "shift_jis"):
        result = read_bounded_body(Reader(data), limit_bytes, encoding=encoding)

        assert len(result.text.encode("utf-8", "surrogatepass")) <= limit_bytes


def test_reader_is_asked_for_one_byte_past_the_limit_and_no_more() -> None:
    reader = Reader(b"x" * 1_000_000)

    read_bounded_body(reader, 100_000)

    assert reader.taken_bytes == 100_001


@pytest.mark.anyio
async def test_async_reader_is_asked_for_one_byte_past_the_limit_and_no_more() -> None:
    reader = AsyncReader(b"x" * 1_000_000)

    await aread_bounded_body(reader, 100_000)

    assert reader.taken_bytes == 100_001


def test_no_chunk_is_taken_after_the_one_that_passes_the_limit() -> None:
    response = Chunks(b"12345678", b"90ab", b"never", b"never")

    result = read_bounded_response(response, LIMIT)

    assert (result.text, response.taken_count) == ("1234567890", 2)


@pytest.mark.anyio
async def test_no_async_chunk_is_taken_after_the_one_that_passes_the_limit() -> None:
    response = Chunks(b"12345678", b"90ab", b"never", b"never")

    result = await aread_bounded_response(response, LIMIT)

    assert (result.text, response.taken_count) == ("1234567890", 2)


@pytest.mark.anyio
async def test_anything_that_is_async_iterable_is_a_body() -> None:
    class Body:
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"12345"

    assert await aread_bounded_bytes(Body(), LIMIT) == b"12345"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "pieces", [[], [b"12"], [b"12", b"34", b"5"], [b"12", b"34", b"too long"], [b"x" * 11]]
)
async def test_a_generator_is_read_whole_and_closed(pieces: list[bytes]) -> None:
    ended: list[str] = []

    async def body() -> AsyncIterator[bytes]:
        try:
            for piece in pieces:
                yield piece
        finally:
            ended.append("closed")

    whole = b"".join(pieces)
    if len(whole) <= LIMIT:
        assert await aread_bounded_bytes(body(), LIMIT) == whole
    else:
        with pytest.raises(ResponseTooLargeError):
            await aread_bounded_bytes(body(), LIMIT)
    assert ended == ["closed"]


def test_whole_body_is_given_as_bytes_at_the_limit() -> None:
    assert read_bounded_bytes(Reader(b"1234567890"), LIMIT) == b"1234567890"


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [([], b""), ([b"1234567890"], b"1234567890"), ([b"12345", b"678", b"90"], b"1234567890")],
    ids=["none", "one", "three"],
)
def test_body_of_a_generator_is_given_whole(pieces: list[bytes], whole: bytes) -> None:
    assert read_bounded_bytes((piece for piece in pieces), LIMIT) == whole


@pytest.mark.parametrize(
    ("pieces", "taken"),
    [([b"12345678901", b""], 1), ([b"1", b"2345678901", b""], 2)],
    ids=["first", "second"],
)
def test_body_of_a_generator_is_left_at_the_limit(pieces: list[bytes], taken: int) -> None:
    given: list[bytes] = []

    def body() -> Iterator[bytes]:
        for piece in pieces:
            given.append(piece)
            yield piece

    with pytest.raises(ResponseTooLargeError):
        read_bounded_bytes(body(), LIMIT)
    assert len(given) == taken


def test_piece_of_a_generator_that_is_no_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match="gave str, not bytes"):
        read_bounded_bytes(cast("Iterator[bytes]", (piece for piece in ["text"])), LIMIT)


def _overflow() -> ResponseTooLargeError:
    with pytest.raises(ResponseTooLargeError) as caught:
        read_bounded_bytes(Chunks(b"1234567890", b"abc"), LIMIT, source_name="Provider 'openai'")
    return caught.value


def _aoverflow() -> ResponseTooLargeError:
    async def read() -> bytes:
        return await aread_bounded_bytes(
            Chunks(b"1234567890", b"abc"), LIMIT, source_name="Provider 'openai'"
        )

    with pytest.raises(ResponseTooLargeError) as caught:
        anyio.run(read)
    return caught.value


@pytest.mark.parametrize("overflow", [_overflow, _aoverflow], ids=["sync", "async"])
def test_longer_body_is_an_error_with_both_figures(overflow: Callable[[], ResponseTooLargeError]) -> None:
    error = overflow()

    assert str(error) == (
        "Provider 'openai' has 13 bytes or more; the limit is 10. Raise limit_bytes or stream."
    )
    assert (error.limit_bytes, error.read_bytes) == (10, 13)


def test_figures_of_the_message_are_grouped() -> None:
    with pytest.raises(ResponseTooLargeError, match=r"^The body has 4_194_305 bytes or more; .* 4_194_304\."):
        read_bounded_bytes(Reader(b"x" * 5_000_000), 4_194_304)


def test_error_preview_is_the_first_eight_kibibytes() -> None:
    assert read_error_preview(Reader(b"x" * 20_000)) == "x" * ERROR_PREVIEW_BYTES


@pytest.mark.anyio
async def test_async_error_preview_is_the_first_eight_kibibytes() -> None:
    assert await aread_error_preview(AsyncReader(b"x" * 20_000)) == "x" * ERROR_PREVIEW_BYTES


def test_limit_is_sixteen_mebibytes_by_default() -> None:
    reader = Reader(b"x" * (DEFAULT_LIMIT_BYTES + 5))

    with pytest.raises(ResponseTooLargeError):
        read_bounded_bytes(reader)
    assert reader.taken_bytes == 16 * 1024 * 1024 + 1


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        pytest.param("latin-1", "é", id="known"),
        pytest.param(None, "�", id="none"),
        pytest.param("klingon", "�", id="unknown"),
        pytest.param("zip", "�", id="no-text-codec"),
        pytest.param("punycode", "�", id="quadratic"),
        pytest.param("unicode_escape", "�", id="warns"),
        pytest.param("bad\0name", "�", id="nul"),
    ],
)
def test_charset_of_the_response_counts_where_it_is_usable(declared: str | None, text: str) -> None:
    assert read_bounded_response(Chunks(b"\xe9", encoding=declared)).text == text


def test_charset_encoding_is_the_second_choice() -> None:
    class Response(Chunks):
        charset_encoding = "latin-1"

    assert read_bounded_response(Response(b"\xe9")).text == "é"


def test_encoding_argument_wins_over_the_response() -> None:
    assert read_bounded_response(Chunks(b"\xe9", encoding="latin-1"), encoding="cp1251").text == "й"


@pytest.mark.parametrize(
    ("limit_bytes", "error"),
    [(0, ValueError), (-1, ValueError), (True, TypeError), (1.5, TypeError), (None, TypeError)],
    ids=["zero", "negative", "bool", "float", "none"],
)
def test_unusable_limit_is_refused_before_anything_is_read(limit_bytes: int, error: type[Exception]) -> None:
    reader = Reader(b"x")

    with pytest.raises(error, match="limit_bytes"):
        read_bounded_body(reader, limit_bytes)
    assert (reader.taken_bytes, reader.closed) == (0, False)


@pytest.mark.anyio
async def test_async_twin_refuses_an_unusable_limit() -> None:
    with pytest.raises(ValueError, match="limit_bytes is 0"):
        await aread_bounded_bytes(AsyncReader(b"x"), 0)


def test_unknown_encoding_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="'klingon' is no text encoding"):
        read_bounded_body(Reader(b"x"), encoding="klingon")


def test_response_function_refuses_what_is_no_response() -> None:
    with pytest.raises(TypeError, match="Reader has no iter_bytes; use read_bounded_body"):
        read_bounded_response(Reader(b"x"))  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_async_response_function_refuses_what_is_no_response() -> None:
    with pytest.raises(TypeError, match="AsyncReader has no aiter_bytes; use read_bounded_body"):
        await aread_bounded_response(AsyncReader(b"x"))  # type: ignore[arg-type]


def test_thing_that_is_no_source_is_refused() -> None:
    with pytest.raises(TypeError, match="object has neither iter_bytes nor read"):
        read_bounded_body(object())  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_thing_that_is_no_async_source_is_refused() -> None:
    with pytest.raises(TypeError, match="object has neither aiter_bytes nor read"):
        await aread_bounded_body(object())  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_plain_reader_is_refused_by_the_async_twin() -> None:
    with pytest.raises(TypeError, match=r"Reader\.read is not awaitable"):
        await aread_bounded_body(Reader(b"x"))  # type: ignore[arg-type]


def test_text_reader_is_refused() -> None:
    with pytest.raises(TypeError, match="the source gave str, not bytes"):
        read_bounded_body(io.StringIO("x"))  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [bytearray(b"abc"), memoryview(b"abc")], ids=["bytearray", "memoryview"])
def test_bytes_like_chunks_are_taken(chunk: bytes) -> None:
    assert read_bounded_bytes([chunk]) == b"abc"


@pytest.mark.parametrize("limit_bytes", [1, 100], ids=["cut", "whole"])
def test_response_and_its_iterator_are_closed(limit_bytes: int) -> None:
    response = Chunks(b"12", b"34", b"56")

    read_bounded_body(response, limit_bytes)

    assert (response.is_iterator_closed, response.is_closed) == (True, True)


@pytest.mark.anyio
@pytest.mark.parametrize("limit_bytes", [1, 100], ids=["cut", "whole"])
async def test_async_response_and_its_iterator_are_closed(limit_bytes: int) -> None:
    response = Chunks(b"12", b"34", b"56")

    await aread_bounded_body(response, limit_bytes)

    assert (response.is_iterator_closed, response.is_closed) == (True, True)


def test_reader_is_closed() -> None:
    reader = Reader(b"x")

    read_bounded_body(reader)

    assert reader.closed


@pytest.mark.anyio
async def test_async_reader_with_a_plain_close_is_closed() -> None:
    reader = AsyncReader(b"x")

    await aread_bounded_body(reader)

    assert reader.is_closed


@pytest.mark.anyio
async def test_async_source_without_a_close_is_left_alone() -> None:
    class Endless:
        async def read(self, size: int, /) -> bytes:
            return b"x" * size

    assert (await aread_bounded_body(Endless(), LIMIT)).text == "x" * LIMIT


class Failing(Chunks):
    def iter_bytes(self) -> Iterator[bytes]:
        yield b"some"
        raise OSError("gone")

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        yield b"some"
        raise OSError("gone")


def test_failing_response_is_closed_and_its_error_passes() -> None:
    response = Failing()

    with pytest.raises(OSError, match="gone"):
        read_bounded_bytes(response)
    assert response.is_closed


@pytest.mark.anyio
async def test_failing_async_response_is_closed_and_its_error_passes() -> None:
    response = Failing()

    with pytest.raises(OSError, match="gone"):
        await aread_bounded_bytes(response)
    assert response.is_closed


@pytest.mark.anyio
async def test_cancelled_read_closes_the_source() -> None:
    class Stuck(Chunks):
        async def aiter_bytes(self) -> AsyncIterator[bytes]:
            yield b"some"
            scope.cancel()
            await anyio.sleep_forever()

    response = Stuck()
    with anyio.CancelScope() as scope:
        await aread_bounded_bytes(response)

    assert (scope.cancelled_caught, response.is_closed) == (True, True)


def test_real_response_is_counted_after_decompression() -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=_Raw(bomb))
    )

    with (
        httpx2.Client(transport=transport).stream("GET", "http://127.0.0.1/") as response,
        pytest.raises(ResponseTooLargeError) as caught,
    ):
        read_bounded_bytes(response, 1_000_000)

    assert len(bomb) < 10_000 < 1_000_000 < caught.value.read_bytes < 1_000_000 + 2**20 + 1
    assert response.is_closed


class _Raw(httpx2.SyncByteStream):
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data


def test_repr_shows_no_text() -> None:
    assert repr(BoundedText(text="secret", truncated=True)) == "BoundedText(<6 characters>, truncated=True)"


@pytest.mark.parametrize(
    "name", ["read_bounded_body", "read_bounded_response", "read_bounded_bytes", "read_error_preview"]
)
def test_each_function_has_an_async_twin(name: str) -> None:
    assert {name, f"a{name}"} <= set(bounded.__all__)
