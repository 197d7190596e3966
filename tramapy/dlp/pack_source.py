"""`PackSource`: what the packs' rules claim in a text that comes in pieces.

What may still be matched is held back while a match may be under way (`Alive`), and while what follows may still
decide on one. A match without a longest length is not held, nor are matches that overlap on and on: once the head is
certain it is claimed, and the rest of it as it comes.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import Self

from tramapy.dlp.alive import AliveState
from tramapy.dlp.claims import Claim, united_claims
from tramapy.dlp.folded import Folded
from tramapy.dlp.folding import FoldedPieces
from tramapy.dlp.going_cut import NEAR, GoingCut, bodies_of
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.splicing import CONTINUES, SHORTEST_HEAD
from tramapy.dlp.undecided import Undecided
from tramapy.dlp.view import LEFT_LENGTH, LONGEST_MATCH

__all__ = ["PackSource"]

_LOOK_AHEAD = 12
"""How many characters behind a match may still decide on it."""
_LONGEST_TEXT = 2 * LONGEST_MATCH
"""From so much text on, its head is decided."""
_FARTHEST = 1_088
"""How far before a match may stand what it is found by: a name, or the header of a cookie."""


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
        "_claimed_end",
        "_claims",
        "_going",
        "_hot_segments",
        "_is_hot",
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
        self._slides_at = _LONGEST_TEXT
        self._going = GoingCut()
        self._claimed_end = 0
        """Where what begins is yet to be claimed."""
        self._claims = claims
        self.decided_end: int = 0

    def feed(self, text: str) -> None:
        """Read the next piece."""
        if not self._going.bodies and self._pieces.is_plain(text) and self._text.add_plain(text):
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
        twin, claims = self._twin()
        twin._going.drop_rank()  # its name is for the text that goes on
        twin.finish()
        return [claim for claim in claims if claim.rank != CONTINUES or claim.start > self.decided_end]

    def flush(self) -> list[Claim]:
        """Return what would be claimed if the text ended here, with all of what is dropped as it comes."""
        twin, claims = self._twin()
        twin.finish()
        self._going.drop_rank()
        return claims

    def drop(self) -> None:
        """Forget the text."""
        self._text = Undecided()
        self._left = ""

    def _twin(self) -> tuple[Self, list[Claim]]:
        """Return one that goes its own way from here, and where its claims go."""
        claims: list[Claim] = []
        twin = type(self).__new__(type(self))
        for name in self.__slots__:  # as `copy.copy` does, in a third of the time
            setattr(twin, name, getattr(self, name))
        twin._pieces = copy.copy(self._pieces)
        twin._text = self._text.copy()
        twin._going = copy.copy(self._going)
        twin._hot_segments = [*self._hot_segments]
        twin._claims = claims
        return twin, claims

    def _add(self, original: str, folded: Folded, *, is_end: bool) -> None:
        self._text.add(original, folded)
        if self._going.bodies:
            self._go_on(is_end=is_end)
        else:
            self._follow(folded.text, len(self._text.folded) - len(folded.text))
        if not self._going.bodies:
            self._decide(is_end=is_end)
            if not self._text.folded:
                # there may be invisible characters, and nothing else
                self.decided_end = self._text.read_length
        elif len(self._text.folded) > self._slides_at:
            self._slide()

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
        end = length - LONGEST_MATCH
        claims = [claim for claim in self._search() if claim.rank in self._applying and claim.start < end]
        cuts = united_claims([*self._going.claims(length), *claims])
        if cuts and cuts[-1].end > end:
            if self._cut_off(cuts[-1], claims, end):
                return
            end = cuts[-1].start
        self._claim(claims, end)
        self._advance(end - _FARTHEST)
        self._slides_at = 2 * (max(LONGEST_MATCH, length - end) + _FARTHEST)

    def _cut_off(self, cut: Claim, claims: Sequence[Claim], end: int) -> bool:
        """Cut off the head of a cut that goes over a place; tell whether that can be done."""
        going, length = self._going, len(self._text.folded)
        is_new = cut.start > 0 or not going.claims(length)
        if is_new and end - cut.start < SHORTEST_HEAD:
            return False
        inside = [claim for claim in claims if claim.start >= cut.start]
        open_claims = [claim for claim in inside if claim.end + NEAR > length]
        text = self._left + self._text.folded
        bodies = bodies_of(cut, open_claims, self._one_pass.packed, text, len(self._left))
        if bodies is None or not self._one_pass.may_drop({claim.rank for claim in inside}):
            return False
        start = self.decided_end
        if is_new:
            self._claim(claims, cut.start)
            start, _ = self._text.original(cut.start, end)
            going.begin(cut.rank, bodies)
        else:
            going.add(bodies)
        _, last = self._text.original(0, end)
        self._claims.append(cut._replace(start=start, minus_end=-last, rank=going.take_rank()))
        going.end = max([going.end, *(claim.end for claim in inside if claim not in open_claims)])
        self._advance(end)
        self._slides_at = _LONGEST_TEXT
        if not going.bodies:
            self._claim_rest()
        return True

    def _go_on(self, *, is_end: bool) -> None:
        """Read on with matches without a longest length; behind them, search all that is not decided."""
        self._going.read(self._left, self._text.folded, is_end=is_end)
        if not self._going.bodies:
            self._claim_rest()
            self._state = self._one_pass.alive.idle()
            self._is_hot = False
            self._hot_segments = []
            self._segment_start = 0
            self._follow(self._text.folded, 0)

    def _claim_rest(self) -> None:
        """Claim what is not decided of a cut whose end is known; with what is invisible before it, too."""
        _, last = self._text.original(0, self._going.end)
        self._claims.append(Claim(self.decided_end, -last, False, self._going.take_rank()))

    def _search(self) -> list[Claim]:
        """Return the claims in what is not decided, as places in it."""
        skipped = len(self._left)
        column_rank = self._one_pass.column_rank  # of headings
        found = self._one_pass.detector.claims(self._left + self._text.folded, skipped)
        return [
            Claim(start - skipped, minus_end + skipped, is_guess, rank)
            for start, minus_end, is_guess, rank in found
            if rank != column_rank
        ]

    def _claim(self, claims: Sequence[Claim], before: int) -> None:
        """Claim what begins before a place."""
        for claim in claims:
            if self._claimed_end <= claim.start < before:
                start, end = self._text.original(claim.start, claim.end)
                rank = claim.rank
                # what the cut goes on with gives it no other name
                if (
                    claim.start < self._going.end
                    and rank in self._applying
                    and self._one_pass.may_drop((rank,))
                ):
                    rank = CONTINUES
                self._claims.append(claim._replace(start=start, minus_end=-end, rank=rank))
        self._claimed_end = max(self._claimed_end, before)

    def _advance(self, count: int) -> None:
        """Be done with so many characters."""
        if count <= 0:
            return
        self._left = (self._left + self._text.folded[:count])[-LEFT_LENGTH:]
        self.decided_end = self._text.drop(count)
        self._going.move(count)
        self._claimed_end = max(self._claimed_end - count, 0)
        self._segment_start = max(self._segment_start - count, 0)
        if self._hot_segments:
            self._hot_segments = [
                (max(start - count, 0), end - count) for start, end in self._hot_segments if end > count
            ]
