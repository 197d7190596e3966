"""`/v1/messages` as the scripted server writes it."""

from __future__ import annotations

import pytest

from tests.testing.reading import MESSAGES, body_of, events_of
from tramapy.messages import FinishReason, ModelResponse, TokenUsage, ToolCall

FULL = ModelResponse(
    content="one two",
    tool_calls=(ToolCall(id="c1", name="search", arguments_json='{"q": "x"}'),),
    reasoning="hm so",
    usage=TokenUsage(input_tokens=11, output_tokens=7, cache_read_tokens=2, cache_write_tokens=1),
)
BLOCKS = [
    {"type": "thinking", "thinking": "hm so", "signature": "scripted-signature"},
    {"type": "text", "text": "one two", "citations": None},
    {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "x"}},
]


def test_answer_with_everything() -> None:
    assert body_of(FULL, MESSAGES) == {
        "id": "msg_000001",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": BLOCKS,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 8,
            "output_tokens": 7,
            "cache_read_input_tokens": 2,
            "cache_creation_input_tokens": 1,
        },
    }


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [
        (FinishReason.STOP, "end_turn"),
        (FinishReason.LENGTH, "max_tokens"),
        (FinishReason.TOOL_CALLS, "tool_use"),
        (FinishReason.CONTENT_FILTER, "refusal"),
        (FinishReason.OTHER, "pause_turn"),
    ],
    ids=lambda value: str(value),
)
def test_stop_reason_has_the_name_of_the_format(reason: FinishReason, stop_reason: str) -> None:
    answer = ModelResponse(content="x", finish_reason=reason)

    assert body_of(answer, MESSAGES)["stop_reason"] == stop_reason


def test_refusal_is_text_with_its_stop_reason() -> None:
    body = body_of(ModelResponse(refusal="no"), MESSAGES)

    assert (body["content"][0]["text"], body["stop_reason"]) == ("no", "refusal")


def test_unknown_usage_is_zero() -> None:
    usage = body_of(ModelResponse(content="x"), MESSAGES)["usage"]

    assert usage == {"input_tokens": 0, "output_tokens": 0}


def test_stream_with_everything() -> None:
    events = events_of(FULL, MESSAGES)

    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["usage"]["output_tokens"] == 0
    assert events[-2]["usage"] == {"output_tokens": 7}
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def test_deltas_add_up_to_the_blocks() -> None:
    deltas = [event["delta"] for event in events_of(FULL, MESSAGES) if event["type"] == "content_block_delta"]

    def joined(key: str) -> str:
        return "".join(delta[key] for delta in deltas if key in delta)

    assert (joined("thinking"), joined("signature")) == ("hm so", "scripted-signature")
    assert (joined("text"), joined("partial_json")) == ("one two", '{"q": "x"}')


def test_blocks_are_announced_empty() -> None:
    blocks = [
        event["content_block"]
        for event in events_of(FULL, MESSAGES)
        if event["type"] == "content_block_start"
    ]

    assert [block.get("thinking", block.get("text", block.get("input"))) for block in blocks] == ["", "", {}]
