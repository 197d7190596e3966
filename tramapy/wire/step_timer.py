"""`StepTimer`: an answer that trickles must not outlast its limit."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Generator

from tramapy.errors import ProviderTimeoutError

__all__ = ["StepTimer"]


class StepTimer:
    """Bounds one step of an answer by `timeout_s`, against bodies that trickle: a transport's timeout is per read.

    The time between steps, while the consumer has the turn, does not count.
    """

    __slots__ = ("_now_s", "_started_s", "_timeout_s")

    def __init__(self, now_s: Callable[[], float], timeout_s: float | None) -> None:
        self._now_s = now_s
        self._timeout_s = timeout_s
        self._started_s = now_s()

    def restart(self) -> None:
        """Begin the next step."""
        if self._timeout_s is not None:
            self._started_s = self._now_s()

    def watch(self, chunks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
        """Give chunks while there is time.

        Raises:
            ProviderTimeoutError: One came too late.
        """
        if self._timeout_s is None:
            return chunks
        return self._watched(chunks)

    def _watched(self, chunks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
        with contextlib.closing(chunks):
            for chunk in chunks:
                self.check()
                yield chunk

    async def _awatched(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                self.check()
                yield chunk

    def awatch(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Do what `watch` does."""
        return chunks if self._timeout_s is None else self._awatched(chunks)

    def check(self) -> None:
        """Do nothing while there is time.

        Raises:
            ProviderTimeoutError: There is none left.
        """
        if self._timeout_s is not None and self._now_s() - self._started_s > self._timeout_s:
            raise ProviderTimeoutError(
                f"The provider's answer took longer than timeout_s={self._timeout_s} to arrive."
            )
