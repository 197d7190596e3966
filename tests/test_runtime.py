"""The ports and the stepping of a coroutine on a thread, where no operation leads to it."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from tests.drivers import HELLO, Driver
from tests.engine.doubles import OnRequest
from tramapy import ConfigurationError, DeadlineExceededError, ProviderError, runtime
from tramapy.runtime import SystemClock, detached, run_sync
from tramapy.testing import ScriptedProvider


def test_a_coroutine_that_waits_is_refused_on_a_thread_and_closed() -> None:
    ended: list[type[BaseException]] = []

    async def suspends() -> None:
        try:
            await asyncio.sleep(0)
        except BaseException as error:
            ended.append(type(error))
            raise

    with pytest.raises(ConfigurationError, match="use AsyncTramapy"):
        run_sync(suspends())
    assert ended == [GeneratorExit]


def test_an_awaitable_that_cannot_be_closed_is_refused_on_a_thread() -> None:
    class Future:
        def __await__(self) -> Any:
            raise AssertionError("nobody awaits this")

    rig = Driver("sync").rig(["one"], interceptors=[OnRequest(lambda _: Future())])
    with pytest.raises(ConfigurationError, match="returned an awaitable"):
        rig.complete()


def test_the_system_clock_is_monotonic_and_sleeps(driver: Driver) -> None:
    clock = SystemClock()
    before = clock.now_s()

    async def main() -> None:
        await clock.asleep(0.0)

    driver.run(main) if driver.is_async else clock.sleep(0.0)
    assert clock.now_s() >= before


def test_a_whole_answer_may_be_without_a_limit(async_driver: Driver) -> None:
    provider = ScriptedProvider(["one"])
    rig = async_driver.rig(provider, timeout_s=None)
    assert rig.complete(HELLO).content == "one"
    assert provider.requests[0].timeout_s is None


def test_an_error_is_detached_from_its_frames_and_its_chain() -> None:
    def fail() -> None:
        try:
            raise ValueError("inner")
        except ValueError:
            raise ProviderError("no") from KeyError("cause")

    with pytest.raises(ProviderError) as caught:
        fail()
    error = detached(caught.value)
    assert error is caught.value
    assert error.__traceback__ is error.__cause__ is error.__context__ is None


def test_our_own_causes_stay_and_are_detached_too() -> None:
    cause = ProviderError("first")
    cause.__context__ = ValueError("inner")
    error = DeadlineExceededError("late")
    error.__cause__ = cause
    detached(error)
    assert error.__cause__ is cause
    assert cause.__context__ is None


def test_a_ring_of_causes_ends() -> None:
    first, second = ProviderError("first"), ProviderError("second")
    first.__cause__, second.__cause__ = second, first
    assert detached(first) is first


def test_a_cancellation_keeps_the_one_that_it_was_raised_for() -> None:
    """So anyio's scope knows it for its own; anything else that led to it goes."""
    first, second = asyncio.CancelledError(), asyncio.CancelledError()
    first.__context__ = ValueError("inner")
    second.__context__ = first
    detached(second)
    assert second.__context__ is first
    assert first.__context__ is None


def test_a_cancellation_raised_anew_is_still_its_scopes(async_driver: Driver) -> None:
    async def renews(_: object) -> Any:
        scopes[0].cancel()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            raise asyncio.CancelledError  # noqa: B904  # as futures and queues do

    scopes: list[anyio.CancelScope] = []
    rig = async_driver.rig([renews])

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await rig.tramapy.complete(HELLO, model="m")
        assert scope.cancelled_caught

    async_driver.run(main)


@pytest.mark.parametrize(("version", "may_be_wrong"), [((3, 12), True), ((3, 13), False)], ids=str)
def test_a_count_of_cancellations_is_doubted_before_3_13_only(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], may_be_wrong: bool
) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0)).cancel()
            raise OSError

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(main())
    monkeypatch.setattr(runtime.sys, "version_info", version)
    is_doubted = runtime._miscounts(caught.value)
    monkeypatch.undo()
    assert is_doubted is may_be_wrong
