"""How scripted text falls into pieces when it is streamed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

__all__ = ["Split", "split_every", "split_words"]

Split: TypeAlias = Callable[[str], Iterable[str]]
"""Cuts text into pieces that joined are the text."""


def split_words(text: str) -> Sequence[str]:
    """Cut after each run of blanks, so that every piece is a word and what follows it."""
    return re.findall(r"\S+\s*|\s+", text)


def split_every(character_count: int) -> Split:
    """Make a split into pieces of a fixed length; 1 gives single characters.

    Raises:
        ValueError: `character_count` is below 1.
    """
    if character_count < 1:
        raise ValueError(f"character_count is {character_count}; it takes at least 1")
    return lambda text: [
        text[start : start + character_count] for start in range(0, len(text), character_count)
    ]
