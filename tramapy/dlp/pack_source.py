"""`PackSource`: what the packs' rules claim in a text that comes in pieces.

What may still be matched is held back while a match may be under way (`Alive`), and while what follows may still
decide on one. A match without a longest length is not held: once it is certain it is claimed, and the rest of it as
it comes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tramapy.dlp.alive import AliveState
from tramapy.dlp.claims import Claim, united_claims
from tramapy.dlp.folding import Folded, FoldedPieces
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.splicing import CONTINUES
from tramapy.dlp.undecided import Undecided
from tramapy.dlp.view import LEFT_LENGTH, LONGEST_MATCH

__all__ = ["PackSource"]

_LOOK_AHEAD = 12
"""How many characters behind a match may still decide on it."""
_TAIL = 256
"""How much of a match that is being dropped is kept, to see where it ends."""


class _Body(NamedTuple):
    """A match without a longest length that is under way.

    Args:
        rank: Its rule.
        is_guess: As in its claim.
        is_first: Whether it begins where the cut does, so that the cut may have its name.
        pattern: How it goes on.
    """

    rank: int
    is_guess: bool
    is_first: bool
    pattern: re.Pattern[str]


class PackSource:
    """What the packs' rules claim in a text that comes in pieces, and up to where they have decided.

    Between two places at which no match is under way lies a segment; one in which a match may have ended is hot
    and will be searched, the others are let through.

    Args:
        one_pass: The rules.
        applying: The places of those that are meant for the text.
        claims: Takes what is claimed, as places in the text.

    Attributes:
        decided_end: The place up to which nothing more will be claimed.
    """

    __slots__ = (
        "_applying",
        "_bodies",
        "_claims",
        "_cut_left",
        "_hot_segments",
        "_is_hot",
        "_is_named",
        "_left",
        "_one_pass",
        "_pieces",
        "_segment_start",
        "_slides_at",
        "_state",
        "_text",
        "decided_end",
    )

    def __init__(self, one_pass: OnePass, applying: Collection[int], claims: list[Claim]) -> None:
        self._one_pass = one_pass
        self._applying = applying
        self._pieces = FoldedPieces()
        self._state: AliveState = one_pass.alive.idle()
        self._text = Undecided()
        self._left = ""
        self._segment_start = 0
        self._hot_segments: list[tuple[int, int]] = []
        self._is_hot = False
        self._slides_at = 2 * LONGEST_MATCH
        self._bodies: list[_Body] = []
        """What is dropped as it comes."""
        self._is_named = True
        """Whether the replacement for that is out; several rules may wait for which of them takes most."""
        self._cut_left = 0
        """How much of the text to the left is inside of a cut that what follows may overlap."""
        self._claims = claims
        self.decided_end: int = 0

    def feed(self, text: str) -> None:
        """Read the next piece."""
        if not self._bodies and self._pieces.is_plain(text) and self._text.add_plain(text):
            # by far the most pieces: nothing to fold, and no match under way that is dropped as it comes
            self._follow(text, len(self._text.folded) - len(text))
            if self._hot_segments or len(self._text.folded) > self._slides_at:
                self._decide(is_end=False)
            elif self._segment_start:
                self._advance(self._segment_start)
            return
        self._add(*self._pieces.feed(text), is_end=False)

    def finish(self) -> None:
        """Read the end of the text."""
        self._add(*self._pieces.finish(), is_end=True)
        self.decided_end = self._text.read_length

    def claims_at_end(self) -> list[Claim]:
        """Return what would be claimed if the text ended here; it goes on as if nobody had asked.

        The rest of what is dropped as it comes is not among it.
        """
        claims: list[Claim] = []
        twin = copy.copy(self)
        twin._is_named = True  # its name is for the text that goes on
        twin._pieces = copy.copy(self._pieces)
        twin._text = self._text.copy()
        twin._hot_segments = [*self._hot_segments]
        twin._claims = claims
        twin.finish()
        return [claim for claim in claims if claim.rank != CONTINUES or claim.start > self.decided_end]

    def drop(self) -> None:
        """Forget the text."""
        self._text = Undecided()
        self._left = ""

    def _add(self, original: str, folded: Folded, *, is_end: bool) -> None:
        self._text.add(original, folded)
        if self._bodies:
            self._drop_bodies(is_end=is_end)
        else:
            self._follow(folded.text, len(self._text.folded) - len(folded.text))
        if not self._bodies:
            self._decide(is_end=is_end)
            if not self._text.folded and not self._cut_left:
                # there may be invisible characters, and nothing else
                self.decided_end = self._text.read_length

    def _follow(self, text: str, place: int) -> None:
        """Move the automaton over text that begins at a place, and note where segments end."""
        state = self._state
        for character in text:
            state = state[character]
            place += 1
            if state.is_match:
                self._is_hot = True
            if state.is_idle:
                if self._is_hot:
                    self._hot_segments.append((self._segment_start, place))
                    self._is_hot = False
                self._segment_start = place
        self._state = state

    def _decide(self, *, is_end: bool) -> None:
        length = len(self._text.folded)
        if is_end and self._segment_start < length:
            self._hot_segments.append((self._segment_start, length))
            self._segment_start = length
        ready = [end for _, end in self._hot_segments if is_end or length - end >= _LOOK_AHEAD]
        if ready:
            self._claim(self._search(), ready[-1])
            self._advance(ready[-1])
        self._advance(self._hot_segments[0][0] if self._hot_segments else self._segment_start)
        if len(self._text.folded) > self._slides_at:
            self._slide()

    def _slide(self) -> None:
        """Decide on the head of a segment that goes on and on."""
        length = len(self._text.folded)
        claims = [claim for claim in self._search() if claim.rank in self._applying]
        end = length - LONGEST_MATCH
        cuts = united_claims(claims)
        last = cuts[-1] if cuts else None
        if last is not None and last.end + _TAIL // 2 > length and last.start < end:
            self._bodies = self._bodies_of(last, claims, end)
        if last is not None and self._bodies:
            kept = length - _TAIL
            self._claim([claim for claim in claims if claim.end < kept], kept)
            # What goes on in the same way ends alike.
            ways = {body.pattern for body in self._bodies if body.is_first}
            self._is_named = last.start < 0 or len(ways) <= 1
            rank = last.rank if self._is_named else CONTINUES
            self._claim([last._replace(minus_end=-kept, rank=rank)], kept)
            self._advance(kept)
            return
        for cut in reversed(cuts):
            if cut.start < end < cut.end:
                end = cut.start
        self._claim(claims, end)
        self._advance(end)
        self._slides_at = 2 * max(LONGEST_MATCH, length - end)

    def _bodies_of(self, cut: Claim, claims: Sequence[Claim], before: int) -> list[_Body]:
        """Return what may be dropped as it comes, of all that a cut is made of and that begins before a place."""
        reaching = [claim for claim in claims if claim.end == cut.end and claim.start < before]
        if not self._one_pass.may_drop({cut.rank, *(claim.rank for claim in reaching)}):
            return []
        text = self._left + self._text.folded
        skipped = len(self._left)
        bodies = [
            _Body(claim.rank, claim.is_guess, claim.start == cut.start, pattern)
            for claim in reaching
            for pattern in self._one_pass.packed[claim.rank].bodies_of(text, skipped + claim.start)
        ]
        return bodies if len(bodies) == len(reaching) else []

    def _drop_bodies(self, *, is_end: bool) -> None:
        """Claim the rest of matches without a longest length, as it comes."""
        text = self._text.folded
        stops: list[int] = []
        for body in self._bodies:
            match = body.pattern.match(text)
            stops.append(0 if match is None else match.end())
        alive = [
            body
            for body, stop in zip(self._bodies, stops, strict=True)
            if not is_end and stop + _TAIL // 2 > len(text)
        ]
        end = min(max(stops), max(len(text) - _TAIL, 0)) if alive else max(stops)
        if end:
            self._go_on(end, self._named(alive, stops))
        self._bodies = alive
        if not alive:
            self._state = self._one_pass.alive.idle()
            self._cut_left = min(len(self._left), _TAIL // 2)
            self._follow(self._left[-self._cut_left :], -self._cut_left)
            self._hot_segments = []
            self._segment_start = 0
            self._follow(self._text.folded, 0)

    def _named(self, alive: Sequence[_Body], stops: Sequence[int]) -> int:
        """Return the rule that gives the cut its name, as soon as that is known and unless it was told."""
        if self._is_named:
            return CONTINUES
        first = [
            (body not in alive, -stop, body.is_guess, body.rank)
            for body, stop in zip(self._bodies, stops, strict=True)
            if body.is_first
        ]
        if sum(body.is_first for body in alive) > 1:
            return CONTINUES
        self._is_named = True
        return min(first)[-1]

    def _go_on(self, end: int, rank: int) -> None:
        """Go on with the cut up to a place; with what is invisible before it, too."""
        _, last = self._text.original(0, end)
        self._claims.append(Claim(self.decided_end, -last, False, rank))
        self._advance(end)

    def _search(self) -> list[Claim]:
        """Return the claims in what is not decided, as places in it; some begin before it, in what is cut."""
        skipped = len(self._left)
        column_rank = self._one_pass.column_rank  # of headings
        found = self._one_pass.detector.claims(self._left + self._text.folded, skipped - self._cut_left)
        return [
            Claim(start - skipped, minus_end + skipped, is_guess, rank)
            for start, minus_end, is_guess, rank in found
            if -minus_end > skipped and rank != column_rank
        ]

    def _claim(self, claims: list[Claim], before: int) -> None:
        """Claim what begins before a place."""
        for claim in claims:
            if claim.start < before:
                start, end = self._text.original(max(claim.start, 0), claim.end)
                rank = claim.rank
                if claim.start < 0:
                    start, rank = self.decided_end, CONTINUES  # what is invisible in between goes, too
                self._claims.append(claim._replace(start=start, minus_end=-end, rank=rank))

    def _advance(self, count: int) -> None:
        """Be done with so many characters."""
        if count <= 0:
            return
        self._left = (self._left + self._text.folded[:count])[-LEFT_LENGTH:]
        self.decided_end = self._text.drop(count)
        self._cut_left = 0
        self._segment_start = max(self._segment_start - count, 0)
        if self._hot_segments:
            self._hot_segments = [
                (max(start - count, 0), end - count) for start, end in self._hot_segments if end > count
            ]
