"""`redact_all`: input after input, in this process or in several; the results come in the order of the inputs."""

from __future__ import annotations

import io
import multiprocessing
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tramapy.cli.redact.redaction import Advance, FileReport, RedactSettings, RedactTask, redact_task
from tramapy.cli.redact.sinks import copy_bytes

__all__ = ["redact_all", "redact_to_file"]


def redact_all(
    tasks: Sequence[RedactTask], settings: RedactSettings, output: IO[bytes], advance: Advance, *, jobs: int
) -> Iterator[FileReport]:
    """Yield a report on each input, in order.

    Args:
        tasks: The inputs.
        settings: How they are redacted.
        output: Takes the results that have no other destination.
        advance: Hears how many more bytes were read.
        jobs: How many processes work at a time.

    Raises:
        BrokenPipeError: Nobody reads the output any more.
    """
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield redact_task(task, settings, output, advance)
        return
    # a fresh interpreter each: a fork of a program with threads may hang
    fresh = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="tramapy-") as directory,
        ProcessPoolExecutor(jobs, mp_context=fresh) as executor,
    ):
        try:
            pool = _Pool(executor, settings, Path(directory))
            yield from _in_order(pool, tasks, output, advance, limit=2 * jobs)
        finally:
            executor.shutdown(cancel_futures=True)


def redact_to_file(task: RedactTask, settings: RedactSettings, result: Path | None) -> FileReport:
    """Redact an input in a process of its own.

    Args:
        task: The input.
        settings: How.
        result: Takes what the standard output is to get; None where the task has a destination.
    """
    if result is None:
        return redact_task(task, settings, io.BytesIO(), _ignore)
    with result.open("wb") as file:
        return redact_task(task, settings, file, _ignore)


@dataclass(frozen=True, slots=True)
class _Pending:
    task: RedactTask
    report: Future[FileReport] | None
    result: Path | None


class _Pool:
    """Hands inputs to processes, but not the standard input, which is this one's."""

    def __init__(self, executor: Executor, settings: RedactSettings, directory: Path) -> None:
        self._executor = executor
        self._directory = directory
        self._count = 0
        self.settings = settings

    def begin(self, task: RedactTask) -> _Pending:
        if task.source is None:
            return _Pending(task, None, None)
        self._count += 1
        result = self._directory / str(self._count) if task.destination is None else None
        return _Pending(task, self._executor.submit(redact_to_file, task, self.settings, result), result)


def _in_order(
    pool: _Pool, tasks: Sequence[RedactTask], output: IO[bytes], advance: Advance, *, limit: int
) -> Iterator[FileReport]:
    pending: deque[_Pending] = deque()
    for task in tasks:
        pending.append(pool.begin(task))
        # no more than so many, or the results of a large corpus would pile up
        if len(pending) == limit:
            yield _done(pool, pending.popleft(), output, advance)
    while pending:
        yield _done(pool, pending.popleft(), output, advance)


def _done(pool: _Pool, pending: _Pending, output: IO[bytes], advance: Advance) -> FileReport:
    if pending.report is None:
        return redact_task(pending.task, pool.settings, output, advance)
    report = pending.report.result()
    if pending.result is not None:
        with pending.result.open("rb") as file:
            copy_bytes(file, output)
        output.flush()
        pending.result.unlink()
    advance(report.read_bytes)
    return report


def _ignore(read_bytes: int) -> None:
    """Nobody looks on from another process."""
