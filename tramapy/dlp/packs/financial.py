"""Rules for payment data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tramapy.dlp.checks import IBAN_LENGTHS, is_card, is_iban
from tramapy.dlp.pack_rule import Cut, PackRule, holds_numbers
from tramapy.dlp.view import View

__all__ = ["RULES"]

# A card number is written in one piece or in the groups that are printed on the card.
_BREAK = r"(?:[ -]|\r?\n)"
# Wider ones also stand between the columns of a table: no other digits may stand behind one more of them.
_WIDE_BREAK = r"(?P<wide> - |  |[\t/])"
_CARD = re.compile(
    rf"(?<![0-9A-Za-z])(?<![0-9]\.)(?<![^0-9]0,)(?:"
    rf"[0-9]{{13,19}}"
    rf"|[0-9]{{4}}{_BREAK}[0-9]{{4}}{_BREAK}[0-9]{{4}}{_BREAK}[0-9]{{4}}(?:{_BREAK}[0-9]{{3}}(?![0-9]))?"
    rf"|[0-9]{{4}}{_BREAK}[0-9]{{6}}{_BREAK}[0-9]{{4,5}}"
    rf"|[0-9]{{4}}{_BREAK}[0-9]{{4}}{_BREAK}[0-9]{{5}}"
    rf"|[0-9]{{4}}\.[0-9]{{4}}\.[0-9]{{4}}\.[0-9]{{4}}"
    rf"|(?<![0-9](?: - ))(?<![0-9](?:  ))(?<![0-9][\t/])[0-9]{{4}}{_WIDE_BREAK}"
    rf"(?:[0-9]{{4}}(?P=wide)[0-9]{{4}}(?P=wide)[0-9]{{4}}|[0-9]{{6}}(?P=wide)[0-9]{{4,5}})(?!(?P=wide)[0-9])"
    rf")(?![0-9A-Za-z])(?![.-][0-9](?![0-9]{{3}}(?:[^0-9A-Za-z]|\Z)))(?!-[A-Za-z])"
)
_RUN_LENGTHS = range(13, 20)
_MINUS = re.compile(r"[:,\[]\s*-\Z")
"""A negative number in JSON is no card, and could not be made a string."""
_LONGEST_INDENT = 64
_BREAKS = b" .-\t/\r\n"
_GROUP_OF_THREE = re.compile(r"[ \r\n-]+[0-9]{3}\Z")


def _cards(view: View) -> Iterator[Cut]:
    text = view.text
    for place in _card_places(view):
        match = _CARD.match(text, place)
        if match is not None:
            end = _card_end(match)
            if end and (
                text[place - 1 : place] != "-"
                or not _MINUS.search(text, max(place - _LONGEST_INDENT, 0), place)
            ):
                yield Cut(place, end)


def _card_places(view: View) -> Iterator[int]:
    text = view.text
    for place in view.digit_groups.before_four:
        if text[place - 1 : place].isdigit():
            yield place - 1
    for run in view.digit_runs:
        if run.length in _RUN_LENGTHS:
            yield run.start


def _card_end(match: re.Match[str]) -> int:
    """Take the whole match; where a group of three more digits is no part of it, do without; 0 if it is no card."""
    whole = match.group()
    if whole.isdigit():
        return match.end() if is_card(whole) else 0
    if is_card(_digits(whole)):
        return match.end()
    shorter = whole if whole[-4].isdigit() else _GROUP_OF_THREE.sub("", whole)
    if shorter != whole and is_card(_digits(shorter)):
        return match.start() + len(shorter)
    return 0


def _digits(number: str) -> str:
    return number.encode().translate(None, _BREAKS).decode()


_IBAN_COMPACT = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}[0-9A-Za-z]{11,30}(?![0-9A-Za-z])")
_IBAN_SPACED = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?:[ \n-]?[0-9A-Z]){11,30}")
_IBAN_IN_FOURS = re.compile(
    r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}(?: [0-9A-Za-z]{4}){2,7}(?: [0-9A-Za-z]{1,3})?"
)
_NOT_ALNUM = re.compile(r"[ \n-]+")
_COUNTRIES = "|".join(IBAN_LENGTHS)
_IBAN_START = re.compile(rb"0(?<=aa0)0")


def _holds_iban_start(view: View) -> bool:
    return _IBAN_START.search(view.shape) is not None


def _ibans(view: View) -> Iterator[Cut]:
    text = view.text
    for start in _IBAN_START.finditer(view.shape):
        place = view.start + start.start() - len("GB")
        if text[place : place + 2].upper() in IBAN_LENGTHS:
            yield from _iban(text, place)


def _iban(text: str, place: int) -> Iterator[Cut]:
    compact = _IBAN_COMPACT.match(text, place)
    if compact is not None and is_iban(compact.group().upper()):
        yield Cut(*compact.span())
        return
    wanted = IBAN_LENGTHS[text[place : place + 2].upper()]
    for pattern in (_IBAN_SPACED, _IBAN_IN_FOURS):
        spaced = pattern.match(text, place)
        if spaced is not None:
            found = _NOT_ALNUM.sub("", spaced.group())
            if len(found) >= wanted:
                end = place + _end_of(wanted, spaced.group())
                if not text[end : end + 1].isalnum() and is_iban(found[:wanted].upper()):
                    yield Cut(place, end)
                return


def _end_of(count: int, text: str) -> int:
    """Return where so many letters and digits end."""
    end = count
    while (missing := count - len(_NOT_ALNUM.sub("", text[:end]))) > 0:
        end += missing
    return end


RULES = (
    PackRule(
        id="credit_card",
        title="Payment card numbers",
        source="ISO/IEC 7812; the networks' number ranges",
        pattern=_CARD.pattern,
        replacement="[REDACTED:credit_card]",
        search=_cards,
        gate=holds_numbers,
        hint=r"[0-9]{13}|[0-9]{4}(?:[ ./\t\n-]|\r\n|  | - )[0-9]{4,6}(?:[ ./\t\n-]|\r\n|  | - )[0-9]{4}",
        held=r"(?:[0-9](?: - |  |[ ./\t\-\n]|\r\n)?){12,}",
    ),
    PackRule(
        id="iban",
        title="International bank account numbers",
        source="ISO 13616; SWIFT IBAN Registry",
        pattern=_IBAN_SPACED.pattern,
        replacement="[REDACTED:iban]",
        search=_ibans,
        gate=_holds_iban_start,
        hint=rf"(?i:{_COUNTRIES})[0-9]{{2}}(?:[ \n-]?[0-9A-Za-z]){{11}}",
        held=r"[A-Z]{2}[0-9]{2}(?:[ \n\-]?[0-9A-Z]){11,}"
        r"|[A-Za-z]{2}[0-9]{2}(?:[0-9A-Za-z]{11,}|(?: [0-9A-Za-z]{4}){2,} ?[0-9A-Za-z]{0,4})",
    ),
)
