"""What a closed circuit counts: failures in a row, or the rates in a window, in constant time and memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from tramapy.resilience.window import CircuitBreakerWindow

__all__ = ["ConsecutiveTally", "CountTally", "Tally", "TimeTally"]

_BUCKETS = 10


class Tally(Protocol):
    """Judges a provider by what its calls report. Not thread-safe: the breaker's lock guards it."""

    @property
    def slow_after_s(self) -> float:
        """A call that took longer is slow; infinite where none is."""
        ...

    @property
    def probe_count(self) -> int:
        """How many probes a half-open circuit lets through."""
        ...

    @property
    def max_probe_s(self) -> float:
        """How long a probe may be out before it counts as lost; infinite where it may for ever."""
        ...

    def record(self, is_failure: bool, is_slow: bool) -> bool:
        """Count a call of the closed circuit; True where the circuit has to open."""
        ...

    def condemns(self, failure_count: int, slow_count: int) -> bool:
        """Tell whether so many failed and slow probes keep the circuit open, whatever the others say."""
        ...

    def clear(self) -> None:
        """Forget every call."""
        ...


class ConsecutiveTally:
    """The default profile: so many failures with no success between them, and one probe."""

    __slots__ = ("_failure_count", "_failure_threshold", "max_probe_s")

    slow_after_s: float = math.inf
    probe_count = 1

    def __init__(self, failure_threshold: int, max_probe_s: float = math.inf) -> None:
        self._failure_threshold = failure_threshold
        self.max_probe_s: float = max_probe_s
        self._failure_count = 0

    def record(self, is_failure: bool, is_slow: bool) -> bool:
        """Count a failure, or start over after a success."""
        del is_slow
        if not is_failure:
            self._failure_count = 0
            return False
        self._failure_count += 1
        return self._failure_count >= self._failure_threshold

    def condemns(self, failure_count: int, slow_count: int) -> bool:
        """One failed probe is enough, whatever the threshold."""
        del slow_count
        return failure_count > 0

    def clear(self) -> None:
        """Start over."""
        self._failure_count = 0


class _RateTally:
    """The totals of a window and the two rates that judge them."""

    __slots__ = (
        "_call_count",
        "_failure_count",
        "_failure_rate",
        "_minimum_calls",
        "_slow_call_rate",
        "_slow_count",
        "max_probe_s",
        "probe_count",
        "slow_after_s",
    )

    def __init__(self, window: CircuitBreakerWindow) -> None:
        self._failure_rate = window.failure_rate
        self._slow_call_rate = window.slow_call_rate
        self._minimum_calls = window.minimum_calls
        self.slow_after_s: float = (
            math.inf if window.slow_call_duration_s is None else window.slow_call_duration_s
        )
        self.probe_count: int = window.half_open_permits
        self.max_probe_s: float = window.max_probe_s
        self._call_count = self._failure_count = self._slow_count = 0

    def condemns(self, failure_count: int, slow_count: int) -> bool:
        """Take the probes that are still out for good ones: only what they cannot change is decided early."""
        return (
            failure_count / self.probe_count >= self._failure_rate
            or slow_count / self.probe_count >= self._slow_call_rate
        )

    def _is_over(self) -> bool:
        call_count = self._call_count
        if call_count < self._minimum_calls or not (self._failure_count or self._slow_count):
            return False
        # Division, not multiplication: 3 / 5 is the very float that a user writes as 0.6.
        return (
            self._failure_count / call_count >= self._failure_rate
            or self._slow_count / call_count >= self._slow_call_rate
        )


class CountTally(_RateTally):
    """The rates over the last `size_calls` calls, in a ring of one byte a call: bit 0 failed, bit 1 slow."""

    __slots__ = ("_next", "_ring")

    def __init__(self, window: CircuitBreakerWindow) -> None:
        super().__init__(window)
        self._ring = bytearray(int(window.size))
        self._next = 0

    def record(self, is_failure: bool, is_slow: bool) -> bool:
        """Put the call in the place of the oldest one."""
        ring, at = self._ring, self._next
        evicted = ring[at]
        if evicted:
            self._failure_count -= evicted & 1
            self._slow_count -= evicted >> 1
        if self._call_count < len(ring):
            self._call_count += 1
        if is_failure or is_slow:
            self._failure_count += is_failure
            self._slow_count += is_slow
            ring[at] = is_failure | is_slow << 1
        else:
            ring[at] = 0
        at += 1
        self._next = 0 if at == len(ring) else at
        return self._is_over()

    def clear(self) -> None:
        """Empty the ring."""
        self._ring = bytearray(len(self._ring))
        self._next = self._call_count = self._failure_count = self._slow_count = 0


class TimeTally(_RateTally):
    """The rates over the last `size_s` seconds, in ten buckets.

    A call counts for at least nine tenths of the window and never longer than the whole of it. A clock that
    steps back counts into the newest bucket.
    """

    __slots__ = ("_bucket", "_bucket_ends_s", "_bucket_s", "_buckets", "_newest", "_now_s")

    def __init__(self, window: CircuitBreakerWindow, now_s: Callable[[], float]) -> None:
        super().__init__(window)
        self._now_s = now_s
        self._bucket_s = window.size / _BUCKETS
        self._buckets = [[0, 0, 0] for _ in range(_BUCKETS)]  # calls, failed, slow
        self._newest = 0
        self._move_to(now_s())

    def record(self, is_failure: bool, is_slow: bool) -> bool:
        """Count the call into the bucket of now, after the outdated ones were emptied."""
        now_s = self._now_s()
        if now_s >= self._bucket_ends_s:
            self._move_to(now_s)
        bucket = self._bucket
        bucket[0] += 1
        self._call_count += 1
        if is_failure or is_slow:
            bucket[1] += is_failure
            bucket[2] += is_slow
            self._failure_count += is_failure
            self._slow_count += is_slow
        return self._is_over()

    def clear(self) -> None:
        """Empty every bucket."""
        for bucket in self._buckets:
            self._empty(bucket)

    def _move_to(self, now_s: float) -> None:
        """Make the bucket of `now_s` the newest, and empty every one that falls out of the window."""
        newest = int(now_s // self._bucket_s)
        for number in range(max(self._newest + 1, newest - _BUCKETS + 1), newest + 1):
            self._empty(self._buckets[number % _BUCKETS])
        self._newest = newest
        self._bucket = self._buckets[newest % _BUCKETS]
        self._bucket_ends_s = (newest + 1) * self._bucket_s

    def _empty(self, bucket: list[int]) -> None:
        self._call_count -= bucket[0]
        self._failure_count -= bucket[1]
        self._slow_count -= bucket[2]
        bucket[:] = (0, 0, 0)
