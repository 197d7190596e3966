"""`clean_record`: a record of the standard library's `logging`, redacted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, cast

from tramapy.telemetry.log_event import clean_event, withheld_event
from tramapy.telemetry.log_exceptions import exception_of, exception_text
from tramapy.telemetry.log_redaction import WITHHELD, LogRedactor, WithheldLine
from tramapy.telemetry.log_walk import LineWalk

__all__ = ["apply_changes", "changed_copy", "clean_changes", "withheld_changes"]

_STANDARD: Final = frozenset(
    {*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "asctime", "message", "taskName"}
)
# of these, what a program may have put words of its own into
_OWN_WORDS: Final = ("message", "name", "processName", "stack_info", "taskName", "threadName")
_GONE: Final = object()


def clean_changes(record: logging.LogRecord, redactor: LogRedactor) -> dict[str, object]:
    """Return the attributes that a redacted record has in other ways, to be applied.

    Raises:
        Exception: Whatever the interceptor raises.
    """
    own = dict(vars(record))
    walk = LineWalk(redactor.text)
    changes: dict[str, object] = {"exc_info": None, **_message(record, redactor)}
    error = exception_of(own.get("exc_info"))
    if error is not None:
        changes["exc_text"] = exception_text(redactor.text, error, own["exc_info"])
    elif own.get("exc_text"):
        changes["exc_text"] = walk.value(own["exc_text"])
    for name in _OWN_WORDS:
        if own.get(name):
            changes[name] = walk.value(own[name])
    extras = {name: value for name, value in own.items() if name not in _STANDARD}
    if extras:
        changes |= dict.fromkeys(extras, _GONE)
        changes |= walk.mapping(extras)
    return {name: value for name, value in changes.items() if own.get(name, _GONE) is not value}


def withheld_changes(
    record: logging.LogRecord, why: WithheldLine, redactor: LogRedactor
) -> dict[str, object]:
    """Return the attributes of a record that shows nothing but that it was withheld.

    Of extra attributes, those stay by name that were found clean before: a formatter may ask for them.
    """
    own = vars(record)  # a record of another class may fail where it is asked for an attribute
    changes: dict[str, object] = {
        name: "[withheld]" if redactor.is_known(name) else _GONE for name in own.keys() - _STANDARD
    }
    for name in ("message", "processName", "taskName", "threadName"):
        if own.get(name) is not None:
            changes[name] = WITHHELD
    shown = WITHHELD if why.error_type is None else f"{WITHHELD} ({why.error_type})"
    changes |= {"msg": shown, "args": (), "exc_info": None, "exc_text": None, "stack_info": None}
    if _is_event(own):
        # the names are structlog's, for its formatter
        changes |= {name: own[name] for name in ("_logger", "_name") if name in own}
        changes["msg"] = withheld_event(own["msg"], why)
    return changes


def apply_changes(record: logging.LogRecord, changes: Mapping[str, object]) -> None:
    """Change a record in place.

    A record of a class that formats in another way becomes one of the standard library's: the message is whole,
    and what it holds must not be taken for a format again.
    """
    attributes = vars(record)
    for name, value in changes.items():
        if value is _GONE:
            attributes.pop(name, None)
        else:
            attributes[name] = value
    if type(record).getMessage is not logging.LogRecord.getMessage:
        record.__class__ = logging.LogRecord


def changed_copy(record: logging.LogRecord, changes: Mapping[str, object]) -> logging.LogRecord:
    """Return a changed copy of a record, of the standard library's own class."""
    twin = logging.LogRecord("", 0, "", 0, "", (), None)
    vars(twin).clear()
    vars(twin).update(vars(record))
    apply_changes(twin, changes)
    return twin


def _message(record: logging.LogRecord, redactor: LogRedactor) -> dict[str, object]:
    """Return message and arguments as one text, formatted for the last time; an event of structlog's as a dict."""
    if _is_event(vars(record)):
        return {"msg": clean_event(cast("Mapping[str, Any]", record.msg), redactor)}
    is_plain = type(record.msg) is str and not record.args and type(record) is logging.LogRecord
    args = cast("object", record.args)
    if type(args) is dict and type(record) is logging.LogRecord:
        # beside its name a value may tell more than in the text that it is filled into
        record = changed_copy(
            record, {"args": LineWalk(redactor.text).mapping(cast("dict[Any, object]", args))}
        )
    return {"msg": redactor.text(record.msg if is_plain else _formatted(record)), "args": ()}


def _formatted(record: logging.LogRecord) -> str:
    try:
        return str.__str__(record.getMessage())
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ):  # the arguments do not fit: show both
        return f"{record.msg} {record.args!r}"


def _is_event(own: Mapping[str, object]) -> bool:
    args = own.get("args")
    # the types themselves: an object may say that it is of another class, or fail where it is asked for its length
    has_args = args is not None and (type(args) not in (dict, tuple) or bool(args))
    return issubclass(type(own.get("msg")), dict) and not has_args
