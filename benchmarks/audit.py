"""What it costs to record a redaction, and to verify a log: `python -m benchmarks.audit [EVENTS]`.

CPU time in turns, as elsewhere; beside it the time on the clock, which is the disk's where an emit waits for it.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Run, best_us, row
from tramapy import DlpContentLocation, DlpContentType, DlpContext, DlpRedaction
from tramapy.telemetry import AuditLog, AuditStore, FileAuditStore, MemoryAuditStore

_CALLS = 200
_ROUNDS = 30
_EVENT_COUNT = 100_000
_GROWTH_BAR_MB = 40

_CONTEXT = DlpContext(
    content_type=DlpContentType.MODEL_OUTPUT,
    content_location=DlpContentLocation.MODEL_RESPONSE_CONTENT,
    operation_interface="Support",
    operation_method="answer",
    correlation_id="0",
    provider_id="openai",
    model_name="gpt-4o",
)
_ONE = (DlpRedaction("ssn", 1),)


def main(event_count: int = _EVENT_COUNT) -> None:
    """Print microseconds of CPU and on the clock for an emit, and what verifying takes."""
    print("Audit: one emit of one rule, in one of 1,000 streams; CPU time, and the median on the clock")
    with tempfile.TemporaryDirectory() as directory:
        stores: dict[str, AuditStore] = {
            "memory": MemoryAuditStore(limit_count=10_000_000),
            "file, fsync never": FileAuditStore(Path(directory, "never"), fsync="never"),
            "file, fsync interval": FileAuditStore(Path(directory, "interval"), fsync="interval"),
            "file, fsync always": FileAuditStore(Path(directory, "always"), fsync="always"),
        }
        contexts = itertools.cycle(list(map(_context, range(1_000))))
        runs = {name: _emits(store, contexts) for name, store in stores.items()}
        for name, cpu_us in best_us(runs, _CALLS, _ROUNDS).items():
            print(row(name, cpu_us, "µs", note=f"on the clock {_wall_us(runs[name]):.0f} µs"))
        _show_verifying(Path(directory), event_count)


def _context(number: int) -> DlpContext:
    return dataclasses.replace(_CONTEXT, correlation_id=f"case-{number}")


def _emits(store: AuditStore, contexts: Iterator[DlpContext]) -> Run:
    log = AuditLog(store)

    def run(calls: int) -> None:
        for context in itertools.islice(contexts, calls):
            log.emit(context, _ONE)

    return run


def _wall_us(run: Run) -> float:
    samples: list[float] = []
    for _ in range(_CALLS):
        started_s = time.perf_counter()
        run(1)
        samples.append((time.perf_counter() - started_s) * 1e6)
    return statistics.median(samples)


def _show_verifying(directory: Path, event_count: int) -> None:
    peaks_mb: list[float] = []
    start_s = _cpu_s(_verify((Path(os.devnull),)))
    for count in (event_count // 10, event_count):
        with FileAuditStore(directory / f"log{count}", fsync="never") as store:
            _emits(store, map(_context, itertools.count()))(count)
        size_mb = sum(path.stat().st_size for path in store.paths) / 1e6
        usage = _verify(store.paths)
        peaks_mb.append(usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024))
        cpu_us = (_cpu_s(usage) - start_s) / count * 1e6
        print(row(f"verify {count:,} events, {size_mb:.0f} MB", cpu_us, "µs/event"))
    print(row("verify, more memory for ten times the log", peaks_mb[1] - peaks_mb[0], "MB", _GROWTH_BAR_MB))


def _cpu_s(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _verify(paths: tuple[Path, ...]) -> resource.struct_rusage:
    command = [sys.executable, "-m", "tramapy", "audit", "verify", *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"tramapy audit verify ended with {process.returncode}")
    return usage


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
