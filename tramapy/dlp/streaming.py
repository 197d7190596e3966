"""Redact a text while it arrives: what is released is decided, and all of it is what the whole text gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.replacement import Replacement, empty_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Scanner, Span
from tramapy.dlp.seams import Seams
from tramapy.dlp.told import Told
from tramapy.dlp.view import CONTEXT_LENGTH
from tramapy.hooks.composite_dlp import merged_redactions
from tramapy.hooks.dlp import DlpRedaction, DlpResult, PartedDlpStream, PlaceholderVault

__all__ = ["JsonOrTextStream", "RuleStream"]

# Of more than this that a match may still reach back into, only the last of it is remembered behind a flush.
_MOST_UNDECIDED: Final = 100_000
_REMEMBERED: Final = 1_000


class JsonOrTextStream:
    """A `PartedDlpStream` that decides JSON at its end, and other text as it comes.

    Args:
        inspect: Inspects a whole text.
        open_text: Starts the inspection of a text that does not begin like JSON.
    """

    __slots__ = ("_inspect", "_is_json", "_open_text", "_pieces", "_redactions", "_text")

    def __init__(self, inspect: Callable[[str], DlpResult], open_text: Callable[[], PartedDlpStream]) -> None:
        self._inspect = inspect
        self._open_text = open_text
        self._pieces: list[str] = []
        self._is_json: bool | None = None
        self._text: PartedDlpStream | None = None
        self._redactions: tuple[DlpRedaction, ...] = ()

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        """What was redacted so far; for JSON nothing before the end."""
        if self._text is None:
            return self._redactions
        return merged_redactions((*self._redactions, *self._text.redactions))

    def feed(self, text: str) -> str:
        """Take the next piece and return what is decided."""
        if self._text is not None:
            return self._text.feed(text)
        self._pieces.append(text)
        if self._is_json is None and text.strip():
            self._is_json = text.lstrip().startswith(("{", "["))
        if self._is_json is not False:
            return ""
        self._text = self._open_text()
        held, self._pieces = "".join(self._pieces), []
        return self._text.feed(held)

    def end_part(self) -> None:
        """End a part of a text that is no JSON."""
        if self._text is not None:
            self._text.end_part()

    def flush(self) -> str:
        """Return all that was kept, as if it ended here; behind JSON, another text begins."""
        if self._text is not None:
            return self._text.flush()
        released = self.finish()
        self._pieces = []
        self._is_json = None
        return released

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins."""
        return () if self._text is None else self._text.take_seams()

    def finish(self) -> str:
        """Inspect what was kept and return it."""
        if self._text is not None:
            return self._text.finish()
        result = self._inspect("".join(self._pieces))
        self._redactions = merged_redactions((*self._redactions, *result.redactions))
        return result.sanitized_text

    def abort(self) -> None:
        """Drop what was kept."""
        self._pieces = []
        if self._text is not None:
            self._text.abort()


class RuleStream:
    """The incremental inspection by one rule.

    Args:
        rule: The rule.
        automaton: Its compiled pattern.
        replacement: Its replacement.
        vault: Takes the values of placeholders.
        told: Logs, where the rule does nothing else.
    """

    __slots__ = (
        *("_automaton", "_count", "_held", "_keeps_left", "_left", "_part"),
        *(
            "_part_start",
            "_replacement",
            "_rule",
            "_scanner",
            "_scanner_start",
            "_seams",
            "_spans",
            "_told",
            "_writer",
        ),
    )

    def __init__(
        self,
        rule: DlpRule,
        automaton: Automaton,
        replacement: Replacement,
        vault: PlaceholderVault | None,
        told: Told,
    ) -> None:
        self._rule = rule
        self._automaton = automaton
        self._replacement = replacement
        self._writer = replacement.open(vault)
        self._told = told
        self._scanner = Scanner(automaton)
        self._scanner_start = 0
        self._part: Scanner | None = None
        """Reads the part that goes on; the first one needs no scanner of its own."""
        self._part_start = 0
        self._spans: list[Span] = []
        """Of a text with parts, what is not released."""
        self._seams: Seams | None = None
        self._held = _HeldText()
        self._left = ""
        self._keeps_left = bool(rule.context_words)
        self._count = 0

    @property
    def count(self) -> int:
        """How many matches were replaced so far."""
        return self._count

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """The redaction so far."""
        return (DlpRedaction(self._rule.id, self._count),) if self._count else ()

    def feed(self, text: str) -> str:
        """Take the next piece and return what is decided."""
        self._held.append(text)
        self._scanner.feed(text)
        if self._part is not None:
            self._part.feed(text)
        return self._release()

    def end_part(self) -> None:
        """End a part; what comes next is another one."""
        if self._seams is None:
            self._seams = Seams()
        self._end_part()
        self._seams.add(self._part_start)

    def flush(self) -> str:
        """End a part and return all that was held back, as if the text ended; what comes next is read behind it."""
        start, end = self._held.start, self._held.end
        left = self._left + self._held.text
        part = self._end_part()
        self._take(self._scanner.ended(start - self._scanner_start), self._scanner_start)
        released = self._release_until(part, end)
        undecided_count = end - self._scanner_start - self._scanner.decided_end
        if undecided_count > _MOST_UNDECIDED:
            undecided_count = _REMEMBERED
            self._scanner = Scanner(self._automaton, after=left[-_REMEMBERED - 1])
            self._scanner_start = end - _REMEMBERED
            self._scanner.feed(left[-_REMEMBERED:])
        self._left = left[-(undecided_count + CONTEXT_LENGTH) :]
        return released

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins."""
        return () if self._seams is None else self._seams.take()

    def finish(self) -> str:
        """End the text and return the rest of it."""
        self._scanner.finish()
        if self._part is not None:
            self._part.finish()
        return self._release()

    def abort(self) -> None:
        """Drop what was held back."""
        self._held = _HeldText()
        self._left = ""
        self._spans = []

    def _release(self) -> str:
        scanner, part = self._scanner, self._part
        if part is not None:
            end = min(self._scanner_start + scanner.decided_end, self._part_start + part.decided_end)
            return self._release_until(part, end)
        self._refuse_empty(scanner)
        start = self._held.start
        spans = self._counted(scanner.take_spans())
        return self._put(self._held.take(scanner.decided_end), spans, start)

    def _release_until(self, part: Scanner, end: int) -> str:
        """Release what is decided of a text with parts."""
        self._take(self._scanner, self._scanner_start)
        self._take(part, self._part_start)
        start = self._held.start
        spans = _united(self._spans)
        for span in reversed(spans):
            if span.start < end < span.end:
                end = span.start
        end = max(end, start)
        self._spans = [span for span in spans if span.end > end]
        text, ready = self._held.take(end), spans[: len(spans) - len(self._spans)]
        if self._seams is None:
            return self._put(text, ready, start)
        return self._seams.put(text, ready, start, self._put)

    def _end_part(self) -> Scanner:
        """Take what the part holds, and return the scanner of the next one."""
        part = self._part
        if part is None:
            part = self._scanner.ended(self._held.start)
        else:
            part.finish()
        self._take(part, self._part_start)
        self._part = Scanner(self._automaton)
        self._part_start = self._held.end
        return self._part

    def _take(self, scanner: Scanner, start: int) -> None:
        self._refuse_empty(scanner)
        spans = [Span(span.start + start, span.end + start) for span in scanner.take_spans()]
        self._spans += self._counted([span for span in spans if span.end > self._held.start])

    def _counted(self, spans: list[Span]) -> Sequence[Span]:
        """Return the matches that count, and are to be replaced."""
        if not spans or self._replacement.counts_all:
            return spans
        held = self._held
        counted = [*self._replacement.counted(held.text, spans, start=held.start, left=self._left)]
        if not self._replacement.only_logs:
            return counted
        for span in counted:
            self._told.tell(self._rule.id, *span)
        return ()

    def _refuse_empty(self, scanner: Scanner) -> None:
        if scanner.has_empty_match:
            self.abort()
            raise empty_match_error(self._rule)

    def _put(self, text: str, spans: Sequence[Span], start: int) -> str:
        if not text:
            return ""
        released = self._replaced(text, spans, start) if spans or self._writer is not None else text
        if self._keeps_left:
            self._left = (self._left + text)[-CONTEXT_LENGTH:]
        elif self._left:
            self._left = ""
        return released

    def _replaced(self, text: str, spans: Sequence[Span], start: int) -> str:
        redacted = self._replacement.put(text, spans, self._writer, start=start, left=self._left)
        self._count += redacted.count
        return redacted.text


def _united(spans: list[Span]) -> list[Span]:
    """Unite spans that overlap."""
    united: list[Span] = []
    for span in sorted(spans):
        if united and span.start < united[-1].end:
            united[-1] = Span(united[-1].start, max(span.end, united[-1].end))
        else:
            united.append(span)
    return united


class _HeldText:
    """The text that is not released yet, in pieces, so that a long wait costs no copying."""

    __slots__ = ("_pieces", "end", "start")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.start = 0
        self.end = 0
        """Where it ends in the whole text."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def append(self, text: str) -> None:
        self._pieces.append(text)
        self.end += len(text)

    def take(self, end: int) -> str:
        count = end - self.start
        if count <= 0:
            return ""
        text = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
        self._pieces = [text[count:]] if count < len(text) else []
        self.start = end
        return text[:count]
