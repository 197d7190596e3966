"""`View`: a folded text as the rules of the packs look at it, or a window of one."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import AnyStr, NamedTuple, TypeVar

__all__ = ["CONTEXT_LENGTH", "LEFT_LENGTH", "View"]

LEFT_LENGTH = 384
"""How many characters to the left of a match, at most, may decide on it."""
CONTEXT_LENGTH = 40
"""How many characters to the left of a match its context words may stand in."""

_TOKEN_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-.")
_SHAPES = bytearray(b"x" * 256)
for _byte in range(256):
    _character = chr(_byte)
    if _character in "0123456789":
        _SHAPES[_byte] = ord("0")
    elif _character in string.ascii_letters:
        _SHAPES[_byte] = ord("a")
    elif _character in " -\n\r\t":
        _SHAPES[_byte] = ord("-")
    elif _character in "./":
        _SHAPES[_byte] = ord(".")
_SHAPE_OF = bytes(_SHAPES)
_RUN_OF = bytes(ord("a") if chr(byte) in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
_LONG_RUN = b"a" * 15
_FEWEST_DIGITS = 9
_LONG_NUMBER = b"0" * _FEWEST_DIGITS
_LONG_RUNS = re.compile(_LONG_NUMBER + b"0*")
# The single byte in front lets the standard library skip to it: as quick as two searches for a shape.
_GROUPS = re.compile(rb"0(?<=000)(?=(?:-{1,3}|\.)00(00)|-{1,2}00-{1,2}0000|\.00\.0000)")

_Found = TypeVar("_Found")


class DigitGroups(NamedTuple):
    """Where three digits stand with a blank, dash or dot behind them, and then four, or two and four, more."""

    before_four: Sequence[int]
    before_two: Sequence[int]

    @property
    def are_some(self) -> bool:
        """Whether there is one."""
        return bool(self.before_four or self.before_two)


class View:
    """A window of a folded text; what is derived from it is made once, when a rule first asks.

    Args:
        text: The whole folded text.
        start: Where the window begins.
        end: Where it ends.
    """

    __slots__ = (
        "_digit_groups",
        "_digit_runs",
        "_encoded",
        "_known",
        "_lower",
        "_shape",
        "_tokens",
        "_words",
        "end",
        "part",
        "start",
        "text",
    )

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text: str = text
        self.start: int = start
        self.end: int = end
        self.part: str = text if end - start == len(text) else text[start:end]
        self._lower: bytes | None = None
        self._encoded: bytes | None = None
        self._shape: bytes | None = None
        self._tokens: Mapping[str, Sequence[int]] | None = None
        self._digit_groups: DigitGroups | None = None
        self._digit_runs: Sequence[tuple[int, int]] | None = None
        self._words: dict[bytes, Sequence[int]] = {}
        self._known: dict[object, Sequence[object]] = {}

    @property
    def lower(self) -> bytes:
        """The window with its ASCII letters in lower case, a byte for each character."""
        if self._lower is None:
            # not of the text: that takes thirty times as long where one letter is not ASCII, and some letters grow
            self._lower = self._bytes().lower()
        return self._lower

    @property
    def shape(self) -> bytes:
        """The window with each digit as `0`, ASCII letter as `a`, blank or dash as `-`, dot or slash as `.`."""
        if self._shape is None:
            self._shape = self._bytes().translate(_SHAPE_OF)
        return self._shape

    @property
    def digit_runs(self) -> Sequence[tuple[int, int]]:
        """Where at least nine digits stand in a row, and how many; one over an end of the window is cut off there."""
        if self._digit_runs is None:
            runs: list[tuple[int, int]] = []
            shape = self.shape
            if shape.rfind(_LONG_NUMBER) >= 0:  # half the time of `in`
                start = self.start
                runs += [(start + match.start(), len(match.group())) for match in _LONG_RUNS.finditer(shape)]
            self._digit_runs = runs
        return self._digit_runs

    @property
    def digit_groups(self) -> DigitGroups:
        """Where digits stand in groups: before one of four digits, and as those of a social security number do."""
        if self._digit_groups is None:
            fours: list[int] = []
            twos: list[int] = []
            shape = self.shape
            first = self.start - len("00")
            if shape.rfind(b"000-") >= 0 or shape.rfind(b"000.") >= 0:  # half the time of `in`
                for match in _GROUPS.finditer(shape):
                    (twos if match.lastindex is None else fours).append(first + match.start())
            self._digit_groups = DigitGroups(fours, twos)
        return self._digit_groups

    def once(self, find: Callable[[View], Sequence[_Found]]) -> Sequence[_Found]:
        """Return what a function finds here, found once for all rules that ask."""
        known = self._known.get(find)
        if known is None:
            known = self._known[find] = find(self)
        return known  # type: ignore[return-value]  # what this function found; a cast would cost as much as the rest

    def tokens(self, starts: re.Pattern[str], longest: int) -> Mapping[str, Sequence[int]]:
        """Return where tokens may begin, by what they begin with.

        Only inside of runs of at least 15 letters, digits, `_`, `-` and `.`; always ask with the same pattern.

        Args:
            starts: Matches what they begin with.
            longest: How many characters the pattern reads at most.
        """
        if self._tokens is None:
            self._tokens = self._find_tokens(starts, longest)
        return self._tokens

    def _find_tokens(self, starts: re.Pattern[str], longest: int) -> Mapping[str, Sequence[int]]:
        runs = self._bytes().translate(_RUN_OF)
        found: dict[str, list[int]] = {}
        first = runs.find(_LONG_RUN)
        while first >= 0:
            end = runs.find(b" ", first)
            if end < 0:
                end = len(runs)
            if end == len(runs) and self.end < len(self.text):
                for match in starts.finditer(self.text, self.start + first, self.end + longest):
                    if match.start() < self.end:
                        found.setdefault(match.group(), []).append(match.start())
                break
            for match in starts.finditer(self.part, first, end):
                found.setdefault(match.group(), []).append(self.start + match.start())
            first = runs.find(_LONG_RUN, end)
        return found

    def _bytes(self) -> bytes:
        if self._encoded is None:
            self._encoded = self.part.encode("latin-1", "replace")
        return self._encoded

    def matches(self, pattern: re.Pattern[str], longest: int) -> Sequence[re.Match[str]]:
        """Return the matches that begin here, of a pattern that reads so many characters at most.

        One that begins with a literal is the quickest; whatever a match takes holds no other.
        """
        if self.part is self.text:
            return list(pattern.finditer(self.text))
        last, length = self.end, len(self.text)
        near = pattern.finditer(self.text, self.start, min(last + longest, length))
        return [match for match in near if match.start() < last]

    def places_of(self, literal: str) -> Sequence[int]:
        """Return each place of a literal."""
        return _places(self.text, literal, self.start, self.end)

    def places_of_shapes(self, shapes: Iterable[bytes]) -> Sequence[int]:
        """Return each place of some shapes, in order for each of them."""
        shape, start = self.shape, self.start
        return [start + place for needle in shapes for place in _places(shape, needle, 0, None)]

    def places_of_word(self, word: bytes) -> Sequence[int]:
        """Return each place of a word in lower case, whatever the case in the text."""
        known = self._words.get(word)
        if known is None:
            known = _places(self.lower, word, 0, None)
            if known and self.start:
                known = [self.start + place for place in known]
            self._words[word] = known
        return known


def _places(text: AnyStr, literal: AnyStr, start: int, end: int | None) -> Sequence[int]:
    """Find a literal from behind: CPython does that in half the time."""
    place = text.rfind(literal, start, end)
    if place < 0:  # as nearly always
        return ()
    found: list[int] = []
    overlap = len(literal) - 1
    while place >= 0:
        found.append(place)
        place = text.rfind(literal, start, place + overlap)
    found.reverse()
    return found
