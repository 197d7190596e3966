"""`FakeClock`: time that moves only when it is told to, so that no test waits."""

from __future__ import annotations

import threading

import anyio.lowlevel

__all__ = ["FakeClock"]


class FakeClock:
    """A monotonic clock for tests; usable wherever a clock is injected, from any thread.

    A sleep returns at once: it moves the time by its length and is recorded.

    Args:
        start_s: The first reading.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between
        self._now_s = float(start_s)
        self._sleeps: list[float] = []

    def now_s(self) -> float:
        """Return the current reading."""
        with self._lock:
            return self._now_s

    def advance(self, delay_s: float) -> None:
        """Move the time, without recording a sleep.

        Raises:
            ValueError: `delay_s` is negative or NaN.
            TypeError: It is no number.
        """
        self._move(delay_s, is_sleep=False)

    def sleep(self, delay_s: float) -> None:
        """Move the time and record the sleep; it takes no time.

        Raises:
            ValueError: `delay_s` is negative or NaN.
            TypeError: It is no number.
        """
        self._move(delay_s, is_sleep=True)

    async def asleep(self, delay_s: float) -> None:
        """Do what `sleep` does, and pass one checkpoint, so that a cancellation is noticed.

        Raises:
            ValueError: `delay_s` is negative or NaN.
            TypeError: It is no number.
        """
        await anyio.lowlevel.checkpoint()
        self._move(delay_s, is_sleep=True)

    @property
    def sleeps(self) -> tuple[float, ...]:
        """The length of every sleep so far, in order."""
        with self._lock:
            return tuple(self._sleeps)

    def __repr__(self) -> str:
        return f"FakeClock(now_s={self.now_s()}, <{len(self.sleeps)} sleeps>)"

    def _move(self, delay_s: float, *, is_sleep: bool) -> None:
        given: object = delay_s
        if not isinstance(given, (int, float)):
            raise TypeError(f"a clock moves by seconds as a number, not {type(given).__name__}")
        # written so that NaN is refused too
        if not delay_s >= 0.0:
            raise ValueError(f"a clock cannot move by {delay_s} s; it takes 0 or more")
        with self._lock:
            self._now_s += delay_s
            if is_sleep:
                self._sleeps.append(delay_s)
