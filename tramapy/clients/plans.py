"""Plans for the values that every JSON API has: ids, words of the format, numbers, texts that are shown elsewhere.

Each skips only what is of the type that is due: where an id should stand, an object is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = ["each", "identifier", "numbers", "opaque", "shown", "word"]

# what a format's own words look like; a name, a key or a number never does
_WORD: Final = re.compile(r"[a-z_\-]{1,24}\Z").match

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:/\-]{1,128}\Z").match


def opaque(value: object) -> Plan:
    """Skip an id, a number, a signature or what is encrypted."""
    return None if isinstance(value, (dict, list)) else SKIP


def shown(value: object) -> Plan:
    """Skip a text that is shown elsewhere."""
    return SKIP if isinstance(value, str) else None


def word(value: object) -> Plan:
    """Skip a word such as `auto` or `tool_calls`."""
    return SKIP if isinstance(value, str) and _WORD(value) else None


def identifier(value: object) -> Plan:
    """Skip the name of a tool or a model: one with blanks in it is text."""
    return SKIP if isinstance(value, str) and _IDENTIFIER(value) else None


def numbers(value: object) -> Plan:
    """Skip numbers, and objects and arrays of them, however large."""
    if isinstance(value, (int, float)):
        return SKIP
    if isinstance(value, dict) and all(map(_is_number, cast("dict[str, object]", value).values())):
        return SKIP
    return _NUMBERS if isinstance(value, (dict, list)) else None


_NUMBERS: Final[Plan] = {EACH: numbers}


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (int, float))


def each(plan: Plan) -> Callable[[object], Plan]:
    """Plan every item of an array; what is no array is inspected."""
    items: Mapping[str, Plan] = {EACH: plan}
    return lambda value: items if isinstance(value, list) else None
