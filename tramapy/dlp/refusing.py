"""`without_arguments`: let a refusal leave a call without the frames that hold what it was given.

A crash report shows the local variables of each frame that an error passed; the arguments of a constructor that
refuses a pattern are such, and a pattern, an allowed text or a key is a secret.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tramapy.errors import ConfigurationError
from tramapy.keywords import explains_names

__all__ = ["refuses_quietly", "without_arguments"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def without_arguments(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """Raise what a call refuses from a frame that holds nothing of it."""

    @functools.wraps(call)
    def quiet(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return call(*args, **kwargs)
        except (ConfigurationError, TypeError, ValueError) as error:
            refused = error.with_traceback(None)
        del args, kwargs
        raise refused

    return quiet


def refuses_quietly(made: type[_T]) -> type[_T]:
    """Make a dataclass whose constructor refuses so, and wrong names with the fields that there are."""
    type.__setattr__(made, "__init__", without_arguments(explains_names(made).__init__))
    return made
