"""Addresses in networks: IPv4, IPv6, MAC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tramapy.dlp.pack_rule import Look, PackRule, has_context, one_of
from tramapy.dlp.packs.many_places import MANY
from tramapy.dlp.packs.marks import holds_dashes, holds_dots
from tramapy.dlp.view import View

__all__ = ["RULES"]

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


_MAC_LOOKS = (
    Look(r"[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-]", _macs_in_pairs),
    Look(r"[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}", _dotted_macs),
)

RULES = (
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
