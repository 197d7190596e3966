"""A streamed chat completion: what its events mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tramapy.messages import Chunk, FinishReason, ModelResponse, TextChunk, TokenUsage, ToolCall
from tramapy.providers.openai_chat_codec import calls_of, content_of, reasoning_of, refusal_of
from tramapy.providers.stream_decoder import stream_cut
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import (
    arguments_of,
    count_of,
    invalid_answer,
    mapping_of,
    mappings_of,
    text_of,
)
from tramapy.wire.token_counts import chat_usage

__all__ = ["ChatAnswer"]


class ChatAnswer:
    """What has come of the first choice so far; it ends with a finish reason, and the stream with `[DONE]`."""

    def __init__(self) -> None:
        # usage comes after the finish reason, so no event is known to be the last
        self.is_whole: bool = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._calls = _CallsInParts()
        self._usage = TokenUsage()
        self._model: str | None = None
        self._response_id: str | None = None
        self._finish_reason: FinishReason | None = None

    def take(self, kind: str, body: Mapping[str, object]) -> Iterator[Chunk]:
        """Take a chunk, and yield the text that it brings."""
        del kind  # this format's events have none
        self._model = self._model or text_of(body.get("model"))
        self._response_id = self._response_id or text_of(body.get("id"))
        # the last chunk has the usage and no choice; some servers send running counts before
        if mapping_of(body.get("usage")):
            self._usage = chat_usage(body.get("usage"))
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
            self._finish_reason = chat_finish_reason(choice.get("finish_reason"))

    def response(self) -> ModelResponse:
        """Return the whole response.

        Raises:
            ProviderError: There was no finish reason, or a tool call has no name.
        """
        if self._finish_reason is None:
            raise stream_cut()
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
