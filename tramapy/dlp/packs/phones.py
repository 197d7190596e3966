"""Telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tramapy.dlp.pack_rule import Cut, Look, PackRule, always, one_of
from tramapy.dlp.view import View

__all__ = ["RULES"]

# Digits are read once and a separator stands between two runs of them, so that there is one way to read a number.
_E164 = re.compile(
    r"\+(?<![0-9A-Za-z+]\+)[1-9][0-9]{0,14}+"
    r"(?:(?:[ ./-]|\(\)|[ .-]?\([0-9]{1,4}\)[ .-]?)[0-9]{1,15}+){0,7}(?=x[0-9]|[^0-9A-Za-z]|\Z)"
)
_INTERNATIONAL = re.compile(
    r"(?<![0-9A-Za-z_.+-])00(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2345689][0-9]{2})"
    r"(?:[ -]|[ -]?\(0?\)[ -]?)(?!00)[0-9]{1,5}(?:[ ./-]?(?!00)[0-9]{2,8}){1,4}"
    r"(?=x[0-9]|[^0-9A-Za-z]|\Z)(?![ ./-]?[0-9])"
)
_EXTENSION = re.compile(
    r"[ ,;]{0,2}(?:ext(?:ension|\.)?[ .:=]{0,2}[0-9]{1,6}|x[0-9]{2,6})(?![0-9A-Za-z_])", re.IGNORECASE
)
_DIFF = re.compile(r"\n@@ |\n(?:diff |index |--- |\+\+\+ )|\n[-+][^0-9+\n][^\n]*\n[-+ ]")
_DIFF_REACH = 300
_PHONE_JOINTS = b"+ ()./-"
_NANP_LENGTH = 11
_NANP = re.compile(
    r"(?<![0-9A-Za-z_+])(?<![0-9A-Za-z][.-])(?:1[ .-])?(?![0-9]{3}\.[0-9]{3}-)"
    r"(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
    r"(?:(?=x[0-9])|(?![0-9A-Za-z_]))(?![.-][0-9A-Za-z])"
)
_NANP_BACK = 8
_NANP_REACH = 16
_NATIONAL = re.compile(
    r"0(?<![^ :(\"'\t\n]0)(?=[0-9() ./-]{6})[0-9]{1,14}+(?:\)[ ./-]?[0-9]{2,14}+)?(?:[ ./-][0-9]{2,14}+){0,5}"
    r"(?![0-9A-Za-z])"
)
_LONGEST_NUMBER = 192
_FEWEST_DIGITS = 8
_FEWEST_NATIONAL_DIGITS = 7
_MOST_DIGITS = 15
_TEN = 10
_BARE_NANP = re.compile(r"(?<![0-9A-Za-z_.+-])[2-9][0-9]{2}[2-9][0-9]{6}(?![0-9A-Za-z_]|[.-][0-9])")
_PHONE_MARKS = " .:=#\t\"'"
_PHONE_WORD = re.compile(
    r"(?<![A-Za-z])(?:telephone|phone|tel|mobile|cell|fax|call)"
    r"(?:[ ._]?(?:no|number|nr|is|me at|us at))?[\"']?[ .:=#\t]{0,4}[\"']?\Z",
    re.IGNORECASE,
)
_PHONE_WORD_ENDS = frozenset("eElLxXoOrRsStT")
_LONGEST_PHONE_WORD = 28


def _has_digits(number: str, fewest: int, most: int) -> bool:
    return fewest <= len(number.encode().translate(None, _PHONE_JOINTS)) <= most


def _is_e164(match: re.Match[str]) -> bool:
    number = match.group()
    if number.startswith("+1"):
        if not _has_digits(number, _NANP_LENGTH, _NANP_LENGTH):
            return False
    elif not _has_digits(number, _FEWEST_DIGITS, _MOST_DIGITS):
        return False
    # In a diff, a plus before nothing but digits says that the line is new.
    text, start = match.string, match.start()
    return not (
        text[start - 1 : start] == "\n"
        and number[1:].isdigit()
        and _DIFF.search(text, max(start - _DIFF_REACH, 0), start) is not None
    )


def _with_extension(match: re.Match[str]) -> Cut:
    start, end = match.span()
    ahead = match.string[end : end + len(", ex")]
    if "x" not in ahead and "X" not in ahead:
        return Cut(start, end)
    extension = _EXTENSION.match(match.string, end)
    return Cut(start, end if extension is None else extension.end())


def _national_phones(view: View) -> list[Cut]:
    text = view.text
    found: list[Cut] = []
    for match in view.matches(_NATIONAL, _LONGEST_NUMBER) if "0" in view.part else ():
        place = match.start()
        international = _INTERNATIONAL.match(text, place) if text.startswith("00", place) else None
        if international is not None and _has_digits(
            international.group(), _FEWEST_DIGITS + 2, _MOST_DIGITS + 2
        ):
            found.append(_with_extension(international))
            continue
        start = place - (text[max(place - 1, 0) : place] == "(")
        if _has_digits(match.group(), _FEWEST_NATIONAL_DIGITS, _MOST_DIGITS) and _is_called_phone(
            text, start
        ):
            found.append(Cut(start, _with_extension(match).end))
    for place, length in view.digit_runs:
        if length == _TEN and _is_called_phone(text, place):
            bare = _BARE_NANP.match(text, place)
            if bare is not None:
                found.append(Cut(*bare.span()))
    return found


def _is_called_phone(text: str, start: int) -> bool:
    """Tell whether a word for a telephone stands before a place."""
    before = text[max(start - _LONGEST_PHONE_WORD, 0) : start]
    # Numbers stand before most places; what may end a word is quick to tell.
    return before.rstrip(_PHONE_MARKS)[-1:] in _PHONE_WORD_ENDS and _PHONE_WORD.search(before) is not None


def _e164_phones(view: View) -> list[Cut]:
    return [_with_extension(match) for match in view.matches(_E164, _LONGEST_NUMBER) if _is_e164(match)]


def _likely_nanp_phones(view: View) -> list[Cut]:
    return _nanp_phones_at(view.text, view.places_of_shapes((b"000-0000", b"000.0000")))


def _nanp_phones_at(text: str, places: Iterable[int]) -> list[Cut]:
    found: list[Cut] = []
    for place in places:
        if text[place - 1] in " .-)":
            nanp = _NANP.search(text, max(place - _NANP_BACK, 0), place + _NANP_REACH)
            if nanp is not None and nanp.start() < place:
                found.append(_with_extension(nanp))
    return found


def _phones(view: View) -> list[Cut]:
    found = _national_phones(view)
    if view.digit_groups.before_four:
        found += _nanp_phones_at(view.text, view.digit_groups.before_four)
    if "+" in view.part:
        found += _e164_phones(view)
    return found


_PHONE_LOOKS = (
    Look(r"\+[1-9][0-9 ()./-]{6}", _e164_phones),
    Look(r"(?:[(][0-9]{3}[)][ -]?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}", _likely_nanp_phones),
    Look(
        r"(?:\A|[^0-9A-Za-z_.+-])00[1-9][0-9]{0,2}[ (-]{1,4}[0-9)]"
        r"|(?i:phone|tel|mobile|cell|fax|call)(?i:[ ._]?(?:no|number|nr|is|me at|us at))?"
        r"[\"']?[ .:=#\t]{0,4}[\"']?[(]?[02-9][0-9]",
        _national_phones,
    ),
)

RULES = (
    PackRule(
        id="phone",
        title="Telephone numbers: with a country code, North American ones, others after a word for them",
        source="ITU-T E.164; NANPA numbering plan",
        pattern=_E164.pattern,
        replacement="[REDACTED:phone]",
        search=_phones,
        gate=always,
        hint=one_of(_PHONE_LOOKS),
        looks=_PHONE_LOOKS,
        held=(
            r"[+(0-9][0-9 ()./\-]{6,}"
            r"(?:[ ,;]{0,2}(?:[eE][xX][tT](?:\.|[eE][nN][sS][iI][oO][nN])?[ .:=]{0,2}|[xX])[0-9]*)?"
        ),
    ),
)
