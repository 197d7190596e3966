"""The engine's steps on chat completions: what goes out and comes in is what DLP and interceptors left."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from tests.clients.test_openai_chat_stream import DONE, chunk, delta
from tests.drivers import Driver
from tests.engine.native_doubles import Natives, answered, streamed
from tramapy import (
    DlpInterceptor,
    Message,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    RuleBasedDlpInterceptor,
)
from tramapy.clients.codec import WireAnswer
from tramapy.clients.openai_chat import ChatCodec
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration
from tramapy.hooks.dlp import DlpContentType
from tramapy.wire.sse import SseDecoder, SseEvent

CODEC = ChatCodec()
SSN = "219-09-9999"
REQUEST = CODEC.request({"model": "m", "messages": [{"role": "user", "content": SSN, "name": SSN}]})


def ssn_dlp() -> DlpInterceptor:
    rule = DlpRule(
        id="ssn", pattern=r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", replacement="[S]", enabled_for=DlpContentType
    )
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


class Shouting(OperationInterceptor):
    """Adds a message to each request, and a mark to each answer."""

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        return [Message.system(f"loud {SSN}"), *messages]

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        return response.replace(content=response.content + "!")


def test_a_whole_answer_is_inspected_in_every_choice(driver: Driver) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"n":"{SSN}"}}'}}
    choices = [
        {
            "index": 0,
            "message": {"role": "assistant", "content": SSN, "tool_calls": [call]},
            "finish_reason": "stop",
        },
        {"index": 1, "message": {"role": "assistant", "content": None, "refusal": SSN, "note": SSN}},
    ]
    provider = Natives(CODEC.answer({"choices": choices}))
    rig = driver.rig({"p": provider}, dlp=ssn_dlp(), request_dlp=ssn_dlp(), interceptors=[Shouting()])
    answer = cast("WireAnswer", answered(rig, REQUEST))
    body = cast("Mapping[str, Any]", answer.body)
    assert SSN not in json.dumps(body)
    assert [choice["message"]["content"] for choice in body["choices"]] == ["[S]!", "!"]
    assert json.loads(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {"n": "[S]"}
    (sent,), (request,) = provider.sent, provider.requests
    assert REQUEST.encoded(request.messages, "m", sent.rest)["messages"] == [
        {"role": "system", "content": "loud [S]"},
        {"role": "user", "content": "[S]", "name": "[S]"},
    ]


CONTENT = f"a {SSN} b 219-09-999 c {SSN}"
REASONING = f"so {SSN}"
ARGUMENTS = json.dumps({"n": SSN, "m": "x"})


def cut(text: str, seed: random.Random) -> Iterator[str]:
    while text:
        size = seed.randint(1, 6)
        yield text[:size]
        text = text[size:]


def events(seed: random.Random, *, is_marked: bool) -> list[SseEvent]:
    """Return a stream of two choices, cut anywhere, in any order of the choices."""
    queues: list[list[SseEvent]] = []
    for index in (0, 1):
        reasoning = [chunk(delta(index, reasoning=piece)) for piece in cut(REASONING, seed)]
        content = [chunk(delta(index, content=piece)) for piece in cut(CONTENT, seed)]
        head = {"index": 0, "id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": ""}}
        parts = [head, *({"index": 0, "function": {"arguments": piece}} for piece in cut(ARGUMENTS, seed))]
        calls = [chunk(delta(index, tool_calls=[part])) for part in parts]
        last = chunk(delta(index, finish="tool_calls"))
        queues.append([chunk(delta(index, role="assistant", content="")), *reasoning, *content, *calls, last])
    mixed: list[SseEvent] = []
    while any(queues):
        mixed.append(seed.choice([queue for queue in queues if queue]).pop(0))
    return [*mixed, chunk(usage={"prompt_tokens": 1}), DONE] if is_marked else mixed


def added_up(frames: str) -> dict[tuple[int, str], str]:
    """Return what a client makes of a stream: each text of each choice, until its finish reason."""
    texts: dict[tuple[int, str], str] = {}
    for event in SseDecoder(1_000_000).feed(frames.encode()):
        if event.data == DONE.data:
            break
        for choice in json.loads(event.data)["choices"]:
            fields = choice["delta"]
            said = {name: fields.get(name) for name in ("content", "reasoning")}
            for call in fields.get("tool_calls", ()):
                said["id"] = call.get("id")
                said["arguments"] = call["function"]["arguments"]
            for name, text in said.items():
                if text:
                    assert (choice["index"], "finish") not in texts
                    texts[choice["index"], name] = texts.get((choice["index"], name), "") + text
            if choice["finish_reason"] is not None:
                texts[choice["index"], "finish"] = choice["finish_reason"]
    return texts


@pytest.mark.unmeasured
@pytest.mark.parametrize("way", ["auto", "buffer", "interceptor"])
@pytest.mark.parametrize("is_marked", [True, False], ids=["marked", "bare"])
def test_a_stream_cut_anywhere_says_what_the_whole_would(driver: Driver, way: str, is_marked: bool) -> None:
    mark = "!" if way == "interceptor" else ""
    expected: dict[tuple[int, str], str] = {}
    for index in (0, 1):
        expected[index, "reasoning"] = REASONING.replace(SSN, "[S]")
        expected[index, "content"] = CONTENT.replace(SSN, "[S]") + mark
        expected[index, "id"] = f"c{index}"
        expected[index, "arguments"] = ARGUMENTS.replace(SSN, "[S]")
        expected[index, "finish"] = "tool_calls"
    for seed in range(5):
        decoder = CODEC.stream(1_000_000)
        steps = [
            native
            for event in events(random.Random(seed), is_marked=is_marked)
            for native in decoder.feed(event)
        ]
        if not is_marked:
            steps.append(decoder.finish())
        settings: dict[str, Any] = {"interceptors": [Shouting()]} if mark else {}
        if way == "buffer":
            settings["stream_dlp"] = "buffer"
        out = streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp(), **settings), REQUEST)
        assert added_up(out) == expected
        assert out.endswith("data: [DONE]\n\n") == is_marked


def test_without_hooks_a_stream_passes_as_it_came(driver: Driver) -> None:
    came = events(random.Random(1), is_marked=True)
    decoder = CODEC.stream(1_000_000)
    steps = [native for event in came for native in decoder.feed(event)]
    out = streamed(driver.rig({"p": Natives(steps)}), REQUEST)
    assert out == "".join(f"data: {event.data.decode()}\n\n" for event in came)


@pytest.mark.parametrize("settings", [{}, {"interceptors": [Shouting()]}], ids=["as it comes", "as a whole"])
def test_a_secret_in_pieces_of_the_reasoning_does_not_pass(driver: Driver, settings: dict[str, Any]) -> None:
    deltas: list[dict[str, Any]] = []
    for text in ("It is ", SSN[:4], SSN[4:], " then"):
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        detail = {"type": "reasoning.text", "text": text, "index": 0}
        deltas.append({"content": [thought], "reasoning_details": [detail]})
    stream = CODEC.stream(100_000)
    chunks = [*(chunk(delta(**item)) for item in deltas), chunk(delta(finish="stop")), DONE]
    steps = [native for event in chunks for native in stream.feed(event)]
    out = streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp(), **settings), REQUEST)
    said = [
        choice["delta"]
        for event in SseDecoder(100_000).feed(out.encode())
        if event.data != DONE.data
        for choice in json.loads(event.data)["choices"]
    ]
    thoughts = [
        part["thinking"][0]["text"]
        for item in said
        for part in item.get("content") or ()
        if isinstance(part, dict)
    ]
    details = [part["text"] for item in said for part in item.get("reasoning_details", ())]
    assert ("".join(thoughts), "".join(details)) == ("It is [S] then",) * 2
