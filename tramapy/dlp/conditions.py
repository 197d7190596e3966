"""Which matches count: the conditions of a rule, and what is allowed to stay."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tramapy.dlp.matcher import Matcher
from tramapy.dlp.rules import DlpRule
from tramapy.dlp.scanner import Scanner, Span
from tramapy.dlp.view import CONTEXT_LENGTH
from tramapy.hooks.dlp import DlpContext

__all__ = ["Allowed", "Conditions", "applies", "find_spans"]


def applies(rule: DlpRule, context: DlpContext) -> bool:
    """Tell whether a rule is meant for a text."""
    if context.content_type not in rule.enabled_for:
        return False
    return not rule.tool_names or context.tool_name in rule.tool_names


class Conditions:
    """The conditions of one rule on its matches."""

    __slots__ = ("_context", "_longest", "_validate", "are_none")

    def __init__(self, rule: DlpRule) -> None:
        words = "|".join(re.escape(word) for word in rule.context_words)
        self._context = re.compile(words, re.IGNORECASE) if words else None
        self._longest = rule.max_length
        self._validate = rule.validate
        self.are_none: bool = self._context is None and self._longest is None and self._validate is None

    def hold(self, text: str, start: int, end: int) -> bool:
        """Tell whether a match counts; `text` has the characters before it, too."""
        if self._longest is not None and end - start > self._longest:
            return False
        if self._context is not None:
            first = max(start - CONTEXT_LENGTH, 0)
            if self._context.search(text, first, start) is None:
                return False
        return self._validate is None or bool(self._validate(text[start:end]))


class Allowed:
    """Matches that stay as they are.

    Args:
        texts: In any case.
        matchers: Compiled patterns; what one of them matches as a whole stays.
    """

    def __init__(self, texts: Collection[str], matchers: Iterable[Matcher]) -> None:
        self._texts = frozenset(text.casefold() for text in texts)
        self._matchers = tuple(matchers)

    def __bool__(self) -> bool:
        return bool(self._texts or self._matchers)

    def covers(self, matched: str) -> bool:
        """Tell whether a matched text may stay."""
        if matched.casefold() in self._texts:
            return True
        whole = [Span(0, len(matched))]
        return any(list(find_spans(matcher, matched)) == whole for matcher in self._matchers)


def find_spans(matcher: Matcher, text: str) -> Iterable[Span]:
    """Return all matches in a whole text, whichever way is quickest; an empty one if the pattern matches nothing."""
    spans = matcher.find(text)
    if spans is not None:
        return spans
    scanner = Scanner(matcher.automaton)
    scanner.feed(text)
    scanner.finish()
    if scanner.has_empty_match:
        return [Span(0, 0)]
    return scanner.take_spans()
