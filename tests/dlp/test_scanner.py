"""`Scanner` and `Automaton`: all matches in one pass, in pieces, from a shared and bounded cache."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dlp.contexts import CARD, EMAIL, split_at
from tests.dlp.patterns import PATTERNS, TEXTS, automaton_of, plain_spans, scanned_spans
from tramapy.dlp.scanner import Scanner

HOSTILE = {
    "restart": (r"x[^y]*y|x", "x"),
    "run": (r"a*b", "a"),
    "nested": (r"(?:a+)+b", "a"),
    "overlap": (r"(?:a|aa|aaa)*b", "a"),
    "email": (EMAIL, "a@b.c-"),
    "email_dots": (EMAIL, "a."),
    "card": (CARD, "1 - "),
    "window": (r"[ab]*a[ab]{9}c", "abbabaaab"),
    "optionals": ("a?" * 20 + "a" * 20 + "b", "a"),
    "lazy": (r"a.*?b.*?c", "ab"),
}
HOSTILE_SHAPES = pytest.mark.parametrize("shape", HOSTILE)


@settings(max_examples=150)
@given(pattern=PATTERNS, text=TEXTS, places=st.lists(st.integers(1, 13), max_size=5))
def test_every_split_gives_the_matches_of_the_whole(pattern, text, places):
    assert scanned_spans(automaton_of(pattern), split_at(text, places)) == plain_spans(pattern, text)


@settings(max_examples=100)
@given(pattern=PATTERNS, text=TEXTS)
def test_a_tiny_cache_changes_no_match(pattern, text):
    assert scanned_spans(automaton_of(pattern, cache_size=1), list(text)) == plain_spans(pattern, text)


def test_the_cache_stays_within_its_size():
    automaton = automaton_of(r"[ab]*a[ab]{9}c", cache_size=5_000)
    scanner = Scanner(automaton)
    sizes = []
    for letter in random.Random(7).choices("ab", k=2_000):
        scanner.feed(letter)
        sizes.append(automaton.cached_size)
    assert max(sizes) <= 5_000
    assert any(later < earlier for earlier, later in pairwise(sizes))


@HOSTILE_SHAPES
def test_finding_transitions_costs_at_most_the_program_for_each_character(shape):
    pattern, pump = HOSTILE[shape]
    automaton = automaton_of(pattern)
    text = pump * 600
    scanned_spans(automaton, [text])
    assert automaton.visited_count <= 2 * len(automaton.program.instructions) * (len(text) + 1)


@HOSTILE_SHAPES
def test_a_scan_of_known_transitions_is_look_ups_only(shape):
    pattern, pump = HOSTILE[shape]
    automaton = automaton_of(pattern)
    scanned_spans(automaton, [pump * 50])
    visited = automaton.visited_count
    scanned_spans(automaton, [pump * 50])
    # All transitions are known by now; only the decision at the end of the text is not kept.
    assert automaton.visited_count - visited <= 2 * len(automaton.program.instructions)


@HOSTILE_SHAPES
def test_hostile_text_gives_the_matches_of_plain_re(shape):
    pattern, pump = HOSTILE[shape]
    text = pump * (9 if shape in {"nested", "overlap", "optionals"} else 40)
    assert scanned_spans(automaton_of(pattern), [text]) == plain_spans(pattern, text)


def test_a_hundred_thousand_pending_matches_are_kept_and_released():
    automaton = automaton_of(r"x[^y]*y|x")
    scanner = Scanner(automaton)
    scanner.feed("x" * 100_000)
    assert (scanner.take_spans(), scanner.decided_end) == ([], 0)
    scanner.finish()
    assert scanner.take_spans() == [(place, place + 1) for place in range(100_000)]


def test_a_match_is_certain_once_nothing_longer_can_come():
    scanner = Scanner(automaton_of("ab|abc*d|x"))
    scanner.feed("1abc")
    assert (scanner.take_spans(), scanner.decided_end) == ([(1, 3)], 4)
    scanner = Scanner(automaton_of("abc*d|ab"))
    scanner.feed("1abcc")
    assert (scanner.take_spans(), scanner.decided_end) == ([], 1)
    scanner.feed("e")
    assert (scanner.take_spans(), scanner.decided_end) == ([(1, 3)], 6)


@pytest.mark.parametrize("after", ["", "-", "a", "é"])
def test_a_part_of_a_text_is_scanned_in_its_context(after):
    scanner = Scanner(automaton_of(r"\bab\b"), after=after)
    scanner.feed("ab-")
    assert bool(scanner.take_spans()) is (after != "a")


@pytest.mark.parametrize("text", ["a\n", "a\nb", "a\n\n", "\n", "a", "a\nb\n", "\na"])
@pytest.mark.parametrize("pattern", ["a$", r"a$\n", "[^b]$", r"\n$", "a$|b", "x$|\n"])
def test_end_of_line_is_decided_whatever_the_split(pattern, text):
    automaton = automaton_of(pattern)
    assert {str(scanned_spans(automaton, [text[:cut], "", text[cut:]])) for cut in range(len(text) + 1)} == {
        str(plain_spans(pattern, text))
    }


def test_an_empty_match_stops_the_scan_for_good():
    scanner = Scanner(automaton_of("a*"))
    scanner.feed("b")
    assert scanner.has_empty_match
    scanner.feed("aaa")
    scanner.finish()
    assert (scanner.has_empty_match, scanner.take_spans()) == (True, [])


def test_an_empty_match_is_not_certain_while_a_preferred_one_may_come():
    scanner = Scanner(automaton_of("abc|"))
    scanner.feed("ab")
    assert not scanner.has_empty_match
    scanner.feed("d")
    assert scanner.has_empty_match


def test_an_empty_match_before_the_last_newline_stops_the_scan():
    scanner = Scanner(automaton_of("b|$"))
    scanner.feed("\n")
    assert not scanner.has_empty_match
    scanner.finish()
    assert scanner.has_empty_match


def test_threads_share_one_automaton():
    automaton = automaton_of(r"[ab]*a[ab]{5}c|b\b", cache_size=2_000)
    texts = ["".join(random.Random(seed).choices("abc ", k=60)) for seed in range(120)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: scanned_spans(automaton, [text]), texts))
    assert found == [plain_spans(r"[ab]*a[ab]{5}c|b\b", text) for text in texts]
