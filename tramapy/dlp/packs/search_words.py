"""`holds_word`: the gate of rules that begin to look at words."""

from __future__ import annotations

import re

from tramapy.dlp.pack_rule import Gate, WithinGate
from tramapy.dlp.view import View

__all__ = ["holds_word"]

_WORDS = (
    b"secret",
    b"token",
    b"key",
    b"credential",
    b"pass",
    b"pw",
    b"bearer",
    b"auth",
    b"basic",
    b"cookie",
    b"identified",
)


# Most texts hold no word. The standard library skips to a single letter: where it is rare, that tells of several words
# in two thirds of the time of a search for each. These are looked for from behind, as in `View`.
_WITH_K = re.compile(rb"k(?:ey|(?<=tok)en|(?<=cook)ie)")
_WITH_P = re.compile(rb"p(?:ass|w)")
_WITH_B = re.compile(rb"b(?:earer|asic)")
_OTHERS = (b"secret", b"credential", b"auth", b"identified")


def _words_here(view: View) -> list[bytes]:
    """Return which of all words stand somewhere, whatever their case."""
    lower = view.lower
    if (
        _WITH_K.search(lower) is None
        and _WITH_P.search(lower) is None
        and _WITH_B.search(lower) is None
        and max(map(lower.rfind, _OTHERS)) < 0
    ):
        return []
    return [word for word in _WORDS if lower.rfind(word) >= 0]


def _holds_any(view: View) -> bool:
    return bool(view.once(_words_here))


def holds_word(*listed: str) -> Gate:
    """Search a view that holds one of some words of `_WORDS`."""
    encoded = frozenset(word.encode() for word in listed)
    return WithinGate(_holds_any, lambda view: not encoded.isdisjoint(view.once(_words_here)))
