"""`Markers`: put replacements into a whole text, at less cost than `Splicer`."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tramapy.dlp.claims import Found
from tramapy.dlp.json_place import JsonPlace
from tramapy.dlp.operators import Operators
from tramapy.dlp.rules import DlpRule
from tramapy.hooks.dlp import DlpRedaction, DlpResult, unchecked_result

__all__ = ["Markers"]

_FEW = 4
"""So many cuts are likely to be of the same rules as those of another text."""
_MOST_KNOWN = 1_024
_NEAR = 16
_NUMBER_STARTS = "-0123456789"
_MARK = re.compile(r"[\",:{}\[\]]")
"""Where neither is in a match outside of strings, nothing has to be fitted in."""


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
        in_string = JsonPlace(is_json=True, in_string=True)
        self._in_strings = tuple(in_string.fit(rule.replacement, "x") for rule in rules)

    def put(self, text: str, cuts: Iterable[Found]) -> DlpResult:
        """Return a text that is no JSON with replacements.

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
        return self._result(pieces, ranks)

    def put_in_json(self, text: str, cuts: Iterable[Found]) -> DlpResult:
        """Do the same for JSON that holds no backslash: the number of quotes before a place tells what it is in.

        Raises:
            DlpInspectionError: A replacement would show what it replaces.
        """
        pieces: list[str] = []
        ranks: list[int] = []
        done = 0
        in_string = False
        for start, minus_end, _, rank in cuts:
            kept = text[done:start]
            if '"' in kept and kept.count('"') % 2:  # to count takes ten times as long as to find none
                in_string = not in_string
            done = -minus_end
            matched = text[start:done]
            replacement, shown, length = self._replacements[rank]
            is_shown = done - start <= length and matched.casefold() in shown
            if is_shown:
                replacement = self._operators.replacement(self._rules[rank], matched, None, matched)
            if in_string and not is_shown and '"' not in matched:
                replacement = self._in_strings[rank]
            elif is_shown or matched[0] in _NUMBER_STARTS or _MARK.search(matched) is not None:
                place = JsonPlace(is_json=True, in_string=in_string, last=_last_mark(text, start))
                replacement = place.fit(replacement, matched)
                if matched.count('"') % 2:
                    in_string = not in_string
            pieces += (kept, replacement)
            if replacement != matched:  # else it was nothing but marks of JSON
                ranks.append(rank)
        pieces.append(text[done:])
        return self._result(pieces, ranks)

    def _result(self, pieces: Iterable[str], ranks: Sequence[int]) -> DlpResult:
        redactions = self._counted if len(ranks) > _FEW else self._known
        return unchecked_result("".join(pieces), redactions(tuple(ranks)))

    def _counted(self, ranks: tuple[int, ...]) -> tuple[DlpRedaction, ...]:
        counts = Counter(ranks)
        return tuple(DlpRedaction(self._rules[rank].id, counts[rank]) for rank in sorted(counts))


def _last_mark(text: str, end: int) -> str:
    """Return the last character before a place that is not blank."""
    start = end
    while start > 0:
        start = max(start - _NEAR, 0)
        mark = text[start:end].rstrip(" \t\r\n")
        if mark:
            return mark[-1]
        end = start
    return ""
