"""`View`: a folded text as the rules of the packs look at it, or a window of one."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import AnyStr, NamedTuple, TypeVar

__all__ = ["CONTEXT_LENGTH", "LEFT_LENGTH", "LONGEST_MATCH", "View"]

LEFT_LENGTH = 384
"""How many characters to the left of a match, at most, may decide on it."""
LONGEST_MATCH = 1_536
"""No match that has a longest length is longer, and no other is decided by more than that."""
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
_GROUP = rb"(?:-{1,3}|\.)00(00)|-{1,2}00-{1,2}0000|\.00\.0000"
# The literals in front let the standard library skip to them.
_NUMBERS = re.compile(rb"00(?:(?<=aa00)|0(?=%b|000000))" % _GROUP)
_GROUPS = re.compile(rb"000(?=%b)" % _GROUP)

_Found = TypeVar("_Found")


class DigitGroups(NamedTuple):
    """Where three digits stand with a blank, dash or dot behind them, and then four, or two and four, more."""

    before_four: Sequence[int]
    before_two: Sequence[int]


_NO_GROUPS = DigitGroups((), ())


class View:
    """A window of a folded text; what is derived from it is made once, when a rule first asks.

    Args:
        text: The whole folded text.
        start: Where the window begins.
        end: Where it ends.
    """

    __slots__ = (
        "_encoded",
        "_has_numbers",
        "_known",
        "_lower",
        "_shape",
        "_tokens",
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
        self._has_numbers: bool | None = None
        self._tokens: Mapping[str, Sequence[int]] | None = None
        self._known: dict[object, object] = {}

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

    def once(self, find: Callable[[View], _Found]) -> _Found:
        """Return what a function finds here, found once for all rules that ask."""
        known = self._known
        if find in known:
            return known[find]  # type: ignore[return-value]  # what this function found; a cast would cost as much
        found = known[find] = find(self)
        return found

    @property
    def digit_runs(self) -> Sequence[tuple[int, int]]:
        """Where at least nine digits stand in a row, and how many; one over an end of the window is cut off there."""
        return self.once(_digit_runs) if self.has_numbers else ()

    @property
    def digit_groups(self) -> DigitGroups:
        """Where digits stand in groups: before one of four digits, and as those of a social security number do."""
        return self.once(_digit_groups) if self.has_numbers else _NO_GROUPS

    @property
    def has_numbers(self) -> bool:
        """Whether there are digits in groups, at least nine in a row, or two behind two letters."""
        if self._has_numbers is None:
            self._has_numbers = _NUMBERS.search(self.shape) is not None
        return self._has_numbers

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
        known = self._known
        if word in known:
            return known[word]  # type: ignore[return-value]  # the places of this word
        found = _places(self.lower, word, 0, None)
        if found and self.start:
            found = [self.start + place for place in found]
        known[word] = found
        return found


def _digit_groups(view: View) -> DigitGroups:
    fours: list[int] = []
    twos: list[int] = []
    shape, start = view.shape, view.start
    if shape.rfind(b"000-") >= 0 or shape.rfind(b"000.") >= 0:  # quick where digits go on and on
        for match in _GROUPS.finditer(shape):
            (twos if match.lastindex is None else fours).append(start + match.start())
    return DigitGroups(fours, twos)


def _digit_runs(view: View) -> Sequence[tuple[int, int]]:
    shape, start = view.shape, view.start
    if shape.rfind(_LONG_NUMBER) < 0:  # half the time of `in`
        return ()
    return [(start + match.start(), len(match.group())) for match in _LONG_RUNS.finditer(shape)]


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
