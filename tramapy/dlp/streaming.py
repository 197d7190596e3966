"""Redact a text while it arrives: what is released is decided, and all of it is what the whole text gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.replacement import Replacement, empty_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Scanner, Span
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

    __slots__ = ("_count", "_held", "_keeps_left", "_left", "_replacement", "_rule", "_scanner", "_writer")

    def __init__(
        self, rule: DlpRule, automaton: Automaton, replacement: Replacement, vault: PlaceholderVault | None
    ) -> None:
        self._rule = rule
        self._replacement = replacement
        self._writer = replacement.open(vault)
        self._scanner = Scanner(automaton)
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
        return self._release()

    def finish(self) -> str:
        """End the text and return the rest of it."""
        self._scanner.finish()
        return self._release()

    def abort(self) -> None:
        """Drop what was held back."""
        self._held = _HeldText()
        self._left = ""

    def _release(self) -> str:
        scanner = self._scanner
        if scanner.has_empty_match:
            self.abort()
            raise empty_match_error(self._rule)
        start = self._held.start
        text = self._held.take(scanner.decided_end)
        spans = scanner.take_spans()
        released = self._replaced(text, spans, start) if spans or self._writer is not None else text
        if self._keeps_left:
            self._left = (self._left + text)[-CONTEXT_LENGTH:]
        return released

    def _replaced(self, text: str, spans: list[Span], start: int) -> str:
        redacted = self._replacement.apply(text, spans, self._writer, start=start, left=self._left)
        self._count += redacted.count
        return redacted.text


class _HeldText:
    """The text that is not released yet, in pieces, so that a long wait costs no copying."""

    __slots__ = ("_pieces", "start")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.start = 0

    def append(self, text: str) -> None:
        self._pieces.append(text)

    def take(self, end: int) -> str:
        count = end - self.start
        if count == 0:
            return ""
        text = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
        self._pieces = [text[count:]] if count < len(text) else []
        self.start = end
        return text[:count]
