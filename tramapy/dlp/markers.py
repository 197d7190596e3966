"""`Markers`: put replacements into a whole text that is no JSON, at less cost than `Splicer`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tramapy.dlp.claims import Found
from tramapy.dlp.operators import Operators
from tramapy.dlp.rules import DlpRule
from tramapy.hooks.dlp import DlpRedaction, DlpResult

__all__ = ["Markers"]


class Markers:
    """The replacements of rules whose action is to redact; safe to share between threads.

    Args:
        rules: A cut names its rule by its place.
        operators: Make the replacement where the usual one would show what it replaces.
    """

    def __init__(self, rules: Sequence[DlpRule], operators: Operators) -> None:
        self._rules = rules
        self._operators = operators
        self._replacements = tuple((rule.replacement, rule.replacement.casefold()) for rule in rules)
        self._single = tuple(DlpRedaction(rule.id, 1) for rule in rules)

    def put(self, text: str, cuts: Iterable[Found]) -> DlpResult:
        """Return a text with replacements.

        Args:
            text: The whole text.
            cuts: At least one; united and in order.

        Raises:
            DlpInspectionError: A replacement would show what it replaces.
        """
        pieces: list[str] = []
        counts: dict[int, int] = {}
        replacements = self._replacements
        done = 0
        for start, minus_end, _, rank in cuts:
            pieces.append(text[done:start])
            done = -minus_end
            replacement, shown = replacements[rank]
            # Folding never shortens a text, so what is longer than the replacement cannot be inside it.
            if done - start <= len(shown):
                matched = text[start:done]
                if matched.casefold() in shown:
                    replacement = self._operators.replacement(self._rules[rank], matched, None, matched)
            pieces.append(replacement)
            counts[rank] = counts[rank] + 1 if rank in counts else 1
        pieces.append(text[done:])
        return DlpResult("".join(pieces), self._redactions(counts))

    def _redactions(self, counts: dict[int, int]) -> tuple[DlpRedaction, ...]:
        single = self._single
        ranks = sorted(counts) if len(counts) > 1 else counts
        return tuple(
            [
                single[rank] if counts[rank] == 1 else DlpRedaction(self._rules[rank].id, counts[rank])
                for rank in ranks
            ]
        )
