"""Folding: what a reader sees, with a map back, in any number of pieces."""

from __future__ import annotations

import random
import unicodedata

import pytest

from tests.dlp.contexts import split_at
from tramapy.dlp.folded import LONGEST_INVISIBLE, Folded
from tramapy.dlp.folding import PLAIN, FoldedPieces, fold

PARTS = (
    *("\\", "\\", "u", "0", "4", "d8", "3", "5", "\\ud835", "\\udfce", "%", "40", "2"),
    *("n", '"', "a", "@", "\u200b", "\uff11", "\u2014", "\u0301", "\U0001f600", "\u0661", "\ud800"),
)


def places(folded: Folded) -> list[tuple[str, int, int]]:
    return [(character, *folded.original(i, i + 1)) for i, character in enumerate(folded.text)]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("plain text", "plain text"),
        ("\uff14\uff11\uff11\uff11", "4111"),
        ("\u0661\u0662\u06f3", "123"),
        ("\U0001d7d7", "9"),
        ("123\u201345\u20116789", "123-45-6789"),
        ("4\u00a0111\u3000x", "4 111 x"),
        ("vic\u200btim\ufeff@", "victim@"),
        ("soft\u00adhyphen", "softhyphen"),
        (r"carol\u0040x", "carol@x"),
        (r"carol\\u0040x", "carol@x"),
        (r"a\nb\tc\rd", "a\nb\tc\rd"),
        (r"\"key\": \/", '"key": /'),
        (r"\u200b1\uff12", "12"),
        (r"\ud835\udfd7!", "9!"),
        (r"\ud835x", "\ud835x"),
        ("a%40b %2B1 100%", "a@b +1 100%"),
        (r"C:\path\dir", r"C:\path\dir"),
        ("Cafe\u0301", "Cafe\u0301"),
        ("\uff20\ufe6b", "@@"),
        ("\x1b[01;31m\x1b[Kann\x1b[m\x1b[K", "ann"),
        ("%22a%22\U0001d173\U0001bca0", '"a"'),
    ],
)
def test_a_text_folds_to_what_is_seen(text: str, folded: str) -> None:
    assert fold(text).text == folded


def test_every_decimal_digit_of_unicode_is_folded() -> None:
    digits = [chr(code) for code in range(0x80, 0x110000) if unicodedata.category(chr(code)) == "Nd"]
    assert [d for d in digits if PLAIN.get(d) != str(unicodedata.decimal(d))] == []


def test_every_dash_and_blank_of_unicode_is_folded() -> None:
    kinds = {"Pd": "-", "Zs": " "}
    for code in range(0x80, 0x110000):
        kind = unicodedata.category(chr(code))
        if kind in kinds:
            assert PLAIN.get(chr(code)) == kinds[kind], hex(code)


def test_a_place_maps_back_over_all_that_was_dropped() -> None:
    folded = fold("x 4\u200b1\u200b1\\u0031 y")
    start = folded.text.index("4111")
    assert folded.original(start, start + 4) == (2, 13)


@pytest.mark.unmeasured
def test_random_pieces_fold_to_the_whole() -> None:
    source = random.Random(5)
    for _ in range(20_000):
        text = "".join(source.choice(PARTS) for _ in range(source.randrange(12)))
        cuts = [source.randrange(len(text) + 1) for _ in range(source.randrange(4))]
        pieces = FoldedPieces()
        found: list[tuple[str, int, int]] = []
        read = 0
        for original, folded in [*(pieces.feed(part) for part in split_at(text, cuts)), pieces.finish()]:
            found += [(character, first + read, last + read) for character, first, last in places(folded)]
            read += len(original)
        assert read == len(text)
        assert found == places(fold(text))


_NEAR_THE_LONGEST = [
    *(0, 1, LONGEST_INVISIBLE - 1, LONGEST_INVISIBLE, LONGEST_INVISIBLE + 1, LONGEST_INVISIBLE + 5),
    *(2 * LONGEST_INVISIBLE, 2 * LONGEST_INVISIBLE + 13, 3 * LONGEST_INVISIBLE),
]


@pytest.mark.parametrize("invisible", ["\u200b", "\\u200b"], ids=["plain", "escaped"])
@pytest.mark.parametrize("length", _NEAR_THE_LONGEST)
def test_much_that_is_invisible_ends_what_stands_before(length: int, invisible: str) -> None:
    between = (invisible * length)[: length // len(invisible) * len(invisible)]
    folded = fold(f"a{between}b")
    ends = sum(min(12, len(between) - at) for at in range(LONGEST_INVISIBLE, len(between), LONGEST_INVISIBLE))
    assert folded.text == "a" + ("\n\x01" * 6 + "\n\x01" * 6 + "\n\x01" * 6)[:ends] + "b"
    if ends:
        assert folded.original(1, 2) == (1 + LONGEST_INVISIBLE, 2 + LONGEST_INVISIBLE)


@pytest.mark.parametrize("seed", range(10))
def test_much_that_is_invisible_folds_in_pieces_to_what_the_whole_does(seed: int) -> None:
    source = random.Random(seed)
    text = ""
    for _ in range(3):
        count = source.choice(_NEAR_THE_LONGEST) // source.choice((1, 2, 6))
        text += (
            source.choice(("a", "x9", "\\u0041", "\n", ""))
            + source.choice(("\u200b", "\\u200b", "\u00ad\u200b")) * count
        )
    text += source.choice(("", "b"))
    cuts = [source.randrange(len(text) + 1) for _ in range(8)]
    pieces = FoldedPieces()
    found: list[tuple[str, int, int]] = []
    read = 0
    for original, folded in [*(pieces.feed(part) for part in split_at(text, cuts)), pieces.finish()]:
        found += [(character, first + read, last + read) for character, first, last in places(folded)]
        read += len(original)
    assert found == places(fold(text))
