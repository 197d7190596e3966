"""One way to ask each provider on a plain thread, on asyncio and on trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest

from tramapy.errors import ProviderError
from tramapy.hooks.provider import Provider
from tramapy.messages import Chunk, Message, ModelRequest, ModelResponse
from tramapy.providers import (
    AnthropicMessagesProvider,
    AsyncAnthropicMessagesProvider,
    AsyncOpenAIChatProvider,
    AsyncOpenAIResponsesProvider,
    OpenAIChatProvider,
    OpenAIResponsesProvider,
)
from tramapy.testing import ScriptedAnswer, ScriptedServer

HELLO = ModelRequest(model="m", messages=(Message.user("hello"),))
API_KEY = "plainly-fake-api-key"


@dataclass(frozen=True, kw_only=True)
class Format:
    """A wire format: its path, and a provider and an SDK client for each kind of caller."""

    name: str
    path: str
    provider: Any
    async_provider: Any
    client: Any
    async_client: Any
    events_to_text: int
    """How many events of a stream come until the first piece of text has."""

    def base_url(self, server: ScriptedServer) -> str:
        """Return what the client takes as its `base_url`."""
        return server.root_url if self.client is anthropic.Anthropic else server.base_url


CHAT = Format(
    name="chat",
    path="/v1/chat/completions",
    provider=OpenAIChatProvider,
    async_provider=AsyncOpenAIChatProvider,
    client=openai.OpenAI,
    async_client=openai.AsyncOpenAI,
    events_to_text=2,
)
RESPONSES = Format(
    name="responses",
    path="/v1/responses",
    provider=OpenAIResponsesProvider,
    async_provider=AsyncOpenAIResponsesProvider,
    client=openai.OpenAI,
    async_client=openai.AsyncOpenAI,
    events_to_text=5,
)
MESSAGES = Format(
    name="messages",
    path="/v1/messages",
    provider=AnthropicMessagesProvider,
    async_provider=AsyncAnthropicMessagesProvider,
    client=anthropic.Anthropic,
    async_client=anthropic.AsyncAnthropic,
    events_to_text=3,
)
FORMATS = (CHAT, RESPONSES, MESSAGES)


class World:
    """`sync`, `asyncio` or `trio`: a provider over the real SDK and a scripted server."""

    def __init__(self, name: str, wire: Format = CHAT) -> None:
        self.name = name
        self.wire = wire

    def __repr__(self) -> str:
        return f"{self.wire.name}-{self.name}"

    def complete(
        self, server: ScriptedServer, request: ModelRequest = HELLO, **options: Any
    ) -> ModelResponse:
        """Ask once."""
        return self.ask(server, [lambda provider: _complete(provider, request)], **options)[0]

    def stream(self, server: ScriptedServer, request: ModelRequest = HELLO, **options: Any) -> list[Chunk]:
        """Ask once, and take the whole stream."""
        return self.ask(server, [lambda provider: _stream(provider, request)], **options)[0]

    def failure(
        self,
        answer: ScriptedAnswer,
        *,
        is_stream: bool = False,
        request: ModelRequest = HELLO,
        **options: Any,
    ) -> ProviderError:
        """Return the error that an answer ends in, and make sure that it was asked for once."""
        ask = self.stream if is_stream else self.complete
        with ScriptedServer([answer]) as server:
            with pytest.raises(ProviderError) as caught:
                ask(server, request, **options)
            server.wait_for_requests(1)
            assert len(server.requests) == 1
        return caught.value

    def ask(
        self, server: ScriptedServer, steps: list[Callable[[Any], Awaitable[Any]]], **options: Any
    ) -> list[Any]:
        """Run steps, each a coroutine function of the provider, with one client."""
        # the key stands in no variable: an error's frames are searched for it
        client_options = options.pop("client_options", {})
        if "base_url" not in client_options:
            client_options = {"base_url": self.wire.base_url(server), **client_options}
        if "http_client" not in client_options:
            # without certificates, which take 100 ms to load
            kind = httpx2.Client if self.name == "sync" else httpx2.AsyncClient
            client_options = {"http_client": kind(verify=False, timeout=60), **client_options}
        if self.name == "sync":
            with self.wire.client(api_key=API_KEY, **client_options) as client:
                provider = self.wire.provider(client, **options)
                return [_stepped(step(provider)) for step in steps]

        async def main() -> list[Any]:
            async with self.wire.async_client(api_key=API_KEY, **client_options) as client:
                provider = self.wire.async_provider(client, **options)
                return [await step(provider) for step in steps]

        return anyio.run(main, backend=self.name)


async def _complete(provider: Any, request: ModelRequest) -> ModelResponse:
    if isinstance(provider, Provider):
        return provider.complete(request)
    return await provider.acomplete(request)


async def _stream(provider: Any, request: ModelRequest) -> list[Chunk]:
    if isinstance(provider, Provider):
        with closing(provider.stream(request)) as chunks:
            return list(chunks)
    async with aclosing(provider.astream(request)) as chunks:
        return [chunk async for chunk in chunks]


def _stepped(step: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        step.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a sync step waited")


WORLDS = [World(name, wire) for wire in FORMATS for name in ("sync", "asyncio", "trio")]


@pytest.fixture(params=WORLDS, ids=repr)
def world(request: pytest.FixtureRequest) -> World:
    """Every world in every format."""
    found: World = request.param
    return found


every_format = pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: wire.name)


complete = _complete
stream = _stream
