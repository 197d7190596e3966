"""`PackDetector`: find what the rules of packs want to cut in a folded text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tramapy.dlp.claims import Found
from tramapy.dlp.finders import Re2
from tramapy.dlp.hints import SHORT_LENGTH, Hints, Stretch
from tramapy.dlp.pack_rule import Gate, Look, PackRule, Search, StartGate, WithinGate
from tramapy.dlp.view import LONGEST_MATCH, View

__all__ = ["PackDetector"]

_LOOK_BACK = 64
"""How far before the start a word may stand that a search begins with."""
_MOST_STRETCHES = 256
"""How many are looked at together: each keeps what is derived from it."""


class PackDetector:
    """Finds claims; safe to share between threads.

    Both backends find the same: the searches of the rules decide, and RE2 only says where they need not look.

    Args:
        rules: In order of precedence; a claim names its rule by its place.
        re2: The module to look for hints with; None to let the searches read all of the text.
    """

    def __init__(self, rules: Sequence[PackRule], re2: Re2 | None) -> None:
        self.rules: tuple[PackRule, ...] = tuple(rules)
        self._gated = _gated(self.rules)
        self._started = _started(self.rules)
        looks = [
            (look, _Search(look.search, not rule.is_checked, rank))
            for rank, rule in enumerate(self.rules)
            for look in rule.looks or (Look(rule.hint, rule.search),)
        ]
        self._looks = tuple(search for _, search in looks)
        """How to search where a hint stands."""
        self._hints = None if re2 is None or not looks else Hints([look.hint for look, _ in looks], re2)

    def claims(self, text: str, start: int = 0) -> list[Found]:
        """Return the claims that begin at or after `start`; what stands before it is context only."""
        found: list[Found] = []
        begin = max(start - _LOOK_BACK, 0) if start else 0
        if self._hints is None:
            view = View(text, begin, len(text))
            for wider, inside in self._gated:
                if wider(view):
                    for gate, searches in inside:
                        if gate is wider or gate(view):
                            for search, is_guess, rank in searches:
                                for first, last in search(view):
                                    found.append((first, -last, is_guess, rank))
            for find, by_start in self._started:
                starts = find(view)
                if starts:
                    begun = {search.rank: search for start in starts for search in by_start.get(start, ())}
                    for search, is_guess, rank in begun.values():
                        for first, last in search(view):
                            found.append((first, -last, is_guess, rank))
        elif len(text) - begin <= SHORT_LENGTH:
            hits = self._hints.hits(text, begin, len(text))
            if hits:
                view = View(text, begin, len(text))
                for hit in hits:
                    search, is_guess, rank = self._looks[hit]
                    for first, last in search(view):
                        found.append((first, -last, is_guess, rank))
        else:
            self._look(self._hints.stretches(text, begin), text, found)
        return [claim for claim in found if claim[0] >= start] if start else found

    def _look(self, stretches: Iterator[Stretch], text: str, found: list[Found]) -> None:
        """Look where hints stand, for one after the other, since what runs again at once takes a third less."""
        ends: dict[int, int] = {}
        while some := tuple(itertools.islice(stretches, _MOST_STRETCHES)):
            views: dict[int, list[View]] = {}
            for start, end, hits in some:
                view = View(text, start, end)
                for hit in hits:
                    views.setdefault(hit, []).append(view)
            for hit, where in views.items():
                search, is_guess, rank = self._looks[hit]
                done = ends.get(hit, 0)
                for view in where:
                    # What begins well inside of a match without a longest length ends with it: to read that again in
                    # each stretch would be quadratic.
                    inside = view.end + LONGEST_MATCH
                    if done < inside:
                        for first, last in search(view):
                            found.append((first, -last, is_guess, rank))
                            if last > inside and last > done:
                                done = last
                ends[hit] = done


class _Search(NamedTuple):
    """How a rule searches, and what is in its claims beside their places."""

    search: Search
    is_guess: bool
    rank: int


_Gated: TypeAlias = tuple[tuple[Gate, tuple[tuple[Gate, tuple[_Search, ...]], ...]], ...]


def _gated(rules: Iterable[PackRule]) -> _Gated:
    """Return searches by their gates, and these by the wider gates around them; a gate on its own is its own."""
    by_gate: dict[Gate, dict[Gate, list[_Search]]] = {}
    for rank, rule in enumerate(rules):
        gate = rule.gate
        if isinstance(gate, StartGate):
            continue
        wider, narrower = (gate.wider, gate.narrower) if isinstance(gate, WithinGate) else (gate, gate)
        search = _Search(rule.search, not rule.is_checked, rank)
        by_gate.setdefault(wider, {}).setdefault(narrower, []).append(search)
    return tuple(
        (wider, tuple((gate, tuple(searches)) for gate, searches in inside.items()))
        for wider, inside in by_gate.items()
    )


_Started: TypeAlias = tuple[
    tuple[Callable[[View], Collection[str | bytes]], Mapping[str | bytes, Sequence[_Search]]], ...
]


def _started(rules: Iterable[PackRule]) -> _Started:
    """Return searches by what their matches begin with, and these by what finds it."""
    by_find: dict[Callable[[View], Collection[str | bytes]], dict[str | bytes, list[_Search]]] = {}
    for rank, rule in enumerate(rules):
        if isinstance(rule.gate, StartGate):
            by_start = by_find.setdefault(rule.gate.find, {})
            for start in rule.gate.starts:
                by_start.setdefault(start, []).append(_Search(rule.search, not rule.is_checked, rank))
    return tuple(by_find.items())
