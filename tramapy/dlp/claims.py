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
    ordered = sorted(claims)
    if len(ordered) < 2:
        return ordered
    result: list[Claim] = []
    end = 0
    for claim in ordered:
        start, minus_end, _, _ = claim
        if not result or start >= end:
            result.append(claim)
            end = -minus_end
        elif -minus_end > end:
            result[-1] = result[-1]._replace(minus_end=minus_end)
            end = -minus_end
    return result
