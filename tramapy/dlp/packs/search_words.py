"""`holds_word`: the gate of rules that begin to look at words."""

from __future__ import annotations

import re

from tramapy.dlp.pack_rule import StartGate
from tramapy.dlp.view import View

__all__ = ["holds_word", "words_here"]

# Most texts hold no word. The standard library skips to a single letter, or to a few: where they are rare, that tells
# of several words in the time of a search for one.
_keys, _passwords, _bearers, _credentials = (
    re.compile(pattern).findall
    for pattern in (
        rb"k(?:e(?:y|nnwort)|(?<=tok)en|(?<=cook)ie|lucz(?= api|.{3} api))",
        rb"p(?:ass(?:(?<=mot de pass)e)?|w)",
        rb"b(?:earer|asic)",
        rb"c(?:re(?:dential|(?<=secre)t)|ontrase|(?:lave|have|hiave)(?= api|.{3} api))",
    )
)
_OF_MATCH = {
    b"key": (b"key",),
    b"kennwort": (b"kennwort",),
    b"ken": (b"token",),
    b"kie": (b"cookie",),
    b"pass": (b"pass",),
    b"passe": (b"pass", b"mot de passe"),
    b"pw": (b"pw",),
    b"bearer": (b"bearer",),
    b"basic": (b"basic",),
    b"credential": (b"credential",),
    b"cret": (b"secret",),
    **{word: (word,) for word in (b"contrase", b"clave", b"chave", b"chiave", b"klucz")},
}
"""Which words a match of a group tells of."""


def words_here(view: View) -> list[bytes]:
    """Return which of all words stand somewhere, whatever their case."""
    lower = view.lower
    find = lower.rfind  # half the time of `find`
    found: list[bytes] = []
    if find(b"auth") >= 0:
        found.append(b"auth")
    if find(b"identified") >= 0:
        found.append(b"identified")
    if find(b"senha") >= 0:
        found.append(b"senha")
    if find(b"wachtwoord") >= 0:
        found.append(b"wachtwoord")
    matches = _keys(lower) + _passwords(lower) + _bearers(lower) + _credentials(lower)
    if matches:
        for match in set(matches):
            found += _OF_MATCH[match]
    return found


def _words_of(view: View) -> list[bytes]:
    return view.once(words_here)


def holds_word(*listed: str) -> StartGate:
    """Search a view that holds one of some words that are looked for together."""
    return StartGate(_words_of, frozenset(word.encode() for word in listed))
