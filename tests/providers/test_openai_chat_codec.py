"""The chat format: every part of a request, and answers of the many servers that speak it."""

from __future__ import annotations

import json

import pytest

from tramapy.errors import ProviderError
from tramapy.messages import (
    FinishReason,
    ImageDetail,
    ImagePart,
    Message,
    ModelRequest,
    ModelResponse,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.openai_chat_codec import decode_response, encode_request

CALL = ToolCall(id="c1", name="search", arguments_json='{"q":  1}')


def encoded(*messages: Message, **fields: object) -> dict[str, object]:
    return encode_request(ModelRequest(model="m", messages=messages, **fields), is_stream=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Message.system("s"), {"role": "system", "content": "s"}),
        (Message.user("u"), {"role": "user", "content": "u"}),
        (Message.assistant("a"), {"role": "assistant", "content": "a"}),
        (Message.assistant(), {"role": "assistant", "content": ""}),
        (
            Message.tool("t", tool_call_id="c1", tool_name="search"),
            {"role": "tool", "content": "t", "tool_call_id": "c1"},
        ),
        (
            Message.assistant("a", tool_calls=[CALL]),
            {
                "role": "assistant",
                "content": "a",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"q":  1}'},
                    }
                ],
            },
        ),
        (
            Message.user([TextPart("a"), ImagePart(url="http://127.0.0.1/i.png", detail=ImageDetail.HIGH)]),
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {
                        "type": "image_url",
                        "image_url": {"url": "http://127.0.0.1/i.png", "detail": "high"},
                    },
                ],
            },
        ),
        (
            Message.user([ImagePart(data=b"\x00\xff", mime_type="image/png")]),
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AP8="}}],
            },
        ),
    ],
    ids=["system", "user", "assistant", "empty", "tool", "tool-calls", "image-address", "image-data"],
)
def test_message_is_written(message: Message, written: dict[str, object]) -> None:
    assert encoded(message)["messages"] == [written]


def test_tool_calls_without_text_have_no_content() -> None:
    (message,) = encoded(Message.assistant(tool_calls=[CALL]))["messages"]  # type: ignore[misc]

    assert message["content"] is None


def test_options_are_left_out_where_they_are_none() -> None:
    assert encoded(Message.user("u")).keys() == {"model", "messages"}


def test_options_are_written_under_the_names_of_the_format() -> None:
    tools = [ToolDefinition(name="search", description="finds"), ToolDefinition(name="stop")]
    fields = encoded(
        Message.user("u"), tools=tools, temperature=0.0, top_p=0.5, max_output_tokens=7, timeout_s=9.0
    )

    schema = {"type": "object", "properties": {}}
    assert fields.items() >= {"temperature": 0.0, "top_p": 0.5, "max_completion_tokens": 7}.items()
    assert fields["tools"] == [
        {"type": "function", "function": {"name": "search", "description": "finds", "parameters": schema}},
        {"type": "function", "function": {"name": "stop", "parameters": schema}},
    ]
    assert "timeout_s" not in fields


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        ([Message.system("s"), Message.user("u")], ["s", "more", "u"]),
        ([Message.user("u"), Message.system("s")], ["more", "u", "s"]),
        ([Message.system("s")], ["s", "more"]),
        ([], ["more"]),
    ],
    ids=["behind-the-system-prompt", "first", "last", "alone"],
)
def test_instructions_stand_behind_the_system_prompt(messages: list[Message], written: list[str]) -> None:
    fields = encoded(*messages, instructions="more")

    assert [message["content"] for message in fields["messages"]] == written  # type: ignore[attr-defined]


def test_stream_asks_for_usage() -> None:
    fields = encode_request(ModelRequest(model="m", messages=()), is_stream=True)

    assert (fields["stream"], fields["stream_options"]) == (True, {"include_usage": True})


def test_fields_are_json() -> None:
    json.dumps(encoded(Message.assistant("a", tool_calls=[CALL]), tools=[ToolDefinition(name="x")]))


def decoded(message: object, **body: object) -> ModelResponse:
    return decode_response({"choices": [{"message": message, "finish_reason": "stop"}], **body})


@pytest.mark.parametrize(
    ("message", "response"),
    [
        ({"content": "x"}, ModelResponse(content="x")),
        ({"content": None, "refusal": "no"}, ModelResponse(refusal="no")),
        (
            {"content": [{"type": "text", "text": "a"}, {"text": "b"}, {"x": 1}]},
            ModelResponse(content="ab"),
        ),
        ({"content": "x", "reasoning_content": "r"}, ModelResponse(content="x", reasoning="r")),
        ({"content": "x", "reasoning": "r"}, ModelResponse(content="x", reasoning="r")),
        (
            {"content": "x", "reasoning_content": "", "reasoning": "r"},
            ModelResponse(content="x", reasoning=""),
        ),
        (
            {"tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": '{"q":  1}'}}]},
            ModelResponse(tool_calls=(CALL,)),
        ),
        (
            {"tool_calls": [{"function": {"name": "search", "arguments": {"q": 1}}}]},
            ModelResponse(tool_calls=(ToolCall(id="", name="search", arguments_json='{"q": 1}'),)),
        ),
        (
            {"tool_calls": [{"id": "c1", "function": {"name": "search"}}]},
            ModelResponse(tool_calls=(ToolCall(id="c1", name="search", arguments_json=""),)),
        ),
    ],
    ids=[
        "text",
        "refusal",
        "parts",
        "reasoning",
        "reasoning-by-its-other-name",
        "empty-reasoning",
        "tool-call",
        "arguments-as-an-object",
        "no-arguments",
    ],
)
def test_message_is_read(message: dict[str, object], response: ModelResponse) -> None:
    assert decoded(message) == response


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, TokenUsage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, TokenUsage(input_tokens=0, output_tokens=0)),
        ({"prompt_tokens": 3}, TokenUsage(input_tokens=3)),
        ({"prompt_tokens": -1, "completion_tokens": "7"}, TokenUsage()),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            TokenUsage(
                input_tokens=9,
                output_tokens=8,
                reasoning_tokens=4,
                cache_read_tokens=5,
                cache_write_tokens=2,
            ),
        ),
        ({"prompt_tokens_details": None, "completion_tokens_details": []}, TokenUsage()),
    ],
    ids=["none", "zero", "some", "garbage", "all", "no-details"],
)
def test_missing_count_is_none_and_never_zero(usage: object, expected: TokenUsage) -> None:
    assert decoded({"content": "x"}, usage=usage).usage == expected


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("function_call", FinishReason.TOOL_CALLS),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("something", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
    ids=str,
)
def test_finish_reason_is_read(written: object, reason: FinishReason) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": written}]}

    assert decode_response(body).finish_reason is reason


def test_id_and_model_are_read_where_they_are_text() -> None:
    response = decoded({"content": "x"}, id="r1", model=7)

    assert (response.response_id, response.model) == ("r1", None)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "has no message"),
        ({"choices": []}, "has no message"),
        ({"choices": [{}]}, "has no message"),
        ({"choices": [{"message": {}}]}, "has no message"),
        ({"choices": [{"message": {"tool_calls": [{"id": "c"}]}}]}, "has a tool call without a name"),
        ({"error": "secret"}, "answered with an error"),
    ],
    ids=["empty", "no-choice", "no-message", "empty-message", "nameless-call", "error"],
)
def test_unreadable_answer_is_an_error_without_its_words(body: dict[str, object], problem: str) -> None:
    with pytest.raises(ProviderError, match=problem) as caught:
        decode_response(body)

    assert "secret" not in str(caught.value)
