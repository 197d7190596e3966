"""Nesting that no walk can follow: refused in fixed words, for requests and for answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tramapy.errors import DlpInspectionError
from tramapy.wire.json_values import invalid_answer

__all__ = ["read_answer", "read_request"]

T = TypeVar("T")


def read_request(read: Callable[[], T]) -> T:
    """Return what `read` returns of a request.

    Raises:
        DlpInspectionError: It is nested too deeply.
    """
    try:
        return read()
    except RecursionError:
        pass
    # outside, so that no frame of the walk goes with it
    raise DlpInspectionError("The request is nested too deeply to be inspected; it was not sent")


def read_answer(read: Callable[[], T]) -> T:
    """Return what `read` returns of an answer or an event.

    Raises:
        ProviderError: It is nested too deeply.
    """
    try:
        return read()
    except RecursionError:
        pass
    raise invalid_answer("is nested too deeply")
