"""Time, and connections: no answer of a provider takes longer than it may, or leaves one open."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import openai
import pytest

from tests.providers.worlds import API_KEY, FORMATS, HELLO, Format, World, complete, every_format, stream
from tramapy.errors import (
    ProviderError,
    ProviderTimeoutError,
)
from tramapy.hooks.provider import Provider
from tramapy.messages import (
    TextChunk,
)
from tramapy.providers.openai_chat import AsyncOpenAIChatProvider
from tramapy.testing import (
    FakeClock,
    Gate,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    OversizedBody,
    RawBody,
    ScriptedAnswer,
    ScriptedServer,
    ServerRequest,
    SlowAnswer,
)

plain_and_stream = pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])


@plain_and_stream
@pytest.mark.parametrize("after_events", [None, 1], ids=["before", "within"])
def test_transports_timeout_is_a_provider_timeout(
    world: World, is_stream: bool, after_events: int | None
) -> None:
    # nothing ever comes, so the short real time decides nothing
    fault = SlowAnswer(gate=Gate(), after_events=after_events)
    error = world.failure(fault, is_stream=is_stream, request=HELLO.replace(timeout_s=0.3))

    assert isinstance(error, ProviderTimeoutError)
    assert (error.retryable, error.counts_on_breaker) == (True, True)


@plain_and_stream
def test_answer_that_trickles_past_its_timeout_is_a_provider_timeout(world: World, is_stream: bool) -> None:
    clock = FakeClock()

    def late(request: ServerRequest) -> str:
        clock.advance(30.5)
        return "late"

    error = world.failure(late, is_stream=is_stream, request=HELLO.replace(timeout_s=30.0), now_s=clock.now_s)

    assert isinstance(error, ProviderTimeoutError)
    assert str(error) == "The provider's answer took longer than timeout_s=30.0 to arrive."


def test_consumers_own_time_does_not_count(world: World) -> None:
    clock = FakeClock()
    request = HELLO.replace(timeout_s=30.0)
    gates = [Gate()]
    fault = SlowAnswer(gate=gates[0], answer="one two three", after_events=world.wire.events_to_text)

    async def slow_consumer(provider: Any) -> list[str]:
        seen: list[str] = []
        if isinstance(provider, Provider):
            for chunk in provider.stream(request):
                seen.append(type(chunk).__name__)
                clock.advance(100.0)
                gates[0].release()
            return seen
        async with aclosing(provider.astream(request)) as chunks:
            async for chunk in chunks:
                seen.append(type(chunk).__name__)
                clock.advance(100.0)
                gates[0].release()
        return seen

    with ScriptedServer([fault]) as server:
        (seen,) = world.ask(server, [slow_consumer], now_s=clock.now_s)
    assert seen == ["TextChunk"] * 3 + ["CompletedChunk"]


def test_stream_left_early_closes_its_connection(world: World) -> None:
    fault = SlowAnswer(gate=Gate(), answer="one two three", after_events=world.wire.events_to_text)

    async def leave(provider: Any) -> object:
        if isinstance(provider, Provider):
            chunks = provider.stream(HELLO)
            first = next(chunks)
            chunks.close()
            return first
        async with aclosing(provider.astream(HELLO)) as achunks:
            return await anext(achunks)

    async def look(provider: Any) -> None:
        server.wait_for_abandoned(1)
        server.wait_for_no_connection()

    with ScriptedServer([fault]) as server:
        first, _ = world.ask(server, [leave, look])
    assert first == TextChunk("one ")


def test_stream_that_is_dropped_closes_its_connection(world: World) -> None:
    fault = SlowAnswer(gate=Gate(), answer="one two three", after_events=world.wire.events_to_text)

    async def drop(provider: Any) -> None:
        if isinstance(provider, Provider):
            next(provider.stream(HELLO))
            gc.collect()
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # trio tells of generators that were dropped
            await anext(provider.astream(HELLO))
            gc.collect()
        await anyio.to_thread.run_sync(server.wait_for_no_connection)

    async def look(provider: Any) -> None:
        server.wait_for_abandoned(1)
        server.wait_for_no_connection()

    with ScriptedServer([fault]) as server:
        world.ask(server, [drop, look])


def test_stream_that_nobody_reads_sends_nothing(world: World) -> None:
    async def open_and_close(provider: Any) -> None:
        if isinstance(provider, Provider):
            provider.stream(HELLO).close()
        else:
            await provider.astream(HELLO).aclose()

    with ScriptedServer() as server:
        world.ask(server, [open_and_close])
        assert server.requests == ()


@plain_and_stream
@pytest.mark.parametrize("after_events", [None, 1], ids=["before", "within"])
@every_format
@pytest.mark.anyio
async def test_cancellation_passes_and_closes_the_connection(
    wire: Format, is_stream: bool, after_events: int | None
) -> None:
    gate = Gate()
    with ScriptedServer([SlowAnswer(gate=gate, after_events=after_events)]) as server:
        async with wire.async_client(
            base_url=wire.base_url(server),
            api_key=API_KEY,
            http_client=httpx2.AsyncClient(verify=False, timeout=60),
        ) as client:
            provider = wire.async_provider(client)
            async with anyio.create_task_group() as group:
                group.start_soon(complete if not is_stream else stream, provider, HELLO)
                await anyio.to_thread.run_sync(gate.wait_until_reached)
                group.cancel_scope.cancel()
            await anyio.to_thread.run_sync(server.wait_for_abandoned, 1)
            await anyio.to_thread.run_sync(server.wait_for_no_connection)


LIMIT = 100_000


FAILING: dict[str, tuple[ScriptedAnswer, bool]] = {
    "body": (RawBody(body=b"[]"), False),
    "rejection": (HttpRejection(status=500), False),
    "stream": (MalformedStream(answer="one two " * 200), True),
    "stream-error": (MidStreamError(answer="one two " * 200), True),
    "oversized": (OversizedBody(byte_count=LIMIT * 50), True),
    "oversized-rejection": (OversizedBody(byte_count=LIMIT * 50, status=500), True),
}


@pytest.mark.parametrize(("fault", "is_stream"), FAILING.values(), ids=FAILING.keys())
def test_failed_answer_leaves_its_connection_closed_or_free(
    world: World, fault: ScriptedAnswer, is_stream: bool
) -> None:
    limits = httpx2.Limits(max_connections=1)
    kind = httpx2.Client if world.name == "sync" else httpx2.AsyncClient
    ask = stream if is_stream else complete

    async def fail(provider: Any) -> None:
        with pytest.raises(ProviderError):
            await ask(provider, HELLO)

    with ScriptedServer([fault, "still there"]) as server:
        # with one connection at most, one that leaks makes the second request wait for ever
        _, answer = world.ask(
            server,
            [fail, lambda provider: complete(provider, HELLO)],
            limit_bytes=LIMIT,
            client_options={"http_client": kind(limits=limits, timeout=30, verify=False)},
        )
    assert answer.content == "still there"


def test_connection_serves_again_after_an_answer(world: World) -> None:
    with ScriptedServer(["one", "two"]) as server:
        world.ask(server, [lambda provider: complete(provider, HELLO)] * 2)
        assert server.connection_count == 1


@pytest.mark.parametrize(
    "world", [World(name, wire) for wire in FORMATS for name in ("asyncio", "trio")], ids=repr
)
def test_connection_serves_again_after_a_whole_stream(world: World) -> None:
    with ScriptedServer(["one", "two"]) as server:
        world.ask(
            server,
            [lambda provider: stream(provider, HELLO), lambda provider: complete(provider, HELLO)],
        )
        assert server.connection_count == 1


class LateEnd(httpx2.AsyncByteStream):
    """A streamed answer whose body ends some turns of the loop after its last event."""

    has_ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.has_ended = True


@pytest.mark.anyio
async def test_late_end_of_a_whole_stream_is_waited_for() -> None:
    body = LateEnd()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=body))
    http_client = httpx2.AsyncClient(transport=transport)
    async with openai.AsyncOpenAI(api_key=API_KEY, http_client=http_client) as client:
        chunks = [chunk async for chunk in AsyncOpenAIChatProvider(client).astream(HELLO)]

    assert (len(chunks), body.has_ended) == (1, True)
