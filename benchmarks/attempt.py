"""One governed attempt and one streamed chunk, beside the bare call and beside `tenacity` alone.

The governed call has 3 + 3 hooks, DLP without rules, the breaker, the retry policy, a timeout, a deadline and
an observer of every event. A provider of an event loop yields to it once, as any real call does: otherwise
the timers of finished calls pile up, which no program does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

import tenacity
import trio

from benchmarks.measure import AsyncRun, Run, abest_us, best_us, row
from tramapy import (
    AsyncProvider,
    AsyncTramapy,
    Chunk,
    CircuitBreakerSettings,
    CompletedChunk,
    EngineEventObserver,
    Message,
    ModelRequest,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    Provider,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    RuntimeEvent,
    TextChunk,
    Tramapy,
)

CALLS = 150
CHUNKS = 500
ANSWER = ModelResponse(content="a plain answer")
LONG_ANSWER = ModelResponse(content="word " * CHUNKS)
MESSAGES = (Message.user("a plain question"),)
REQUEST = ModelRequest(model="m", messages=MESSAGES)


class Plain(Provider):
    def complete(self, request: ModelRequest) -> ModelResponse:
        return ANSWER

    def stream(self, request: ModelRequest) -> Iterator[Chunk]:
        for _ in range(CHUNKS):
            yield TextChunk("word ")
        yield CompletedChunk(LONG_ANSWER)


class Looped(AsyncProvider):
    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        self._pause = pause

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        await self._pause()
        return ANSWER

    async def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for _ in range(CHUNKS):
            yield TextChunk("word ")
        yield CompletedChunk(LONG_ANSWER)


class PassThrough(OperationInterceptor):
    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        return messages

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        return response


class Counting(EngineEventObserver):
    def __init__(self) -> None:
        self.count = 0

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        self.count += 1


def governed() -> dict[str, Any]:
    return {
        "interceptors": [PassThrough(), PassThrough(), PassThrough()],
        "dlp": RuleBasedDlpInterceptor(RuleBasedDlpConfiguration()),
        "event_observers": [Counting()],
        "circuit_breaker": CircuitBreakerSettings(),
        "timeout_s": 30.0,
        "deadline_s": 60.0,
    }


def sync_us() -> dict[str, float]:
    """Return CPU times of the sync attempt, and of the asyncio ones in turn with it, which its bar is scaled by."""
    provider = Plain()
    facade = Tramapy({"p": provider}, **governed())

    def bare(calls: int) -> None:
        for _ in range(calls):
            provider.complete(REQUEST)

    def tramapy(calls: int) -> None:
        for _ in range(calls):
            facade.complete(MESSAGES, model="m")

    with asyncio.Runner() as runner:

        def on_asyncio(run: AsyncRun) -> Run:
            async def calls_of(calls: int) -> None:
                await run(calls)

            return lambda calls: runner.run(calls_of(calls))

        beside = {
            f"asyncio {name}": on_asyncio(run) for name, run in async_candidates(_asyncio_pause).items()
        }
        return best_us({"bare": bare, "tramapy": tramapy, **beside}, CALLS)


def async_candidates(pause: Callable[[], Awaitable[None]]) -> dict[str, AsyncRun]:
    """Return the bare call, tenacity's and ours, each in a loop."""
    provider = Looped(pause)
    facade = AsyncTramapy({"p": provider}, **governed())
    retrying = tenacity.retry(stop=tenacity.stop_after_attempt(3))(provider.acomplete)

    async def bare(calls: int) -> None:
        for _ in range(calls):
            await provider.acomplete(REQUEST)

    async def tenacity_alone(calls: int) -> None:
        for _ in range(calls):
            await retrying(REQUEST)

    async def tramapy(calls: int) -> None:
        for _ in range(calls):
            await facade.complete(MESSAGES, model="m")

    return {"bare": bare, "tenacity": tenacity_alone, "tramapy": tramapy}


async def async_us(pause: Callable[[], Awaitable[None]]) -> dict[str, float]:
    """Return CPU times on the event loop that runs."""
    return await abest_us(async_candidates(pause), CALLS)


async def chunk_us(pause: Callable[[], Awaitable[None]]) -> float:
    provider = Looped(pause)
    facade = AsyncTramapy({"p": provider}, event_observers=[Counting()], timeout_s=30.0, deadline_s=60.0)

    async def bare(calls: int) -> None:
        async for _ in provider.astream(REQUEST):
            pass

    async def tramapy(calls: int) -> None:
        async with facade.stream(MESSAGES, model="m") as chunks:
            async for _ in chunks:
                pass

    figures = await abest_us({"bare": bare, "tramapy": tramapy}, CHUNKS)
    return figures["tramapy"] - figures["bare"]


def sync_chunk_us() -> float:
    provider = Plain()
    facade = Tramapy({"p": provider}, event_observers=[Counting()], timeout_s=30.0, deadline_s=60.0)

    def bare(calls: int) -> None:
        for _ in provider.stream(REQUEST):
            pass

    def tramapy(calls: int) -> None:
        with facade.stream(MESSAGES, model="m") as chunks:
            for _ in chunks:
                pass

    figures = best_us({"bare": bare, "tramapy": tramapy}, CHUNKS)
    return figures["tramapy"] - figures["bare"]


async def _asyncio_pause() -> None:
    await asyncio.sleep(0)


def main() -> None:
    """Print the attempt and the chunk on every backend; bars are scaled by tenacity's figure in the same run."""
    print("Attempt: CPU above the bare call (bars are for a machine where tenacity alone costs 24.5 us)")
    figures = sync_us()
    on_asyncio = {
        name: figures[f"asyncio {name}"] - figures["asyncio bare"] for name in ("tenacity", "tramapy")
    }
    on_threads = figures["tramapy"] - figures["bare"]
    base = on_asyncio["tenacity"]
    scale = base / 24.5
    print(row("tenacity alone, asyncio", base, "us"))
    ours = on_asyncio["tramapy"]
    print(row("tramapy, asyncio", ours, "us", round(25 * scale, 1), f"{ours / base:.2f} x tenacity"))
    ratio = f"{on_threads / base:.2f} x tenacity"
    print(row("tramapy, sync", on_threads, "us", round(15 * scale, 1), ratio))
    print(row("tramapy, trio over asyncio", _trio_us() / _asyncio_us(), "x", 1.6))
    print("Stream chunk without rules: CPU above the bare iteration")
    print(row("asyncio", asyncio.run(chunk_us(_asyncio_pause)), "us", round(6 * scale, 1)))
    print(row("trio", trio.run(chunk_us, trio.lowlevel.checkpoint), "us", round(6 * scale, 1)))
    print(row("sync", sync_chunk_us(), "us", round(6 * scale, 1)))


def _trio_us() -> float:
    figures = trio.run(async_us, trio.lowlevel.checkpoint)
    return figures["tramapy"] - figures["bare"]


def _asyncio_us() -> float:
    figures = asyncio.run(async_us(_asyncio_pause))
    return figures["tramapy"] - figures["bare"]


if __name__ == "__main__":
    main()
