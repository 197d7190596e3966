"""`DlpAction` and `Operators`: what is put in the place of a match."""

from __future__ import annotations

import enum
import hashlib
import hmac
import logging

from tramapy.errors import DlpInspectionError

__all__ = ["DlpAction", "Operators"]

_log = logging.getLogger("tramapy.dlp")
_SHOWN_CHARACTERS = 4
_FEWEST_MASKED = 8
_HASH_LENGTH = 16


class DlpAction(enum.Enum):
    """What a rule does to its matches."""

    REDACT = "redact"
    """Put the rule's replacement there."""
    MASK = "mask"
    """Put a `*` for each letter and digit but the last four, and for these too where that leaves under eight."""
    HASH = "hash"
    """Put a keyed hash there, the same for the same text: `[email:3f8a...]`."""
    BLOCK = "block"
    """Reject the whole text with `DlpInspectionError`."""
    LOG = "log"
    """Leave the text as it is and log the rule's id."""


class Operators:
    """Makes replacements.

    Args:
        hash_key: The key for `DlpAction.HASH`.
    """

    __slots__ = ("_hash_key",)

    def __init__(self, hash_key: bytes | None) -> None:
        self._hash_key = hash_key

    def replacement(self, rule_id: str, action: DlpAction, redaction: str, matched: str) -> str:
        """Return what to put in the place of a match.

        Raises:
            DlpInspectionError: The action is to block.
        """
        if action is DlpAction.REDACT:
            return redaction
        if action is DlpAction.MASK:
            return _masked(matched)
        if action is DlpAction.HASH:
            return self._hashed(rule_id, matched)
        raise DlpInspectionError(f"DLP rule {rule_id!r} blocks this text")

    def log(self, rule_id: str) -> None:
        """Log that a rule found something."""
        _log.info("DLP rule %s found something; its action is to log", rule_id)

    def _hashed(self, rule_id: str, matched: str) -> str:
        assert self._hash_key is not None  # noqa: S101  # the configuration requires one
        digest = hmac.new(self._hash_key, matched.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[{rule_id}:{digest.hexdigest()[:_HASH_LENGTH]}]"


def _masked(matched: str) -> str:
    places = [place for place, character in enumerate(matched) if character.isalnum()]
    shown = _SHOWN_CHARACTERS if len(places) - _SHOWN_CHARACTERS >= _FEWEST_MASKED else 0
    hidden = set(places[: len(places) - shown])
    return "".join("*" if place in hidden else character for place, character in enumerate(matched)) or "*"
