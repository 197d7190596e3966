"""The providers over the real SDKs and a scripted server: answers, requests, and whose client it is."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import openai
import pytest

from tests.providers.worlds import API_KEY, HELLO, MESSAGES, RESPONSES, Format, World, complete, every_format
from tramapy.errors import ConfigurationError, ProviderError
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
from tramapy.providers.openai_chat import OpenAIChatProvider
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
    "text": ModelResponse(content="one two", model="m", response_id="r1"),
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


def as_read(answer: ModelResponse, wire: Format) -> ModelResponse:
    """Return an answer as its format can say it."""
    if wire is not MESSAGES:
        return answer
    if answer.refusal is not None:
        # it stands among the text, and only the reason tells
        answer = answer.replace(
            content=answer.refusal, refusal=None, finish_reason=FinishReason.CONTENT_FILTER
        )
    has_usage = answer.usage.input_tokens is not None
    return answer if has_usage else answer.replace(usage=TokenUsage(input_tokens=0, output_tokens=0))


@every_answer
def test_answer_is_read_whole(world: World, answer: ModelResponse) -> None:
    with ScriptedServer([answer]) as server:
        assert world.complete(server) == as_read(answer, world.wire)
        assert server.requests[0].path == world.wire.path


@every_answer
def test_stream_ends_with_the_same_response(world: World, answer: ModelResponse) -> None:
    with ScriptedServer([answer]) as server:
        *pieces, last = world.stream(server)

    answer = as_read(answer, world.wire)
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


every_kept_answer = pytest.mark.parametrize(
    ("store", "sent"),
    [(False, {"store": False}), (True, {"store": True}), (None, {})],
    ids=["not", "kept", "as-the-provider-likes"],
)


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
    assert sent.body == SENT[world.wire.name] | (STREAMED[world.wire.name] if is_stream else {})
    assert re.match(r"(Async)?(OpenAI|Anthropic)/", sent.headers["user-agent"])
    assert sent.headers["x-stainless-retry-count"] == "0"


SENT: dict[str, dict[str, object]] = {
    "chat": {
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
    },
    "responses": {
        "model": "m",
        "input": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "what?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
                ],
            },
        ],
        "temperature": 0.5,
        "max_output_tokens": 99,
        "store": False,
    },
    "messages": {
        "model": "m",
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "what?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
                    },
                ],
            },
        ],
        "temperature": 0.5,
        "max_tokens": 99,
    },
}
STREAMED: dict[str, dict[str, object]] = {
    "chat": {"stream": True, "stream_options": {"include_usage": True}},
    "responses": {"stream": True},
    "messages": {"stream": True},
}


@pytest.mark.parametrize("world", [World("sync", MESSAGES), World("trio", MESSAGES)], ids=repr)
def test_long_answer_is_asked_for_without_a_timeout_too(world: World) -> None:
    # the SDK wants a stream for that many, unless it is told a timeout
    with ScriptedServer(["x"]) as server:
        world.complete(server, default_max_output_tokens=100_000)

    assert server.requests[0].body["max_tokens"] == 100_000


@pytest.mark.parametrize("world", [World("sync", MESSAGES), World("asyncio", MESSAGES)], ids=repr)
def test_client_without_credentials_is_the_callers_mistake(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    kind, client_kind = (
        (world.wire.provider, world.wire.client)
        if world.name == "sync"
        else (world.wire.async_provider, world.wire.async_client)
    )
    client = client_kind(base_url="http://127.0.0.1:9")
    client.api_key = None

    async def ask() -> None:
        await complete(kind(client), HELLO)

    with pytest.raises(ProviderError, match=r"refused the call \(TypeError\).*credentials") as caught:
        anyio.run(ask, backend="asyncio")
    assert (caught.value.retryable, caught.value.counts_on_breaker) == (False, False)


@every_kept_answer
def test_whether_responses_are_kept_is_asked_for(store: bool | None, sent: dict[str, object]) -> None:
    with ScriptedServer(["x"]) as server:
        World("sync", RESPONSES).complete(server, store=store)

    assert {name: value for name, value in server.requests[0].body.items() if name == "store"} == sent


def test_clients_own_retries_are_off(world: World) -> None:
    world.failure(HttpRejection(status=500), client_options={"max_retries": 5})  # asks once, or fails


def test_stream_is_complete_at_its_end_mark_even_if_the_body_does_not_end(world: World) -> None:
    # all events have come when the server stands at the gate, which nobody releases
    fault = SlowAnswer(gate=Gate(), answer=ANSWERS["text"], after_events=99)
    with ScriptedServer([fault]) as server:
        assert world.stream(server)[-1] == CompletedChunk(as_read(ANSWERS["text"], world.wire))


def test_stream_is_complete_at_its_end_mark_whatever_follows(world: World) -> None:
    class Chatty:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            *steps, end = PlainAnswer(ANSWERS["text"]).steps(exchange)
            return iter([*steps, SendBytes(b": bye\n\n"), SendBytes(b"data: garbage\n\n"), end])

    with ScriptedServer([Chatty()]) as server:
        assert world.stream(server)[-1] == CompletedChunk(as_read(ANSWERS["text"], world.wire))


@plain_and_stream
def test_request_that_does_not_fit_the_format_is_the_callers_mistake(world: World, is_stream: bool) -> None:
    request = HELLO.replace(messages=[*HELLO.messages, Message(role=Message.tool("", tool_call_id="").role)])
    with ScriptedServer() as server:
        with pytest.raises(ConfigurationError, match=r"messages\[1\] is a TOOL message without tool_call_id"):
            (world.stream if is_stream else world.complete)(server, request)
        assert server.requests == ()


@every_format
def test_callers_client_is_left_as_it_is(wire: Format) -> None:
    seen: list[str] = []
    http_client = httpx2.Client(
        headers={"x-own": "1"}, event_hooks={"request": [lambda request: seen.append(request.url.path)]}
    )
    with (
        ScriptedServer(["one", HttpRejection(status=500, headers={"retry-after-ms": "1"}), "two"]) as server,
        wire.client(
            base_url=wire.base_url(server), api_key=API_KEY, http_client=http_client, max_retries=4
        ) as client,
    ):
        provider = wire.provider(client)
        assert provider.complete(HELLO).content == "one"
        del provider
        gc.collect()
        assert client.max_retries == 4
        # its own retries are on, and its HTTP client is open
        answer = client.post(
            wire.path.removeprefix("" if wire is MESSAGES else "/v1"), body={"model": "m"}, cast_to=object
        )
        assert "two" in json.dumps(answer)

    assert [request.headers["x-own"] for request in server.requests] == ["1"] * 3
    assert seen == [wire.path] * 3


@every_format
def test_source_client_is_kept_alive(wire: Format) -> None:
    with ScriptedServer(["one"]) as server:
        client = wire.client(base_url=wire.base_url(server), api_key=API_KEY)
        provider = wire.provider(client)
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


@every_format
def test_capabilities_are_all(wire: Format) -> None:
    assert wire.provider.capabilities == frozenset(ProviderCapability)
    assert wire.async_provider.capabilities == frozenset(ProviderCapability)


@every_format
def test_client_of_the_other_kind_is_refused(wire: Format) -> None:
    http_client = httpx2.Client(verify=False)
    ahttp_client = httpx2.AsyncClient(verify=False)
    vendor = "anthropic" if wire is MESSAGES else "openai"
    for kind, client, wanted in (
        (wire.provider, wire.async_client(api_key=API_KEY, http_client=ahttp_client), wire.client),
        (wire.async_provider, wire.client(api_key=API_KEY, http_client=http_client), wire.async_client),
    ):
        other = wire.async_provider if kind is wire.provider else wire.provider
        given = type(client).__name__
        problem = (
            f"^{kind.__name__} takes an {vendor}.{wanted.__name__} client; client is of type {given}: "
            f"use {other.__name__}$"
        )
        with pytest.raises(ConfigurationError, match=problem):
            kind(client)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"limit_bytes": None}, "limit_bytes takes an int, not NoneType"),
        ({"limit_bytes": True}, "limit_bytes takes an int, not bool"),
        ({"limit_bytes": "9"}, "limit_bytes takes an int, not str"),
        ({"limit_bytes": 0}, "limit_bytes is 0; it must be at least 1"),
        (
            {"limit_bytes": -(10**5000)},
            "limit_bytes is an int of 16610 bits; it must be at least 1",
        ),
        ({"now_s": 5}, "now_s is of type int; give a function that returns seconds, or leave it out"),
        ({"now_epoch_s": None}, "now_epoch_s is of type NoneType; give a function that returns seconds"),
    ],
)
@every_format
def test_a_wrong_option_is_named_at_construction(
    wire: Format, options: dict[str, Any], complaint: str
) -> None:
    for kind in (wire.provider, wire.async_provider):
        with pytest.raises(ConfigurationError, match=f"^{complaint}"):
            kind(None, **options)


@pytest.mark.parametrize(
    ("wire", "options", "complaint"),
    [
        (
            MESSAGES,
            {"default_max_output_tokens": None},
            "default_max_output_tokens is of type NoneType; give",
        ),
        (MESSAGES, {"default_max_output_tokens": True}, "default_max_output_tokens is of type bool; give"),
        (MESSAGES, {"default_max_output_tokens": 0}, "default_max_output_tokens is 0; it must be at least 1"),
        (RESPONSES, {"store": "yes"}, "store is of type str; give True, False or None"),
    ],
    ids=["none", "bool", "zero", "store"],
)
def test_a_wrong_option_of_one_format_is_named_too(
    wire: Format, options: dict[str, Any], complaint: str
) -> None:
    for kind in (wire.provider, wire.async_provider):
        with pytest.raises(ConfigurationError, match=f"^{complaint}"):
            kind(None, **options)


def _python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["tramapy", "tramapy.providers", "tramapy.testing", "tramapy.bounded"])
def test_import_pulls_in_no_sdk(module: str) -> None:
    loaded = _python(
        f"import sys, {module}; print([name for name in sys.modules if name in ('openai', 'anthropic')])"
    )

    assert loaded == "[]"


@pytest.mark.parametrize(
    ("sdk", "title", "module"),
    [
        ("openai", "OpenAI", "openai_chat"),
        ("openai", "OpenAI", "openai_responses"),
        ("anthropic", "Anthropic", "anthropic_messages"),
    ],
    ids=["chat", "responses", "messages"],
)
def test_missing_sdk_says_what_to_install(sdk: str, title: str, module: str) -> None:
    printed = _python(
        f"import sys; sys.modules[{sdk!r}] = None\n"
        f"try:\n import tramapy.providers.{module}\nexcept ImportError as error: print(error)"
    )

    assert printed == f"This provider needs the {title} SDK. Install it with: pip install 'tramapy[{sdk}]'"


def test_providers_are_exported_lazily_and_without_the_other_sdk() -> None:
    printed = _python(
        "import sys, tramapy.providers as p; print('openai' in sys.modules); "
        "print(p.OpenAIChatProvider.__name__, 'anthropic' in sys.modules)"
    )

    assert printed.split() == ["False", "OpenAIChatProvider", "False"]
