"""Answers as vendors give them, of which any part is something else: nothing sensitive passes, and no raw error comes.

What stands where an id is due is text where it does not look like one; a plain word is left alone.
"""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any, cast

import anthropic
import httpx2
import openai
import pytest

from tests.clients.every_call import CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES, MODERATIONS, RESPONSES, Call
from tests.clients.mutations import CANARY, RULES, mutated
from tests.clients.worlds import Use, World
from tramapy.errors import DlpInspectionError, TramapyError

_CITED = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "t"}
_TOKEN = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105]}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
_CUSTOM = {"id": "call_2", "type": "custom", "custom": {"name": "g", "input": "abc"}}
_CHAT_HEAD = {
    "id": "c-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "service_tier": "default",
}
_FUNCTION_CALL = {
    **{"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"},
    **{"name": "f", "arguments": '{"a":1}'},
}
_ITEM = {
    **{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"},
    "content": [
        {"type": "output_text", "text": "Hello", "annotations": [{"type": "file_citation", "index": 0}]}
    ],
}
_RESPONSE = {
    **{
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "model": "m",
    },
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "so"}]},
        _ITEM,
        _FUNCTION_CALL,
        {"type": "custom_tool_call", "id": "ct", "call_id": "c2", "name": "g", "input": "abc"},
    ],
    "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}],
    "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
}
_MESSAGE = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn"},
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "Hi", "citations": [_CITED]},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2, "service_tier": "standard"},
}
WHOLE: dict[Call, dict[str, Any]] = {
    CHAT: {
        **_CHAT_HEAD,
        "choices": [
            {
                **{"index": 0, "finish_reason": "stop"},
                "logprobs": {"content": [{**_TOKEN, "top_logprobs": [_TOKEN]}]},
                "message": {"role": "assistant", "content": "Hi", "refusal": None},
            },
            {"index": 1, "finish_reason": "tool_calls", "message": {"tool_calls": [_CALL, _CUSTOM]}},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    },
    RESPONSES: _RESPONSE,
    MESSAGES: _MESSAGE,
    COMPLETIONS: {
        **_CHAT_HEAD,
        "choices": [{"index": 0, "text": "Hi", "finish_reason": "stop", "logprobs": {"text_offset": [0]}}],
    },
    EMBEDDINGS: {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}],
        "model": "m",
    },
    MODERATIONS: {
        "id": "m-1",
        "model": "m",
        "results": [{"flagged": False, "category_scores": {"hate": 0.1}}],
    },
}


def _chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {**_CHAT_HEAD, "choices": [choice]}


def _events(*events: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": name, "sequence_number": number, **copy.deepcopy(fields)}
        for number, (name, fields) in enumerate(events)
    ]


_AT = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
STREAMS: dict[Call, list[dict[str, Any]]] = {
    CHAT: [
        _chunk(role="assistant", content=""),
        *[_chunk(content=text) for text in ("Hel", "lo ", "world")],
        _chunk(tool_calls=[{"index": 0, **_CALL, "function": {"name": "f", "arguments": ""}}]),
        _chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}]),
        _chunk("stop"),
    ],
    RESPONSES: _events(
        ("response.created", {"response": {**_RESPONSE, "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": {**_ITEM, "content": []}}),
        ("response.content_part.added", {**_AT, "part": {"type": "output_text", "text": ""}}),
        ("response.output_text.delta", {**_AT, "delta": "Hel", "logprobs": []}),
        ("response.output_text.delta", {**_AT, "delta": "lo", "logprobs": []}),
        ("response.output_text.done", {**_AT, "text": "Hello", "logprobs": []}),
        ("response.output_item.done", {"output_index": 0, "item": _ITEM}),
        ("response.output_item.added", {"output_index": 1, "item": {**_FUNCTION_CALL, "arguments": ""}}),
        (
            "response.function_call_arguments.delta",
            {"output_index": 1, "item_id": "fc_1", "delta": '{"a":1}'},
        ),
        ("response.output_item.done", {"output_index": 1, "item": _FUNCTION_CALL}),
        ("response.completed", {"response": {**_RESPONSE, "output": [_ITEM, _FUNCTION_CALL]}}),
    ),
    MESSAGES: _events(
        ("message_start", {"message": {**_MESSAGE, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Hel"}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "lo"}}),
        ("content_block_stop", {"index": 0}),
        (
            "content_block_start",
            {"index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}},
        ),
        ("content_block_delta", {"index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        ("content_block_stop", {"index": 1}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        ("message_stop", {}),
    ),
}
for event in STREAMS[MESSAGES]:
    del event["sequence_number"]


def _body(call: Call, events: list[dict[str, Any]]) -> bytes:
    ending = [] if call is not CHAT else ["[DONE]"]
    frames: list[str] = []
    for event in [*map(json.dumps, events), *ending]:
        name = json.loads(event)["type"] if '"type": "' in event[:12] else ""
        frames.append(
            f"event: {name}\ndata: {event}\n\n" if name and "\n" not in name else f"data: {event}\n\n"
        )
    return "".join(frames).encode("utf-8", "replace")


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("call", "is_stream"),
    [*((call, False) for call in WHOLE), *((call, True) for call in STREAMS)],
    ids=lambda value: repr(value) if isinstance(value, Call) else ("stream" if value else "whole"),
)
def test_nothing_passes_wherever_it_stands(call: Call, is_stream: bool) -> None:
    seed = random.Random(f"{call!r} {is_stream}")
    bodies: list[bytes] = []
    for _ in range(60):
        if is_stream:
            events = copy.deepcopy(STREAMS[call])
            at = seed.randrange(len(events))
            events[at] = mutated(events[at], seed)
            bodies.append(_body(call, events))
        else:
            bodies.append(json.dumps(mutated(WHOLE[call], seed)).encode())
    kind = "text/event-stream" if is_stream else "application/json"
    answers = [httpx2.Response(200, headers={"content-type": kind}, content=body) for body in bodies]
    passed: list[str] = []
    failed: list[str] = []

    async def step(use: Use) -> None:
        options: dict[str, Any] = {"stream": True} if is_stream else {}
        for _ in bodies:
            try:
                raw = call.start(use.client.with_raw_response, "hello", **options)
                passed.append(raw.http_response.read().decode())
            except (TramapyError, openai.OpenAIError, anthropic.AnthropicError) as error:
                failed.append(f"{error} {error!r} {getattr(error, 'body', '')}")
        assert CANARY not in str([dict(event.attributes) for event in use.observer.events])

    World("sync", call.vendor).use_stub(answers, step, dlp=RULES, circuit_breaker=None)
    assert len(passed) > 10
    assert not [text for text in passed + failed if CANARY in text]


NAME = "canary_5b1e77"


def _with_name(value: Any) -> Any:
    """Call another tool."""
    if isinstance(value, dict):
        return {
            key: NAME if key == "name" and item in ("f", "g", "web_search") else _with_name(item)
            for key, item in cast("dict[str, Any]", value).items()
        }
    return [_with_name(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize("is_declared", [False, True], ids=["made up", "declared"])
@pytest.mark.parametrize(
    ("call", "body"),
    [
        *((call, _body(call, _with_name(events))) for call, events in STREAMS.items()),
        (CHAT, _body(CHAT, [_chunk(function_call={"name": NAME, "arguments": "{}"}), _chunk("stop")])),
        (
            MESSAGES,
            json.dumps({**_MESSAGE, "content": [_with_name(_MESSAGE)["content"][3]]}).encode(),
        ),
        *(
            (CHAT, json.dumps({**_CHAT_HEAD, "choices": [{"index": 0, "message": message}]}).encode())
            for message in (
                {"role": "assistant", "tool_calls": [_with_name(_CUSTOM)]},
                {"role": "assistant", "function_call": {"name": NAME, "arguments": "{}"}},
            )
        ),
    ],
)
def test_a_sensitive_name_of_a_tool_is_refused_unless_it_is_declared(
    call: Call, body: bytes, is_declared: bool
) -> None:
    is_stream = b"data: " in body
    kind = "text/event-stream" if is_stream else "application/json"
    answer = httpx2.Response(200, headers={"content-type": kind}, content=body)
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    tool: dict[str, Any] = {"name": NAME, "input_schema": schema}
    if call is RESPONSES:
        tool = {"type": "function", "name": NAME, "parameters": schema, "strict": None}
    elif call is CHAT:
        tool = {"type": "function", "function": {"name": NAME, "parameters": schema}}

    async def step(use: Use) -> None:
        options: dict[str, Any] = {"stream": True} if is_stream else {}
        if is_declared:
            raw = call.start(use.client.with_raw_response, "hello", tools=[tool], **options)
            assert NAME in raw.http_response.read().decode()
            return
        pieces: list[bytes] = []
        with pytest.raises(DlpInspectionError):  # a stream is refused while it is read
            pieces.extend(
                call.start(use.client.with_raw_response, "hello", **options).http_response.iter_bytes()
            )
        assert NAME.encode() not in b"".join(pieces)
        failed = [event for event in use.observer.events if event.name == "tramai.dlp.inspection_failed"]
        assert failed[0].attributes["reason_code"] == "sensitive_name"

    World("sync", call.vendor).use_stub([answer], step, dlp=RULES)


@pytest.mark.parametrize("call", STREAMS, ids=repr)
def test_of_a_name_that_stands_twice_in_an_event_only_the_last_passes(call: Call) -> None:
    body = re.sub(
        rb'data: {("[a-z]+")', rb'data: {\1: "' + CANARY.encode() + rb'", \1', _body(call, STREAMS[call])
    )
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    async def step(use: Use) -> None:
        text = call.start(use.client.with_raw_response, "hello", stream=True).http_response.read().decode()
        assert "Hel" in text
        assert CANARY not in text

    World("sync", call.vendor).use_stub([answer], step, dlp=RULES)
