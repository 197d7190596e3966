"""`read_events`: the lines of a dump, whatever they hold, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from tramapy.cli.compressed import how_to_unpack
from tramapy.cli.event_lines import HeardEvent
from tramapy.cli.trace.heard import TraceInputError, heard_event

__all__ = ["LINE_LIMIT_BYTES", "BadLine", "read_events"]

LINE_LIMIT_BYTES: Final = 64 * 1024
"""An event of ours has 32 attributes of 200 characters at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no event.

    Args:
        number: Which line, from 1.
        reason: Why, in words of our own.
        is_torn: Whether it is the last one, and has no end: it is just being written, or a crash cut it.
    """

    number: int
    reason: str
    is_torn: bool = False


def read_events(file: BinaryIO) -> Iterator[HeardEvent | BadLine]:
    """Yield what each line holds; blank lines hold nothing.

    Raises:
        OSError: The file cannot be read on.
        TraceInputError: It is compressed; the message says how to go on.
    """
    number = 0
    while line := file.readline(LINE_LIMIT_BYTES):
        number += 1
        remedy = how_to_unpack(line, "| tramapy trace -") if number == 1 else None
        if remedy is not None:
            raise TraceInputError(remedy)
        is_ended = line.endswith(b"\n")
        if not is_ended and len(line) == LINE_LIMIT_BYTES:
            _skip_line(file)
            yield BadLine(number=number, reason=f"it is longer than {LINE_LIMIT_BYTES} bytes")
        elif line.strip():
            try:
                event = _event(line)
            except TraceInputError as error:
                yield BadLine(number=number, reason=str(error), is_torn=not is_ended)
            else:
                yield event


def _skip_line(file: BinaryIO) -> None:
    while (rest := file.readline(LINE_LIMIT_BYTES)) and not rest.endswith(b"\n"):
        pass


def _event(line: bytes) -> HeardEvent:
    try:
        record: object = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):  # among them: no UTF-8, and numbers of too many digits
        raise TraceInputError("it is no JSON") from None
    if not isinstance(record, dict):
        raise TraceInputError("it is no object")
    members = cast("dict[str, object]", record)
    return heard_event(members.get("at_s"), members.get("name"), members.get("attributes"))
