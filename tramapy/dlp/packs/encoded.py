"""A rule for base64 that hides personal data; not among the default packs, since most base64 is harmless."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from tramapy.dlp.folding import fold
from tramapy.dlp.pack_rule import Cut, PackRule, always
from tramapy.dlp.packs.financial import RULES as FINANCIAL_RULES
from tramapy.dlp.packs.pii import RULES as PII_RULES
from tramapy.dlp.view import View

__all__ = ["RULES"]

_BASE64 = re.compile(r"(?<![0-9A-Za-z+/_=-])[0-9A-Za-z+/_-]{16,1024}={0,2}(?![0-9A-Za-z+/_=-])")
_HIDDEN = (*PII_RULES, *FINANCIAL_RULES)


def _encoded(view: View) -> Iterator[Cut]:
    for match in _BASE64.finditer(view.text, view.start):
        if match.start() >= view.end:
            return
        if _hides_something(match.group()):
            yield Cut(*match.span())


def _hides_something(encoded: str) -> bool:
    body = encoded.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        text = base64.b64decode(body + "=" * (-len(body) % 4)).decode()
    except (binascii.Error, ValueError):
        return False
    folded = fold(text).text
    view = View(folded, 0, len(folded))
    return any(rule.gate(view) and any(True for _ in rule.search(view)) for rule in _HIDDEN)


RULES = (
    PackRule(
        id="encoded_pii",
        title="Base64 that decodes to personal or payment data",
        source="RFC 4648",
        pattern=_BASE64.pattern,
        replacement="[REDACTED:encoded_pii]",
        search=_encoded,
        gate=always,
        hint=r"[0-9A-Za-z+/_-]{16}",
        held=r"[0-9A-Za-z+/_\-]{16,}=*",
    ),
)
