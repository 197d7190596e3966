"""`Hints`: where in a text the rules of packs need to look, as google-re2 tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tramapy.dlp.finders import Re2

__all__ = ["SHORT_LENGTH", "Hints", "Stretch"]

_BESIDE = 192
"""How far from where a search begins its hint may begin or end; also, how far over an end what it looks for may go."""
SHORT_LENGTH = 2_048
"""Up to this length, a text is one stretch."""
_BLOCK = 8_192
_FEW_HITS = 3
"""Where more hints stand in a block, asking again for each piece of it costs less than to search all of it for them."""


class Stretch(NamedTuple):
    """A stretch of a text, and the numbers of the hints that stand in it or beside it."""

    start: int
    end: int
    hits: Sequence[int]


class Hints:
    """Finds which searches must look where; safe to share between threads.

    Args:
        hints: In RE2's syntax; a stretch names them by their numbers.
        re2: The module.
    """

    def __init__(self, hints: Sequence[str], re2: Re2) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 << 20
        options.encoding = re2.Options.Encoding.LATIN1
        self._set = re2.Set.SearchSet(options)
        for hint in hints:
            self._set.Add(hint.encode("latin-1"))
        self._set.Compile()

    def hits(self, text: str, start: int, end: int) -> Sequence[int]:
        """Return the numbers of the hints that stand in a stretch or beside it."""
        part = text[max(start - _BESIDE, 0) : end + _BESIDE]
        # A byte for each character, whatever it is: UTF-8 would make hints longer.
        return self._set.Match(part.encode("latin-1", "replace")) or ()

    def stretches(self, text: str, begin: int) -> Iterator[Stretch]:
        """Yield the stretches behind a place that have hints, in order.

        Each goes on over its end into the next one, since what is looked for there may stand over it.
        """
        length = len(text)
        are_many = False
        for start in range(begin, length, _BLOCK):
            end = min(start + _BLOCK, length)
            if not are_many:  # else this block is likely to be like the one before it
                hits = self.hits(text, start, end)
                are_many = len(hits) > _FEW_HITS
                if hits and not are_many:
                    yield Stretch(start, min(end + _BESIDE, length), hits)
            if are_many:
                found: set[int] = set()
                for piece in self._pieces(text, start, end):
                    found.update(piece.hits)
                    yield piece
                are_many = len(found) > _FEW_HITS

    def _pieces(self, text: str, begin: int, end: int) -> Iterator[Stretch]:
        for start in range(begin, end, SHORT_LENGTH):
            last = min(start + SHORT_LENGTH, end)
            hits = self.hits(text, start, last)
            if hits:
                yield Stretch(start, min(last + _BESIDE, len(text)), hits)
