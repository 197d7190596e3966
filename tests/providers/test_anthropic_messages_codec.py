"""The messages format: every part of a request, and plain answers, odd ones too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode
from tramapy.messages import (
    FinishReason,
    ImagePart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.anthropic_messages_codec import decode_response, encode_request

CALL = ToolCall(id="c1", name="search", arguments_json='{"q":  1}')
USE = {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": 1}}
IMAGE = ImagePart(data=b"\x00\xff", mime_type="image/png")
IMAGE_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AP8="}}


def encoded(*messages: Message, **fields: Any) -> dict[str, Any]:
    request = ModelRequest(model="m", messages=messages, **fields)
    return encode_request(request, is_stream=False, default_max_output_tokens=99)


def text(value: object) -> dict[str, object]:
    return {"type": "text", "text": value}


def result(call_id: str, *content: object) -> dict[str, object]:
    found: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id}
    return {**found, "content": [*content]} if content else found


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Message.user("u"), [{"role": "user", "content": [text("u")]}]),
        (Message.user(" \n"), []),
        (Message.assistant("a"), [{"role": "assistant", "content": [text("a")]}]),
        (Message.assistant(), []),
        (
            Message.assistant("a", tool_calls=[CALL]),
            [{"role": "assistant", "content": [text("a"), USE]}],
        ),
        (Message.assistant(tool_calls=[CALL]), [{"role": "assistant", "content": [USE]}]),
        (
            Message.tool("t", tool_call_id="c1", tool_name="search"),
            [{"role": "user", "content": [result("c1", text("t"))]}],
        ),
        (Message.tool("", tool_call_id="c1"), [{"role": "user", "content": [result("c1")]}]),
        (
            Message.tool("", tool_call_id="c1").replace(content_parts=[TextPart("t"), IMAGE]),
            [{"role": "user", "content": [result("c1", text("t"), IMAGE_BLOCK)]}],
        ),
        (
            Message.user([TextPart(""), TextPart("a"), IMAGE]),
            [{"role": "user", "content": [text("a"), IMAGE_BLOCK]}],
        ),
        (
            Message.user([ImagePart(url="http://127.0.0.1/i.png")]),
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/i.png"}}
                    ],
                }
            ],
        ),
        (
            Message.user([ImagePart(url="data:image/png;base64,AP8=")]),
            [{"role": "user", "content": [IMAGE_BLOCK]}],
        ),
    ],
    ids=[
        "user",
        "blank",
        "assistant",
        "empty",
        "text-and-call",
        "call",
        "tool",
        "empty-tool",
        "tool-parts",
        "image-data",
        "image-address",
        "data-url",
    ],
)
def test_message_is_written(message: Message, written: list[dict[str, object]]) -> None:
    assert encoded(message)["messages"] == written


def test_turns_alternate_and_results_stand_together() -> None:
    other = ToolCall(id="c2", name="stop", arguments_json="{}")
    turns = encoded(
        Message.user("a"),
        Message.user("b"),
        Message.assistant(tool_calls=[CALL, other]),
        Message.tool("1", tool_call_id="c1"),
        Message.tool("2", tool_call_id="c2"),
        Message.user("c"),
    )["messages"]

    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[0]["content"] == [text("a"), text("b")]
    assert turns[2]["content"] == [result("c1", text("1")), result("c2", text("2")), text("c")]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ("", {}),
        (" ", {}),
        ("{}", {}),
        ('{"a": "ä"}', {"a": "ä"}),
        ("{broken", {"arguments_json": "{broken"}),
        ("[1]", {"arguments_json": "[1]"}),
        ("null", {"arguments_json": "null"}),
        ('{"a": NaN}', {"arguments_json": '{"a": NaN}'}),
        ('{"a": 1e999}', {"arguments_json": '{"a": 1e999}'}),
        ('{"a": "\\ud800"}', {"arguments_json": '{"a": "\\ud800"}'}),
    ],
    ids=["empty", "blank", "none", "object", "broken", "array", "null", "nan", "infinite", "surrogate"],
)
def test_arguments_in_the_history_are_an_object(arguments: str, written: dict[str, object]) -> None:
    call = ToolCall(id="c1", name="search", arguments_json=arguments)
    [turn] = encoded(Message.assistant(tool_calls=[call]))["messages"]

    assert turn["content"][0]["input"] == written


def test_arguments_that_nest_without_end_are_text() -> None:
    endless = "[" * 200_000
    call = ToolCall(id="c1", name="search", arguments_json=endless)
    [turn] = encoded(Message.assistant(tool_calls=[call]))["messages"]

    assert turn["content"][0]["input"] == {"arguments_json": endless}


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        ([Message.system("s"), Message.user("u")], ["s", "more"]),
        ([Message.user("u"), Message.system("s")], ["s", "more"]),
        (
            [Message.system("s"), Message.system(" "), Message.user("u"), Message.system("t")],
            ["s", "t", "more"],
        ),
        ([Message(role=MessageRole.SYSTEM, content_parts=(TextPart("a"), TextPart("b")))], ["ab", "more"]),
        ([], ["more"]),
    ],
    ids=["first", "last", "several", "parts", "alone"],
)
def test_system_prompt_stands_apart_with_the_instructions_behind(
    messages: list[Message], written: list[str]
) -> None:
    fields = encoded(*messages, instructions="more")

    assert fields["system"] == [text(value) for value in written]
    assert all(turn["role"] == "user" for turn in fields["messages"])


def test_options_are_left_out_where_they_are_none() -> None:
    fields = encoded(Message.user("u"))

    assert fields.keys() == {"model", "messages", "max_tokens"}
    assert fields["max_tokens"] == 99


def test_options_are_written_under_the_names_of_the_format() -> None:
    fields = encoded(
        Message.user("u"),
        tools=[ToolDefinition(name="search", description="finds"), ToolDefinition(name="stop")],
        temperature=0.0,
        top_p=0.5,
        max_output_tokens=7,
        timeout_s=9.0,
    )

    schema = {"type": "object", "properties": {}}
    assert fields == {
        "model": "m",
        "max_tokens": 7,
        "messages": [{"role": "user", "content": [text("u")]}],
        "tools": [
            {"name": "search", "description": "finds", "input_schema": schema},
            {"name": "stop", "input_schema": schema},
        ],
        "temperature": 0.0,
        "top_p": 0.5,
    }
    json.dumps(fields)


@pytest.mark.parametrize("role", [MessageRole.SYSTEM, MessageRole.ASSISTANT])
def test_image_in_another_place_is_the_callers_mistake(role: MessageRole) -> None:
    message = Message(role=role, content_parts=(IMAGE,))
    with pytest.raises(ConfigurationError, match=rf"messages\[0\] is of role {role.name} and has an image"):
        encoded(message)


def decoded(*content: object, **body: object) -> ModelResponse:
    return decode_response({"type": "message", "content": [*content], "stop_reason": "end_turn", **body})


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ([], ModelResponse()),
        ([text("a"), text("b")], ModelResponse(content="ab")),
        ([{"type": "thinking", "thinking": "h", "signature": "s"}, text("a")], ("a", "h")),
        ([{"type": "thinking", "thinking": "h"}, {"type": "thinking", "thinking": "m"}], ("", "h\n\nm")),
        ([{"type": "redacted_thinking", "data": "x"}, {"type": "new", "text": 7}], ModelResponse()),
        (
            [{**USE, "input": {"q": "ä"}}],
            ModelResponse(tool_calls=(CALL.replace(arguments_json='{"q": "ä"}'),)),
        ),
        ([{**USE, "input": None}], ModelResponse(tool_calls=(CALL.replace(arguments_json="{}"),))),
        (
            [{"type": "tool_use", "name": "stop"}],
            ModelResponse(tool_calls=(ToolCall(id="", name="stop", arguments_json="{}"),)),
        ),
    ],
    ids=["nothing", "texts", "thinking", "thoughts", "other-kinds", "call", "no-input", "no-id"],
)
def test_content_is_read(content: list[object], response: ModelResponse | tuple[str, str]) -> None:
    if isinstance(response, tuple):
        response = ModelResponse(content=response[0], reasoning=response[1])
    assert decoded(*content) == response


def test_refusal_is_a_reason_with_an_explanation() -> None:
    response = decoded(
        text("half"), stop_reason="refusal", stop_details={"type": "refusal", "explanation": "not this"}
    )

    assert (response.content, response.refusal) == ("half", "not this")
    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert decoded(stop_reason="refusal", stop_details=None).refusal is None


def test_id_and_model_are_read_where_they_are_text() -> None:
    response = decoded(id="r1", model=7)

    assert (response.response_id, response.model) == ("r1", None)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        *[
            (value, "has content that is no list of blocks")
            for value in (None, 5, "x", {"type": "text"}, [5], [None], ["x"])
        ],
        *[([text(value)], "has content that is no text") for value in (None, 5, {}, ["x"])],
        *[
            ([{"type": "thinking", "thinking": value}], "has reasoning that is no text")
            for value in (None, 5, [])
        ],
        *[([{**USE, "name": value}], "has a tool call without a name") for value in (None, "", 5, [])],
        *[([{**USE, "input": value}], "has arguments that are no object") for value in (5, "x", [], False)],
    ],
)
def test_a_part_of_the_wrong_type_is_an_invalid_answer(content: object, complaint: str) -> None:
    with pytest.raises(ProviderError, match=f"^The provider's answer {complaint}.$") as caught:
        decode_response({"content": content})
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert (caught.value.counts_on_breaker, caught.value.retryable) == (True, False)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "secret"}}, 529),
        ({"error": {"type": "rate_limit_error"}}, 429),
        ({"type": "error"}, 500),
        ({"type": "error", "error": "secret"}, 500),
    ],
    ids=["overloaded", "limit", "bare", "words"],
)
def test_error_as_an_answer_goes_by_its_type(body: dict[str, object], status: int) -> None:
    with pytest.raises(ProviderError, match="answered with an error") as caught:
        decode_response(body)
    assert (caught.value.status_code, caught.value.retryable) == (status, True)
    assert "secret" not in str(caught.value)
