"""`Splicer`: put replacements into a text, piece by piece, and count them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tramapy.dlp.claims import Found
from tramapy.dlp.json_place import JsonPlace
from tramapy.dlp.operators import Operators
from tramapy.dlp.rules import DlpRule
from tramapy.hooks.dlp import DlpRedaction, PlaceholderVault

__all__ = ["CONTINUES", "SHORTEST_HEAD", "Splicer"]

_redaction = functools.lru_cache(maxsize=1_024)(DlpRedaction)

CONTINUES = -1
"""The rank of a cut that goes on with the one before it, whose replacement is out already."""
SHORTEST_HEAD = 512
"""The replacement depends on what it replaces: of a shorter head, it may be another one than of the whole cut."""


class Splicer:
    """Builds one sanitized text.

    Args:
        rules: A claim names its rule by its place.
        operators: Make the replacements.
        vault: Takes the values of placeholders.
    """

    __slots__ = ("_counts", "_json", "_operators", "_rules", "_vault")

    def __init__(
        self, rules: Sequence[DlpRule], operators: Operators, vault: PlaceholderVault | None
    ) -> None:
        self._rules = rules
        self._operators = operators
        self._vault = vault
        self._json = JsonPlace()
        self._counts: dict[int, int] = {}

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """What was replaced so far, in the order of the rules."""
        return tuple(
            [_redaction(self._rules[rank].id, count) for rank, count in sorted(self._counts.items())]
        )

    def splice(self, text: str, cuts: Sequence[Found], start: int = 0) -> str:
        """Return a piece of the text with replacements.

        Args:
            text: The piece; the pieces follow one another.
            cuts: Those inside of it, united and in order, as places in the whole text.
            start: Where the piece begins in the whole text.

        Raises:
            DlpInspectionError: A rule blocks, or its replacement would show what it replaces.
        """
        if not cuts:  # as in most pieces of a stream
            self._json.read(text)
            return text
        pieces: list[str] = []
        done = 0
        if self._json.is_left_alone(text):
            counts = self._counts
            replacement = self._operators.replacement
            for first, minus_last, _, rank in cuts:
                pieces.append(text[done : first - start])
                done = -minus_last - start
                if rank != CONTINUES:
                    counts[rank] = counts.get(rank, 0) + 1
                    matched = text[first - start : done]
                    pieces.append(replacement(self._rules[rank], matched, self._vault, matched))
            pieces.append(text[done:])
            return "".join(pieces)
        for first, minus_last, _, rank in cuts:
            pieces.append(self._kept(text[done : first - start]))
            done = -minus_last - start
            pieces.append(self._fitted(rank, text[first - start : done]))
        pieces.append(self._kept(text[done:] if done else text))
        return "".join(pieces)

    def _kept(self, text: str) -> str:
        self._json.read(text)
        return text

    def _fitted(self, rank: int, matched: str) -> str:
        if rank == CONTINUES:
            self._json.read(matched)
            return ""
        rule = self._rules[rank]
        replacement = self._operators.replacement(rule, matched, self._vault, self._json.meaning(matched))
        fitted = self._json.fit(replacement, matched)
        if fitted != matched:  # else it was nothing but marks of JSON
            self._counts[rank] = self._counts.get(rank, 0) + 1
        self._json.read(matched)
        return fitted
