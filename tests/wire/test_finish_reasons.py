"""Finish reasons: each word of each format."""

from __future__ import annotations

import pytest

from tramapy.messages import FinishReason
from tramapy.wire.finish_reasons import (
    chat_finish_reason,
    messages_finish_reason,
    responses_finish_reason,
)


@pytest.mark.parametrize("word", [None, 7, ["stop"], {}, "something", ""], ids=repr)
def test_unknown_word_is_other(word: object) -> None:
    assert chat_finish_reason(word) is FinishReason.OTHER
    assert messages_finish_reason(word) is FinishReason.OTHER
    assert responses_finish_reason("incomplete", word, has_tool_calls=True) is FinishReason.OTHER


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("pause_turn", FinishReason.OTHER),
    ],
)
def test_stop_reason_of_a_message(word: str, reason: FinishReason) -> None:
    assert messages_finish_reason(word) is reason


@pytest.mark.parametrize(
    ("status", "has_tool_calls", "reason"),
    [
        ("completed", False, FinishReason.STOP),
        ("completed", True, FinishReason.TOOL_CALLS),
        (None, False, FinishReason.STOP),
        ("failed", True, FinishReason.OTHER),
        (["completed"], False, FinishReason.OTHER),
    ],
    ids=str,
)
def test_status_of_a_response(status: object, has_tool_calls: bool, reason: FinishReason) -> None:
    assert responses_finish_reason(status, None, has_tool_calls=has_tool_calls) is reason
