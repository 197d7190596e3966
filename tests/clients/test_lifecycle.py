"""Closing, dropping and cancelling: of clients, and of streams."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx2
import openai
import pytest

from tests.clients.worlds import API_KEY, SDK_LEAVES_GENERATORS, Use, World, go, items_of, text_of
from tramapy import Fallback, wrap
from tramapy.testing import Gate, HttpRejection, ScriptedServer, SlowAnswer

pytestmark = SDK_LEAVES_GENERATORS


async def first_text(stream: Any) -> str:
    """Take items until the first with text."""
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            text = _text(item)
            if text:
                return text
    for item in stream:
        text = _text(item)
        if text:
            return text
    raise AssertionError("no text")


def _text(item: Any) -> str:
    if hasattr(item, "choices"):
        return item.choices[0].delta.content or ""
    return getattr(getattr(item, "delta", None), "text", "")


def test_closing_the_wrapped_client_leaves_the_other_open(any_world: World) -> None:
    async def step(use: Use) -> None:
        await use.ask()
        await go(use.client.close())
        assert use.client.is_closed()
        expected: list[type[BaseException]] = []
        for client in (use.client, use.client.with_options(timeout=3)):
            with pytest.raises((RuntimeError, any_world.sdk.APIConnectionError)) as caught:
                await use.ask(client=client)
            expected.append(type(caught.value))
        assert await use.ask(client=use.bare) == "two"
        await go(use.bare.close())
        with pytest.raises(tuple(expected)):
            await use.ask(client=use.bare)

    any_world.use(["one", "two"], step)


def test_closing_the_source_closes_the_wrapped_one(any_world: World) -> None:
    async def step(use: Use) -> None:
        await go(use.bare.close())
        with pytest.raises((RuntimeError, any_world.sdk.APIConnectionError)):
            await use.ask()
        assert use.server.requests == ()

    any_world.use([], step)


def test_a_client_that_nobody_else_holds_stays_open() -> None:
    with ScriptedServer(["one", "two"]) as server:
        options: dict[str, Any] = {"api_key": API_KEY, "base_url": server.base_url}
        client = wrap(openai.OpenAI(**options))
        source = weakref.ref(client._client.tramapy_source)
        gc.collect()
        messages: Any = [{"role": "user", "content": "x"}]
        assert (
            client.chat.completions.create(model="m", messages=messages).choices[0].message.content == "one"
        )
        copy = client.with_options(timeout=3)
        del client
        assert copy.chat.completions.create(model="m", messages=messages).choices[0].message.content == "two"
        assert source() is not None
        del copy
        gc.collect()
        assert source() is None
        server.wait_for_no_connection()


def test_a_stream_that_is_left_early_is_closed(any_world: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        if any_world.is_async:
            async with stream:
                assert await first_text(stream)
        else:
            with stream:
                assert await first_text(stream)
        use.server.wait_for_abandoned(1)
        assert use.names[-2:] == ["attempt.cancelled", "operation.completed"]
        assert use.observer.attributes_of("tramai.attempt.cancelled")[0]["cancel_reason"] == "closed"
        await go(stream.close())  # again, to no effect
        gate.release()

    any_world.use([SlowAnswer(gate=gate, answer="one two three", after_events=6)], step)


def test_an_answer_that_is_never_read_is_closed(any_world: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        await go(stream.close())
        use.server.wait_for_abandoned(1)
        assert use.names[-1] == "operation.completed"
        gate.release()

    any_world.use([SlowAnswer(gate=gate, answer="one two three", after_events=6)], step)


def test_a_stream_that_is_dropped_is_told_of(any_world: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        del stream
        gc.collect()
        assert use.names[-2:] == ["attempt.cancelled", "operation.completed"]
        gate.release()

    any_world.use([SlowAnswer(gate=gate, answer="one two three", after_events=6)], step)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
@pytest.mark.parametrize("name", ["asyncio", "trio"])
def test_a_cancellation_passes_and_closes(name: str, vendor: str, is_stream: bool) -> None:
    gate = Gate()
    world = World(name, vendor)

    async def step(use: Use) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def cancel() -> None:
                    await anyio.to_thread.run_sync(gate.wait_until_reached)
                    scope.cancel()

                group.start_soon(cancel)
                if is_stream:
                    await use.stream()
                else:
                    await use.ask()
                raise AssertionError("it was not cancelled")
        assert scope.cancelled_caught
        use.server.wait_for_abandoned(1)
        assert use.names[-2:] == ["attempt.cancelled", "operation.completed"]
        assert use.observer.attributes_of("tramai.attempt.cancelled")[0]["cancel_reason"] == "cancelled"
        gate.release()

    world.use([SlowAnswer(gate=gate, answer="one two three", after_events=6)], step)


@pytest.mark.parametrize("name", ["asyncio", "trio"])
def test_a_cancellation_between_two_pieces_is_one(name: str) -> None:
    gate = Gate()
    world = World(name)

    async def step(use: Use) -> None:
        with anyio.CancelScope() as scope:
            async with await go(use.create(stream=True)) as stream:
                assert await first_text(stream)
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert use.observer.attributes_of("tramai.attempt.cancelled")[0]["cancel_reason"] == "cancelled"
        gate.release()

    world.use([SlowAnswer(gate=gate, answer="one two three", after_events=6)], step)


class ClosedWithin(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body of chat chunks; before the second one somebody closes the stream that is being read."""

    def __init__(self) -> None:
        self.stream: Any = None
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield self.chunk("one ")
        self.stream.close()
        yield self.chunk("two ")
        yield self.chunk("three ")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.chunk("one ")
        await self.stream.close()
        yield self.chunk("two ")
        yield self.chunk("three ")

    def chunk(self, text: str) -> bytes:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def test_a_stream_that_is_closed_while_it_is_read_ends_with_that_reader(world: World) -> None:
    body = ClosedWithin()

    async def step(use: Use) -> None:
        body.stream = stream = await go(use.create(stream=True))
        assert text_of(await items_of(stream)) == "one "
        assert body.is_closed
        assert use.names[-2:] == ["attempt.cancelled", "operation.completed"]
        assert use.observer.attributes_of("tramai.attempt.cancelled")[0]["cancel_reason"] == "closed"

    world.use_stub([httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=body)], step)


def test_the_connection_serves_again_after_a_stream(world: World) -> None:
    async def step(use: Use) -> None:
        assert await use.stream() == "one two"
        assert await use.stream() == "one two"
        assert await use.ask() == "one"
        assert use.server.connection_count == (1 if world.is_async else 3)

    world.use(["one two", "one two", "one"], step)


def test_keep_alives_do_no_harm(world: World) -> None:
    from tests.clients.test_ungovernable import opaque_stream

    body: Any = opaque_stream().body
    frames = b": ping\n\n" + body.replace(b'"opaque":true,', b"").replace(
        b"data: [", b": ping\r\n\r\ndata: ["
    )

    class KeptAlive:
        def steps(self, exchange: Any) -> Any:
            from tramapy.testing import RawBody

            yield from RawBody(body=frames, headers={"content-type": "text/event-stream"}).steps(exchange)

    async def step(use: Use) -> None:
        assert await use.stream() == "x"

    world.use([KeptAlive()], step)


def test_the_source_s_hooks_and_headers_hold(world: World) -> None:
    seen: list[str] = []

    def hook(request: httpx2.Request) -> None:
        seen.append(request.url.path)

    async def ahook(request: httpx2.Request) -> None:
        seen.append(request.url.path)

    kind: Any = httpx2.AsyncClient if world.is_async else httpx2.Client
    source = kind(
        verify=False,
        headers={"x-of-the-source": "1"},
        event_hooks={"request": [ahook if world.is_async else hook]},
    )

    async def step(use: Use) -> None:
        assert await use.ask("secret") == "ok"
        assert seen == ["/v1/chat/completions"]
        assert use.server.requests[0].headers["x-of-the-source"] == "1"

    world.use(["ok"], step, client_options={"http_client": source})


def test_what_a_hook_writes_into_a_request_stays_with_one_attempt(world: World) -> None:
    def hook(request: httpx2.Request) -> None:
        request.headers["x-seen"] = request.headers.get("x-seen", "") + "1"
        request.url = request.url.copy_add_param("key", "plainly-fake")

    async def ahook(request: httpx2.Request) -> None:
        hook(request)

    kind: Any = httpx2.AsyncClient if world.is_async else httpx2.Client
    source = kind(verify=False, event_hooks={"request": [ahook if world.is_async else hook]})

    async def step(use: Use) -> None:
        with ScriptedServer(["ok"]) as other_server:
            other = world.bare(world.url(other_server))
            client = wrap(use.bare, fallbacks={"m": [Fallback(other)]}, clock=use.clock)
            assert await use.ask("hi", client=client) == "ok"
            assert [(each.headers["x-seen"], each.query) for each in use.server.requests] == [
                ("1", "key=plainly-fake")
            ] * 2
            assert other_server.requests[0].query == ""
            await go(other.close())

    failures = [HttpRejection(status=500)] * 2
    world.use(failures, step, client_options={"http_client": source, "max_retries": 1})


def test_the_source_s_auth_cookies_mounts_and_redirects_hold(world: World) -> None:
    moved, answered = [], []
    body = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}],
    }

    def move(request: httpx2.Request) -> httpx2.Response:
        moved.append(request.headers)
        headers = {
            "location": "http://mounted.test/v1/chat/completions",
            "set-cookie": "given=2",
        }
        return httpx2.Response(307, headers=headers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        answered.append(json.loads(request.content))
        return httpx2.Response(200, json=body)

    kind: Any = httpx2.AsyncClient if world.is_async else httpx2.Client
    source = kind(
        transport=httpx2.MockTransport(move),
        mounts={"http://mounted.test": httpx2.MockTransport(answer)},
        auth=("user", "plainly-fake"),
        cookies={"own": "1"},
        follow_redirects=True,
    )

    async def step(use: Use) -> None:
        assert await use.ask("hello") == "ok"
        assert use.names.count("attempt.started") == 1

    options = {"http_client": source, "base_url": "http://source.test/v1"}
    world.use([], step, client_options=options)
    assert len(moved) == len(answered) == 1
    assert moved[0]["authorization"].startswith("Basic ")
    assert moved[0]["cookie"] == "own=1"
    assert answered[0]["messages"][0]["content"] == "hello"
    assert source.cookies.get("given") == "2"


def test_the_source_s_proxy_holds(world: World) -> None:
    """A server that is no proxy answers 404 to the whole URL; without it the host would not be found at all."""
    kind: Any = httpx2.AsyncClient if world.is_async else httpx2.Client
    with ScriptedServer() as proxy:
        source = kind(proxy=proxy.root_url, verify=False)

        async def step(use: Use) -> None:
            with pytest.raises(world.sdk.NotFoundError):
                await use.ask()

        options = {"http_client": source, "base_url": "http://source.invalid/v1"}
        world.use([], step, client_options=options)
