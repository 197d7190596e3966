"""Rules for payment data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tramapy.dlp.checks import IBAN_LENGTHS, is_card, is_iban
from tramapy.dlp.pack_rule import Cut, Look, PackRule, WithinGate, holds_numbers, one_of
from tramapy.dlp.view import View

__all__ = ["RULES"]

# A card number is written in one piece or in the groups that are printed on the card.
_BREAK = r"(?:[ -]|\r?\n)"
# Wider ones also stand between the columns of a table: no other digits may stand behind one more of them.
_WIDE_BREAK = r"(?P<wide> - |  |[\t/])"
_ISSUERS = "4|5[0-58]|2[2-7]|3[04-9]|6[02-57]|8[12]|9792"
"""What the numbers of all issuers begin with."""
# What several forms begin with is read once.
_CARD = re.compile(
    rf"(?<![0-9A-Za-z])(?={_ISSUERS})(?<![0-9]\.)(?<![^0-9]0,)[0-9]{{4}}(?:"
    # with the fraction that a column of numbers gives it
    rf"[0-9]{{9,15}}(?:\.00?(?![0-9]))?"
    rf"|{_BREAK}(?:[0-9]{{4}}{_BREAK}(?:[0-9]{{4}}{_BREAK}[0-9]{{4}}(?:{_BREAK}[0-9]{{3}}(?![0-9]))?|[0-9]{{5}})"
    rf"|[0-9]{{6}}{_BREAK}[0-9]{{4,5}})"
    rf"|\.[0-9]{{4}}\.[0-9]{{4}}\.[0-9]{{4}}"
    rf"|(?<![0-9] - [0-9]{{4}})(?<![0-9]  [0-9]{{4}})(?<![0-9][\t/][0-9]{{4}}){_WIDE_BREAK}"
    rf"(?:[0-9]{{4}}(?P=wide)[0-9]{{4}}(?P=wide)[0-9]{{4}}|[0-9]{{6}}(?P=wide)[0-9]{{4,5}})(?!(?P=wide)[0-9])"
    rf")(?![0-9A-Za-z])(?![.-][0-9](?![0-9]{{3}}(?:[^0-9A-Za-z]|\Z)))(?!-[A-Za-z])"
)
_ASCII_DIGITS = frozenset("0123456789")
_HINT_BREAK = r"(?:[ ./\t\n-]|\r\n|  | - )"
_GROUPS_HINT = (
    rf"(?:\A|[^0-9A-Za-z])[0-9]{{4}}{_HINT_BREAK}"
    rf"(?:[0-9]{{4}}{_HINT_BREAK}(?:[0-9]{{4}}{_HINT_BREAK}[0-9]{{4}}|[0-9]{{5}})|[0-9]{{6}}{_HINT_BREAK}[0-9]{{4}})"
)
_FOURS = (b"0000-0000", b"0000.0000", b"0000--0000", b"0000---0000")
_FEWEST_DIGITS = 13
_RUN_LENGTHS = range(_FEWEST_DIGITS, 20)
_MINUS = re.compile(r"[:,\[]\s*-\Z")
"""A negative number in JSON is no card, and could not be made a string."""
_LONGEST_INDENT = 64
_BREAKS = b" .-\t/\r\n"
_GROUP_OF_THREE = re.compile(r"[ \r\n-]+[0-9]{3}\Z")


def _cards_in_groups(view: View) -> list[Cut]:
    """Find a card where one is known to be likely; else what other rules look for, too, is quicker."""
    return _cards_at(view.text, view.places_of_shapes(_FOURS))


def _cards_in_one_piece(view: View) -> list[Cut]:
    return _cards_at(view.text, [start for start, length in view.digit_runs if length in _RUN_LENGTHS])


def _cards(view: View) -> list[Cut]:
    text = view.text
    places = [
        place - 1 for place in view.digit_groups.before_four if text[place - 1 : place] in _ASCII_DIGITS
    ]
    return _cards_at(text, places) + _cards_in_one_piece(view)


def _cards_at(text: str, places: Iterable[int]) -> list[Cut]:
    found: list[Cut] = []
    for place in places:
        match = _CARD.match(text, place)
        if match is not None:
            end = _card_end(match)
            if end and (
                text[place - 1 : place] != "-"
                or not _MINUS.search(text, max(place - _LONGEST_INDENT, 0), place)
            ):
                found.append(Cut(place, end))
    return found


def _card_end(match: re.Match[str]) -> int:
    """Take the whole match; where a group of three more digits is no part of it, do without; 0 if it is no card."""
    whole = match.group()
    if whole[:_FEWEST_DIGITS].isdigit():
        return match.end() if is_card(whole.partition(".")[0]) else 0
    if whole.count("\n") > 1:  # numbers of four digits, one below the other
        return 0
    if is_card(_without(whole, _BREAKS)):
        return match.end()
    shorter = whole if whole[-4].isdigit() else _GROUP_OF_THREE.sub("", whole)
    if shorter != whole and is_card(_without(shorter, _BREAKS)):
        return match.start() + len(shorter)
    return 0


def _without(number: str, breaks: bytes) -> str:
    return number.encode().translate(None, breaks).decode()


_IBAN_COMPACT = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}[0-9A-Za-z]{11,30}(?![0-9A-Za-z])")
_IBAN_SPACED = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?:[ \n-]?[0-9A-Z]){11,30}")
_IBAN_IN_FOURS = re.compile(
    r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}(?: [0-9A-Za-z]{4}){2,7}(?: [0-9A-Za-z]{1,3})?"
)
_IBAN_BREAKS = b" \n-"
_OF_LENGTH = {
    length: re.compile(rf"(?:[ \n-]?[0-9A-Za-z]){{{length}}}")
    for length in sorted(set(IBAN_LENGTHS.values()))
}
_BY_LENGTH = {
    length: "|".join(country for country, wanted in IBAN_LENGTHS.items() if wanted == length)
    for length in sorted(set(IBAN_LENGTHS.values()))
}
_IBANS_HINT = "|".join(
    rf"(?i:{countries})[0-9]{{2}}(?:[ \n-]?[0-9A-Za-z]){{{length - len('GB82')}}}"
    for length, countries in _BY_LENGTH.items()
)
# From the digits, which are rarer than letters: a fifth less time than to look for the shape where it is not.
_IBAN_BEGINS = re.compile(rb"0(?<=aa0)(?<![0a]aa0)0(?=[-0a]{11})")


def _holds_iban(view: View) -> bool:
    return _IBAN_BEGINS.search(view.shape) is not None


def _ibans(view: View) -> list[tuple[int, int]]:
    text, first = view.text, view.start - len("GB")
    found: list[tuple[int, int]] = []
    for digits in _IBAN_BEGINS.finditer(view.shape):
        place = first + digits.start()
        wanted = IBAN_LENGTHS.get(text[place : place + 2].upper())
        if wanted is not None:
            found += _iban(text, place, wanted)
    return found


def _iban(text: str, place: int, wanted: int) -> Iterator[tuple[int, int]]:
    # Most are written in groups: that is told at less cost than by the pattern.
    compact = _IBAN_COMPACT.match(text, place) if text[place + 4 : place + 5].isalnum() else None
    if compact is not None and is_iban(compact.group().upper()):
        yield compact.span()
        return
    for pattern in (_IBAN_SPACED, _IBAN_IN_FOURS):
        spaced = pattern.match(text, place)
        whole = None if spaced is None else _OF_LENGTH[wanted].match(text, place, spaced.end())
        if whole is not None:
            end = whole.end()
            after = text[end : end + 1]  # a letter of a script without blanks ends it, too
            if not (after.isascii() and after.isalnum()) and is_iban(
                _without(whole.group(), _IBAN_BREAKS).upper()
            ):
                yield Cut(place, end)
            return


_CARD_LOOKS = (
    Look(_GROUPS_HINT, _cards_in_groups),
    Look(r"(?:\A|[^0-9A-Za-z])[0-9]{13}", _cards_in_one_piece),
)

RULES = (
    PackRule(
        id="credit_card",
        title="Payment card numbers",
        source="ISO/IEC 7812; the networks' number ranges",
        pattern=_CARD.pattern,
        replacement="[REDACTED:credit_card]",
        search=_cards,
        gate=holds_numbers,
        hint=one_of(_CARD_LOOKS),
        looks=_CARD_LOOKS,
        held=r"(?:[0-9](?: - |  |[ ./\t\-\n]|\r\n)?){12,}",
    ),
    PackRule(
        id="iban",
        title="International bank account numbers",
        source="ISO 13616; SWIFT IBAN Registry",
        pattern=_IBAN_SPACED.pattern,
        replacement="[REDACTED:iban]",
        search=_ibans,
        gate=WithinGate(holds_numbers, _holds_iban),
        hint=rf"(?:\A|[^0-9A-Za-z])(?:{_IBANS_HINT})",
        held=r"[A-Z]{2}[0-9]{2}(?:[ \n\-]?[0-9A-Z]){11,}"
        r"|[A-Za-z]{2}[0-9]{2}(?:[0-9A-Za-z]{11,}|(?: [0-9A-Za-z]{4}){2,} ?[0-9A-Za-z]{0,4})",
    ),
)
