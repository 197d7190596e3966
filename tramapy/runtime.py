"""The only file that knows event loops: the ports under the engine, and how a thread steps its coroutines."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tramapy.cancellation import is_cancellation, leaves
from tramapy.engine.port import Answer, ChunkSource, Signal
from tramapy.errors import ConfigurationError, TramapyError
from tramapy.hooks.clock import Clock
from tramapy.messages import ModelRequest

if TYPE_CHECKING:
    import asyncio

    from anyio import CancelScope

__all__ = ["AsyncPort", "SyncPort", "SystemClock", "detached", "run_sync"]

T = TypeVar("T")


class SystemClock:
    """The machine's monotonic clock. Wall time is never used: it jumps."""

    now_s: staticmethod[[], float] = staticmethod(time.monotonic)
    """Return seconds from a fixed point."""

    def sleep(self, delay_s: float) -> None:
        """Block the thread."""
        time.sleep(delay_s)

    async def asleep(self, delay_s: float) -> None:
        """Suspend the task on whichever event loop runs."""
        from anyio import sleep  # at the first wait: a sync program never pays for the import

        await sleep(delay_s)


class AsyncPort:
    """The engine on asyncio or trio, whichever runs.

    A limit stands around one step: a `_TaskLimit` on asyncio, trio's own cancel scope on trio. See ADR 0006.
    """

    can_await = True

    def __init__(self, clock: Clock) -> None:
        # here and not above: a sync program never pays for an event loop's import
        import asyncio

        from anyio import CancelScope
        from anyio.lowlevel import checkpoint_if_cancelled

        self._clock = clock
        self.now_s: Callable[[], float] = clock.now_s
        # its public twin raises on trio instead of returning None, which costs 0.5 µs at each step
        self._asyncio_loop = asyncio._get_running_loop  # pyright: ignore[reportPrivateUsage]
        self._current_task = asyncio.current_task
        self._cancelled_error = asyncio.CancelledError
        self._scope = CancelScope
        self._checkpoint_if_cancelled = checkpoint_if_cancelled
        self._yield_to_loop = asyncio.sleep

    async def sleep_s(self, delay_s: float) -> None:
        """Wait on the injected clock."""
        await self._clock.asleep(delay_s)

    async def call(self, answer: Answer, request: ModelRequest, limit_s: float | None) -> object:
        """Call a provider; a limit that passes cancels the call and is told as `Signal.EXPIRED`.

        A cancellation of the caller's wins, over a limit that passed with it and over the error that a
        provider made of it.
        """
        task = self._asyncio_task()
        baseline = 0 if task is None else task.cancelling()
        limit: _TaskLimit | CancelScope | None = None
        try:
            if limit_s is None:
                return await answer(request)
            limit = self._limit(task, limit_s)
            with limit:
                return await answer(request)
        except (Exception, BaseExceptionGroup) as error:
            await self._judge(error, limit, baseline)
        await self._let_caller_win(baseline, None)
        return Signal.EXPIRED

    async def next_chunk(self, source: ChunkSource, limit_s: float | None) -> object:
        """Pull one piece; the scope of a limit is left before the piece is handed on."""
        pull: Callable[[], Awaitable[object]] = source.__anext__
        task = self._asyncio_task()
        baseline = 0 if task is None else task.cancelling()
        limit: _TaskLimit | CancelScope | None = None
        try:
            if limit_s is None:
                return await pull()
            limit = self._limit(task, limit_s)
            with limit:
                return await pull()
        except StopAsyncIteration:
            if limit is None or not limit.cancel_called:
                # a source may take a cancellation for its end
                await self._let_caller_win(baseline, None)
                return Signal.ENDED
        except (Exception, BaseExceptionGroup) as error:
            await self._judge(error, limit, baseline)
        await self._let_caller_win(baseline, None)
        return Signal.EXPIRED

    async def close_source(self, source: ChunkSource, budget_s: float) -> bool:
        """Close an async generator or a vendor's stream, shielded from the cancellation that may be why."""
        close = getattr(source, "aclose", None)
        if close is None:
            return True
        with self._shield(budget_s) as scope:
            await close()
        return not scope.cancelled_caught

    async def resolve(self, pending: Awaitable[T]) -> T:
        """Await what a hook returned."""
        return await pending

    def cancel_count(self) -> int:
        """Return asyncio's count of cancellations; trio delivers one again at each checkpoint by itself."""
        task = self._asyncio_task()
        return 0 if task is None else task.cancelling()

    async def checkpoint(self, baseline: int | None, error: BaseException | None = None) -> None:
        """Raise a cancellation that a hook swallowed: asyncio delivers one only once."""
        if baseline is not None and error is not None and _miscounts(error):
            return
        task = self._asyncio_task()
        if task is None:
            await sys.modules["trio"].lowlevel.checkpoint_if_cancelled()
        elif baseline is None:
            await self._raise_scope_s(error)
        elif task.cancelling() > baseline:
            # A scope's is raised by anyio, or the scope would not know it for its own; a pending one by the
            # loop, or it would hit the cleanup that follows.
            await self._raise_scope_s(error)
            await self._yield_to_loop(0)
            raise self._cancelled_error

    async def _raise_scope_s(self, error: BaseException | None) -> None:
        """Raise the cancellation of a scope around us.

        Since 3.13 a `TaskGroup` whose child fails while its task is being cancelled cancels that task anew, as
        asyncio does it and not as the scope did: the scope would let it pass. The scope's own comes after it.
        """
        if error is not None and _left_task_group(error):
            with suppress(self._cancelled_error):
                await self._checkpoint_if_cancelled()  # waits only where a scope is cancelled, and stays so
        await self._checkpoint_if_cancelled()

    async def _judge(
        self,
        error: Exception | BaseExceptionGroup[BaseException],
        limit: _TaskLimit | CancelScope | None,
        baseline: int,
    ) -> None:
        """Raise what a provider raised, unless it is what the provider made of a limit's cancellation."""
        if limit is None or not limit.cancel_called or _holds_exit(error):
            await self._let_caller_win(baseline, error)
            raise error

    async def _let_caller_win(self, baseline: int, error: BaseException | None) -> None:
        """Raise a cancellation of the caller's that came with a failure; it may not be delivered yet."""
        await self.checkpoint(None, error)
        await self.checkpoint(baseline, error)

    def _limit(self, task: asyncio.Task[Any] | None, limit_s: float) -> _TaskLimit | CancelScope:
        """Make a context that cancels its body after `limit_s` seconds, and swallows that cancellation."""
        if task is None:
            return self._trio_scope(limit_s, shield=False)
        loop = task.get_loop()
        return _TaskLimit(task, loop, loop.time() + limit_s, self._cancelled_error)

    def _shield(self, budget_s: float) -> CancelScope:
        task = self._asyncio_task()
        if task is None:
            return self._trio_scope(budget_s, shield=True)
        return self._scope(deadline=task.get_loop().time() + budget_s, shield=True)

    def _trio_scope(self, limit_s: float, *, shield: bool) -> CancelScope:
        """Make trio's own scope: it costs half of one through anyio, 7.5 µs against 16.7."""
        trio: Any = sys.modules["trio"]
        scope: CancelScope = trio.CancelScope(deadline=trio.current_time() + limit_s, shield=shield)
        return scope

    def _asyncio_task(self) -> asyncio.Task[Any] | None:
        """Return asyncio's task; None on trio, also where trio is a guest of asyncio's loop."""
        return None if self._asyncio_loop() is None else self._current_task()


class _TaskLimit:
    """A deadline for the asyncio task that runs: what `asyncio.timeout` does, as a plain context manager.

    It runs out only while the task waits, so its cancellation is always delivered, and always counted back.
    """

    __slots__ = ("_cancelled_error", "_handle", "_loop", "_task", "_when_s", "cancel_called")

    def __init__(
        self,
        task: asyncio.Task[Any],
        loop: asyncio.AbstractEventLoop,
        when_s: float,
        cancelled_error: type[BaseException],
    ) -> None:
        self._task = task
        self._loop = loop
        self._when_s = when_s
        self._cancelled_error = cancelled_error
        self.cancel_called = False

    def __enter__(self) -> None:
        self._handle = self._loop.call_at(self._when_s, self._expire)

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: object
    ) -> bool:
        """Swallow the cancellation if the deadline sent one; one of the caller's with it is still counted."""
        self._handle.cancel()
        if not self.cancel_called:
            return False
        self._task.uncancel()
        return isinstance(error, self._cancelled_error)

    def _expire(self) -> None:
        self.cancel_called = True
        self._task.cancel()


def _holds_exit(error: BaseException) -> bool:
    return any(isinstance(leaf, (KeyboardInterrupt, SystemExit, GeneratorExit)) for leaf in leaves(error))


def _miscounts(error: BaseException) -> bool:
    """Tell whether asyncio's count of cancellations may be one too high after `error`.

    Before 3.13 a `TaskGroup` whose child fails while its body has ended cancels its own task and does not take
    that back. It raises a group, which stands in what its caller makes of it; the count proves nothing then.
    A task group of anyio's counts right.
    """
    return sys.version_info < (3, 13) and _left_task_group(error)


def _left_task_group(error: BaseException) -> bool:
    """Tell whether an error is, or was made of, the group that an `asyncio.TaskGroup` raised."""
    from asyncio import TaskGroup

    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        if _passed(link, TaskGroup.__aexit__.__code__) and isinstance(link, BaseExceptionGroup):
            return True
        pending += [link.__cause__, link.__context__]
    return False


def _passed(error: BaseException, code: CodeType) -> bool:
    """Tell whether an error has been raised through a function."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code is code:
            return True
        traceback = traceback.tb_next
    return False


class SyncPort:
    """The engine on a plain thread. It never suspends, so `run_sync` can step a coroutine to its end."""

    can_await = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now_s: Callable[[], float] = clock.now_s

    async def sleep_s(self, delay_s: float) -> None:
        """Block the thread on the injected clock."""
        self._clock.sleep(delay_s)

    async def call(self, answer: Answer, request: ModelRequest, limit_s: float | None) -> object:
        """Call a provider. A thread cannot be interrupted: the limit is in the request, for its transport."""
        return answer(request)

    async def next_chunk(self, source: ChunkSource, limit_s: float | None) -> object:
        """Pull one piece; the limit is the transport's, as for `call`."""
        try:
            return next(source)
        except StopIteration:
            return Signal.ENDED

    async def close_source(self, source: ChunkSource, budget_s: float) -> bool:
        """Close a generator or a vendor's stream."""
        close = getattr(source, "close", None)
        if close is not None:
            close()
        return True

    async def resolve(self, pending: Awaitable[T]) -> T:
        """Refuse an awaitable, and close it so that nobody is told of a coroutine never awaited."""
        close = getattr(pending, "close", None)
        if callable(close):
            close()
        raise ConfigurationError(
            f"A hook returned an awaitable ({type(pending).__name__}) under Tramapy; make it plain, or use "
            f"AsyncTramapy"
        )

    def cancel_count(self) -> int:
        """Return 0: a thread has no cancellations to count."""
        return 0

    async def checkpoint(self, baseline: int | None, error: BaseException | None = None) -> None:
        """Do nothing: a thread is interrupted by an exception, wherever it stands."""


def run_sync(coroutine: Coroutine[object, None, T]) -> T:
    """Step a coroutine of the engine's over a `SyncPort` to its end, in one step."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # a cast would cost 0.1 µs a step
    coroutine.close()
    raise ConfigurationError(
        "Something in the pipeline waited for an event loop under Tramapy; make it plain, or use AsyncTramapy, or "
        "an async client under wrap"
    )


def detached(error: BaseException) -> BaseException:
    """Return `error` without its traceback and chain: frames and causes hold text. Ours stay as causes.

    Raise it outside any handler, or Python chains it again.
    """
    seen: set[int] = set()
    pending = [error]
    while pending:
        link = pending.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        cause, context = link.__cause__, link.__context__
        link.__traceback__ = None
        link.__cause__ = cause if isinstance(cause, TramapyError) else None
        # a cancellation that was raised anew is known to its scope by the one before it
        link.__context__ = context if is_cancellation(link) and _is_single_cancellation(context) else None
        pending.extend(each for each in (link.__cause__, link.__context__) if each is not None)
        if isinstance(link, BaseExceptionGroup):
            pending.extend(cast("BaseExceptionGroup[BaseException]", link).exceptions)
    return error


def _is_single_cancellation(error: BaseException | None) -> bool:
    return error is not None and not isinstance(error, BaseExceptionGroup) and is_cancellation(error)
