"""`Replacement`: what a rule puts in the place of its matches, and what it refuses to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.conditions import Allowed, Conditions
from tramapy.dlp.json_place import JsonPlace
from tramapy.dlp.operators import Operators, shows_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Span
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import PlaceholderVault

__all__ = ["PlaceholderWriter", "Redacted", "Replacement", "empty_match_error"]


@dataclass(frozen=True, slots=True, repr=False)
class Redacted:
    """A text after one rule, and how many matches the rule replaced."""

    text: str
    count: int


class PlaceholderWriter:
    """Writes placeholders into one text; where it is JSON they are fitted in, so that it stays JSON.

    Args:
        vault: Takes the values.
    """

    __slots__ = ("_json", "_read_end", "_vault")

    def __init__(self, vault: PlaceholderVault) -> None:
        self._vault = vault
        self._json = JsonPlace()
        self._read_end = 0

    def read(self, text: str, start: int, end: int) -> None:
        """Read on, up to a place in the whole text; `text` begins at `start` in it."""
        self._json.read(text[self._read_end - start : end - start])
        self._read_end = end

    def replacement(self, operators: Operators, rule: DlpRule, matched: str) -> str:
        """Return what to write in the place of a match that begins where was read to."""
        value = self._json.meaning(matched)
        return self._json.fit(operators.replacement(rule, matched, self._vault, value), matched)


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

    def open(self, vault: PlaceholderVault | None) -> PlaceholderWriter | None:
        """Return what writes the placeholders of one text, if the rule makes any."""
        if vault is None or self._rule.action is not DlpAction.PLACEHOLDER:
            return None
        return PlaceholderWriter(vault)

    def apply(
        self,
        text: str,
        spans: Iterable[Span],
        writer: PlaceholderWriter | None,
        *,
        start: int = 0,
        left: str = "",
    ) -> Redacted:
        """Replace matches.

        Args:
            text: A text, or the part of it that begins at `start`.
            spans: The matches, in order, as places in the whole text.
            writer: What `open` gave for this text.
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
            if writer is not None:
                writer.read(text, start, span.start)
            replacement = self._replacement(matched, text, span.start - start, left, writer)
            if replacement is None:
                continue
            pieces += (text[done - start : span.start - start], replacement)
            done = span.end
            count += 1
        pieces.append(text[done - start :])
        if writer is not None:
            writer.read(text, start, start + len(text))
        return Redacted("".join(pieces), count)

    def _replacement(
        self, matched: str, text: str, place: int, left: str, writer: PlaceholderWriter | None
    ) -> str | None:
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
        if writer is not None:
            return writer.replacement(self._operators, rule, matched)
        return self._operators.replacement(rule, matched, None, matched)


def empty_match_error(rule: DlpRule) -> DlpInspectionError:
    """Return the error for a pattern that matched nothing."""
    return DlpInspectionError(
        f"DLP rule {rule.id!r} matched the empty string. Change its pattern so that every match takes at least "
        f"one character."
    )
