"""`verify_audit`: whether an audit chain is whole, and every place where it is not."""

from __future__ import annotations

import contextlib
import enum
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from tramapy.engine.arguments import checked_flag
from tramapy.errors import ConfigurationError
from tramapy.telemetry.audit_event import HASH_ALGORITHM, SCHEMA_VERSION, AuditEvent, event_hash
from tramapy.telemetry.audit_files import log_files
from tramapy.telemetry.audit_line import (
    NO_LINE,
    AuditLine,
    LineHead,
    RawLine,
    line_hash,
    parse_line,
    raw_lines,
)
from tramapy.telemetry.audit_store import FIRST, AuditHead
from tramapy.values import MOST, described

__all__ = [
    "AuditProblem",
    "AuditProblemCode",
    "AuditVerification",
    "event_problems",
    "verify_audit",
    "verify_audit_files",
]

_CACHE_KIB: Final = 16_384
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class AuditProblemCode(enum.Enum):
    """What is wrong at a place of a chain."""

    NOT_A_RECORD = "not_a_record"
    """The line is no JSON, or has not the fields of a record."""

    LINE_TOO_LONG = "line_too_long"
    """The line is longer than a record can be."""

    TORN_LINE = "torn_line"
    """The file ends inside of a line: a crash, or a cut. Opening the store again moves it out."""

    NOT_CANONICAL = "not_canonical"
    """The line says the same in other bytes: blanks, the order of keys, a key given twice."""

    LINE_NUMBER = "line_number"
    """The number does not follow that of the line before: lines are gone, added or in another order."""

    PREVIOUS_LINE_HASH = "previous_line_hash"
    """The line before is not the one that was there when this one was written."""

    STREAM_ID = "stream_id"
    """The event belongs to another stream than the first; files may hold any number of them."""

    SCHEMA_VERSION = "schema_version"
    """The version of the fields is not known here."""

    HASH_ALGORITHM = "hash_algorithm"
    """The algorithm is not known here."""

    DUPLICATE_EVENT_ID = "duplicate_event_id"
    """An event before has the same id."""

    SEQUENCE_NUMBER = "sequence_number"
    """The number does not follow that of the event before in the stream."""

    PREVIOUS_EVENT_HASH = "previous_event_hash"
    """The hash is not that of the event before in the stream."""

    EVENT_HASH = "event_hash"
    """The hash is not that of the event: a field was altered."""

    HEAD = "head"
    """No line has the hash that was expected: lines were altered, or cut off at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProblem:
    """A place where a chain is broken. It repeats nothing of what stands there.

    Args:
        code: What is wrong.
        message: The same for people.
        line_number: The line of its file, or the event's place in a list, from 1; 0 for an empty log.
        path: The file; None for a list.
    """

    code: AuditProblemCode
    message: str
    line_number: int
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """The outcome of a verification.

    Args:
        problems: The first of them, in order, as many as were asked for.
        problem_count: All of them.
        event_count: The events that could be read.
        stream_count: Their streams.
        recovery_count: The notes of a recovery after a crash; they are no problems.
        head: The hash of the last line, or of the last event of a list. Kept elsewhere, it proves later that
            nothing up to here was altered or cut off.
    """

    problems: tuple[AuditProblem, ...]
    problem_count: int
    event_count: int
    stream_count: int
    recovery_count: int
    head: str | None

    @property
    def is_valid(self) -> bool:
        """Whether there is no problem."""
        return self.problem_count == 0


def verify_audit(events: Iterable[AuditEvent], *, limit_problem_count: int = 1_000) -> AuditVerification:
    """Verify one stream's events, from its first. No event at all is valid.

    Args:
        events: In their order.
        limit_problem_count: How many problems are kept; all are counted.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
    """
    _check_limit(limit_problem_count)
    if not isinstance(events, Iterable):
        raise ConfigurationError(f"events is {described(events)}; give the AuditEvents of one stream")
    with _Verifier(None, is_partial=False, limit_problem_count=limit_problem_count) as verifier:
        stream_id = None
        head = None
        for event in events:
            if not isinstance(event, AuditEvent):
                raise ConfigurationError(f"events holds a value that is {described(event)}; give AuditEvents")
            verifier.line_number += 1
            stream_id = event.audit_stream_id if stream_id is None else stream_id
            if event.audit_stream_id != stream_id:
                verifier.found(AuditProblemCode.STREAM_ID, "The event is of another stream than the first")
            verifier.check_event(event)
            head = event.event_hash
        return verifier.outcome(head)


def verify_audit_files(
    *paths: str | Path, is_partial: bool = False, head: str | None = None, limit_problem_count: int = 1_000
) -> AuditVerification:
    """Verify the files of one log, oldest first, in bounded memory: what is large goes to a temporary file.

    Args:
        paths: The files, each an argument of its own. The path that a `FileAuditStore` was given stands for all of
            its files; its index and torn bytes hold no lines and are passed over.
        is_partial: Whether files before the first may be missing. Streams may then begin anywhere.
        head: The hash that a line must have, such as what was the last one's at an earlier time.
        limit_problem_count: How many problems are kept; all are counted.

    Raises:
        ConfigurationError: There is no file, or an argument cannot work; the message names it.
        OSError: A file cannot be read.
    """
    _check_head(head)
    _check_limit(limit_problem_count)
    checked_flag("is_partial", is_partial)
    files = [file for path in paths for file in log_files(_checked_path(path))]
    if not files:
        raise ConfigurationError("verify_audit_files was given no file of a log; give its path, or its files")
    with _Verifier(head, is_partial=is_partial, limit_problem_count=limit_problem_count) as verifier:
        for path in files:
            with path.open("rb") as file:
                verifier.check_file(str(path), file)
        verifier.check_end()
        return verifier.outcome(verifier.line_head.line_hash)


def _check_limit(limit_problem_count: object) -> None:
    if type(limit_problem_count) is not int or limit_problem_count < 0:
        raise ConfigurationError("limit_problem_count takes an int of at least 0")


def _check_head(head: object) -> None:
    if head is not None and not (isinstance(head, str) and _HASH.fullmatch(head)):
        raise ConfigurationError(
            "head takes a SHA-256 in hex: 64 characters, 0 to 9 and a to f, as verifying prints it"
        )


def _checked_path(path: object) -> Path:
    if isinstance(path, (list, tuple)):
        raise ConfigurationError(
            "verify_audit_files takes each path by itself; write verify_audit_files(*paths)"
        )
    if not isinstance(path, (str, Path)):
        raise ConfigurationError(f"a path is {described(path)}; give a str or a Path")
    return Path(path)


class _Verifier:
    """One pass over a log."""

    def __init__(self, head: str | None, *, is_partial: bool, limit_problem_count: int) -> None:
        self._awaited_head = head
        self._is_partial = is_partial
        self._limit_problem_count = limit_problem_count
        self._seen = _Seen()
        self._problems: list[AuditProblem] = []
        self._problem_count = 0
        self._event_count = 0
        self._recovery_count = 0
        self._path: str | None = None
        self.line_head: LineHead = NO_LINE
        self.line_number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._seen.close()

    def outcome(self, head: str | None) -> AuditVerification:
        """Say what was found."""
        return AuditVerification(
            problems=tuple(self._problems),
            problem_count=self._problem_count,
            event_count=self._event_count,
            stream_count=self._seen.stream_count(),
            recovery_count=self._recovery_count,
            head=head,
        )

    def found(self, code: AuditProblemCode, message: str) -> None:
        """Note a problem at the current line."""
        self._problem_count += 1
        if len(self._problems) < self._limit_problem_count:
            self._problems.append(
                AuditProblem(code=code, message=message, line_number=self.line_number, path=self._path)
            )

    def check_file(self, path: str, file: IO[bytes]) -> None:
        """Check the lines of a file, which go on where the file before ended."""
        self._path = path
        self.line_number = 0
        for raw in raw_lines(file):
            self.line_number += 1
            self._check_raw(raw)

    def check_end(self) -> None:
        """Check that the line was there that must be."""
        if self._awaited_head is not None:
            self.found(AuditProblemCode.HEAD, "No line has the hash that was expected")

    def _check_raw(self, raw: RawLine) -> None:
        if raw.is_too_long:
            self.found(AuditProblemCode.LINE_TOO_LONG, "The line is longer than a record can be")
            self._skip_line(raw.data)
        elif raw.is_torn:
            self.found(
                AuditProblemCode.TORN_LINE,
                "The file ends inside of a line, by a crash or a cut; opening the store again moves it out",
            )
            self._skip_line(raw.data)
        else:
            data = raw.data[:-1]
            line = parse_line(data)
            if line is None:
                self.found(AuditProblemCode.NOT_A_RECORD, "The line is no record of an audit log")
                self._skip_line(data)
            else:
                self._check_line(line, data)

    def _skip_line(self, data: bytes) -> None:
        self.line_head = LineHead(self.line_head.line_number + 1, line_hash(data))

    def _check_line(self, line: AuditLine, data: bytes) -> None:
        if not line.is_canonical:
            self.found(AuditProblemCode.NOT_CANONICAL, "The record is not written as the log writes it")
        if self.line_head is not NO_LINE or not self._is_partial:
            self._check_link(line)
        elif line.previous_line_hash == self._awaited_head:
            self._awaited_head = None
        # go on from what the line says of itself, so that one gap is one problem
        self.line_head = LineHead(line.line_number, line_hash(data))
        if self.line_head.line_hash == self._awaited_head:
            self._awaited_head = None
        if line.event is None:
            self._recovery_count += 1
        else:
            self.check_event(line.event, line.body)

    def _check_link(self, line: AuditLine) -> None:
        if line.line_number != self.line_head.line_number + 1:
            reason = (
                "; files before it were not given"
                if self.line_head is NO_LINE and line.line_number > 1
                else ""
            )
            self.found(
                AuditProblemCode.LINE_NUMBER,
                f"Line {line.line_number} of the log follows line {self.line_head.line_number}{reason}",
            )
        if line.previous_line_hash != self.line_head.line_hash:
            self.found(
                AuditProblemCode.PREVIOUS_LINE_HASH,
                "The line before is not the one that this was written after",
            )

    def check_event(self, event: AuditEvent, text: str | None = None) -> None:
        """Check an event by itself, and against those before it in its stream."""
        self._event_count += 1
        if not self._seen.add_event_id(event.event_id):
            self.found(AuditProblemCode.DUPLICATE_EVENT_ID, "An event before has the same id")
        head = self._seen.head(event.audit_stream_id)
        may_begin_anywhere = self._is_partial and head is FIRST and event.sequence_number > 1
        for code, message in event_problems(event, None if may_begin_anywhere else head, text):
            self.found(code, message)
        self._seen.set_head(event)


def event_problems(
    event: AuditEvent, head: AuditHead | None, text: str | None = None
) -> Iterator[tuple[AuditProblemCode, str]]:
    """Yield what is wrong with an event as the next after `head`; without one, only by itself.

    `text` is its canonical JSON, where it is known.
    """
    if event.schema_version != SCHEMA_VERSION:
        yield AuditProblemCode.SCHEMA_VERSION, f"The schema version is not {SCHEMA_VERSION}"
    if event.hash_algorithm != HASH_ALGORITHM:
        yield AuditProblemCode.HASH_ALGORITHM, f"The hash algorithm is not {HASH_ALGORITHM}"
    if head is not None:
        if event.sequence_number != head.sequence_number + 1:
            yield (
                AuditProblemCode.SEQUENCE_NUMBER,
                f"Event {event.sequence_number} of the stream follows event {head.sequence_number}",
            )
        if event.previous_event_hash != head.event_hash:
            yield (
                AuditProblemCode.PREVIOUS_EVENT_HASH,
                "The event before in the stream is not the one that this was written after",
            )
    if event.event_hash != _computed_hash(event, text):
        yield AuditProblemCode.EVENT_HASH, "The event has another hash than it says; a field was altered"


def _computed_hash(event: AuditEvent, text: str | None) -> str | None:
    with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate: no log of ours wrote it
        return event_hash(event, text)
    return None


class _Seen:
    """The ids and heads so far. There may be millions, so they are in a database that goes to a temporary file."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in (
            f"PRAGMA cache_size=-{_CACHE_KIB}",
            "PRAGMA journal_mode=OFF",
            "PRAGMA synchronous=OFF",
            "CREATE TABLE ids (id BLOB PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE heads (stream BLOB PRIMARY KEY, sequence INTEGER, hash TEXT) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(statement)

    def add_event_id(self, event_id: str) -> bool:
        """Tell whether the id is new."""
        added = self._database.execute("INSERT OR IGNORE INTO ids VALUES (?)", (_key(event_id),))
        return added.rowcount == 1

    def head(self, stream_id: str) -> AuditHead:
        """Return the last event of a stream."""
        row = self._database.execute(
            "SELECT sequence, hash FROM heads WHERE stream = ?", (_key(stream_id),)
        ).fetchone()
        return FIRST if row is None else AuditHead(*row)

    def set_head(self, event: AuditEvent) -> None:
        """Note the last event of a stream."""
        number = max(-MOST, min(event.sequence_number, MOST))  # what the database can hold
        hash_ = event.event_hash.encode("utf-8", "replace").decode()
        self._database.execute(
            "INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", (_key(event.audit_stream_id), number, hash_)
        )

    def stream_count(self) -> int:
        """Return how many streams there were."""
        count: int = self._database.execute("SELECT count(*) FROM heads").fetchone()[0]
        return count

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
