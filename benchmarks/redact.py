"""Throughput and peak memory of `tramapy redact` on a large file, in a process of its own.

Run: `python -m benchmarks.redact [MEGABYTES]`
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import row

_MEGABYTES = 200
_FILE_COUNT = 2_000
_GROWTH_BAR_MB = 40
_LINES = (
    "The order ships on 2024-05-06 at 10:30 and the total is 48.21 for 3 items.",
    "Somebody calls again about the quick brown fox, which rests for 15 minutes by the dog.",
    "See https://example.org/docs/page?id=1234 for what the others wrote about that.",
)
_DIRTY = "Write to ann@example.com, or pay with 4111 1111 1111 1111."


@dataclass(frozen=True, slots=True)
class _Run:
    cpu_s: float
    peak_mb: float


def main(megabytes: int = _MEGABYTES) -> None:
    """Print megabytes a second of CPU time, and how much more memory is used than for an empty file."""
    print(f"tramapy redact on {megabytes} MB: CPU time and peak memory over that for an empty file")
    with tempfile.TemporaryDirectory() as directory:
        text, records, files = Path(directory, "text"), Path(directory, "records"), Path(directory, "files")
        _write(text, megabytes, _lines())
        _write(records, megabytes, _records())
        files.mkdir()
        for number in range(_FILE_COUNT):
            _write(files / f"{number}.txt", megabytes / _FILE_COUNT, _lines())
        empty = _run("--output", str(Path(directory, "out")), os.devnull)
        for name, arguments in {
            "text": (str(text),),
            "text, --format json": ("--format", "json", str(text)),
            "records, whole": ("--jsonl", str(records)),
            "records, one field": ("--jsonl", "--field", "messages.content", str(records)),
            f"{_FILE_COUNT} files": ("--output", str(Path(directory, "out")), str(files)),
        }.items():
            spent = _run(*arguments)
            speed = megabytes / (spent.cpu_s - empty.cpu_s)
            print(row(f"{name}, {speed:.1f} MB/s", spent.peak_mb - empty.peak_mb, "MB", _GROWTH_BAR_MB))


def _run(*arguments: str) -> _Run:
    command = [sys.executable, "-m", "tramapy", "redact", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"tramapy redact ended with {process.returncode}")
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return _Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def _write(path: Path, megabytes: float, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1e6:
            file.writelines(next(lines) for _ in range(20 if megabytes < 1 else 2_000))


def _lines() -> Iterator[str]:
    source = random.Random(20)
    while True:
        yield (_DIRTY if source.random() < 0.01 else source.choice(_LINES)) + "\n"


def _records() -> Iterator[str]:
    for number, line in enumerate(_lines()):
        messages = [{"role": "user", "content": line}, {"role": "assistant", "content": "It is done."}]
        yield json.dumps({"id": number, "messages": messages}) + "\n"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
