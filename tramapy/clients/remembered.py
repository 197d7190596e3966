"""`remembered`: `functools.cache` for functions of classes, which mypy does not take for hashable."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["remembered"]

F = TypeVar("F", bound=Callable[..., Any])


def remembered(make: F) -> F:
    """Return a function that makes what it returns once for the same arguments."""
    return cast("F", functools.cache(make))
