"""Tokens inside of tokens: both backends and all streams cut what is cut of the whole text, wherever they begin."""

from __future__ import annotations

import random
import re

import pytest

from tests.dlp.contexts import BACKENDS, inspect, split_at, streamed
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.packs.tokens import RULES
from tramapy.dlp.view import View

_PLAIN, _QUICK = (RuleBasedDlpInterceptor.with_default_rules(backend=backend) for backend in BACKENDS)
_BEFORE = ("", "\n", "a.", "-", "=", "a", " x ")
_LENGTHS = (0, 1, 7, 8, 9, 10, 11, 42, 43, 44, 130, 511, 512, 513, 999, 1_000, 1_001, 1_540, 3_100)
_JOINTS = (".", "..", "-", "_", "", "-.", "...", " ", "-xoxe.")
_SLACK = ("xoxb-", "xoxe.xoxp-", "xoxe-")
_STARTS = (
    *("eyJ", "xoxb-", "xoxe.xoxp-", "xapp-1-", "glpat-", "ghp_", "github_pat_", "sk-", "sk-ant-", "sk_live_"),
    *(
        "GOCSPX-",
        "ya29.",
        "AIza",
        "hf_",
        "pypi-",
        "npm_",
        "rubygems_",
        "SG.",
        "https://hooks.slack.com/services/",
    ),
)
_CHARACTERS = ("aB3", "c7D", "f0", "-x9", "_Yk4", "Zq")


class _Tokens:
    """Makes texts of tokens and parts of tokens, whose lengths are around every limit."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def web_tokens(self) -> str:
        """Return web tokens of any number of parts, empty ones too."""
        source = self.source
        parts = [
            source.choice(("eyJ", "eyJ", "")) + self._body() if source.random() < 0.7 else ""
            for _ in range(source.randint(3, 8))
        ]
        return source.choice(_BEFORE) + ".".join(parts) + source.choice(("", ".", "\n", "/x"))

    def tokens(self) -> str:
        """Return tokens of any kind, glued to one another."""
        source = self.source
        starts = source.choice((_STARTS, _SLACK))
        pieces = [
            source.choice(starts) + self._body() + source.choice(_JOINTS) for _ in range(source.randint(2, 6))
        ]
        return source.choice(_BEFORE) + "".join(pieces)

    def _body(self) -> str:
        length = self.source.choice(_LENGTHS)
        return (self.source.choice(_CHARACTERS) * length)[:length]


def _check(text: str, source: random.Random) -> None:
    """Check that both backends and all streams agree, and that there is nothing more to cut."""
    whole = inspect(_PLAIN, text)
    assert inspect(_QUICK, text) == whole
    places = sorted(source.sample(range(len(text) + 1), min(len(text), 9)))
    for interceptor in (_PLAIN, _QUICK):
        for pieces in (
            *(split_at(text, range(0, len(text), step)) for step in (1, 7, 50)),
            split_at(text, places),
        ):
            assert streamed(interceptor, pieces) == whole
    assert inspect(_PLAIN, whole.sanitized_text).sanitized_text == whole.sanitized_text


@pytest.mark.parametrize("seed", range(40))
def test_web_tokens_inside_of_web_tokens_are_cut_alike(seed: int) -> None:
    made = _Tokens(seed)
    _check(made.web_tokens(), made.source)


@pytest.mark.parametrize("seed", range(40))
def test_tokens_inside_of_tokens_are_cut_alike(seed: int) -> None:
    made = _Tokens(seed)
    _check(made.tokens(), made.source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a.eyJ{'a' * 1001}.{'b' * 1011}.eyJ{'c' * 11}..{'d' * 515}", "a.[REDACTED:jwt]"),
        (f"eyJ{'a' * 512}.eyJ{'c' * 11}..{'d' * 1999}", "[REDACTED:jwt]"),
        (f"\neyJ{'a' * 512}..{'b' * 3100}.eyJ{'c' * 10}..{'d' * 11}", "\n[REDACTED:jwt]"),
        (f"eyJ{'a' * 20}.eyJ{'b' * 20}.{'c' * 43}..{'d' * 7} end", f"[REDACTED:jwt]..{'d' * 7} end"),
        (f"xoxb-{'a1B' * 20}-xoxe.xoxp-{'c2D' * 20} end", "[REDACTED:slack_token] end"),
        (
            f"xoxb-{'a1B' * 2000}-xoxe.xoxp-{'c2D' * 20}-xoxe.xoxb-{'e3F' * 9} end",
            "[REDACTED:slack_token] end",
        ),
        (f"xoxb-{'a1B' * 20}-xoxe.xoxp-{'c' * 9} end", f"[REDACTED:slack_token].xoxp-{'c' * 9} end"),
    ],
    ids=[
        "behind a long head",
        "in the second part",
        "behind a long part",
        "an empty part before a short one",
        "a new token in an old one",
        "a new token in a long one, twice",
        "too short a new token",
    ],
)
def test_a_token_inside_of_another_is_cut_to_its_end(text: str, expected: str) -> None:
    assert inspect(_PLAIN, text).sanitized_text == expected
    _check(text, random.Random(text))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.bodies], ids=lambda rule: rule.id)
def test_no_token_ends_behind_one_without_a_longest_length_that_it_begins_in(rule: PackRule) -> None:
    made = _Tokens(7)
    starts = re.compile(rule.hint)
    for _ in range(300):
        text = made.web_tokens() if rule.id == "jwt" else made.tokens()
        for start, end in rule.search(View(text, 0, len(text))):
            for inside in starts.finditer(text, start + 1, end):
                begun = rule.search(View(text, inside.start(), len(text)))
                assert all(first >= end or last <= end for first, last in begun)
