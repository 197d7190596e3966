"""The chat providers over the real SDK and a scripted server: answers, requests, and whose client it is."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.providers.worlds import API_KEY, HELLO, World
from tramapy.errors import (
    ConfigurationError,
)
from tramapy.hooks.provider import ProviderCapability
from tramapy.messages import (
    CompletedChunk,
    FinishReason,
    ImagePart,
    Message,
    ModelRequest,
    ModelResponse,
    TextChunk,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from tramapy.providers.openai_chat import AsyncOpenAIChatProvider, OpenAIChatProvider
from tramapy.testing import (
    Exchange,
    Gate,
    HttpRejection,
    PlainAnswer,
    ScriptedServer,
    SendBytes,
    SlowAnswer,
    Step,
)

FULL = ModelResponse(
    content="one two",
    tool_calls=(
        ToolCall(id="c1", name="search", arguments_json='{"q": "x y"}'),
        ToolCall(id="c2", name="stop", arguments_json="{}"),
    ),
    reasoning="hm so",
    usage=TokenUsage(
        input_tokens=11, output_tokens=7, reasoning_tokens=3, cache_read_tokens=2, cache_write_tokens=1
    ),
    model="m-2026",
    finish_reason=FinishReason.TOOL_CALLS,
    response_id="r1",
)


ANSWERS: dict[str, ModelResponse] = {
    "text": ModelResponse(content="one two", model="m", response_id="chatcmpl-000001"),
    "everything": FULL,
    "refusal": ModelResponse(refusal="no way", model="m", response_id="r1"),
    "filtered": ModelResponse(
        content="half", finish_reason=FinishReason.CONTENT_FILTER, model="m", response_id="r1"
    ),
    "cut-by-length": ModelResponse(
        content="half", finish_reason=FinishReason.LENGTH, model="m", response_id="r1"
    ),
}


every_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())


plain_and_stream = pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])


@every_answer
def test_answer_is_read_whole(world: World, answer: ModelResponse) -> None:
    with ScriptedServer([answer]) as server:
        assert world.complete(server) == answer


@every_answer
def test_stream_ends_with_the_same_response(world: World, answer: ModelResponse) -> None:
    with ScriptedServer([answer]) as server:
        *pieces, last = world.stream(server)

    assert last == CompletedChunk(answer)
    texts = [chunk.text for chunk in pieces if isinstance(chunk, TextChunk)]
    assert "".join(texts) == answer.content
    assert tuple(chunk.tool_call for chunk in pieces if isinstance(chunk, ToolCallChunk)) == answer.tool_calls


def test_stream_gives_each_piece_and_then_whole_tool_calls(world: World) -> None:
    with ScriptedServer([FULL]) as server:
        chunks = world.stream(server)

    assert chunks == [
        TextChunk("one "),
        TextChunk("two"),
        *map(ToolCallChunk, FULL.tool_calls),
        CompletedChunk(FULL),
    ]


@plain_and_stream
def test_request_is_sent_as_the_sdk_sends_it(world: World, is_stream: bool) -> None:
    request = ModelRequest(
        model="m",
        messages=(
            Message.system("be brief"),
            Message.user([TextPart("what?"), ImagePart(data=b"\x89PNG", mime_type="image/png")]),
        ),
        temperature=0.5,
        max_output_tokens=99,
    )
    with ScriptedServer(["x"]) as server:
        (world.stream if is_stream else world.complete)(server, request)

    sent = server.requests[0]
    stream_fields = {"stream": True, "stream_options": {"include_usage": True}} if is_stream else {}
    assert sent.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "what?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                ],
            },
        ],
        "temperature": 0.5,
        "max_completion_tokens": 99,
        **stream_fields,
    }
    assert sent.headers["user-agent"].startswith(("OpenAI/", "AsyncOpenAI/"))
    assert sent.headers["x-stainless-retry-count"] == "0"


def test_clients_own_retries_are_off(world: World) -> None:
    world.failure(HttpRejection(status=500), client_options={"max_retries": 5})  # asks once, or fails


def test_stream_is_complete_at_its_end_mark_even_if_the_body_does_not_end(world: World) -> None:
    # all events have come when the server stands at the gate, which nobody releases
    fault = SlowAnswer(gate=Gate(), answer=ANSWERS["text"], after_events=99)
    with ScriptedServer([fault]) as server:
        assert world.stream(server)[-1] == CompletedChunk(ANSWERS["text"])


def test_stream_is_complete_at_its_end_mark_whatever_follows(world: World) -> None:
    class Chatty:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            *steps, end = PlainAnswer(ANSWERS["text"]).steps(exchange)
            return iter([*steps, SendBytes(b": bye\n\n"), SendBytes(b"data: garbage\n\n"), end])

    with ScriptedServer([Chatty()]) as server:
        assert world.stream(server)[-1] == CompletedChunk(ANSWERS["text"])


@plain_and_stream
def test_request_that_does_not_fit_the_format_is_the_callers_mistake(world: World, is_stream: bool) -> None:
    request = HELLO.replace(messages=[*HELLO.messages, Message(role=Message.tool("", tool_call_id="").role)])
    with ScriptedServer() as server:
        with pytest.raises(ConfigurationError, match=r"messages\[1\] is a TOOL message without tool_call_id"):
            (world.stream if is_stream else world.complete)(server, request)
        assert server.requests == ()


def test_callers_client_is_left_as_it_is() -> None:
    seen: list[str] = []
    http_client = httpx2.Client(
        headers={"x-own": "1"}, event_hooks={"request": [lambda request: seen.append(request.url.path)]}
    )
    with (
        ScriptedServer(["one", "two"]) as server,
        openai.OpenAI(
            base_url=server.base_url, api_key=API_KEY, http_client=http_client, max_retries=4
        ) as client,
    ):
        provider = OpenAIChatProvider(client)
        assert provider.complete(HELLO).content == "one"
        del provider
        gc.collect()
        assert client.max_retries == 4
        messages: Any = [{"role": "user", "content": "x"}]
        assert (
            client.chat.completions.create(model="m", messages=messages).choices[0].message.content == "two"
        )

    assert [request.headers["x-own"] for request in server.requests] == ["1", "1"]
    assert seen == ["/v1/chat/completions"] * 2


def test_source_client_is_kept_alive() -> None:
    with ScriptedServer(["one"]) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key=API_KEY)
        provider = OpenAIChatProvider(client)
        http_client = client._client
        del client
        gc.collect()
        assert provider.complete(HELLO).content == "one"
        http_client.close()


def test_azure_client_is_taken() -> None:
    with ScriptedServer(["one"]) as server:
        path = "/openai/deployments/gpt/chat/completions"
        client = openai.AzureOpenAI(
            azure_endpoint=server.root_url,
            api_version="2024-10-21",
            api_key=API_KEY,
            http_client=httpx2.Client(event_hooks={"request": [_to_chat]}),
        )
        with client:
            answer = OpenAIChatProvider(client).complete(HELLO.replace(model="gpt"))

    assert (answer.content, server.requests[0].headers["x-path"]) == ("one", path)
    assert server.requests[0].headers["api-key"] == "<redacted>"


def _to_chat(request: httpx2.Request) -> None:
    """Send an Azure address to the path that the scripted server knows."""
    request.headers["x-path"] = request.url.path
    request.url = request.url.copy_with(path="/v1/chat/completions")


@pytest.mark.parametrize(
    "kind", [OpenAIChatProvider, AsyncOpenAIChatProvider], ids=lambda kind: kind.__name__
)
def test_capabilities_are_all(kind: type[OpenAIChatProvider]) -> None:
    assert kind.capabilities == frozenset(ProviderCapability)


@pytest.mark.parametrize(
    ("kind", "client", "problem"),
    [
        (
            OpenAIChatProvider,
            openai.AsyncOpenAI,
            "OpenAIChatProvider takes an openai.OpenAI client, not AsyncOpenAI",
        ),
        (
            AsyncOpenAIChatProvider,
            openai.OpenAI,
            "AsyncOpenAIChatProvider takes an openai.AsyncOpenAI client, not OpenAI",
        ),
    ],
    ids=["sync", "async"],
)
def test_client_of_the_other_kind_is_refused(kind: Any, client: Any, problem: str) -> None:
    http_client: Any = httpx2.Client if client is openai.OpenAI else httpx2.AsyncClient

    with pytest.raises(ConfigurationError, match=problem):
        kind(client(api_key=API_KEY, http_client=http_client(verify=False)))


def _python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["tramapy", "tramapy.providers", "tramapy.testing", "tramapy.bounded"])
def test_import_pulls_in_no_sdk(module: str) -> None:
    loaded = _python(f"import sys, {module}; print([name for name in sys.modules if 'openai' in name])")

    assert loaded == "[]"


def test_missing_sdk_says_what_to_install() -> None:
    printed = _python(
        "import sys; sys.modules['openai'] = None\n"
        "try:\n import tramapy.providers.openai_chat\nexcept ImportError as error: print(error)"
    )

    assert printed == 'This provider needs the OpenAI SDK. Install it: pip install "tramapy[openai]"'


def test_providers_are_exported_lazily() -> None:
    printed = _python(
        "import sys, tramapy.providers as p; print('openai' in sys.modules); "
        "print(p.OpenAIChatProvider.__name__, p.AsyncOpenAIChatProvider.__name__)"
    )

    assert printed.split() == ["False", "OpenAIChatProvider", "AsyncOpenAIChatProvider"]
