"""The gate beside ruff, bandit and flake8-async, on the same trees, in CPU seconds.

    python -m benchmarks.gate                     anyio, and homeassistant where it can be downloaded
    python -m benchmarks.gate PATH…               other trees

CPU time of the process and its children, not wall time: it means the same on a busy machine. A tool that is
not installed is left out. flake8-async takes about half a minute for anyio, so it runs once.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CORPORA = {"anyio": "4.16.0", "homeassistant": "2024.3.3"}
DOWNLOADS = Path(__file__).parents[1] / "build" / "bench"
GATE = (sys.executable, "-m", "safety_gate", "check")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The median of some runs of one command: CPU seconds and the peak of one process in MB."""

    cpu_s: float
    peak_mb: float


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print a table for each tree."""
    trees = [Path(argument) for argument in arguments] or [tree for name in CORPORA if (tree := _tree(name))]
    for tree in trees:
        print(f"== {tree.name}: {_size(tree)}")
        for name, measured in _rows(tree):
            print(f"{name:42} {measured.cpu_s:8.3f} CPU s {measured.peak_mb:7.0f} MB")


def _rows(tree: Path) -> list[tuple[str, Measured]]:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / tree.name
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("__pycache__", ".safety-gate-cache"))
        check = (*GATE, "--isolated", "--jobs", "1", ".")
        _run(check, copy, runs=1)
        rows = [("gate, cold, 1 process", _run(check, copy, before=lambda: _forget(copy)))]
        rows.append(
            ("gate, cold, 2 processes", _run((*check[:-2], "2", "."), copy, before=lambda: _forget(copy)))
        )
        rows.append(("gate, warm", _run(check, copy)))
        by_size = sorted(copy.rglob("*.py"), key=lambda path: path.stat().st_size)
        middle = len(by_size) // 2
        five = [path.relative_to(copy).as_posix() for path in by_size[middle - 2 : middle + 3]]
        rows.append(
            ("gate, 5 files of middle size, no cache", _run((*GATE, "--isolated", "--no-cache", *five), copy))
        )
        quiet = copy / "quiet.py"
        quiet.write_text("x = 1\n", "utf-8")
        rows.append(
            ("gate, 1 file with nothing in it", _run((*GATE, "--isolated", "--no-cache", "quiet.py"), copy))
        )
        quiet.unlink()
        rows.extend(_others(copy))
    return rows


def _others(tree: Path) -> list[tuple[str, Measured]]:
    binary = Path(sys.executable).parent
    commands = {
        "ruff, ASYNC T20 BLE S, no cache": (
            "ruff",
            "check",
            "--isolated",
            "--no-cache",
            "--select=ASYNC,T20,BLE,S",
            ".",
        ),
        "bandit, all plugins": ("bandit", "-q", "-r", "."),
        "flake8-async, select ASYNC": ("flake8", "--isolated", "-j1", "--select=ASYNC", "."),
    }
    is_large = sum(1 for _ in tree.rglob("*.py")) > 500
    rows: list[tuple[str, Measured]] = []
    for name, (tool, *rest) in commands.items():
        if not (binary / tool).exists() or (is_large and tool != "ruff"):
            continue
        rows.append((name, _run((str(binary / tool), *rest), tree, runs=1 if tool == "flake8" else 3)))
    return rows


def _run(
    command: Sequence[str], directory: Path, *, runs: int = 3, before: Callable[[], None] = lambda: None
) -> Measured:
    times: list[float] = []
    peaks: list[float] = []
    for _ in range(runs):
        before()
        process = subprocess.Popen(
            command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment()
        )
        _, _, usage = os.wait4(process.pid, 0)
        times.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1024)
    return Measured(cpu_s=statistics.median(times), peak_mb=statistics.median(peaks))


def _environment() -> dict[str, str]:
    # an installed package has its bytecode beside it; this machine's wish to write none must not be measured
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _forget(tree: Path) -> None:
    shutil.rmtree(tree / ".safety-gate-cache", ignore_errors=True)


def _size(tree: Path) -> str:
    files = list(tree.rglob("*.py"))
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    return f"{len(files):,} files, {lines:,} lines"


def _tree(name: str) -> Path | None:
    """Return a package's tree, from a wheel that is fetched once."""
    target = DOWNLOADS / name
    if not target.exists():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        fetch = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:")
        done = subprocess.run(
            (*fetch, "--dest", str(DOWNLOADS), f"{name}=={CORPORA[name]}"), capture_output=True, check=False
        )
        wheels = sorted(DOWNLOADS.glob(f"{name}-*.whl"))
        if done.returncode or not wheels:
            print(f"== {name}: cannot be downloaded here, left out")
            return None
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(target)
    return target


if __name__ == "__main__":
    main(sys.argv[1:])
