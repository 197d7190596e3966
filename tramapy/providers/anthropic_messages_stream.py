"""A streamed message: what its typed events mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tramapy.messages import Chunk, ModelResponse, TextChunk, ToolCall
from tramapy.providers.anthropic_messages_codec import (
    NAMELESS_CALL,
    NO_REASONING,
    NO_TEXT,
    arguments_json_of,
    refusal_of,
)
from tramapy.providers.stream_decoder import stream_cut
from tramapy.wire.finish_reasons import messages_finish_reason
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, required_text, text_of
from tramapy.wire.token_counts import messages_usage

__all__ = ["MessagesAnswer"]

_Body = Mapping[str, object]


class MessagesAnswer:
    """What has come of one message so far; it ends with `message_stop`."""

    def __init__(self) -> None:
        self.is_whole: bool = False
        self._text: list[str] = []
        self._thoughts: dict[int, list[str]] = {}
        self._calls: dict[int, _CallParts] = {}
        self._message: _Body = {}
        self._end: _Body = {}
        self._usage: dict[str, object] = {}

    def take(self, kind: str, body: _Body) -> Iterator[Chunk]:
        """Take an event, and yield the text that it brings; kinds that are not known are passed over.

        Raises:
            ProviderError: It is malformed.
        """
        if kind == "content_block_start":
            yield from self._open(_index(body), mapping_of(body.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._go_on(_index(body), mapping_of(body.get("delta")))
        elif kind == "message_start":
            self._message = mapping_of(body.get("message"))
            self._count(self._message.get("usage"))
        elif kind == "message_delta":
            self._end = {**self._end, **mapping_of(body.get("delta"))}
            self._count(body.get("usage"))
        elif kind == "message_stop":
            self.is_whole = True

    def response(self) -> ModelResponse:
        """Return the whole response.

        Raises:
            ProviderError: Its end did not come.
        """
        if not self.is_whole:
            raise stream_cut()
        thoughts = ["".join(pieces) for pieces in self._thoughts.values()]
        return ModelResponse(
            content="".join(self._text),
            tool_calls=tuple(call.whole() for call in self._calls.values()),
            refusal=refusal_of(self._end.get("stop_details")),
            reasoning="\n\n".join(thoughts) if thoughts else None,
            usage=messages_usage(self._usage),
            model=text_of(self._message.get("model")),
            finish_reason=messages_finish_reason(self._end.get("stop_reason")),
            response_id=text_of(self._message.get("id")),
        )

    def _open(self, index: int, block: _Body) -> Iterator[Chunk]:
        kind = block.get("type")
        if kind == "text":
            yield from self._take_text(block.get("text", ""))
        elif kind == "thinking":
            self._take_thought(index, block.get("thinking", ""))
        elif kind == "tool_use":
            self._calls[index] = _CallParts(block)

    def _go_on(self, index: int, delta: _Body) -> Iterator[Chunk]:
        kind = delta.get("type")
        if kind == "text_delta":
            yield from self._take_text(delta.get("text"))
        elif kind == "thinking_delta":
            self._take_thought(index, delta.get("thinking"))
        elif kind == "input_json_delta":
            piece = required_text(delta.get("partial_json"), "has arguments that are no text")
            # other blocks than tool calls of ours have such deltas too
            if index in self._calls:
                self._calls[index].arguments.append(piece)

    def _take_text(self, value: object) -> Iterator[Chunk]:
        text = required_text(value, NO_TEXT)
        if text:
            self._text.append(text)
            yield TextChunk(text)

    def _take_thought(self, index: int, value: object) -> None:
        self._thoughts.setdefault(index, []).append(required_text(value, NO_REASONING))

    def _count(self, usage: object) -> None:
        """Take counts; later ones are running totals, and one that is missing leaves the earlier."""
        given = {name: value for name, value in mapping_of(usage).items() if value is not None}
        self._usage.update(given)


class _CallParts:
    def __init__(self, block: _Body) -> None:
        self._id = text_of(block.get("id")) or ""
        self._name = required_text(block.get("name") or None, NAMELESS_CALL)
        self._input = block.get("input")
        self.arguments: list[str] = []

    def whole(self) -> ToolCall:
        written = "".join(self.arguments)
        return ToolCall(
            id=self._id, name=self._name, arguments_json=written or arguments_json_of(self._input)
        )


def _index(body: _Body) -> int:
    index = count_of(body.get("index"))
    if index is None:
        raise invalid_answer("has a content block without an index")
    return index
