"""`RecordRedactor`: records of JSON, one a line; what is not replaced stays byte for byte."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tramapy.cli.redact.reading import InputError, decode_record, is_json
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.portable import BULK_CONTEXT
from tramapy.hooks.dlp import DlpRedaction, DlpResult

__all__ = ["FieldPath", "Member", "RecordRedactor", "find_members", "parse_field"]

FieldPath = tuple[str, ...]
"""Names of members, from the outside in; lists on the way do not count."""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_FIELD_PART: Final = re.compile(r"(?:[^.\\]|\\.)+")
_BLANKS: Final = " \t\r\n"


class Member(NamedTuple):
    """Where a member of an object stands: its name with quotes, its value, and which field it is."""

    name: slice
    value: slice
    path: FieldPath


def parse_field(field: str) -> FieldPath:
    r"""Read a path such as `messages.content`; `\.` is a dot of a name.

    Raises:
        InputError: A name is missing.
    """
    parts = _FIELD_PART.findall(field)
    if ".".join(parts) != field or not parts:
        raise InputError(
            r"--field takes names with dots between, such as messages.content; \. is a dot of a name"
        )
    return tuple(re.sub(r"\\(.)", r"\1", part) for part in parts)


def find_members(record: str, paths: Iterable[FieldPath]) -> Iterator[Member]:
    """Yield the members that fields name, in order; those inside of one are part of it.

    Args:
        record: Valid JSON.
        paths: The fields.
    """
    wanted = frozenset(paths)
    last_names = frozenset(path[-1] for path in wanted)
    names: list[str | None] = []
    last = name = slice(0, 0)
    open_path: FieldPath | None = None
    open_depth = start = 0
    for token in _TOKEN.finditer(record):
        mark = token.group()
        if mark[0] == '"':
            last = slice(*token.span())
        elif mark == ":":
            written = record[last]
            names[-1] = str(json.loads(written)) if "\\" in written else written[1:-1]
            if open_path is None and names[-1] in last_names:
                path = tuple(part for part in names if part is not None)
                if path in wanted:
                    open_path, open_depth, name, start = path, len(names), last, token.end()
        else:
            if open_path is not None and mark in ",}" and len(names) == open_depth:
                yield Member(name, _trimmed(record, start, token.start()), open_path)
                open_path = None
            if mark in "{[":
                names.append(None)
            elif mark in "}]":
                names.pop()


def _trimmed(record: str, start: int, end: int) -> slice:
    value = record[start:end]
    return slice(end - len(value.lstrip(_BLANKS)), start + len(value.rstrip(_BLANKS)))


class RecordRedactor:
    """Redacts record by record.

    Attributes:
        record_count: How many records there were; blank lines are none.
        found_fields: Those of the fields that stood in some record.

    Args:
        interceptor: Inspects the texts.
        fields: What is inspected, with everything in it; all of a record where there is none.
    """

    def __init__(self, interceptor: RuleBasedDlpInterceptor, fields: Iterable[FieldPath] = ()) -> None:
        self._interceptor = interceptor
        self._fields = tuple(fields)
        self._counts: dict[str, int] = {}
        self._number = 0
        self.record_count: int = 0
        self.found_fields: set[FieldPath] = set()

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """All redactions so far, by rule."""
        return tuple(DlpRedaction(rule_id, count) for rule_id, count in self._counts.items())

    def redact(self, line: bytes) -> str:
        """Return the next line.

        Raises:
            InputError: It is no record.
            DlpInspectionError: A rule blocks it.
        """
        self._number += 1
        mark = codecs.BOM_UTF8 if self._number == 1 and line.startswith(codecs.BOM_UTF8) else b""
        body = line[len(mark) :].rstrip(b"\r\n")
        start, end = mark.decode("utf-8"), line[len(mark) + len(body) :].decode("ascii")
        if not body.strip():
            return f"{start}{body.decode('ascii')}{end}"
        record = decode_record(body, self._number)
        self.record_count += 1
        return f"{start}{self._members(record) if self._fields else self._whole(record)}{end}"

    def _whole(self, record: str) -> str:
        result = self._inspect(record)
        if result.has_redactions and not is_json(result.sanitized_text):
            raise self._broken()
        self._count(result.redactions)
        return result.sanitized_text

    def _members(self, record: str) -> str:
        pieces: list[str] = []
        done = 0
        for member in find_members(record, self._fields):
            self.found_fields.add(member.path)
            pieces += (
                record[done : member.value.start],
                self._value(record[member.name], record[member.value]),
            )
            done = member.value.stop
        return "".join([*pieces, record[done:]])

    def _value(self, name: str, value: str) -> str:
        """Redact a value beside its name, which tells some rules what it is."""
        for before, after in ((f"{{{name}: ", "}"), ("[", "]")):
            result = self._inspect(f"{before}{value}{after}")
            text = result.sanitized_text
            # a name that is redacted itself cannot stand there as a context, nor be counted
            if text.startswith(before) and text.endswith(after):
                redacted = text[len(before) : -len(after)]
                if not result.has_redactions or is_json(redacted):
                    self._count(result.redactions)
                    return redacted
        raise self._broken()

    def _inspect(self, text: str) -> DlpResult:
        return self._interceptor.inspect(BULK_CONTEXT, text)

    def _count(self, redactions: Iterable[DlpRedaction]) -> None:
        for redaction in redactions:
            known = self._counts.get(redaction.rule_id, 0)
            self._counts[redaction.rule_id] = known + redaction.replacement_count

    def _broken(self) -> InputError:
        return InputError(
            f"line {self._number} would not stay JSON. Redact the file as text, without --jsonl, or name fields."
        )
