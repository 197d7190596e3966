"""`OnePassStream`: the same as `OnePass` on a text that comes in pieces.

The text is held back while a match may be under way (`Alive`), while what follows may still decide on one, and
never released inside of a cut. A match without a longest length is not held: once it is certain its replacement
goes out, and the rest of it is dropped as it comes.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tramapy.dlp.alive import AliveState
from tramapy.dlp.claims import Claim, united_claims
from tramapy.dlp.columns import Columns
from tramapy.dlp.folding import Folded, FoldedPieces
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.replacement import empty_match_error
from tramapy.dlp.scanner import Scanner
from tramapy.dlp.splicing import CONTINUES, Splicer
from tramapy.dlp.view import CONTEXT_LENGTH, LEFT_LENGTH
from tramapy.hooks.dlp import DlpContext, DlpRedaction

__all__ = ["OnePassStream"]

_LOOK_AHEAD = 12
"""How many characters behind a match may still decide on it."""
_LONGEST_MATCH = 1_536
"""No match that has a longest length is longer, and no other is decided by more than that."""
_MOST_UNREAD = 512
"""How much of a line may wait for its end, until `Columns` reads it."""
_TAIL = 256
"""How much of a match that is being dropped is kept, to see where it ends."""


class OnePassStream:
    """One text; a `DlpStream` that `LimitedDlpStream` keeps from being used after its end.

    Args:
        one_pass: The rules.
        context: What the text is.
    """

    __slots__ = (
        "_applying",
        "_claims",
        "_columns",
        "_held",
        "_held_start",
        "_is_in_table",
        "_left",
        "_one_pass",
        "_pack",
        "_scanners",
        "_splicer",
        "_unread",
    )

    def __init__(self, one_pass: OnePass, context: DlpContext) -> None:
        self._one_pass = one_pass
        self._applying = one_pass.applying(context)
        self._pack = _PackSource(one_pass, self._applying)
        self._columns = None if one_pass.column_rank is None else Columns()
        self._unread = ""
        """What `Columns` has yet to read."""
        self._is_in_table = False
        self._scanners = [
            (rank, Scanner(matcher.automaton))
            for rank, matcher in enumerate(one_pass.matchers, len(one_pass.packed))
            if rank in self._applying
        ]
        self._splicer = Splicer(one_pass.rules, one_pass.operators, context.vault)
        self._claims: list[Claim] = []
        self._held = ""
        self._held_start = 0
        self._left = ""

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """All redactions so far, one a rule that matched, in the order of the rules."""
        return self._splicer.redactions

    def feed(self, text: str) -> str:
        """Take the next piece and return what is decided.

        Raises:
            DlpInspectionError: A rule blocks the text.
        """
        self._held += text
        self._pack.feed(text)
        if self._columns is not None:
            # Only in a table, what stands in a line must be known before its end.
            self._unread = unread = self._unread + text
            if "\n" in text or self._is_in_table or len(unread) > _MOST_UNREAD:
                self._read_unread(self._columns)
        for rank, scanner in self._scanners:
            scanner.feed(text)
            self._take(rank, scanner)
        return self._release()

    def finish(self) -> str:
        """End the text and return what was held back.

        Raises:
            DlpInspectionError: A rule blocks the text.
        """
        self._pack.finish()
        if self._columns is not None:
            self._read_unread(self._columns)
            self._claim(self._one_pass.claims_of_columns(self._columns.finish()))
        for rank, scanner in self._scanners:
            scanner.finish()
            self._take(rank, scanner)
        return self._release()

    def abort(self) -> None:
        """Drop what was held back."""
        self._held = self._left = self._unread = ""
        self._claims = []
        self._columns = None
        self._pack.drop()

    def _read_unread(self, columns: Columns) -> None:
        self._claim(self._one_pass.claims_of_columns(columns.feed(self._unread)))
        self._unread = ""
        self._is_in_table = columns.table is not None

    def _take(self, rank: int, scanner: Scanner) -> None:
        if scanner.has_empty_match:
            raise empty_match_error(self._one_pass.rules[rank])
        self._claim([Claim(span.start, -span.end, False, rank) for span in scanner.take_spans()])

    def _claim(self, claims: list[Claim]) -> None:
        if claims:
            text = self._left + self._held
            start = self._held_start - len(self._left)
            self._claims += self._one_pass.kept(claims, self._applying, text, start)

    def _release(self) -> str:
        pack = self._pack
        if pack.claims:
            self._claim(pack.take_claims())
        end = pack.decided_end
        if self._is_in_table and self._columns is not None:
            end = min(end, self._columns.undecided_start)
        for _, scanner in self._scanners:
            end = min(end, scanner.decided_end)
        if not self._claims:
            return self._cut_off((), end) if end > self._held_start else ""
        cuts = united_claims(self._claims)
        for cut in reversed(cuts):
            if cut.start < end < cut.end:
                end = cut.start
        ready = [cut for cut in cuts if cut.end <= end]
        self._claims = [claim for claim in self._claims if claim.end > end]
        return self._cut_off(ready, end)

    def _cut_off(self, cuts: Sequence[Claim], end: int) -> str:
        count = end - self._held_start
        if count <= 0:
            return ""
        text = self._held[:count]
        start = self._held_start
        self._held = self._held[count:]
        self._held_start = end
        self._left = (
            text[-CONTEXT_LENGTH:] if count >= CONTEXT_LENGTH else (self._left + text)[-CONTEXT_LENGTH:]
        )
        return self._splicer.splice(text, cuts, start)


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


class _PackSource:
    """What the packs' rules claim in a text that comes in pieces, and up to where they have decided.

    Between two places at which no match is under way lies a segment; one in which a match may have ended is hot
    and will be searched, the others are let through.
    """

    __slots__ = (
        "_applying",
        "_bodies",
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
        "claims",
        "decided_end",
    )

    def __init__(self, one_pass: OnePass, applying: Collection[int]) -> None:
        self._one_pass = one_pass
        self._applying = applying
        self._pieces = FoldedPieces()
        self._state: AliveState = one_pass.alive.idle()
        self._text = _Undecided()
        self._left = ""
        self._segment_start = 0
        self._hot_segments: list[tuple[int, int]] = []
        self._is_hot = False
        self._slides_at = 2 * _LONGEST_MATCH
        self._bodies: list[_Body] = []
        """What is dropped as it comes."""
        self._is_named = True
        """Whether the replacement for that is out; several rules may wait for which of them takes most."""
        self._cut_left = 0
        """How much of the text to the left is inside of a cut that what follows may overlap."""
        self.claims: list[Claim] = []
        """What was claimed since the last time, as places in the whole text."""
        self.decided_end: int = 0
        """The place in the whole text up to which nothing more will be claimed."""

    def take_claims(self) -> list[Claim]:
        """Return the claims since the last time."""
        claims, self.claims = self.claims, []
        return claims

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

    def drop(self) -> None:
        """Forget the text."""
        self._text = _Undecided()
        self._left = ""
        self.claims = []

    def _add(self, original: str, folded: Folded, *, is_end: bool) -> None:
        self._text.add(original, folded)
        if self._bodies:
            self._drop_bodies(is_end=is_end)
        else:
            self._follow(folded.text, len(self._text.folded) - len(folded.text))
        if not self._bodies:
            self._decide(is_end=is_end)

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
        end = length - _LONGEST_MATCH
        cuts = united_claims(claims)
        last = cuts[-1] if cuts else None
        if last is not None and last.end == length and last.start < end:
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
        self._slides_at = 2 * max(_LONGEST_MATCH, length - end)

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
        self.claims.append(Claim(self.decided_end, -last, False, rank))
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
                self.claims.append(claim._replace(start=start, minus_end=-end, rank=rank))

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


class _Undecided:
    """The folded text that is not decided, and where its characters stand in the whole text.

    Attributes:
        folded: The folded text.
        read_length: How much of the whole text was read.
    """

    __slots__ = ("_ends", "_origin", "_starts", "folded", "read_length")

    def __init__(self) -> None:
        self.folded = ""
        self.read_length = 0
        self._origin = 0
        self._starts: array[int] | None = None
        self._ends: array[int] | None = None

    def add(self, original: str, folded: Folded) -> None:
        """Append a piece."""
        start = self.read_length
        self.read_length += len(original)
        if self._starts is None and not self.folded:
            self._origin = start
        is_plain = folded.is_aligned and (
            self._starts is not None or self._origin + len(self.folded) == start
        )
        if self._starts is None or self._ends is None:
            if is_plain:
                self.folded += folded.text
                return
            here = len(self.folded)
            self._starts = array("Q", range(self._origin, self._origin + here))
            self._ends = array("Q", range(self._origin + 1, self._origin + here + 1))
        for place in range(len(folded.text)):
            first, last = folded.original(place, place + 1)
            self._starts.append(start + first)
            self._ends.append(start + last)
        self.folded += folded.text

    def add_plain(self, text: str) -> bool:
        """Append a piece that folds to itself, if all that is here did, too; else nothing is done."""
        if self._starts is not None:
            return False
        if not self.folded:
            self._origin = self.read_length
        # without places of their own, the characters here are the last that were read
        self.folded += text
        self.read_length += len(text)
        return True

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the whole text of a stretch that is not empty."""
        if self._starts is None or self._ends is None:
            return self._origin + start, self._origin + end
        return self._starts[start], self._ends[end - 1]

    def drop(self, count: int) -> int:
        """Drop the first characters; return where the last of them ends in the whole text."""
        if self._starts is None or self._ends is None:
            self.folded = self.folded[count:]
            self._origin += count
            return self._origin
        end = self._ends[count - 1]
        self.folded = self.folded[count:]
        self._origin += count
        if self.folded:
            del self._starts[:count], self._ends[:count]
        else:
            self._starts = self._ends = None
        return end
