"""Requests of which any part is something else: nothing sensitive is sent, and no raw error comes."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import httpx2
import pytest

from tests.clients.every_call import CHAT, EMBEDDINGS, MESSAGES, MODERATIONS, RESPONSES, Call
from tests.clients.mutations import CANARY, RULES, mutated
from tests.clients.test_mutated_answers import WHOLE
from tests.clients.worlds import Use, World
from tramapy import Message, OperationInterceptor
from tramapy.errors import TramapyError

_TEXT_FILE = f"data:text/plain;base64,{base64.b64encode(b'hello').decode()}"
_URL = "http://a.example/b"
_IMAGE = {"type": "input_image", "image_url": _URL}
_OUTPUT = {"type": "function_call_output", "call_id": "c"}
_TOOL = {
    "name": "f",
    "description": "d",
    "parameters": {"type": "object", "properties": {"q": {"enum": ["a"]}}},
}
BODIES: dict[Call, tuple[str, dict[str, Any]]] = {
    CHAT: (
        "/chat/completions",
        {
            "messages": [
                {"role": "system", "content": "hello"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "hello"},
                        {"type": "text", "text": "b"},
                        {"type": "image_url", "image_url": {"url": _URL, "detail": "low"}},
                        {"type": "file", "file": {"filename": "f", "file_data": _TEXT_FILE}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": "hello",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "hello"}},
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "hello"},
            ],
            "tools": [{"type": "function", "function": _TOOL}],
            "metadata": {"k": "v"},
            "prediction": {"type": "content", "content": "hello"},
        },
    ),
    RESPONSES: (
        "/responses",
        {
            "instructions": "hello",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "hello"},
                        {"type": "input_image", "image_url": _URL},
                        {"type": "input_file", "filename": "f", "file_data": _TEXT_FILE},
                    ],
                },
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {
                    **_OUTPUT,
                    "output": [
                        {"type": "input_text", "text": "a"},
                        {"type": "input_image", "image_url": _URL},
                    ],
                },
                {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "hello"},
                {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hello"}]},
            ],
            "tools": [
                {"type": "function", **_TOOL},
                {"type": "mcp", "server_url": _URL, "authorization": "a b"},
            ],
        },
    ),
    MESSAGES: (
        "/v1/messages",
        {
            "system": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "hello"},
                        {"type": "image", "source": {"type": "url", "url": _URL}},
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "a"},
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [{"type": "text", "text": "a"}],
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "t", "signature": "s"},
                        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": ["b"]}},
                        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
                    ],
                },
            ],
        },
    ),
    EMBEDDINGS: ("/embeddings", {"input": ["a", "b"], "user": "u"}),
    MODERATIONS: ("/moderations", {"input": [{"type": "text", "text": "a"}]}),
}


class Reordering(OperationInterceptor):
    """Moves messages, takes some out and adds some."""

    def __init__(self) -> None:
        self.seed = random.Random(7)

    def intercept_request(self, context: Any, messages: Any) -> Any:
        changed = self.seed.sample(list(messages), self.seed.randint(0, len(messages)))
        return [*changed, Message.user("new")] if self.seed.random() < 0.3 else changed


@pytest.mark.unmeasured
@pytest.mark.parametrize("interceptors", [[], [Reordering()]], ids=["as it is", "reordered"])
@pytest.mark.parametrize("call", BODIES, ids=repr)
def test_nothing_is_sent_wherever_it_stands(call: Call, interceptors: list[OperationInterceptor]) -> None:
    path, body = BODIES[call]
    seed = random.Random(f"{call!r} request")
    bodies = [{"model": "m", "max_tokens": 9, **mutated(body, seed)} for _ in range(80)]
    failed: list[str] = []

    async def step(use: Use) -> None:
        for each in bodies:
            try:
                use.client.post(path, content=json.dumps(each).encode(), cast_to=object)
            except TramapyError as error:
                failed.append(f"{error} {error!r}")

    answers = [httpx2.Response(200, json=WHOLE[call]) for _ in bodies]
    sent = World("sync", call.vendor).use_stub(answers, step, request_dlp=RULES, interceptors=interceptors)
    assert len(sent) > 10
    assert not [text for text in failed if CANARY in text]
    assert not [request.content for request in sent if CANARY.encode() in request.content]
