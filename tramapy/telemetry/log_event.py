"""`clean_event`: the dict that structlog makes of a line, redacted."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, cast

from tramapy.telemetry.log_exceptions import exception_of, exception_text
from tramapy.telemetry.log_redaction import WITHHELD, LogRedactor, WithheldLine
from tramapy.telemetry.log_walk import LineWalk

__all__ = ["clean_event", "entry_of", "withheld_event"]

_LEVELS: Final = frozenset(
    {"critical", "debug", "error", "exception", "fatal", "info", "notset", "trace", "warn", "warning"}
)
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_dict_get: Final[Callable[[object, str], object]] = vars(dict)["get"]
_LOGGING: Final = ("logging", "structlog", "tramapy.telemetry")


def clean_event(line: Mapping[str, Any], redactor: LogRedactor) -> dict[str, Any]:
    """Return what may be shown of an event; `exc_info`, `stack_info` and `positional_args` are rendered.

    Raises:
        Exception: Whatever the interceptor raises.
    """
    parts = dict(line)
    rendered = _timestamp_of(parts)
    exc_info = parts.pop("exc_info", None)
    error = exception_of(exc_info)
    if error is not None:
        rendered["exception"] = exception_text(redactor.text, error, exc_info)
    stack_info = parts.pop("stack_info", None)
    if stack_info:
        rendered["stack"] = redactor.text(stack_info if type(stack_info) is str else _stack())
    if "positional_args" in parts:
        parts["event"] = _formatted(parts.get("event"), parts.pop("positional_args"))
    clean = LineWalk(redactor.text).mapping(parts)
    clean.update(rendered)
    return clean


def withheld_event(line: object, why: WithheldLine) -> dict[str, Any]:
    """Return an event that says that a line was withheld; what is kept of that is known word for word."""
    withheld: dict[str, Any] = {"event": WITHHELD, "dlp_failure": why.reason}
    if why.error_type is not None:
        withheld["dlp_error_type"] = why.error_type
    level = entry_of(line, "level")
    if type(level) is str and level.lower() in _LEVELS:
        withheld["level"] = level
    return withheld | _timestamp_of({"timestamp": entry_of(line, "timestamp")})


def entry_of(line: object, name: str) -> object:
    """Return an entry of a dict without asking a class of somebody else's, which may fail; None of any other line."""
    return _dict_get(line, name) if issubclass(type(line), dict) else None


def _timestamp_of(parts: dict[str, Any]) -> dict[str, Any]:
    """Take out a timestamp that is nothing else: rules for numbers look long at one, and never find anything."""
    stamp = parts.get("timestamp")
    is_stamp = type(stamp) is str and _TIMESTAMP.fullmatch(stamp) is not None
    return {"timestamp": parts.pop("timestamp")} if is_stamp else {}


def _stack() -> str:
    """Return the stack of whoever logs, as the standard library shows it."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]  # there is no other way
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_LOGGING):
        frame = frame.f_back
    return "Stack (most recent call last):\n" + "".join(traceback.format_stack(frame)).rstrip("\n")


def _formatted(event: object, arguments: object) -> object:
    """Fill in positional arguments as `PositionalArgumentsFormatter` does, which has nothing left to do."""
    if not arguments:
        return event
    given = cast("tuple[object, ...]", arguments)
    first = given[0] if isinstance(arguments, tuple) and len(given) == 1 else None
    try:
        return cast("str", event) % (first if isinstance(first, dict) and first else arguments)
    except (KeyError, TypeError, ValueError):  # they do not fit: show both
        return f"{event} {arguments!r}"
