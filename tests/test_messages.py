"""Messages, responses and requests: invariants, copies, and a repr without text."""

from __future__ import annotations

import dataclasses

import pytest

from tramapy import (
    CompletedChunk,
    ImagePart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextChunk,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
)

CANARY = "kv-9731-canary"
CALL = ToolCall(id="c1", name="lookup", arguments_json=f'{{"q": "{CANARY}"}}')


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (Message.system("x"), MessageRole.SYSTEM),
        (Message.user("x"), MessageRole.USER),
        (Message.assistant("x", tool_calls=[CALL]), MessageRole.ASSISTANT),
        (Message.tool("x", tool_call_id="c1"), MessageRole.TOOL),
        (Message.user([TextPart("x")]), MessageRole.USER),
    ],
)
def test_factories_set_the_role(message: Message, role: MessageRole) -> None:
    assert message.role is role


@pytest.mark.parametrize("parts", [[], [TextPart("y")]], ids=["empty", "one"])
def test_content_and_parts_exclude_each_other(parts: list) -> None:
    with pytest.raises(ValueError, match="not both"):
        Message(role=MessageRole.USER, content="x", content_parts=parts)
    with pytest.raises(ValueError, match="not both"):
        ModelResponse(content="x", content_parts=parts)
    assert Message(role=MessageRole.USER, content=" \n", content_parts=parts).content_parts == tuple(parts)
    assert ModelResponse(content_parts=parts).content_parts == tuple(parts)


def test_content_takes_text_only() -> None:
    with pytest.raises(TypeError, match=r"Message\.content takes a str, not int"):
        Message(role=MessageRole.USER, content=5)
    with pytest.raises(TypeError, match=r"ModelResponse\.content takes a str, not NoneType"):
        ModelResponse(content=None)


def test_an_image_is_inline_or_by_address_and_copied() -> None:
    data = bytearray(b"png")
    part = ImagePart(data=data, mime_type="image/png")
    data[0] = 0
    assert part.data == b"png"
    assert Message.user([part]).has_image
    assert Message.user([ImagePart(url="https://example.com/a.png")]).has_image
    assert not Message.user([TextPart("x")]).has_image
    assert not Message.user("x").has_image


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="neither"),
        pytest.param({"data": b"x", "mime_type": "image/png", "url": "https://example.com"}, id="both"),
        pytest.param({"data": b"", "mime_type": "image/png"}, id="empty"),
        pytest.param({"data": b"x"}, id="no-type"),
    ],
)
def test_an_image_that_cannot_be_is_refused(fields: dict) -> None:
    with pytest.raises(ValueError, match="ImagePart"):
        ImagePart(**fields)


def test_replace_returns_a_changed_copy() -> None:
    message = Message.assistant("x", tool_calls=[CALL])
    assert message.replace(content="y") == Message.assistant("y", tool_calls=[CALL])
    assert message.replace(tool_calls=[]).tool_calls == ()
    assert message.content == "x"
    response = ModelResponse(content="x")
    assert response.replace(content="y", refusal="no").refusal == "no"
    request = ModelRequest(model="m", messages=[message])
    assert request.replace(messages=[]).messages == ()
    assert CALL.replace(arguments_json="{}").arguments_json == "{}"


def test_values_are_frozen_and_hold_tuples() -> None:
    message = Message.assistant("x", tool_calls=[CALL])
    assert message.tool_calls == (CALL,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.content = "y"
    assert isinstance(
        ModelRequest(model="m", messages=[message], tools=[ToolDefinition(name="t")]).tools, tuple
    )


def test_total_tokens_need_both_counts() -> None:
    assert TokenUsage(input_tokens=2, output_tokens=3).total_tokens == 5
    assert TokenUsage(input_tokens=2).total_tokens is None
    assert TokenUsage(output_tokens=2).total_tokens is None


@pytest.mark.parametrize(
    "value",
    [
        TextPart(CANARY),
        ImagePart(data=CANARY.encode(), mime_type="image/png"),
        ImagePart(url=f"https://example.com/{CANARY}"),
        CALL,
        ToolDefinition(name="t", description=CANARY),
        Message.user(CANARY),
        Message.user([TextPart(CANARY)]),
        Message.assistant(CANARY, tool_calls=[CALL]),
        ModelResponse(content=CANARY, refusal=CANARY, reasoning=CANARY, tool_calls=[CALL]),
        ModelRequest(model="m", messages=[Message.user(CANARY)], instructions=CANARY),
        TextChunk(CANARY),
        ToolCallChunk(CALL),
        CompletedChunk(ModelResponse(content=CANARY)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_repr_shows_sizes_and_never_text(value: object) -> None:
    assert CANARY not in repr(value)
    assert CANARY not in repr([value])
    assert type(value).__name__ in repr(value)


@pytest.mark.parametrize("count", [1.0, True, "3"])
def test_a_token_count_is_an_int_or_none(count: object) -> None:
    with pytest.raises(TypeError, match=r"TokenUsage\.input_tokens takes an int or None"):
        TokenUsage(input_tokens=count)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Message.user([CANARY]), id="text-for-part"),
        pytest.param(lambda: Message.user([{"type": "text", "text": CANARY}]), id="dict-for-part"),
        pytest.param(lambda: Message(role="tool", content=CANARY), id="text-for-role"),
        pytest.param(lambda: Message(role=MessageRole.USER, content_parts=CANARY), id="text-for-parts"),
        pytest.param(lambda: Message(role=MessageRole.TOOL, content="x", tool_name=5), id="tool-name"),
        pytest.param(lambda: Message.assistant("x", tool_calls=[{"name": CANARY}]), id="dict-for-call"),
        pytest.param(lambda: ModelResponse(content_parts=[CANARY]), id="response-part"),
        pytest.param(lambda: ModelResponse(refusal=[CANARY]), id="refusal"),
        pytest.param(lambda: ModelResponse(reasoning={"a": CANARY}), id="reasoning"),
        pytest.param(lambda: ModelResponse(model=[CANARY]), id="model"),
        pytest.param(lambda: ModelResponse(response_id=5), id="response-id"),
        pytest.param(lambda: ModelResponse(usage=None), id="usage"),
        pytest.param(lambda: ModelResponse(finish_reason="stop"), id="finish-reason"),
        pytest.param(lambda: ModelResponse(tool_calls=[{"name": CANARY}]), id="response-call"),
        pytest.param(lambda: TextPart(None), id="part"),
        pytest.param(lambda: ToolCall(id=None, name="x", arguments_json="{}"), id="call-id"),
        pytest.param(lambda: ToolCall(id="1", name="x", arguments_json={"a": CANARY}), id="arguments"),
        pytest.param(lambda: ToolDefinition(name=None), id="definition"),
        pytest.param(lambda: ToolDefinition(name="x", input_schema=CANARY), id="schema"),
        pytest.param(lambda: ImagePart(data=10, mime_type="image/png"), id="image"),
        pytest.param(lambda: ImagePart(url=5), id="url"),
    ],
)
def test_a_slot_of_the_wrong_type_is_refused_without_its_text(make) -> None:
    with pytest.raises(TypeError, match=r"takes|is of type") as caught:
        make()
    assert CANARY not in str(caught.value)
