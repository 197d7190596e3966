"""`PackDetector`: find what the rules of packs want to cut in a folded text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tramapy.dlp.claims import Claim
from tramapy.dlp.finders import Re2
from tramapy.dlp.pack_rule import PackRule, Search
from tramapy.dlp.view import View

__all__ = ["PackDetector"]

_BEFORE = 16
"""How far before a hint a search may begin to look."""
_BEHIND = 192
"""How far behind the start of a hint another one, which it hides, may reach."""
_FEW_HINTS = 8
_BYTES_A_HINT = 128
"""Where hints stand closer than that, reading all of the text costs less."""
_LOOK_BACK = 64
"""How far before the start a word may stand that a search begins with."""
_SHORT = 128
"""Up to this length asking RE2 first does not pay."""


class PackDetector:
    """Finds claims; safe to share between threads.

    Both backends find the same: the searches of the rules decide, and RE2 only says where they need not look.

    Args:
        rules: In order of precedence; a claim names its rule by its place.
        re2: The module to look for hints with; None to let the searches read all of the text.
    """

    def __init__(self, rules: Sequence[PackRule], re2: Re2 | None) -> None:
        self.rules: tuple[PackRule, ...] = tuple(rules)
        self._searches = tuple(
            _Search(rule.search, not rule.is_checked, rank) for rank, rule in enumerate(self.rules)
        )
        gates = dict.fromkeys(rule.gate for rule in self.rules)
        self._gated = tuple(
            (
                gate,
                tuple(
                    search
                    for rule, search in zip(self.rules, self._searches, strict=True)
                    if rule.gate == gate
                ),
            )
            for gate in gates
        )
        self._hints = None if re2 is None or not self.rules else _Hints(self.rules, re2)

    def claims(self, text: str, start: int = 0) -> list[Claim]:
        """Return the claims that begin at or after `start`; what stands before it is context only."""
        found: list[Claim] = []
        begin = max(start - _LOOK_BACK, 0)
        windows = None
        if self._hints is not None and len(text) - start >= _SHORT:
            windows = self._hints.windows(text, begin)
        if windows is None:
            view = View(text, begin, len(text))
            for gate, searches in self._gated:
                if gate(view):
                    _run(searches, view, found)
        else:
            ends = [0] * len(self.rules)
            for window in windows:
                # What begins well inside of a match without a longest length ends with it: to read that again in
                # each window would be quadratic.
                inside = window.end + _BEHIND
                ranks = [rank for rank in window.ranks if ends[rank] < inside]
                view = View(text, window.start, window.end)
                before = len(found)
                _run([self._searches[rank] for rank in ranks], view, found)
                for claim in found[before:]:
                    ends[claim.rank] = max(ends[claim.rank], claim.end)
        return [claim for claim in found if claim.start >= start] if start else found


class _Search(NamedTuple):
    """How a rule searches, and what is in its claims beside their places."""

    search: Search
    is_guess: bool
    rank: int


def _run(searches: Iterable[_Search], view: View, found: list[Claim]) -> None:
    for search, is_guess, rank in searches:
        for start, end in search(view):
            found.append(Claim(start, -end, is_guess, rank))


class _Window(NamedTuple):
    """A stretch of the text, and the rules whose hints stand in it."""

    start: int
    end: int
    ranks: Sequence[int]


class _Hints:
    """Finds where in a text which rules must look, with RE2, over the bytes of the text.

    A search for all hints at once hides one that begins inside of another; so a window reaches further, and a
    set says which hints stand in it.
    """

    def __init__(self, rules: Sequence[PackRule], re2: Re2) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 << 20
        options.encoding = re2.Options.Encoding.LATIN1
        hints = [rule.hint.encode("latin-1") for rule in rules]
        self._any = re2.compile(b"|".join(b"(?:%b)" % hint for hint in dict.fromkeys(hints)), options)
        self._set = re2.Set.SearchSet(options)
        for hint in hints:
            self._set.Add(hint)
        self._set.Compile()

    def windows(self, text: str, begin: int) -> list[_Window] | None:
        """Return windows in order; they do not overlap. None where hints are too many for windows to pay."""
        part = text[begin:] if begin else text
        encoded = part.encode("utf-8", "surrogatepass")
        places = _Places(encoded, begin, is_ascii=len(encoded) == len(part))
        found: list[_Window] = []
        first = last = -1
        allowance = _FEW_HINTS + len(encoded) // _BYTES_A_HINT
        for match in self._any.finditer(encoded):
            start, end = match.span()
            if last < 0 or start - _BEFORE > last:
                if last >= 0:
                    found.append(self._window(encoded, first, last, places))
                first = max(start - _BEFORE, 0)
            last = max(start + _BEHIND, end)  # the next one begins behind the end of this one
            allowance -= 1
            if allowance < 0:
                return None
        if last >= 0:
            found.append(self._window(encoded, first, min(last, len(encoded)), places))
        return found

    def _window(self, encoded: bytes, first: int, last: int, places: _Places) -> _Window:
        ranks = self._set.Match(encoded[first:last]) or ()
        return _Window(places.character(first), places.character(last), sorted(ranks))


class _Places:
    """Turns rising places in UTF-8 into places in the text; one inside of a character into the one before it."""

    def __init__(self, encoded: bytes, begin: int, *, is_ascii: bool) -> None:
        self._encoded = encoded
        self._is_ascii = is_ascii
        self._byte = 0
        self._character = begin
        self._begin = begin

    def character(self, byte: int) -> int:
        if self._is_ascii:
            return self._begin + byte
        part = self._encoded[self._byte : byte]
        self._character += len(part.translate(None, _CONTINUATIONS))
        self._byte = byte
        return self._character


_CONTINUATIONS = bytes(range(0x80, 0xC0))
