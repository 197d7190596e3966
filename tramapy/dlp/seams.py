"""`Seams`: where the parts of a text meet, in what is released of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

__all__ = ["Seams"]


class _Cut(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


CutT = TypeVar("CutT", bound=_Cut)


class Seams:
    """The seams of one text; one inside of a cut goes with it."""

    __slots__ = ("_places", "_released")

    def __init__(self) -> None:
        self._places: deque[int] = deque()
        """In the text, of what is not released."""
        self._released: list[int] = []
        """In what was released last."""

    def add(self, place: int) -> None:
        """Mark a place of the text, behind all others."""
        self._places.append(place)

    def take(self) -> list[int]:
        """Return the places of the seams in what was released since the last time."""
        released, self._released = self._released, []
        return released

    def put(
        self,
        text: str,
        cuts: Sequence[CutT],
        start: int,
        put: Callable[[str, Sequence[CutT], int], str],
    ) -> str:
        """Return a piece of the text with replacements, and note where its seams went.

        Args:
            text: The piece; the pieces follow one another.
            cuts: Those inside of it, in order, as places in the whole text.
            start: Where the piece begins in the whole text.
            put: Puts the replacements into a part of the piece, from one seam to the next.
        """
        self._released = []
        places = self._places
        pieces: list[str] = []
        length = done = 0
        while places and places[0] - start <= len(text):
            place = places.popleft()
            inside = [cut for cut in cuts if cut.start < place]
            if inside and inside[-1].end > place:
                continue
            pieces.append(put(text[done : place - start], inside, start + done))
            length += len(pieces[-1])
            self._released.append(length)
            cuts = cuts[len(inside) :]
            done = place - start
        pieces.append(put(text[done:], cuts, start + done))
        return "".join(pieces)
