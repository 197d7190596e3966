"""Where the seams of parts still are, in what an inspection of all of them as one text has left."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from operator import itemgetter
from typing import Final, NamedTuple

__all__ = ["split_at_seams"]

# by so many characters on both sides a seam is found again: by few where something was replaced beside it
_AROUND: Final = (8, 4, 2)

# the more of what stands around it is the same, the surer it is the seam: looked at for so many characters
_LOOKED_AT: Final = 64

# what is the same says more than where it is, which labels move: measured on 4,000 random runs
_WEIGHT: Final = 4

# a text that is found in several places: so many of them are looked at
_PLACES: Final = 4

# a token may lie across several seams; of so many the surest is looked for
_AHEAD: Final = 8

# how much longer a text may be after an inspection: by a label for each of the shortest secrets
_GROWTH: Final = 4
_LEAST_GROWTH: Final = 256


def split_at_seams(changed: str, parts: Sequence[str]) -> list[str]:
    """Split an inspected text where the seams of its parts still are; one at which something was replaced is gone.

    Args:
        changed: The text after the inspection.
        parts: What was joined, and inspected; none of them is empty.
    """
    cuts = [0, *_Inspected(changed, parts).seams(), len(changed)]
    return [changed[start:end] for start, end in pairwise(cuts)]


class _Seam(NamedTuple):
    """A seam that was found again.

    Args:
        sureness: Of how many characters around it are the same, and by how many it has moved.
        number: Which seam it is.
        place: Where it is in the inspected text.
    """

    sureness: int
    number: int
    place: int


class _Span(NamedTuple):
    """What is searched of the inspected text.

    Args:
        start: From there.
        end: Up to there.
        from_end: What `start` is in the text before.
    """

    start: int
    end: int
    from_end: int


class _Index:
    """Where some short texts are in the inspected text, read once for each of their few lengths.

    Where many seams in a row are gone, what is searched for the next ones grows, and reading it for each would take
    quadratic time.

    Args:
        text: The inspected text.
        start: From there.
        wanted: What is asked for.
    """

    def __init__(self, text: str, start: int, wanted: Iterable[str]) -> None:
        self._text = text
        self._start = start
        self._wanted: dict[int, list[str]] = defaultdict(list)
        for found in wanted:
            self._wanted[len(found)].append(found)
        self._places: dict[int, dict[str, array[int]]] = {}

    def places(self, wanted: str, span: _Span) -> list[int]:
        """Return the first few places of what is wanted in a span."""
        length = len(wanted)
        if length not in self._places:
            self._places[length] = self._read(length)
        places = self._places[length][wanted]
        first = bisect_left(places, span.start)
        return [place for place in places[first : first + _PLACES] if place + length <= span.end]

    def _read(self, length: int) -> dict[str, array[int]]:
        found = {wanted: array("q") for wanted in self._wanted[length]}
        for place in range(self._start, len(self._text) - length + 1):
            places = found.get(self._text[place : place + length])
            if places is not None:
                places.append(place)
        return found


_SURENESS: Final = itemgetter(0)


class _Inspected:
    def __init__(self, changed: str, parts: Sequence[str]) -> None:
        self._changed = changed
        self._parts = parts
        self._text = "".join(parts)
        # the last is the end of the text, and no seam
        self._ends = list(accumulate(map(len, parts)))
        self._index: _Index | None = None

    def seams(self) -> list[int]:
        """Return the places of the seams that are left, in order."""
        found: list[int] = []
        start = from_end = number = 0
        count = len(self._parts) - 1
        while number < count:
            part = self._parts[number]
            if from_end == self._ends[number] - len(part) and self._changed.startswith(part, start):
                found.append(start + len(part))
                ahead = number + 1
            else:
                ahead = min(number + _AHEAD, count)
                most = (self._ends[ahead] - from_end) * _GROWTH + _LEAST_GROWTH
                seams = self._between(range(number, ahead), _Span(start, start + most, from_end))
                if not seams:
                    number = ahead
                    self._index = self._index or self._indexed(number, start)
                    continue
                found.extend(seam.place for seam in seams)
                ahead = seams[-1].number + 1
            start, from_end, number = found[-1], self._ends[ahead - 1], ahead
        return found

    def _between(self, numbers: range, span: _Span) -> list[_Seam]:
        """Return those of some seams that are found in a span: the surest one, and others beside it."""
        seen = [seam for number in numbers for seam in self._places_of(number, span)]
        if not seen:
            return []
        surest = max(seen, key=_SURENESS)
        before = span._replace(end=surest.place)
        behind = _Span(surest.place, span.end, self._ends[surest.number])
        return [
            *self._between(range(numbers.start, surest.number), before),
            surest,
            *self._between(range(surest.number + 1, numbers.stop), behind),
        ]

    def _places_of(self, number: int, span: _Span) -> list[_Seam]:
        for before, after in self._surroundings(number):
            seams: list[_Seam] = []
            for place in self._places(before + after, span):
                seam = place + len(before)
                shift = (seam - span.start) - (self._ends[number] - span.from_end)
                sureness = _WEIGHT * self._sameness(self._ends[number], seam) - abs(shift)
                seams.append(_Seam(sureness, number, seam))
            if seams:
                return seams
        return []

    def _surroundings(self, number: int) -> Iterator[tuple[str, str]]:
        left, right = self._parts[number], self._parts[number + 1]
        return ((left[-count:], right[:count]) for count in _AROUND)

    def _places(self, wanted: str, span: _Span) -> list[int]:
        if self._index is not None:
            return self._index.places(wanted, span)
        places: list[int] = []
        place = self._changed.find(wanted, span.start, span.end)
        while place >= 0 and len(places) < _PLACES:
            places.append(place)
            place = self._changed.find(wanted, place + 1, span.end)
        return places

    def _indexed(self, number: int, start: int) -> _Index:
        seams = range(number, len(self._parts) - 1)
        wanted = {before + after for seam in seams for before, after in self._surroundings(seam)}
        return _Index(self._changed, start, wanted)

    def _sameness(self, at: int, place: int) -> int:
        before = zip(
            reversed(self._text[max(at - _LOOKED_AT, 0) : at]),
            reversed(self._changed[max(place - _LOOKED_AT, 0) : place]),
            strict=False,
        )
        after = zip(self._text[at : at + _LOOKED_AT], self._changed[place : place + _LOOKED_AT], strict=False)
        return _same(before) + _same(after)


def _same(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
