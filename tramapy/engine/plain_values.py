"""Answers and messages of our own classes alone, for DLP: what a subclass says of itself proves nothing.

A subclass may equal what it does not, hold text in fields of its own, and show it in its `repr`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.errors import DlpInspectionError
from tramapy.messages import ContentPart, ImagePart, Message, ModelResponse, TextPart, TokenUsage, ToolCall

__all__ = ["plain_call", "plain_message", "plain_response"]

V = TypeVar("V")

_PARTS = frozenset((TextPart, ImagePart))


def plain_response(response: ModelResponse) -> ModelResponse:
    """Return `response`, or what it says as a plain `ModelResponse`; fields that a subclass adds are dropped.

    Raises:
        DlpInspectionError: A subclass holds something else than its fields' types.
    """
    if type(response) is ModelResponse and type(response.usage) is TokenUsage:
        parts, calls = response.content_parts, response.tool_calls
        if (parts is None and not calls) or _are_plain(parts, calls):
            return response
    return _read(response, _as_response)


def plain_message(message: Message) -> Message:
    """Do the same for a message that is to be sent."""
    if type(message) is Message and _are_plain(message.content_parts, message.tool_calls):
        return message
    return _read(message, _as_message)


def plain_call(call: ToolCall) -> ToolCall:
    """Do the same for a tool call."""
    return call if type(call) is ToolCall else _read(call, _as_call)


def _read(value: V, make: Callable[[V], V]) -> V:
    try:
        return make(value)
    except Exception as error:  # a subclass's own property may raise anything
        rethrow_if_cancellation(error)
    raise DlpInspectionError(
        f"A {type(value).__name__} has a field that DLP cannot read; the text was withheld. Give fields of the "
        f"declared types"
    )


def _as_response(response: ModelResponse) -> ModelResponse:
    parts, calls, usage = response.content_parts, response.tool_calls, response.usage
    return ModelResponse(
        content=response.content,
        content_parts=None if parts is None else tuple(map(_plain_part, parts)),
        tool_calls=tuple(map(_as_call, calls)),
        refusal=response.refusal,
        reasoning=response.reasoning,
        usage=TokenUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        ),
        model=response.model,
        finish_reason=response.finish_reason,
        response_id=response.response_id,
    )


def _as_message(message: Message) -> Message:
    parts, calls = message.content_parts, message.tool_calls
    return Message(
        role=message.role,
        content=message.content,
        content_parts=None if parts is None else tuple(map(_plain_part, parts)),
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        tool_calls=tuple(map(_as_call, calls)),
        origin=message.origin,
    )


def _as_call(call: ToolCall) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments_json=call.arguments_json)


def _are_plain(parts: tuple[ContentPart, ...] | None, calls: tuple[ToolCall, ...]) -> bool:
    if parts and not all(type(part) in _PARTS for part in parts):
        return False
    return not calls or all(type(call) is ToolCall for call in calls)


def _plain_part(part: ContentPart) -> ContentPart:
    if type(part) in _PARTS:
        return part
    if isinstance(part, TextPart):
        return TextPart(part.text)
    return ImagePart(data=part.data, mime_type=part.mime_type, url=part.url, detail=part.detail)
