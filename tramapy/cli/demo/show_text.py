"""Text of a file or a model as a terminal may get it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["dotted", "printable"]

_DOT: Final = "\N{BULLET}"


def printable(text: str) -> str:
    """Return `text` without characters that would command a terminal or turn its direction."""
    return "".join(
        character if _is_harmless(character) else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def dotted(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with a dot for each character of a secret; the length stays the same."""
    for secret in secrets:
        text = text.replace(secret, _DOT * len(secret))
    return text


def _is_harmless(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf")
