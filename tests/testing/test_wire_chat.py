"""`/v1/chat/completions` as the scripted server writes it."""

from __future__ import annotations

import pytest

from tests.testing.reading import body_of, events_of
from tramapy.messages import FinishReason, ImagePart, ModelResponse, TextPart, TokenUsage, ToolCall

FULL = ModelResponse(
    content="one two",
    tool_calls=(ToolCall(id="c1", name="search", arguments_json='{"q": "x"}'),),
    reasoning="hm so",
    usage=TokenUsage(
        input_tokens=11, output_tokens=7, reasoning_tokens=3, cache_read_tokens=2, cache_write_tokens=1
    ),
)
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}


def test_text_answer() -> None:
    assert body_of("one two") == {
        "id": "chatcmpl-000001",
        "object": "chat.completion",
        "created": 1_700_000_001,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "one two"},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


def test_answer_with_everything() -> None:
    body = body_of(FULL)

    assert body["choices"][0]["message"] == {
        "role": "assistant",
        "content": "one two",
        "reasoning_content": "hm so",
        "tool_calls": [CALL],
    }
    assert (body["choices"][0]["finish_reason"], body["usage"]) == ("tool_calls", USAGE)


def test_answer_without_text_says_so() -> None:
    body = body_of(ModelResponse(refusal="no"))

    assert body["choices"][0]["message"] == {"role": "assistant", "refusal": "no", "content": None}


def test_unknown_usage_is_left_out() -> None:
    assert "usage" not in body_of(ModelResponse(content="x"))


def test_id_and_model_of_the_answer_are_kept() -> None:
    body = body_of(ModelResponse(content="x", response_id="r1", model="m-2026"))

    assert (body["id"], body["model"]) == ("r1", "m-2026")


def test_parts_are_written_as_their_text() -> None:
    parts = (TextPart("a"), ImagePart(url="http://127.0.0.1/i.png"), TextPart("b"))

    assert body_of(ModelResponse(content_parts=parts))["choices"][0]["message"]["content"] == "ab"


@pytest.mark.parametrize("reason", FinishReason, ids=lambda reason: reason.name)
def test_finish_reason_has_the_name_of_the_format(reason: FinishReason) -> None:
    body = body_of(ModelResponse(content="x", finish_reason=reason))

    assert body["choices"][0]["finish_reason"] == reason.value


def test_stream_with_everything() -> None:
    events = events_of(FULL, stream_options={"include_usage": True})

    assert events.pop() == "[DONE]"
    assert events.pop()["usage"] == USAGE
    choices = [event["choices"][0] for event in events]
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm "},
        {"reasoning_content": "so"},
        {"content": "one "},
        {"content": "two"},
        {"tool_calls": [{"index": 0, **CALL, "function": {"name": "search", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"q": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 8 + ["tool_calls"]
    assert {event["id"] for event in events} == {"chatcmpl-000001"}
    assert {event["object"] for event in events} == {"chat.completion.chunk"}


def test_refusal_is_streamed() -> None:
    deltas = [
        event["choices"][0]["delta"]
        for event in events_of(ModelResponse(refusal="no way"))
        if event != "[DONE]"
    ]

    assert deltas[1:3] == [{"refusal": "no "}, {"refusal": "way"}]


@pytest.mark.parametrize(
    "options", [{}, {"stream_options": {"include_usage": False}}, {"stream_options": None}], ids=str
)
def test_usage_is_streamed_only_where_it_is_asked_for(options: dict[str, object]) -> None:
    assert all("usage" not in event for event in events_of(FULL, **options))


def test_unknown_usage_is_not_streamed() -> None:
    events = events_of(ModelResponse(content="x"), stream_options={"include_usage": True})

    assert all("usage" not in event for event in events)
