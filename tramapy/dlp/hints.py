"""`Hints`: where in a text the rules of packs need to look, as google-re2 tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tramapy.dlp.finders import Re2

__all__ = ["SHORT_LENGTH", "Hints", "Stretch"]

_BESIDE = 192
"""How far from where a search begins its hint may begin or end; also, how far over an end what it looks for may go."""
SHORT_LENGTH = 2_048
"""Up to this length, a text is one stretch."""
_NEAR = 192
_SHORTEST = 64
_LONGEST = 2_048
"""Where hints stand close to one another, each stretch is twice as long as the one before it, up to this length."""


Stretch: TypeAlias = tuple[int, int, Sequence[int]]
"""The start and the end of a stretch of a text, and the numbers of the hints that stand in it or beside it."""


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
        encoded = [hint.encode("latin-1") for hint in hints]
        self._set = re2.Set.SearchSet(options)
        for hint in encoded:
            self._set.Add(hint)
        self._set.Compile()
        self._any = re2.compile(b"|".join(dict.fromkeys(encoded)), options)

    def hits(self, text: str, start: int, end: int) -> Sequence[int]:
        """Return the numbers of the hints that stand in a stretch or beside it."""
        return self._set.Match(_encoded(text[max(start - _BESIDE, 0) : end + _BESIDE])) or ()

    def stretches(self, text: str, begin: int) -> Iterator[Stretch]:
        """Yield the stretches behind a place that have hints, in order.

        Each goes on over its end into the next one, since what is looked for there may stand over it.
        """
        offset = max(begin - _BESIDE, 0)
        encoded = _encoded(text[offset:] if offset else text)
        end = len(encoded)
        done = begin - offset
        size = _SHORTEST
        # A set tells which hints stand in a text, but not where; one pattern for all of them tells where the next one
        # stands. What it does not tell of overlaps with that one or comes behind it.
        hints = self._any.finditer(encoded, 0)
        is_new = True
        while (hint := next(hints, None)) is not None:
            place, behind = hint.span()
            if place < done and not is_new:
                hints = self._any.finditer(encoded, done)
                is_new = True
                continue
            is_new = False
            size = min(size * 2, _LONGEST) if place < done + _NEAR else _SHORTEST
            start = max(place - _BESIDE, done)
            done = max(place, done) + size
            hits = self._set.Match(encoded[place : done + _BESIDE]) or ()
            yield offset + start, offset + min(done + _BESIDE, end), hits
            if done >= end:
                break
            if behind > done:  # another one may begin inside of it, and end where the set does not look
                hints = self._any.finditer(encoded, done)
                is_new = True


def _encoded(text: str) -> bytes:
    # A byte for each character, whatever it is: UTF-8 would make hints longer.
    return text.encode("latin-1", "replace")
