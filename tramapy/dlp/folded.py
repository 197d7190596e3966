"""`Folded`: a folded text, and where its characters stand in the original."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Final, Self

__all__ = ["LONGEST_INVISIBLE", "Folded"]

LONGEST_INVISIBLE: Final = 32_768
"""Behind so much in a row that is invisible, nothing goes on that stands before it: a stream does not hold more."""
_ENDS = "\n\x01" * 6
"""No value goes over a line, and no block of a key over the other; as many as a stream looks ahead."""


class Folded:
    """A folded text and where its characters stand in the original.

    Args:
        text: The folded text.
        starts: For each of its characters, the place in the original where it begins; None where both agree.
        ends: The same for where it ends.
    """

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, text: str, starts: array[int] | None = None, ends: array[int] | None = None) -> None:
        self.text: str = text
        self._starts = starts
        self._ends = ends

    @property
    def is_aligned(self) -> bool:
        """Whether each character stands where it stood in the original."""
        return self._starts is None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the original of a stretch that is not empty."""
        if self._starts is None or self._ends is None:
            return start, end
        return self._starts[start], self._ends[end - 1]

    @property
    def end(self) -> int:
        """The place in the original where the last character ends; 0 where there is none."""
        if self._ends is None:
            return len(self.text)
        return self._ends[-1] if self._ends else 0

    def with_ends(self, length: int, invisible_length: int) -> Self:
        """Return the same, with an end of all that may stand before in each part of the original that is invisible.

        Args:
            length: How long the original is.
            invisible_length: How much stands before it that is invisible, and in one with what it begins with.
        """
        if self._starts is None or self._ends is None:
            return self
        if invisible_length + length - len(self.text) <= LONGEST_INVISIBLE:
            return self
        pieces: list[str] = []
        starts, ends = array("Q"), array("Q")
        done = 0
        # Where so much is invisible, one of these places is: to look at each character would take ten times as long.
        near = range(0, length, LONGEST_INVISIBLE)
        for place in sorted({0, *(bisect_left(self._starts, at) for at in near)}):
            start = self._starts[place] if place < len(self._starts) else length
            before = self._ends[place - 1] if place else -invisible_length
            if start - before > LONGEST_INVISIBLE:
                pieces.append(self.text[done:place])
                starts.extend(self._starts[done:place])
                ends.extend(self._ends[done:place])
                done = place
                for at in range(before + LONGEST_INVISIBLE, start, LONGEST_INVISIBLE):
                    for mark_at, mark in enumerate(_ENDS, at):
                        if 0 <= mark_at < start:
                            pieces.append(mark)
                            starts.append(mark_at)
                            ends.append(mark_at + 1)
        pieces.append(self.text[done:])
        starts.extend(self._starts[done:])
        ends.extend(self._ends[done:])
        return type(self)("".join(pieces), starts, ends)
