"""A streamed answer: server-sent events in, chunks out; what an event means is the format's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.messages import Chunk, CompletedChunk, ModelResponse, ToolCallChunk
from tramapy.wire.json_values import invalid_answer, parse_object, text_of
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.sse import SseDecoder, SseEvent

__all__ = ["AnswerInParts", "StreamDecoder", "stream_cut"]

_EVENT_LIMIT_BYTES: Final = 4 * 1024 * 1024
_END_MARK: Final = b"[DONE]"


class AnswerInParts(Protocol):
    """What has come of one answer so far."""

    is_whole: bool
    """Whether the event has come that ends the answer in this format."""

    def take(self, kind: str, body: Mapping[str, object]) -> Iterator[Chunk]:
        """Take an event, and yield the texts that it brings.

        Args:
            kind: What the event says that it is; may be empty.
            body: Its data.

        Raises:
            ProviderError: It is malformed.
        """
        ...

    def response(self) -> ModelResponse:
        """Return the whole response.

        Raises:
            ProviderError: It is not whole.
        """
        ...


class StreamDecoder:
    """Assembles one streamed answer; it does no reading itself, so sync and async share it.

    Args:
        answer: Takes the events.
        limit_bytes: How much the whole stream may hold; one event may hold 4 MiB of it.
    """

    def __init__(self, answer: AnswerInParts, limit_bytes: int) -> None:
        self._answer = answer
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        self._has_events = False
        self._events = SseDecoder(min(limit_bytes, _EVENT_LIMIT_BYTES))
        self.is_ended: bool = False

    def feed(self, data: bytes) -> tuple[Chunk, ...]:
        """Take bytes of the body and return what they complete.

        Raises:
            ResponseTooLargeError: The stream or one event is over its limit.
            ProviderError: An event is malformed, or is an error.
        """
        self._read_bytes += len(data)
        if self._read_bytes > self._limit_bytes:
            raise ResponseTooLargeError(
                f"The provider's stream has {self._read_bytes:_} bytes or more; the limit is "
                f"{self._limit_bytes:_}. Raise limit_bytes, or ask for less.",
                limit_bytes=self._limit_bytes,
                read_bytes=self._read_bytes,
            )
        return tuple(chunk for event in self._events.feed(data) for chunk in self._take(event))

    def finish(self) -> tuple[Chunk, ...]:
        """Return the tool calls and the whole response; call it where the body ends or `is_ended` is true.

        Raises:
            ProviderError: The stream was cut: what ends an answer did not come. Retryable. Or it is no stream.
        """
        if self._read_bytes and not self._has_events and not self.is_ended:
            raise invalid_answer("to a streaming request is no event stream")
        response = self._answer.response()
        return (*map(ToolCallChunk, response.tool_calls), CompletedChunk(response))

    def _take(self, event: SseEvent) -> Iterator[Chunk]:
        if self.is_ended:
            return
        if event.data.startswith(_END_MARK):
            self.is_ended = True
            return
        body = parse_object(event.data)
        kind = text_of(body.get("type")) or event.name
        rejection = rejection_in(body, is_error="error" in (kind, event.name))
        if rejection is not None:
            raise rejection_error("with an error in the stream", rejection, 0.0)
        self._has_events = True
        yield from self._answer.take(kind, body)
        self.is_ended = self._answer.is_whole


def stream_cut() -> ProviderError:
    """Return the error for a stream that ends before its answer does."""
    return ProviderError(
        "The provider's stream ended before the answer did.",
        retryable=True,
        failure_code=ProviderFailureCode.STREAM_CUT,
    )
