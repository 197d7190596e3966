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
        self._counts_all = self._conditions.are_none and not allowed and not self.only_logs
        self._is_plain = rule.action is DlpAction.REDACT and self._counts_all
        self._folded = rule.replacement.casefold()

    def open(self, vault: PlaceholderVault | None) -> PlaceholderWriter | None:
        """Return what writes the placeholders of one text, if the rule makes any."""
        if vault is None or self._rule.action is not DlpAction.PLACEHOLDER:
            return None
        return PlaceholderWriter(vault)

    @property
    def counts_all(self) -> bool:
        """Whether each match is replaced."""
        return self._counts_all

    @property
    def only_logs(self) -> bool:
        """Whether matches stay."""
        return self._rule.action is DlpAction.LOG

    def apply(self, text: str, spans: Iterable[Span], writer: PlaceholderWriter | None) -> Redacted:
        """Replace those matches in a whole text that count.

        Args:
            text: The text.
            spans: The matches, in order.
            writer: What `open` gave for this text.

        Raises:
            DlpInspectionError: The replacement would show what it replaces, or the action is to block.
        """
        counted = self.counted(text, spans)
        if self.only_logs:
            for _ in counted:
                self._operators.log(self._rule.id)
            return Redacted(text, 0)
        return self.put(text, counted, writer)

    def counted(self, text: str, spans: Iterable[Span], *, start: int = 0, left: str = "") -> Iterable[Span]:
        """Return the matches that count.

        Args:
            text: A text, or the part of it that begins at `start`.
            spans: The matches, as places in the whole text.
            start: Where `text` begins in the whole text.
            left: What stands before `text`, as much as a condition or a match may ask for.
        """
        if self._counts_all:
            return spans
        around = left + text if left else text
        shift = len(left) - start
        return [span for span in spans if self._counts(around, span.start + shift, span.end + shift)]

    def put(
        self,
        text: str,
        spans: Iterable[Span],
        writer: PlaceholderWriter | None,
        *,
        start: int = 0,
        left: str = "",
    ) -> Redacted:
        """Replace matches that count.

        Args:
            text: A text, or the part of it that begins at `start`.
            spans: The matches, in order, as places in the whole text. Of one that begins before `text`, what is in it
                is replaced.
            writer: What `open` gave for this text.
            start: Where `text` begins in the whole text.
            left: What stands before `text`, as much as is matched.

        Raises:
            DlpInspectionError: The replacement would show what it replaces, or the action is to block.
        """
        pieces: list[str] = []
        done = start
        count = 0
        for span in spans:
            first = span.start - start
            matched = (
                text[first : span.end - start] if first >= 0 else left[first:] + text[: span.end - start]
            )
            first = max(first, 0)
            if writer is not None:
                writer.read(text, start, start + first)
            pieces += (text[done - start : first], self._replacement(matched, writer))
            done = span.end
            count += 1
        pieces.append(text[done - start :])
        if writer is not None:
            writer.read(text, start, start + len(text))
        return Redacted("".join(pieces), count)

    def _counts(self, text: str, start: int, end: int) -> bool:
        if not self._conditions.hold(text, start, end):
            return False
        return not self._allowed or not self._allowed.covers(text[start:end])

    def _replacement(self, matched: str, writer: PlaceholderWriter | None) -> str:
        """Return what to put there."""
        rule = self._rule
        if self._is_plain:
            # Folding never shortens a text, so what is longer than the folded replacement cannot be inside it.
            if len(matched) <= len(self._folded) and matched.casefold() in self._folded:
                raise shows_match_error(rule.id)
            return rule.replacement
        if writer is not None:
            return writer.replacement(self._operators, rule, matched)
        return self._operators.replacement(rule, matched, None, matched)


def empty_match_error(rule: DlpRule) -> DlpInspectionError:
    """Return the error for a pattern that matched nothing."""
    return DlpInspectionError(
        f"DLP rule {rule.id!r} matched the empty string. Change its pattern so that every match takes at least "
        f"one character."
    )
