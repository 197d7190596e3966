"""`PackRule`: a rule of a pack: where it looks, what it takes, and what a stream must hold back for it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from tramapy.dlp.rules import DlpRule
from tramapy.dlp.view import CONTEXT_LENGTH, View
from tramapy.hooks.dlp import DlpContentType

__all__ = [
    "ANY_CASE",
    "Check",
    "Cut",
    "Gate",
    "Look",
    "PackRule",
    "Search",
    "StartGate",
    "WithinGate",
    "always",
    "cuts_at",
    "either_case",
    "has_context",
    "holds",
    "holds_numbers",
    "is_in_marker",
    "literals",
    "one_of",
    "words",
]

ANY_CASE: Final = re.IGNORECASE | re.ASCII
"""For words; without ASCII, a `k` would also match the sign for Kelvin, which no stream holds back."""


_LONGEST_BEGINNING = 64


class Cut(NamedTuple):
    """A stretch of the folded text to replace."""

    start: int
    end: int


Search: TypeAlias = Callable[[View], Iterable[tuple[int, int]]]
"""Find every cut of a rule in a view; each depends on its neighbourhood only. Where it is hot, a span will do."""

Gate: TypeAlias = Callable[[View], bool]
"""Tell at little cost whether a search can find anything in a view. Rules with the same gate ask it once."""

Check: TypeAlias = Callable[[str], bool]
"""Tell whether a matched text is what it looks like."""


class Look(NamedTuple):
    """A part of a search, for where its hint is known to stand."""

    hint: str
    search: Search


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PackRule(DlpRule):
    """A rule of a pack.

    Args:
        title: What it finds, in a few words.
        source: Where its form is documented.
        search: Finds its cuts in a folded text.
        gate: Tells whether to search at all; `holds` and `always` give equal gates as one object.
        hint: In RE2's syntax, over the folded text in Latin-1, with `?` for all other characters; ASCII only:
            something that stands where the search would look, at most some dozens of characters long.
        held: In our dialect: everything that may still become a match. A stream holds it back.
        bodies: Patterns: what matches without a longest length begin with, and go on with; the first that fits.
        looks: Find the same as `search` in parts, each where its own hint stands, which is a part of `hint`; nothing
            where there is no cheaper way than `search`.
        is_checked: Whether a form or a checksum makes the match certain; such a rule names what it overlaps.
    """

    title: str
    source: str
    search: Search
    gate: Gate
    hint: str
    held: str
    bodies: Sequence[tuple[str, str]] = ()
    looks: Sequence[Look] = ()
    is_checked: bool = True
    enabled_for: Collection[DlpContentType] = frozenset(DlpContentType)

    def __repr__(self) -> str:
        return f"PackRule(id={self.id!r})"

    def bodies_of(self, text: str, start: int) -> Sequence[re.Pattern[str]]:
        """Return what the match that begins at a place goes on with; nothing where it has a longest length."""
        head = text[start : start + _LONGEST_BEGINNING]
        return [re.compile(body) for begin, body in self.bodies if re.match(begin, head)][:1]


@dataclass(frozen=True, slots=True)
class WithinGate:
    """A gate that only some of the views pass that pass a wider one, which other rules have, too.

    Args:
        wider: Where it does not let pass, the narrower one is not asked.
        narrower: Decides.
    """

    wider: Gate
    narrower: Gate

    def __call__(self, view: View) -> bool:
        """Tell whether both let pass."""
        return self.wider(view) and self.narrower(view)


@dataclass(frozen=True, slots=True)
class StartGate:
    """A gate of one of many rules whose matches begin with literals or words that are looked for together.

    Args:
        find: Finds what stands in a view of all literals of all rules.
        starts: Those that this rule's matches begin with.
    """

    find: Callable[[View], Collection[str | bytes]]
    starts: Collection[str | bytes]

    def __call__(self, view: View) -> bool:
        """Tell whether one of them stands there."""
        return not frozenset(self.starts).isdisjoint(self.find(view))


def one_of(looks: Iterable[Look]) -> str:
    """Return the hint of a rule with several looks."""
    return "|".join(look.hint for look in looks)


def always(_view: View) -> bool:
    """Search every view."""
    return True


@functools.cache
def holds(literal: str) -> Gate:
    """Search a view that holds a literal."""
    if len(literal) == 1:
        return lambda view: literal in view.part

    def gate(view: View) -> bool:
        return view.part.rfind(literal) >= 0  # half the time of `in`, but for a single character

    return gate


def holds_numbers(view: View) -> bool:
    """Search a view that holds digits in groups, at least nine in a row, or two behind two letters."""
    return view.has_numbers


def literals(starts: Iterable[str], pattern: re.Pattern[str], check: Check | None = None) -> Search:
    """Match a pattern at each place of some literals; its group `cut` is cut, else all of it."""
    listed = tuple(starts)

    def search(view: View) -> Sequence[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for literal in listed:
            found += cuts_at(view.text, pattern, view.places_of(literal), check)
        return found

    return search


def words(starts: Iterable[str], pattern: re.Pattern[str], check: Check | None = None) -> Search:
    """Match a pattern at each place of some words, whatever their case."""
    listed = tuple(word.encode() for word in starts)

    def search(view: View) -> Sequence[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for word in listed:
            found += cuts_at(view.text, pattern, view.places_of_word(word), check)
        return found

    return search


def is_in_marker(text: str, place: int) -> bool:
    """Tell whether a place is inside of a marker that was put in the place of a match: its words name nothing."""
    start = text.rfind(_MARKER_START, max(place - _LONGEST_MARKER, 0), place)
    return start >= 0 and _IN_MARKER.fullmatch(text, start, place) is not None


_LONGEST_MARKER = 48
_MARKER_START = "[REDACTED:"
_IN_MARKER = re.compile(r"\[REDACTED:[a-z0-9_]*")


def has_context(text: str, start: int, listed: re.Pattern[str]) -> bool:
    """Tell whether one of some words stands shortly before a place."""
    return listed.search(text, max(start - CONTEXT_LENGTH, 0), start) is not None


def cuts_at(
    text: str, pattern: re.Pattern[str], places: Sequence[int], check: Check | None
) -> Sequence[tuple[int, int]]:
    """Match a pattern at some places; its group `cut` is cut, else all of it."""
    if not places:
        return ()
    match_at = pattern.match
    group = "cut" if pattern.groups else 0
    matches = [match for place in places if (match := match_at(text, place)) is not None]
    return [match.span(group) for match in matches if check is None or check(match.group(group))]


def either_case(word: str) -> str:
    """Write a word for our dialect, where a part of a pattern cannot ignore case."""
    return "".join(
        f"[{letter}{letter.upper()}]" if letter.isalpha() else re.escape(letter) for letter in word
    )
