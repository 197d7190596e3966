"""`Gate`: both sides meet, and a release lets everybody through."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tramapy.testing import Gate


def test_gate_that_is_not_reached_fails_the_test() -> None:
    with pytest.raises(AssertionError, match=r"did not reach the gate within 0\.0 s"):
        Gate().wait_until_reached(timeout_s=0.0)


def test_everybody_waits_until_the_release() -> None:
    gate = Gate()
    passed: list[int] = []

    async def wait(number: int) -> None:
        await gate.wait_released()
        passed.append(number)

    async def main() -> None:
        waiting = asyncio.gather(wait(1), wait(2))
        await asyncio.to_thread(gate.wait_until_reached)
        assert passed == []
        await asyncio.to_thread(gate.release)
        await waiting

    asyncio.run(main())
    assert sorted(passed) == [1, 2]


def test_released_gate_stays_open() -> None:
    gate = Gate()
    gate.release()

    asyncio.run(gate.wait_released())

    gate.wait_until_reached(timeout_s=0.0)
    assert repr(gate) == "Gate(is_reached=True, is_released=True)"


def test_one_who_gave_up_waiting_is_forgotten() -> None:
    gate = Gate()

    async def main() -> None:
        waiting = asyncio.ensure_future(gate.wait_released())
        await asyncio.to_thread(gate.wait_until_reached)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(main())
    thread = threading.Thread(target=gate.release)  # its loop is closed: a wake-up would raise
    thread.start()
    thread.join()
    assert "is_released=True" in repr(gate)
