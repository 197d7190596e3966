"""`Run`: where the value that a place is in ends."""

from __future__ import annotations

import re

__all__ = ["Run", "end_with_marks"]

_ENDS = ".,!?:"
_MOST_LAST_MARKS = 4
"""How many `!` behind a value go with it: passwords end so, though it does not count for one."""
_LIVELY = re.compile(r"[^\W_a-z]")


class Run:
    """Where the value that was read last ends; read once for all names inside of it.

    Args:
        pattern: Matches characters of values.
        text: The folded text.
        most: How many characters that are at most; None where there is no such number.
        ahead: Of a value that was read in part, so many characters behind a place are known.
        tells_dull: Whether `dull_end` is asked for.
    """

    __slots__ = (
        "_ahead",
        "_most",
        "_pattern",
        "_tells_dull",
        "_text",
        "_whole_end",
        "dull_end",
        "end",
        "kept_end",
        "marked",
    )

    def __init__(
        self,
        pattern: re.Pattern[str],
        text: str,
        most: int | None = None,
        ahead: int = 0,
        *,
        tells_dull: bool = False,
    ) -> None:
        self._tells_dull = tells_dull
        self._pattern = pattern
        self._text = text
        self._most = most
        self._ahead = ahead
        self._whole_end = -1
        self.end: int = -1
        """Its end."""
        self.kept_end: int = -1
        """Its end without the marks that end a sentence."""
        self.dull_end: int = -1
        """The end of the last one of which no part is a secret: it holds neither a digit nor a capital, for one."""
        self.marked: Run | None = None
        """The same value with marks that this one ends at, where somebody asked for it."""

    def reach(self, start: int) -> None:
        """Read the value that a place is in."""
        if start < self._whole_end:
            return
        text, end = self._text, start
        self.kept_end = start
        while True:
            match = self._pattern.match(text, end)
            before, end = end, end if match is None else match.end()
            kept = text[before:end].rstrip(_ENDS)
            if kept:
                self.kept_end = before + len(kept)
            is_part = end - before == self._most
            self._whole_end = self.kept_end - self._ahead if is_part else end
            if not is_part or self._whole_end > start:
                break  # else it goes on with marks that may, or may not, end a sentence
        self.end = end
        if self._tells_dull and _LIVELY.search(text, start, end) is None:
            self.dull_end = end


def end_with_marks(text: str, end: int) -> int:
    """Return the end of a value that ends at a place, with the `!` behind it."""
    marks = text[end : end + _MOST_LAST_MARKS]
    return end + len(marks) - len(marks.lstrip("!"))
