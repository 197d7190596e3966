"""Checks that every settings value of this package makes: the message names the field and the remedy."""

from __future__ import annotations

import math
from typing import Final

from tramapy.values import MOST, shown

__all__ = ["LONGEST_S", "finite_number", "fraction", "whole_number"]

LONGEST_S: Final = 1_000_000_000.0
"""The longest duration: about 30 years. What comes of it still fits every clock, sleep and event."""


def whole_number(field: str, value: object, *, minimum: int, maximum: int = MOST) -> int:
    """Return `value` if it is an int in range; a bool is none.

    Args:
        field: The setting as a user writes it, for example `RetryPolicySettings.provider_retries`.
        value: What was given.
        minimum: The least that is allowed.
        maximum: The most that is allowed; by default what fits into 64 bits.

    Raises:
        TypeError: It is no int.
        ValueError: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{field} takes an int, not {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{field} is {shown(value)}; give at least {minimum}")
    if value > maximum:
        raise ValueError(f"{field} is {shown(value)}; give at most {maximum}")
    return value


def finite_number(
    field: str,
    value: object,
    *,
    minimum: float = 0.0,
    may_equal_minimum: bool = False,
    maximum: float = LONGEST_S,
) -> float:
    """Return `value` as a float if it is above `minimum` and at most `maximum`; see `whole_number`."""
    number = _number(field, value)
    if not (number > minimum or (may_equal_minimum and number == minimum)):
        word = "at least" if may_equal_minimum else "more than"
        raise ValueError(f"{field} is {shown(number)}; give {word} {minimum:g}")
    if number > maximum:
        raise ValueError(f"{field} is {shown(number)}; give at most {maximum:g}")
    return number


def fraction(field: str, value: object) -> float:
    """Return `value` as a float if it lies above 0 and at most at 1; see `whole_number`."""
    number = _number(field, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{field} is {shown(number)}; give a fraction above 0 and up to 1, 0.5 for half")
    return number


def _number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field} takes a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:  # an int that no float can hold
        return math.inf if value > 0 else -math.inf
