"""`Clock` and `RandomSource`: time and chance that a caller can give, so that a run can be repeated."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Clock", "RandomSource"]


class Clock(Protocol):
    """Monotonic time and sleep. `tramapy.testing.FakeClock` is one that moves only when told."""

    def now_s(self) -> float:
        """Return seconds from a fixed point; never goes back."""
        ...

    def sleep(self, delay_s: float) -> None:
        """Block the thread for `delay_s` seconds."""
        ...

    async def asleep(self, delay_s: float) -> None:
        """Suspend the task for `delay_s` seconds; a cancellation ends it at once."""
        ...


class RandomSource(Protocol):
    """Where jitter and generated ids come from; `random.Random(seed)` is one."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of `k` random bits."""
        ...
