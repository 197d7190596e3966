"""`holds_word`: the gate of rules that begin to look at words."""

from __future__ import annotations

import re

from tramapy.dlp.pack_rule import Gate, WithinGate
from tramapy.dlp.view import View

__all__ = ["holds_word", "words_here"]

# Most texts hold no word. The standard library skips to a single letter, or to a few: where they are rare, that tells
# of several words in the time of a search for one.
_GROUPS = (
    (re.compile(rb"k(?:e(?:y|nnwort)|(?<=tok)en|(?<=cook)ie)"), (b"key", b"token", b"cookie", b"kennwort")),
    (re.compile(rb"p(?:ass|w)"), (b"pass", b"pw", b"mot de passe")),
    (re.compile(rb"b(?:earer|asic)"), (b"bearer", b"basic")),
    (re.compile(rb"c(?:re(?:dential|(?<=secre)t)|ontrase)"), (b"credential", b"secret", b"contrase")),
)
_OTHERS = (b"auth", b"identified", b"senha", b"wachtwoord")


def words_here(view: View) -> list[bytes]:
    """Return which of all words stand somewhere, whatever their case."""
    lower = view.lower
    found = [word for word in _OTHERS if lower.find(word) >= 0]
    for group, listed in _GROUPS:
        if group.search(lower) is not None:
            found += [word for word in listed if lower.find(word) >= 0]
    return found


def _holds_any(view: View) -> bool:
    return bool(view.once(words_here))


def holds_word(*listed: str) -> Gate:
    """Search a view that holds one of some words that are looked for together."""
    encoded = frozenset(word.encode() for word in listed)
    return WithinGate(_holds_any, lambda view: not encoded.isdisjoint(view.once(words_here)))
