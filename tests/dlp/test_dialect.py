"""The pattern dialect: what is accepted means what plain `re` means; all else is refused with a remedy."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, settings

from tests.dlp.patterns import PATTERNS, TEXTS, automaton_of, plain_spans, scanned_spans
from tramapy.dlp.dialect import PatternError, parse
from tramapy.dlp.rendering import Flavour, render

SAMPLE = "aA bB zZ 019 _- .+*?()[]{}|^$\\&:=,\"' \t\n\r\f\v\a éÉ ß K \u017f\u212a x{2} x{,2} {} ab\n"


@pytest.mark.parametrize(
    "pattern",
    [
        "a", "aA", ".", r"\.", r"\\", r"\-", r"\_", r"\ ", r"\é", "é",
        r"\d", r"\D", r"\w", r"\W", r"\s", r"\S",
        r"\n", r"\t", r"\r", r"\f", r"\v", r"\a", r"\x41", r"\u00e9", r"\U0000212a",
        "[abc]", "[^abc]", "[a-c]", "[a-]", "[-a]", "[]a]", "[^]a]", "[]-a]", "[a^]", "[+-.]", r"[\]\[]", r"[\w.-]",
        r"[^\s\d]", r"[\d-]", r"[\x41-\x43]", "[.$|()?*+{}]", "[&]", "[:a]", "[a:]", r"[\-\\]",
        "(a)", "(?:a)", "(?P<name>a)b", "(?P<a>a)(?P<b>b)", "a|b", "a|b|", "(a|)b", "|a", "()a", "(?:)a",
        "a*b", "a+", "a?b", "a*?b", "a+?", "a??b", "a{2}", "a{1,2}", "a{1,}", "a{1,2}?", "a{0,1}b", "a{0}b", "a{01}",
        "x{", "x{a}", "{}", "{ ", "x{2", "x{2,a}", "}", "]",
        "^a", "a$", r"\Aa", r"b\n\Z", r"\ba", r"a\b", r"\Ba", r"^a.*$", "$\n", r"b$",
        "(?i)ab", "(?i)[a-c]", "(?i)[^a]", "(?i)É", "(?i)k", "(?i)[^K]", "(?i)s", r"(?i)\x41", r"(?i)[Z-a]", r"(?i)\D",
    ],
)  # fmt: skip
def test_pattern_means_what_plain_re_means(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        expected = plain_spans(pattern, SAMPLE)
    assert scanned_spans(automaton_of(pattern), [SAMPLE]) == expected


@settings(max_examples=300)
@given(pattern=PATTERNS, text=TEXTS)
def test_random_pattern_means_what_plain_re_means(pattern, text):
    assert scanned_spans(automaton_of(pattern), [text]) == plain_spans(pattern, text)


@settings(max_examples=100)
@given(pattern=PATTERNS, text=TEXTS)
def test_rendered_pattern_means_the_same(pattern, text):
    rendered = render(parse(pattern), Flavour.STDLIB)
    assert plain_spans(rendered, text) == plain_spans(pattern, text)


def test_end_of_text_may_be_written_as_in_re2():
    assert scanned_spans(automaton_of(r"a\z"), ["a a"]) == [(2, 3)]


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("[", "brackets"), ("[a", "brackets"), ("[]", "brackets"), ("[b-a]", "brackets"), (r"[\d-z]", "brackets"),
        (r"[a-\d]", "brackets"), ("(", "brackets"), ("a)", "brackets"), ("(a", "brackets"), ("\\", "brackets"),
        ("*a", "brackets"), ("a|*", "brackets"), ("(*a)", "brackets"), ("a**", "brackets"), ("a{2}{3}", "brackets"),
        ("{2}", "brackets"), ("a{3,2}", "brackets"), ("(?P<n>a)(?P<n>b)", "brackets"), (r"\U00110000", "brackets"),
        ("(?=a)", "look-around"), ("(?!a)", "look-around"), ("(?<=a)", "look-around"), ("(?<!a)", "look-around"),
        (r"(a)\1", "back-reference"), ("(?P<n>a)(?P=n)", "back-reference"), (r"\0", "back-reference"),
        (r"[\1]", "back-reference"),
        ("a(?i)", "only (?i) at the very start"), ("(?s).", "only (?i)"), ("(?i:a)", "only (?i)"),
        ("(?-i:a)", "only (?i)"),
        ("(?>a)", "kind of group"), ("(?<n>a)", "kind of group"), ("(?#a)", "kind of group"), ("(?", "kind of group"),
        ("(?P<1>a)", "kind of group"), ("(?P>a)", "kind of group"), ("(?(1)a)", "kind of group"),
        ("(?|a)", "kind of group"),
        (r"\p{L}", "escape"), (r"\Qa\E", "escape"), (r"\R", "escape"), (r"\h", "escape"), (r"\X", "escape"),
        (r"\G", "escape"), (r"\x4", "escape"), (r"\u00", "escape"), (r"\x{41}", "escape"), (r"[\b]", "escape"),
        (r"\cA", "escape"), (r"\N{DIGIT ONE}", "escape"),
        ("a*+", "possessive"), ("a++", "possessive"), ("a?+", "possessive"), ("a{2}+", "possessive"),
        ("(a*)*", "match nothing"), ("(a?)+", "match nothing"), ("(?:a|)*", "match nothing"),
        (r"\b*", "match nothing"),
        ("^+", "match nothing"), ("(?:)?", "match nothing"), ("(?:a*b*){2}", "match nothing"),
        ("a{1001}", "1000 times"), ("a{2,99999999999}", "1000 times"), ("a{,2}", "lower count"),
        ("[[:alpha:]]", "class inside a class"), ("[[.a.]]", "class inside a class"),
        ("[a&&b]", "class inside a class"),
        ("a{1000}b{1000}c", "2000 steps"), ("(a{100}){100}", "2000 steps"), ("a" * 5001, "5000 characters"),
        ("(" * 33 + "a" + ")" * 33, "32 deep"), ("a\ud800", "lone surrogate"), (r"\ud800", "lone surrogate"),
    ],
)  # fmt: skip
def test_pattern_outside_the_dialect_is_refused(pattern, remedy):
    with pytest.raises(PatternError) as caught:
        parse(pattern)
    assert remedy in caught.value.reason


@pytest.mark.parametrize(
    "pattern", ["(" * 32 + "a" + ")" * 32, "a{1000}", "a" * 1_900], ids=["deep", "count", "long"]
)
def test_pattern_at_a_limit_is_accepted(pattern):
    assert scanned_spans(automaton_of(pattern), ["b"]) == []


@pytest.mark.parametrize("pattern", ["a*+", "(?>a)", r"[\b]", r"\0"])
def test_what_is_refused_is_not_just_invalid(pattern):
    re.compile(pattern)
    with pytest.raises(PatternError):
        parse(pattern)
