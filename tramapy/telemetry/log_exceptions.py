"""`exception_text`: a traceback as a log shows it, with causes, notes and groups, inspected."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import cast

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.values import exact_text

__all__ = ["exception_of", "exception_text"]

_UNSHOWN = "(the text of this exception is withheld)"


def exception_of(exc_info: object) -> BaseException | None:
    """Return the exception that an `exc_info` speaks of: an exception, the usual triple, or True for the current."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        parts = cast("tuple[object, ...]", exc_info)
        found = [part for part in parts if isinstance(part, BaseException)]
        if found or parts == (None, None, None):
            return found[0] if found else None
    return sys.exception() if exc_info else None


def exception_text(text: Callable[[str], str], error: BaseException, exc_info: object = None) -> str:
    """Return a rendered traceback, inspected.

    A group's members stand behind a margin, which a secret of several lines is cut by; so what each exception
    says is inspected by itself, too, and where that finds more, the types alone are shown.

    Args:
        text: Inspects a text.
        error: The exception.
        exc_info: The triple that it came in; its traceback is shown.
    """
    rendered = _rendered(error, exc_info)
    clean = text(rendered)
    tree = list(_tree(error))
    has_margin = any(isinstance(each, BaseExceptionGroup) for each in tree)
    for each in tree:
        for words in _words(each):
            is_shown = words in clean or (has_margin and "\n" in words)
            if is_shown and text(words) != words:
                names = ", ".join(type(shown).__name__ for shown in tree)
                return text(f"{names} {_UNSHOWN}")
    return clean


def _rendered(error: BaseException, exc_info: object) -> str:
    trace = error.__traceback__
    if isinstance(exc_info, tuple):
        given = [part for part in cast("tuple[object, ...]", exc_info) if isinstance(part, TracebackType)]
        trace = given[0] if given else None
    try:
        return "".join(traceback.format_exception(type(error), error, trace)).rstrip("\n")
    except Exception as raised:  # an exception may be odd in many ways, and the line still be of use
        failure = raised
    rethrow_if_cancellation(failure)
    return f"{type(error).__name__} {_UNSHOWN}"


def _tree(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes, contexts and members, each once."""
    pending = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [each for each in (current.__cause__, current.__context__) if each is not None]
        if isinstance(current, BaseExceptionGroup):
            pending.extend(cast("BaseExceptionGroup[BaseException]", current).exceptions)


def _words(error: BaseException) -> Iterator[str]:
    """Yield what an exception says of itself, and its notes."""
    try:
        words = exact_text(str(error))
    except Exception as raised:  # the traceback shows none, either
        rethrow_if_cancellation(raised)
        words = ""
    notes = cast("object", getattr(error, "__notes__", ()))
    found = cast("list[object]", notes) if isinstance(notes, list) else []
    yield from (each for each in (words, *map(str, found)) if each)
