"""Judge many files: what a cache remembers of them, and workers for the others."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from safety_gate.config import Config
from safety_gate.discovery import Target
from safety_gate.quiet import is_quiet
from safety_gate.source import SourceError, read_source
from safety_gate.triggers import needed_words
from safety_gate.violation import Diagnostic, FileReport

TYPE_CHECKING = False  # see `config`
if TYPE_CHECKING:
    import datetime

    from safety_gate.cache import Cache

_MIN_PARALLEL_FILES = 40  # a worker costs about 0.1 s to start
_MAX_UNCOLLECTED = 50_000  # objects; what a large file leaves in cycles
_CHUNK = 4
_MAX_WORKERS = 61  # what Windows can wait for; forked workers all start at once


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is done; none of it changes what is found.

    Attributes:
        jobs: Worker processes; 0 for one per core.
        use_cache: Whether verdicts are remembered.
        base: Compare with this revision.
        changed: Only judge files that differ from this revision.
        on_progress: Called with the number of files done and of all files.
        today: For the expiry of exemptions; None for the date of the machine.
    """

    jobs: int = 1
    use_cache: bool = True
    base: str | None = None
    changed: str | None = None
    on_progress: Callable[[int, int], None] | None = None
    today: datetime.date | None = None


def judge_all(targets: Sequence[Target], config: Config, run: RunOptions) -> list[FileReport]:
    """Return a report for each target, from the cache or from a worker, in the order of the targets."""
    cache = _cache(config) if run.use_cache else None
    reports = _remembered(targets, cache, config) if cache is not None else {}
    missing = [target for target in targets if target.path not in reports]
    done = len(reports)
    for target, judged in _judged(missing, config, run):
        reports[target.path] = judged.report
        if cache is not None and judged.digest is not None:
            cache.put(target, judged.digest, judged.report)
        done += 1
        if run.on_progress is not None:
            run.on_progress(done, len(targets))
    if cache is not None:
        cache.save()
    return [reports[target.path] for target in targets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One file for a worker.

    Attributes:
        target: The file.
        config: Its settings and limits.
        data: Its content; None to read it.
        with_accepted: See `engine.check_source`.
        with_digest: Whether the verdict is to be remembered.
        words: See `quiet`; empty to ask the engine at once.
    """

    target: Target
    config: Config
    data: bytes | None = None
    with_accepted: bool = False
    with_digest: bool = False
    words: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict, and the digest of the content that it is on, if it is on one and is to be remembered."""

    report: FileReport
    digest: str | None = None


def judge(task: Task) -> Judged:
    """Judge one file. Runs in a worker too; reads the file there, so that only one content is held at a time."""
    target = task.target
    try:
        data = read_source(target.file, task.config.max_file_bytes) if task.data is None else task.data
    except SourceError as error:
        diagnostic = Diagnostic(rule="SG905", path=target.path, line=error.line, message=error.message)
        return Judged(report=FileReport(path=target.path, diagnostics=(diagnostic,)))
    return Judged(report=_verdict(task, data), digest=_digest(target, data) if task.with_digest else None)


def _verdict(task: Task, data: bytes) -> FileReport:
    target = task.target
    if task.words and is_quiet(data, task.words, task.config.settings.max_memory_mb):
        return FileReport(path=target.path)
    from safety_gate.engine import check_source  # imports every rule, and few runs need it

    report = check_source(
        data,
        target.path,
        settings=task.config.settings,
        role=target.role,
        module=target.module,
        with_accepted=task.with_accepted,
    )
    if gc.get_count()[0] > _MAX_UNCOLLECTED:
        gc.collect()
    return report


def _cache(config: Config) -> Cache:
    from safety_gate.cache import Cache  # its hashing and its JSON are not needed without it

    return Cache(config)


def _digest(target: Target, data: bytes) -> str:
    from safety_gate.cache import digest_of

    return digest_of(target, data)


def _remembered(targets: Sequence[Target], cache: Cache, config: Config) -> dict[str, FileReport]:
    found: dict[str, FileReport] = {}
    for target in targets:
        if cache.knows(target):
            try:
                data = read_source(target.file, config.max_file_bytes)
            except SourceError:
                continue  # the worker meets the same error and reports it
            report = cache.get(target, data)
            if report is not None:
                found[target.path] = report
    return found


def _judged(targets: Sequence[Target], config: Config, run: RunOptions) -> Iterator[tuple[Target, Judged]]:
    plain = replace(config, exemptions=(), roles={})  # a worker needs the settings only
    # Largest first, one at a time: a big file at the end would leave the other workers idle.
    ordered = sorted(targets, key=_size, reverse=True)
    is_few = len(targets) < _MIN_PARALLEL_FILES
    words = needed_words(config.settings) if targets and is_few else ()  # many files need the engine anyway
    tasks = (Task(target=target, config=plain, words=words, with_digest=run.use_cache) for target in ordered)
    count = min(run.jobs or os.cpu_count() or 1, len(targets), _MAX_WORKERS)
    if count <= 1 or is_few:
        for target, task in zip(ordered, tasks, strict=True):
            yield target, judge(task)
        return
    import multiprocessing
    from collections import deque
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker) as pool:
        # Not `pool.map`: it cancels what is left when it is interrupted, and the pool trips over that.
        waiting = list(tasks)
        chunks = deque(waiting[start : start + _CHUNK] for start in range(0, len(waiting), _CHUNK))
        futures = deque(pool.submit(_judge_chunk, chunk) for chunk in chunks)
        try:
            while futures:
                judged = futures.popleft().result()
                yield from ((task.target, verdict) for task, verdict in zip(chunks[0], judged, strict=True))
                chunks.popleft()
        except BrokenProcessPool:
            yield from ((task.target, _lost(task.target)) for chunk in chunks for task in chunk)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _judge_chunk(tasks: Sequence[Task]) -> list[Judged]:
    return [judge(task) for task in tasks]


def _lost(target: Target) -> Judged:
    """Report a file whose verdict went down with a worker: killed, or out of memory."""
    message = "A worker process died before this file was judged. Run the gate again, with --jobs 1."
    diagnostic = Diagnostic(rule="SG905", path=target.path, line=None, message=message)
    return Judged(report=FileReport(path=target.path, diagnostics=(diagnostic,)), digest=None)


def _start_worker() -> None:
    import signal

    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and silently; the run itself says why


def _size(target: Target) -> int:
    try:
        return os.stat(target.file).st_size
    except OSError:
        return 0
