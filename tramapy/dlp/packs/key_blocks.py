"""Rules for blocks and files of private keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tramapy.dlp.pack_rule import PackRule, WithinGate
from tramapy.dlp.packs.marks import holds_dashes
from tramapy.dlp.view import View

__all__ = ["RULES"]

# What stands between the lines of a block that is indented, quoted, commented, numbered, in a diff or in code.
_PEM_MARKS = r"[\s>|#*\"'`+/\\,;:.-]"
_PEM_JOINT = rf"(?:{_PEM_MARKS}{{0,8}}\n{_PEM_MARKS}{{0,20}}(?:[0-9]{{1,5}}[\s>|:.]{{1,2}})?|\s{{0,4}})"
_HEADERS = "Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject"
_PEM_HEADER = rf"(?:{_HEADERS}): ?[^\n]{{0,100}}\n"
_PEM_END = (
    r"(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|---- END SSH2 (?:ENCRYPTED )?PRIVATE KEY ----)"
)
_PEM_ENDS = r"(?:-----END |---- END |Private-MAC|Private-Hash)"
_WORD = r"(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)(?![0-9A-Za-z+/=])"
"""Behind a block that was cut off."""
_PEM_REST = (
    rf"(?:{_PEM_JOINT}[0-9A-Za-z+/=]{{16,}})*"
    # A stream looks 128 characters ahead: this is 118 of them at most.
    rf"(?:{_PEM_JOINT}=?[0-9A-Za-z+/=]{{1,15}}(?:\n[\s>|#*]{{0,4}}=?[0-9A-Za-z+/=]{{1,15}})?(?={_PEM_JOINT}{_PEM_ENDS})"
    rf"|\s{{0,4}}(?!{_WORD})=?[0-9A-Za-z+/=]{{1,15}})?"
    rf"(?:{_PEM_JOINT}{_PEM_END})?"
)
_PEM = re.compile(
    r"(?:-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----|Private-Lines: [0-9]{1,4}(?![0-9]))"
    rf"(?:{_PEM_JOINT}{_PEM_HEADER})*{_PEM_REST}",
    re.ASCII,
)
_PEM_BODY = rf"(?a:[0-9A-Za-z+/=]*{_PEM_REST})"

_STARTS = ("-----BEGIN ", "---- BEGIN SSH2 ", "Private-Lines: ")


def _holds_block(view: View) -> bool:
    find = view.part.rfind
    return find("BEGIN ") >= 0 or find("Private-Lines: ") >= 0


def _blocks(view: View) -> Iterator[tuple[int, int]]:
    for start in _STARTS:
        for place in view.places_of(start):
            match = _PEM.match(view.text, place)
            if match is not None:
                yield match.span()


RULES = (
    PackRule(
        id="private_key",
        title="Private key blocks, truncated ones too, and the files of SSH2 and PuTTY",
        source="RFC 7468, RFC 1421, RFC 4880; RFC 4716; PuTTY, key file format",
        pattern=_PEM.pattern,
        replacement="[REDACTED:private_key]",
        search=_blocks,
        gate=WithinGate(holds_dashes, _holds_block),
        hint=r"-----BEGIN |---- BEGIN SSH2 |Private-Lines: ",
        held=(
            r"(?:-----BEGIN [0-9A-Z ]*-----|---- BEGIN SSH2 [A-Z ]*----|Private-Lines: [0-9]+)"
            rf"""(?:[\s>|#*"'`+/\\,;:.\-]*(?:{_HEADERS}): ?[^\n]*\n)*"""
            r"""[0-9A-Za-z+/=\s>|#*"'`\\,;:.\-]*"""
        ),
        bodies=(("", _PEM_BODY),),
    ),
)
