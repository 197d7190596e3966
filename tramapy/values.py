"""Type checks of the values that text travels in: a slot of the wrong type would pass by DLP unseen."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["described", "each", "instance", "optional_text", "shown", "text"]

T = TypeVar("T")

_SHOWN_BITS = 128  # Python refuses to write out an int of over 4,300 digits


def text(where: str, value: object) -> None:
    """Raise `TypeError` unless `value` is a str; the message names the field and never its value."""
    if not isinstance(value, str):
        raise TypeError(f"{where} takes a str, not {type(value).__name__}")


def optional_text(where: str, value: object) -> None:
    """Raise `TypeError` unless `value` is a str or None."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{where} takes a str or None, not {type(value).__name__}")


def instance(where: str, value: object, kind: type[object], remedy: str) -> None:
    """Raise `TypeError` unless `value` is a `kind`; `remedy` says what to write."""
    if not isinstance(value, kind):
        raise TypeError(f"{where} takes {kind.__name__}, not {type(value).__name__}; {remedy}")


def each(where: str, values: Iterable[T], kinds: tuple[type[object], ...], remedy: str) -> tuple[T, ...]:
    """Return `values` as a tuple, all of them of one of `kinds`.

    Raises:
        TypeError: One is not, or there is nothing to go through.
    """
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{where} takes several values, not {type(values).__name__}; {remedy}")
    listed = tuple(values)
    for position, value in enumerate(listed):
        if not isinstance(value, kinds):
            raise TypeError(f"{where}[{position}] is {described(value)}; {remedy}")
    return listed


def described(value: object) -> str:
    """Say what a value is, for a message that goes on after "is": by type, never by what it holds."""
    if isinstance(value, type):
        return f"the class {value.__name__}, and no instance"
    return "a bare function" if inspect.isroutine(value) else f"of type {type(value).__name__}"


def shown(number: float) -> str:
    """Return a number as a message shows it: not in the words of a subclass, and no int of any length."""
    if not isinstance(number, int):
        return float.__repr__(number)
    bit_count = number.bit_length()
    return int.__repr__(number) if bit_count <= _SHOWN_BITS else f"an int of {bit_count} bits"
