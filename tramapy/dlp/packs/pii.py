"""Rules for personal data."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from tramapy.dlp.checks import is_itin, is_ssn
from tramapy.dlp.pack_rule import (
    Cut,
    PackRule,
    has_context,
    holds,
    holds_numbers,
    holds_shape,
    is_in_marker,
)
from tramapy.dlp.view import CONTEXT_LENGTH, View

__all__ = ["RULES"]

# Scripts that are written without blanks are told from those that are not: an address ends where they begin.
_SPACED = "0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u024f\u0300-\u036f\u0370-\u058f\u1e00-\u1fff"
_MARKS = "\u0300-\u036f\u0370-\u058f"
_LOCAL_SPACED = re.compile(rf"[{_SPACED}.+%-]+")
_LOCAL_ANY = re.compile(r"[\w.+%-]+")
_LABEL = rf"[{_SPACED}](?:[{_SPACED}-]{{0,61}}[{_SPACED}])?"
_LETTER = r"[^\W\d_]"
_DOMAIN_SPACED = re.compile(
    rf"(?:{_LABEL}\.){{1,8}}(?:xn--[0-9A-Za-z-]{{2,59}}|(?:(?![0-9_])[{_SPACED}]){{2,24}})"
)
_DOMAIN_ANY = re.compile(
    rf"(?:\w(?:[\w-]{{0,61}}\w)?\.){{1,8}}(?:xn--[0-9A-Za-z-]{{2,59}}|{_LETTER}{{2,24}})"
)
_QUOTED_LOCAL = re.compile(r"\"[^\s\"<>]{1,60}(?: [^\s\"<>]{1,40}){0,2}\"(?![0-9A-Za-z])")
"""Read from its end."""
_SPACED_END = re.compile(rf"[{_SPACED}]")
_USER_INFO = re.compile(r"//[^\s/?#\"'<>]*\Z")
_LONGEST_LOCAL = 64
_LONGEST_LABEL = 64
# The literal in front lets the standard library skip to it; what follows spares most others the search.
_AT = re.compile(rf"@(?=[\w{_MARKS}][\w{_MARKS}-]{{0,62}}\.)")
_LONGEST_USER_INFO = 256


def _emails(view: View) -> Iterator[Cut]:
    text = view.text
    for found in _AT.finditer(text, view.start, min(view.end + _LONGEST_LABEL + 1, len(text))):
        at = found.start()
        if at >= view.end:
            return
        first = text[at + 1 : at + 2]
        domain = (_DOMAIN_SPACED if _SPACED_END.match(first) else _DOMAIN_ANY).match(text, at + 1)
        if domain is None:
            continue
        start = _local_start(text, at)
        if start == at or _is_no_address(text, start, at, domain.end()):
            continue
        yield Cut(start, domain.end())


def _local_start(text: str, at: int) -> int:
    before = text[max(at - _LONGEST_LOCAL, 0) : at][::-1]
    if not before:
        return at
    if before[0] == '"':
        quoted = _QUOTED_LOCAL.match(before)
        return at if quoted is None else at - quoted.end()
    local = (_LOCAL_SPACED if _SPACED_END.match(before) else _LOCAL_ANY).match(before)
    if local is None or before[0] == ".":
        return at
    return at - len(local.group().rstrip(".%+-"))


def _is_no_address(text: str, start: int, at: int, end: int) -> bool:
    """Tell whether it is the `user@host` of an URL, or of a version control system."""
    if text[start:at] == "git" and text[end : end + 1] == ":":
        return True
    slashes = text.rfind("//", max(start - _LONGEST_USER_INFO, 0), start)
    return slashes >= 0 and _USER_INFO.match(text, slashes, start) is not None


_SSN = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][-.])"
    r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}(?![0-9A-Za-z_])(?!-[0-9A-Za-z])(?!\.[0-9])"
)
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
_SSN_HINT = rf"[0-9]{{3}}[ \n-]\n?[0-9]{{2}}[ \n-]\n?[0-9]{{4}}|(?i:{'|'.join(_SSN_WORDS)})"
_NINE = 9
_LONGEST_SSN_WORD = max(map(len, _SSN_WORDS))
_SSN_CONTEXT = re.compile(rf"(?<!\[REDACTED:us_)(?:{'|'.join(_SSN_WORDS)})", re.IGNORECASE)
_NINE_DIGITS = re.compile(r"(?<![0-9A-Za-z_.-])[0-9]{9}(?![0-9A-Za-z_]|[.-][0-9])")


def _ssn_like(view: View) -> list[re.Match[str]]:
    matches = (_SSN.match(view.text, place) for place in view.digit_groups.before_two)
    return [match for match in matches if match is not None]


def _bare_numbers(view: View) -> list[re.Match[str]]:
    """Find nine digits shortly behind a word for them; from the digits, since they are rarer than eight searches."""
    matches = [_NINE_DIGITS.match(view.text, run.start) for run in view.digit_runs if run.length == _NINE]
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


def _ssns(view: View) -> Iterator[Cut]:
    for match in view.once(_ssn_like):
        if is_ssn(match.group()):
            yield Cut(*match.span())
    for match in view.once(_bare_numbers):
        if is_ssn(match.group()):
            yield Cut(*match.span())


def _itins(view: View) -> Iterator[Cut]:
    for match in view.once(_ssn_like):
        number = match.group()
        if number[0] == "9" and (is_itin(number) or has_context(view.text, match.start(), _SSN_CONTEXT)):
            yield Cut(*match.span())
    for match in view.once(_bare_numbers):
        if is_itin(match.group()):
            yield Cut(*match.span())


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
_NANP_LENGTH = 11
_NANP = re.compile(
    r"(?<![0-9A-Za-z_+])(?<![0-9A-Za-z][.-])(?:1[ .-])?"
    r"(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
    r"(?:(?=x[0-9])|(?![0-9A-Za-z_]))(?![.-][0-9A-Za-z])"
)
_NANP_BACK = 8
_NANP_REACH = 16
_NATIONAL = re.compile(
    r"0(?<![^ :(\"'\t\n]0)[0-9]{1,14}+(?:\)[ ./-]?[0-9]{2,14}+)?(?:[ ./-][0-9]{2,14}+){0,5}(?![0-9A-Za-z])"
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


def _has_digits(match: re.Match[str], fewest: int, most: int) -> bool:
    return fewest <= sum(map(str.isdigit, match.group())) <= most


def _is_e164(match: re.Match[str]) -> bool:
    number = match.group()
    is_nanp = number.startswith("+1")
    if not _has_digits(
        match, _NANP_LENGTH if is_nanp else _FEWEST_DIGITS, _NANP_LENGTH if is_nanp else _MOST_DIGITS
    ):
        return False
    # In a diff, a plus before nothing but digits says that the line is new.
    text, start = match.string, match.start()
    return not (
        number[1:].isdigit()
        and text[start - 1 : start] == "\n"
        and _DIFF.search(text, max(start - _DIFF_REACH, 0), start) is not None
    )


def _with_extension(match: re.Match[str]) -> Cut:
    extension = _EXTENSION.match(match.string, match.end())
    return Cut(match.start(), match.end() if extension is None else extension.end())


def _national_phones(view: View) -> Iterator[Cut]:
    text = view.text
    for match in view.matches(_NATIONAL, _LONGEST_NUMBER):
        place = match.start()
        international = _INTERNATIONAL.match(text, place) if text.startswith("00", place) else None
        if international is not None and _has_digits(international, _FEWEST_DIGITS + 2, _MOST_DIGITS + 2):
            yield _with_extension(international)
            continue
        start = place - (text[max(place - 1, 0) : place] == "(")
        if _has_digits(match, _FEWEST_NATIONAL_DIGITS, _MOST_DIGITS) and _is_called_phone(text, start):
            yield Cut(start, _with_extension(match).end)
    for run in view.digit_runs:
        if run.length == _TEN and _is_called_phone(text, run.start):
            bare = _BARE_NANP.match(text, run.start)
            if bare is not None:
                yield Cut(*bare.span())


def _is_called_phone(text: str, start: int) -> bool:
    """Tell whether a word for a telephone stands before a place."""
    before = text[max(start - _LONGEST_PHONE_WORD, 0) : start]
    # Numbers stand before most places; what may end a word is quick to tell.
    return before.rstrip(_PHONE_MARKS)[-1:] in _PHONE_WORD_ENDS and _PHONE_WORD.search(before) is not None


def _phones(view: View) -> Iterator[Cut]:
    text = view.text
    if "+" in view.part:
        for match in view.matches(_E164, _LONGEST_NUMBER):
            if _is_e164(match):
                yield _with_extension(match)
    for place in view.digit_groups.before_four:
        if text[place - 1] in " .-)":
            nanp = _NANP.search(text, max(place - _NANP_BACK, 0), place + _NANP_REACH)
            if nanp is not None and nanp.start() < place:
                yield _with_extension(nanp)
    yield from _national_phones(view)


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(
    rf"(?<![0-9A-Za-z_])(?<![0-9A-Za-z]\.){_OCTET}(?:\.{_OCTET}){{3}}(?![0-9A-Za-z_])(?!\.[0-9])"
)
_THREE_DOTS = re.compile(r"\.(?<=[0-9]\.)[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_LONGEST_IPV4 = 16
_VERSION = re.compile(
    r"(?:(?:\bv|version|release|ver)[ .:=]{0,2}"
    r"|(?:chrome|chromium|crios|edge?|opr|electron|brave|yabrowser|version)/)\Z",
    re.IGNORECASE,
)


def _ipv4s(view: View) -> Iterator[Cut]:
    text = view.text
    for numbers in view.matches(_THREE_DOTS, _LONGEST_IPV4):
        start = dot = numbers.start()
        while start > 0 and dot - start < 3 and text[start - 1].isdigit():
            start -= 1
        match = _IPV4.match(text, start)
        if match is None:
            continue
        address = match.group()
        if address.startswith("127.") or address == "0.0.0.0":  # noqa: S104  # it is looked for
            continue
        if not _VERSION.search(text, max(start - 16, 0), start):
            yield Cut(*match.span())


_IPV6 = re.compile(
    r"(?<![0-9A-Za-z_:.])(?:[0-9A-Fa-f]{1,4}:|::)[0-9A-Fa-f:]{1,38}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![0-9A-Za-z_:])(?!\.[0-9])"
)
_HEX = frozenset("0123456789abcdefABCDEF")
_FEWEST_HEX_DIGITS = 5
_UNSPECIFIED = 0
_LOOPBACK = 1


# The literal in front lets the standard library skip to it.
_COLONS = re.compile(r":(?<!::)[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]?")
_LONGEST_COLONS = 8
_LONGEST_DOTS = 12


def _colons(view: View) -> list[int]:
    """Find two colons with at most four hexadecimal digits between; in an address those are the first two."""
    return [match.start() for match in view.matches(_COLONS, _LONGEST_COLONS)]


def _ipv6s(view: View) -> Iterator[Cut]:
    text = view.text
    done = -1
    for colon in view.once(_colons):
        start = colon
        if start < done:
            continue
        while start > 0 and colon - start < 4 and text[start - 1] in _HEX:
            start -= 1
        match = _IPV6.match(text, start)
        if match is None:
            continue
        done = match.end()
        if _is_ipv6(match.group()):
            yield Cut(*match.span())


def _is_ipv6(text: str) -> bool:
    if text.count(":") < 2 or sum(map(_HEX.__contains__, text)) < _FEWEST_HEX_DIGITS:
        return False
    if not any(map(str.isdigit, text)):
        return False
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return int(address) not in (_UNSPECIFIED, _LOOPBACK)


_MAC = re.compile(
    r"(?<![0-9A-Za-z_:-])[0-9A-Fa-f]{2}(?::(?:[0-9A-Fa-f]{2}:){4}|-(?:[0-9A-Fa-f]{2}-){4})[0-9A-Fa-f]{2}(?![0-9A-Za-z_:-])"
)
_DOTTED_MAC = re.compile(
    r"(?<![0-9A-Za-z_:.-])[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Za-z_:-])(?!\.[0-9A-Za-z])"
)
_MAC_CONTEXT = re.compile(r"\bmac\b|ethernet|hardware|interface|\barp\b|\bvlan\b", re.IGNORECASE)
_DOTS = re.compile(r"\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Za-z_])")
_DASHES = re.compile(r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-")


def _pairs(view: View) -> list[int]:
    """Find the first of two marks with a pair of hexadecimal digits behind each and a third mark behind those."""
    text = view.text
    colons = [place for place in view.once(_colons) if text.startswith(":", place + 3)]
    if "-" in view.part:
        colons += [match.start() for match in view.matches(_DASHES, _LONGEST_COLONS)]
    return colons


def _holds_colons(view: View) -> bool:
    return ":" in view.part and bool(view.once(_colons))


def _holds_mac(view: View) -> bool:
    return bool(view.once(_pairs)) or ("." in view.part and _DOTS.search(view.part) is not None)


def _macs(view: View) -> Iterator[Cut]:
    text = view.text
    for place in view.once(_pairs):
        match = _MAC.match(text, max(place - 2, 0))
        if match is not None and len(set(match.group())) > 2:
            yield Cut(*match.span())
    for dots in view.matches(_DOTS, _LONGEST_DOTS):
        match = _DOTTED_MAC.match(text, max(dots.start() - 4, 0))
        if match is not None and _is_dotted_mac(match):
            yield Cut(*match.span())


def _is_dotted_mac(match: re.Match[str]) -> bool:
    """Tell whether it has digits and letters, as no version and no words do, or is called an address."""
    value = match.group()
    if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        return True
    return has_context(match.string, match.start(), _MAC_CONTEXT)


_ANY_LETTER = r"\x80-\U0010FFFF"
_ADDRESS = rf"0-9A-Za-z_.+%\-{_ANY_LETTER}"

RULES = (
    PackRule(
        id="email",
        title="E-mail addresses, internationalised ones too",
        source="RFC 5321, RFC 6531",
        pattern=rf"{_LOCAL_SPACED.pattern}@{_DOMAIN_SPACED.pattern}",
        replacement="[REDACTED:email]",
        search=_emails,
        gate=holds("@"),
        hint=r"[0-9A-Za-z_%+.\"\-\x80-\xff]@[0-9A-Za-z_\x80-\xff]",
        held=rf"""(?:[{_ADDRESS}]+|"[^\s"<>]+(?: [^\s"<>]+)?(?: [^\s"<>]+)?")@[{_ADDRESS}]*""",
    ),
    PackRule(
        id="us_ssn",
        title="US social security numbers",
        source="SSA, POMS RM 10201.030",
        pattern=_SSN.pattern,
        replacement="[REDACTED:us_ssn]",
        search=_ssns,
        gate=holds_numbers,
        hint=_SSN_HINT,
        held=r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}|[0-9]{9}|[0-9]{3}\.[0-9]{2}\.[0-9]{4}",
    ),
    PackRule(
        id="us_itin",
        title="US individual taxpayer numbers",
        source="IRS, Publication 1915",
        pattern=_SSN.pattern,
        replacement="[REDACTED:us_itin]",
        search=_itins,
        gate=holds_numbers,
        hint=_SSN_HINT,
        held=r"[0-9]{3}(?:-\n?|[ \n])[0-9]{2}(?:-\n?|[ \n])[0-9]{4}|[0-9]{9}|[0-9]{3}\.[0-9]{2}\.[0-9]{4}",
    ),
    PackRule(
        id="phone",
        title="Telephone numbers: with a country code, North American ones, others after a word for them",
        source="ITU-T E.164; NANPA numbering plan",
        pattern=_E164.pattern,
        replacement="[REDACTED:phone]",
        search=_phones,
        gate=holds_shape(b"00"),
        hint=(
            r"\+[1-9][0-9 ()./-]{6}|00[1-9][0-9]{0,2}[ (-]{1,4}[0-9)]"
            r"|(?:[(][0-9]{3}[)][ -]?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}"
            r"|(?i:phone|tel|mobile|cell|fax|call)(?i:[ ._]?(?:no|number|nr|is|me at|us at))?"
            r"[\"']?[ .:=#\t]{0,4}[\"']?[(]?[02-9][0-9]"
        ),
        held=(
            r"[+(0-9][0-9 ()./\-]{6,}"
            r"(?:[ ,;]{0,2}(?:[eE][xX][tT](?:\.|[eE][nN][sS][iI][oO][nN])?[ .:=]{0,2}|[xX])[0-9]*)?"
        ),
    ),
    PackRule(
        id="ipv4",
        title="IPv4 addresses, but loopback and unspecified ones",
        source="RFC 791",
        pattern=_IPV4.pattern,
        replacement="[REDACTED:ipv4]",
        search=_ipv4s,
        gate=holds_shape(b"0.0"),
        hint=r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
        held=r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}",
    ),
    PackRule(
        id="ipv6",
        title="IPv6 addresses, but loopback and unspecified ones",
        source="RFC 4291; tested by the standard library's ipaddress",
        pattern=_IPV6.pattern,
        replacement="[REDACTED:ipv6]",
        search=_ipv6s,
        gate=_holds_colons,
        hint=r"(?:[0-9A-Fa-f]{1,4}:){3}|::[0-9A-Fa-f]|[0-9A-Fa-f]::",
        held=r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*",
    ),
    PackRule(
        id="mac",
        title="MAC addresses",
        source="IEEE 802; EUI-48; Cisco IOS, MAC address format",
        pattern=_MAC.pattern,
        replacement="[REDACTED:mac]",
        search=_macs,
        gate=_holds_mac,
        hint=r"[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-]|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}",
        held=r"[0-9A-Fa-f]{2}(?:[:\-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}",
    ),
)
