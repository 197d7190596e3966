"""Checks that every settings value of this package makes: the message names the field and the remedy."""

from __future__ import annotations

import math

__all__ = ["finite_number", "fraction", "whole_number"]


def whole_number(field: str, value: object, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` if it is an int in range; a bool is none.

    Args:
        field: The setting as a user writes it, for example `RetryPolicySettings.provider_retries`.
        value: What was given.
        minimum: The least that is allowed.
        maximum: The most that is allowed.

    Raises:
        TypeError: It is no int.
        ValueError: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{field} takes an int, not {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{field} is too small; give at least {minimum}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{field} is too large; give at most {maximum}")
    return value


def finite_number(
    field: str, value: object, *, minimum: float = 0.0, may_equal_minimum: bool = False
) -> float:
    """Return `value` as a float if it is a finite number above `minimum`; see `whole_number`."""
    number = _finite(field, value)
    if number < minimum or (number == minimum and not may_equal_minimum):
        word = "at least" if may_equal_minimum else "more than"
        raise ValueError(f"{field} is too small; give {word} {minimum:g}")
    return number


def fraction(field: str, value: object) -> float:
    """Return `value` as a float if it lies above 0 and at most at 1; see `whole_number`."""
    number = _finite(field, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{field} is a fraction above 0 and up to 1; give 0.5 for half")
    return number


def _finite(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field} takes a number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{field} is not finite; give a plain number")
    return number
