"""What is left of an event after its rest was written."""

import json
from typing import Any

import pytest

from tests.clients.plain_event import PlainEvent
from tramapy.clients.codec import JsonPiece, RestPiece, dumps
from tramapy.clients.plans import shown
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.sse import SseEvent

CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT


@pytest.mark.parametrize(
    "changed",
    [
        {"more": {"renamed": ["x"]}},
        {"more": {"secret": ["x"]}},
        {"more": {"secret": ["x", "y", "z"]}},
        {"more": "gone"},
    ],
    ids=["another name", "another text", "another length", "another type"],
)
def test_a_rest_is_all_that_is_left_of_it(changed: dict[str, Any]) -> None:
    value: dict[str, Any] = {"delta": {"text": "a"}, "more": {"secret": ["secret", "secret"]}}
    event = PlainEvent(SseEvent(name="", data=b""), value)
    rest = RestPiece(event, {"delta": {"text": shown}}, dumps({"more": value["more"]}), CONTENT)
    text = JsonPiece(event, value["delta"], "text", "a", CONTENT, None)
    rest.write(dumps(changed))
    text.write("b")
    assert json.loads(event.frame().removeprefix(b"data: ")) == {"delta": {"text": "b"}, **changed}


@pytest.mark.parametrize(
    ("value", "scope"),
    [
        ({"type": "a.b", "item_id": "i", "output_index": 2}, ("a.b", "i", None, 2, None, None)),
        ({"choices": [{"index": 1}, {"index": 0}, 3]}, (None,) * 6 + (1, 0, None)),
        ({"choices": {}, "index": [1], "type": {}}, (None,) * 6),
    ],
)
def test_a_rest_knows_what_its_event_is_about(value: dict[str, Any], scope: tuple[Any, ...]) -> None:
    event = PlainEvent(SseEvent(name="", data=b""), value)
    assert RestPiece(event, {}, "{}", CONTENT).scope == scope
    assert JsonPiece(event, value, "type", "a", CONTENT, None).scope is None
