"""Every case on both backends: nothing leaks, nothing else changes, and a stream gives the same."""

from __future__ import annotations

import random

import pytest

from tests.dlp.cases import CASES, Case
from tests.dlp.contexts import BACKENDS, counts, default_rules, inspect, split_at, streamed
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.interceptor import Backend
from tramapy.dlp.packs import ALL, encoded

DEFAULT = {backend: default_rules(backend) for backend in BACKENDS}
WITH_ENCODED = {
    backend: RuleBasedDlpInterceptor.with_default_rules(backend=backend, packs=(*ALL, encoded))
    for backend in BACKENDS
}
JOINTS = ("", " ", "\n", ", ", "-", ".", " and the ", '"', "\\", "x", "1", "@", "/", ":")


def interceptor_for(case: Case, backend: Backend) -> RuleBasedDlpInterceptor:
    return (WITH_ENCODED if case.id == "dlp-148" else DEFAULT)[backend]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_what_must_go_goes_and_the_rest_stays(case: Case, backend: Backend) -> None:
    result = inspect(interceptor_for(case, backend), case.text)
    assert not [secret for secret in case.redacted if secret in result.sanitized_text]
    assert not [kept for kept in case.kept if kept not in result.sanitized_text]
    assert bool(case.redacted) is result.has_redactions
    if case.entity == "none":
        assert result.sanitized_text == case.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_redacting_twice_changes_nothing(case: Case) -> None:
    once = inspect(interceptor_for(case, "stdlib"), case.text).sanitized_text
    assert inspect(interceptor_for(case, "stdlib"), once).sanitized_text == once


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_every_split_in_two_gives_the_whole_result(case: Case) -> None:
    interceptor = interceptor_for(case, "stdlib")
    whole = inspect(interceptor, case.text)
    for place in range(len(case.text) + 1):
        assert streamed(interceptor, [case.text[:place], case.text[place:]]) == whole


def mixture(source: random.Random) -> str:
    """Join pieces of cases so that what they hold meets, overlaps and is cut short."""
    parts: list[str] = []
    for _ in range(source.randrange(1, 5)):
        text = source.choice(CASES).text
        first, last = sorted((source.randrange(len(text) + 1), source.randrange(len(text) + 1)))
        parts += [source.choice((text, text, text[first:], text[:last])), source.choice(JOINTS)]
    return "".join(parts)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.unmeasured) for seed in range(1, 10))]
)
def test_random_splits_of_random_texts_give_the_whole_result(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(1_000):
        text = mixture(source)
        most = max(2, len(text) // source.choice((3, 10, 40)))
        places = [source.randrange(len(text) + 1) for _ in range(source.randrange(1, most + 1))]
        whole = inspect(DEFAULT["stdlib"], text)
        assert inspect(DEFAULT["re2"], text) == whole, "both backends agree"
        assert streamed(DEFAULT["stdlib"], split_at(text, places)) == whole


def test_four_hits_are_counted_by_rule() -> None:
    text = "a@example.com, b@example.com; 203.0.113.7 & 123-45-6789"
    assert counts(inspect(DEFAULT["stdlib"], text)) == [("email", 2), ("us_ssn", 1), ("ipv4", 1)]
