"""`ThreadedProvider`: a plain provider for `AsyncTramapy`, each of its steps in a worker thread."""

from __future__ import annotations

import enum
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Self, TypeVar

import anyio.to_thread

from tramapy.errors import ConfigurationError
from tramapy.hooks.diagnostics import report_secondary_failure
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability
from tramapy.messages import Chunk, ModelRequest, ModelResponse
from tramapy.values import described

__all__ = ["ThreadedProvider"]

T = TypeVar("T")


class ThreadedProvider(AsyncProvider):
    """Adapts a `Provider` whose client blocks, on asyncio and trio; context variables go along.

    A thread cannot be interrupted. On a cancellation or a timeout the caller goes on at once and the thread's
    result is dropped when it comes; a stream is then closed as soon as its step ends. A provider that declares
    `ProviderCapability.TIMEOUT` ends such a thread in time by itself; prefer one, or a native
    `AsyncProvider`, since abandoned threads hold memory and connections until they end.

    Args:
        provider: The provider; several threads call it at a time.
        limiter: How many threads it may take; by default it shares anyio's 40 with the rest of the program.

    Raises:
        ConfigurationError: `provider` is no `Provider`.
    """

    def __init__(self, provider: Provider, *, limiter: anyio.CapacityLimiter | None = None) -> None:
        if not isinstance(provider, Provider):
            raise ConfigurationError(
                f"ThreadedProvider takes a Provider, not {type(provider).__name__}; derive it from Provider"
            )
        if limiter is not None and not isinstance(limiter, anyio.CapacityLimiter):
            raise ConfigurationError(
                f"limiter is {described(limiter)}; give an anyio.CapacityLimiter, or leave it out"
            )
        self._provider = provider
        self._limiter = limiter
        can_stream = type(provider).stream is not Provider.stream
        # on the instance, because it depends on what is adapted
        object.__setattr__(
            self,
            "capabilities",
            provider.capabilities if can_stream else provider.capabilities - {ProviderCapability.STREAMING},
        )

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        """Call `complete` in a thread."""
        return await _in_thread(lambda: self._provider.complete(request), self._limiter)

    def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Call `stream`, and take each piece, in a thread."""
        return _ThreadedStream(lambda: self._provider.stream(request), self._limiter)

    def __repr__(self) -> str:
        return f"ThreadedProvider({type(self._provider).__name__})"


class _Ended(enum.Enum):
    """Stands for `StopIteration`, which no future and no coroutine may raise."""

    ENDED = enum.auto()


class _ThreadedStream(AsyncIterator[Chunk]):
    """The pieces of one stream. Whoever can closes it: `aclose`, or the step that `aclose` finds at work."""

    def __init__(
        self, open_stream: Callable[[], Iterable[Chunk]], limiter: anyio.CapacityLimiter | None
    ) -> None:
        self._open_stream = open_stream
        self._limiter = limiter
        self._lock = threading.Lock()
        self._source: Iterator[Chunk] | None = None
        self._turn: object | None = None
        self._is_running = False
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        turn = self._take_turn()
        if turn is None:
            raise StopAsyncIteration
        try:
            chunk = await _in_thread(lambda: self._step(turn), self._limiter)
        finally:
            self._give_back(turn)
        if isinstance(chunk, _Ended):
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Close the stream in a thread; while a step is at work, that step closes it when it ends."""
        self._is_closed = True
        await _in_thread(self.close, self._limiter)

    def close(self) -> None:
        """Do what `aclose` does, here and now, for a stream that was dropped."""
        with self._lock:
            self._is_closed = True
            source = None if self._is_running else self._released()
        _close(source)

    def _take_turn(self) -> object | None:
        with self._lock:
            if self._is_closed:
                return None
            if self._turn is not None:
                raise RuntimeError("A step of this stream is still at work in its thread; close the stream")
            self._turn = object()
            return self._turn

    def _step(self, turn: object) -> Chunk | _Ended:
        """Run in the thread: take one piece, and close the stream where nobody wants another."""
        with self._lock:
            if self._turn is not turn or self._is_closed:  # cancelled before the thread was ready
                return _Ended.ENDED
            self._is_running = True
        try:
            if self._source is None:
                self._source = iter(self._open_stream())
            return next(self._source, _Ended.ENDED)
        finally:
            _close(self._ended_turn())

    def _ended_turn(self) -> Iterator[Chunk] | None:
        """End the turn; return the source where it was closed meanwhile, and nobody else will close it."""
        with self._lock:
            self._is_running = False
            self._turn = None
            return self._released() if self._is_closed else None

    def _give_back(self, turn: object) -> None:
        """End a turn that no thread took up; one that did ends it itself."""
        with self._lock:
            if self._turn is turn and not self._is_running:
                self._turn = None

    def _released(self) -> Iterator[Chunk] | None:
        source, self._source = self._source, None
        return source


def _close(source: Iterator[Chunk] | None) -> None:
    close: Callable[[], None] | None = getattr(source, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception as error:  # nobody waits for it any more
        failure = error
    else:
        return
    report_secondary_failure("provider_stream", "close", failure)


async def _in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
