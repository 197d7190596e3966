"""`/v1/responses` as the scripted server writes it."""

from __future__ import annotations

import pytest

from tests.testing.reading import RESPONSES, body_of, events_of
from tramapy.messages import FinishReason, ModelResponse, TokenUsage, ToolCall

FULL = ModelResponse(
    content="one two",
    tool_calls=(ToolCall(id="c1", name="search", arguments_json='{"q": "x"}'),),
    refusal="no way",
    reasoning="hm so",
    usage=TokenUsage(
        input_tokens=11, output_tokens=7, reasoning_tokens=3, cache_read_tokens=2, cache_write_tokens=1
    ),
)
TEXT = {"type": "output_text", "text": "one two", "annotations": [], "logprobs": []}
ITEMS = [
    {"id": "rs_000001", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm so"}]},
    {
        "id": "msg_000001",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [TEXT, {"type": "refusal", "refusal": "no way"}],
    },
    {
        "id": "fc_000001_0",
        "type": "function_call",
        "status": "completed",
        "call_id": "c1",
        "name": "search",
        "arguments": '{"q": "x"}',
    },
]


def test_answer_with_everything() -> None:
    body = body_of(FULL, RESPONSES)

    assert body["output"] == ITEMS
    assert body["usage"] == {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 18,
    }
    assert (body["id"], body["created_at"], body["status"]) == ("resp_000001", 1_700_000_001, "completed")


def test_refusal_alone_is_a_message() -> None:
    (item,) = body_of(ModelResponse(refusal="no"), RESPONSES)["output"]

    assert item["content"] == [{"type": "refusal", "refusal": "no"}]


def test_calls_alone_need_no_message() -> None:
    (item,) = body_of(FULL.replace(content="", refusal=None, reasoning=None), RESPONSES)["output"]

    assert item == ITEMS[2]


def test_unknown_usage_is_null() -> None:
    assert body_of(ModelResponse(content="x"), RESPONSES)["usage"] is None


@pytest.mark.parametrize(
    ("reason", "detail"),
    [(FinishReason.LENGTH, "max_output_tokens"), (FinishReason.CONTENT_FILTER, "content_filter")],
    ids=["length", "filter"],
)
def test_answer_that_was_stopped_is_incomplete(reason: FinishReason, detail: str) -> None:
    answer = ModelResponse(content="x", finish_reason=reason)
    body = body_of(answer, RESPONSES)

    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": detail})
    assert body["output"][0]["status"] == "incomplete"
    assert events_of(answer, RESPONSES)[-1]["type"] == "response.incomplete"


def test_stream_tells_each_text_three_times() -> None:
    events = events_of(FULL, RESPONSES)

    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "content_part.added",
        "refusal.delta",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    for suffix in ("output_text", "refusal", "function_call_arguments", "reasoning_summary_text"):
        deltas = [event["delta"] for event in events if event["type"] == f"response.{suffix}.delta"]
        (done,) = [event for event in events if event["type"] == f"response.{suffix}.done"]
        assert "".join(deltas) in done.values()
    assert events[-1]["response"]["output"] == ITEMS
    assert events[-1]["response"] == body_of(FULL, RESPONSES)


def test_items_are_announced_empty() -> None:
    added = [
        event["item"] for event in events_of(FULL, RESPONSES) if event["type"] == "response.output_item.added"
    ]

    assert [item.get("summary", item.get("content", item.get("arguments"))) for item in added] == [[], [], ""]
    assert events_of(FULL, RESPONSES)[0]["response"]["output"] == []
