"""Redact a text while it arrives: what is released is decided, and all of it is what the whole text gives."""

from __future__ import annotations

from collections.abc import Iterable

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.replacement import Replacement, empty_match_error
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Scanner
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import ChainedDlpStream, DlpRedaction

__all__ = ["RuleBasedDlpStream", "RuleStream", "text_too_long_error"]


class RuleBasedDlpStream:
    """The `DlpStream` of a list of rules: each rule inspects what the one before it released.

    After an error it is closed, and what it held back is gone.

    Args:
        streams: One a rule, in the order of the rules.
        max_text_length: How many characters may be fed altogether.
    """

    __slots__ = ("_chain", "_fed_length", "_is_open", "_max_text_length")

    def __init__(self, streams: Iterable[RuleStream], max_text_length: int) -> None:
        self._chain = ChainedDlpStream(streams)
        self._max_text_length = max_text_length
        self._fed_length = 0
        self._is_open = True

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """All redactions so far, one a rule that matched, in the order of the rules."""
        return self._chain.redactions

    def feed(self, text: str) -> str:
        """Take the next piece and return what is decided.

        Raises:
            DlpInspectionError: The text is too long, or a rule cannot redact it.
            ValueError: The stream has ended.
        """
        self._close()
        self._fed_length += len(text)
        try:
            if self._fed_length > self._max_text_length:
                raise text_too_long_error(self._max_text_length)
            released = self._chain.feed(text)
            self._is_open = True
        finally:
            if not self._is_open:
                self._chain.abort()
        return released

    def finish(self) -> str:
        """End the text and return what was held back.

        Raises:
            DlpInspectionError: A rule cannot redact it.
            ValueError: The stream has ended.
        """
        self._close()
        try:
            return self._chain.finish()
        finally:
            self._chain.abort()

    def abort(self) -> None:
        """Drop what was held back."""
        self._is_open = False
        self._chain.abort()

    def _close(self) -> None:
        """Close the stream, until the step that begins has gone well."""
        if not self._is_open:
            raise ValueError("This DLP stream has ended, by finish(), abort() or an error; open another one")
        self._is_open = False


class RuleStream:
    """The incremental inspection by one rule.

    Args:
        rule: The rule.
        automaton: Its compiled pattern.
        replacement: Its replacement.
    """

    __slots__ = ("_automaton", "_count", "_held", "_replacement", "_rule", "_scanner")

    def __init__(self, rule: DlpRule, automaton: Automaton, replacement: Replacement) -> None:
        self._rule = rule
        self._replacement = replacement
        self._scanner = Scanner(automaton)
        self._held = _HeldText()
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

    def _release(self) -> str:
        scanner = self._scanner
        if scanner.has_empty_match:
            self.abort()
            raise empty_match_error(self._rule)
        start = self._held.start
        text = self._held.take(scanner.decided_end)
        spans = scanner.take_spans()
        if not spans:
            return text
        self._count += len(spans)
        return self._replacement.apply(text, spans, start=start)


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


def text_too_long_error(max_text_length: int) -> DlpInspectionError:
    """Return the error for a text over the limit."""
    return DlpInspectionError(
        f"The text is longer than max_text_length={max_text_length} characters, so DLP did not inspect it. "
        f"Raise max_text_length, or send shorter texts."
    )
