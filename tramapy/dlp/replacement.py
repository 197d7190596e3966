"""`Replacement`: what a rule puts in the place of its matches, and what it refuses to do."""

from __future__ import annotations

from collections.abc import Iterable

from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Span
from tramapy.errors import DlpInspectionError

__all__ = ["Replacement", "empty_match_error"]


class Replacement:
    """The replacement of one rule.

    Args:
        rule: Whose replacement it is.
    """

    def __init__(self, rule: DlpRule) -> None:
        self._rule_id = rule.id
        self._text = rule.replacement
        self._folded = rule.replacement.casefold()

    def apply(self, text: str, spans: Iterable[Span], *, start: int = 0) -> str:
        """Replace matches.

        Args:
            text: A text, or the part of it that begins at `start`.
            spans: The matches, in order, as places in the whole text.
            start: Where `text` begins in the whole text.

        Raises:
            DlpInspectionError: The replacement would show what it replaces.
        """
        pieces: list[str] = []
        done = start
        for span in spans:
            self._check(text[span.start - start : span.end - start])
            pieces += (text[done - start : span.start - start], self._text)
            done = span.end
        pieces.append(text[done - start :])
        return "".join(pieces)

    def _check(self, matched: str) -> None:
        # Folding never shortens a text, so what is longer than the folded replacement cannot be inside it.
        if len(matched) <= len(self._folded) and matched.casefold() in self._folded:
            raise DlpInspectionError(
                f"DLP rule {self._rule_id!r}: the replacement contains the text that it replaces, ignoring "
                f"case. Choose a replacement that no match can be part of."
            )


def empty_match_error(rule: DlpRule) -> DlpInspectionError:
    """Return the error for a pattern that matched nothing."""
    return DlpInspectionError(
        f"DLP rule {rule.id!r} matched the empty string. Change its pattern so that every match takes at least "
        f"one character."
    )
