"""What the tests of wire formats and faults share: one request, and its answer's events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from tramapy.testing import ScriptedAnswer, ScriptedServer

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"
PATHS = (CHAT, RESPONSES, MESSAGES)

Json = dict[str, Any]


def ask(answer: ScriptedAnswer, path: str = CHAT, **fields: object) -> httpx2.Response:
    """Ask for one answer and return its whole response."""
    with ScriptedServer([answer]) as server, httpx2.Client(base_url=server.root_url, timeout=30) as client:
        return client.post(path, json={"model": "m", **fields})


def body_of(answer: ScriptedAnswer, path: str = CHAT, **fields: object) -> Json:
    """Ask for one plain answer and return its JSON."""
    body: Json = ask(answer, path, **fields).json()
    return body


def events_of(answer: ScriptedAnswer, path: str = CHAT, **fields: object) -> list[Json | str]:
    """Ask for one streamed answer and return the data of its events; the end mark as it is."""
    response = ask(answer, path, stream=True, **fields)
    assert response.headers["content-type"].startswith("text/event-stream")
    return [_event(block) for block in response.text.split("\n\n") if block]


def _event(block: str) -> Json | str:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    if fields["data"] == "[DONE]":
        return "[DONE]"
    value: Json = json.loads(fields["data"])
    # a named event says its name twice
    assert fields.get("event", value.get("type")) == value.get("type")
    return value


def without(value: Mapping[str, Any], *names: str) -> Json:
    """Return a copy without some fields."""
    return {name: item for name, item in value.items() if name not in names}
