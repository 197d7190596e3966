"""`renew_after_fork`: what a forked child does with objects whose locks a thread may hold that it does not have."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Final

__all__ = ["renew_after_fork"]

_RENEWALS: Final[dict[int, weakref.WeakMethod[Callable[[], None]]]] = {}


def renew_after_fork(renew: Callable[[], None]) -> None:
    """Have a method called in each forked child before anything else runs there, for as long as its object lives.

    It takes new locks, and lets go what belongs to the parent.
    """
    reference = weakref.WeakMethod(renew, _forget)
    _RENEWALS[id(reference)] = reference


def _forget(reference: object) -> None:
    _RENEWALS.pop(id(reference), None)


def _renew_all() -> None:
    for reference in list(_RENEWALS.values()):
        renew = reference()
        if renew is not None:
            renew()


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows does not fork
    os.register_at_fork(after_in_child=_renew_all)
