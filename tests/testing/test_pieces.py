"""Splits: joined, the pieces are the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.testing import split_every, split_words


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("one two", ["one ", "two"]),
        (" one\n two ", [" ", "one\n ", "two "]),
        ("", []),
        ("  ", ["  "]),
    ],
    ids=["words", "blanks-around", "empty", "blank"],
)
def test_words_keep_the_blanks_behind_them(text: str, pieces: list[str]) -> None:
    assert list(split_words(text)) == pieces


def test_fixed_length_leaves_the_rest_for_last() -> None:
    assert list(split_every(2)("abcde")) == ["ab", "cd", "e"]


def test_length_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="character_count is 0"):
        split_every(0)


@given(text=st.text(max_size=50), character_count=st.integers(1, 7))
@settings(max_examples=200)
def test_pieces_joined_are_the_text(text: str, character_count: int) -> None:
    assert "".join(split_words(text)) == text
    assert "".join(split_every(character_count)(text)) == text
