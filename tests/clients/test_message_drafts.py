"""Messages and responses that are built fast."""

import dataclasses

from tramapy.clients.message_drafts import text_message, text_response
from tramapy.clients.rewriting import Origin
from tramapy.messages import FinishReason, Message, MessageRole, ModelResponse, TokenUsage


def test_message_is_what_the_constructor_makes() -> None:
    origin = Origin(object(), 0)
    made = text_message(MessageRole.USER, "a", origin)
    expected = Message(role=MessageRole.USER, content="a", origin=origin)
    assert type(made) is Message
    assert [getattr(made, field.name) for field in dataclasses.fields(Message)] == [
        getattr(expected, field.name) for field in dataclasses.fields(Message)
    ]
    assert made == expected
    assert repr(made) == repr(expected)


def test_response_is_what_the_constructor_makes() -> None:
    usage = TokenUsage(input_tokens=1)
    made = text_response(
        "a",
        refusal="b",
        reasoning="c",
        usage=usage,
        model="m",
        finish_reason=FinishReason.LENGTH,
        response_id="r",
    )
    expected = ModelResponse(
        content="a",
        refusal="b",
        reasoning="c",
        usage=usage,
        model="m",
        finish_reason=FinishReason.LENGTH,
        response_id="r",
    )
    assert type(made) is ModelResponse
    assert [getattr(made, field.name) for field in dataclasses.fields(ModelResponse)] == [
        getattr(expected, field.name) for field in dataclasses.fields(ModelResponse)
    ]
    assert made == expected
    assert repr(made) == repr(expected)
