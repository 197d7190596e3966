"""Which patterns `re` may search: whatever is accepted takes linear time, counted in steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dlp.backtracker import count_steps
from tests.dlp.contexts import CARD, CARD_16, EMAIL, SSN
from tests.dlp.patterns import TAKING_PATTERNS
from tramapy.dlp.dialect import parse
from tramapy.dlp.linear import backtracks_linearly
from tramapy.dlp.program import Program, compile_node

ACCEPTED = {
    "ssn": SSN,
    "card_16": CARD_16,
    "card": CARD,
    "few_steps": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "one_way_without_loops": r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "token": r"sk-[A-Za-z0-9]{20,}\b",
    "greedy_run": r"\d+",
    "run_then_more": r"\d+(?:\.\d+)?",
    "assignment": r"(?i)password\s*[:=]\s*\S+",
    "bearer": r"Bearer\s+[\w.-]+",
    "url": r"https?://\S+",
    "boundary_keeps_starts_apart": r"\b\w+@\w+\.com\b",
    "pem": "-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----",
    "iban": r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b",
}
REFUSED = {
    "run_that_can_fail": "a*b",
    "run_then_boundary": r"\d+\b",
    "blanks_then_text": r"\s+foo",
    "boundary_inside_run": r"\b[\w.]+@x",
    "email": EMAIL,
    "nested": "(?:a+)+b",
    "overlap": "(?:a|ab)*c",
    "two_runs": r"\d+\d+x",
    "read_ahead": "x[^y]*y|x",
    "optionals": "a?" * 12 + "a" * 12 + "b",
    "lazy_anything": '".*?"',
    "twice_to_one_place": "(?:a?|b?)(?:c?|d?)(?:e?|f?)(?:g?|h?)(?:i?|j?)z+",
    "many_places": r"[ab]{130}",
}
PUMPS = ["a", "ab", "1", "x", "a-", "1 ", "aab1", "b\n", "x.é"]


def program_of(pattern: str) -> Program:
    return compile_node(parse(pattern))


def growth(program: Program, head: str, pump: str, tail: str) -> float:
    """How many times as many steps twice the text takes."""
    half, whole = (count_steps(program, head + pump * (size // len(pump)) + tail) for size in (240, 480))
    return whole / half


@pytest.mark.parametrize("name", ACCEPTED)
def test_pattern_with_a_proof_is_accepted(name):
    assert backtracks_linearly(program_of(ACCEPTED[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_pattern_without_a_proof_is_refused(name):
    assert not backtracks_linearly(program_of(REFUSED[name]))


@pytest.mark.parametrize(
    ("name", "head", "pump"),
    [
        ("ssn", "", "123-45-"), ("card_16", "", "1"), ("card", "", "1 "), ("card", "", "1 -"),
        ("card", "1" * 12, "-"), ("few_steps", "", "AKIA"), ("one_way_without_loops", "", "1.11."),
        ("token", "", "sk-" + "a" * 20 + "_"),
        ("greedy_run", "", "1"), ("run_then_more", "", "1."), ("assignment", "", "password "),
        ("bearer", "", "Bearer "),
        ("url", "", "http://"), ("boundary_keeps_starts_apart", "", "a@a."), ("pem", "", "-----BEGIN "),
        ("iban", "", "A"),
    ],
)  # fmt: skip
def test_accepted_pattern_takes_linear_steps_on_hostile_text(name, head, pump):
    assert growth(program_of(ACCEPTED[name]), head, pump, "") < 2.3


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ["run_that_can_fail", "run_then_boundary", "read_ahead"])
def test_the_step_count_shows_what_is_refused(name):
    pump, tail = {"run_that_can_fail": ("a", ""), "read_ahead": ("x", "")}.get(name, ("1", "_"))
    assert growth(program_of(REFUSED[name]), "", pump, tail) > 3.5


@pytest.mark.unmeasured
@settings(max_examples=80)
@given(
    pattern=TAKING_PATTERNS,
    head=st.sampled_from(["", "a", "1-"]),
    pump=st.sampled_from(PUMPS),
    tail=st.sampled_from(["", "_", " "]),
)
def test_random_accepted_pattern_takes_linear_steps(pattern, head, pump, tail):
    program = program_of(pattern)
    if backtracks_linearly(program):
        assert growth(program, head, pump, tail) < 2.3
