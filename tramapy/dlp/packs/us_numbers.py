"""Numbers of people in the USA: social security and taxpayer numbers."""

from __future__ import annotations

import re

from tramapy.dlp.checks import is_itin, is_ssn
from tramapy.dlp.pack_rule import Look, PackRule, WithinGate, has_context, holds_numbers, is_in_marker, one_of
from tramapy.dlp.view import CONTEXT_LENGTH, View

__all__ = ["RULES"]

_SSN = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][-.])"
    r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}(?![0-9A-Za-z_])(?!-[0-9A-Za-z])(?!\.[0-9])"
)
_SSN_SHAPES = (b"000-00-0000", b"000--00-0000", b"000-00--0000", b"000--00--0000")
_DOTTED_SSN = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][-.])[0-9]{3}\.[0-9]{2}\.[0-9]{4}(?![0-9A-Za-z_])(?![-.][0-9A-Za-z])"
)
_SSN_WORDS = (
    "ssn",
    "social security",
    "social-security",
    "social_security",
    "soc sec",
    "itin",
    "taxpayer",
    "tax id",
)
_SSN_WORD = re.compile("|".join(_SSN_WORDS), re.IGNORECASE)
_NINE_HINT = r"[0-9]{2}[ \n-]\n?[0-9]{2}[ \n-]\n?[0-9]{4}"
_WORD_HINT = rf"(?i:{'|'.join(_SSN_WORDS)})"
_NINE = 9
_LONGEST_SSN_WORD = max(map(len, _SSN_WORDS))
_SSN_CONTEXT = re.compile(rf"(?<!\[REDACTED:us_)(?:{'|'.join(_SSN_WORDS)})", re.IGNORECASE)
_NINE_DIGITS = re.compile(r"(?<![0-9A-Za-z_.-])[0-9]{9}(?![0-9A-Za-z_]|[.-][0-9])")


def _ssn_like(view: View) -> list[re.Match[str]]:
    matches = (_SSN.match(view.text, place) for place in view.digit_groups.before_two)
    return [match for match in matches if match is not None]


def _bare_numbers(view: View) -> list[re.Match[str]]:
    """Find nine digits shortly behind a word for them; from the digits, since they are rarer than eight searches."""
    matches = [_NINE_DIGITS.match(view.text, start) for start, length in view.digit_runs if length == _NINE]
    matches += [_DOTTED_SSN.match(view.text, place) for place in view.digit_groups.before_two]
    return [
        match
        for match in matches
        if match is not None
        and (is_ssn(match.group()) or is_itin(match.group()))
        and _has_word(view.text, match.start())
    ]


def _has_word(text: str, place: int) -> bool:
    start = max(place - CONTEXT_LENGTH - _LONGEST_SSN_WORD, 0)
    return any(
        place - word.end() <= CONTEXT_LENGTH and not is_in_marker(text, word.start())
        for word in _SSN_WORD.finditer(text, start, place)
    )


def _likely_ssn_like(view: View) -> list[re.Match[str]]:
    """Find the same where one is known to be likely; else what other rules look for, too, is quicker."""
    matches = [_SSN.match(view.text, place) for place in view.places_of_shapes(_SSN_SHAPES)]
    return [match for match in matches if match is not None]


def _likely_ssns(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_likely_ssn_like) if is_ssn(match.group())]


def _formed_ssns(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_ssn_like) if is_ssn(match.group())]


def _bare_ssns(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_bare_numbers) if is_ssn(match.group())]


def _holds_nine(view: View) -> bool:
    return bool(view.digit_groups.before_two) or any(length == _NINE for _, length in view.digit_runs)


_holds_ssn = WithinGate(holds_numbers, _holds_nine)


def _ssns(view: View) -> list[tuple[int, int]]:
    return _formed_ssns(view) + _bare_ssns(view)


def _likely_itins(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_likely_ssn_like) if _is_formed_itin(match)]


def _formed_itins(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_ssn_like) if _is_formed_itin(match)]


def _is_formed_itin(match: re.Match[str]) -> bool:
    number = match.group()
    return number[0] == "9" and (is_itin(number) or has_context(match.string, match.start(), _SSN_CONTEXT))


def _bare_itins(view: View) -> list[tuple[int, int]]:
    return [match.span() for match in view.once(_bare_numbers) if is_itin(match.group())]


def _itins(view: View) -> list[tuple[int, int]]:
    return _formed_itins(view) + _bare_itins(view)


_SSN_LOOKS = (Look(f"[0-8]{_NINE_HINT}", _likely_ssns), Look(_WORD_HINT, _bare_ssns))
_ITIN_LOOKS = (Look(f"9{_NINE_HINT}", _likely_itins), Look(_WORD_HINT, _bare_itins))

RULES = (
    PackRule(
        id="us_ssn",
        title="US social security numbers",
        source="SSA, POMS RM 10201.030",
        pattern=_SSN.pattern,
        replacement="[REDACTED:us_ssn]",
        search=_ssns,
        gate=_holds_ssn,
        hint=one_of(_SSN_LOOKS),
        looks=_SSN_LOOKS,
        held=r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}|[0-9]{9}|[0-9]{3}\.[0-9]{2}\.[0-9]{4}",
    ),
    PackRule(
        id="us_itin",
        title="US individual taxpayer numbers",
        source="IRS, Publication 1915",
        pattern=_SSN.pattern,
        replacement="[REDACTED:us_itin]",
        search=_itins,
        gate=_holds_ssn,
        hint=one_of(_ITIN_LOOKS),
        looks=_ITIN_LOOKS,
        held=r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}|[0-9]{9}|[0-9]{3}\.[0-9]{2}\.[0-9]{4}",
    ),
)
