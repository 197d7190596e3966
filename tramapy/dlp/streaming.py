"""Redact a text while it arrives: what is released is decided, and all of it is what the whole text gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.replacement import Replacement, empty_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Scanner, Span
from tramapy.dlp.seams import Seams
from tramapy.dlp.view import CONTEXT_LENGTH
from tramapy.hooks.dlp import DlpRedaction, DlpResult, DlpStream, PlaceholderVault

__all__ = ["JsonOrTextStream", "RuleStream"]


class JsonOrTextStream:
    """A `DlpStream` that decides JSON at its end, and other text as it comes.

    Args:
        inspect: Inspects a whole text.
        open_text: Starts the inspection of a text that does not begin like JSON.
    """

    __slots__ = ("_inspect", "_is_json", "_open_text", "_pieces", "_redactions", "_text")

    def __init__(self, inspect: Callable[[str], DlpResult], open_text: Callable[[], DlpStream]) -> None:
        self._inspect = inspect
        self._open_text = open_text
        self._pieces: list[str] = []
        self._is_json: bool | None = None
        self._text: DlpStream | None = None
        self._redactions: tuple[DlpRedaction, ...] = ()

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        """What was redacted so far; for JSON nothing before the end."""
        return self._redactions if self._text is None else self._text.redactions

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

    def finish(self) -> str:
        """Inspect what was kept and return it."""
        if self._text is not None:
            return self._text.finish()
        result = self._inspect("".join(self._pieces))
        self._redactions = result.redactions
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
    """

    __slots__ = (
        *("_automaton", "_count", "_held", "_keeps_left", "_left", "_part"),
        *("_part_start", "_replacement", "_rule", "_scanner", "_seams", "_spans", "_writer"),
    )

    def __init__(
        self, rule: DlpRule, automaton: Automaton, replacement: Replacement, vault: PlaceholderVault | None
    ) -> None:
        self._rule = rule
        self._automaton = automaton
        self._replacement = replacement
        self._writer = replacement.open(vault)
        self._scanner = Scanner(automaton)
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
        part = self._part
        if part is None:
            part = Scanner(self._automaton, after=self._held.before)
            part.feed(self._held.text)
            self._part_start = self._held.start
        part.finish()
        self._take(part, self._part_start)
        self._part = Scanner(self._automaton)
        self._part_start = self._held.end
        self._seams.add(self._part_start)

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
        scanner = self._scanner
        if scanner.has_empty_match:
            self.abort()
            raise empty_match_error(self._rule)
        start = self._held.start
        if self._seams is not None and self._part is not None:
            return self._release_parts(self._seams, self._part, start)
        return self._put(self._held.take(scanner.decided_end), scanner.take_spans(), start)

    def _release_parts(self, seams: Seams, part: Scanner, start: int) -> str:
        self._take(self._scanner, 0)
        self._take(part, self._part_start)
        end = min(self._scanner.decided_end, self._part_start + part.decided_end)
        spans = _united(self._spans)
        for span in reversed(spans):
            if span.start < end < span.end:
                end = span.start
        self._spans = [span for span in spans if span.end > end]
        return seams.put(self._held.take(end), spans[: len(spans) - len(self._spans)], start, self._put)

    def _take(self, scanner: Scanner, start: int) -> None:
        if scanner.has_empty_match:
            self.abort()
            raise empty_match_error(self._rule)
        self._spans += [Span(span.start + start, span.end + start) for span in scanner.take_spans()]

    def _put(self, text: str, spans: Sequence[Span], start: int) -> str:
        released = self._replaced(text, spans, start) if spans or self._writer is not None else text
        if self._keeps_left:
            self._left = (self._left + text)[-CONTEXT_LENGTH:]
        return released

    def _replaced(self, text: str, spans: Sequence[Span], start: int) -> str:
        redacted = self._replacement.apply(text, spans, self._writer, start=start, left=self._left)
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

    __slots__ = ("_pieces", "before", "start")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.start = 0
        self.before = ""
        """The character before it."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    @property
    def end(self) -> int:
        """Where it ends in the whole text."""
        return self.start + sum(map(len, self._pieces))

    def append(self, text: str) -> None:
        self._pieces.append(text)

    def take(self, end: int) -> str:
        count = end - self.start
        if count == 0:
            return ""
        text = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
        self._pieces = [text[count:]] if count < len(text) else []
        self.start = end
        self.before = text[count - 1]
        return text[:count]
