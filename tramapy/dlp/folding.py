r"""Fold a text to what its readers see in it, with a map back: width, digits, dashes, blanks, zero width, escapes.

Character by character, without composing any, so that a text folded in pieces is the whole folded. Escapes of
JSON (`\u0040`, `\"`, also escaped again) and a few of URLs (`%40`) fold to the character that they stand for: a
model writes JSON into its text, and the reader of that JSON sees an `@`.

Source: Unicode 15.1, general categories Nd, Pd, Zs and Cf, with what is invisible beside them.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tramapy.dlp.folded import Folded

__all__ = ["PLAIN", "FoldedPieces", "fold", "is_plain"]

_DIGIT_ZEROS = (
    "660 6F0 7C0 966 9E6 A66 AE6 B66 BE6 C66 CE6 D66 DE6 E50 ED0 F20 1040 1090 17E0 1810 1946 19D0 1A80 1A90 1B50 "
    "1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 11066 110F0 11136 111D0 112F0 11450 114D0 "
    "11650 116C0 11730 118E0 11950 11C50 11D50 11DA0 11F50 16A60 16AC0 16B50 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 "
    "1E2F0 1E4F0 1E950 1FBF0 10D40 11BF0 11DE0 116D0 116DA 16D70 1CCF0 1E5F1"
)
_DASHES = (
    "58A 5BE 1400 1806 2010 2011 2012 2013 2014 2015 2043 2212 2E17 2E1A 2E3A 2E3B 2E40 2E5D 301C 3030 30A0 FE31 FE32 "
    "FE58 FE63 10EAD"
)
_BLANKS = "A0 1680 2000 2001 2002 2003 2004 2005 2006 2007 2008 2009 200A 202F 205F 3000"
_LINE_ENDS = "85 2028 2029"
_SMALL_FORMS = {
    0xFE50: ",",
    0xFE52: ".",
    0xFE55: ":",
    0xFE59: "(",
    0xFE5A: ")",
    0xFE62: "+",
    0xFE66: "=",
    0xFE6B: "@",
}
_INVISIBLE = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
    (0xE0100, 0xE01EF),
)
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_FULL_WIDTH_GAP = 0xFF01 - ord("!")

_COLOUR = r"\[[0-9;]{0,16}[mK]"
# Each choice begins with a literal: else the standard library tries them all at each character, 15 times as slow.
_ESCAPE = re.compile(
    rf"\x1b{_COLOUR}|\\\\{{0,3}}(?:(?:u001[bB]|x1[bB]){_COLOUR}|u([0-9A-Fa-f]{{4}})|([\"'/nrt]))"
    r"|%(40|2[02BbDd]|3[AaDd])"
)
_HALVES = ("\\ud", "\\uD")
"""Of characters beyond the first plane, as they are escaped; and a few others."""
_ESCAPE_MARKS = ("\\", "%", "\x1b")
_PARTIAL = re.compile(
    r"(?:\x1b|\\{1,4}(?:u001[bB]|x1[bB]))(?:\[[0-9;]{0,16})?\Z|\\{1,4}x1?\Z|"
    r"(?:\\{1,4}(?:u[0-9A-Fa-f]{0,3})?|\\{1,4}u[dD][89ABab][0-9A-Fa-f]{2}(?:\\{1,4}(?:u[0-9A-Fa-f]{0,3})?)?|%[234]?)\Z"
)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


def _folds() -> dict[str, str]:
    """Return what each character that is not plain folds to; nothing for an invisible one."""
    folds = {chr(code): chr(code - _FULL_WIDTH_GAP) for code in _FULL_WIDTH}
    for zero in _DIGIT_ZEROS.split():
        folds.update({chr(int(zero, 16) + digit): str(digit) for digit in range(10)})
    for codes, plain in ((_DASHES, "-"), (_BLANKS, " "), (_LINE_ENDS, "\n")):
        folds.update({chr(int(code, 16)): plain for code in codes.split()})
    folds.update({chr(code): plain for code, plain in _SMALL_FORMS.items()})
    folds.update({chr(code): "" for first, last in _INVISIBLE for code in range(first, last + 1)})
    return folds


PLAIN: Final[Mapping[str, str]] = MappingProxyType(_folds())
"""What each character that is not plain folds to; nothing for an invisible one."""

_NOT_PLAIN = frozenset(PLAIN)
_NOT_PLAIN_LATIN = tuple(character for character in PLAIN if character <= "\xff")
_ASCII = bytes(range(0x80))
_SPARSE = 16


def is_plain(text: str) -> bool:
    """Tell at little cost whether a text is sure to have nothing to fold."""
    return text.isascii() and "\\" not in text and "%" not in text and "\x1b" not in text


def fold(text: str) -> Folded:
    """Fold a whole text; one that has nothing to fold costs next to nothing."""
    return _characters(text).with_ends(len(text), 0)


def _characters(text: str) -> Folded:
    """Fold a text without what ends it where much is invisible."""
    if text.isascii():
        if is_plain(text):
            return Folded(text)
        found: set[str] | frozenset[str] = set()
    else:
        found = _not_plain_in(text)
    dropped: list[str] = []
    plain = text
    for character in found:
        to = PLAIN[character]
        if to:
            plain = plain.replace(character, to)
        else:
            dropped.append(character)
    if not any(mark in text for mark in _ESCAPE_MARKS) or _ESCAPE.search(text) is None:
        if not dropped:
            return Folded(plain)
        if sum(map(text.count, dropped)) * _SPARSE > len(text):
            return _without(plain, frozenset(dropped))
    if text.isascii() and not any(half in text for half in _HALVES):
        folded = _unescaped(text)
        if folded is not None:
            return folded
    return _mapped(text, plain, dropped)


_WHOLE_ESCAPE = re.compile(f"({re.sub(r'[(](?![?])', '(?:', _ESCAPE.pattern)})")


def _unescaped(text: str) -> Folded | None:
    """Fold a text of ASCII without escapes of halves; None where an escape stands for nothing."""
    pieces = _WHOLE_ESCAPE.split(text)
    escapes = pieces[1::2]
    meanings = {escape: _meaning(_ESCAPE.match(escape)) for escape in set(escapes)}  # type: ignore[arg-type]  # it was found
    if not all(meanings.values()):
        return None
    marks = {escape: "x" + _DROPPED * (len(escape) - 1) for escape in meanings}
    kept = pieces.copy()
    kept[1::2] = map(marks.__getitem__, escapes)
    starts = array("Q", _kept(range(len(text)), "".join(kept)))
    pieces[1::2] = map(meanings.__getitem__, escapes)
    ends = starts[1:]
    ends.append(len(text))
    return Folded("".join(pieces), starts, ends)


def _not_plain_in(text: str) -> set[str] | frozenset[str]:
    try:
        text.encode("latin-1")  # next to nothing where it succeeds
    except UnicodeEncodeError:
        # Going through the characters of a text takes ten times as long as deleting all ASCII from its bytes.
        rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
        return _NOT_PLAIN.intersection(rest.decode("utf-8", "surrogatepass"))
    return {character for character in _NOT_PLAIN_LATIN if character in text}


def _without(plain: str, dropped: frozenset[str]) -> Folded:
    """Drop characters, going through all of a text: they stand close to one another."""
    kept = marked = plain
    for character in dropped:
        kept = kept.replace(character, "")
        marked = marked.replace(character, _DROPPED)
    length = len(plain)
    starts = array("Q", _kept(range(length), marked))
    return Folded(kept, starts, array("Q", _kept(range(1, length + 1), marked)))


_DROPPED = "\xad"
"""Itself a character that is always dropped, so it can mark others."""
_IS_KEPT = bytes(byte != ord(_DROPPED) for byte in range(256))


def _kept(places: range, marked: str) -> Iterator[int]:
    """Return the places of all characters that are not marked as dropped."""
    return itertools.compress(places, marked.encode("latin-1", "replace").translate(_IS_KEPT))


def _mapped(text: str, plain: str, dropped: list[str]) -> Folded:
    unit = _ESCAPE if not dropped else re.compile("|".join((_ESCAPE.pattern, *map(re.escape, dropped))))
    pieces: list[str] = []
    starts = array("Q")
    ends = array("Q")
    done = 0
    high = ""
    for match in unit.finditer(text):
        first, last = match.span()
        if first > done:
            pieces.append(plain[done:first])
            starts.extend(range(done, first))
            ends.extend(range(done + 1, first + 1))
            high = ""
        done = last
        character = _meaning(match)
        if (
            high and "\udc00" <= character <= "\udfff"
        ):  # the second half of a character beyond the first plane
            pieces[-1] = _plain((high + character).encode("utf-16", "surrogatepass").decode("utf-16"))
            ends[-1] = last
            if not pieces[-1]:
                del pieces[-1], starts[-1], ends[-1]
            high = ""
            continue
        high = character if "\ud800" <= character <= "\udbff" else ""
        if character:
            pieces.append(character)
            starts.append(first)
            ends.append(last)
    pieces.append(plain[done:])
    starts.extend(range(done, len(text)))
    ends.extend(range(done + 1, len(text) + 1))
    return Folded("".join(pieces), starts, ends)


def _meaning(match: re.Match[str]) -> str:
    """Return the plain character that an escape stands for; nothing for an invisible one."""
    code, control, percent = match.group(1, 2, 3)
    if code is not None:
        return _plain(chr(int(code, 16)))
    if control is not None:
        return _CONTROLS.get(control, control)
    return "" if percent is None else chr(int(percent, 16))


def _plain(character: str) -> str:
    return PLAIN.get(character, character)


class FoldedPieces:
    """Folds a text that comes in pieces; an escape that is cut in two waits for its rest."""

    __slots__ = ("_invisible_length", "_waiting")

    def __init__(self) -> None:
        self._waiting = ""
        self._invisible_length = 0
        """How much the last piece, or several, end with that is invisible."""

    def is_plain(self, text: str) -> bool:
        """Tell whether the next piece folds to itself, so that it need not be taken."""
        return (
            not self._waiting
            and not self._invisible_length
            and text.isascii()
            and "\\" not in text
            and "%" not in text
            and "\x1b" not in text
        )

    def feed(self, text: str) -> tuple[str, Folded]:
        """Take the next piece; return the original text that is folded now, and what it folds to."""
        if self._waiting:
            text = self._waiting + text
        partial = (
            _PARTIAL.search(text, max(len(text) - 32, 0))
            if "\\" in text or "%" in text or "\x1b" in text
            else None
        )
        if partial is None:
            self._waiting = ""
        else:
            self._waiting = text[partial.start() :]
            text = text[: partial.start()]
        return text, self._fold(text)

    def finish(self) -> tuple[str, Folded]:
        """Return what still waits."""
        text, self._waiting = self._waiting, ""
        return text, self._fold(text)

    def _fold(self, text: str) -> Folded:
        characters = _characters(text)
        folded = characters.with_ends(len(text), self._invisible_length)
        end = characters.end
        self._invisible_length = len(text) - end if end else self._invisible_length + len(text)
        return folded
