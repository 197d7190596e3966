"""E-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tramapy.dlp.pack_rule import PackRule, holds
from tramapy.dlp.packs.many_places import MANY
from tramapy.dlp.view import View

__all__ = ["RULES"]

# Scripts that are written without blanks are told from those that are not: an address ends where they begin.
_SPACED = "0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u024f\u0300-\u036f\u0370-\u058f\u1e00-\u1fff"
_MARKS = "\u0300-\u036f\u0370-\u058f"
_USUAL_LOCAL = re.compile(rf"[{_SPACED}](?:[{_SPACED}.+%-]*[{_SPACED}])?")
"""Read from its end, and no dot or sign at its beginning."""
_LOCAL_ANY = re.compile(r"[\w.+%-]+")
_LABEL = rf"[{_SPACED}](?:[{_SPACED}-]{{0,61}}[{_SPACED}])?"
_LETTER = r"[^\W\d_]"
_DOMAIN_SPACED = re.compile(
    rf"(?:{_LABEL}\.){{1,8}}(?:xn--[0-9A-Za-z-]{{2,59}}|(?:(?![0-9_])[{_SPACED}]){{2,24}})"
)
_DOMAIN_ANY = re.compile(
    rf"(?:\w(?:[\w-]{{0,61}}\w)?\.){{1,8}}(?:xn--[0-9A-Za-z-]{{2,59}}|{_LETTER}{{2,24}})"
)
# Without commas and colons: else a stream would hold back JSON from one quote to the next, on and on.
_QUOTED = r"[^\s\"<>,:]"
_QUOTED_LOCAL = re.compile(rf"\"{_QUOTED}{{1,60}}(?: {_QUOTED}{{1,40}}){{0,2}}\"(?![0-9A-Za-z])")
"""Read from its end."""
_SPACED_END = re.compile(rf"[{_SPACED}]")
_USER_INFO = re.compile(r"//[^\s/?#\"'<>]*\Z")
_LONGEST_LOCAL = 64
_LONGEST_LABEL = 64
# The literal in front lets the standard library skip to it; what follows spares most others the search.
_AT = re.compile(rf"@(?=[\w{_MARKS}][\w{_MARKS}-]{{0,62}}\.)")
_DOMAIN_AT = re.compile(
    rf"@(?=(?:[\w{_MARKS}][\w{_MARKS}-]{{0,62}}+\.){{1,8}}(?:xn--|(?:(?![\d_])[\w{_MARKS}]){{2}}))"
)
"""The same where there are many; it spares nearly all that are none."""
_PICTURE = re.compile(r"@[1-9]x\.(?:png|jpe?g|gif|webp|svg|pdf|heic|avif)(?![0-9A-Za-z])", re.IGNORECASE)
"""How the name of a picture for screens of more dots is called, such as `icon@2x.png`."""
_LONGEST_DOMAIN = 8 * _LONGEST_LABEL + 8
_LONGEST_USER_INFO = 256


def _emails(view: View) -> Sequence[tuple[int, int]]:
    text = view.text
    found: list[tuple[int, int]] = []
    signs = view.matches(_AT, _LONGEST_LABEL + 1)
    are_many = len(signs) > MANY
    if are_many:
        signs = view.matches(_DOMAIN_AT, _LONGEST_DOMAIN)
    for sign in signs:
        at = sign.start()
        if are_many and text[at - 1] != '"' and _is_user_info(text, at, at):
            continue
        domain = (_DOMAIN_SPACED if _SPACED_END.match(text, at + 1) else _DOMAIN_ANY).match(text, at + 1)
        if domain is not None:
            start, end = _local_start(text, at), domain.end()
            if (
                start < at
                and not _is_no_address(text, start, at, end)
                and not (text[at + 1].isdigit() and _PICTURE.match(text, at))
            ):
                found.append((start, end))
    return found


def _local_start(text: str, at: int) -> int:
    before = text[max(at - _LONGEST_LOCAL, 0) : at][::-1]
    usual = _USUAL_LOCAL.match(before)
    if usual is not None:
        return at - usual.end()
    if not before:
        return at
    if before[0] == '"':
        quoted = _QUOTED_LOCAL.match(before)
        return at if quoted is None else at - quoted.end()
    local = _LOCAL_ANY.match(before)
    if local is None or before[0] == ".":
        return at
    return at - len(local.group().rstrip(".%+-"))


def _is_no_address(text: str, start: int, at: int, end: int) -> bool:
    """Tell whether it is the `user@host` of an URL, or of a version control system."""
    if text[start:at] == "git" and text[end : end + 1] == ":":
        return True
    return _is_user_info(text, start, start)


def _is_user_info(text: str, start: int, end: int) -> bool:
    """Tell whether what stands before `end` goes back to two slashes that are no farther before `start`."""
    slashes = text.rfind("//", max(start - _LONGEST_USER_INFO, 0), end)
    return slashes >= 0 and _USER_INFO.match(text, slashes, end) is not None


_ANY_LETTER = r"\x80-\U0010FFFF"
_ADDRESS = rf"0-9A-Za-z_.+%\-{_ANY_LETTER}"

RULES = (
    PackRule(
        id="email",
        title="E-mail addresses, internationalised ones too",
        source="RFC 5321, RFC 6531",
        pattern=rf"[{_SPACED}.+%-]+@{_DOMAIN_SPACED.pattern}",
        replacement="[REDACTED:email]",
        search=_emails,
        gate=holds("@"),
        hint=r"[0-9A-Za-z_%+.\"\-?\x80-\xff]@[0-9A-Za-z_?\x80-\xff]",
        held=rf"""(?:[{_ADDRESS}]+|"{_QUOTED}+(?: {_QUOTED}+)?(?: {_QUOTED}+)?")@[{_ADDRESS}]*""",
    ),
)
