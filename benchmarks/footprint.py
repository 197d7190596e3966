"""Import time and retained memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc

from benchmarks.attempt import MESSAGES, Plain, governed
from benchmarks.measure import row
from tramapy import Tramapy

OPERATIONS = 100_000


def import_ms(*modules: str) -> float:
    """Return the best CPU time of a fresh interpreter that imports them, less one that imports nothing."""
    with tempfile.TemporaryDirectory() as cache:
        # with compiled files, as an installed package has them, whatever this shell's settings are
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        importing = _interpreter_ms(f"import {', '.join(modules)}", environment)
        return max(importing - _interpreter_ms("pass", environment), 0.0)


def growth_bytes() -> int:
    """Return how much more is held after so many operations than after the first thousand."""
    facade = Tramapy({"p": Plain()}, **governed())
    for _ in range(1000):
        facade.complete(MESSAGES, model="m")
    tracemalloc.start()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(OPERATIONS):
        facade.complete(MESSAGES, model="m")
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before


def _interpreter_ms(code: str, environment: dict[str, str]) -> float:
    probe = f"{code}\nimport time, sys\nsys.stdout.write(str(time.process_time()))"
    command = [sys.executable, "-c", probe]
    times = [
        float(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)
        for _ in range(16)
    ]
    return min(times[1:]) * 1000


def main() -> None:
    """Print both figures."""
    print("Footprint")
    print(row("import tramapy", import_ms("tramapy"), "ms", 60))
    print(row("import asyncio alone, for comparison", import_ms("asyncio"), "ms"))
    print(row(f"growth after {OPERATIONS:,} operations", growth_bytes() / 1e6, "MB", 1.0))


if __name__ == "__main__":
    main()
