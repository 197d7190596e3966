"""The responses format: every part of a request, and whole answers, odd ones too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode
from tramapy.messages import (
    FinishReason,
    ImageDetail,
    ImagePart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.openai_responses_codec import decode_response, encode_request

CALL = ToolCall(id="c1", name="search", arguments_json='{"q":  1}')
CALL_ITEM = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q":  1}'}
IMAGE = ImagePart(data=b"\x00\xff", mime_type="image/png")


def encoded(*messages: Message, **fields: Any) -> dict[str, Any]:
    return encode_request(ModelRequest(model="m", messages=messages, **fields), is_stream=False)


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Message.system("s"), [{"role": "system", "content": "s"}]),
        (Message.user("u"), [{"role": "user", "content": "u"}]),
        (Message.user(""), [{"role": "user", "content": ""}]),
        (Message.assistant("a"), [{"role": "assistant", "content": "a"}]),
        (Message.assistant(), []),
        (Message.assistant("a", tool_calls=[CALL]), [{"role": "assistant", "content": "a"}, CALL_ITEM]),
        (Message.assistant(tool_calls=[CALL]), [CALL_ITEM]),
        (
            Message.assistant().replace(content_parts=[TextPart("a"), TextPart("b")]),
            [{"role": "assistant", "content": "ab"}],
        ),
        (
            Message.tool("t", tool_call_id="c1", tool_name="search"),
            [{"type": "function_call_output", "call_id": "c1", "output": "t"}],
        ),
        (
            Message.tool("", tool_call_id="c1").replace(content_parts=[TextPart("t"), IMAGE]),
            [
                {
                    "type": "function_call_output",
                    "call_id": "c1",
                    "output": [
                        {"type": "input_text", "text": "t"},
                        {
                            "type": "input_image",
                            "image_url": "data:image/png;base64,AP8=",
                            "detail": "auto",
                        },
                    ],
                }
            ],
        ),
        (
            Message.user([TextPart("a"), ImagePart(url="http://127.0.0.1/i.png", detail=ImageDetail.HIGH)]),
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "a"},
                        {"type": "input_image", "image_url": "http://127.0.0.1/i.png", "detail": "high"},
                    ],
                }
            ],
        ),
    ],
    ids=[
        "system",
        "user",
        "empty-user",
        "assistant",
        "empty",
        "text-and-call",
        "call",
        "parts",
        "tool",
        "tool-parts",
        "image",
    ],
)
def test_message_is_written(message: Message, written: list[dict[str, object]]) -> None:
    assert encoded(message)["input"] == written


def test_options_are_left_out_where_they_are_none() -> None:
    assert encoded(Message.user("u")).keys() == {"model", "input", "store"}


def test_options_are_written_under_the_names_of_the_format() -> None:
    fields = encoded(
        Message.user("u"),
        tools=[ToolDefinition(name="search", description="finds"), ToolDefinition(name="stop")],
        temperature=0.0,
        top_p=0.5,
        max_output_tokens=7,
        instructions="more",
        timeout_s=9.0,
    )

    schema = {"type": "object", "properties": {}}
    assert fields == {
        "model": "m",
        "input": [{"role": "user", "content": "u"}],
        "instructions": "more",
        "tools": [
            {
                "type": "function",
                "name": "search",
                "description": "finds",
                "parameters": schema,
                "strict": False,
            },
            {"type": "function", "name": "stop", "parameters": schema, "strict": False},
        ],
        "temperature": 0.0,
        "top_p": 0.5,
        "max_output_tokens": 7,
        "store": False,
    }
    json.dumps(fields)


@pytest.mark.parametrize("role", [MessageRole.SYSTEM, MessageRole.ASSISTANT])
def test_image_in_another_place_is_the_callers_mistake(role: MessageRole) -> None:
    message = Message(role=role, content_parts=(IMAGE,))
    with pytest.raises(ConfigurationError, match=rf"messages\[1\] is of role {role.name} and has an image"):
        encoded(Message.user("u"), message)


def decoded(*output: object, **body: object) -> ModelResponse:
    return decode_response({"status": "completed", "output": [*output], **body})


def message_item(*parts: object) -> dict[str, object]:
    return {"type": "message", "content": [*parts]}


def text(value: object) -> dict[str, object]:
    return {"type": "output_text", "text": value}


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ([], ModelResponse()),
        ([message_item(text("a"), text("b")), message_item(text("c"))], ModelResponse(content="abc")),
        (
            [message_item(text("a"), {"type": "refusal", "refusal": "no"})],
            ModelResponse(content="a", refusal="no"),
        ),
        ([message_item({"type": "something", "text": 7}), {"type": "something_call"}], ModelResponse()),
        ([CALL_ITEM], ModelResponse(tool_calls=(CALL,), finish_reason=FinishReason.TOOL_CALLS)),
        (
            [{"type": "function_call", "id": "f1", "name": "stop"}],
            ModelResponse(
                tool_calls=(ToolCall(id="f1", name="stop", arguments_json=""),),
                finish_reason=FinishReason.TOOL_CALLS,
            ),
        ),
        (
            [{"type": "function_call", "name": "stop", "arguments": {"ä": 1}}],
            ModelResponse(
                tool_calls=(ToolCall(id="", name="stop", arguments_json='{"ä": 1}'),),
                finish_reason=FinishReason.TOOL_CALLS,
            ),
        ),
        (
            [{"type": "reasoning", "summary": [{"text": "one"}, {"text": "two"}], "content": None}],
            ModelResponse(reasoning="one\n\ntwo"),
        ),
        (
            [{"type": "reasoning", "summary": [{"text": "short"}], "content": [{"text": "long"}]}],
            ModelResponse(reasoning="long"),
        ),
        ([{"type": "reasoning", "summary": []}], ModelResponse()),
        ([{"type": "reasoning"}], ModelResponse()),
    ],
    ids=[
        "nothing",
        "texts",
        "refusal",
        "other-kinds",
        "call",
        "call-by-its-item-id",
        "arguments-as-an-object",
        "summary",
        "reasoning",
        "encrypted-reasoning",
        "bare-reasoning",
    ],
)
def test_output_is_read(output: list[object], response: ModelResponse) -> None:
    assert decoded(*output) == response


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "LENGTH"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "CONTENT_FILTER"),
        ({"status": "incomplete", "incomplete_details": None}, "OTHER"),
        ({"status": None}, "STOP"),
    ],
    ids=["length", "filter", "unknown", "none"],
)
def test_end_is_read(body: dict[str, object], reason: str) -> None:
    assert decoded(message_item(text("a")), **body).finish_reason is FinishReason[reason]


def test_id_and_model_are_read_where_they_are_text() -> None:
    response = decoded(id="r1", model=7)

    assert (response.response_id, response.model) == ("r1", None)


NO_LIST: list[object] = [None, 5, "x", {"type": "message"}, [5], [None], ["x"]]


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        *[(value, "has output that is no list of items") for value in NO_LIST],
        *[([{"type": "message", "content": value}], "has content that is no text") for value in NO_LIST],
        *[([message_item(text(value))], "has content that is no text") for value in (None, 5, {}, ["x"])],
        *[
            ([message_item({"type": "refusal", "refusal": value})], "has a refusal that is no text")
            for value in (None, 5, [])
        ],
        *[
            ([{"type": "reasoning", "summary": value}], "has reasoning that is no text")
            for value in (5, "x", [5], [{"text": 5}], [{}])
        ],
        *[
            ([{"type": "function_call", "name": value}], "has a tool call without a name")
            for value in (None, "", 5, [])
        ],
    ],
)
def test_a_part_of_the_wrong_type_is_an_invalid_answer(output: object, complaint: str) -> None:
    with pytest.raises(ProviderError, match=f"^The provider's answer {complaint}.$") as caught:
        decode_response({"status": "completed", "output": output})
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert (caught.value.counts_on_breaker, caught.value.retryable) == (True, False)


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled", "new", 7, []], ids=str)
def test_answer_that_did_not_end_is_invalid(status: object) -> None:
    with pytest.raises(ProviderError, match="has a status that is no end") as caught:
        decoded(status=status)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"code": "server_error"}, "HTTP_REJECTED", True),
        ({"code": "rate_limit_exceeded"}, "RATE_LIMITED", True),
        ({"code": "invalid_prompt"}, "HTTP_REJECTED", False),
        ({"code": "image_content_policy_violation"}, "CONTENT_FILTERED", False),
        (None, "HTTP_REJECTED", True),
    ],
    ids=["server", "limit", "prompt", "policy", "unknown"],
)
def test_failed_answer_goes_by_the_table(error: object, code: str, retryable: bool) -> None:
    with pytest.raises(ProviderError, match="answered with an error") as caught:
        decoded(status="failed", error=error)
    assert (caught.value.failure_code, caught.value.retryable) == (ProviderFailureCode[code], retryable)
