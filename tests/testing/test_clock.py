"""`FakeClock`: time moves when told, sleeps are recorded, and no thread loses one."""

from __future__ import annotations

import threading

import anyio
import pytest

from tramapy.testing import FakeClock


def test_time_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(5.0)

    assert (clock.now_s(), clock.now_s()) == (5.0, 5.0)


def test_sleep_moves_the_time_and_is_recorded() -> None:
    clock = FakeClock()

    clock.sleep(1.5)
    clock.sleep(0.0)

    assert (clock.now_s(), clock.sleeps) == (1.5, (1.5, 0.0))


def test_advance_is_no_sleep() -> None:
    clock = FakeClock()

    clock.advance(3.0)

    assert (clock.now_s(), clock.sleeps) == (3.0, ())


@pytest.mark.anyio
async def test_async_sleep_moves_the_time_and_is_recorded() -> None:
    clock = FakeClock()

    await clock.asleep(2.0)

    assert (clock.now_s(), clock.sleeps) == (2.0, (2.0,))


@pytest.mark.anyio
async def test_cancelled_async_sleep_does_not_happen() -> None:
    clock = FakeClock()

    with anyio.CancelScope() as scope:
        scope.cancel()
        await clock.asleep(2.0)

    assert (scope.cancelled_caught, clock.now_s(), clock.sleeps) == (True, 0.0, ())


@pytest.mark.anyio
async def test_async_sleep_lets_another_task_run() -> None:
    clock = FakeClock()
    seen: list[str] = []

    async def other() -> None:
        seen.append("other")

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        await clock.asleep(1.0)
        await clock.asleep(1.0)
        seen.append("sleeper")

    assert seen == ["other", "sleeper"]


@pytest.mark.parametrize("delay_s", [-0.1, float("nan")], ids=["negative", "nan"])
def test_impossible_move_is_refused(delay_s: float) -> None:
    clock = FakeClock()

    for move in (clock.sleep, clock.advance):
        with pytest.raises(ValueError, match="a clock cannot move by"):
            move(delay_s)
    assert clock.now_s() == 0.0


def test_threads_lose_no_sleep() -> None:
    clock = FakeClock()

    def sleep_often() -> None:
        for _ in range(500):
            clock.sleep(1.0)

    threads = [threading.Thread(target=sleep_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (clock.now_s(), len(clock.sleeps)) == (2000.0, 2000)


def test_repr_shows_the_time() -> None:
    assert repr(FakeClock(1.0)) == "FakeClock(now_s=1.0, <0 sleeps>)"
