"""One request to a scripted server, and the steps in which it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

from tramapy.keywords import explains_names
from tramapy.messages import ModelResponse, TokenUsage
from tramapy.testing.checked import Checked
from tramapy.testing.gate import Gate
from tramapy.testing.pieces import Split, split_words

__all__ = [
    "BeginBody",
    "CloseConnection",
    "EndBody",
    "ErrorDetail",
    "Exchange",
    "PassGate",
    "ResetConnection",
    "SendBytes",
    "ServerAnswer",
    "ServerRequest",
    "SseFrame",
    "Step",
    "WireFormat",
    "json_bytes",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServerRequest:
    """A request as the server got it; `repr` shows no content.

    Args:
        number: Counts from 1, over all requests of the server.
        method: For example `POST`.
        path: Without the query.
        query: What follows the question mark, else empty.
        headers: By lower-case name; what carries credentials says `<redacted>`.
        body: The parsed JSON object; empty where the body is none.
    """

    number: int
    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_stream(self) -> bool:
        """Whether the client asked for server-sent events."""
        return self.body.get("stream") is True

    def __repr__(self) -> str:
        return f"ServerRequest({self.number}, {self.method} {self.path}, <{len(self.body)} fields>)"


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetail(Checked):
    """An error as a provider words it, in whichever wire format."""

    status: int = 500
    error_type: str | None = None
    code: str | None = None
    message: str = field(default="scripted error", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SseFrame:
    """One server-sent event as bytes.

    Args:
        data: The frame with its blank line.
        is_terminal: Whether it belongs to the end that tells a whole stream from a cut one.
    """

    data: bytes
    is_terminal: bool = False

    def __repr__(self) -> str:
        return f"SseFrame(<{len(self.data)} bytes>, is_terminal={self.is_terminal})"


class WireFormat(Protocol):
    """How one API writes answers; ids and times count up from a fixed point."""

    path: str

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        """Write a plain answer."""
        ...

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        """Write a streamed answer."""
        ...

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        """Write one piece of text, as it stands in the middle of a stream."""
        ...

    def error_body(self, detail: ErrorDetail) -> Mapping[str, object]:
        """Write the body of a rejection."""
        ...

    def error_frame(self, detail: ErrorDetail) -> SseFrame:
        """Write an error that comes in the middle of a stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request, and what its answer needs to be written.

    Args:
        request: What came.
        wire: The format of the path that was asked for.
        split: How text falls into pieces in a stream.
    """

    request: ServerRequest
    wire: WireFormat
    split: Split = split_words

    @property
    def number(self) -> int:
        """The request's number, from which ids and times are made."""
        return self.request.number

    @property
    def model(self) -> str:
        """The model that the request names, or a stand-in."""
        named = self.request.body.get("model")
        return named if isinstance(named, str) else "scripted-model"

    def response_of(self, answer: str | ModelResponse) -> ModelResponse:
        """Return the response that `answer` stands for; a string uses 10 tokens, and one for each word."""
        if isinstance(answer, ModelResponse):
            return answer
        usage = TokenUsage(input_tokens=10, output_tokens=len(answer.split()))
        return ModelResponse(content=answer, usage=usage)

    def frames(self, answer: str | ModelResponse) -> tuple[SseFrame, ...]:
        """Return the stream that `answer` stands for."""
        return tuple(self.wire.frames(self, self.response_of(answer)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BeginBody:
    """Send the head of an answer.

    Args:
        status: The HTTP status.
        headers: Beside those that say how the body ends.
        length_bytes: The declared length, where it is known.
        is_delimited: Whether the end of the body can be told from a cut; otherwise the body goes on until the
            connection is closed. Has no effect where `length_bytes` is given.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    length_bytes: int | None = None
    is_delimited: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class SendBytes:
    """Send a part of the body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class EndBody:
    """End the body as it was declared; the connection stays open where it can."""


@dataclass(frozen=True, slots=True)
class PassGate:
    """Wait until the gate is released."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Close the connection, whether the body is at its end or not."""


@dataclass(frozen=True, slots=True)
class ResetConnection:
    """Reset the connection, so that the client gets an error rather than an end."""


Step: TypeAlias = BeginBody | SendBytes | EndBody | PassGate | CloseConnection | ResetConnection


class ServerAnswer(Protocol):
    """An answer as steps; the faults are some, and a test may write its own."""

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        """Yield what to do, in order."""
        ...


def json_bytes(value: object) -> bytes:
    """Write JSON as the APIs do: compact, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
