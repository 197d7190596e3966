"""CPU time of the rule-based DLP interceptor, beside plain `re.sub` in the same run.

Run: `python -m benchmarks.dlp_rules`
"""

from __future__ import annotations

import random
import re

from benchmarks.measure import Run, best_us, row
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.dlp.finders import load_re2
from tramapy.dlp.interceptor import Backend
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext

_PATTERNS = {
    "card": r"\b(?:\d[ -]*?){13,16}\b",
    "ssn": r"\b\d{3}-\d{2}-\d{4}\b",
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
    "aws-key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "token": r"\bsk-[A-Za-z0-9]{20,}",
    "iban": r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b",
    "ipv4": r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "password": r"(?i)password\s*[:=]\s*\S+",
    "bearer": r"Bearer\s+[\w.-]+",
    "phone": r"\+\d[\d ()-]{7,14}\d",
}
_PLANTED = (
    "card 4111 1111 1111 1111",
    "ssn 078-05-1120",
    "write to ann@example.com",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-" + "a1" * 12,
    "GB82WEST12345698765432",
    "host 192.0.2.17",
    "password: hunter2hunter2",
    "Bearer abc.def-ghi",
    "+1 (555) 010-0199",
)
_PROSE = """the order ships on 2024-05-06 at 10:30 and the total is 48.21 for 3 items while the quick brown fox
jumps over a lazy dog then rests for 15 minutes near https://example.org/docs/page?id=1234 until someone calls"""
_RULE_COUNTS = (1, 3, 10)
_TEXT_LENGTH = 10_000
_DELTA_LENGTH = 4
_CALLS = 5
_ROUNDS = 7

CONTEXT = DlpContext(
    content_type=DlpContentType.MODEL_OUTPUT,
    content_location=DlpContentLocation.MODEL_RESPONSE_CONTENT,
    operation_interface="benchmark",
    operation_method="inspect",
    correlation_id="benchmark",
)


def main() -> None:
    """Print CPU time per KB of whole texts, and per delta of streams."""
    texts = {"clean": _text(), "dirty": _text(planted=20)}
    print("Rule-based DLP: CPU time per KB")
    for rule_count in _RULE_COUNTS:
        for name, text in texts.items():
            for candidate, spent_us in best_us(_whole(rule_count, text), _CALLS, _ROUNDS).items():
                print(row(f"{rule_count} rules, {name}, {candidate}", spent_us / len(text) * 1_000, "us"))
    print(f"Rule-based DLP: CPU time per delta of {_DELTA_LENGTH} characters")
    for rule_count in _RULE_COUNTS:
        interceptor = _interceptor(rule_count)
        candidates = {name: _streaming(interceptor, text) for name, text in texts.items()}
        for name, spent_us in best_us(candidates, 1, _ROUNDS).items():
            bar = 20.0 if rule_count == 3 and name == "clean" else None
            per_delta_us = spent_us / len(texts[name]) * _DELTA_LENGTH
            print(row(f"{rule_count} rules, {name}", per_delta_us, "us", bar))


def _whole(rule_count: int, text: str) -> dict[str, Run]:
    patterns = [re.compile(pattern, re.ASCII) for pattern in list(_PATTERNS.values())[:rule_count]]

    def substitute(calls: int) -> None:
        for _ in range(calls):
            changed = text
            for pattern in patterns:
                changed = pattern.sub("[#]", changed)

    candidates: dict[str, Run] = {"plain re.sub": substitute}
    backends: tuple[Backend, ...] = ("stdlib",) if load_re2() is None else ("stdlib", "re2")
    for backend in backends:
        candidates[backend] = _inspecting(_interceptor(rule_count, backend), text)
    return candidates


def _inspecting(interceptor: RuleBasedDlpInterceptor, text: str) -> Run:
    def run(calls: int) -> None:
        for _ in range(calls):
            interceptor.inspect(CONTEXT, text)

    return run


def _streaming(interceptor: RuleBasedDlpInterceptor, text: str) -> Run:
    deltas = [text[start : start + _DELTA_LENGTH] for start in range(0, len(text), _DELTA_LENGTH)]

    def run(calls: int) -> None:
        for _ in range(calls):
            stream = interceptor.open_stream(CONTEXT)
            for delta in deltas:
                stream.feed(delta)
            stream.finish()

    return run


def _interceptor(rule_count: int, backend: Backend = "auto") -> RuleBasedDlpInterceptor:
    rules = [
        DlpRule(id=rule_id, pattern=pattern, replacement="[#]") for rule_id, pattern in _PATTERNS.items()
    ]
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules[:rule_count]), backend=backend)


def _text(*, planted: int = 0) -> str:
    source = random.Random(20)
    words = source.choices(_PROSE.split(), k=_TEXT_LENGTH // 6)
    for number in range(planted):
        words.insert(source.randrange(len(words)), _PLANTED[number % len(_PLANTED)])
    return " ".join(words)


if __name__ == "__main__":
    main()
