"""A changed text back into the places that it was joined from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy.clients.splitting import split_like

TEXTS = st.text("ab ", max_size=12)


@pytest.mark.parametrize(
    ("texts", "whole", "expected"),
    [
        (["ab", "cd"], "abcd", ["ab", "cd"]),
        (["4111 1111", " 1111 1111 is it"], "<CARD> is it", ["<CARD> is it", ""]),
        (["one", "two", "six"], "one<W>six", ["one", "<W>", "six"]),
        (["one", "two", "six"], "<W>", ["<W>", "", ""]),
        (["one", "six"], "one and six", ["one and ", "six"]),
        (["six"], "one six", ["one six"]),
        (["six", "is"], "six is it", ["six", " is it"]),
        (
            ["a@b.io says", "that nothing changes here", "c@d.io"],
            "<M> saysthat nothing changes here<M>",
            ["<M> says", "that nothing changes here", "<M>"],
        ),
        (
            ["that nothing changes here", "nor in this long one", "x"],
            "<<that nothing changes here>>nor in this long one",
            ["<<that nothing changes here>>", "nor in this long one", ""],
        ),
        (["one", "", "six"], "", ["", "", ""]),
        (["a@b.io", "that is between", "c@d.io"], "<M>that is between<M>", ["<M>", "that is between", "<M>"]),
        (
            ["here is a@b.io or", "this is it", "c@d.io"],
            "here is <M> orthis is <M>",
            ["here is <M> or", "this is <M>", ""],
        ),
        (["one@b.io", "two", "six", "@b"], "yy@b", ["yy", "", "", "@b"]),
    ],
)
def test_a_change_stays_where_it_was_made(texts: list[str], whole: str, expected: list[str]) -> None:
    assert split_like(texts, whole) == expected


@pytest.mark.parametrize(
    ("texts", "whole", "expected"),
    [
        (["a b", "c d", "e f"], "a b\n\nc [S]\n\ne f", ["a b", "c [S]", "e f"]),
        (["so and so", "c d e f g"], "so and [S]\n\nc d e f g", ["so and [S]", "c d e f g"]),
        (["long enough", "b\n\nc"], "other\n\nd\n\ne", ["other", "d\n\ne"]),
        (["long enough", "other text"], "long\n\nenough\n\nother", ["long\n\nenough", "other"]),
        (["a", "b"], "", ["", ""]),
    ],
)
def test_a_separator_is_a_border(texts: list[str], whole: str, expected: list[str]) -> None:
    assert split_like(texts, whole, "\n\n") == expected


@given(st.lists(TEXTS, min_size=1, max_size=6), st.text("ab ", max_size=40))
def test_the_pieces_are_the_whole(texts: list[str], whole: str) -> None:
    pieces = split_like(texts, whole)
    assert "".join(pieces) == whole
    assert len(pieces) == len(texts)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_an_unchanged_text_gives_the_same_pieces(texts: list[str]) -> None:
    assert split_like(texts, "".join(texts)) == texts
