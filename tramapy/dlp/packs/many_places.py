"""Leave places out at little cost where there are many: a hostile text is nothing but what searches begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["MANY", "before", "before_mixed"]

MANY: Final = 48
"""From so many places on, to go through all of the text between them first is the quicker way."""

_DIGIT, _SMALL, _CAPITAL, _OTHER = b"0aAx"


def _kind(character: str) -> int:
    if character.isdecimal():
        return _DIGIT
    return _SMALL if character.islower() else _CAPITAL if character.isupper() else _OTHER


_KINDS_OF_ASCII = bytes(_kind(chr(byte)) for byte in range(256))
_KINDS = _KINDS_OF_ASCII[: ord("?")] + bytes((_DIGIT,)) + _KINDS_OF_ASCII[ord("?") + 1 :]
"""Here a question mark is any character beyond Latin-1, and so perhaps a digit."""


def before(literal: str, text: str, places: Sequence[int], reach: int) -> Sequence[int]:
    """Return those of some rising places shortly behind which a literal stands."""
    kept: list[int] = []
    at = -1
    for place in places:
        if at < place:
            at = text.find(literal, place)
            if at < 0:
                break
        if at - place < reach:
            kept.append(place)
    return kept


def before_mixed(text: str, places: Sequence[int], reach: int) -> Sequence[int]:
    """Return those places shortly behind which what `is_mixed` may stand: a digit, or a capital after a small letter.

    Args:
        text: The folded text.
        places: Rising ones.
        reach: How far behind a place counts.
    """
    first = places[0]
    part = text[first : places[-1] + reach]
    kinds = part.encode("latin-1", "replace").translate(_KINDS_OF_ASCII if part.isascii() else _KINDS)
    kept: list[int] = []
    never = len(kinds) + reach
    digit = turn = -1
    for place in places:
        at = place - first
        if digit < at:
            digit = _find(kinds, b"0", at, never)
        if digit - at >= reach:
            if turn < at:
                turn = _find(kinds, b"aA", at, never)
            if turn - at >= reach:
                continue
        kept.append(place)
    return kept


def _find(kinds: bytes, needle: bytes, start: int, never: int) -> int:
    place = kinds.find(needle, start)
    return never if place < 0 else place
