"""`Operators`: what is put in the place of a match."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.rules import DlpRule
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import PlaceholderVault

__all__ = ["Operators", "shows_match_error"]

_log = logging.getLogger("tramapy.dlp")
_SHOWN_CHARACTERS = 4
_FEWEST_MASKED = 8


class Operators:
    """Makes replacements.

    Args:
        hash_key: The key for `DlpAction.HASH`.
    """

    __slots__ = ("_keyed_hash",)

    def __init__(self, hash_key: bytes | None) -> None:
        self._keyed_hash = None if hash_key is None else _keyed_hash(hash_key)

    def replacement(self, rule: DlpRule, matched: str, vault: PlaceholderVault | None, value: str) -> str:
        """Return what to put in the place of a match.

        Args:
            rule: The rule.
            matched: The match, as it is written in the text.
            vault: Takes the values of placeholders.
            value: What the match stands for: it differs where the text is JSON and the match has escapes.

        Raises:
            DlpInspectionError: The action is to block, or the replacement would show what it replaces.
        """
        action = rule.action
        if action is DlpAction.REDACT:
            replacement = rule.replacement
            if matched.casefold() not in replacement.casefold():
                return replacement
            replacement = _other_marker(rule, matched)
        elif action is DlpAction.PLACEHOLDER:
            return _placeholder(rule, matched, vault, value)
        elif action is DlpAction.MASK:
            replacement = _masked(matched)
        elif action is DlpAction.HASH:
            replacement = self._hashed(rule.id, matched)
        else:
            raise DlpInspectionError(f"DLP rule {rule.id!r} blocks this text")
        if matched.casefold() in replacement.casefold():
            raise shows_match_error(rule.id)
        return replacement

    def log(self, rule_id: str) -> None:
        """Log that a rule found something."""
        _log.info("DLP rule %s found something; its action is to log", rule_id)

    def _hashed(self, rule_id: str, matched: str) -> str:
        assert self._keyed_hash is not None  # noqa: S101  # the configuration requires a key
        return f"[{rule_id}:{self._keyed_hash(matched)}]"


def _keyed_hash(key: bytes) -> Callable[[str], str]:
    from tramapy.dlp.keyed_hash import KeyedHash  # OpenSSL takes longer to load than all else here

    return KeyedHash(key)


_OTHER_MARKERS = ("[REDACTED]", "*****")
_OTHER_KINDS = ("value", "text")


def _other_marker(rule: DlpRule, matched: str) -> str:
    """Return what takes the place of a pack's marker that would show the match, such as its `word`."""
    shown = matched.casefold()
    if rule.replacement != f"[REDACTED:{rule.id}]":
        return rule.replacement
    return next((marker for marker in _OTHER_MARKERS if shown not in marker.casefold()), rule.replacement)


def shows_match_error(rule_id: str) -> DlpInspectionError:
    """Return the error for a replacement that would show what it replaces."""
    return DlpInspectionError(
        f"DLP rule {rule_id!r}: the replacement contains the text that it replaces, ignoring case. Choose a "
        f"replacement that no match can be part of."
    )


def _placeholder(rule: DlpRule, matched: str, vault: PlaceholderVault | None, value: str) -> str:
    assert vault is not None  # noqa: S101  # the interceptor asked for one
    # Its number and the vault's own part are chance: a match of a digit or two may well look like a part of them.
    shown = matched.casefold()
    kind = next((kind for kind in (rule.id, *_OTHER_KINDS) if shown not in kind), None)
    if kind is None:
        raise DlpInspectionError(
            f"DLP rule {rule.id!r} matched a part of its own id, which its placeholders show. Choose another id."
        )
    return vault.protect(kind, value)


def _masked(matched: str) -> str:
    places = [place for place, character in enumerate(matched) if character.isalnum()]
    shown = _SHOWN_CHARACTERS if len(places) - _SHOWN_CHARACTERS >= _FEWEST_MASKED else 0
    hidden = set(places[: len(places) - shown])
    return "".join("*" if place in hidden else character for place, character in enumerate(matched)) or "*"
