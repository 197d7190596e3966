"""A line of an audit file: an event, or the note of a recovery, chained to the line before it.

The chain of a stream does not see that a whole stream is gone; the chain of the lines does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final, cast

from tramapy.telemetry.audit_event import AuditEvent, SealedEvent, canonical_json, event_from, to_json
from tramapy.values import MOST

__all__ = [
    "LIMIT_LINE_BYTES",
    "NO_LINE",
    "AuditLine",
    "AuditRecovery",
    "LineHead",
    "RawLine",
    "event_line",
    "line_hash",
    "parse_line",
    "raw_lines",
    "recovery_line",
]

LIMIT_LINE_BYTES: Final = 64 * 1024
"""Over the longest line that the limits on ids and metadata allow, about 41,000 bytes."""


@dataclass(frozen=True, slots=True)
class LineHead:
    """The last line of a log: its number over all files, and its hash."""

    line_number: int
    line_hash: str | None


NO_LINE: Final = LineHead(0, None)
"""The head of an empty log."""


@dataclass(frozen=True, slots=True)
class AuditRecovery:
    """The note that bytes without a line's end were moved out of the log after a crash."""

    timestamp: str
    removed_byte_count: int
    removed_sha256: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line as it was read; it holds an event, or else a recovery, whose canonical JSON is `body`."""

    line_number: int
    previous_line_hash: str | None
    event: AuditEvent | None
    recovery: AuditRecovery | None
    body: str
    is_canonical: bool


@dataclass(frozen=True, slots=True)
class RawLine:
    """The bytes of a line, its end included; only the last line of a file may have none.

    Where `is_too_long`, only the first bytes are kept.
    """

    data: bytes
    is_too_long: bool = False

    @property
    def is_torn(self) -> bool:
        """Whether the file ends inside of it."""
        return not self.is_too_long and not self.data.endswith(b"\n")


def line_hash(line: bytes) -> str:
    """Return the hash of a line without its end."""
    return hashlib.sha256(line).hexdigest()


def event_line(head: LineHead, link: SealedEvent) -> bytes:
    """Write the line that follows `head`, without its end."""
    return _line(head, "event", link.json)


def recovery_line(head: LineHead, recovery: AuditRecovery) -> bytes:
    """Write the note of a recovery, without its end."""
    return _line(head, "recovery", _recovery_json(recovery))


def _line(head: LineHead, kind: str, body: str) -> bytes:
    previous = "null" if head.line_hash is None else f'"{head.line_hash}"'
    return f'{{"lineNumber":{head.line_number + 1},"previousLineHash":{previous},"{kind}":{body}}}'.encode()


def _recovery_json(recovery: AuditRecovery) -> str:
    return to_json(
        {
            "timestamp": recovery.timestamp,
            "removedByteCount": recovery.removed_byte_count,
            "removedSha256": recovery.removed_sha256,
        }
    )


def parse_line(data: bytes) -> AuditLine | None:
    """Read a line without its end; None where it is no record."""
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    fields = cast("dict[str, object]", parsed)
    number, previous = fields.get("lineNumber"), fields.get("previousLineHash")
    if type(number) is not int or not -MOST <= number <= MOST or not isinstance(previous, str | None):
        return None
    event = event_from(fields.get("event"))
    recovery = _recovery_from(fields.get("recovery"))
    if event is not None:
        kind, body, recovery = "event", canonical_json(event), None
    elif recovery is not None:
        kind, body = "recovery", _recovery_json(recovery)
    else:
        return None
    try:
        # byte for byte, so that neither blanks nor a key given twice can say something else to another reader
        written = f'{{"lineNumber":{number},"previousLineHash":{to_json(previous)},"{kind}":{body}}}'.encode()
    except UnicodeEncodeError:  # a lone surrogate, which was escaped
        written = b""
    return AuditLine(number, previous, event, recovery, body, written == data)


def _recovery_from(value: object) -> AuditRecovery | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    timestamp, count, digest = (
        fields.get("timestamp"),
        fields.get("removedByteCount"),
        fields.get("removedSha256"),
    )
    if not isinstance(timestamp, str) or type(count) is not int or not isinstance(digest, str):
        return None
    return AuditRecovery(timestamp, count, digest)


def raw_lines(file: IO[bytes]) -> Iterator[RawLine]:
    """Read a file line by line in bounded memory, however long a line is."""
    while data := file.readline(LIMIT_LINE_BYTES):
        if len(data) < LIMIT_LINE_BYTES or data.endswith(b"\n"):
            yield RawLine(data)
            continue
        rest = file.readline(LIMIT_LINE_BYTES)
        yield RawLine(data, is_too_long=True)
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LIMIT_LINE_BYTES)
