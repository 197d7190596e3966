"""A stream that is dropped without closing: a warning, one end, the permit back, nothing left running."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import anyio
import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.doubles import breaker_of
from tests.engine.stream_doubles import HoldBack, Opens, ScopeLog, Source, Steps
from tests.engine.test_stream_close import assert_told_once
from tramapy import CircuitBreakerSettings, ProviderError
from tramapy.resilience.breaker import BreakerState, Permit
from tramapy.testing import ScriptedProvider


def drop(driver: Driver, rig: Rig, *, take: int = 1) -> list[warnings.WarningMessage]:
    """Take some pieces of a stream, forget it, and return the warnings about it."""

    async def main() -> list[warnings.WarningMessage]:
        stream = rig.tramapy.stream(HELLO, model="m")
        for _ in range(take):
            await anext(stream)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del stream
            gc.collect()
            await anyio.lowlevel.checkpoint()
        return caught

    def on_thread() -> list[warnings.WarningMessage]:
        stream = rig.tramapy.stream(HELLO, model="m")
        for _ in range(take):
            next(stream)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del stream
            gc.collect()
        return caught

    dropped: list[warnings.WarningMessage] = driver.run(main) if driver.is_async else on_thread()
    return dropped


def test_cancel_20_a_dropped_stream_warns_and_ends_once(driver: Driver) -> None:
    rig = driver.rig(["one two three"])
    (warning,) = drop(driver, rig)
    assert warning.category is ResourceWarning
    assert "was dropped before its end" in str(warning.message)
    assert ("aclose()" if driver.is_async else "close()") in str(warning.message)
    assert_told_once(rig, "abandoned")


def test_cancel_20_a_dropped_stream_frees_a_probes_place(driver: Driver) -> None:
    rig = driver.rig(
        [ProviderError("no", counts_on_breaker=True), "one two"],
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(ProviderError):
        rig.stream()
    rig.clock.advance(30.0)
    drop(driver, rig)
    breaker = breaker_of(rig)
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert isinstance(breaker.admit("p"), Permit)


def test_cancel_20_a_dropped_stream_drops_what_dlp_holds(driver: Driver) -> None:
    dlp = HoldBack()
    drop(driver, driver.rig([["one sec", "ret"]], dlp=dlp))
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)


def test_cancel_20_a_dropped_stream_leaves_no_scope_open(driver: Driver) -> None:
    scopes = ScopeLog()
    drop(driver, driver.rig(["one two"], event_observers=[scopes]))
    assert scopes.entered_count > 0
    assert scopes.depth == 0


def test_cancel_20_a_dropped_stream_closes_the_providers_on_a_thread() -> None:
    driver = Driver("sync")
    provider = ScriptedProvider(["one two"])
    drop(driver, driver.rig(provider))
    assert provider.open_stream_count == 0


def test_cancel_20_a_dropped_stream_leaves_a_generator_to_the_loops_finalizer(async_driver: Driver) -> None:
    """Nothing can be awaited in a finalizer; asyncio and trio end the generators that they know themselves."""
    provider = Steps(["one ", "two"])
    drop(async_driver, async_driver.rig({"p": provider}))
    assert provider.open_count == 0


def test_cancel_20_a_dropped_stream_makes_no_coroutine_of_an_async_close(async_driver: Driver) -> None:
    class Vendor(Source):
        async def close(self) -> None:  # type: ignore[override]  # as openai's stream has it
            raise AssertionError("nobody awaits this")

    warned = drop(async_driver, async_driver.rig({"p": Opens(lambda: Vendor("one ", "two"))}))
    assert [warning.category for warning in warned] == [ResourceWarning]


def test_a_source_without_close_may_be_dropped() -> None:
    class Bare:
        def __init__(self) -> None:
            self._source = Source("one ", "two")

        def __next__(self) -> Any:
            return next(self._source)

    driver = Driver("sync")
    rig = driver.rig({"p": Opens(Bare)})
    drop(driver, rig)
    assert_told_once(rig, "abandoned")


def test_a_source_that_fails_to_close_is_told_by_type(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("canary-7f3a91c2")

    driver = Driver("sync")
    rig = driver.rig({"p": Opens(lambda: Source("one ", "two", on_close=fail))})
    drop(driver, rig)
    assert_told_once(rig, "abandoned")
    assert "error_type=OSError" in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.parametrize("take", [0, 4], ids=["never-started", "at-its-end"])
def test_dropping_a_stream_that_has_nothing_open_says_nothing(driver: Driver, take: int) -> None:
    rig = driver.rig(["one two three"])
    assert drop(driver, rig, take=take) == []
    assert "attempt.cancelled" not in rig.names


def test_dropping_a_stream_that_failed_says_nothing(driver: Driver) -> None:
    rig = driver.rig([["one ", ProviderError("no")]])
    with pytest.raises(ProviderError):
        drop(driver, rig, take=2)
    gc.collect()
    assert "attempt.cancelled" not in rig.names


def test_a_stream_whose_construction_failed_can_be_collected(driver: Driver) -> None:
    rig = driver.rig(["one"])
    kind = type(rig.tramapy.stream(HELLO, model="m"))
    kind.__new__(kind).__del__()


def test_an_error_and_its_stream_do_not_keep_each_other_alive(driver: Driver) -> None:
    """Then a failed stream is freed at once, and not at some later collection."""
    rig = driver.rig([lambda request: ["one ", ProviderError("no")]])
    left: list[int] = []

    async def main() -> None:
        with pytest.raises(ProviderError):
            async for _ in rig.tramapy.stream(HELLO, model="m"):
                pass
        left.append(_stream_count())

    gc.collect()
    gc.disable()
    try:
        before = _stream_count()
        if driver.is_async:
            driver.run(main)
        else:
            with pytest.raises(ProviderError):
                list(rig.tramapy.stream(HELLO, model="m"))
            left.append(_stream_count())
    finally:
        gc.enable()
    assert left == [before]


def _stream_count() -> int:
    return sum(type(thing).__name__ in {"EngineStream", "StreamAttempt"} for thing in gc.get_objects())
