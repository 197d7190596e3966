"""`holds_word`: the gate of rules that begin to look at words."""

from __future__ import annotations

from tramapy.dlp.pack_rule import Gate, WithinGate
from tramapy.dlp.view import View

__all__ = ["holds_word"]

_WORDS = (
    b"secret",
    b"token",
    b"key",
    b"credential",
    b"pass",
    b"pwd",
    b"bearer",
    b"auth",
    b"basic",
    b"cookie",
    b"identified",
)


def _words_here(view: View) -> list[bytes]:
    """Return which of all words stand somewhere, whatever their case; looked for from behind, as in `View`."""
    places = list(map(view.lower.rfind, _WORDS))
    if max(places) < 0:  # as in most texts
        return []
    return [word for word, place in zip(_WORDS, places, strict=True) if place >= 0]


def _holds_any(view: View) -> bool:
    return bool(view.once(_words_here))


def holds_word(*listed: str) -> Gate:
    """Search a view that holds one of some words of `_WORDS`."""
    encoded = frozenset(word.encode() for word in listed)
    return WithinGate(_holds_any, lambda view: not encoded.isdisjoint(view.once(_words_here)))
