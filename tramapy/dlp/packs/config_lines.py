"""Passwords in lines of a configuration that say so in their own way: those of Redis, and `.pgpass`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tramapy.dlp.checks import is_password
from tramapy.dlp.pack_rule import ANY_CASE, Cut, either_case
from tramapy.dlp.packs.joints import is_apart, is_over_strings
from tramapy.dlp.packs.search_words import words_here
from tramapy.dlp.view import View

__all__ = ["HELD", "HINT", "config_passwords", "holds_config"]

_WORDS = (b"requirepass", b"masterauth", b"auth-pass")
_REDIS = re.compile(
    r"(?:requirepass|masterauth|auth-pass[ \t]{1,4}[0-9a-z_.-]{1,64})(?:[ \t]{1,4}|=|[\"'],[ \t]?(?=[\"']))"
    r"(?:\"(?P<d>[^\"\n]{4,256})\"|'(?P<s>[^'\n]{4,256})'|(?P<u>[^\s\"'`<>|;&,-][^\s\"'`<>|;&,]{3,255}))",
    ANY_CASE,
)
_LINE_STARTS = re.compile(
    r"(?:(?:\A|\n)[ \t]{0,8}(?:#[ \t]{0,2})?(?:sentinel[ \t])?|config set[ \t]|--)\Z", re.IGNORECASE
)
_LONGEST_START = 24
_LINE_ENDS = re.compile(r"[ \t]{0,8}(?:\r?\n|\Z)")

_PORT = ":5432:"
"""PostgreSQL's; a line with another one looks like many things."""
_FIELD = r"(?:[^:\s\\]|\\.)"
_HOST = re.compile(r"(?:\A|[\n\"'])[ \t]{0,8}(?:[0-9A-Za-z_.*-]{1,128}|\[[0-9A-Fa-f:]{2,39}\])\Z")
_LONGEST_HOST = 140
_REST = re.compile(
    rf"{_PORT}(?:{_FIELD}{{1,64}}:){{2}}(?P<cut>{_FIELD}{{4,256}})(?=[ \t]{{0,8}}(?:\r?\n|\Z))"
)

HINT: Final = rf"{_PORT}|(?i:requirepass|masterauth|auth-pass)[ \t=\"']"
HELD: Final = (
    rf"(?:{either_case('requirepass')}|{either_case('masterauth')}|{either_case('auth-pass')}[ \t]+[0-9A-Za-z_.\-]+)"
    r"""(?:[ \t]+|=|["'],[ \t]?)(?:"[^"\n]+"?|'[^'\n]+'?|[^\s"'`<>|;&,]{4,})"""
    rf"|{_PORT}[^:\s]+:[^:\s]+:[^:\s]{{4,}}"
)


def holds_config(view: View) -> bool:
    """Tell whether a line of that kind can be here."""
    return view.part.rfind(_PORT) >= 0 or _holds_redis(view)


def _holds_redis(view: View) -> bool:
    here = view.once(words_here)
    return (b"pass" in here or b"auth" in here) and any(view.lower.rfind(word) >= 0 for word in _WORDS)


def config_passwords(view: View) -> Iterator[Cut]:
    """Yield what to cut in such lines."""
    text = view.text
    if _holds_redis(view):
        for word in _WORDS:
            for place in view.places_of_word(word):
                match = _REDIS.match(text, place)
                if match is not None and _is_set(match):
                    yield Cut(*match.span(match.lastgroup or 0))
    for place in view.places_of(_PORT):
        line = _REST.match(text, place)
        if line is not None and _HOST.search(text, max(place - _LONGEST_HOST, 0), place) is not None:
            value = line.group("cut")
            if is_password(value) and is_apart(value):
                yield Cut(*line.span("cut"))


def _is_set(match: re.Match[str]) -> bool:
    """Tell a setting from a sentence about it."""
    kind = match.lastgroup or "u"
    value = match.group(kind)
    if not is_password(value) or is_over_strings(kind, match.string, *match.span(kind)):
        return False
    if kind != "u" or is_apart(value):
        return True
    text, place = match.string, match.start()
    return (
        _LINE_STARTS.search(text, max(place - _LONGEST_START, 0), place) is not None
        and _LINE_ENDS.match(text, match.end()) is not None
    )
