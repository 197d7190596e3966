"""`tenacity` alone around a coroutine of an event loop: the figure that bars are scaled by, on whatever machine."""

from __future__ import annotations

import asyncio

import tenacity

from benchmarks.measure import abest_us, row

RESEARCH_US = 24.5
"""What it took on the machine that the bars are for."""

_CALLS = 150


async def _nothing() -> None:
    await asyncio.sleep(0)


async def _measure() -> float:
    retrying = tenacity.retry(stop=tenacity.stop_after_attempt(3))(_nothing)

    async def bare(calls: int) -> None:
        for _ in range(calls):
            await _nothing()

    async def alone(calls: int) -> None:
        for _ in range(calls):
            await retrying()

    figures = await abest_us({"bare": bare, "tenacity": alone}, _CALLS)
    return figures["tenacity"] - figures["bare"]


def shown_scale() -> float:
    """Print the yardstick, and return how much slower than the bars' machine this one is now."""
    base = asyncio.run(_measure())
    print(row("tenacity alone, asyncio", base, "us", note=f"bars scaled by {base / RESEARCH_US:.2f}"))
    return base / RESEARCH_US
