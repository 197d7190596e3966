"""Settle what several rules found in one text: overlapping cuts become one, with one label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Claim", "united"]


class Claim(NamedTuple):
    """What one rule wants to cut; sorted, the first of some that overlap gives the label.

    Smallest start first, then the longest, then one that a form or checksum makes certain, then by the order of
    the rules.
    """

    start: int
    minus_end: int
    is_guess: bool
    rank: int

    @property
    def end(self) -> int:
        """The place behind the cut."""
        return -self.minus_end


def united(claims: Iterable[Claim]) -> list[Claim]:
    """Unite claims that overlap; nothing that any of them covers is left out."""
    result: list[Claim] = []
    for claim in sorted(claims):
        if result and claim.start < result[-1].end:
            if claim.end > result[-1].end:
                result[-1] = result[-1]._replace(minus_end=claim.minus_end)
        else:
            result.append(claim)
    return result
