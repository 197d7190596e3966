"""One text that stands in several native places: which of it goes where after a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

__all__ = ["split_like"]

# how much of the texts on both sides of a border must be the same, from certain to likely
_CONTEXTS: Final = (24, 12, 6, 3)

# how much of the text on one side, where the other side was changed up to the border
_ONE_SIDE: Final = 12


def split_like(texts: Sequence[str], whole: str, separator: str = "") -> list[str]:
    """Return `whole` in as many pieces as `texts`, which it was joined from before it was changed.

    A border between two texts is known again by what stands around it, so that a change stays in the text that
    it was made in. Where the border itself was changed, the texts on both sides become one, in the place of the
    first. Joined without a separator, the pieces are `whole`.

    Args:
        texts: At least one.
        whole: Their text as it is now.
        separator: What stood between them; it is a border, where there are as many as before.
    """
    if separator:
        return _separated(texts, whole, separator)
    pieces = [*texts]
    first, last, start, end = 0, len(texts), 0, len(whole)
    while first < last and whole.startswith(texts[first], start):
        start += len(texts[first])
        first += 1
    while first < last and whole.endswith(texts[last - 1], start, end):
        last -= 1
        end -= len(texts[last])
    if first == last:
        # what was put in between two texts stands behind the first
        place = max(first - 1, 0)
        pieces[place] = pieces[place] + whole[start:end] if first else whole[start:end] + pieces[place]
        return pieces
    pieces[first:last] = [""] * (last - first)
    for position in range(first + 1, last):
        border = _border(texts[position - 1], texts[position], whole, start, end)
        if border is not None:
            pieces[first] = whole[start:border]
            first, start = position, border
    pieces[first] = whole[start:end]
    return pieces


def _separated(texts: Sequence[str], whole: str, separator: str) -> list[str]:
    counts = [text.count(separator) + 1 for text in texts]
    if whole.count(separator) == sum(counts) - 1:
        between = iter(whole.split(separator))
        return [separator.join(islice(between, count)) for count in counts]
    *others, last = split_like([*(text + separator for text in texts[:-1]), texts[-1]], whole)
    return [*(piece.removesuffix(separator) for piece in others), last]


def _border(left: str, right: str, whole: str, start: int, end: int) -> int | None:
    """Return where the border between two texts is now; None where nothing around it tells."""
    for before, behind in _contexts(left, right):
        if whole.count(before + behind, start, end) == 1:
            return whole.index(before + behind, start, end) + len(before)
    return None


def _contexts(left: str, right: str) -> Iterator[tuple[str, str]]:
    if left and right:
        for length in _CONTEXTS:
            yield left[-length:], right[:length]
    if len(right) >= _ONE_SIDE:
        yield "", right[:_ONE_SIDE]
    if len(left) >= _ONE_SIDE:
        yield left[-_ONE_SIDE:], ""
