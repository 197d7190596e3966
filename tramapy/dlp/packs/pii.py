"""Rules for personal data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tramapy.dlp.checks import is_itin, is_ssn
from tramapy.dlp.pack_rule import (
    Cut,
    Look,
    PackRule,
    WithinGate,
    always,
    has_context,
    holds,
    holds_numbers,
    is_in_marker,
    one_of,
)
from tramapy.dlp.packs.many_places import MANY
from tramapy.dlp.packs.marks import holds_dashes, holds_dots
from tramapy.dlp.view import CONTEXT_LENGTH, View

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


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(
    rf"(?<![0-9A-Za-z_])(?<![0-9A-Za-z]\.){_OCTET}(?:\.{_OCTET}){{3}}(?![0-9A-Za-z_])(?!\.[0-9])"
)
_THREE_DOTS = re.compile(r"\.(?<=[0-9]\.)[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_LONGEST_IPV4 = 16
_LONGEST_VERSION = 40
_NUMBERED = ("version", "release", "ver", "section", "clause", "chapter", "paragraph", "identifier", "oid")
_BROWSERS = ("chrome", "chromium", "crios", "edge", "edg", "opr", "electron", "brave", "yabrowser", "version")


def _backwards(listed: Iterable[str]) -> str:
    return "|".join(word[::-1] for word in listed)


_VERSION = re.compile(
    rf"(?:-[0-9.]{{7,15}})?[\"']?[ .:=(-]{{0,3}}[\"']?"
    rf"(?:s?(?:dedda|degnahc)?(?:{_backwards(_NUMBERED)})|v(?![0-9A-Za-z_]))"
    rf"|/(?:{_backwards(_BROWSERS)})|==[0-9a-z_\]-]| ?\u00a7",
    re.IGNORECASE,
)
"""What stands before a version or the number of a section, read from its end."""
_PICTURE = re.compile(r"@[1-9]x\.(?:png|jpe?g|gif|webp|svg|pdf|heic|avif)(?![0-9A-Za-z])", re.IGNORECASE)
"""How the name of a picture for screens of more dots is called, such as `icon@2x.png`."""


def _ipv4s(view: View) -> Iterator[tuple[int, int]]:
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
        if not _is_version(text, start):
            yield match.span()


def _is_version(text: str, start: int) -> bool:
    return _VERSION.match(text[max(start - _LONGEST_VERSION, 0) : start][::-1]) is not None


_IPV6 = re.compile(
    r"(?<![0-9A-Za-z_:.])(?:[0-9A-Fa-f]{1,4}:|::)[0-9A-Fa-f:]{1,38}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![0-9A-Za-z_:])(?!\.[0-9])"
)
_HEX = "0123456789abcdefABCDEF"
_FEWEST_HEX_DIGITS = 5
_ANY_DIGIT = re.compile(r"[0-9]")
_FOUR_OCTETS = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_GROUPS = 8
_LONGEST_GROUP = 4
_GROUP_LENGTHS = frozenset(range(1, _LONGEST_GROUP + 1))


# The literal in front lets the standard library skip to it.
_COLONS = re.compile(r":(?<!::)[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]?")
# Where there are many, these ask for more of what an address and its neighbourhood are like.
_HEX_DIGIT = "[0-9A-Fa-f]"
_ADDRESS_COLON = re.compile(
    rf":(?<!::)(?<!{_HEX_DIGIT}{{5}}:)"
    + "".join(
        rf"(?<![G-Zg-z_.{mark}]{_HEX_DIGIT}{{{length}}}:)"
        for length, mark in enumerate(("", ":", ":", ":", ":"))
    )
    + rf"(?=(?:{_HEX_DIGIT}{{1,4}}:){{0,6}}+:|(?:{_HEX_DIGIT}{{1,4}}:){{5}})"
)
_NAMED = (
    "(?:"
    + "".join(rf"(?<=[G-Zg-z_\x80-\U0010ffff][0-9A-Za-z]{{{length}}}:)|" for length in range(4))
    + "(?<=[0-9A-Za-z]{5}:))"
)
"""Behind the colon of a name: what stands before it is no group of an address."""
_PAIR_COLON = re.compile(
    rf":(?:(?<={_HEX_DIGIT}{{2}}:)(?<![0-9A-Za-z_:-]..:)|{_NAMED})(?={_HEX_DIGIT}{{2}}:{_HEX_DIGIT}{{2}}:)"
)
_LONGEST_ADDRESS = 48
_LONGEST_COLONS = 8
_LONGEST_DOTS = 12


def _colons(view: View) -> Sequence[int]:
    """Find two colons with at most four hexadecimal digits between; in an address those are the first two."""
    if ":" not in view.part:
        return []
    return [match.start() for match in view.matches(_COLONS, _LONGEST_COLONS)]


def _ipv6s(view: View) -> Iterator[tuple[int, int]]:
    text = view.text
    done = -1
    colons = view.once(_colons)
    if len(colons) > MANY:
        colons = [match.start() for match in view.matches(_ADDRESS_COLON, _LONGEST_ADDRESS)]
    for colon in colons:
        if colon < done:
            continue
        group = text[max(colon - _LONGEST_GROUP, 0) : colon]
        match = _IPV6.match(text, colon - len(group) + len(group.rstrip(_HEX)))
        if match is None:
            continue
        done = match.end()
        if _is_ipv6(match.group()):
            yield match.span()


def _is_ipv6(text: str) -> bool:
    """Tell whether it is an address as RFC 4291, 2.2 writes it; `ipaddress` tells the same in ten times as long."""
    if text.count(":") < _GROUPS - 2 and "::" not in text:
        return False
    if len(text.encode().translate(None, b":.")) < _FEWEST_HEX_DIGITS or _ANY_DIGIT.search(text) is None:
        return False
    significant = text.strip("0:.")
    if not significant or (significant == "1" and text.endswith("1")):  # unspecified, or loopback
        return False
    if "." in text:
        text, _, last = text.rpartition(":")
        if _FOUR_OCTETS.fullmatch(last) is None:
            return False
        text += ":0:0"
    head, gap, tail = text.partition("::")
    groups = head.split(":") if head else []
    if not gap:
        return len(groups) == _GROUPS and _GROUP_LENGTHS.issuperset(map(len, groups))
    groups += tail.split(":") if tail else []
    return len(groups) < _GROUPS and _GROUP_LENGTHS.issuperset(map(len, groups))


_MAC = re.compile(
    rf"(?:(?<![0-9A-Za-z_:-])|{_NAMED})[0-9A-Fa-f]{{2}}(?::(?:[0-9A-Fa-f]{{2}}:){{4}}|-(?:[0-9A-Fa-f]{{2}}-){{4}})[0-9A-Fa-f]{{2}}(?![0-9A-Za-z_])(?![:-][0-9A-Za-z_:-])"
)
_DOTTED_MAC = re.compile(
    rf"(?:(?<![0-9A-Za-z_:.-])|{_NAMED})[0-9A-Fa-f]{{4}}\.[0-9A-Fa-f]{{4}}\.[0-9A-Fa-f]{{4}}(?![0-9A-Za-z_])(?![:-][0-9A-Za-z_:-])(?!\.[0-9A-Za-z])"
)
_MAC_CONTEXT = re.compile(r"\bmac\b|ethernet|hardware|interface|\barp\b|\bvlan\b", re.IGNORECASE)
_DOTS = re.compile(r"\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Za-z_])")
_DASHES = re.compile(r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-")


def _pairs(view: View) -> list[int]:
    """Find the first of two marks with a pair of hexadecimal digits behind each and a third mark behind those."""
    text = view.text
    colons = view.once(_colons)
    if len(colons) > MANY:
        colons = [match.start() for match in view.matches(_PAIR_COLON, _LONGEST_COLONS)]
    else:
        colons = [p for p in colons if text.startswith(":", p + 6) and text.startswith(":", p + 3)]
    if holds_dashes(view):
        colons += [match.start() for match in view.matches(_DASHES, _LONGEST_COLONS)]
    return colons


def _dots(view: View) -> list[int]:
    """Find the first of two dots with four hexadecimal digits behind each."""
    return [match.start() for match in view.matches(_DOTS, _LONGEST_DOTS)]


def _holds_colons(view: View) -> bool:
    return bool(view.once(_colons))


def _holds_mac(view: View) -> bool:
    if (view.once(_colons) or holds_dashes(view)) and view.once(_pairs):
        return True
    return holds_dots(view) and bool(view.once(_dots))


def _macs_in_pairs(view: View) -> list[tuple[int, int]]:
    text = view.text
    matches = [
        _MAC.match(text, max(place - 2, 0)) or _MAC.match(text, place + 1) for place in view.once(_pairs)
    ]
    return [match.span() for match in matches if match is not None and len(set(match.group())) > 2]


def _dotted_macs(view: View) -> list[tuple[int, int]]:
    matches = [_DOTTED_MAC.match(view.text, max(dot - 4, 0)) for dot in view.once(_dots)]
    return [match.span() for match in matches if match is not None and _is_dotted_mac(match)]


def _macs(view: View) -> list[tuple[int, int]]:
    return _macs_in_pairs(view) + _dotted_macs(view)


def _is_dotted_mac(match: re.Match[str]) -> bool:
    """Tell whether it has digits and letters, as no version and no words do, or is called an address."""
    value = match.group()
    if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        return True
    return has_context(match.string, match.start(), _MAC_CONTEXT)


_ANY_LETTER = r"\x80-\U0010FFFF"
_ADDRESS = rf"0-9A-Za-z_.+%\-{_ANY_LETTER}"

_SSN_LOOKS = (Look(f"[0-8]{_NINE_HINT}", _likely_ssns), Look(_WORD_HINT, _bare_ssns))
_ITIN_LOOKS = (Look(f"9{_NINE_HINT}", _likely_itins), Look(_WORD_HINT, _bare_itins))
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
_MAC_LOOKS = (
    Look(r"[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-]", _macs_in_pairs),
    Look(r"[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}", _dotted_macs),
)

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
    PackRule(
        id="ipv4",
        title="IPv4 addresses, but loopback and unspecified ones",
        source="RFC 791",
        pattern=_IPV4.pattern,
        replacement="[REDACTED:ipv4]",
        search=_ipv4s,
        gate=holds_dots,
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
        hint=r"(?:[0-9A-Fa-f]{1,4}:){6}|::[0-9A-Fa-f]|[0-9A-Fa-f]::",
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
        hint=one_of(_MAC_LOOKS),
        looks=_MAC_LOOKS,
        held=r"[0-9A-Fa-f]{2}(?:[:\-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}",
    ),
)
