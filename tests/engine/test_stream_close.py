"""Every way to leave a stream before its end closes the provider's, settles the permit and is told once."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.doubles import breaker_of
from tests.engine.stream_doubles import HoldBack, Opens, Source, Step, Steps, terminal_events
from tramapy import Chunk, CircuitBreakerSettings, ProviderError, Route, TextChunk
from tramapy.resilience.breaker import BreakerState, Permit
from tramapy.testing import ScriptedProvider


class Left(Exception):
    """What a consumer's body raises."""


def break_(stream: Any) -> None:
    with stream:
        for _ in stream:
            break


def return_(stream: Any) -> Chunk | None:
    with stream:
        for chunk in stream:
            return chunk
    return None


def raise_(stream: Any, error: type[BaseException] = Left) -> None:
    with stream:
        for _ in stream:
            raise error


def close(stream: Any) -> None:
    next(stream)
    stream.close()


def close_twice(stream: Any) -> None:
    close(stream)
    stream.close()


def leave_with(stream: Any) -> None:
    with stream:
        next(stream)


async def abreak(stream: Any) -> None:
    async with stream:
        async for _ in stream:
            break


async def areturn(stream: Any) -> Chunk | None:
    async with stream:
        async for chunk in stream:
            return chunk
    return None


async def araise(stream: Any, error: type[BaseException] = Left) -> None:
    async with stream:
        async for _ in stream:
            raise error


async def aclose(stream: Any) -> None:
    await anext(stream)
    await stream.aclose()


async def aclose_twice(stream: Any) -> None:
    await aclose(stream)
    await stream.aclose()


async def aleave_with(stream: Any) -> None:
    async with stream:
        await anext(stream)


Way = tuple[Callable[[Any], Any], Callable[[Any], Awaitable[Any]], str, type[BaseException] | None]

WAYS: dict[str, Way] = {
    "break": (break_, abreak, "closed", None),
    "return": (return_, areturn, "closed", None),
    "exception": (raise_, araise, "closed", Left),
    "interrupt": (
        lambda stream: raise_(stream, KeyboardInterrupt),
        lambda stream: araise(stream, KeyboardInterrupt),
        "cancelled",
        KeyboardInterrupt,
    ),
    "close": (close, aclose, "closed", None),
    "close-twice": (close_twice, aclose_twice, "closed", None),
    "leaving-with": (leave_with, aleave_with, "closed", None),
}


def leave(driver: Driver, rig: Rig, way: str) -> str:
    """Take a stream's first piece and leave; returns the reason that the events must give."""
    on_thread, on_loop, reason, error = WAYS[way]

    async def main() -> None:
        await on_loop(rig.tramapy.stream(HELLO, model="m"))

    with contextlib.nullcontext() if error is None else pytest.raises(error):
        driver.run(main) if driver.is_async else on_thread(rig.tramapy.stream(HELLO, model="m"))
    return reason


def assert_told_once(rig: Rig, reason: str) -> None:
    """Check that the attempt and the operation ended once, without an outcome."""
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert rig.attributes_of("attempt.cancelled")[0]["cancel_reason"] == reason
    assert rig.names.count("operation.completed") == 1
    assert rig.names[-1] == "operation.completed"
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "cancelled"


@pytest.mark.parametrize("way", WAYS)
def test_cancel_18_leaving_early_ends_the_stream_once(driver: Driver, way: str) -> None:
    provider = ScriptedProvider(["one two three"])
    rig = driver.rig(provider)
    reason = leave(driver, rig, way)
    assert_told_once(rig, reason)
    assert provider.open_stream_count == 0


@pytest.mark.parametrize("way", WAYS)
def test_cancel_18_leaving_early_closes_a_generator(driver: Driver, way: str) -> None:
    provider = Steps(["one ", "two"])
    rig = driver.rig({"p": provider})
    leave(driver, rig, way)
    assert provider.open_count == 0


@pytest.mark.parametrize("way", WAYS)
def test_cancel_18_leaving_early_frees_a_probes_place(driver: Driver, way: str) -> None:
    rig = driver.rig(
        [ProviderError("no", counts_on_breaker=True), "one two three"],
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1, open_duration_s=30.0),
    )
    with pytest.raises(ProviderError):
        rig.stream()
    rig.clock.advance(30.0)
    leave(driver, rig, way)
    breaker = breaker_of(rig)
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert isinstance(breaker.admit("p"), Permit)
    assert rig.names.count("circuit.opened") == 1
    assert "circuit.closed" not in rig.names


@pytest.mark.parametrize("way", WAYS)
def test_cancel_18_leaving_early_drops_what_dlp_holds(driver: Driver, way: str) -> None:
    dlp = HoldBack()
    rig = driver.rig([["one sec", "ret"]], dlp=dlp)
    leave(driver, rig, way)
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)


def test_rt141_a_consumer_that_takes_one_piece_cleans_up_and_touches_no_fallback(driver: Driver) -> None:
    provider, backup = ScriptedProvider(["one two"]), ScriptedProvider(["fine"])
    rig = driver.rig({"p": provider, "q": backup}, default_provider="p", fallbacks={"m": [Route("q")]})
    assert len(rig.stream(take=1)) == 1
    assert provider.open_stream_count == 0
    assert_told_once(rig, "closed")
    assert backup.requests == ()


def test_an_iteration_after_close_is_over(driver: Driver) -> None:
    rig = driver.rig(["one two three"])
    stream = rig.tramapy.stream(HELLO, model="m")
    rest: list[Chunk] = []

    async def main() -> None:
        await aclose(stream)
        rest.extend([chunk async for chunk in stream])

    if driver.is_async:
        driver.run(main)
    else:
        close(stream)
        rest.extend(stream)
    assert rest == []
    assert stream.response is None


def test_closing_a_stream_at_its_end_changes_nothing(driver: Driver) -> None:
    rig = driver.rig(["one"])
    rig.stream()
    assert terminal_events(rig.names) == ["attempt.completed"]
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "success"


def test_closing_a_whole_response_before_its_pieces_are_taken_drops_them(driver: Driver) -> None:
    """Buffered: the operation has succeeded when the first piece comes out."""
    rig = driver.rig(["one two"], dlp=HoldBack(), stream_dlp="buffer")
    leave(driver, rig, "break")
    assert terminal_events(rig.names) == ["attempt.completed"]
    assert rig.names.count("operation.completed") == 1


def test_closing_a_stream_that_never_started_says_nothing(driver: Driver) -> None:
    provider = ScriptedProvider(["one"])
    rig = driver.rig(provider)

    async def main() -> None:
        async with rig.tramapy.stream(HELLO, model="m") as stream:
            await stream.aclose()

    if driver.is_async:
        driver.run(main)
    else:
        with rig.tramapy.stream(HELLO, model="m") as stream:
            stream.close()
    assert rig.names == []
    assert provider.requests == ()


def test_a_clock_that_fails_ends_the_operation_once(driver: Driver) -> None:
    class Breaks(Exception):
        pass

    def fail(_: float) -> None:
        raise Breaks

    rig = driver.rig([ProviderError("no", retryable=True)])
    rig.clock.sleep = fail  # type: ignore[method-assign]  # a clock that fails
    rig.clock.asleep = fail  # type: ignore[method-assign, assignment]  # the same
    with pytest.raises(Breaks):
        rig.stream()
    assert terminal_events(rig.names) == ["attempt.failed"]
    assert rig.names.count("operation.completed") == 1


def test_a_source_that_cannot_be_closed_is_left_alone(driver: Driver) -> None:
    class Bare:
        def __iter__(self) -> Any:
            return self

        __aiter__ = __iter__

        def __next__(self) -> Any:
            return next(source)

        async def __anext__(self) -> Any:
            return await anext(source)

    source = Source("one ", "two")
    rig = driver.rig({"p": Opens(Bare)})
    assert len(rig.stream(take=1)) == 1
    assert_told_once(rig, "closed")


def test_a_failure_to_close_does_not_reach_the_consumer_who_left(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("canary-7f3a91c2")

    rig = driver.rig({"p": Opens(lambda: Source("one ", "two", on_close=fail))})
    assert len(rig.stream(take=1)) == 1
    assert_told_once(rig, "closed")
    assert "error_type=OSError" in caplog.text
    assert "canary" not in caplog.text


def test_cancel_21_a_stream_may_be_closed_from_another_task(async_driver: Driver) -> None:
    provider = Steps(["one ", "two"])
    rig = async_driver.rig({"p": provider})

    async def main() -> None:
        stream = rig.tramapy.stream(HELLO, model="m")
        await anext(stream)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.aclose)
        assert [chunk async for chunk in stream] == []

    async_driver.run(main)
    assert_told_once(rig, "closed")
    assert provider.open_count == 0


def test_a_stream_may_be_read_by_one_task_after_another(async_driver: Driver) -> None:
    rig = async_driver.rig(["one two three"])
    chunks: list[Chunk] = []

    async def main() -> None:
        async with rig.tramapy.stream(HELLO, model="m") as stream:

            async def take() -> None:
                chunks.append(await anext(stream))

            for _ in range(4):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(take)

    async_driver.run(main)
    assert len(chunks) == 4
    assert terminal_events(rig.names) == ["attempt.completed"]


def tidy_up() -> None:
    """Be a provider's clean-up that is interrupted."""
    raise KeyboardInterrupt


class Interrupted(Steps):
    """Its generators are interrupted while they are closed."""

    def _run(self, steps: list[Step]) -> Iterator[Chunk]:
        try:
            yield TextChunk("one ")
            yield TextChunk("two")
        finally:
            tidy_up()

    async def _arun(self, steps: list[Step]) -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("one ")
            yield TextChunk("two")
        finally:
            tidy_up()


@pytest.mark.parametrize(
    ("leave", "aleave"),
    [(close, aclose), (break_, abreak), (return_, areturn)],
    ids=["close", "break", "return"],
)
def test_an_exit_while_closing_leaves_without_frames(driver: Driver, leave: Any, aleave: Any) -> None:
    rig = driver.rig({"p": Interrupted([])})
    stream = rig.tramapy.stream(HELLO, model="m")
    with pytest.raises(KeyboardInterrupt) as caught:
        driver.run(lambda: aleave(stream)) if driver.is_async else leave(stream)
    frames = {frame.name for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert "_close" in frames
    assert not {"tidy_up", "close_source"} & frames, frames
    assert getattr(caught.value.__context__, "__traceback__", None) is None
