"""A rule for passwords in a column: it finds the heading, and `Columns` reads what stands below."""

from __future__ import annotations

import re
from typing import Final

from tramapy.dlp.pack_rule import Cut, PackRule
from tramapy.dlp.packs.search_words import holds_word, words_here
from tramapy.dlp.view import View

__all__ = ["AROUND", "ID", "KEY_NAME", "LONGEST_HEADING", "NAME", "RULES", "STEMS"]

ID: Final = "password_column"
_ROOTS = "password|passwd|passphrase|passcode|passwort|kennwort|pwd|secret"
# A key or token alone is more often one of a dictionary, of a table or of a text.
_KEY_ROOTS = (
    "(?:secret|api|access|private|auth|signing|encryption)[ _-]?(?:access[ _-]?)?key"
    "|(?:api|access|auth|secret|bearer|refresh|session|bot)[ _-]?token"
)
_BEFORE = r"(?:[0-9A-Za-z]{1,16}[ _.-]){0,2}[0-9A-Za-z]{0,16}?"
NAME: Final = rf"{_BEFORE}(?i:{_ROOTS})[sS]?"
"""What a heading of such a column says."""
KEY_NAME: Final = rf"{_BEFORE}(?i:{_KEY_ROOTS})[sS]?"
"""What one of a column of keys says."""
STEMS: Final = ("passw", "passp", "passc", "secret", "pwd", "key", "token", "kennw")
"""One of them is in it, in any case: to look for these first takes a tenth of the time."""
AROUND: Final = " \t\r\"'*_`"
"""What may stand around it, and around a cell."""
LONGEST_HEADING: Final = 120
"""How long the cell of a heading may be."""

_BEGINNINGS = (b"pass", b"pw", b"secret", b"key", b"token", b"kennwort")
_MARKS = ",;|\t"
_ENDS = rf"[sS]?[{AROUND}]*(?:[{_MARKS}\n]|\Z)"
_HEADING = re.compile(
    rf"[{AROUND}\ufeff]*{_BEFORE}(?:{_ROOTS}|{_KEY_ROOTS}){_ENDS}",
    re.IGNORECASE | re.ASCII,
)

_LAST_MARK = re.compile(rf".*[\n{_MARKS}]", re.DOTALL)
_REST = re.compile(
    rf"(?:pass(?:word|wd|phrase|code|wort)|kennwort|pwd|secret(?:[ _-]?(?:access[ _-]?)?key)?|key|token){_ENDS}",
    re.IGNORECASE | re.ASCII,
)


def _headings(view: View) -> list[Cut]:
    """Find the first heading; as a place only, from which the whole text is looked at in another way."""
    here = view.once(words_here)
    for word in _BEGINNINGS:
        if word in here:
            for place in view.places_of_word(word):
                if _REST.match(view.text, place) is None:  # by far the most
                    continue
                before = max(place - LONGEST_HEADING, 0)
                mark = _LAST_MARK.match(view.text, before, place)
                if mark is not None or before == 0:
                    start = before if mark is None else mark.end()
                    heading = _HEADING.match(view.text, start, place + LONGEST_HEADING)
                    if heading is not None:
                        return [Cut(start, heading.end())]
    return []


RULES = (
    PackRule(
        id=ID,
        title="Passwords and keys in a column below their name, in CSV and tables of text",
        source="OWASP, use of hard-coded password; RFC 4180",
        pattern=NAME,
        replacement=f"[REDACTED:{ID}]",
        search=_headings,
        gate=holds_word("pass", "pw", "secret", "key", "token", "kennwort"),
        # without what stands before the word, which RE2 would have to follow through all text
        hint=rf"(?i:{_ROOTS}|{_KEY_ROOTS})[sS]?(?:[{AROUND}]{{0,40}}(?:[{_MARKS}\n]|\z)|[{AROUND}]{{41}})",
        # `Columns` holds back the cells; of headings nothing has to be.
        held=r"\x00\x00\x00",
        is_checked=False,
    ),
)
