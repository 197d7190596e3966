"""`StepTimer`: bodies that trickle."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

import anyio
import pytest

from tramapy.errors import ProviderTimeoutError
from tramapy.testing import FakeClock
from tramapy.wire.step_timer import StepTimer


class Body:
    """Three chunks, a second apart."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.is_closed = False

    def chunks(self) -> Generator[bytes, None, None]:
        try:
            for chunk in (b"a", b"b", b"c"):
                self.clock.advance(1.0)
                yield chunk
        finally:
            self.is_closed = True

    async def achunks(self) -> AsyncGenerator[bytes, None]:
        try:
            for chunk in (b"a", b"b", b"c"):
                self.clock.advance(1.0)
                yield chunk
        finally:
            self.is_closed = True


def taken(
    timeout_s: float | None, *, is_async: bool, restarts: bool = False, is_late: bool = False
) -> tuple[list[bytes], bool]:
    clock = FakeClock()
    body = Body(clock)
    timer = StepTimer(clock.now_s, timeout_s)
    chunks: list[bytes] = []

    async def main() -> None:
        async for chunk in timer.awatch(body.achunks()):
            chunks.append(chunk)
            if restarts:
                timer.restart()

    def run() -> None:
        if is_async:
            anyio.run(main)
        else:
            for chunk in timer.watch(body.chunks()):
                chunks.append(chunk)
                if restarts:
                    timer.restart()

    if is_late:
        with pytest.raises(ProviderTimeoutError, match="timeout_s"):
            run()
    else:
        run()
    return chunks, body.is_closed


@pytest.mark.parametrize("is_async", [False, True])
def test_a_step_ends_with_its_limit(is_async: bool) -> None:
    assert taken(2.5, is_async=is_async, is_late=True) == ([b"a", b"b"], True)


@pytest.mark.parametrize("is_async", [False, True])
def test_without_a_limit_it_takes_what_it_takes(is_async: bool) -> None:
    assert taken(None, is_async=is_async) == ([b"a", b"b", b"c"], True)


@pytest.mark.parametrize("is_async", [False, True])
def test_each_step_has_the_whole_limit(is_async: bool) -> None:
    assert taken(1.5, is_async=is_async, restarts=True) == ([b"a", b"b", b"c"], True)
