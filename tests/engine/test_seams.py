"""Seams of parts in a text that was inspected as one."""

from __future__ import annotations

from typing import Any

import pytest

from tramapy.engine.seams import split_at_seams


@pytest.mark.parametrize(
    ("parts", "changed", "pieces"),
    [
        (
            ["x 123-45-", "6789 then", "my key is K", "What", "5-67"],
            "x [S] thenmy key is KWhat5-67",
            ["x [S] then", "my key is K", "What", "5-67"],
        ),
        (
            ["see 123-4", "5-6789 ok", "my key is 123-45-6789", "my"],
            "see [S] okmy key is 123-45-6789my",
            ["see [S] ok", "my key is 123-45-6789", "my"],
        ),
        ([*"123-45-6789", " and", "more"], "[S] andmore", ["[S] and", "more"]),
        (["S a-", f"-b{' a--b' * 5}"], f"[S] a--b{' a--b' * 5}", ["[S] a-", f"-b{' a--b' * 5}"]),
        (["one", "two"], "[S]", ["[S]"]),
        (["one ", "S"], "one [S]", ["one ", "[S]"]),
        (["one S", "two", "three"], "one [S]twothree", ["one [S]two", "three"]),
    ],
    ids=[
        "behind",
        "twice",
        "over many parts",
        "in many places",
        "all gone",
        "unchanged at first",
        "one side gone",
    ],
)
def test_a_changed_text_is_split_where_its_parts_were(
    parts: list[str], changed: str, pieces: list[str]
) -> None:
    assert split_at_seams(changed, parts) == pieces


class Searched(str):
    """Counts the characters that are searched and cut out."""

    __slots__ = ("searched",)

    def find(self, *arguments: Any) -> int:
        _, start, end = arguments
        place = super().find(*arguments)
        self.searched += (min(end, len(self)) if place < 0 else place) - start
        return place

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        self.searched += len(part)
        return part


def _searched(seams: int) -> int:
    """Count what is read for parts whose seams are all in something replaced, but for the last."""
    parts = [*(["more 123-", "45-6789"] * seams), " was said", "my key"]
    changed = Searched("more [REDACTED:ssn]" * seams + " was saidmy key")
    changed.searched = 0
    pieces = split_at_seams(changed, parts)
    assert (len(pieces), pieces[-1]) == (2, "my key")
    return changed.searched


def test_seams_that_are_gone_take_linear_time() -> None:
    assert _searched(2_000) <= 2.3 * _searched(1_000)
