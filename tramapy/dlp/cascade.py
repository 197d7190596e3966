"""`Cascade`: rules one after another, each on the text that the one before it returned."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tramapy.dlp.conditions import Allowed, applies
from tramapy.dlp.json_tokens import rewrite_tokens
from tramapy.dlp.matcher import Matcher
from tramapy.dlp.operators import Operators
from tramapy.dlp.replacement import Redacted, Replacement
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.streaming import JsonOrTextStream, RuleStream
from tramapy.dlp.told import Told
from tramapy.hooks.composite_dlp import ChainedDlpStream
from tramapy.hooks.dlp import (
    DlpContentLocation,
    DlpContext,
    DlpRedaction,
    DlpResult,
    PartedDlpStream,
    PlaceholderVault,
    unchanged,
)

__all__ = ["Cascade", "RuleRedactor"]

_JSON_LOCATIONS = frozenset(
    {
        DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
        DlpContentLocation.REQUEST_TOOL_ARGUMENTS,
        DlpContentLocation.TOOL_MESSAGE_CONTENT,
    }
)
"""Where JSON stands, and whole: an answer's content may be JSON, too, but comes in pieces."""


class Cascade:
    """A list of rules; safe to share between threads.

    Args:
        redactors: In the order in which they run.
    """

    def __init__(self, redactors: Iterable[RuleRedactor]) -> None:
        self._redactors = tuple(redactors)

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return a whole text, redacted; one that is JSON by its place token by token, and then as it is written."""
        if not self._redactors:
            return unchanged(text)
        counts: dict[str, int] = {}

        def redact(piece: str) -> str:
            return self._redact(context, piece, counts)

        if context.content_location in _JSON_LOCATIONS:
            text = rewrite_tokens(text, redact) or text
        sanitized = redact(text)
        ids = [redactor.rule.id for redactor in self._redactors]
        return DlpResult(
            sanitized, [DlpRedaction(rule_id, counts[rule_id]) for rule_id in ids if rule_id in counts]
        )

    def open_stream(self, context: DlpContext) -> PartedDlpStream:
        """Start an inspection of a text that comes in pieces."""
        if context.content_location in _JSON_LOCATIONS:
            return JsonOrTextStream(partial(self.inspect, context), partial(self._open_text, context))
        return self._open_text(context)

    def _open_text(self, context: DlpContext) -> PartedDlpStream:
        openers = [
            partial(redactor.open_stream, context.vault)
            for redactor in self._redactors
            if applies(redactor.rule, context)
        ]
        return ChainedDlpStream([open_() for open_ in openers], openers)

    def _redact(self, context: DlpContext, text: str, counts: dict[str, int]) -> str:
        for redactor in self._redactors:
            if applies(redactor.rule, context):
                redacted = redactor.redact(text, context.vault)
                text = redacted.text
                if redacted.count:
                    counts[redactor.rule.id] = counts.get(redactor.rule.id, 0) + redacted.count
        return text


class RuleRedactor:
    """A rule with its compiled pattern; safe to share between threads.

    Args:
        rule: The rule.
        matcher: Its compiled pattern.
        allowed: Matches that stay.
        operators: Make the replacements.
    """

    def __init__(self, rule: DlpRule, matcher: Matcher, allowed: Allowed, operators: Operators) -> None:
        self.rule = rule
        self._matcher = matcher
        self._operators = operators
        self._replacement = Replacement(rule, allowed, operators)

    def redact(self, text: str, vault: PlaceholderVault | None) -> Redacted:
        """Replace every match in a whole text.

        Args:
            text: The text.
            vault: Takes the values of placeholders.

        Raises:
            DlpInspectionError: The rule matched the empty string, or its replacement shows what it replaces.
        """
        spans = self._matcher.find(text)
        if spans is None:
            stream = self.open_stream(vault)
            return Redacted(stream.feed(text) + stream.finish(), stream.count)
        return (
            self._replacement.apply(text, spans, self._replacement.open(vault))
            if spans
            else Redacted(text, 0)
        )

    def open_stream(self, vault: PlaceholderVault | None) -> RuleStream:
        """Start an inspection of a text that comes in pieces."""
        return RuleStream(self.rule, self._matcher.automaton, self._replacement, vault, Told(self._operators))
