"""The words that the rules of packs are gated by."""

from __future__ import annotations

import pytest

from tramapy.dlp.packs.search_words import words_here
from tramapy.dlp.view import View

WORDS = {
    "key": [b"key"],
    "token": [b"token"],
    "cookie": [b"cookie"],
    "kennwort": [b"kennwort"],
    "pass": [b"pass"],
    "passed": [b"pass"],
    "pw": [b"pw"],
    "mot de passe": [b"mot de passe", b"pass"],
    "bearer": [b"bearer"],
    "basic": [b"basic"],
    "credential": [b"credential"],
    "secret": [b"secret"],
    "contrase\u00f1a": [b"contrase"],
    "auth": [b"auth"],
    "identified": [b"identified"],
    "senha": [b"senha"],
    "wachtwoord": [b"wachtwoord"],
    "keys and tokens, Key": [b"key", b"token"],
    "kilo pens, ken, kie, cret, created": [],
}


@pytest.mark.parametrize(("text", "words"), WORDS.items(), ids=WORDS)
def test_each_word_is_told_alone_and_in_a_text(text: str, words: list[bytes]) -> None:
    for whole in (text, text.upper(), f"so the story goes {text} on"):
        assert sorted(set(words_here(View(whole, 0, len(whole))))) == words
