"""How much memory something takes, whatever else the process does meanwhile."""

import tracemalloc
from collections.abc import Callable

__all__ = ["growth_bytes", "peak_bytes"]

_ATTEMPTS = 3


def peak_bytes(function: Callable[[], object]) -> int:
    """Return the most that a call held at once.

    The least of several calls: what the first one leaves behind (free lists, caches), and what other threads of the
    test runner allocate meanwhile, only ever comes on top.
    """
    return min(_measured(function)[1] for _ in range(_ATTEMPTS))


def growth_bytes(function: Callable[[], object]) -> int:
    """Return what a call leaves behind, the least of several calls."""
    return min(_measured(function)[0] for _ in range(_ATTEMPTS))


def _measured(function: Callable[[], object]) -> tuple[int, int]:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return left - before, peak
