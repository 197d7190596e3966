"""Messages of role and text alone, built fast: a request may have hundreds.

A frozen dataclass sets and checks each field by itself, 2.5 µs in all; filled in as a draft with the same slots and
then turned into the value, it takes 0.5 µs. A test compares it with what the constructor makes.
"""

from __future__ import annotations

from typing import Any

from tramapy.clients.rewriting import Origin
from tramapy.messages import Message, MessageRole

__all__ = ["text_message"]


class _MessageDraft:
    __slots__ = tuple(Message.__slots__)


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
