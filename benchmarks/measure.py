"""Interleaved CPU timing: candidates take turns, so that a machine that slows down slows all of them.

The figure is the best of many short rounds: noise only ever adds, so the best round is the nearest to the truth.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Mapping

Run = Callable[[int], None]
AsyncRun = Callable[[int], Awaitable[None]]

ROUNDS = 60


def best_us(candidates: Mapping[str, Run], calls: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Return each candidate's best CPU time per call in microseconds, of this thread alone."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        run(calls // 10 + 1)
    for _ in range(rounds):
        for name, run in candidates.items():
            gc.collect()
            started_s = time.thread_time()
            run(calls)
            samples[name].append((time.thread_time() - started_s) / calls * 1e6)
    return {name: min(values) for name, values in samples.items()}


async def abest_us(candidates: Mapping[str, AsyncRun], calls: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Do what `best_us` does, inside a running event loop."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        await run(calls // 10 + 1)
    for _ in range(rounds):
        for name, run in candidates.items():
            gc.collect()
            started_s = time.thread_time()
            await run(calls)
            samples[name].append((time.thread_time() - started_s) / calls * 1e6)
    return {name: min(values) for name, values in samples.items()}


def row(name: str, value: float, unit: str, bar: float | None = None, note: str = "") -> str:
    """Format one line of a report; a bar is shown with whether it is met."""
    verdict = "" if bar is None else f"   bar {bar:g} {unit}: {'met' if value <= bar else 'MISSED'}"
    return f"  {name:<52} {value:>9.2f} {unit}{verdict}{'   ' + note if note else ''}"
