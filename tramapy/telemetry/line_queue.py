"""`LineQueue`: what is put in at once, and written by a thread of its own later."""

from __future__ import annotations

import atexit
import contextlib
import logging
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tramapy.forks import renew_after_fork
from tramapy.telemetry.jsonl_file import RotatedFile
from tramapy.values import class_label

__all__ = ["LineQueue"]

T = TypeVar("T")

_logger = logging.getLogger("tramapy.telemetry")

_PAUSE_S: Final = 0.05
_FAILURES_PER_WARNING: Final = 1_000
_EXIT_TIMEOUT_S: Final = 5.0


class _Mark:
    """Something in the queue that is no item: set when all before it is written."""

    __slots__ = ("is_last", "reached")

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        self.reached = threading.Event()


class LineQueue(Generic[T]):
    """A bounded queue before a file; safe to share between threads, and to use from a finalizer.

    After a fork the child begins with an empty queue and a thread of its own.

    Args:
        file: Where lines go; it belongs to this queue from now on.
        encode: Makes a line of an item, on the queue's thread.
        capacity: How many items may wait; what comes beyond is dropped and counted.
    """

    def __init__(self, file: RotatedFile, encode: Callable[[T], bytes], *, capacity: int) -> None:
        self._file = file
        self._encode = encode
        self._capacity = capacity
        self._failure_count = 0
        self._is_stopped = False
        self._renew()
        renew_after_fork(self, type(self)._renew)
        self._start()
        # weak: an exit hook cannot be taken back for one object alone
        atexit.register(_close_at_exit, weakref.ref(self))

    def put(self, item: T) -> None:
        """Leave an item to be written; never waits for the file."""
        if not self._has_thread:
            self._start()
        if self._is_stopped or self._queue.qsize() >= self._capacity:
            self._drop(1)
            return
        self._queue.put(item)

    @property
    def dropped_count(self) -> int:
        """How many items were not written."""
        return self._dropped_count

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was put in before is written; returns whether it was within `timeout_s`."""
        if not self._has_thread:
            self._start()
        if self._is_stopped:
            return self._last.reached.wait(timeout_s)
        mark = _Mark(is_last=False)
        self._queue.put(mark)
        self._hurry.set()
        return mark.reached.wait(timeout_s)

    def stop(self) -> None:
        """Take no more items, and let the thread end once all is written; does not wait for it."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if not self._has_thread:
            self._last.reached.set()  # nothing was put in here
            return
        self._queue.put(self._last)
        self._hurry.set()

    def close(self, timeout_s: float) -> bool:
        """Stop, and wait for the thread; returns whether it ended within `timeout_s`."""
        self.stop()
        return self._last.reached.wait(timeout_s)

    def _renew(self) -> None:
        # reentrant, because a dropped stream's finalizer may put in while this thread does
        self._queue: queue.SimpleQueue[T | _Mark] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._hurry = threading.Event()
        self._dropped_count = 0
        self._has_thread = False  # a fork takes none along
        self._last = _Mark(is_last=True)
        if self._is_stopped:
            self._last.reached.set()

    def _start(self) -> None:
        with self._lock:
            if self._has_thread or self._is_stopped:
                return
            self._has_thread = True
        threading.Thread(target=self._run, name="tramapy-jsonl", daemon=True).start()

    def _run(self) -> None:
        is_over = False
        while not is_over:
            entries = [self._queue.get()]
            # more will come: one step for many, and the threads that work are seldom disturbed
            self._hurry.wait(_PAUSE_S)
            self._hurry.clear()
            with contextlib.suppress(queue.Empty):
                while True:
                    entries.append(self._queue.get_nowait())
            marks = [entry for entry in entries if isinstance(entry, _Mark)]
            self._write([entry for entry in entries if not isinstance(entry, _Mark)])
            is_over = any(mark.is_last for mark in marks)
            if is_over:
                with contextlib.suppress(
                    OSError
                ):  # whoever waits for the end must not wait for a broken disk
                    self._file.close()
            for mark in marks:
                mark.reached.set()

    def _write(self, items: list[T]) -> None:
        lines: list[bytes] = []
        for item in items:
            try:
                lines.append(self._encode(item))
            except (TypeError, ValueError) as error:
                self._fail(error, 1)
        before = self._file.line_count
        try:
            self._file.append(lines)
        except OSError as error:
            self._fail(error, len(lines) - (self._file.line_count - before))

    def _fail(self, error: Exception, lost_count: int) -> None:
        self._drop(lost_count)
        self._failure_count += 1
        if self._failure_count % _FAILURES_PER_WARNING == 1:
            # the application's filters and handlers run in here
            with contextlib.suppress(Exception):
                _logger.warning(
                    "events were not written error_type=%s failure_count=%d dropped_count=%d",
                    class_label(error),
                    self._failure_count,
                    self._dropped_count,
                )

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped_count += count


def _close_at_exit(reference: weakref.ref[LineQueue[T]]) -> None:
    if (lines := reference()) is not None:
        lines.close(_EXIT_TIMEOUT_S)
