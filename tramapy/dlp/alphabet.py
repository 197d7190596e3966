"""`Alphabet`: all characters, cut into the fewest classes that a pattern can tell apart."""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tramapy.dlp.charset import LAST_CODE_POINT, NEWLINE, WORDS, CharSet

__all__ = ["Alphabet", "Context", "Reading"]


class Context(enum.IntEnum):
    """What stands before a place in the text."""

    TEXT_START = 0
    OTHER = 1
    WORD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What stands after a place in the text, as far as a program can tell characters apart.

    Args:
        bit: One bit for the class of the character; 0 at the end of the text.
        is_word: Whether it is a word character.
        ends_line: Whether `$` holds before it.
        ends_text: Whether there is no character.
    """

    bit: int
    is_word: bool = False
    ends_line: bool = False
    ends_text: bool = False

    @property
    def context(self) -> Context:
        """What the character is to the place after it."""
        return Context.WORD if self.is_word else Context.OTHER


class Alphabet:
    """Cuts all characters into the fewest classes that a program's instructions can tell apart.

    Args:
        sets: What the instructions take.
        tells_words: Whether an assertion depends on word characters.
        tells_newline: Whether an assertion depends on newlines.
    """

    def __init__(self, sets: Iterable[CharSet], *, tells_words: bool, tells_newline: bool) -> None:
        distinct = list(dict.fromkeys(sets))
        tellers = [*distinct, *([WORDS] if tells_words else ()), *([NEWLINE] if tells_newline else ())]
        self._starts = sorted({0} | {cut for chars in tellers for a, b in chars.ranges for cut in (a, b + 1)})
        signatures = [0] * len(self._starts)
        for place, chars in enumerate(tellers):
            for interval in self._intervals(chars):
                signatures[interval] |= 1 << place
        classes: dict[int, Reading] = {}
        self._by_interval: list[Reading] = []
        for start, signature in zip(self._starts, signatures, strict=True):
            reading = Reading(bit=1 << len(classes), is_word=tells_words and start in WORDS)
            self._by_interval.append(classes.setdefault(signature, reading))
        self.readings: tuple[Reading, ...] = tuple(classes.values())
        self._bits = {chars: self._bits_of(chars) for chars in distinct}

    def read(self, code_point: int) -> Reading:
        """Return the class of a character inside a text."""
        return self._by_interval[bisect_right(self._starts, code_point) - 1]

    def bits(self, chars: CharSet) -> int:
        """Return the classes that make up one of the sets that the alphabet was made for."""
        return self._bits[chars]

    def characters(self, bits: int) -> CharSet:
        """Return the characters of some classes."""
        ends = [*self._starts[1:], LAST_CODE_POINT + 1]
        return CharSet.of(
            *(
                (start, end - 1)
                for start, end, reading in zip(self._starts, ends, self._by_interval, strict=True)
                if reading.bit & bits
            )
        )

    def _bits_of(self, chars: CharSet) -> int:
        found = 0
        for interval in self._intervals(chars):
            found |= self._by_interval[interval].bit
        return found

    def _intervals(self, chars: CharSet) -> Iterator[int]:
        for first, last in chars.ranges:
            yield from range(bisect_left(self._starts, first), bisect_left(self._starts, last + 1))
