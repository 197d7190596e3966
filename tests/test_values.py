"""How messages show a wrong value: its type, or a number, and never words that came with it."""

from __future__ import annotations

import math
from collections import OrderedDict

import pytest

from tramapy.values import described, shown


class Unit:
    def __repr__(self) -> str:
        return "canary"


class Talkative(int):
    def __repr__(self) -> str:
        return "canary"

    __str__ = __repr__


class Chatty(float):
    def __repr__(self) -> str:
        return "canary"

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("canary", "of type str"),
        (5, "of type int"),
        (OrderedDict(), "of type OrderedDict"),
        (Unit(), "of type Unit"),
        (Unit, "the class Unit, and no instance"),
        (print, "a bare function"),
        ([].append, "a bare function"),
        (None, "of type NoneType"),
    ],
)
def test_a_value_is_described_without_an_article_to_choose(value: object, words: str) -> None:
    assert described(value) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (-3, "-3"),
        (2**128 - 1, "340282366920938463463374607431768211455"),
        (2**128, "an int of 129 bits"),
        (-(10**5000), "an int of 16610 bits"),
        (0.5, "0.5"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        (True, "1"),
        (Talkative(7), "7"),
        (Chatty(7.5), "7.5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_is_shown_in_figures_of_bounded_length(number: float, words: str) -> None:
    assert shown(number) == words
