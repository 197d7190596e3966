"""What can go wrong with a provider, as answers of a `ScriptedServer`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from tramapy.keywords import explains_names
from tramapy.messages import ModelResponse
from tramapy.testing.checked import Checked
from tramapy.testing.exchange import (
    BeginBody,
    CloseConnection,
    EndBody,
    ErrorDetail,
    Exchange,
    PassGate,
    ResetConnection,
    SendBytes,
    Step,
    json_bytes,
)
from tramapy.testing.gate import Gate
from tramapy.values import instance

__all__ = [
    "ConnectionReset",
    "CutStream",
    "GzipBomb",
    "HttpRejection",
    "MalformedStream",
    "MidStreamError",
    "OversizedBody",
    "PlainAnswer",
    "RawBody",
    "SlowAnswer",
]

EVENT_STREAM: Final = MappingProxyType({"content-type": "text/event-stream; charset=utf-8"})
JSON: Final = MappingProxyType({"content-type": "application/json"})

_BLOCK_BYTES: Final = 64 * 1024


@explains_names
@dataclass(frozen=True, slots=True)
class PlainAnswer(Checked):
    """Answer as asked: one JSON body, or a stream."""

    answer: str | ModelResponse = field(repr=False)

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        if not exchange.request.is_stream:
            yield from _whole(exchange.wire.body(exchange, exchange.response_of(self.answer)))
            return
        yield BeginBody(headers=EVENT_STREAM)
        for frame in exchange.frames(self.answer):
            yield SendBytes(frame.data)
        yield EndBody()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RawBody(Checked):
    """Answer with a body of your own, whatever was asked for.

    Args:
        body: Bytes as they are, or a mapping to be written as JSON.
        status: The HTTP status.
        headers: Beside the length; by default the content type of JSON.
    """

    body: bytes | Mapping[str, object]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        del exchange  # the same body for every request
        yield from _whole(self.body, status=self.status, headers=self.headers)


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRejection(Checked):
    """Answer with an error status and a body as the API words it.

    Args:
        status: For example 429.
        code: The error's code, for example `insufficient_quota`.
        error_type: The error's type, for example `rate_limit_error`.
        message: The error's text.
        headers: For example `{"retry-after": "2"}`, `{"retry-after-ms": "250"}` or `{"x-should-retry": "false"}`.
    """

    status: int
    code: str | None = None
    error_type: str | None = None
    message: str = field(default="scripted rejection", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        detail = ErrorDetail(
            status=self.status, error_type=self.error_type, code=self.code, message=self.message
        )
        body = exchange.wire.error_body(detail)
        yield from _whole(body, status=self.status, headers={**JSON, **self.headers})


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionReset(Checked):
    """Reset the connection: before any answer, or in the middle of one.

    Args:
        answer: What is being answered where `after_events` is given.
        after_events: How many events of the stream come through; a plain answer is reset at its half.
    """

    answer: str | ModelResponse = field(default="never heard", repr=False)
    after_events: int | None = None

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        if self.after_events is not None:
            yield from _beginning(exchange, self.answer, self.after_events)
        yield ResetConnection()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class SlowAnswer(Checked):
    """Stand at a gate until the test releases it: before the answer, or in the middle of it.

    Args:
        gate: Where to stand.
        answer: What is answered in the end.
        after_events: How many events of the stream come before the gate; a plain answer stops at its half.
            None stops before the head.
    """

    gate: Gate
    answer: str | ModelResponse = field(default="at last", repr=False)
    after_events: int | None = None

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        instance("SlowAnswer.gate", self.gate, Gate, "write gate=Gate(), and gate.release() to let it go on")

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        steps = PlainAnswer(self.answer).steps(exchange)
        if self.after_events is None:
            yield PassGate(self.gate)
            yield from steps
            return
        yield from _beginning(exchange, self.answer, self.after_events)
        yield PassGate(self.gate)
        yield from _rest(exchange, self.answer, self.after_events)


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class CutStream(Checked):
    """Stop a stream before its terminal events, so that it looks like an end that is none.

    Args:
        answer: What was being answered.
        after_events: How many events come through; by default all but the terminal ones.
        is_clean: True ends the HTTP body properly, as a proxy does; False drops the connection within it.
    """

    answer: str | ModelResponse = field(default="cut short", repr=False)
    after_events: int | None = None
    is_clean: bool = True

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        frames = [frame for frame in exchange.frames(self.answer) if not frame.is_terminal]
        yield BeginBody(headers=EVENT_STREAM)
        for frame in frames[: self.after_events]:
            yield SendBytes(frame.data)
        yield EndBody() if self.is_clean else CloseConnection()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class MidStreamError(Checked):
    """Send an error object in the middle of a stream whose status was 200.

    Args:
        detail: The error.
        answer: What was being answered.
        after_events: How many events come before it.
    """

    detail: ErrorDetail = field(default_factory=lambda: ErrorDetail(error_type="server_error"))
    answer: str | ModelResponse = field(default="half an answer", repr=False)
    after_events: int = 2

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        instance(
            "MidStreamError.detail",
            self.detail,
            ErrorDetail,
            "for example ErrorDetail(error_type='server_error')",
        )

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        yield BeginBody(headers=EVENT_STREAM)
        for frame in exchange.frames(self.answer)[: self.after_events]:
            yield SendBytes(frame.data)
        yield SendBytes(exchange.wire.error_frame(self.detail).data)
        yield EndBody()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MalformedStream(Checked):
    """Send bytes that are no event of the format in the middle of a stream, then the rest of it.

    Args:
        data: The bytes.
        answer: What is being answered.
        after_events: How many events come before them.
    """

    data: bytes = b"data: {broken\n\n"
    answer: str | ModelResponse = field(default="half an answer", repr=False)
    after_events: int = 2

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        yield BeginBody(headers=EVENT_STREAM)
        frames = exchange.frames(self.answer)
        for data in (
            *(frame.data for frame in frames[: self.after_events]),
            self.data,
            *(frame.data for frame in frames[self.after_events :]),
        ):
            yield SendBytes(data)
        yield EndBody()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class OversizedBody(Checked):
    """Send a body of at least `byte_count` bytes: one long string, or in a stream many events.

    Args:
        byte_count: How long it is at least.
        is_one_event: In a stream, whether all of it is one event that does not end.
        status: The HTTP status, to make a rejection of it.
    """

    byte_count: int
    is_one_event: bool = False
    status: int = 200

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        is_stream = exchange.request.is_stream
        yield BeginBody(status=self.status, headers=EVENT_STREAM if is_stream else JSON)
        blocks = _endless(exchange, is_one_event=self.is_one_event or not is_stream)
        sent_bytes = 0
        while sent_bytes < self.byte_count:
            block = next(blocks)
            yield SendBytes(block)
            sent_bytes += len(block)
        yield EndBody()


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class GzipBomb(Checked):
    """Send a small compressed body that grows to `byte_count` bytes, plain or as one event.

    Args:
        byte_count: How long it is when it is decompressed.
        status: The HTTP status, to make a rejection of it.
    """

    byte_count: int
    status: int = 200

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        is_stream = exchange.request.is_stream
        content = EVENT_STREAM if is_stream else JSON
        yield BeginBody(status=self.status, headers={**content, "content-encoding": "gzip"})
        compressor = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        yield SendBytes(compressor.compress(b'data: {"x":"' if is_stream else b'{"x":"'))
        block = b"0" * _BLOCK_BYTES
        for _ in range(self.byte_count // _BLOCK_BYTES):
            yield SendBytes(compressor.compress(block))
        yield SendBytes(compressor.compress(b'"}\n\n') + compressor.flush())
        yield EndBody()


def _whole(
    body: bytes | Mapping[str, object], *, status: int = 200, headers: Mapping[str, str] = JSON
) -> Iterator[Step]:
    data = body if isinstance(body, bytes) else json_bytes(body)
    yield BeginBody(status=status, headers=headers, length_bytes=len(data))
    yield SendBytes(data)
    yield EndBody()


def _beginning(exchange: Exchange, answer: str | ModelResponse, event_count: int) -> Iterator[Step]:
    head, parts = _parts(exchange, answer, event_count)
    yield head
    yield SendBytes(parts[0])


def _rest(exchange: Exchange, answer: str | ModelResponse, event_count: int) -> Iterator[Step]:
    yield SendBytes(_parts(exchange, answer, event_count)[1][1])
    yield EndBody()


def _parts(
    exchange: Exchange, answer: str | ModelResponse, event_count: int
) -> tuple[BeginBody, tuple[bytes, bytes]]:
    """Return the head, and the body in two parts: a stream after `event_count` events, else in the middle."""
    if exchange.request.is_stream:
        data = [frame.data for frame in exchange.frames(answer)]
        return BeginBody(headers=EVENT_STREAM), (b"".join(data[:event_count]), b"".join(data[event_count:]))
    body = json_bytes(exchange.wire.body(exchange, exchange.response_of(answer)))
    middle = len(body) // 2
    return BeginBody(headers=JSON, length_bytes=len(body)), (body[:middle], body[middle:])


def _endless(exchange: Exchange, *, is_one_event: bool) -> Iterator[bytes]:
    if is_one_event:
        yield b'data: {"x":"' if exchange.request.is_stream else b'{"x":"'
        while True:
            yield b"0" * _BLOCK_BYTES
    frame = exchange.wire.text_frame(exchange, "0" * 1024).data
    while True:
        yield frame
