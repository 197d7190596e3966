"""Plans for the values that every JSON API has: ids, words of the format, numbers, texts that are shown elsewhere.

Each skips only what is of the type that is due: where an id should stand, an object is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from tramapy.wire.rest import EACH, OPAQUE, SHOWN, SKIP, Plan

__all__ = ["by_name", "credential", "each", "identifier", "numbers", "opaque", "shown", "word"]

# what a format's own words look like; a name, a key or a number never does
_WORD: Final = re.compile(r"[a-z_\-]{1,24}\Z").match

# what a vendor calls its fields
_NAME: Final = re.compile(r"[A-Za-z_]{1,64}\Z").match
_NAMES: Final = re.compile(r"[A-Za-z_]*\Z").match

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:/\-]{1,128}\Z").match


opaque: Final = OPAQUE
shown: Final = SHOWN


def word(value: object) -> Plan:
    """Skip a word such as `auto` or `tool_calls`."""
    return SKIP if isinstance(value, str) and _WORD(value) else None


def credential(value: object) -> Plan:
    """Skip what a caller authorizes itself with: it has to arrive as it is."""
    return None if isinstance(value, (dict, list)) else SKIP


def identifier(value: object) -> Plan:
    """Skip the name of a tool or a model: one with blanks in it is text."""
    return SKIP if isinstance(value, str) and _IDENTIFIER(value) else None


def numbers(value: object) -> Plan:
    """Skip numbers, and objects and arrays of them, however large."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return SKIP if _are_numbers(fields) else _numbers_by_name(fields)
    if isinstance(value, list):
        return _NUMBERS
    return SKIP if isinstance(value, (int, float)) else None


def _are_numbers(fields: Mapping[str, object]) -> bool:
    # one look at all names together takes a third of one at each
    names = "".join(fields)
    if not _NAMES(names) or len(names) > 64 * len(fields):
        return False
    kinds = {*map(type, fields.values())}
    if kinds <= _NUMBER_TYPES:
        return True
    inner = [cast("dict[str, object]", value) for value in fields.values() if type(value) is dict]
    return kinds <= _NUMBERS_AND_OBJECTS and all(map(_are_numbers, inner))


_NUMBER_TYPES: Final[frozenset[type[object]]] = frozenset((int, float, bool, type(None)))
_NUMBERS_AND_OBJECTS: Final = _NUMBER_TYPES | {dict}


def by_name(plan: Plan) -> Callable[[object], Plan]:
    """Plan every value of an object; a name that is no word is inspected itself, with its value."""

    def plan_of(value: object) -> Plan:
        if not isinstance(value, dict):
            return None
        return {name: plan for name in cast("dict[str, object]", value) if _NAME(name)}

    return plan_of


_numbers_by_name: Final = by_name(numbers)
_NUMBERS: Final[Plan] = {EACH: numbers}


def each(plan: Plan) -> Callable[[object], Plan]:
    """Plan every item of an array; what is no array is inspected."""
    items: Mapping[str, Plan] = {EACH: plan}
    return lambda value: items if isinstance(value, list) else None
