"""Compile the rules of a configuration to what inspects texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from tramapy.dlp.cascade import Cascade, RuleRedactor
from tramapy.dlp.conditions import Allowed
from tramapy.dlp.dialect import PatternError
from tramapy.dlp.finders import Re2, load_re2
from tramapy.dlp.matcher import Matcher, compile_pattern
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.one_pass_stream import OnePassStream
from tramapy.dlp.operators import Operators
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContext, DlpResult, InspectedParts, PartedDlpStream

__all__ = ["Engine", "compile_rules"]


class Engine(Protocol):
    """Compiled rules; safe to share between threads."""

    backend_name: Literal["stdlib", "re2"]
    """What searches whole texts."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return a whole text, redacted."""
        ...

    def open_stream(self, context: DlpContext) -> PartedDlpStream:
        """Start an inspection of a text that comes in pieces."""
        ...

    def inspect_parts(self, context: DlpContext, parts: Sequence[str]) -> InspectedParts | None:
        """Return the parts of a text, redacted; None where these rules are asked for one text after another."""
        ...


class _Compiled:
    def __init__(self, rules: OnePass | Cascade, backend_name: Literal["stdlib", "re2"]) -> None:
        self.backend_name: Literal["stdlib", "re2"] = backend_name
        self.inspect = rules.inspect
        self._rules = rules

    def inspect_parts(self, context: DlpContext, parts: Sequence[str]) -> InspectedParts | None:
        rules = self._rules
        return rules.inspect_parts(context, parts) if isinstance(rules, OnePass) else None

    def open_stream(self, context: DlpContext) -> PartedDlpStream:
        rules = self._rules
        return OnePassStream(rules, context) if isinstance(rules, OnePass) else rules.open_stream(context)


def compile_rules(
    configuration: RuleBasedDlpConfiguration, backend: Literal["auto", "stdlib", "re2"]
) -> Engine:
    """Compile all rules of a configuration.

    Raises:
        ConfigurationError: A pattern is outside the dialect, or `re2` is not installed.
    """
    re2 = None if backend == "stdlib" else load_re2()
    if backend == "re2" and re2 is None:
        raise ConfigurationError(
            "backend='re2' needs google-re2. Install it with: pip install 'tramapy[re2]', or write backend='auto'"
        )
    return _Compiled(_rules(configuration, re2), "stdlib" if re2 is None else "re2")


def _rules(configuration: RuleBasedDlpConfiguration, re2: Re2 | None) -> OnePass | Cascade:
    rules = configuration.all_rules()
    operators = Operators(configuration.hash_key)
    allowed = Allowed(
        configuration.allowed_texts,
        [
            _compiled(f"allowed_patterns[{place}]", _Reader(configuration, place), re2)
            for place in range(len(configuration.allowed_patterns))
        ],
    )
    packed = [rule for rule in rules if isinstance(rule, PackRule)]
    added = [
        (rule, _compiled(f"DLP rule {rule.id!r}", _Reader(rule), re2))
        for rule in rules
        if not isinstance(rule, PackRule)
    ]
    if packed:
        return OnePass(packed, added, re2=re2, allowed=allowed, operators=operators)
    return Cascade([RuleRedactor(rule, matcher, allowed, operators) for rule, matcher in added])


class _Reader:
    """Reads a pattern where it is compiled, so that no frame on the way there holds it."""

    __slots__ = ("_owner", "_place")

    def __init__(self, owner: DlpRule | RuleBasedDlpConfiguration, place: int = 0) -> None:
        self._owner = owner
        self._place = place

    def __call__(self) -> str:
        owner = self._owner
        return owner.pattern if isinstance(owner, DlpRule) else owner.allowed_patterns[self._place]


def _compiled(owner: str, read_pattern: Callable[[], str], re2: Re2 | None) -> Matcher:
    """Compile a pattern; no frame that an error passes holds it."""
    try:
        return compile_pattern(read_pattern(), re2)
    except PatternError as refused:
        reason = refused.reason
    # Raised out here, so that no context leads to frames that hold the pattern.
    raise ConfigurationError(f"{owner}: its pattern {reason}. See docs/dlp.md for what is supported.")
