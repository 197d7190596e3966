"""Time in a stream: a limit for the first piece, a clock check for the others, none over the consumer's turn."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from typing import Any

import anyio
import pytest

from tests.drivers import HELLO, Driver, Rig, text_of
from tests.engine.doubles import OnRequest, breaker_of, retries
from tests.engine.stream_doubles import Opens, Source, Steps
from tests.engine.virtual_time import LoopClock, run_virtually
from tramapy import (
    Chunk,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    CompletedChunk,
    DeadlineExceededError,
    EngineEventObserver,
    ModelResponse,
    ProviderError,
    ProviderTimeoutError,
    RuntimeEvent,
    TramapyError,
)
from tramapy.resilience.breaker import BreakerState

DONE = CompletedChunk(ModelResponse())


def waits(delay_s: float) -> Callable[[], Awaitable[None]]:
    """Make a step that takes time of the event loop's."""
    return lambda: anyio.sleep(delay_s)


class Timed:
    """One stream on a loop whose time jumps: what came, what it raised, and how long it took."""

    def __init__(
        self, driver: Driver, provider: Any, *, between_s: float = 0.0, before_s: float = 0.0, **settings: Any
    ) -> None:
        self.chunks: list[Chunk] = []
        self.error: TramapyError | None = None
        self.elapsed_s = math.nan
        self.inner_deadlines: set[float] = set()
        settings.setdefault("retry", retries(0))
        self.rig: Rig = driver.rig({"p": provider}, clock=LoopClock(), **settings)
        self._before_s, self._between_s = before_s, between_s
        run_virtually(driver.name, self._main)

    async def _main(self) -> None:
        started_s = anyio.current_time()
        try:
            async with self.rig.tramapy.stream(HELLO, model="m") as stream:
                await anyio.sleep(self._before_s)
                async for chunk in stream:
                    self.chunks.append(chunk)
                    self.inner_deadlines.add(anyio.current_effective_deadline())
                    await anyio.sleep(self._between_s)
        except TramapyError as error:
            self.error = error
        self.elapsed_s = anyio.current_time() - started_s


def test_the_first_piece_has_timeout_s(async_driver: Driver) -> None:
    provider = Steps([waits(100.0), "late", DONE])
    timed = Timed(async_driver, provider, timeout_s=10.0)
    assert isinstance(timed.error, ProviderTimeoutError)
    assert timed.error.retryable
    assert timed.elapsed_s == pytest.approx(10.0)
    assert timed.chunks == []
    assert provider.open_count == 0
    assert timed.rig.attributes_of("attempt.failed")[0]["failure_kind"] == "timeout"


def test_a_first_piece_that_is_late_is_retried(async_driver: Driver) -> None:
    provider = Steps([waits(100.0), "late", DONE], ["fine", DONE])
    timed = Timed(async_driver, provider, timeout_s=10.0, retry=retries(1))
    assert text_of(timed.chunks) == "fine"
    assert timed.elapsed_s == pytest.approx(10.05)


@pytest.mark.parametrize("open_s", [6.0, 60.0], ids=["then-the-piece", "itself"])
def test_a_source_that_is_awaited_uses_up_the_same_limit(async_driver: Driver, open_s: float) -> None:
    async def open_source() -> Source:
        await anyio.sleep(open_s)
        return Source(waits(6.0), "late", DONE)

    timed = Timed(async_driver, Opens(open_source), timeout_s=10.0)
    assert isinstance(timed.error, ProviderTimeoutError)
    assert timed.elapsed_s == pytest.approx(10.0)


def test_no_limit_is_open_while_the_consumer_has_the_turn(async_driver: Driver) -> None:
    timed = Timed(async_driver, Steps(["one ", "two", DONE]), timeout_s=10.0, deadline_s=20.0)
    assert timed.inner_deadlines == {math.inf}


def test_the_consumers_time_does_not_count_for_timeout_s(async_driver: Driver) -> None:
    provider = Steps([waits(8.0), "one ", waits(8.0), "two", DONE])
    timed = Timed(async_driver, provider, timeout_s=10.0, before_s=50.0, between_s=50.0)
    assert timed.error is None
    assert text_of(timed.chunks) == "one two"


def test_the_consumers_time_does_not_count_for_deadline_s(async_driver: Driver) -> None:
    provider = Steps([waits(8.0), "one ", waits(8.0), "two", DONE])
    timed = Timed(async_driver, provider, deadline_s=20.0, before_s=50.0, between_s=50.0)
    assert timed.error is None


def test_the_deadline_bounds_the_first_piece(async_driver: Driver) -> None:
    timed = Timed(async_driver, Steps([waits(100.0), "late", DONE]), timeout_s=50.0, deadline_s=20.0)
    assert isinstance(timed.error, DeadlineExceededError)
    assert timed.elapsed_s == pytest.approx(20.0)


def test_without_limits_a_stream_takes_what_it_takes(async_driver: Driver) -> None:
    timed = Timed(async_driver, Steps([waits(1000.0), "one", waits(1000.0), DONE]), timeout_s=None)
    assert timed.error is None
    assert timed.elapsed_s == pytest.approx(2000.0)


def test_a_later_piece_has_a_clock_check(driver: Driver) -> None:
    provider = Steps(["one ", lambda: rig.clock.advance(11.0), "late", DONE])
    rig = driver.rig({"p": provider}, timeout_s=10.0, retry=retries(1))
    chunks: list[Chunk] = []
    with pytest.raises(ProviderTimeoutError, match=r"timeout_s=10\.0"):
        rig.stream(into=chunks)
    assert text_of(chunks) == "one "
    assert provider.open_count == 0
    assert len(provider.requests) == 1


@pytest.mark.parametrize("timeout_s", [10.0, None])
def test_a_later_piece_in_time_passes(driver: Driver, timeout_s: float | None) -> None:
    provider = Steps(["one ", lambda: rig.clock.advance(10.0), "two", DONE])
    rig = driver.rig({"p": provider}, timeout_s=timeout_s)
    assert text_of(rig.stream()) == "one two"


def test_the_deadline_is_checked_between_pieces(driver: Driver) -> None:
    provider = Steps(["one ", lambda: rig.clock.advance(30.0), "two ", "three", DONE])
    rig = driver.rig({"p": provider}, timeout_s=60.0, deadline_s=20.0)
    chunks: list[Chunk] = []
    with pytest.raises(DeadlineExceededError):
        rig.stream(into=chunks)
    assert text_of(chunks) == "one two ", "the piece that was under way is not thrown away"
    assert provider.open_count == 0
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "deadline"
    assert rig.attributes_of("operation.completed")[0]["failure_kind"] == "deadline"


def test_a_deadline_that_passed_before_the_provider_was_called_calls_nobody(driver: Driver) -> None:
    provider = Steps(["one", DONE])
    hook = OnRequest(lambda messages: rig.clock.advance(30.0) or messages)
    rig = driver.rig({"p": provider}, deadline_s=20.0, interceptors=[hook])
    with pytest.raises(DeadlineExceededError):
        rig.stream()
    assert provider.requests == []


def consume(driver: Driver, rig: Rig, between: Callable[[], None]) -> None:
    """Take a stream to its end, and do something at each turn of the consumer's."""
    stream = rig.tramapy.stream(HELLO, model="m")
    between()

    async def main() -> None:
        async for _ in stream:
            between()

    if driver.is_async:
        driver.run(main)
        return
    for _ in stream:
        between()


def test_durations_leave_out_the_consumers_time(driver: Driver) -> None:
    provider = Steps([lambda: rig.clock.advance(2.0), "one ", lambda: rig.clock.advance(3.0), "two", DONE])
    rig = driver.rig({"p": provider})
    consume(driver, rig, lambda: rig.clock.advance(100.0))
    (completed,) = rig.attributes_of("attempt.completed")
    assert (completed["first_chunk_millis"], completed["duration_millis"]) == (2000, 5000)
    assert rig.attributes_of("operation.completed")[0]["duration_millis"] == 5000


class Pace(EngineEventObserver):
    """Takes note of the pieces of streams; `failure` is raised each time."""

    hears_chunks = True

    def __init__(self, failure: BaseException | None = None) -> None:
        self.gaps: list[tuple[object, float]] = []
        self._failure = failure

    def on_stream_chunk(self, event: RuntimeEvent, gap_s: float) -> None:
        self.gaps.append((event.attribute("attempt"), gap_s))
        if self._failure is not None:
            raise self._failure


def test_the_time_of_each_piece_after_the_first_is_told_without_the_consumers(driver: Driver) -> None:
    pace = Pace()
    provider = Steps(
        [
            *("one ", lambda: rig.clock.advance(2.0)),
            *("two ", lambda: rig.clock.advance(3.0)),
            *("three", lambda: rig.clock.advance(5.0), DONE),
        ]
    )
    rig = driver.rig({"p": provider}, event_observers=[pace])
    consume(driver, rig, lambda: rig.clock.advance(100.0))
    assert pace.gaps == [(0, 2.0), (0, 3.0)]


def test_an_observer_of_pieces_that_fails_changes_nothing_but_a_cancellation(driver: Driver) -> None:
    pace = Pace(ValueError("x"))
    rig = driver.rig(["one two three"], event_observers=[pace])
    assert text_of(rig.stream()) == "one two three"
    assert len(pace.gaps) == 2
    with pytest.raises(CancelledError):
        driver.rig(["one two"], event_observers=[Pace(CancelledError())]).stream()


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_durations_leave_out_the_turn_in_which_the_consumer_left(leave: str) -> None:
    rig = Driver("sync").rig(["one two"])
    stream = rig.tramapy.stream(HELLO, model="m")
    next(stream)
    rig.clock.advance(100.0)
    if leave == "close":
        stream.close()
    else:
        with pytest.warns(ResourceWarning):
            del stream
    assert rig.attributes_of("attempt.cancelled")[0]["duration_millis"] == 0


def test_a_slow_consumer_does_not_make_a_slow_provider(driver: Driver) -> None:
    window = CircuitBreakerWindow(size_calls=1, minimum_calls=1, slow_call_duration_s=10.0)
    rig = driver.rig(["one two"], circuit_breaker=CircuitBreakerSettings(window=window))
    consume(driver, rig, lambda: rig.clock.advance(100.0))
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_a_slow_provider_is_one(driver: Driver) -> None:
    window = CircuitBreakerWindow(size_calls=1, minimum_calls=1, slow_call_duration_s=10.0)
    provider = Steps(["one ", lambda: rig.clock.advance(11.0), "two", DONE])
    rig = driver.rig({"p": provider}, circuit_breaker=CircuitBreakerSettings(window=window))
    consume(driver, rig, lambda: None)
    assert breaker_of(rig).state("p") is BreakerState.OPEN


def test_a_thread_hands_the_limit_to_the_transport() -> None:
    provider = Steps(["one", DONE])
    rig = Driver("sync").rig({"p": provider}, timeout_s=10.0, deadline_s=4.0)
    rig.stream()
    assert provider.requests[0].timeout_s == 4.0


def test_a_timeout_inside_the_provider_is_not_ours(async_driver: Driver) -> None:
    async def inner() -> None:
        with anyio.fail_after(1.0):
            await anyio.sleep(5.0)

    timed = Timed(async_driver, Steps([inner, "one", DONE]), timeout_s=10.0)
    assert type(timed.error) is ProviderError
    assert "raised TimeoutError" in str(timed.error)
