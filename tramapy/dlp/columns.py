"""`Columns`: find the passwords that stand in a column below a heading, in a text that comes in pieces.

The heading may be any number of rows away, so no search around a match finds it. What is remembered of a table is
which of its columns hold passwords; of a row no more is held back than a cell of such a column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tramapy.dlp.checks import is_password, is_secret
from tramapy.dlp.packs.joints import is_apart
from tramapy.dlp.packs.password_columns import AROUND, KEY_NAME, LONGEST_HEADING, NAME, STEMS

__all__ = ["Columns"]

_MOST_IN_LINE = 1_000
"""What stands further behind in a line is in no column."""
_NAME = re.compile(rf"{NAME}|(?P<key>{KEY_NAME})", re.ASCII)
_HEADING = re.compile(r"[\w#./&-]{1,32}(?: {1,3}\(?[\w./&-]{1,32}[):?]?){0,4}")
_BYTE_ORDER_MARK = "\ufeff"
_DIRECTORY_STARTS = ("/", "~")
_SPACED_BAR = re.compile(r"\A\||[ \t]\||\|[ \t]|\|\Z")
_RULE = "|+: =-\r"
_QUOTING = ",;"
_QUOTED = re.compile(r"[ \t]*\"(?:[^\"]|\"\")*+(?:\"|\Z)")


class _Table(NamedTuple):
    """What is remembered of a table.

    Args:
        mark: What stands between its cells.
        columns: Which of them hold secrets, and whether these are keys.
    """

    mark: str
    columns: Mapping[int, bool]


class Columns:
    """Reads one text.

    Attributes:
        table: The table that the text is in; outside of one, nothing is claimed before the next line.
        undecided_start: Where what may still be claimed begins.
    """

    __slots__ = (
        "_before",
        "_candidate",
        "_cell_count",
        "_cell_start",
        "_dull_line",
        "_length",
        "_line",
        "_start",
        "table",
        "undecided_start",
    )

    def __init__(self) -> None:
        self._line = ""
        """The head of the line that is read."""
        self._length = 0
        """Of all of the line."""
        self._start = 0
        """Where the line begins in the text."""
        self._cell_count = 0
        """How many of its cells are whole; a row may have more or fewer than the heading."""
        self._cell_start = 0
        """Where the next one begins in the line."""
        self._before = ""
        self._dull_line: str | None = None
        """The line before, where another like it changes nothing: a row without passwords, or outside of tables."""
        self._candidate: _Table | None = None
        """Of a heading between bars: a table only if a ruled line follows."""
        self.table: _Table | None = None
        self.undecided_start: int = 0

    def feed(self, text: str) -> list[tuple[int, int]]:
        """Read the next piece; return what to cut, as places in the whole text."""
        found: list[tuple[int, int]] = []
        if "\n" in text:
            *lines, text = text.split("\n")
            for line in lines:
                if not self._length and len(line) < _MOST_IN_LINE:
                    if line == self._dull_line:
                        self._start += len(line) + 1
                    else:
                        found += self._row(line)
                    continue
                self._add(line)
                if self.table is not None:
                    found += self._cells(self.table, is_whole=True)
                self._end_line()
        self._add(text)
        self.undecided_start = self._start + self._length
        if self.table is not None:
            found += self._cells(self.table, is_whole=False)
        return found

    def finish(self) -> list[tuple[int, int]]:
        """End the text; return what to cut in its last row."""
        self.undecided_start = self._start + self._length
        return [] if self.table is None else self._cells(self.table, is_whole=True)

    def _add(self, text: str) -> None:
        self._length += len(text)
        if len(self._line) < _MOST_IN_LINE:
            self._line = (self._line + text)[:_MOST_IN_LINE]

    def _row(self, line: str) -> list[tuple[int, int]]:
        """Read a line that came whole; return what to cut in it."""
        found: list[tuple[int, int]] = []
        table = self.table
        if table is not None:
            cells = _split(line, table.mark)
            for place, is_key in table.columns.items():
                if place < len(cells):
                    start = sum(map(len, cells[:place])) + place
                    found += self._secret(start, cells[place], is_key=is_key)
            if not found and table.mark in line:
                self._dull_line = self._before = line
                self._start += len(line) + 1
                return found
        self._line = line
        self._length = len(line)
        self._end_line()
        return found

    def _cells(self, table: _Table, *, is_whole: bool) -> list[tuple[int, int]]:
        """Return what to cut in the cells of the line that became whole."""
        found: list[tuple[int, int]] = []
        line, is_cut_off = self._line, self._length > _MOST_IN_LINE
        while True:
            start = self._cell_start
            end = _cell_end(line, start, table.mark)
            is_last = end == len(line)
            if is_last and (is_cut_off or not is_whole):
                if self._cell_count in table.columns and not is_cut_off:
                    self.undecided_start = self._start + start
                return found
            if self._cell_count in table.columns:
                found += self._secret(start, line[start:end], is_key=table.columns[self._cell_count])
            if is_last:
                return found
            self._cell_count += 1
            self._cell_start = end + 1

    def _secret(self, start: int, cell: str, *, is_key: bool) -> list[tuple[int, int]]:
        value = cell.strip(AROUND)
        is_one = is_secret(value) if is_key else is_apart(value) and is_password(value)
        if not is_one or " " in value or value.startswith(_DIRECTORY_STARTS):
            return []
        first = self._start + start + cell.index(value)
        return [(first, first + len(value))]

    def _end_line(self) -> None:
        line = self._line if self._length < _MOST_IN_LINE else ""
        is_ruled = "-" in line and not line.strip(_RULE)
        if self._candidate is not None:
            self.table = self._candidate if is_ruled else None
            self._candidate = None
        elif self.table is not None and self.table.mark not in self._line and not is_ruled:
            self.table = None
        if self.table is None:
            self._begin_table(line)
        self._before = line
        self._dull_line = line if self.table is None and self._candidate is None else None
        self._start += self._length + 1
        self._line = ""
        self._length = self._cell_count = self._cell_start = 0

    def _begin_table(self, line: str) -> None:
        lower = line.lower()
        if all(stem not in lower for stem in STEMS):
            return
        mark = next((mark for mark in "|\t;," if mark in line), None)
        if mark is None:
            return
        cells = _split(line.removeprefix(_BYTE_ORDER_MARK), mark)
        is_ruled_below = mark == "|" and _SPACED_BAR.search(line) is not None
        if not is_ruled_below and len(_split(self._before, mark)) == len(cells):  # a row
            return
        names = [cell.strip(AROUND) if len(cell) < LONGEST_HEADING else "" for cell in cells]
        found = {place: _NAME.fullmatch(name) for place, name in enumerate(names)}
        columns = {place: bool(match["key"]) for place, match in found.items() if match is not None}
        may_be_empty = is_ruled_below or ", " not in line
        if not columns or not all(_HEADING.fullmatch(name) for name in names if name or not may_be_empty):
            return
        if is_ruled_below:
            self._candidate = _Table(mark, columns)
        else:
            self.table = _Table(mark, columns)


def _split(line: str, mark: str) -> list[str]:
    if '"' not in line:
        return line.split(mark)
    cells: list[str] = []
    start = 0
    while True:
        end = _cell_end(line, start, mark)
        cells.append(line[start:end])
        if end == len(line):
            return cells
        start = end + 1


def _cell_end(line: str, start: int, mark: str) -> int:
    """Return where a cell ends; one with a quote that is not closed takes the rest of the line."""
    quoted = _QUOTED.match(line, start) if mark in _QUOTING else None
    end = line.find(mark, start if quoted is None else quoted.end())
    return len(line) if end < 0 else end
