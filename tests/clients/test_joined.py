"""A changed join of texts taken apart again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy.clients.joined import divided


@pytest.mark.parametrize(
    ("texts", "separator", "changed", "pieces"),
    [
        (["one"], "", "two", ["two"]),
        (
            ["first text here", "second text"],
            "",
            "first [S] heresecond text",
            ["first [S] here", "second text"],
        ),
        (
            ["first text here", "second text"],
            "",
            "first text heresecond [S]",
            ["first text here", "second [S]"],
        ),
        (["a b", "c d", "e f"], "\n\n", "a b\n\nc [S]\n\ne f", ["a b", "c [S]", "e f"]),
        (["so and so", "c d e f g"], "\n\n", "so and [S]\n\nc d e f g", ["so and [S]", "c d e f g"]),
        (["so and so", "c d e f g"], "\n\n", "so and so\n\n[S] d e f g", ["so and so", "[S] d e f g"]),
        (["one", "two"], "", "other", ["other", ""]),
        (["xyz", "abc", "q"], "", "xyzabcxyzabcq", ["xyzabcxyzabc", "", "q"]),
        (["a", "b"], "\n\n", "", ["", ""]),
        (["long enough", "other text"], "\n\n", "long\n\nenough\n\nother", ["long\n\nenough", "other"]),
        (["long enough", "b\n\nc"], "\n\n", "other\n\nd\n\ne", ["other", "d\n\ne"]),
        (["a secret", "warned"], "", "a [S]warned", ["a [S]", "warned"]),
        (["a secret", "warned"], "", "a secret[S]", ["a secret", "[S]"]),
    ],
)
def test_a_change_stays_where_it_was_made(
    texts: list[str], separator: str, changed: str, pieces: list[str]
) -> None:
    assert divided(texts, separator, changed) == pieces


WORDS = st.text("ab-", min_size=1, max_size=20)


@given(texts=st.lists(WORDS, min_size=1, max_size=5), changed=st.text("ab-", max_size=60))
def test_nothing_is_lost(texts: list[str], changed: str) -> None:
    pieces = divided(texts, "", changed)
    assert "".join(pieces) == changed
    assert len(pieces) == len(texts)


@given(texts=st.lists(st.text("abcdefgh", min_size=4, max_size=20), min_size=1, max_size=5, unique=True))
def test_what_did_not_change_is_the_same(texts: list[str]) -> None:
    assert "\n\n".join(divided(texts, "\n\n", "\n\n".join(texts))).rstrip("\n") == "\n\n".join(texts)
