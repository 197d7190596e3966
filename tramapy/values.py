"""Type checks of the values that text travels in: a slot of the wrong type would pass by DLP unseen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["each", "instance", "optional_text", "text"]

T = TypeVar("T")


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
        raise TypeError(f"{where} takes a {kind.__name__}, not {type(value).__name__}; {remedy}")


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
            raise TypeError(f"{where}[{position}] is a {type(value).__name__}; {remedy}")
    return listed
