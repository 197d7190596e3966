"""Messages that are built fast."""

import dataclasses

from tramapy.clients.message_drafts import text_message
from tramapy.clients.rewriting import Origin
from tramapy.messages import Message, MessageRole


def test_it_is_what_the_constructor_makes() -> None:
    origin = Origin(object(), 0)
    made = text_message(MessageRole.USER, "a", origin)
    expected = Message(role=MessageRole.USER, content="a", origin=origin)
    assert type(made) is Message
    assert [getattr(made, field.name) for field in dataclasses.fields(Message)] == [
        getattr(expected, field.name) for field in dataclasses.fields(Message)
    ]
    assert made == expected
    assert repr(made) == repr(expected)
