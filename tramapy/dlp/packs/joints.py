"""What joins a name and its value where no plain separator does: tables, next lines, fields, options, elements.

Each of them stands in harmless text, too; so what is around the name and behind the value decides.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ELEMENT",
    "HELD",
    "HELD_ELEMENT",
    "HELD_FIELD",
    "JOINT",
    "hint_of",
    "is_apart",
    "is_joined",
    "is_over_strings",
]

_ATTRIBUTES = r"(?:[ \t\r\n]{1,4}[0-9A-Za-z_:.-]{1,30}=(?:\"[^\"<>\n]{0,80}\"|'[^'<>\n]{0,80}')){0,4}"
# Each choice asks first for what it may begin with: to try one after another takes longest.
JOINT: Final = (
    r"(?:(?=[\"'`*_ \t|:])(?:"
    r"(?P<cell>[\"'`*_]{0,2}(?:[ \t]{0,40}\|[ \t]{0,8}|[ ]{0,4}\t[ \t]{0,4}))"
    r"|(?P<line>[\"'`*_]{0,2}[ \t]{0,4}:[*_]{0,2}[ \t]{0,4}(?:[|>][+-]?[ \t]{0,4})?(?:\r?\n[ \t>]{0,40}){1,2}))"
    r"|(?P<field>(?=[\"' \t,:\r\nvc])(?:[ \t]?:[ \t]?)?[\"']?[ \t]{0,4}(?:,?|:\s{0,4}\{)[ \t\r\n]{0,24}[\"']?(?=[vc])"
    r"(?:value|content)[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    r"|(?=[\"'`,; (*_<:\t-])(?:"
    r"(?P<pair>[\"']?[,;] ?)|(?P<call> ?\( ?(?=[\"']))|(?P<dash>[\"'`*_]{0,2}(?: ?-> ?| - ))|(?P<form>\"(?:\r?\n){2})"
    r"|(?P<tags>[ \t]{0,4}:?[ \t]{0,4}</[a-z0-9]{1,10}>\s{0,24}:?[ \t]{0,4}"
    r"(?:<[a-z0-9]{1,10}(?: [^<>\n]{0,60})?>\s{0,8}){0,2}))"
    r"|(?P<blank>(?=[ \t\r\n])(?<=[A-Za-z])(?(option)|%s)[ \t\r\n]{1,12}+))"
)
"""Between a name and its value, in any case; `%s` for what stands before a blank where the name is no option's."""
ELEMENT: Final = (
    rf"(?=[\"' \t\r\n>])(?:{_ATTRIBUTES}|[\"'])[ \t]{{0,4}}>\s{{0,40}}(?:<!\[CDATA\[)?"
    r"(?P<x>[^<>\s](?:[^<>\n]{0,510}?[^<>\s\]])??)(?=\s{0,40}(?:\]\]>\s{0,40})?</)"
)
"""Between a name in a tag and the next tag, with the value."""

HELD_FIELD: Final = (
    r"""(?:[ \t]?:[ \t]?)?["']?[ \t]*(?:,?|:\s*\{)\s*"""
    r"""["']?(?:[vV][aA][lL][uU][eE]|[cC][oO][nN][tT][eE][nN][tT])"""
)
"""The group `field` of `JOINT` for a stream, in our dialect, up to its last quote."""
HELD: Final = (
    r"""["'`*_]{0,2}(?:[ \t]*[|\t][ \t]*|[ \t]*:[*_]{0,2}[ \t]*(?:[|>][+\-]?[ \t]*)?(?:\r?\n[ \t>]*){1,2}"""
    r"""|\s+| ?->? ?)"""
    rf"""|{HELD_FIELD}["']?[ \t]*[:=][ \t]*"""
    r"""|["']?[,;] ?| ?\( ?|"\r?\n\r?\n"""
    r"""|[ \t]*:?[ \t]*</[A-Za-z0-9]+>\s*:?[ \t]*(?:<[A-Za-z0-9]+(?: [^<>\n]*)?>\s*){0,2}"""
)
"""`JOINT` for a stream, in our dialect."""
HELD_ELEMENT: Final = (
    r"""(?:(?:\s+[0-9A-Za-z_:.\-]+=(?:"[^"<>\n]*"|'[^'<>\n]*'))*|["'])[ \t]*>\s*(?:<!\[CDATA\[)?"""
    r"""[^<>\n]+\s*(?:\]\]>\s*)?(?:</?)?"""
)
"""`ELEMENT` for a stream, in our dialect."""

_GROUPS = ("cell", "line", "field", "tags", "form", "pair", "rest", "call", "dash")
_NEAR = 120
"""How far before a name may stand what decides on it."""
_IN_TAG = re.compile(r"<(?P<element>[0-9A-Za-z_.:-]{0,40})(?:\s[^<>\n]{0,80}=[\"'][0-9A-Za-z_.:-]{0,40})?\Z")
_IN_CELL = re.compile(
    r"[|\t][ \t*_`\"']{0,8}(?:[0-9A-Za-z_.-]{1,20} ){0,3}[0-9A-Za-z_.-]{0,40}\Z"
    r"|(?:\n|\A)[ \t*_`\"']{0,8}[0-9A-Za-z_.-]{0,40}\Z"
)
_CELL_ENDS = re.compile(r"[\"'`*_]{0,2}[ \t]{0,8}(?:[|\t\r\n]|\Z)")
_LINE_ENDS = re.compile(r"[\"'`]?[ \t]{0,8}(?:\r?\n|\Z)")
_BEFORE_OPTION = "store|key|user|db|api|access"
_IN_OPTION = re.compile(
    rf"(?:{'|'.join(word[::-1] for word in _BEFORE_OPTION.split('|'))})?"
    r"(?:-[0-9a-z]{1,20}){0,4}--?(?:\Z|[\s\"'`(])",
    re.IGNORECASE,
)
"""Read from its end; shorter than `_NEAR`."""
_IN_LIST = re.compile(
    rf"\[[^\[\]()]*[\"']--?(?:[0-9a-z]{{1,20}}-){{0,4}}(?:{_BEFORE_OPTION})?\Z", re.IGNORECASE
)
_OPTION_ENDS = frozenset("-" + "".join(word[-1] + word[-1].upper() for word in _BEFORE_OPTION.split("|")))
_OPTION_GOES_ON = re.compile(r"[ \t]{1,4}(?:--?[A-Za-z]|\\\r?\n)")
_LOGIN = re.compile(
    r"(?:machine[ \t\r\n]{1,12}[!-~]{1,64}|default)[ \t\r\n]{1,12}login[ \t\r\n]{1,12}[!-~]{1,40}[ \t\r\n]{1,12}\Z",
    re.IGNORECASE | re.ASCII,
)
_LOGIN_WORDS = 4
_TYPE = re.compile(
    r"(?:u?int|float|double|decimal|utf|ucs|sha|md|base|varchar|n?char|oauth|hmac|aes|rsa|ed|x|gpg|python|ipv|http|tls|ssl|v"
    r"|h|uuid|hs|rs|es|ps|b|web)[_-]?[0-9]+(?:[_-][0-9a-z]+|sum|le|be)?\Z"
)
"""In lower case."""
_NAMES = tuple(name + end for name in ("key", "token", "secret", "password") for end in ("", "s"))
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")
_SPECIAL = re.compile(r"[!@#$%^*+?~]")
_NO_LINE = re.compile(r"[-#/*@.:\\]|[^=]*=+[^=]|.*://")
_CAPITALS = re.compile(r"[A-Z_]+\Z")
_FEWEST_WORDS = 3
_TAG_ENDS = re.compile(r"[ \t\r\n<]|\Z")
_LONGEST_CALL = len("with_")
_IN_CALL = re.compile(r"(?:set_?|with_?|\.|=[ \t]?)\Z", re.IGNORECASE)
_ONLY_NAME = re.compile(r"[\"']?(?:[0-9A-Za-z.]{1,20}[_-]){0,3}\Z")
_SAID = re.compile(
    r"(?:(?:\b(?:with|and|or|use|using|enter|user|try|(?:env|setx|setenv)[ \t]{1,2}[0-9a-z_]{0,30})|[,/:])[ \t]{0,2}"
    r"(?:the[ \t])?)\Z",
    re.IGNORECASE,
)
_SAID_NUMBER = re.compile(r"[A-Z]+-?[0-9]+\Z|[0-9.]+-?[A-Za-z]+\Z|[A-Za-z]+-?[0-9]\Z|(?i:argon2|pbkdf2)")
"""Such as RFC2898, 8-character and step3."""
_SHORTEST_SAID = 6
_SHORT = re.compile(r"pass\s", re.IGNORECASE)
"""Also a verb."""


_BETWEEN_STRINGS = re.compile(
    r"\"[ \t]{0,4}[,:][ \t]{0,4}(?:[\"\[{]|(?:-?[0-9][0-9.eE+-]{0,30}|true|false|null)[ \t]{0,4}[,}\]\r\n])"
)
_STRING_STARTS = re.compile(r"[\[{,:][ \t\r\n]{0,24}\"(?![ \t]{0,4}[,:}\]])")
_FAR = 256
"""How far before a value the string may begin that it is in; a stream keeps as much."""
_NO_WORD = r"[0-9!@#$%^*+?~\x80-\xff]"
"""In a value that is apart from words, for RE2; a `?` may be any digit, too."""


def hint_of(name: str) -> str:
    """Return where one of some names is joined so, for RE2."""
    return (
        rf"(?i:{name})[0-9A-Za-z_.-]{{0,40}}(?:[\"'`*_]{{0,2}}[ \t]{{0,40}}[|\t]"
        rf"|[\"']?[ \t]{{0,4}}(?:,?|:[ \t\r\n]{{0,4}}[{{])[ \t\r\n]{{0,24}}[\"']?(?i:value|content)|[\"']?[ \t]{{0,4}}>"
        rf"| ?[(] ?[\"']|[\"'`*_]{{0,2}}(?: ?->| - )|\"\r?\n|[ \t]{{0,4}}:?[ \t]{{0,4}}</)"
        # What stands before the name is left out: to follow that through all text costs more than some false hints.
        rf"|(?i:{name})[0-9A-Za-z_.-]{{0,40}}[\"']?[,;] ?"
        rf"(?:[bBfFrRuU]{{0,2}}[\"'`]|[^\s\"'`;,<>|]{{48}}|[^\s\"'`;,<>|]{{0,47}}{_NO_WORD})"
        rf"|(?i:{name})[ \t\r\n]{{1,12}}`?(?:[^\s\"'`;,<>|]{{48}}|[^\s\"'`;,<>|]{{0,47}}[0-9?\x80-\xff])"
        rf"|[<-](?i:store|key|user|db|api)?(?i:{name}|key)[ \t\r\n]|<[0-9A-Za-z_.:-]{{1,40}}(?i:{name})[ \t\r\n]"
        rf"|(?i:{name})[ \t\r\n]{{1,12}}[bBfFrRuU]{{0,2}}[\"']"
        # What is as long as that is a value whatever stands around it.
        rf"|(?i:{name})[0-9A-Za-z_.-]{{0,40}}[ \t\r\n]{{1,12}}[^\s\"'`;,&<>(){{}}\[\]|]{{48}}"
        rf"|(?i:login)[ \t\r\n]{{1,12}}[!-~]{{1,40}}[ \t\r\n]{{1,12}}(?i:{name})[ \t\r\n]"
    )


def is_joined(
    match: re.Match[str], value: str, behind: int, quoted: str | None, *, is_password: bool
) -> bool:
    """Tell whether a value belongs to the name before it.

    Args:
        match: Of a name, with the groups of `JOINT` and `ELEMENT`.
        value: At least its head.
        behind: The place behind it and behind its quotes.
        quoted: The group that holds a quoted value.
        is_password: Whether the name is one of a password.
    """
    text = match.string
    place = match.start()
    before = max(place - _NEAR, 0)
    if quoted == "x":
        tag = _IN_TAG.search(text, before, place)
        return tag is not None and _is_content(value, is_own=tag.end("element") == place)
    cell, line, field, tags, form, pair, rest, call, dash = match.group(*_GROUPS)
    # Of several tests the quickest one comes first: in a hostile text this runs for every name.
    if cell is not None:
        return (
            is_apart(value)
            and _CELL_ENDS.match(text, behind) is not None
            and _IN_CELL.search(text, before, place) is not None
        )
    if line is not None:
        return (
            text[behind - 1] != ":"
            and is_apart(value)
            and _LINE_ENDS.match(text, behind) is not None
            and not _NO_LINE.match(value)
        )
    if field is not None:
        return is_apart(value)
    if tags is not None:
        return is_apart(value) and _TAG_ENDS.match(text, behind) is not None
    if form is not None:
        return text.endswith('name="', before, place) and _LINE_ENDS.match(text, behind) is not None
    if pair is not None:
        is_listed = (
            quoted is not None
            and text[place - 1 : place] in _OPTION_ENDS
            and _IN_LIST.search(text, before, place) is not None
        )
        return _is_argument(text, value, behind, quoted) if is_listed else _is_pair(match, value, behind)
    if rest:
        return False
    if call is not None:
        return (
            text[behind : behind + 1] in (")", ",")
            and is_apart(value)
            and _IN_CALL.search(text, max(place - _LONGEST_CALL, 0), place) is not None
        )
    if dash is not None:
        return _is_said(value) and _CELL_ENDS.match(text, behind) is not None
    # What stands before most names is neither: that is told at little cost.
    if text[place - 1 : place] in _OPTION_ENDS and _IN_OPTION.match(text[before:place][::-1]) is not None:
        return _is_argument(text, value, behind, quoted)
    if not is_password:
        return False
    is_short = _SHORT.match(match.group()) is not None
    if quoted == "s":
        return match.group()[0].isupper() or is_apart(value)
    if quoted is not None:
        return quoted == "d" and is_apart(value) and not is_short
    if not is_short and _is_said(value) and _SAID.search(text, before, place) is not None:
        return True
    pieces = text[before:place].rsplit(None, _LOGIN_WORDS)
    if pieces[-2:-1] != ["login"] and [word.lower() for word in pieces[-2:-1]] != ["login"]:
        return False
    start = before + len(pieces[0]) if len(pieces) > _LOGIN_WORDS else before
    return _LOGIN.search(text, start, place) is not None


def _is_pair(match: re.Match[str], value: str, behind: int) -> bool:
    """Tell whether a name and a value are all that is in a line."""
    text = match.string
    line = text.rfind("\n", max(match.start() - _NEAR, 0), match.start()) + 1
    return (
        is_apart(value)
        and _ONLY_NAME.match(text, line, match.start()) is not None
        and _LINE_ENDS.match(text, behind) is not None
    )


def _is_said(value: str) -> bool:
    """Tell a password that stands in a sentence from a word or a number of one."""
    return (
        len(value) >= _SHORTEST_SAID
        and _SAID_NUMBER.match(value) is None
        and any(map(str.isdigit, value))
        and is_apart(value)
        and not value.startswith("-")
        and "://" not in value
    )


def _is_content(value: str, *, is_own: bool) -> bool:
    """Tell whether what stands in an element is a value; one that only an attribute names is more often a label."""
    if is_own:
        return value.count(" ") < _FEWEST_WORDS - 1 or any(map(str.isdigit, value))
    return is_apart(value) and " " not in value


def _is_argument(text: str, value: str, behind: int, quoted: str | None) -> bool:
    if value.startswith("-") or _CAPITALS.match(value):
        return False
    return quoted is not None or is_apart(value) or _OPTION_GOES_ON.match(text, behind) is not None


def is_over_strings(kind: str | None, text: str, start: int, end: int) -> bool:
    """Tell whether a value between two apostrophes or backticks begins in one string of JSON and ends in another.

    Args:
        kind: Its group: `s`, `b`, or another one.
        text: The folded text.
        start: Where it begins.
        end: Where it ends.
    """
    return (
        kind in ("s", "b")
        and _BETWEEN_STRINGS.search(text, start, end) is not None
        and _is_in_string(text[max(start - _FAR, 0) : start])
    )


def _is_in_string(left: str) -> bool:
    """Tell whether a string of JSON begins in what is to the left of a place, and does not end there.

    What is folded does not tell quotes of JSON from those in its strings, which may be JSON themselves: the place is in
    a string if that which begins last, or all that begin, leave one open.
    """
    starts = [match.end() for match in _STRING_STARTS.finditer(left)]
    return bool(starts) and (left.count('"', starts[-1]) % 2 == 0 or left.count('"', starts[0]) % 2 == 0)


def is_apart(value: str) -> bool:
    """Tell a value from a word, and from the name of a type."""
    if value.isascii():
        has_digit = _DIGIT.search(value) is not None
        is_mixed = has_digit and _LETTER.search(value) is not None
    else:
        has_digit = any(map(str.isdigit, value))
        is_mixed = has_digit and any(map(str.isalpha, value))
    if not is_mixed and _SPECIAL.search(value) is None:
        return False
    lower = value.lower()
    return not (has_digit and _TYPE.match(lower)) and not lower.endswith(_NAMES)
