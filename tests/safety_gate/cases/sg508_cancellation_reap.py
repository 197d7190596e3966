"""Cases of SG508, which is advice."""
import asyncio
from contextlib import suppress


async def reaps(work, tasks):
    t = asyncio.create_task(work())
    t.cancel()
    with suppress(asyncio.CancelledError):  # advice: SG508
        await t
    t.cancel()
    try:
        await t
    except asyncio.CancelledError:  # advice: SG508
        pass
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):  # advice: SG508
            await task


async def honest(work):
    t = asyncio.create_task(work())
    t.cancel()
    await asyncio.gather(t, return_exceptions=True)
    try:
        await t
    except asyncio.CancelledError:
        if asyncio.current_task().cancelling():
            raise


async def not_cancelled_before(t):
    with suppress(asyncio.CancelledError):
        await t
