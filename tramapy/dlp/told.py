"""`Told`: what was logged of a text of which several sources may find the same."""

from __future__ import annotations

from collections import deque
from typing import Final

from tramapy.dlp.operators import Operators

__all__ = ["Told"]

# the sources find the same at about the same time
_MOST: Final = 64


class Told:
    """Logs each match of one text once.

    Args:
        operators: Log.
    """

    __slots__ = ("_operators", "_spans")

    def __init__(self, operators: Operators) -> None:
        self._operators = operators
        self._spans: deque[tuple[str, int, int]] = deque(maxlen=_MOST)

    def tell(self, rule_id: str, start: int, end: int) -> None:
        """Log a match, unless one of the same rule that overlaps it was logged just now."""
        is_told = any(
            rule_id == other_id and start < other_end and other_start < end
            for other_id, other_start, other_end in self._spans
        )
        if not is_told:
            self._operators.log(rule_id)
            self._spans.append((rule_id, start, end))
