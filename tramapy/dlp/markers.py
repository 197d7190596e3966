"""`Markers`: put replacements into a whole text that is no JSON, at less cost than `Splicer`."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence

from tramapy.dlp.claims import Found
from tramapy.dlp.operators import Operators
from tramapy.dlp.rules import DlpRule
from tramapy.hooks.dlp import DlpRedaction, DlpResult, unchecked_result

__all__ = ["Markers"]

_FEW = 4
"""So many cuts are likely to be of the same rules as those of another text."""
_MOST_KNOWN = 1_024


class Markers:
    """The replacements of rules whose action is to redact; safe to share between threads.

    Args:
        rules: A cut names its rule by its place.
        operators: Make the replacement where the usual one would show what it replaces.
    """

    def __init__(self, rules: Sequence[DlpRule], operators: Operators) -> None:
        self._rules = rules
        self._operators = operators
        self._known = functools.lru_cache(maxsize=_MOST_KNOWN)(self._counted)
        self._replacements = tuple(
            (rule.replacement, shown, len(shown))
            for rule in rules
            for shown in (rule.replacement.casefold(),)
        )

    def put(self, text: str, cuts: Iterable[Found]) -> DlpResult:
        """Return a text with replacements.

        Args:
            text: The whole text.
            cuts: At least one; united and in order.

        Raises:
            DlpInspectionError: A replacement would show what it replaces.
        """
        pieces: list[str] = []
        ranks: list[int] = []
        done = 0
        for start, minus_end, _, rank in cuts:
            end = -minus_end
            replacement, shown, length = self._replacements[rank]
            # Folding never shortens a text, so what is longer than the replacement cannot be inside it.
            if end - start <= length and text[start:end].casefold() in shown:
                matched = text[start:end]
                replacement = self._operators.replacement(self._rules[rank], matched, None, matched)
            pieces += (text[done:start], replacement)
            done = end
            ranks.append(rank)
        pieces.append(text[done:])
        redactions = self._counted if len(ranks) > _FEW else self._known
        return unchecked_result("".join(pieces), redactions(tuple(ranks)))

    def _counted(self, ranks: tuple[int, ...]) -> tuple[DlpRedaction, ...]:
        counts = Counter(ranks)
        return tuple(DlpRedaction(self._rules[rank].id, counts[rank]) for rank in sorted(counts))
