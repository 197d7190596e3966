"""Why a model stopped, from the words of each wire format; OTHER for a word that the format does not have."""

from __future__ import annotations

from typing import Final

from tramapy.messages import FinishReason

__all__ = ["chat_finish_reason", "messages_finish_reason", "responses_finish_reason"]

_CHAT: Final = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
}

_RESPONSES_INCOMPLETE: Final = {
    "max_output_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

_MESSAGES: Final = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.CONTENT_FILTER,
}


def chat_finish_reason(value: object) -> FinishReason:
    """Read a choice's `finish_reason`."""
    return _word(_CHAT, value)


def responses_finish_reason(status: object, reason: object, *, has_tool_calls: bool) -> FinishReason:
    """Read how a response ended.

    Args:
        status: Its `status`; None counts as completed.
        reason: The `reason` of its `incomplete_details`.
        has_tool_calls: Whether it holds a call, which this format tells by its items alone.
    """
    if status == "incomplete":
        return _word(_RESPONSES_INCOMPLETE, reason)
    if status not in (None, "completed"):
        return FinishReason.OTHER
    return FinishReason.TOOL_CALLS if has_tool_calls else FinishReason.STOP


def messages_finish_reason(value: object) -> FinishReason:
    """Read a message's `stop_reason`."""
    return _word(_MESSAGES, value)


def _word(words: dict[str, FinishReason], value: object) -> FinishReason:
    return words.get(value, FinishReason.OTHER) if isinstance(value, str) else FinishReason.OTHER
