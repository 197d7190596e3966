"""The quick looks at usual answers: they never say of an answer with a rest that it has none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from tramapy.clients.anthropic_messages_plan import ANSWER
from tramapy.clients.anthropic_messages_usual import is_usual_answer
from tramapy.clients.openai_chat_answer import ChatAnswer
from tramapy.clients.openai_chat_stream import CHAT_STREAM
from tramapy.clients.openai_choice_events import is_usual_choice, is_usual_head
from tramapy.wire.rest import Plan, rest_of

MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "content": [{"type": "text", "text": "words"}, {"type": "text", "text": "more", "citations": None}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "stop_details": None,
    "container": None,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": None,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "server_tool_use": None,
        "output_tokens": 5,
        "service_tier": "standard",
    },
}
CHUNK: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1700000000,
    "model": "m-1",
    "service_tier": "default",
    "system_fingerprint": "fp_1",
    "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": "x"}, "logprobs": None, "finish_reason": None}
    ],
    "usage": {"prompt_tokens": 1, "details": {"cached_tokens": 0}},
    "obfuscation": "xK",
}
ODD: tuple[object, ...] = (
    "a secret",
    "",
    None,
    True,
    4.5,
    4111111111111111,
    [],
    ["a secret"],
    {},
    {"a secret": 1},
    {"name": "a secret"},
    [{"type": "text", "text": "x", "name": "a secret"}],
    [{"type": "text", "text": 5}, {"type": "tool_use", "name": "a secret"}],
    [{"type": "text", "text": "x", "citations": [{"cited_text": "a secret"}]}],
    [{"type": "a secret", "text": "x"}],
)


def _is_usual_chunk(value: Mapping[str, Any]) -> bool:
    choices = value.get("choices")
    return is_usual_head(value) and all(
        map(CHAT_STREAM.is_usual, choices if isinstance(choices, list) else ())
    )


def _changed(value: Any) -> Iterator[Any]:
    """Give a value with each odd one in each of its places, and under one more name in each object."""
    yield from copy.deepcopy(ODD)
    if isinstance(value, dict):
        for name in [*value, "more"]:
            yield {other: item for other, item in value.items() if other != name}
            for item in _changed(value.get(name)):
                yield {**value, name: item}
    if isinstance(value, list):
        for position, own in enumerate(value):
            for item in _changed(own):
                yield [*value[:position], item, *value[position + 1 :]]


@pytest.mark.parametrize(
    ("usual", "is_usual", "plan"),
    [(MESSAGE, is_usual_answer, ANSWER), (CHUNK, _is_usual_chunk, CHAT_STREAM.plan)],
    ids=["message", "chunk"],
)
def test_usual_answer_has_no_rest(
    usual: dict[str, Any], is_usual: Callable[[Mapping[str, Any]], bool], plan: Plan
) -> None:
    assert is_usual(usual)
    others: list[dict[str, Any]] = [value for value in _changed(usual) if isinstance(value, dict)]
    found = [value for value in others if all_objects(value) and is_usual(value)]
    assert len(found) > 20
    assert [value for value in found if rest_of(value, plan) is not None] == []


def all_objects(value: Mapping[str, Any]) -> bool:
    """Tell whether the choices are objects; others are refused before."""
    choices: Any = value.get("choices")
    if not isinstance(choices, list):
        return choices is None
    return all(type(choice) is dict for choice in cast("list[object]", choices))


def test_usual_choice_has_its_text() -> None:
    assert is_usual_choice({"index": 0, "text": "x", "finish_reason": "stop", "logprobs": None}, "text")
    assert not is_usual_choice({"index": 0, "finish_reason": "stop"}, "text")
    assert not is_usual_choice({"index": 0, "text": "x", "more": "a secret"}, "text")


def test_usual_completion_shows_all_text() -> None:
    body = {**CHUNK, "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}
    assert ChatAnswer(body).texts == ()
