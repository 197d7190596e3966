"""What the three wire formats share."""

from __future__ import annotations

from typing import Final

from tramapy.messages import FinishReason, ModelResponse, TextPart

__all__ = ["CREATED_AT", "finish_reason_of", "text_of", "without_none"]

CREATED_AT: Final = 1_700_000_000
"""The time of request 0; each later one is a second younger."""


def text_of(response: ModelResponse) -> str:
    """Return a response's text, whether it stands in `content` or in parts."""
    if response.content_parts is None:
        return response.content
    return "".join(part.text for part in response.content_parts if isinstance(part, TextPart))


def finish_reason_of(response: ModelResponse) -> FinishReason:
    """Return the finish reason, which is TOOL_CALLS where an answer with tool calls gives the default."""
    if response.tool_calls and response.finish_reason is FinishReason.STOP:
        return FinishReason.TOOL_CALLS
    return response.finish_reason


def without_none(**fields: object) -> dict[str, object]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
