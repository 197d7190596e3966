"""`TextSource`: what all rules claim in a text that comes in pieces, and up to where they have decided."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import Final

from tramapy.dlp.claims import Claim
from tramapy.dlp.columns import Columns
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.pack_source import PackSource
from tramapy.dlp.replacement import empty_match_error
from tramapy.dlp.scanner import Scanner

__all__ = ["TextSource"]

_MOST_UNREAD: Final = 512
"""How much of a line may wait for its end, until `Columns` reads it."""


class TextSource:
    """One text, or a part of one.

    Args:
        one_pass: The rules.
        applying: The places of those that are meant for the text.
        start: Where the part begins in the whole text; its claims are places in that.
        before: The character before it, where that belongs to the text.
    """

    __slots__ = (
        *("_columns", "_is_in_table", "_one_pass", "_pack"),
        *("_scanners", "_start", "_unread", "claims"),
    )

    def __init__(
        self, one_pass: OnePass, applying: Collection[int], start: int = 0, *, before: str = ""
    ) -> None:
        self._start = start
        self._one_pass = one_pass
        self.claims: list[Claim] = []
        """What was claimed and not taken, as places in the part."""
        self._pack = PackSource(one_pass, applying, self.claims)
        self._columns = None if one_pass.column_rank is None else Columns()
        self._unread = ""
        """What `Columns` has yet to read."""
        self._is_in_table = False
        self._scanners: Sequence[tuple[int, Scanner]] = [
            (rank, Scanner(matcher.automaton, after=before))
            for rank, matcher in enumerate(one_pass.matchers, len(one_pass.packed))
            if rank in applying
        ]

    @property
    def decided_end(self) -> int:
        """The place in the whole text up to which nothing more will be claimed."""
        ends = [self._pack.decided_end, *(scanner.decided_end for _, scanner in self._scanners)]
        if self._columns is not None and self._is_in_table:
            ends.append(self._columns.undecided_start)
        return min(ends) + self._start

    def feed(self, text: str) -> int:
        """Read the next piece; return the place in the whole text up to which nothing more will be claimed.

        Raises:
            DlpInspectionError: A rule matched the empty string.
        """
        pack = self._pack
        pack.feed(text)
        end = pack.decided_end
        if self._columns is not None:
            # Only in a table, what stands in a line must be known before its end.
            self._unread = unread = self._unread + text
            if "\n" in text or self._is_in_table or len(unread) > _MOST_UNREAD:
                self._read_unread(self._columns)
                if self._is_in_table:
                    end = min(end, self._columns.undecided_start)
        for rank, scanner in self._scanners:
            scanner.feed(text)
            self.claims += self._matched(rank, scanner)
            end = min(end, scanner.decided_end)
        return end + self._start

    def finish(self) -> None:
        """Read the end of the text.

        Raises:
            DlpInspectionError: A rule matched the empty string.
        """
        self._pack.finish()
        if self._columns is not None:
            self._read_unread(self._columns)
            self.claims += self._one_pass.claims_of_columns(self._columns.finish())
        for rank, scanner in self._scanners:
            scanner.finish()
            self.claims += self._matched(rank, scanner)

    def take_claims(self) -> list[Claim]:
        """Return the claims since the last time."""
        claims = self.claims[:]
        self.claims.clear()
        return _shifted(claims, self._start) if self._start else claims

    def claims_at_end(self, since: int) -> list[Claim]:
        """Return what would be claimed if the text ended here, which goes on as if nobody had asked.

        Args:
            since: What ends up to this place of the whole text is known already.

        Raises:
            DlpInspectionError: A rule matched the empty string.
        """
        return self._ended(self._pack.claims_at_end(), since)

    def flush(self, since: int) -> list[Claim]:
        """Return what would be claimed if the text ended here, all of which goes out; see `claims_at_end`."""
        return self._ended(self._pack.flush(), since)

    def drop(self) -> None:
        """Forget the text."""
        self._unread = ""
        self.claims.clear()
        self._columns = None
        self._pack.drop()

    def _ended(self, claims: list[Claim], since: int) -> list[Claim]:
        if self._columns is not None and (self._columns.table is not None or "\n" in self._unread):
            columns = copy.copy(self._columns)
            spans = [*columns.feed(self._unread), *columns.finish()]
            claims += self._one_pass.claims_of_columns(spans)
        for rank, scanner in self._scanners:
            claims += self._matched(rank, scanner.ended(since - self._start))
        return _shifted(claims, self._start) if self._start else claims

    def _read_unread(self, columns: Columns) -> None:
        self.claims += self._one_pass.claims_of_columns(columns.feed(self._unread))
        self._unread = ""
        self._is_in_table = columns.table is not None

    def _matched(self, rank: int, scanner: Scanner) -> list[Claim]:
        if scanner.has_empty_match:
            raise empty_match_error(self._one_pass.rules[rank])
        return [Claim(span.start, -span.end, False, rank) for span in scanner.take_spans()]


def _shifted(claims: list[Claim], count: int) -> list[Claim]:
    return [claim._replace(start=claim.start + count, minus_end=claim.minus_end - count) for claim in claims]
