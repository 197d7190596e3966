"""The SDK's own accumulation of a chat stream, on events that were rewritten."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from tramapy.clients.openai_chat import ChatCodec
from tramapy.engine.native import Lane, NativeEvent
from tramapy.wire.sse import SseDecoder

HEAD = {"id": "r1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m"}


def chunk(finish: str | None = None, **delta: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**HEAD, "choices": [choice]}).encode() + b"\n\n"


BODY = b"".join(
    (
        chunk(role="assistant", content=""),
        chunk(content="call "),
        chunk(content="5551234"),
        chunk(content=" now"),
        chunk(
            tool_calls=[
                {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": ""}}
            ]
        ),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"n":'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": '"5551234"}'}}]),
        chunk(
            tool_calls=[
                {"index": 1, "id": "c2", "type": "function", "function": {"name": "go", "arguments": "{}"}}
            ]
        ),
        chunk("tool_calls"),
        b"data: [DONE]\n\n",
    )
)


def held_back() -> Iterator[bytes]:
    """Yield the stream as if all text waited for the end of its lane, and was masked then."""
    stream = ChatCodec().stream(100_000)
    lanes: dict[Lane, str] = {}
    opening: dict[Lane, bytes] = {}
    for sse in SseDecoder(100_000).feed(BODY):
        for event in stream.feed(sse):
            yield from _let_through(event, lanes, opening)


def _let_through(event: NativeEvent, lanes: dict[Lane, str], opening: dict[Lane, bytes]) -> Iterator[bytes]:
    for piece in event.pieces:
        assert piece.lane is not None
        lanes[piece.lane] = lanes.get(piece.lane, "") + piece.text
        piece.write("")
    if event.opens is not None:
        opening[event.opens] = event.frame()
        return
    for lane in event.ends:
        yield opening.get(lane, b"")
        yield event.tail(lane, lanes[lane].replace("5551234", "[PHONE]"))
    yield event.frame()


@pytest.mark.parametrize("has_helper", [False, True], ids=["create", "stream"])
def test_the_sdk_adds_up_what_was_rewritten(has_helper: bool) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, content=b"".join(held_back())
        )

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http_client:
        client = OpenAI(api_key="test-key", base_url="http://local.example/v1", http_client=http_client)
        content, calls = _streamed(client) if has_helper else _created(client)
    assert content == "call [PHONE] now"
    assert calls == [("c1", "find", '{"n":"[PHONE]"}'), ("c2", "go", "{}")]


def _created(client: OpenAI) -> tuple[str, list[tuple[str, str, str]]]:
    content = ""
    calls: dict[int, list[str]] = {}
    for event in client.chat.completions.create(model="m", messages=[], stream=True):
        for choice in event.choices:
            content += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(part.index, ["", "", ""])
                call[0] += part.id or ""
                if part.function is not None:
                    call[1] += part.function.name or ""
                    call[2] += part.function.arguments or ""
    return content, [(call[0], call[1], call[2]) for _, call in sorted(calls.items())]


def _streamed(client: OpenAI) -> tuple[str, list[tuple[str, str, str]]]:
    with client.chat.completions.stream(model="m", messages=[]) as stream:
        final: Any = stream.get_final_completion()
    message = final.choices[0].message
    return message.content, [
        (call.id, call.function.name, call.function.arguments) for call in message.tool_calls
    ]
