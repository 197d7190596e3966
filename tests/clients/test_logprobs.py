"""The probabilities of tokens: what they say beside the text is inspected, and they go where it is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.clients.native_calls import NativeCall, NativeProvider, sse_values
from tests.clients.responses_wire import message, response, text_part
from tests.engine.doubles import Words
from tests.engine.stream_doubles import HoldBack
from tramapy.clients.codec import Codec
from tramapy.clients.logprobs import spoken
from tramapy.clients.openai_chat import ChatCodec
from tramapy.clients.openai_other import CompletionsCodec
from tramapy.clients.openai_responses import ResponsesCodec
from tramapy.wire.sse import SseEvent

HEAD = {"id": "r1", "object": "x", "created": 1, "model": "m"}


def place(token: str, *others: str) -> dict[str, Any]:
    """One token, and what could have stood in its place."""
    top = [{"token": other, "logprob": -2.5, "bytes": [1]} for other in others]
    return {"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": top}


HARMLESS = [place("he", "he", "hi"), place("llo", "llo", "")]
HIDDEN = [place("he", "he", "sec"), place("llo", "llo", "ret")]
OTHER = [place("sec"), place("ret")]


@pytest.mark.parametrize(
    ("logprobs", "said"),
    [
        (None, []),
        ({}, []),
        ("secret", []),
        ({"content": HARMLESS, "refusal": None}, ["hi"]),
        ({"content": HIDDEN}, ["secret"]),
        (OTHER, ["secret"]),
        ([place("hello")], []),
        ([3, {"token": 4, "top_logprobs": [5, {"token": 6}]}], []),
        (
            {"tokens": ["he", "llo"], "top_logprobs": [{"he": -1, "sec": -2}, {"llo": -1, "ret": -2}]},
            ["secret"],
        ),
        ({"tokens": ["sec", "ret", 3], "top_logprobs": [None]}, ["secret"]),
    ],
)
def test_what_probabilities_say_beside_the_text(logprobs: object, said: list[str]) -> None:
    text = spoken(logprobs, "hello")
    assert (json.loads(text) if text else []) == said


def chat(logprobs: object) -> Mapping[str, Any]:
    said = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "message": said, "logprobs": {"content": logprobs}, "finish_reason": "stop"}
    return {**HEAD, "choices": [choice]}


def completion(logprobs: Any) -> Mapping[str, Any]:
    tops = [{top["token"]: -1.5 for top in each["top_logprobs"]} for each in logprobs]
    legacy = {
        "tokens": [each["token"] for each in logprobs],
        "token_logprobs": [None, -1.5],
        "text_offset": [0, 1],
        "top_logprobs": tops,
    }
    return {**HEAD, "choices": [{"index": 0, "text": "hello", "logprobs": legacy, "finish_reason": "stop"}]}


def responded(logprobs: object) -> Mapping[str, Any]:
    return response(message(text_part("hello", logprobs=logprobs)))


ANSWERS: dict[str, tuple[Codec, Callable[[Any], Mapping[str, Any]], Callable[[Any], Any]]] = {
    "chat": (ChatCodec(), chat, lambda body: body["choices"][0]["logprobs"]),
    "completions": (CompletionsCodec(), completion, lambda body: body["choices"][0]["logprobs"]),
    "responses": (ResponsesCodec(), responded, lambda body: body["output"][0]["content"][0]["logprobs"]),
}


@pytest.mark.parametrize(("codec", "body", "found"), ANSWERS.values(), ids=ANSWERS)
def test_of_an_answer_they_go_where_an_alternative_says_what_may_not_pass(
    codec: Codec, body: Callable[[Any], Mapping[str, Any]], found: Callable[[Any], Any]
) -> None:
    for logprobs in (HARMLESS, HIDDEN, OTHER):
        answer = NativeCall(
            codec, NativeProvider(codec, body(logprobs)), {"model": "m"}, dlp=Words()
        ).answer()
        assert (found(answer) == found(body(logprobs))) is (logprobs is HARMLESS)
        assert "secret" not in json.dumps(answer)
        assert "hello" in json.dumps(answer)
    masked = NativeProvider(codec, body([place("other")]))
    answer = NativeCall(codec, masked, {"model": "m"}, dlp=Words({"hello": "*"})).answer()
    assert not found(answer)


def test_what_is_not_known_of_them_is_inspected() -> None:
    codec, body = ChatCodec(), chat([{**place("hello"), "bytes": ["secret"], "more": "x"}])
    answer = NativeCall(codec, NativeProvider(codec, body), {"model": "m"}, dlp=Words()).answer()
    assert answer["choices"][0]["logprobs"] is None


def chat_events(logprobs: list[Any]) -> list[Mapping[str, Any]]:
    choices: list[dict[str, Any]] = [
        {
            "index": 0,
            "delta": {"content": each["token"]},
            "logprobs": {"content": [each]},
            "finish_reason": None,
        }
        for each in logprobs
    ]
    end: dict[str, Any] = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    return [{**HEAD, "choices": [choice]} for choice in (*choices, end)]


def response_events(logprobs: list[Any]) -> list[Mapping[str, Any]]:
    where = {"item_id": "i", "output_index": 0, "content_index": 0}
    deltas = [
        {"type": "response.output_text.delta", **where, "delta": each["token"], "logprobs": [each]}
        for each in logprobs
    ]
    done = {"type": "response.output_text.done", **where, "text": "hello", "logprobs": logprobs}
    return [*deltas, done, {"type": "response.completed", "response": response(message(text_part("hello")))}]


STREAMS: dict[str, tuple[Codec, Callable[[Any], list[Mapping[str, Any]]], Callable[[Any], Any]]] = {
    "chat": (ChatCodec(), chat_events, lambda value: value["choices"][0]["logprobs"]),
    "responses": (ResponsesCodec(), response_events, lambda value: value.get("logprobs")),
}


@pytest.mark.parametrize(("codec", "events", "found"), STREAMS.values(), ids=STREAMS)
def test_of_a_stream_they_go_with_the_event_that_completes_it(
    codec: Codec, events: Callable[[Any], list[Mapping[str, Any]]], found: Callable[[Any], Any]
) -> None:
    for logprobs, is_kept in ((HARMLESS, True), (HIDDEN, False)):
        frames = [SseEvent("", json.dumps(event).encode()) for event in events(logprobs)]
        provider = NativeProvider(codec, events=[*frames, SseEvent("", b"[DONE]")])
        body = NativeCall(codec, provider, {"model": "m", "stream": True}, dlp=HoldBack()).stream()
        told = [found(value) for value in sse_values(body.replace(b"data: [DONE]\n\n", b""))]
        assert told[0]
        assert bool(told[1]) is is_kept
        assert bool(told[2]) is (is_kept and codec is STREAMS["responses"][0])
