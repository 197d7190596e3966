"""Event loops whose time jumps to the next timer, so that a test of a timeout waits for nothing."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import trio
import trio.testing


class LoopClock:
    """A pipeline clock that reads the running loop's own time and sleeps on it."""

    def now_s(self) -> float:
        return anyio.current_time()

    def sleep(self, delay_s: float) -> None:
        raise TypeError("this clock is for event loops")

    async def asleep(self, delay_s: float) -> None:
        await anyio.sleep(delay_s)


def run_virtually(backend: str, main: Callable[[], Awaitable[Any]]) -> Any:
    """Run an async function on a loop whose time passes only by jumps."""
    if backend == "trio":
        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return anyio.run(main, backend="asyncio", backend_options={"loop_factory": _JumpingLoop})


class _JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now_s

    def jump(self, delay_s: float) -> None:
        self._now_s += delay_s


class _JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]  # chosen by the platform
    """Never waits for a timer: what it would wait is added to the loop's time."""

    def __init__(self, loop: _JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout:
            self._loop.jump(timeout)
        return ready
