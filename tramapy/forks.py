"""`renew_after_fork`: what a forked child does with objects whose locks a thread may hold that it does not have."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["renew_after_fork"]

T = TypeVar("T")

# the objects, by id, so that they need no hash, and by the function to call
_SHARED: Final[weakref.WeakValueDictionary[tuple[int, Callable[[Any], None]], object]] = (
    weakref.WeakValueDictionary()
)


def renew_after_fork(shared: T, renew: Callable[[T], None]) -> None:
    """Have an object renewed in each forked child before anything else runs there, for as long as it lives.

    Args:
        shared: The object.
        renew: Takes new locks for it, and lets go what belongs to the parent.
    """
    _SHARED[id(shared), renew] = shared


def _renew_all() -> None:
    for (_, renew), shared in list(_SHARED.items()):
        renew(shared)


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows does not fork
    os.register_at_fork(after_in_child=_renew_all)
