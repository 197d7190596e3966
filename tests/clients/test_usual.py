"""The quick looks at usual answers: they never say of an answer with a rest that it has none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from tramapy.clients import anthropic_messages_answer, openai_chat_answer
from tramapy.clients.openai_chat_answer import ChatAnswer
from tramapy.clients.openai_chat_stream import CHAT_STREAM
from tramapy.clients.openai_choice_events import is_usual_choice, is_usual_head
from tramapy.clients.usual_answer import Shapes, UsualAnswer
from tramapy.wire.rest import rest_of

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
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "x", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": None},
    },
    "service_tier": "default",
    "system_fingerprint": None,
}
ODD: tuple[object, ...] = (
    "a secret",
    "a:word",
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


def test_usual_chunk_has_no_rest() -> None:
    assert _is_usual_chunk(CHUNK)
    others: list[dict[str, Any]] = [value for value in _changed(CHUNK) if isinstance(value, dict)]
    found = [value for value in others if all_objects(value) and _is_usual_chunk(value)]
    assert len(found) > 20
    assert [value for value in found if rest_of(value, CHAT_STREAM.plan) is not None] == []


Codec = tuple[dict[str, Any], Any, Callable[[Any], UsualAnswer | None], Callable[[Any], Any], tuple[str, ...]]

ANSWERS: dict[str, Codec] = {
    "completion": (
        COMPLETION,
        openai_chat_answer,
        openai_chat_answer.usual_answer,
        openai_chat_answer.ChatAnswer,
        ("prompt_tokens", "completion_tokens"),
    ),
    "message": (
        MESSAGE,
        anthropic_messages_answer,
        anthropic_messages_answer.usual_answer,
        anthropic_messages_answer.MessagesAnswer,
        ("input_tokens", "cache_read_input_tokens"),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_usual_answer_is_read_as_any_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, module, quick, read, counts = ANSWERS[name]
    assert quick(usual) is not None
    monkeypatch.setattr(module, "usual_answer", lambda _: None)
    found = 0
    for value in _changed(usual):
        seen = quick(value) if isinstance(value, dict) else None
        if seen is not None:
            found += 1
            answer = read(value)
            assert (answer.responses, answer.texts, answer.unscanned) == ((seen.response,), (), ())
            assert seen.colon_count == _colon_count(value) - seen.response.content.count(":")
    assert found > 20
    for count in counts:
        for number in (2**63, -1):
            assert quick({**usual, "usage": {**usual["usage"], count: number}}) is None


def _colon_count(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_colon_count, cast("list[object]", value)))
    if isinstance(value, dict):
        return len(value) + sum(map(_colon_count, value.values()))
    return value.count(":") if isinstance(value, str) else 0


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


def test_shapes_are_remembered_within_bounds() -> None:
    shapes = Shapes(word_objects=1)
    asked: list[object] = []

    def is_usual(first: object, second: object) -> bool:
        asked.append(first)
        return True

    def words(name: str, value: object = "w") -> str | None:
        return shapes.words(({name: value}, {"content": "no word"}), is_usual)

    assert [words(f"n{number}") for number in range(70)] == ["w"] * 70
    assert (words("n0", "other"), len(asked)) == ("other", 70)
    assert (words("n69"), len(asked)) == ("w", 71)
    assert (words("n0", 1), len(asked)) == ("", 72)
    assert shapes.words(({"n0": None}, {}), lambda *_: False) is None
