"""`OnePassStream`: the same as `OnePass` on a text that comes in pieces.

The text is held back while a source may still claim something of it, and never released inside of a cut, unless it
is flushed: then the beginning of what is claimed later may be out, and the rest is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tramapy.dlp.claims import Claim, united_claims
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.seams import Seams
from tramapy.dlp.splicing import CONTINUES, SHORTEST_HEAD, Splicer
from tramapy.dlp.text_source import TextSource
from tramapy.dlp.told import Told
from tramapy.dlp.view import CONTEXT_LENGTH
from tramapy.hooks.dlp import DlpContext, DlpRedaction

__all__ = ["OnePassStream"]

# A flush reads what is not decided once more. Where that would come to more than a few times the text, in a match that
# goes on and on over many parts, only the last of it is remembered.
_MOST_UNDECIDED: Final = 4_000
_MOST_TIMES: Final = 4
_REMEMBERED: Final = 1_000


class OnePassStream:
    """One text; a `PartedDlpStream` that `LimitedDlpStream` keeps from being used after its end.

    Where it has parts, what any of them holds by itself is claimed beside what all of them hold together. Of what
    lies across a flush, the part behind it is cut, with a marker of its own.

    Args:
        one_pass: The rules.
        context: What the text is.
    """

    __slots__ = (
        *("_applying", "_claims", "_held", "_held_start", "_left", "_marked_end", "_one_pass", "_part"),
        *("_rank", "_reread_count", "_seams", "_shown_end", "_splicer", "_told", "_tried_end", "_whole"),
    )

    def __init__(self, one_pass: OnePass, context: DlpContext) -> None:
        self._one_pass = one_pass
        self._applying = one_pass.applying(context)
        self._whole = TextSource(one_pass, self._applying)
        self._part: TextSource | None = None
        """The part that goes on; the first one needs no source of its own."""
        self._seams: Seams | None = None
        self._told = Told(one_pass.operators)
        self._splicer = Splicer(one_pass.rules, one_pass.operators, context.vault)
        self._claims: list[Claim] = []
        self._held = ""
        self._held_start = 0
        self._tried_end = -1
        """Up to where was released what could be."""
        self._left = ""
        self._shown_end = -1
        """Up to where the text went out when it was flushed last, decided or not."""
        self._reread_count = 0
        self._marked_end = -1
        """Where the last cut ends whose name is out."""
        self._rank = CONTINUES
        """The rule that claimed something of the whole last."""

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
        end = self._whole.feed(text)
        if self._part is not None:
            end = min(end, self._part.feed(text))
        return self._release(end)

    def end_part(self) -> None:
        """End a part; what comes next is another one.

        Raises:
            DlpInspectionError: A rule matched the empty string.
        """
        place = self._held_start + len(self._held)
        if self._seams is None:
            self._seams = Seams()
        self._seams.add(place)
        if self._part is None:
            self._claim(self._whole.claims_at_end(self._held_start))
        else:
            self._part.finish()
            self._claim(self._part.take_claims())
        self._part = TextSource(self._one_pass, self._applying, place)

    def flush(self) -> str:
        """End a part and return all that was held back, as if the text ended; what comes next is read behind it.

        Raises:
            DlpInspectionError: A rule blocks the text, or matched the empty string.
        """
        place = self._held_start + len(self._held)
        if self._part is not None:
            self._part.finish()
            self._claim(self._part.take_claims())
        said = self._left + self._held
        undecided_count = place - self._whole.decided_end
        self._reread_count += undecided_count
        if undecided_count > _MOST_UNDECIDED and self._reread_count > _MOST_TIMES * place:
            undecided_count = _REMEMBERED
            self._whole.finish()
            released = self._release(place)
            before = said[-_REMEMBERED - 1]
            self._whole = TextSource(self._one_pass, self._applying, place - _REMEMBERED, before=before)
            self._whole.feed(said[-_REMEMBERED:])
        else:
            self._claim_behind(self._whole.flush(self._held_start))
            released = self._release(place)
        self._left = said[-(undecided_count + CONTEXT_LENGTH) :]
        self._shown_end = place
        self._part = TextSource(self._one_pass, self._applying, place)
        return released

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins."""
        return () if self._seams is None else self._seams.take()

    def finish(self) -> str:
        """End the text and return what was held back.

        Raises:
            DlpInspectionError: A rule blocks the text.
        """
        place = self._held_start + len(self._held)
        if place == self._shown_end:
            return ""
        self._whole.finish()
        if self._part is not None:
            self._part.finish()
        return self._release(place)

    def abort(self) -> None:
        """Drop what was held back."""
        self._held = self._left = ""
        self._claims = []
        self._part = None
        self._whole.drop()

    def _claim(self, claims: list[Claim]) -> None:
        for claim in self._kept(claims):
            self._wait(claim)

    def _claim_behind(self, claims: list[Claim]) -> None:
        """Claim what is in the whole text, of it only what is not out."""
        for claim in self._kept(claims):
            if claim.rank != CONTINUES:
                self._rank = claim.rank
            if claim.start > self._shown_end:
                self._wait(claim)
            elif claim.end > self._shown_end:
                rank = self._rank if claim.rank == CONTINUES else claim.rank
                self._wait(claim._replace(start=self._shown_end, rank=rank))

    def _kept(self, claims: list[Claim]) -> Sequence[Claim]:
        if not claims:
            return ()
        self._tried_end = -1
        text = self._left + self._held
        start = self._held_start - len(self._left)
        return self._one_pass.kept(claims, self._applying, text, start, self._told.tell)

    def _wait(self, claim: Claim) -> None:
        last = self._claims[-1] if self._claims else None
        if last is not None and last.rank == claim.rank == CONTINUES and last.end == claim.start:
            # while a part is not decided there may be as many of these as the whole has characters
            self._claims[-1] = last._replace(minus_end=claim.minus_end)
        else:
            self._claims.append(claim)

    def _release(self, end: int) -> str:
        if self._whole.claims:
            self._claim_behind(self._whole.take_claims())
        if self._part is not None:
            self._claim(self._part.take_claims())
        if end == self._tried_end:  # and no new claims: what was held is held
            return ""
        self._tried_end = end
        if not self._claims:
            return self._cut_off((), end)
        cuts = united_claims(self._claims)
        over = next((cut for cut in cuts if cut.start < end < cut.end), None)
        if over is not None and not self._may_divide(over, end):
            end = over.start
            over = None
        ready = [cut for cut in cuts if cut.end <= end]
        if over is not None:
            ready.append(over._replace(minus_end=-end))
        if ready and ready[0].start < self._held_start:
            ready[0] = ready[0]._replace(start=self._held_start)
        ready = self._marked(ready)
        self._claims = [claim for claim in self._claims if claim.end > end]
        if over is not None:
            # what begins inside of it gives the cut no other name
            going = over._replace(rank=CONTINUES)
            self._claims = [going, *(claim for claim in self._claims if claim.start >= over.end)]
        return self._cut_off(ready, end)

    def _may_divide(self, cut: Claim, end: int) -> bool:
        """Tell whether what is before a place may be released of a cut that goes on behind it."""
        if cut.rank == CONTINUES:
            return True
        ranks = {claim.rank for claim in self._claims if cut.start <= claim.start < cut.end}
        return end - cut.start >= SHORTEST_HEAD and self._one_pass.may_drop(ranks - {CONTINUES})

    def _marked(self, cuts: Sequence[Claim]) -> list[Claim]:
        """Name each cut in which nothing has got a name: that of the whole may come too late for a part."""
        marked: list[Claim] = []
        for cut in cuts:
            start, minus_end, _, rank = cut
            goes_on = start == self._marked_end
            if rank == CONTINUES and not goes_on and self._part is not None:
                rank = self._rank_in(cut)
            if rank != CONTINUES or goes_on:
                self._marked_end = -minus_end
            marked.append(cut if rank == cut.rank else cut._replace(rank=rank))
        return marked

    def _rank_in(self, cut: Claim) -> int:
        named = [
            claim for claim in self._claims if cut.start <= claim.start < cut.end and claim.rank != CONTINUES
        ]
        return min(named).rank if named else CONTINUES

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
        splice = self._splicer.splice
        return (
            splice(text, cuts, start) if self._seams is None else self._seams.put(text, cuts, start, splice)
        )
