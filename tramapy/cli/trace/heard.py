"""`heard_event`: an event out of a file or a network, checked and cleaned; whoever wrote it is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, cast

from tramapy.cli.consoles import printable
from tramapy.cli.event_lines import HeardEvent
from tramapy.hooks.catalogue import CATALOGUE
from tramapy.hooks.event_model import AttributeValue, RuntimeEvent

__all__ = ["TraceInputError", "cleaned", "heard_event"]

_MAX_LENGTH: Final = 200
_MAX_ATTRIBUTE_COUNT: Final = 32
_LAST_TIME_S: Final = 253_402_300_800.0  # the end of the year 9999, after which a calendar has no name for it
_INT64: Final = range(-(2**63), 2**63)


class TraceInputError(ValueError):
    """What came is no event; the message has no text of it."""


def cleaned(text: str) -> str:
    """Return text on one line, without what would command a terminal, and cut to 200 characters."""
    shown = printable(text[:_MAX_LENGTH])
    return shown if len(text) <= _MAX_LENGTH else f"{shown}…"


def heard_event(at_s: object, name: object, attributes: object) -> HeardEvent:
    """Make an event.

    An event of the catalogue has the attributes that it must have, and no others; a later version may write more.
    One that is not in the catalogue has what of its attributes is text, an integer or a truth value.

    Raises:
        TraceInputError: It cannot be one.
    """
    if not isinstance(at_s, (int, float)) or isinstance(at_s, bool) or not 0 <= at_s < _LAST_TIME_S:
        raise TraceInputError("its time is no time")
    if not isinstance(name, str) or not name:
        raise TraceInputError("it has no name")
    if not isinstance(attributes, dict):
        raise TraceInputError("it has no attributes")
    told = _told(cast("dict[object, object]", attributes), _allowed(name))
    if not isinstance(told.get("correlation_id"), str):
        raise TraceInputError("it has no correlation id")
    if name in CATALOGUE:
        try:
            RuntimeEvent.of(CATALOGUE.get(name), told)
        except (TypeError, ValueError) as error:
            raise TraceInputError(str(error)) from None
    return HeardEvent(at_s=float(at_s), name=cleaned(name), attributes=told)


def _allowed(name: str) -> tuple[str, ...] | None:
    return CATALOGUE.get(name).allowed_names if name in CATALOGUE else None


def _told(attributes: Mapping[object, object], allowed: tuple[str, ...] | None) -> dict[str, AttributeValue]:
    pairs = (
        islice(attributes.items(), _MAX_ATTRIBUTE_COUNT)
        if allowed is None
        else [(key, attributes[key]) for key in allowed if key in attributes]
    )
    told: dict[str, AttributeValue] = {}
    for key, value in pairs:
        if isinstance(value, str):
            told[cleaned(str(key))] = cleaned(value)
        elif isinstance(value, int) and value in _INT64:
            told[cleaned(str(key))] = value
        elif allowed is not None:
            raise TraceInputError(f"its {key} is of a type that no event has")
    return told
