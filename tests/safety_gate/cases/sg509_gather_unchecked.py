"""Cases of SG509, which is advice."""
import asyncio


async def unchecked(a, b):
    await asyncio.gather(a, b, return_exceptions=True)  # advice: SG509
    results = await asyncio.gather(a, b, return_exceptions=True)  # advice: SG509
    for result in results:
        if isinstance(result, Exception):
            raise result


async def checked(a, b):
    results = await asyncio.gather(a, b, return_exceptions=True)
    return [r for r in results if isinstance(r, BaseException)]


async def reaped(t, tasks):
    t.cancel()
    await asyncio.gather(t, return_exceptions=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def handed_on(a):
    await asyncio.gather(a)
    return await asyncio.gather(a, return_exceptions=True)
