"""Places are left out where there are many, and none of those that count."""

from __future__ import annotations

import re
from typing import SupportsIndex

import pytest

from tramapy.dlp.packs.many_places import before, before_mixed
from tramapy.dlp.packs.run import Run


def test_a_place_stays_where_the_literal_stands_near_behind_it():
    text = "ab" + "." * 10 + "ab.@" + "ab" * 3
    assert before("@", text, [0, 12, 16, 18], 8) == [12]


def test_the_places_before_the_last_literal_are_looked_at():
    assert before("@", "a@a@", [0, 2], 4) == [0, 2]


@pytest.mark.parametrize(
    "mixed",
    ["1", "aB", "\u00e9B", "a\u00c9", "\u0661"],
    ids=["digit", "turn", "small", "capital", "other digit"],
)
def test_a_place_stays_where_letters_are_mixed_behind_it(mixed):
    text = "key " + mixed + " " * 40 + "key KEY key"
    assert before_mixed(text, [0, 46], 20) == [0]


def test_a_question_mark_is_no_digit_in_plain_text():
    assert before_mixed("key? key?", [0, 5], 20) == []


def test_a_value_is_read_in_part_where_it_is_long():
    run = Run(re.compile("[a-z.]{0,8}"), "a" * 7 + "." * 20 + "b c", 8, 4)
    run.reach(0)
    assert (run.end, run.kept_end) == (8, 7)
    run.reach(3)
    assert (run.end, run.kept_end) == (28, 28)


class _Counted(str):
    """A text that counts how much of it is copied."""

    __slots__ = ("copied",)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = super().__getitem__(key)
        self.copied = getattr(self, "copied", 0) + len(part)
        return part


def test_marks_that_go_on_and_on_are_read_once() -> None:
    text = _Counted("x" + "!" * 10_000 + " ")
    run = Run(re.compile("[x!]{0,64}"), text, 64, 8)
    run.reach(0)
    assert (run.end, run.kept_end) == (10_001, 1)
    assert text.copied < 1.1 * len(text)
