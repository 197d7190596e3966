"""Text for people: each finding with its line and a caret, and a summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from safety_gate.runner import Result
from safety_gate.source import SourceError, decode, read_source, split_lines
from safety_gate.violation import Violation

_MAX_LINE = 160
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_MAX_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the report and how it is shown: `error`, `advice`, `source`, `caret` or `plain`."""

    text: str
    style: str = "plain"


def render(result: Result) -> str:
    """Return the report as plain text."""
    return "".join(f"{row.text}\n" for row in rows(result))


def rows(result: Result) -> Iterator[Row]:
    """Yield the lines of the report. Exempted findings are only counted."""
    for violation in result.violations:
        if not violation.is_exempted:
            yield from _violation(violation, result.root)
    for d in result.diagnostics:
        place = d.path if d.line is None else f"{d.path}:{d.line}"
        yield Row(text=_printable(f"{place}: {d.rule} {d.message}"), style="error")
    yield Row(text=_summary(result))


def statistics(result: Result) -> Iterator[str]:
    """Yield a line for each rule: how many findings, and how many of them fail."""
    shown = [v for v in result.violations if not v.is_exempted]
    for (rule, name), count in sorted(Counter((v.rule, v.name) for v in shown).items()):
        failing = sum(v.fails for v in shown if v.rule == rule)
        yield f"{count:6d}  {rule}  {name}" + (f"  ({failing} fail)" if failing != count else "")


def _violation(violation: Violation, root: Path) -> Iterator[Row]:
    kind = violation.risk.label if violation.fails else f"advice, {violation.risk.label}"
    text = (
        f"{violation.path}:{violation.line}:{violation.column}: {violation.rule} [{kind}] {violation.message}"
    )
    yield Row(text=_printable(text), style="error" if violation.fails else "advice")
    line = _line(root / violation.path, violation.line)
    if line is not None:
        yield from _excerpt(line, violation)


def _excerpt(line: str, violation: Violation) -> Iterator[Row]:
    start = violation.column - 1
    end = violation.end_column - 1 if violation.end_line == violation.line else len(line)
    offset = 0
    if len(line) > _MAX_LINE:
        offset = max(0, start - _MAX_LINE // 3)
        line = line[offset : offset + _MAX_LINE]
    before = "".join("\t" if char == "\t" else " " for char in line[: start - offset])
    width = max(1, min(end - offset, len(line)) - (start - offset))
    yield Row(text=f"    {_printable(line.rstrip())}", style="source")
    yield Row(text=f"    {before}{'^' * width}", style="caret")


def _printable(text: str) -> str:
    """Show control characters as `?`: a file's name or line must not move the cursor of a terminal."""
    return _CONTROL.sub("?", text)


def _line(file: Path, number: int) -> str | None:
    lines = _lines(file)
    return lines[number - 1] if 0 < number <= len(lines) else None


@lru_cache(maxsize=4)
def _lines(file: Path) -> tuple[str, ...]:
    try:
        return tuple(split_lines(decode(read_source(file, _MAX_FILE_BYTES))))
    except SourceError:
        return ()


def _summary(result: Result) -> str:
    failing = sum(v.fails for v in result.violations)
    exempted = sum(v.is_exempted for v in result.violations)
    advice = len(result.violations) - failing - exempted
    parts = [
        counted(result.file_count, "file"),
        counted(failing, "finding"),
        f"{advice} advice",
        f"{exempted} exempted",
    ]
    if result.diagnostics:
        parts.append(counted(len(result.diagnostics), "error"))
    if result.unresolved_count:
        parts.append(f"{result.unresolved_count} unresolved (--strict judges them)")
    return ", ".join(parts)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless there is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
