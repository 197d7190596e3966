"""`redact_task`: one input from its bytes to its result; whatever is wrong with it becomes its report's error."""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

from tramapy.cli.redact.reading import InputError, Read, read_lines, read_pieces
from tramapy.cli.redact.records import FieldPath, RecordRedactor
from tramapy.cli.redact.sinks import JsonSink, Sink, TextSink, whole_file
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.portable import BULK_CONTEXT, PortableRules
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpRedaction

__all__ = ["Advance", "FileReport", "RedactSettings", "RedactTask", "redact_task"]

WHOLE_LENGTH: Final = 1024 * 1024
"""A text of so many characters is inspected as a whole, which is faster; a longer one while it is read."""
LONGEST_HELD: Final = 16 * 1024 * 1024
"""So many characters may a rule leave undecided, so that memory stays bounded."""
_BOM: Final = "\ufeff"
_IN_MEMORY_BYTES: Final = 8 * 1024 * 1024
_PIECE_LENGTH: Final = 64 * 1024

Advance = Callable[[int], None]
"""Hear that so many more bytes were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactSettings:
    """How inputs are redacted; it travels to other processes.

    Args:
        rules: What is looked for.
        encoding: The encoding of texts; records are UTF-8.
        is_json: Whether a result is an object of JSON instead of the text alone.
        is_jsonl: Whether inputs are records of JSON, one a line.
        fields: The fields of records that are inspected; all where there is none.
    """

    rules: PortableRules
    encoding: str = "utf-8"
    is_json: bool = False
    is_jsonl: bool = False
    fields: tuple[FieldPath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactTask:
    """One input.

    Args:
        name: As it was given, or found.
        source: The file; None for the standard input.
        destination: The file for the result; None for the standard output.
    """

    name: str
    source: Path | None
    destination: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What came of an input.

    Args:
        name: The task's.
        read_bytes: How much of it was read.
        redactions: What was replaced.
        record_count: How many records it had.
        found_fields: Which fields stood in some record.
        error: Why there is no result, or only a part of it.
    """

    name: str
    read_bytes: int = 0
    redactions: tuple[DlpRedaction, ...] = ()
    record_count: int = 0
    found_fields: frozenset[FieldPath] = field(default_factory=frozenset[FieldPath])
    error: str | None = None


def redact_task(
    task: RedactTask, settings: RedactSettings, output: IO[bytes], advance: Advance
) -> FileReport:
    """Redact an input.

    Args:
        task: The input.
        settings: How.
        output: Takes the result where the task has no destination.
        advance: Called as the input is read.

    Raises:
        BrokenPipeError: Nobody reads the output any more.
    """
    heard = _Heard(advance)
    try:
        with _source(task) as file, _output(task, output) as target:
            report = _report(task, settings, _sink(task, settings, target), _Source(file, heard))
        return replace(report, read_bytes=heard.read_bytes)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"{error.strerror or type(error).__name__}. Check the path and its permissions."
    except (InputError, DlpInspectionError) as error:
        reason = str(error)
    return FileReport(name=task.name, read_bytes=heard.read_bytes, error=f"{task.name}: {reason}")


class _Heard:
    """Counts what is read, and tells others."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self.read_bytes = 0

    def __call__(self, read_bytes: int) -> None:
        self.read_bytes += read_bytes
        self._advance(read_bytes)


class _Source:
    """Reads an input and says how far it is."""

    def __init__(self, file: IO[bytes], advance: Advance) -> None:
        # what a pipe gives is passed on as it comes
        self._read: Read = getattr(file, "read1", file.read)
        self._read_line: Read = file.readline
        self._advance = advance

    def read(self, limit_bytes: int) -> bytes:
        return self._heard(self._read(limit_bytes))

    def read_line(self, limit_bytes: int) -> bytes:
        return self._heard(self._read_line(limit_bytes))

    def _heard(self, data: bytes) -> bytes:
        self._advance(len(data))
        return data


@contextlib.contextmanager
def _source(task: RedactTask) -> Generator[IO[bytes]]:
    if task.source is None:
        yield sys.stdin.buffer
        return
    with task.source.open("rb") as file:
        yield file


@contextlib.contextmanager
def _output(task: RedactTask, output: IO[bytes]) -> Generator[IO[bytes]]:
    if task.destination is None or task.source is None:
        yield output
        return
    with whole_file(task.destination, task.source) as file:
        yield file


def _sink(task: RedactTask, settings: RedactSettings, output: IO[bytes]) -> Sink:
    if settings.is_json:
        return JsonSink(output, task.name)
    return TextSink(output, settings.encoding, is_live=task.source is None)


def _report(task: RedactTask, settings: RedactSettings, sink: Sink, source: _Source) -> FileReport:
    interceptor = settings.rules.interceptor()
    with contextlib.closing(sink):
        if settings.is_jsonl:
            records = RecordRedactor(interceptor, settings.fields)
            lines = read_lines(source.read_line)
            if settings.fields:
                _write_once_found(records, lines, sink, settings.fields)
            for line in lines:
                sink.write(records.redact(line))
            sink.end(records.redactions)
            return FileReport(
                name=task.name,
                redactions=records.redactions,
                record_count=records.record_count,
                found_fields=frozenset(records.found_fields),
            )
        redactions = _redact_text(
            interceptor, read_pieces(source.read, settings.encoding), sink, is_live=task.source is None
        )
        sink.end(redactions)
        return FileReport(name=task.name, redactions=redactions)


def _write_once_found(
    records: RecordRedactor, lines: Iterable[bytes], sink: Sink, fields: Iterable[FieldPath]
) -> None:
    """Write records up to the first with one of the fields; none where there is no such record.

    Raises:
        InputError: No record has a field: a slip in its name must not let anything out.
    """
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="utf-8", newline="") as held:
        for line in lines:
            held.write(records.redact(line))
            if records.found_fields:
                break
        if records.record_count and not records.found_fields:
            named = " or ".join(".".join(path) for path in fields)
            raise InputError(
                f"no record has {named}, and nothing was written. Check the names given with --field."
            )
        held.seek(0)
        for piece in iter(partial(held.read, _PIECE_LENGTH), ""):
            sink.write(piece)


def _redact_text(
    interceptor: RuleBasedDlpInterceptor, pieces: Iterator[str], sink: Sink, *, is_live: bool
) -> tuple[DlpRedaction, ...]:
    if is_live:
        return _redact_stream(interceptor, pieces, sink)
    first: list[str] = []
    length = 0
    for piece in pieces:
        first.append(piece)
        length += len(piece)
        if length > WHOLE_LENGTH:
            return _redact_stream(interceptor, itertools.chain(first, pieces), sink)
    text = "".join(first)
    bare = text.removeprefix(_BOM)
    result = interceptor.inspect(BULK_CONTEXT, bare)
    sink.write(text[: len(text) - len(bare)] + result.sanitized_text)
    return result.redactions


def _redact_stream(
    interceptor: RuleBasedDlpInterceptor, pieces: Iterable[str], sink: Sink
) -> tuple[DlpRedaction, ...]:
    stream = interceptor.open_stream(BULK_CONTEXT)
    undecided = 0
    is_first = True
    try:
        for piece in pieces:
            if is_first and piece.startswith(_BOM):
                sink.write(_BOM)
                piece = piece.removeprefix(_BOM)  # noqa: PLW2901  # the rest of the piece
            is_first = False
            released = stream.feed(piece)
            undecided = 0 if released else undecided + len(piece)
            if undecided > LONGEST_HELD:
                raise InputError(
                    f"a rule leaves more than {LONGEST_HELD} characters undecided. Give its pattern an end, or "
                    "split the file."
                )
            sink.write(released)
        sink.write(stream.finish())
        return tuple(stream.redactions)
    finally:
        stream.abort()
