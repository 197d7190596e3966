"""A streamed chat completion: server-sent events in, chunks out, and the whole response at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.messages import (
    Chunk,
    CompletedChunk,
    FinishReason,
    ModelResponse,
    TextChunk,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from tramapy.providers.openai_chat_codec import (
    arguments_of,
    calls_of,
    content_of,
    finish_reason_of,
    reasoning_of,
    refusal_of,
    usage_of,
)
from tramapy.wire.json_values import (
    count_of,
    invalid_answer,
    mapping_of,
    mappings_of,
    parse_object,
    text_of,
)
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.sse import SseDecoder, SseEvent

__all__ = ["ChatStreamDecoder"]

_EVENT_LIMIT_BYTES: Final = 4 * 1024 * 1024
_END_MARK: Final = b"[DONE]"


class ChatStreamDecoder:
    """Assembles one streamed answer; it does no reading itself, so sync and async share it.

    Args:
        limit_bytes: How much the whole stream may hold; one event may hold 4 MiB of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        self._events = SseDecoder(min(limit_bytes, _EVENT_LIMIT_BYTES))
        self._answer = _Answer()
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
            ProviderError: The stream was cut: it gave no finish reason. Retryable. Or what came is no stream.
        """
        if self._read_bytes and not self._answer.has_events and not self.is_ended:
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
        rejection = rejection_in(body, is_error=event.name == "error")
        if rejection is not None:
            raise rejection_error("with an error in the stream", rejection, 0.0)
        yield from self._answer.take(body)


class _Answer:
    """What has come of the first choice so far."""

    def __init__(self) -> None:
        self.has_events = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._calls = _CallsInParts()
        self._usage = TokenUsage()
        self._model: str | None = None
        self._response_id: str | None = None
        self._finish_reason: FinishReason | None = None

    def take(self, body: Mapping[str, object]) -> Iterator[Chunk]:
        self.has_events = True
        self._model = self._model or text_of(body.get("model"))
        self._response_id = self._response_id or text_of(body.get("id"))
        # the last chunk has the usage and no choice; some servers send running counts before
        if mapping_of(body.get("usage")):
            self._usage = usage_of(body.get("usage"))
        for choice in mappings_of(body.get("choices")):
            if not count_of(choice.get("index")):
                yield from self._take_choice(choice)

    def _take_choice(self, choice: Mapping[str, object]) -> Iterator[Chunk]:
        delta = mapping_of(choice.get("delta"))
        for found, pieces in (
            (refusal_of(delta), self._refusal),
            (reasoning_of(delta), self._reasoning),
        ):
            if found is not None:
                pieces.append(found)
        text = content_of(delta.get("content"))
        if text:
            self._text.append(text)
            yield TextChunk(text)
        for part in calls_of(delta.get("tool_calls")):
            self._calls.take(part)
        if self._finish_reason is None and choice.get("finish_reason") is not None:
            self._finish_reason = finish_reason_of(choice.get("finish_reason"))

    def response(self) -> ModelResponse:
        if self._finish_reason is None:
            raise ProviderError(
                "The provider's stream ended before the answer did.",
                retryable=True,
                failure_code=ProviderFailureCode.STREAM_CUT,
            )
        return ModelResponse(
            content="".join(self._text),
            tool_calls=self._calls.whole(),
            refusal="".join(self._refusal) if self._refusal else None,
            reasoning="".join(self._reasoning) if self._reasoning else None,
            usage=self._usage,
            model=self._model,
            finish_reason=self._finish_reason,
            response_id=self._response_id,
        )


class _CallsInParts:
    """Tool calls as they come in: an opening part with id and name, then pieces of the arguments."""

    def __init__(self) -> None:
        self._parts: list[_CallParts] = []
        self._by_index: dict[int, _CallParts] = {}

    def take(self, part: Mapping[str, object]) -> None:
        function = mapping_of(part.get("function"))
        call = self._call_of(count_of(part.get("index")), text_of(part.get("id")))
        call.name += text_of(function.get("name")) or ""
        call.arguments.append(arguments_of(function.get("arguments")))

    def whole(self) -> tuple[ToolCall, ...]:
        return tuple(call.whole() for call in self._parts)

    def _call_of(self, index: int | None, call_id: str | None) -> _CallParts:
        """Return the call that a part goes on with, or a new one.

        A part without an index goes on with the last call unless it has an id; one with the index of a call
        that has another id begins a new call, because some compatible servers give all calls the index 0.
        """
        if index is None:
            known = self._parts[-1] if self._parts and not call_id else None
        else:
            known = self._by_index.get(index)
        if known is not None and (not call_id or known.id in ("", call_id)):
            known.id = known.id or call_id or ""
            return known
        call = _CallParts(call_id or "")
        self._parts.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


class _CallParts:
    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = ""
        self.arguments: list[str] = []

    def whole(self) -> ToolCall:
        if not self.name:
            raise invalid_answer("has a tool call without a name")
        return ToolCall(id=self.id, name=self.name, arguments_json="".join(self.arguments))
