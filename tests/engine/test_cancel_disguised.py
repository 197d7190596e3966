"""Cancellations in disguise: what a provider makes of one, and what only looks like one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys

import anyio
import pytest
import trio

from tests.drivers import HELLO, Driver
from tests.engine.doubles import retries
from tramapy import (
    AsyncProvider,
    AsyncTramapy,
    CircuitBreakerSettings,
    Message,
    ModelRequest,
    ModelResponse,
    OperationInterceptor,
    ProviderError,
    ProviderTimeoutError,
    Route,
    TextChunk,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import RecordingObserver, ScriptedProvider

ASYNCIO = Driver("asyncio")


class Calling(AsyncProvider):
    """Answers with an async function."""

    def __init__(self, answer) -> None:
        self.answer = answer
        self.count = 0

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        self.count += 1
        return await self.answer()


class Streaming(AsyncProvider):
    """Streams with an async generator function."""

    def __init__(self, source) -> None:
        self.source = source
        self.count = 0

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        raise AssertionError("not asked for")

    def astream(self, request: ModelRequest):
        self.count += 1
        return self.source()


async def overloaded() -> None:
    await asyncio.sleep(0)
    raise ProviderError("overloaded", retryable=True)


async def in_a_failing_group() -> ModelResponse:
    async with asyncio.TaskGroup() as group:
        group.create_task(overloaded())
        group.create_task(asyncio.sleep(3600))
    raise AssertionError("the group failed")


async def translated_from_a_failing_group() -> ModelResponse:
    try:
        return await in_a_failing_group()
    except* ProviderError as failures:
        raise ProviderError("down", retryable=True) from failures.exceptions[0]


@pytest.mark.parametrize("answer", [in_a_failing_group, translated_from_a_failing_group])
def test_a_task_group_that_fails_is_a_failure_and_no_cancellation(answer) -> None:
    async def main() -> None:
        provider, backup = Calling(answer), ScriptedProvider(["from b"])
        tramapy = AsyncTramapy(
            {"a": provider, "b": backup},
            default_provider="a",
            fallbacks={"m": [Route("b")]},
            retry=retries(0),
        )
        response = await tramapy.complete(HELLO, model="m")
        assert response.content == "from b"
        assert provider.count == 1

    ASYNCIO.run(main)


def test_a_stream_that_fails_in_a_task_group_falls_back() -> None:
    async def source():
        await in_a_failing_group()
        yield TextChunk("never")

    async def main() -> None:
        tramapy = AsyncTramapy(
            {"a": Streaming(source), "b": ScriptedProvider(["from b"])},
            default_provider="a",
            fallbacks={"m": [Route("b")]},
            retry=retries(0),
        )
        async with tramapy.stream(HELLO, model="m") as stream:
            assert "".join([chunk.text async for chunk in stream if isinstance(chunk, TextChunk)]) == "from b"

    ASYNCIO.run(main)


def test_an_interceptor_whose_task_group_fails_is_an_interceptor_error() -> None:
    class Failing(OperationInterceptor):
        async def intercept_request(self, context, messages):
            await in_a_failing_group()

    from tramapy import InterceptorError

    rig = ASYNCIO.rig(["x"], interceptors=[Failing()])
    with pytest.raises(InterceptorError):
        rig.complete()


async def _ends():
    yield TextChunk("a ")
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(3600)


def test_a_source_that_takes_the_callers_cancel_for_its_end_opens_no_circuit() -> None:
    observer = RecordingObserver()

    async def main() -> None:
        tramapy = AsyncTramapy(
            {"p": Streaming(_ends)},
            circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
            event_observers=[observer],
        )

        async def read() -> None:
            async with tramapy.stream(HELLO, model="m") as stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(read())
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert tramapy._pipeline.breaker.state("p") is BreakerState.CLOSED

    ASYNCIO.run(main)
    assert "tramai.attempt.cancelled" in observer.names
    assert "tramai.attempt.failed" not in observer.names


async def _grouped() -> ModelResponse:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError as error:
        raise BaseExceptionGroup("cleanup", [error, ValueError()]) from None
    raise AssertionError


async def _alone() -> ModelResponse:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError as error:
        raise BaseExceptionGroup("cleanup", [error]) from None
    raise AssertionError


async def _of_a_pool() -> ModelResponse:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        raise concurrent.futures.CancelledError from None
    raise AssertionError


async def _converted() -> ModelResponse:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        raise ValueError from None
    raise AssertionError


@pytest.mark.parametrize(
    "answer", [_grouped, _alone, _of_a_pool, _converted], ids=lambda answer: answer.__name__
)
def test_whatever_a_provider_makes_of_a_limits_cancel_is_the_timeout(answer) -> None:
    async def main() -> None:
        provider = Calling(answer)
        tramapy = AsyncTramapy({"p": provider}, retry=retries(1), timeout_s=0.001)
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(ProviderTimeoutError):
            await tramapy.complete(HELLO, model="m")
        assert provider.count == 2
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    ASYNCIO.run(main)


def test_a_source_that_takes_the_limits_cancel_for_its_end_is_a_timeout() -> None:
    async def source():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        return
        yield

    rig = ASYNCIO.rig({"p": Streaming(source)}, retry=retries(0), timeout_s=0.001)
    with pytest.raises(ProviderTimeoutError):
        rig.stream()


def test_an_exit_in_the_tick_of_a_limit_stays_an_exit() -> None:
    async def answer() -> ModelResponse:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise BaseExceptionGroup("g", [GeneratorExit()]) from None
        raise AssertionError

    rig = ASYNCIO.rig({"p": Calling(answer)}, timeout_s=0.001)
    with pytest.raises(GeneratorExit):
        rig.complete()


def test_a_close_that_swallows_the_callers_cancel_is_not_followed_by_a_retry() -> None:
    class Source:
        def __aiter__(self):
            return self

        async def __anext__(self):
            raise ProviderError("down", retryable=True)

        async def aclose(self) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

    async def main() -> None:
        provider = Streaming(Source)
        tramapy = AsyncTramapy({"p": provider}, retry=retries(3))

        async def read() -> None:
            async with tramapy.stream([Message.user("x")], model="m") as stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(read())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert provider.count == 1

    ASYNCIO.run(main)


def test_trio_as_a_guest_of_asyncio_works_as_trio() -> None:
    async def on_trio() -> str:
        tramapy = AsyncTramapy({"p": ScriptedProvider(["hi", "a b"])}, timeout_s=5.0)
        content = (await tramapy.complete(HELLO, model="m")).content
        async with tramapy.stream(HELLO, model="m") as stream:
            chunks = [chunk async for chunk in stream]
        assert chunks
        return content

    async def main() -> str:
        done: asyncio.Future = asyncio.get_running_loop().create_future()
        trio.lowlevel.start_guest_run(
            on_trio,
            run_sync_soon_threadsafe=asyncio.get_running_loop().call_soon_threadsafe,
            done_callback=done.set_result,
            host_uses_signal_set_wakeup_fd=True,
        )
        return (await done).unwrap()

    assert asyncio.run(main()) == "hi"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the count is one too high before 3.13")
def test_a_provider_that_handles_its_group_leaves_the_count_alone() -> None:
    async def answer() -> ModelResponse:
        with contextlib.suppress(ExceptionGroup):
            await in_a_failing_group()
        return ModelResponse(content="well")

    assert ASYNCIO.rig({"p": Calling(answer)}).complete().content == "well"


def test_breaker_stays_closed_on_a_scope_cancel_that_ends_a_source() -> None:
    async def main() -> BreakerState:
        async def source():
            yield TextChunk("a ")
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                return

        tramapy = AsyncTramapy(
            {"p": Streaming(source)}, circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
        )
        with anyio.move_on_after(0.001) as scope:
            async with tramapy.stream(HELLO, model="m") as stream:
                async for _ in stream:
                    pass
        assert scope.cancelled_caught
        return tramapy._pipeline.breaker.state("p")

    for name in ("asyncio", "trio"):
        assert Driver(name).run(main) is BreakerState.CLOSED
