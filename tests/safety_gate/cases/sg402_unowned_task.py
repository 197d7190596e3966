"""Cases of SG402."""
import asyncio
from asyncio import create_task

TASKS = set()


async def dropped(work, loop):
    asyncio.create_task(work())  # expect: SG402
    create_task(work())  # expect: SG402
    asyncio.ensure_future(work())  # expect: SG402
    asyncio.get_running_loop().create_task(work())  # expect: SG402
    _ = asyncio.create_task(work())  # expect: SG402
    asyncio.create_task(work()).add_done_callback(print)  # expect: SG402
    task = asyncio.create_task(work())  # expect: SG402
    task.add_done_callback(print)


class Service:
    async def start(self, work):
        self.task = asyncio.create_task(work())


async def kept(work):
    awaited = asyncio.create_task(work())
    TASKS.add(asyncio.create_task(work()))
    stored = asyncio.create_task(work())
    TASKS.add(stored)
    await asyncio.create_task(work())
    await asyncio.gather(asyncio.create_task(work()))
    async with asyncio.TaskGroup() as group:
        group.create_task(work())
    await awaited
    return asyncio.create_task(work())
