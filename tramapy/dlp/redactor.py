"""`RuleRedactor`: one rule, compiled, on a whole text or on a stream."""

from __future__ import annotations

from dataclasses import dataclass

from tramapy.dlp.matcher import Matcher
from tramapy.dlp.replacement import Replacement
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.streaming import RuleStream
from tramapy.hooks.dlp import DlpContext

__all__ = ["Redacted", "RuleRedactor"]


@dataclass(frozen=True, slots=True, repr=False)
class Redacted:
    """A text after one rule, and how many matches the rule replaced."""

    text: str
    count: int


class RuleRedactor:
    """A rule with its compiled pattern; safe to share between threads.

    Args:
        rule: The rule.
        matcher: Its compiled pattern.
    """

    def __init__(self, rule: DlpRule, matcher: Matcher) -> None:
        self.rule = rule
        self._matcher = matcher
        self._replacement = Replacement(rule)

    def applies_to(self, context: DlpContext) -> bool:
        """Tell whether the rule is meant for a text."""
        if context.content_type not in self.rule.enabled_for:
            return False
        return not self.rule.tool_names or context.tool_name in self.rule.tool_names

    def redact(self, text: str) -> Redacted:
        """Replace every match in a whole text.

        Raises:
            DlpInspectionError: The rule matched the empty string, or its replacement shows what it replaces.
        """
        spans = self._matcher.find(text)
        if spans is None:
            stream = self.open_stream()
            return Redacted(stream.feed(text) + stream.finish(), stream.count)
        return Redacted(self._replacement.apply(text, spans), len(spans)) if spans else Redacted(text, 0)

    def open_stream(self) -> RuleStream:
        """Start an inspection of a text that comes in pieces."""
        return RuleStream(self.rule, self._matcher.automaton, self._replacement)
