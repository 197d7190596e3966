"""Settle what several rules found in one text: overlapping cuts become one, with one label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

__all__ = ["Claim", "Found", "united", "united_claims"]

Found: TypeAlias = tuple[int, int, bool, int]
"""A claim as searches find it, its fields in their order: to make a `Claim` costs as much as to find it."""


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


def united(claims: Iterable[Found]) -> list[Found]:
    """Unite claims that overlap; nothing that any of them covers is left out."""
    ordered = sorted(claims)
    end = 0
    for claim in ordered:
        if claim[0] < end:
            return _joined(ordered)
        end = -claim[1]
    return ordered


def united_claims(claims: Iterable[Claim]) -> list[Claim]:
    """Unite claims, and name the fields of what comes of it."""
    return list(map(Claim._make, united(claims)))


def _joined(ordered: Iterable[Found]) -> list[Found]:
    result: list[Found] = []
    end = 0
    for claim in ordered:
        start, minus_end, _, _ = claim
        if not result or start >= end:
            result.append(claim)
            end = -minus_end
        elif -minus_end > end:
            first, _, is_guess, rank = result[-1]
            result[-1] = (first, minus_end, is_guess, rank)
            end = -minus_end
    return result
