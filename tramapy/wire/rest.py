"""The text of a JSON value beside the places that are known: what nobody thought of is inspected, not skipped.

A `Plan` describes the known places. What it does not name stays in the rest as it is, names of objects included;
so a vendor's new field needs no release of ours to be inspected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

from tramapy.errors import DlpInspectionError

__all__ = ["EACH", "OPAQUE", "SHOWN", "SKIP", "Plan", "is_opaque", "merged", "rest_of"]


class _Skip:
    """The type of `SKIP`, and of what skips only values of a type: most plans, so no function is called for them."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


SKIP: Final = _Skip("SKIP")
"""In a plan: this value is shown elsewhere, or is no text (an id, a signature, a number of tokens)."""

OPAQUE: Final = _Skip("OPAQUE")
"""In a plan: an id, a number, a signature or what is encrypted; see `is_opaque` for what is inspected in its place."""

SHOWN: Final = _Skip("SHOWN")
"""In a plan: a text that is shown elsewhere; what is no text is inspected."""

EACH: Final = "*"
"""In a plan for an array: holds for each of its items; in one for an object, for each name that is not planned."""

Plan: TypeAlias = "_Skip | Mapping[str, Plan] | Callable[[object], Plan] | None"
"""`SKIP` and its like; None for a value of which nothing is known; the plans of an object's values by name; or a
function that looks at the value and gives its plan, for example by its `type`."""

# what a vendor calls its fields; nothing that a rule of DLP finds
_HARMLESS_NAME: Final = re.compile(r"[A-Za-z_]{1,64}\Z").match

# a shorter number identifies nobody, and most are counts
_SHORTEST_NUMBER: Final = 1_000_000

# how ids, words, points in time and base64 are written
_is_plain: Final = re.compile(r"[A-Za-z0-9_.:/+=~|\-]*\Z").match

# what is longer is no id but encoded: its first characters tell, before it has lines
_LONGEST_ID: Final = 256
_LOOKED_AT: Final = 64

_NO_TEXT: Final[frozenset[type[object]]] = frozenset((int, float, bool, type(None)))

_NOTHING: Final = _Skip("NOTHING")


def is_opaque(value: object) -> bool:
    """Tell whether a value may stand where an id, a number or what is encoded is due: no object, no array, no text."""
    if type(value) is not str:
        return type(value) in _NO_TEXT
    return _is_plain(value if len(value) <= _LONGEST_ID else value[:_LOOKED_AT]) is not None


def rest_of(value: object, plan: Plan) -> object | None:
    """Return what a plan does not cover of a JSON value, in the shape of the value; None where there is no text.

    An array becomes an object with its positions as names, where a plan covers part of it.
    """
    rest = _rest(value, plan)
    return None if rest is _NOTHING else rest


def merged(value: object, plan: Plan, rest: object | None) -> object:
    """Return a JSON value with another rest in the place of its own; it is not changed itself.

    Raises:
        DlpInspectionError: The rest has not the shape of the value's own.
    """
    own = _rest(value, plan)
    if own is _NOTHING:
        if rest is None:
            return value
        raise _wrong_shape()
    return _merged(value, plan, rest)


def _rest(value: object, plan: Plan) -> object:
    if value is None or _is_skipped(value, plan):
        return _NOTHING
    if callable(plan):
        return _rest(value, plan(value))
    if plan is None or isinstance(plan, _Skip) or not isinstance(value, (dict, list)):
        return value if _has_text(value) else _NOTHING
    known: Mapping[str, Plan] = plan
    each = known.get(EACH)
    kept: dict[str, object] = {}
    if isinstance(value, list):
        for position, item in enumerate(cast("list[object]", value)):
            name = str(position)
            rest = _rest(item, known.get(name, each))
            if rest is not _NOTHING:
                kept[name] = rest
        return kept or _NOTHING
    for name, item in cast("dict[str, object]", value).items():
        item_plan = known.get(name, each)
        if item_plan is SKIP or (item_plan is OPAQUE and is_opaque(item)):
            continue
        rest = _rest(item, item_plan)
        if rest is not _NOTHING:
            kept[name] = rest
        elif each is None and name not in known and not _HARMLESS_NAME(name):
            kept[name] = item  # for the sake of its name
    return kept or _NOTHING


def _is_skipped(value: object, plan: Plan) -> bool:
    if plan is OPAQUE:
        return is_opaque(value)
    return plan is SKIP or (plan is SHOWN and isinstance(value, str))


def _merged(value: object, plan: Plan, rest: object) -> object:
    if callable(plan):
        return _merged(value, plan(value), rest)
    items = None if plan is None or isinstance(plan, _Skip) else _items(value)
    if items is None:
        return rest
    known = cast("Mapping[str, Plan]", plan)
    own = _rest(value, plan)
    if not isinstance(rest, dict) or not isinstance(own, dict):
        raise _wrong_shape()
    changes = dict(cast("dict[str, object]", rest))
    each = known.get(EACH)
    merged_items: dict[str, object] = {}
    for name, item in items:
        item_plan = known.get(name, each)
        if name in changes:
            merged_items[name] = _merged(item, item_plan, changes.pop(name))
        elif name in own:
            raise _wrong_shape()  # its text was inspected, and is not there any more
        else:
            merged_items[name] = item
    if changes:
        raise _wrong_shape()
    return list(merged_items.values()) if isinstance(value, list) else merged_items


def _items(value: object) -> list[tuple[str, object]] | None:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).items())
    if isinstance(value, list):
        return [(str(position), item) for position, item in enumerate(cast("list[object]", value))]
    return None


def _has_text(value: object) -> bool:
    """Tell whether there is a text, a name or a long number in a value."""
    if isinstance(value, str):
        return bool(value)
    if isinstance(value, dict):
        return bool(cast("dict[str, object]", value))
    if isinstance(value, list):
        return any(map(_has_text, cast("list[object]", value)))
    return isinstance(value, int) and abs(value) >= _SHORTEST_NUMBER


def _wrong_shape() -> DlpInspectionError:
    return DlpInspectionError(
        "Inspected text has another shape than before: an inspection of JSON must keep its names and its "
        "structure; the text was withheld"
    )
