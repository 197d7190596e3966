"""`CharSet`: a set of characters as sorted, disjoint ranges of code points."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ANY", "DIGITS", "LAST_CODE_POINT", "NEWLINE", "SPACES", "WORDS", "CharSet"]

LAST_CODE_POINT = 0x10FFFF
_CASE_GAP = ord("a") - ord("A")


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters that a pattern accepts at one place.

    Args:
        ranges: Inclusive (first, last) code points; sorted, disjoint and not adjacent. Build with `of`.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, *ranges: tuple[int, int]) -> CharSet:
        """Build a set from ranges in any order; they may overlap."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def holding(cls, characters: str) -> CharSet:
        """Build the set of the given characters."""
        return cls.of(*((ord(character), ord(character)) for character in characters))

    @property
    def single(self) -> int | None:
        """The code point of a set with one character, else None."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return self.ranges[0][0]
        return None

    def __contains__(self, code_point: int) -> bool:
        return any(first <= code_point <= last for first, last in self.ranges)

    def union(self, others: Iterable[CharSet]) -> CharSet:
        """Return every character of this set and of the others."""
        return CharSet.of(*self.ranges, *(span for other in others for span in other.ranges))

    def complement(self) -> CharSet:
        """Return every character that is not in this set, lone surrogates included."""
        gaps: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST_CODE_POINT:
            gaps.append((start, LAST_CODE_POINT))
        return CharSet(tuple(gaps))

    def ignoring_case(self) -> CharSet:
        """Add the other case of every ASCII letter; letters beyond ASCII have no other case here."""
        both = list(self.ranges)
        for upper in range(ord("A"), ord("Z") + 1):
            lower = upper + _CASE_GAP
            if upper in self or lower in self:
                both += [(upper, upper), (lower, lower)]
        return CharSet.of(*both)


ANY = CharSet(((0, LAST_CODE_POINT),))
NEWLINE = CharSet.holding("\n")
DIGITS = CharSet.holding(string.digits)
WORDS = CharSet.holding(string.ascii_letters + string.digits + "_")
SPACES = CharSet.holding(" \t\n\r\f\v")
