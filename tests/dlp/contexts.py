"""Contexts, rules and shorthands for the tests of the rule-based interceptor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

from tramapy.dlp.interceptor import Backend, RuleBasedDlpInterceptor
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext, DlpResult

BACKENDS: tuple[Backend, ...] = ("stdlib", "re2")

SSN = r"\b\d{3}-\d{2}-\d{4}\b"
CARD_16 = r"\b\d{16}\b"
CARD = r"\b(?:\d[ -]*?){13,16}\b"
EMAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"

_LOCATIONS = {
    DlpContentType.MODEL_OUTPUT: DlpContentLocation.MODEL_RESPONSE_CONTENT,
    DlpContentType.TOOL_RESULT: DlpContentLocation.TOOL_MESSAGE_CONTENT,
    DlpContentType.MODEL_INPUT: DlpContentLocation.REQUEST_MESSAGE_CONTENT,
}


def context_of(
    content_type: DlpContentType = DlpContentType.MODEL_OUTPUT, *, tool_name: str | None = None
) -> DlpContext:
    return DlpContext(
        content_type=content_type,
        content_location=_LOCATIONS[content_type],
        operation_interface="Support",
        operation_method="answer",
        correlation_id="c-1",
        tool_name=tool_name,
    )


def interceptor_of(
    *rules: DlpRule, backend: Backend = "auto", max_text_length: int = 100_000
) -> RuleBasedDlpInterceptor:
    configuration = RuleBasedDlpConfiguration(rules=rules, max_text_length=max_text_length)
    return RuleBasedDlpInterceptor(configuration, backend=backend)


@cache
def default_rules(backend: Backend = "auto") -> RuleBasedDlpInterceptor:
    """All packs, compiled once for all tests: an interceptor keeps nothing of what it inspects."""
    return RuleBasedDlpInterceptor.with_default_rules(backend=backend)


def rule_of(pattern: str, rule_id: str = "rule", replacement: str = "[#]") -> DlpRule:
    return DlpRule(id=rule_id, pattern=pattern, replacement=replacement)


def inspect(interceptor: RuleBasedDlpInterceptor, text: str) -> DlpResult:
    return interceptor.inspect(context_of(), text)


def streamed(interceptor: RuleBasedDlpInterceptor, pieces: Iterable[str]) -> DlpResult:
    stream = interceptor.open_stream(context_of())
    released = "".join([stream.feed(piece) for piece in pieces]) + stream.finish()
    return DlpResult(released, stream.redactions)


def counts(result: DlpResult) -> list[tuple[str, int]]:
    return [(redaction.rule_id, redaction.replacement_count) for redaction in result.redactions]


def split_at(text: str, places: Sequence[int]) -> list[str]:
    cuts = sorted({0, len(text), *(place for place in places if place < len(text))})
    return [text[start:end] for start, end in pairwise(cuts)]
