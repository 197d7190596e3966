"""Messages and responses of text alone, built fast: a request may have hundreds.

A frozen dataclass sets and checks each field by itself, 2.5 µs in all; filled in as a draft with the same slots and
then turned into the value, it takes 0.5 µs. A test compares each with what the constructor makes.
"""

from __future__ import annotations

from typing import Any

from tramapy.clients.rewriting import Origin
from tramapy.messages import FinishReason, Message, MessageRole, ModelResponse, TokenUsage

__all__ = ["text_message", "text_response"]


class _MessageDraft:
    __slots__ = tuple(Message.__slots__)


class _ResponseDraft:
    __slots__ = tuple(ModelResponse.__slots__)


def text_message(role: MessageRole, content: str, origin: Origin) -> Message:
    """Make a message; `content` is known to be text."""
    draft: Any = _MessageDraft()
    draft.role = role
    draft.content = content
    draft.content_parts = None
    draft.tool_call_id = None
    draft.tool_name = None
    draft.tool_calls = ()
    draft.origin = origin
    draft.__class__ = Message
    message: Message = draft
    return message


def text_response(
    content: str,
    *,
    refusal: str | None,
    reasoning: str | None,
    usage: TokenUsage,
    model: str | None,
    finish_reason: FinishReason,
    response_id: str | None,
) -> ModelResponse:
    """Make a response without parts and calls; each argument is known to be of its type."""
    draft: Any = _ResponseDraft()
    draft.content = content
    draft.content_parts = None
    draft.tool_calls = ()
    draft.refusal = refusal
    draft.reasoning = reasoning
    draft.usage = usage
    draft.model = model
    draft.finish_reason = finish_reason
    draft.response_id = response_id
    draft.__class__ = ModelResponse
    response: ModelResponse = draft
    return response
