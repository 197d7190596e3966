"""Cases of SG401."""
import asyncio
import atexit
import multiprocessing
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Thread as T

import anyio
import trio


def threads(work):
    threading.Thread(target=work).start()  # expect: SG401
    T(target=work)  # expect: SG401
    threading.Timer(1, work)  # expect: SG401
    multiprocessing.Process(target=work)  # expect: SG401


class Worker(threading.Thread):  # expect: SG401
    pass


@atexit.register  # expect: SG401
def at_exit():
    pass


def executors(work):
    pool = ThreadPoolExecutor()  # expect: SG401
    with ThreadPoolExecutor() as owned:
        owned.submit(work)
    kept = ThreadPoolExecutor(2)
    with kept:
        kept.submit(work)
    return pool


def nested(work):
    with ThreadPoolExecutor(initializer=threading.Thread(target=work).start):  # expect: SG401
        pass


def hooks(work):
    atexit.register(work)  # expect: SG401
    signal.signal(signal.SIGTERM, work)  # expect: SG401
    asyncio.set_event_loop(asyncio.new_event_loop())  # expect: SG401 SG401


async def groups(stack):
    group = anyio.create_task_group()  # expect: SG401
    async with anyio.create_task_group(), trio.open_nursery():
        pass
    await stack.enter_async_context(asyncio.TaskGroup())
    trio.lowlevel.spawn_system_task(group)  # expect: SG401


def entry(main):
    asyncio.run(main())


def Thread():
    return Thread
