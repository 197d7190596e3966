"""Behaviour 24 of cancellation: what an exception group from below stands for."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.drivers import HELLO, Driver
from tests.engine.cancelling import Cancel, Canceller
from tests.engine.doubles import (
    Diagnostics,
    down,
    retries,
)
from tests.engine.stream_doubles import terminal_events
from tests.engine.test_cancellation import call, kinds
from tramapy import AsyncTramapy
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a91c2"


class Groups:
    """A provider that fails in several ways while it is cancelled."""

    def __init__(self) -> None:
        self.cancel: Cancel = lambda: None

    async def by_hand(self, _: object) -> Any:
        self.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as cancelled:
            inner = BaseExceptionGroup("in", [cancelled, ValueError(CANARY)])
            raise BaseExceptionGroup(CANARY, [inner, down()]) from None

    async def by_task_group(self, _: object) -> Any:
        async def fail_when_cancelled() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError(CANARY)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_when_cancelled)
            await anyio.lowlevel.checkpoint()
            self.cancel()
            await anyio.sleep_forever()


@kinds
@pytest.mark.parametrize("how", ["by_hand", "by_task_group"])
def test_cancel_24_a_cancellation_in_a_group_wins(canceller: Canceller, kind: str, how: str) -> None:
    groups = Groups()
    provider = ScriptedProvider([getattr(groups, how), "late"])
    diagnostics = Diagnostics()
    rig = canceller.driver.rig(provider, retry=retries(2), diagnostic_observers=[diagnostics])

    async def body(cancel: Cancel) -> Any:
        groups.cancel = cancel
        return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.is_cancelled
    assert isinstance(outcome.raised, canceller.error_type), "the failures beside it are left behind"
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert len(provider.requests) == 1
    assert_no_canary(CANARY, outcome.raised, rig.observer.events)


def test_cancel_24_several_cancellations_stay_a_group_of_them(driver: Driver) -> None:
    both = BaseExceptionGroup(CANARY, [KeyboardInterrupt(), ValueError(CANARY), SystemExit()])
    rig = driver.rig([both])
    caught: list[BaseException] = []
    try:
        rig.complete()
    except* (KeyboardInterrupt, SystemExit) as group:
        caught.append(group)
    (found,) = caught
    assert isinstance(found, BaseExceptionGroup)
    assert [type(error) for error in found.exceptions] == [KeyboardInterrupt, SystemExit]
    assert_no_canary(CANARY, found)


@kinds
def test_cancel_24_a_group_of_one_failure_is_that_failure(async_driver: Driver, kind: str) -> None:
    async def fail(_: object) -> Any:
        async with anyio.create_task_group():
            raise down()

    rig = async_driver.rig([fail, "fine"], retry=retries(1))

    async def main() -> None:
        await call(rig, kind)

    async_driver.run(main)
    assert rig.names.count("retry.scheduled") == 1


@pytest.mark.parametrize("timeout_s", [None, 60.0], ids=["no limit", "limit"])
def test_a_scope_knows_its_cancellation_though_a_task_group_of_asyncio_s_cancels_anew(
    timeout_s: float | None,
) -> None:
    """What a `TaskGroup` does since Python 3.13, done by hand before."""

    async def main() -> None:
        async def fail() -> None:
            scope.cancel()
            raise ValueError(CANARY)

        async def answer(_: object) -> Any:
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(fail())
            except BaseExceptionGroup:
                task = asyncio.current_task()
                if task is not None and sys.version_info < (3, 13):
                    task.uncancel()
                    task.cancel()
                raise

        facade = AsyncTramapy({"p": ScriptedProvider([answer])}, timeout_s=timeout_s)
        with anyio.CancelScope() as scope:
            await facade.complete(HELLO, model="m")
        assert scope.cancelled_caught
        await asyncio.sleep(0)  # nothing is left to be delivered

    asyncio.run(main())
