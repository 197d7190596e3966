"""One stream has one reader at a time; who comes second is told so, and disturbs nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from tests.drivers import HELLO, Driver, text_of
from tests.engine.stream_doubles import DONE, Steps, terminal_events
from tramapy import Chunk


@pytest.mark.parametrize("what", ["read", "close"])
def test_a_second_task_is_refused_while_the_first_one_reads(async_driver: Driver, what: str) -> None:
    async def main() -> None:
        reached, released = anyio.Event(), anyio.Event()

        async def stand() -> None:
            reached.set()
            await released.wait()

        rig = async_driver.rig({"p": Steps([stand, "one", DONE])})
        stream = rig.tramapy.stream(HELLO, model="m")
        chunks: list[Chunk] = []

        async def read() -> None:
            chunks.extend([chunk async for chunk in stream])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await reached.wait()
            with pytest.raises(RuntimeError, match="being read elsewhere"):
                await (anext(stream) if what == "read" else stream.aclose())
            released.set()
        assert text_of(chunks) == "one"
        assert terminal_events(rig.names) == ["attempt.completed"]

    async_driver.run(main)


@pytest.mark.parametrize("what", ["read", "close"])
def test_a_second_thread_is_refused_while_the_first_one_reads(what: str) -> None:
    reached, released = threading.Event(), threading.Event()

    def stand() -> None:
        reached.set()
        assert released.wait(30.0)

    rig = Driver("sync").rig({"p": Steps([stand, "one", DONE])})
    stream = rig.tramapy.stream(HELLO, model="m")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(list, stream)
        assert reached.wait(30.0)
        try:
            with pytest.raises(RuntimeError, match="being read elsewhere"):
                next(stream) if what == "read" else stream.close()
        finally:
            released.set()
        assert text_of(first.result()) == "one"
    assert terminal_events(rig.names) == ["attempt.completed"]


def test_a_cancellation_of_owner_and_reader_is_nothing_else(async_driver: Driver) -> None:
    provider = Steps(["one", anyio.sleep_forever, DONE])
    rig = async_driver.rig({"p": provider})

    async def main() -> bool:
        async def read(stream: Any) -> None:
            async for _ in stream:
                owner.cancel_scope.cancel()

        async with anyio.create_task_group() as owner, rig.tramapy.stream(HELLO, model="m") as stream:
            owner.start_soon(read, stream)
            await anyio.sleep_forever()
        return owner.cancel_scope.cancelled_caught

    assert async_driver.run(main)
    assert provider.open_count == 0
    assert rig.names[-2:] == ["attempt.cancelled", "operation.completed"]


def test_an_error_leaves_a_block_whose_stream_another_thread_reads() -> None:
    reached, released = threading.Event(), threading.Event()

    def stand() -> None:
        reached.set()
        assert released.wait(30.0)

    rig = Driver("sync").rig({"p": Steps([stand, "one", DONE])})
    with ThreadPoolExecutor(1) as pool:
        stream = rig.tramapy.stream(HELLO, model="m")
        reader = pool.submit(list, stream)
        assert reached.wait(30.0)
        try:
            with pytest.raises(KeyError), stream:
                raise KeyError
        finally:
            released.set()
        assert text_of(reader.result()) == "one"
    assert terminal_events(rig.names) == ["attempt.completed"]


def test_a_hook_that_reads_the_stream_it_is_called_from_is_refused(driver: Driver) -> None:
    """Reading from inside would never end: the step that would give the piece is the one that waits for it."""
    refused: list[type[BaseException]] = []

    def reenter() -> Any:
        try:
            step = stream.__next__() if not driver.is_async else stream.__anext__().send(None)
        except (RuntimeError, StopIteration) as error:
            refused.append(type(error))
            return None
        return step

    rig = driver.rig({"p": Steps([reenter, "one", DONE])})
    stream = rig.tramapy.stream(HELLO, model="m")

    async def main() -> list[Chunk]:
        return [chunk async for chunk in stream]

    chunks = driver.run(main) if driver.is_async else list(stream)
    assert refused == [RuntimeError]
    assert text_of(chunks) == "one"
