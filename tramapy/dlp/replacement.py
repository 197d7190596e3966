"""`Replacement`: what a rule puts in the place of its matches, and what it refuses to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tramapy.dlp.conditions import Allowed, Conditions
from tramapy.dlp.operators import DlpAction, Operators
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Span
from tramapy.errors import DlpInspectionError

__all__ = ["Redacted", "Replacement", "empty_match_error", "shows_match_error"]


@dataclass(frozen=True, slots=True, repr=False)
class Redacted:
    """A text after one rule, and how many matches the rule replaced."""

    text: str
    count: int


class Replacement:
    """The replacement of one rule.

    Args:
        rule: Whose replacement it is.
        allowed: Matches that stay.
        operators: Make the replacements.
    """

    def __init__(self, rule: DlpRule, allowed: Allowed, operators: Operators) -> None:
        self._rule = rule
        self._allowed = allowed
        self._operators = operators
        self._conditions = Conditions(rule)
        self._is_plain = rule.action is DlpAction.REDACT and self._conditions.are_none and not allowed
        self._folded = rule.replacement.casefold()

    def apply(self, text: str, spans: Iterable[Span], *, start: int = 0, left: str = "") -> Redacted:
        """Replace matches.

        Args:
            text: A text, or the part of it that begins at `start`.
            spans: The matches, in order, as places in the whole text.
            start: Where `text` begins in the whole text.
            left: What stands before `text`, as much as a condition may ask for.

        Raises:
            DlpInspectionError: The replacement would show what it replaces, or the action is to block.
        """
        pieces: list[str] = []
        done = start
        count = 0
        for span in spans:
            matched = text[span.start - start : span.end - start]
            replacement = self._replacement(matched, text, span.start - start, left)
            if replacement is None:
                continue
            pieces += (text[done - start : span.start - start], replacement)
            done = span.end
            count += 1
        pieces.append(text[done - start :])
        return Redacted("".join(pieces), count)

    def _replacement(self, matched: str, text: str, place: int, left: str) -> str | None:
        """Return what to put there; None to leave it."""
        rule = self._rule
        if self._is_plain:
            # Folding never shortens a text, so what is longer than the folded replacement cannot be inside it.
            if len(matched) <= len(self._folded) and matched.casefold() in self._folded:
                raise shows_match_error(rule.id)
            return rule.replacement
        shift = len(left)
        around = left + text if left else text
        if not self._conditions.hold(around, shift + place, shift + place + len(matched)):
            return None
        if self._allowed and self._allowed.covers(matched):
            return None
        if rule.action is DlpAction.LOG:
            self._operators.log(rule.id)
            return None
        replacement = self._operators.replacement(rule.id, rule.action, rule.replacement, matched)
        if matched.casefold() in replacement.casefold():
            raise shows_match_error(rule.id)
        return replacement


def shows_match_error(rule_id: str) -> DlpInspectionError:
    """Return the error for a replacement that would show what it replaces."""
    return DlpInspectionError(
        f"DLP rule {rule_id!r}: the replacement contains the text that it replaces, ignoring case. Choose a "
        f"replacement that no match can be part of."
    )


def empty_match_error(rule: DlpRule) -> DlpInspectionError:
    """Return the error for a pattern that matched nothing."""
    return DlpInspectionError(
        f"DLP rule {rule.id!r} matched the empty string. Change its pattern so that every match takes at least "
        f"one character."
    )
