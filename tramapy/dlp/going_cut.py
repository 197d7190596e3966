"""`GoingCut`: a cut of a stream that goes on while its head is out already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from tramapy.dlp.claims import Claim
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.splicing import CONTINUES

__all__ = ["NEAR", "Body", "GoingCut", "bodies_of"]

NEAR = 128
"""A match without a longest length that ends so near to the end of what is read may go on."""
_TAIL = 3 * NEAR
"""How much of it is read again, to see where it ends."""


class Body(NamedTuple):
    """A match without a longest length that is under way.

    Args:
        rank: Its rule.
        is_guess: As in its claim.
        is_first: Whether it begins where the cut does, so that the cut may have its name.
        pattern: How it goes on.
    """

    rank: int
    is_guess: bool
    is_first: bool
    pattern: re.Pattern[str]


class GoingCut:
    """What is known of the cut that the undecided text begins in; of none, where it begins in none.

    Attributes:
        end: Up to where it goes at least, as a place in the undecided text.
        bodies: What it is made of that may go on behind that.
    """

    __slots__ = ("_rank", "_read_end", "bodies", "end")

    def __init__(self) -> None:
        self.end: int = 0
        self.bodies: Sequence[Body] = ()
        self._rank: int | None = CONTINUES
        """What gives the cut its name; None while several rules may, and what continues it once the name is out."""
        self._read_end = 0
        """Where the bodies are known to go on."""

    def claims(self, length: int) -> list[Claim]:
        """Return what is cut for certain of so much undecided text."""
        end = length if self.bodies else self.end
        return [Claim(0, -end, False, CONTINUES)] if end else []

    def begin(self, rank: int, bodies: Sequence[Body]) -> None:
        """Begin with a cut that none goes over into; what goes on in the same way ends alike, and needs no waiting."""
        ways = {body.pattern for body in bodies if body.is_first}
        self._rank = rank if len(ways) <= 1 else None
        self.bodies = bodies

    def add(self, bodies: Iterable[Body]) -> None:
        """Go on with more bodies, where they do so in another way."""
        known = {body.pattern for body in self.bodies}
        self.bodies = [*self.bodies, *(body for body in bodies if body.pattern not in known)]

    def take_rank(self) -> int:
        """Return the rule that gives the cut its name, once and as soon as that is known."""
        if self._rank is None:
            return CONTINUES
        rank, self._rank = self._rank, CONTINUES
        return rank

    def drop_rank(self) -> None:
        """Let the cut have no name: it has one already, or needs none."""
        self._rank = CONTINUES

    def move(self, count: int) -> None:
        """Be done with so many characters."""
        self.end = max(self.end - count, 0)
        self._read_end = max(self._read_end - count, 0)

    def read(self, left: str, text: str, *, is_end: bool) -> None:
        """See how far it goes.

        Args:
            left: What stands before the undecided text.
            text: The undecided text.
            is_end: Whether nothing follows.
        """
        whole, skipped = left + text, len(left)
        stops: list[int] = []
        for body in self.bodies:
            match = body.pattern.match(whole, skipped + self._read_end)
            stops.append(1 if match is None else match.end() - skipped)
        alive = [
            body
            for body, stop in zip(self.bodies, stops, strict=True)
            if not is_end and stop + NEAR > len(text)
        ]
        if self._rank is None and sum(body.is_first for body in alive) <= 1:
            first = [
                (body not in alive, -stop, body.is_guess, body.rank)
                for body, stop in zip(self.bodies, stops, strict=True)
                if body.is_first
            ]
            self._rank = min(first)[-1]
        ended = [stop for body, stop in zip(self.bodies, stops, strict=True) if body not in alive]
        self.end = max(self.end, *ended) if ended else self.end
        self.bodies = alive
        self._read_end = max(len(text) - _TAIL, 0)


def bodies_of(
    cut: Claim, claims: Collection[Claim], rules: Sequence[PackRule], text: str, skipped: int
) -> list[Body] | None:
    """Return how some claims of a cut go on, that reach the end of a text; None where one cannot.

    Args:
        cut: The cut.
        claims: The claims.
        rules: A claim names its rule by its place.
        text: The undecided text, with what stands before it.
        skipped: How much that is.
    """
    bodies = [
        Body(claim.rank, claim.is_guess, claim.start == cut.start, pattern)
        for claim in claims
        for pattern in rules[claim.rank].bodies_of(text, skipped + claim.start)
    ]
    return bodies if len(bodies) == len(claims) else None
