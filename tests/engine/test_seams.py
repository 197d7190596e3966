"""Seams of parts in a text that was inspected as one."""

from __future__ import annotations

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
