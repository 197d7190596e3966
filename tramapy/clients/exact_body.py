"""Bodies whose bytes say nothing but the value that is read from them: these go on as they came."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

__all__ = ["exact_object", "is_exact"]


def exact_object(data: bytes) -> dict[str, object] | None:
    """Return the JSON object that a body is; None where its bytes may say more than that, or are no object.

    A name that stands twice in an object has two values, of which a reader sees the last alone, and a number may have
    more digits than a float holds.
    """
    try:
        text = data.decode()
        value: Any
        value, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    found: dict[str, object] | None = value if end == len(text) and type(value) is _OBJECT else None
    return found


def is_exact(data: bytes) -> bool:
    """Tell whether a body is one JSON value, or one in each line, and its bytes say nothing else but blanks."""
    try:
        text = data.decode().strip(_BLANKS)
        if _decode(text)[1] == len(text):
            return True
        lines = (line.strip(_BLANKS) for line in text.split("\n"))
        return all(_decode(line)[1] == len(line) for line in lines if line)
    except (ValueError, RecursionError):
        return False


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object each of whose names stood there once."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError
    return value


def _exact_float(text: str) -> float:
    """Return a number that has no other digits than Python writes, but for zeros at its end."""
    value = float(text)
    if repr(value).rstrip("0") != text.rstrip("0"):
        raise ValueError
    return value


_BLANKS: Final = " \t\r\n"

# a type checker would want a cast behind `type(value) is dict`
_OBJECT: Final[Any] = dict

_decode: Final[Callable[[str], tuple[Any, int]]] = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_exact_float
).raw_decode
