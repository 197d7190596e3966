"""Several native texts shown as one, and a changed one taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

__all__ = ["divided"]

# how much is looked at on either side of a border, so that it is known again: less where a change is near
_BORDER_LENGTHS: Final = (12, 6, 3)

# how much must be the same where there is a change right at the other side
_SHORTEST_SIDE: Final = 6


def divided(texts: Sequence[str], separator: str, changed: str) -> list[str]:
    """Return what each of some texts is now, where their join with a separator was changed.

    A border is a separator, where there are as many as before; else it is known again by the characters around
    it. Where these were changed too, or stand in several places, the texts on both sides become one, in the place
    of the first.

    Args:
        texts: At least one.
        separator: What stood between them.
        changed: The join as it is now.
    """
    counts = [text.count(separator) + 1 for text in texts] if separator else []
    if separator and changed.count(separator) == sum(counts) - 1:
        between = iter(changed.split(separator))
        return [separator.join(islice(between, count)) for count in counts]
    pieces = [""] * len(texts)
    first = start = 0
    for position in range(1, len(texts)):
        end = _border(texts[position - 1], separator, texts[position], changed, start)
        if end is not None:
            pieces[first] = changed[start:end]
            first, start = position, end + len(separator)
    pieces[first] = changed[start:]
    return pieces


def _border(left: str, separator: str, right: str, changed: str, start: int) -> int | None:
    """Return where the text on the left ends; None where that is not clear."""
    marks = [(left[-length:], right[:length]) for length in _BORDER_LENGTHS]
    if len(right) >= _SHORTEST_SIDE:
        marks.append(("", right[: _BORDER_LENGTHS[0]]))
    if len(left) >= _SHORTEST_SIDE:
        marks.append((left[-_BORDER_LENGTHS[0] :], ""))
    for before, behind in marks:
        mark = before + separator + behind
        at = changed.find(mark, start)
        if at >= 0:
            is_clear = changed.find(mark, at + 1) < 0
            return at + len(before) if is_clear else None
    return None
