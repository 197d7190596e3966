"""`View`: a folded text as the rules of the packs look at it, or a window of one."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence

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
    elif "A" <= _character <= "Z":
        _SHAPES[_byte] = ord("A")
    elif "a" <= _character <= "z":
        _SHAPES[_byte] = ord("a")
    elif _character in " -\n\r":
        _SHAPES[_byte] = ord("-")
    elif _character == ".":
        _SHAPES[_byte] = ord(".")
_SHAPE_OF = bytes(_SHAPES)
_RUN_OF = bytes(ord("a") if chr(byte) in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
_LONG_RUN = b"a" * 16
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class View:
    """A window of a folded text; what is derived from it is made once, when a rule first asks.

    Args:
        text: The whole folded text.
        start: Where the window begins.
        end: Where it ends.
    """

    __slots__ = ("_encoded", "_known", "_lower", "_shape", "_tokens", "end", "part", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text: str = text
        self.start: int = start
        self.end: int = end
        self.part: str = text if end - start == len(text) else text[start:end]
        self._lower: str | None = None
        self._encoded: bytes | None = None
        self._shape: bytes | None = None
        self._tokens: Mapping[str, Sequence[int]] | None = None
        self._known: dict[Callable[[View], Sequence[re.Match[str]]], Sequence[re.Match[str]]] = {}

    @property
    def lower(self) -> str:
        """The window with its ASCII letters in lower case."""
        if self._lower is None:
            lower = self.part.lower()
            if len(lower) != len(self.part):  # some letters beyond ASCII grow
                lower = self.part.translate(_LOWER)
            self._lower = lower
        return self._lower

    @property
    def shape(self) -> bytes:
        """The window with each digit as `0`, capital as `A`, other ASCII letter as `a` and blank or dash as `-`."""
        if self._shape is None:
            self._shape = self._bytes().translate(_SHAPE_OF)
        return self._shape

    def once(self, find: Callable[[View], Sequence[re.Match[str]]]) -> Sequence[re.Match[str]]:
        """Return what a function finds here, found once for all rules that ask."""
        known = self._known.get(find)
        if known is None:
            known = self._known[find] = find(self)
        return known

    def tokens(self, starts: re.Pattern[str]) -> Mapping[str, Sequence[int]]:
        """Return where tokens may begin, by what they begin with.

        Only inside of runs of at least 16 letters, digits, `_`, `-` and `.`; always ask with the same pattern.
        """
        if self._tokens is None:
            self._tokens = self._find_tokens(starts)
        return self._tokens

    def _find_tokens(self, starts: re.Pattern[str]) -> Mapping[str, Sequence[int]]:
        runs = self._bytes().translate(_RUN_OF)
        found: dict[str, list[int]] = {}
        first = runs.find(_LONG_RUN)
        while first >= 0:
            end = runs.find(b" ", first)
            if end < 0:
                end = len(runs)
            for match in starts.finditer(self.part, first, end):
                found.setdefault(match.group(), []).append(self.start + match.start())
            first = runs.find(_LONG_RUN, end)
        return found

    def _bytes(self) -> bytes:
        if self._encoded is None:
            self._encoded = self.part.encode("latin-1", "replace")
        return self._encoded

    def places_of(self, literal: str) -> Iterator[int]:
        """Yield each place of a literal."""
        text, end = self.text, self.end
        place = text.find(literal, self.start, end)
        while place >= 0:
            yield place
            place = text.find(literal, place + 1, end)

    def places_of_word(self, word: str) -> Iterator[int]:
        """Yield each place of a word in lower case, whatever the case in the text."""
        lower, start = self.lower, self.start
        place = lower.find(word)
        while place >= 0:
            yield start + place
            place = lower.find(word, place + 1)

    def places_of_shape(self, needle: bytes) -> Iterator[int]:
        """Yield each place of a shape."""
        shape, start = self.shape, self.start
        place = shape.find(needle)
        while place >= 0:
            yield start + place
            place = shape.find(needle, place + 1)
