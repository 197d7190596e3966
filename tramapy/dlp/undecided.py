"""`Undecided`: the folded text that is not decided, and where its characters stand in the whole text."""

from __future__ import annotations

from array import array
from typing import Self

from tramapy.dlp.folded import Folded

__all__ = ["Undecided"]


class Undecided:
    """What is not decided of one text.

    Attributes:
        folded: The folded text.
        read_length: How much of the whole text was read.
    """

    __slots__ = ("_ends", "_origin", "_starts", "folded", "read_length")

    def __init__(self) -> None:
        self.folded: str = ""
        self.read_length: int = 0
        self._origin = 0
        self._starts: array[int] | None = None
        self._ends: array[int] | None = None

    def copy(self) -> Self:
        """Return one that goes its own way from here."""
        twin = type(self)()
        twin.folded, twin.read_length, twin._origin = self.folded, self.read_length, self._origin
        twin._starts = None if self._starts is None else self._starts[:]
        twin._ends = None if self._ends is None else self._ends[:]
        return twin

    def add(self, original: str, folded: Folded) -> None:
        """Append a piece."""
        start = self.read_length
        self.read_length += len(original)
        if self._starts is None and not self.folded:
            self._origin = start
        is_plain = folded.is_aligned and (
            self._starts is not None or self._origin + len(self.folded) == start
        )
        if self._starts is None or self._ends is None:
            if is_plain:
                self.folded += folded.text
                return
            here = len(self.folded)
            self._starts = array("Q", range(self._origin, self._origin + here))
            self._ends = array("Q", range(self._origin + 1, self._origin + here + 1))
        for place in range(len(folded.text)):
            first, last = folded.original(place, place + 1)
            self._starts.append(start + first)
            self._ends.append(start + last)
        self.folded += folded.text

    def add_plain(self, text: str) -> bool:
        """Append a piece that folds to itself, if all that is here did, too; else nothing is done."""
        if self._starts is not None:
            return False
        if not self.folded:
            self._origin = self.read_length
        # without places of their own, the characters here are the last that were read
        self.folded += text
        self.read_length += len(text)
        return True

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the whole text of a stretch that is not empty."""
        if self._starts is None or self._ends is None:
            return self._origin + start, self._origin + end
        return self._starts[start], self._ends[end - 1]

    def drop(self, count: int) -> int:
        """Drop the first characters; return where the last of them ends in the whole text."""
        if self._starts is None or self._ends is None:
            self.folded = self.folded[count:]
            self._origin += count
            return self._origin
        end = self._ends[count - 1]
        self.folded = self.folded[count:]
        self._origin += count
        if self.folded:
            del self._starts[:count], self._ends[:count]
        else:
            self._starts = self._ends = None
        return end
