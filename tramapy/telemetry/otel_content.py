"""What an attempt sent and got, as the conventions write it: JSON in an attribute, cut to a length."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Final, TypeAlias

from tramapy.messages import (
    ContentPart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
)
from tramapy.telemetry.genai_names import (
    CAPTURE_CONTENT_VARIABLE,
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    SYSTEM_INSTRUCTIONS,
)

__all__ = ["captures_content", "request_attributes", "response_attributes"]

_ON: Final = frozenset({"true", "1", "span_only", "span_and_event"})
_MAX_ITEM_COUNT: Final = 64
_CUT: Final = "..."

_Part: TypeAlias = dict[str, str]


def captures_content() -> bool:
    """Whether the conventions' switch asks for content on spans; everything unknown means no."""
    return os.environ.get(CAPTURE_CONTENT_VARIABLE, "").strip().lower() in _ON


def request_attributes(request: ModelRequest, limit: int) -> dict[str, str]:
    """Return what was sent as attributes, their text cut to `limit` characters in all."""
    budget = _Budget(limit)
    attributes: dict[str, str] = {}
    if request.instructions:
        instructions = [{"type": "text", "content": budget.cut(request.instructions)}]
        attributes[SYSTEM_INSTRUCTIONS] = json.dumps(instructions)
    # the last messages are those that say what was asked: they are cut last
    shown = [_input(message, budget) for message in reversed(request.messages[-_MAX_ITEM_COUNT:])]
    attributes[INPUT_MESSAGES] = json.dumps(shown[::-1])
    return attributes


def response_attributes(response: ModelResponse, limit: int) -> dict[str, str]:
    """Return the answer as an attribute, its text cut to `limit` characters in all."""
    budget = _Budget(limit)
    parts = _contents(response.content, response.content_parts, budget)
    parts += [
        {"type": kind, "content": budget.cut(text)}
        for kind, text in (("reasoning", response.reasoning), ("refusal", response.refusal))
        if text
    ]
    parts += _calls(response.tool_calls, budget)
    message = {"role": "assistant", "parts": parts, "finish_reason": response.finish_reason.value}
    return {OUTPUT_MESSAGES: json.dumps([message])}


class _Budget:
    """How many characters may still be shown."""

    __slots__ = ("_left",)

    def __init__(self, limit: int) -> None:
        self._left = limit

    def cut(self, text: str) -> str:
        """Return as much of a text as there is room for."""
        if len(text) <= self._left:
            self._left -= len(text)
            return text
        shown, self._left = text[: self._left], 0
        return shown + _CUT


def _input(message: Message, budget: _Budget) -> dict[str, object]:
    if message.role is MessageRole.TOOL:
        result = "".join(part.get("content", "") for part in _message_contents(message, budget))
        answer = {
            "type": "tool_call_response",
            "id": budget.cut(message.tool_call_id or ""),
            "result": result,
        }
        return {"role": "tool", "parts": [answer]}
    parts = [*_message_contents(message, budget), *_calls(message.tool_calls, budget)]
    return {"role": message.role.value, "parts": parts}


def _message_contents(message: Message, budget: _Budget) -> list[_Part]:
    return _contents(message.content, message.content_parts, budget)


def _contents(content: str, parts: Iterable[ContentPart] | None, budget: _Budget) -> list[_Part]:
    if parts is None:
        return [{"type": "text", "content": budget.cut(content)}] if content else []
    shown = list(parts)[:_MAX_ITEM_COUNT]
    return [
        {"type": "text", "content": budget.cut(part.text)}
        if isinstance(part, TextPart)
        # neither its bytes nor its address, which DLP does not look into
        else {"type": "image", "mime_type": budget.cut(part.mime_type or "")}
        for part in shown
    ]


def _calls(calls: Iterable[ToolCall], budget: _Budget) -> list[_Part]:
    return [
        {
            "type": "tool_call",
            "id": budget.cut(call.id),
            "name": budget.cut(call.name),
            "arguments": budget.cut(call.arguments_json),
        }
        for call in list(calls)[:_MAX_ITEM_COUNT]
    ]
