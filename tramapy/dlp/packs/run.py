"""`Run`: where the value that a place is in ends."""

from __future__ import annotations

import re

__all__ = ["Run"]

_ENDS = ".,!?:"
_LIVELY = re.compile(r"[^\W_a-z]")


class Run:
    """Where the value that was read last ends; read once for all names inside of it.

    Args:
        pattern: Matches characters of values.
        text: The folded text.
    """

    __slots__ = ("_pattern", "_text", "dull_end", "end", "kept_end")

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self.end: int = -1
        """Its end."""
        self.kept_end: int = -1
        """Its end without the marks that end a sentence."""
        self.dull_end: int = -1
        """The end of the last one that was found to hold neither a digit nor a capital: no part of it is a secret."""

    def reach(self, start: int) -> None:
        """Read the value that a place is in."""
        if start >= self.end:
            match = self._pattern.match(self._text, start)
            self.end = start if match is None else match.end()
            self.kept_end = start + len(self._text[start : self.end].rstrip(_ENDS))
            if _LIVELY.search(self._text, start, self.end) is None:
                self.dull_end = self.end
