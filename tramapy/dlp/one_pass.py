"""`OnePass`: the rules of packs, and rules added to them, on one text in one pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.alive import Alive
from tramapy.dlp.claims import Claim, Found, united
from tramapy.dlp.columns import Columns
from tramapy.dlp.conditions import Allowed, Conditions, applies, find_spans
from tramapy.dlp.detector import PackDetector
from tramapy.dlp.finders import Re2
from tramapy.dlp.folded import Folded
from tramapy.dlp.folding import fold, is_plain
from tramapy.dlp.json_place import begins_json
from tramapy.dlp.markers import Markers
from tramapy.dlp.matcher import Matcher
from tramapy.dlp.operators import Operators
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.packs import password_columns
from tramapy.dlp.replacement import empty_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.seams import Seams
from tramapy.dlp.splicing import CONTINUES, Splicer
from tramapy.dlp.told import Told
from tramapy.hooks.dlp import (
    DlpContentType,
    DlpContext,
    DlpResult,
    InspectedParts,
    unchanged,
    unchecked_result,
)

__all__ = ["OnePass"]

_Found = TypeVar("_Found", bound=Found)
_RANK = itemgetter(3)


class OnePass:
    """All rules, compiled; safe to share between threads.

    Args:
        packed: The packs' rules, in order of precedence, at least one.
        added: The others, with their compiled patterns.
        re2: The module to find hints with; None for the standard library.
        allowed: Matches that stay.
        operators: Make the replacements.
    """

    def __init__(
        self,
        packed: Sequence[PackRule],
        added: Sequence[tuple[DlpRule, Matcher]],
        *,
        re2: Re2 | None,
        allowed: Allowed,
        operators: Operators,
    ) -> None:
        self.rules: tuple[DlpRule, ...] = (*packed, *(rule for rule, _ in added))
        self.packed: tuple[PackRule, ...] = tuple(packed)
        self.matchers: tuple[Matcher, ...] = tuple(matcher for _, matcher in added)
        self.detector: PackDetector = PackDetector(packed, re2)
        self.alive: Alive = Alive(rule.held for rule in packed)
        self.operators = operators
        self.column_rank: int | None = next(
            (rank for rank, rule in enumerate(self.packed) if rule.id == password_columns.ID), None
        )
        """The place of the rule for passwords in columns, if it is here; its search finds headings only."""
        self._allowed = allowed
        self._conditions = tuple(map(Conditions, self.rules))
        self._everything: Collection[int] = range(len(self.rules))
        self._is_limited = any(
            rule.tool_names or len(rule.enabled_for) < len(DlpContentType) for rule in self.rules
        )
        self._keeps_all = (
            not self._allowed
            and all(conditions.are_none for conditions in self._conditions)
            and all(rule.action is not DlpAction.LOG for rule in self.rules)
        )
        redacts_all = all(rule.action is DlpAction.REDACT for rule in self.rules)
        self._markers = Markers(self.rules, operators) if redacts_all else None

    def applying(self, context: DlpContext) -> Collection[int]:
        """Return the places of the rules that are meant for a text."""
        if not self._is_limited:
            return self._everything
        return frozenset(place for place in self._everything if applies(self.rules[place], context))

    def may_drop(self, ranks: Iterable[int]) -> bool:
        """Tell whether a cut of some rules may be dropped as it comes; other actions and conditions need all of it."""
        return not self._allowed and all(
            self._conditions[rank].are_none and self.rules[rank].action in (DlpAction.REDACT, DlpAction.BLOCK)
            for rank in ranks
        )

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return a whole text, redacted."""
        claims = self._packed_claims(text)
        if not claims and not self.matchers:
            return unchanged(text)
        if self.matchers or self._is_limited or not self._keeps_all:
            applying = self.applying(context)
            claims += self._added_claims(text, applying)
            claims = self.kept(claims, applying, text, 0, self._tell)
            if not claims:
                return unchanged(text)
        cuts = united(claims) if len(claims) > 1 else claims
        if self._markers is not None:
            if not begins_json(text):
                return self._markers.put(text, cuts)
            if "\\" not in text:
                return self._markers.put_in_json(text, cuts)
        splicer = Splicer(self.rules, self.operators, context.vault)
        sanitized = splicer.splice(text, cuts)
        return unchecked_result(sanitized, splicer.redactions)

    def inspect_parts(self, context: DlpContext, parts: Sequence[str]) -> InspectedParts:
        """Return the parts of a text, redacted by what all of them hold together and each holds by itself."""
        text = "".join(parts)
        applying = self.applying(context)
        claims = {*self._packed_claims(text), *self._added_claims(text, applying)}
        start = 0
        seams = Seams()
        for part in parts:
            for first, minus_last, is_guess, rank in (
                *self._packed_claims(part),
                *self._added_claims(part, applying),
            ):
                claims.add((first + start, minus_last - start, is_guess, rank))
            start += len(part)
            seams.add(start)
        cuts = united(self.kept(sorted(claims), applying, text, 0, Told(self.operators).tell))
        if not cuts:
            return InspectedParts(parts, ())
        splicer = Splicer(self.rules, self.operators, context.vault)
        sanitized = seams.put(text, [*map(Claim._make, cuts)], 0, splicer.splice)
        texts = [sanitized[first:last] for first, last in pairwise((0, *seams.take()))]
        return InspectedParts(texts, splicer.redactions)

    def _packed_claims(self, text: str) -> list[Found]:
        folded = None if is_plain(text) else fold(text)
        claims = self.detector.claims(text if folded is None else folded.text)
        if claims and folded is not None and not folded.is_aligned:
            claims = [_original(claim, folded) for claim in claims]
        if claims and self.column_rank in map(_RANK, claims):
            columns = Columns()
            claims = [claim for claim in claims if claim[3] != self.column_rank]
            claims += self.claims_of_columns([*columns.feed(text), *columns.finish()])
        return claims

    def _added_claims(self, text: str, applying: Collection[int]) -> list[Found]:
        return [
            claim
            for rank, matcher in enumerate(self.matchers, len(self.packed))
            if rank in applying
            for claim in self.claims_of(rank, matcher, text)
        ]

    def claims_of_columns(self, spans: Iterable[tuple[int, int]]) -> list[Claim]:
        """Return the claims for what stands in columns of passwords."""
        rank = self.column_rank
        return [] if rank is None else [Claim(start, -end, True, rank) for start, end in spans]

    def claims_of(self, rank: int, matcher: Matcher, text: str) -> Iterable[Claim]:
        """Return the claims of an added rule in a whole text."""
        for span in find_spans(matcher, text):
            if span.start == span.end:
                raise empty_match_error(self.rules[rank])
            yield Claim(span.start, -span.end, False, rank)

    def kept(
        self,
        claims: list[_Found],
        applying: Collection[int],
        text: str,
        start: int,
        tell: Callable[[str, int, int], None],
    ) -> list[_Found]:
        """Return the claims that count.

        Args:
            claims: As places in the whole text.
            applying: The rules that are meant for it.
            text: A piece of it that holds them, and what their conditions need to the left.
            start: Where that piece begins.
            tell: Takes the id of a rule that only logs, and where its match begins and ends.
        """
        if self._keeps_all and applying is self._everything:
            return claims
        return [
            claim
            for claim in claims
            if claim[-1] == CONTINUES or (claim[-1] in applying and self._counts(claim, text, start, tell))
        ]

    def _tell(self, rule_id: str, start: int, end: int) -> None:
        del start, end
        self.operators.log(rule_id)

    def _counts(self, claim: Found, text: str, start: int, tell: Callable[[str, int, int], None]) -> bool:
        begin, minus_end, _, rank = claim
        first, last = begin - start, -minus_end - start
        if not self._conditions[rank].hold(text, first, last):
            return False
        if self._allowed and self._allowed.covers(text[first:last]):
            return False
        rule = self.rules[rank]
        if rule.action is DlpAction.LOG:
            tell(rule.id, begin, -minus_end)
            return False
        return True


def _original(claim: Found, folded: Folded) -> Found:
    start, minus_end, is_guess, rank = claim
    start, end = folded.original(start, -minus_end)
    return start, -end, is_guess, rank
