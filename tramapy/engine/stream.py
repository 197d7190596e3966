"""A streamed operation: pieces pulled one by one, inspected, and released; never a piece that DLP has not seen.

It is a step machine and no generator, so that nothing (no scope, no span, no lock) stays open while the
consumer has the turn, and so that one close serves every way to leave.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tramapy.cancellation import is_cancellation
from tramapy.engine.dispatch import Dispatch
from tramapy.engine.operation import Attempt, CancelReason, Operation
from tramapy.engine.stream_attempt import StreamAttempt
from tramapy.errors import ProviderError
from tramapy.messages import ModelResponse

__all__ = ["EngineStream"]


class EngineStream:
    """The engine's side of `stream`: `next_chunk` until it gives None, or `close` at any time."""

    __slots__ = (
        *("response", "_operation", "_dispatch", "_attempt", "_new_reader", "_reader", "_ready"),
        *("_is_started", "_is_over", "_is_released", "_turn", "_paused_at_s"),
    )

    def __init__(self, operation: Operation) -> None:
        self.response: ModelResponse | None = None
        self._operation = operation
        self._new_reader: Callable[[Attempt], StreamAttempt] = (
            StreamAttempt if operation.native is None else _native_reader
        )
        self._dispatch = Dispatch(operation)
        self._attempt: Attempt | None = None
        self._reader: StreamAttempt | None = None
        self._ready: deque[Any] = deque()
        self._is_started = False
        self._is_over = False
        self._is_released = False
        # held by whoever reads or closes: two threads may try to in the same moment
        self._turn = threading.Lock()
        # since when the consumer has the turn: its time is no time of the operation's
        self._paused_at_s: float | None = operation.started_s

    @property
    def is_being_read(self) -> bool:
        """Whether another task or thread reads it, or closes it, at this moment."""
        return self._turn.locked()

    async def next_chunk(self) -> Any:
        """Return the next released piece, or None at the end: a `Chunk`, or bytes of a native stream.

        Raises:
            TramapyError: The operation ended; after its first released piece nothing is retried.
            RuntimeError: Another task or thread is reading this stream.
        """
        if not self._turn.acquire(blocking=False):
            raise self._taken()
        try:
            ready = self._ready
            while not ready:
                if self._is_over:
                    return None
                self._resume()
                await self._advance(ready)
            self._is_released = True
            self._paused_at_s = self._operation.pipeline.port.now_s()
            return ready.popleft()
        finally:
            self._turn.release()

    async def close(self, reason: CancelReason) -> None:
        """Stop here: the provider's stream is closed, the permit given back, and the end announced.

        Raises:
            RuntimeError: Another task or thread is reading this stream.
        """
        if not self._turn.acquire(blocking=False):
            raise self._taken()
        try:
            self._ready.clear()
            if self._is_over:
                return
            self._is_over = True
            self._resume()
            try:
                await self._close_reader(None)
            finally:
                self._end(reason)
        finally:
            self._turn.release()

    def abandon(self) -> bool:
        """Do without waiting what `close` does, for a stream that was dropped; False where it was over."""
        reader = self._reader
        if self._is_over or reader is None:
            return False
        self._is_over = True
        self._resume()
        reader.abandon()
        self._end("abandoned")
        return True

    @staticmethod
    def _taken() -> RuntimeError:
        return RuntimeError("This stream is being read elsewhere; cancel that reader, or close it there")

    def _resume(self) -> None:
        """Take the turn back from the consumer, whose own time never counts."""
        paused_at_s, self._paused_at_s = self._paused_at_s, None
        if paused_at_s is None:
            return
        paused_s = self._operation.pipeline.port.now_s() - paused_at_s
        (self._attempt or self._operation).leave_out(paused_s)

    async def _advance(self, ready: deque[Any]) -> None:
        """Make one step: open the next attempt, or take one piece from the open one."""
        attempt, reader = self._attempt, self._reader
        if attempt is None:
            attempt = self._begin()
        try:
            if reader is None:
                reader = self._reader = self._new_reader(attempt)
                await reader.open()
            response = await reader.step(ready)
            if response is not None:
                await self._close_reader(None)
                self._complete(attempt, response)
        except BaseException as error:
            failure = error
        else:
            return
        # not in the handler: there, an observer that logs "the current exception" would log what DLP withheld
        await self._failed(attempt, failure)

    def _begin(self) -> Attempt:
        try:
            if not self._is_started:
                self._is_started = True
                self._operation.report_started()
            self._attempt = self._dispatch.begin()
        except BaseException as error:
            failure = error
        else:
            return self._attempt
        self._over(failure)
        raise failure

    def _complete(self, attempt: Attempt, response: ModelResponse) -> None:
        self.response = response
        self._dispatch.succeeded(attempt, response)
        self._is_over = True
        self._operation.report_completed("success")

    async def _failed(self, attempt: Attempt, error: BaseException) -> None:
        """Close what is open, then retry, take the next route, or raise."""
        self._ready.clear()
        port = self._operation.pipeline.port
        baseline = port.cancel_count()
        try:
            await self._close_reader(error)
            if isinstance(error, ProviderError):
                # a retry must not follow where the caller cancelled behind the shield, or a close swallowed it
                await port.checkpoint(None)
                await port.checkpoint(baseline)
        except BaseException as closing:  # a cancellation; some pass even the shield
            if is_cancellation(closing) or not is_cancellation(error):
                # a scope knows its cancellation by the one before it
                closing.__context__ = closing.__context__ or error
                error = closing
        try:
            await self._dispatch.failed(attempt, error, may_retry=not self._is_released)
        except BaseException as raised:
            final = raised
        else:
            self._attempt = None
            return
        self._over(final)
        raise final

    async def _close_reader(self, primary: BaseException | None) -> None:
        reader, self._reader = self._reader, None
        if reader is None:
            return
        if isinstance(primary, GeneratorExit):
            reader.abandon()  # a coroutine that is being closed may not wait for anything
        else:
            await reader.close(primary)

    def _over(self, error: BaseException) -> None:
        self._is_over = True
        self._dispatch.release()
        self._operation.report_completed("cancelled" if is_cancellation(error) else "failed", error)

    def _end(self, reason: CancelReason) -> None:
        """Announce an end that the consumer chose."""
        if self._attempt is None:
            return  # it never started
        try:
            self._dispatch.cancelled(self._attempt, reason, None)
        finally:
            self._operation.report_completed("cancelled")


def _native_reader(attempt: Attempt) -> StreamAttempt:
    # here and not above: only a wrapped client pays for the import
    from tramapy.engine.native_stream import NativeStreamAttempt

    return NativeStreamAttempt(attempt)
