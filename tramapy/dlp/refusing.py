"""`without_arguments`: let a refusal leave a call without the frames that hold what it was given.

A crash report shows the local variables of each frame that an error passed; the arguments of a constructor that
refuses a pattern are such, and a pattern, an allowed text or a key is a secret.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from types import FunctionType
from typing import ParamSpec, TypeVar

from tramapy.errors import ConfigurationError
from tramapy.keywords import explains_names

__all__ = ["refuses_quietly", "without_arguments"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_TAKES_ANY_NAME = 0x08
"""`inspect.CO_VARKEYWORDS`, whose module costs more to import than all here."""


def without_arguments(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """Raise what a call refuses from a frame that holds nothing of it; answer wrong names with the right ones."""
    known = _names(call)

    @functools.wraps(call)
    def quiet(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            if known:
                _check_names(call.__name__, kwargs, known)
            return call(*args, **kwargs)
        except (ConfigurationError, TypeError, ValueError) as error:
            refused = error.with_traceback(None)
        del args, kwargs
        raise refused

    return quiet


def _names(call: Callable[..., object]) -> Collection[str]:
    """Return the arguments of a method that takes no others."""
    if not isinstance(call, FunctionType) or call.__code__.co_flags & _TAKES_ANY_NAME:
        return ()
    code = call.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _check_names(name: str, given: Iterable[str], known: Collection[str]) -> None:
    for argument in given:
        if argument not in known:
            from tramapy.remedies import unknown_name  # only who is wrong pays for the import

            raise TypeError(unknown_name("setting", argument, known, of=name))


def refuses_quietly(made: type[_T]) -> type[_T]:
    """Make a dataclass whose constructor refuses so, and wrong names with the fields that there are."""
    type.__setattr__(made, "__init__", without_arguments(explains_names(made).__init__))
    return made
