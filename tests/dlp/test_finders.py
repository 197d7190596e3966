"""Searching whole texts: every finder gives the matches of plain `re`, and none goes beyond linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from tests.dlp.contexts import EMAIL, SSN, inspect, interceptor_of, rule_of
from tests.dlp.patterns import TAKING_PATTERNS, TEXTS, plain_spans
from tramapy.dlp.dialect import parse
from tramapy.dlp.finders import Re2Finder, Re2Match, StdlibFinder, StretchFinder, load_re2
from tramapy.dlp.matcher import compile_pattern
from tramapy.dlp.program import compile_node


def re2_module():
    pytest.importorskip("re2")
    return load_re2()


def finder_of(pattern: str, *, with_re2: bool = False):
    return compile_pattern(pattern, re2_module() if with_re2 else None).finder


@settings(max_examples=150)
@given(pattern=TAKING_PATTERNS, text=TEXTS)
def test_re2_gives_the_matches_of_plain_re(pattern, text):
    finder = Re2Finder.build(re2_module(), parse(pattern), compile_node(parse(pattern)))
    if finder is not None:
        assert finder.find(text) == plain_spans(pattern, text)


@settings(max_examples=150)
@given(pattern=TAKING_PATTERNS, text=TEXTS)
def test_the_standard_library_gives_the_matches_of_plain_re(pattern, text):
    matcher = compile_pattern(pattern, None)
    found = matcher.find(text)
    assert found is None or list(found) == plain_spans(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "with_re2", "kind"),
    [
        (SSN, False, StdlibFinder),
        (SSN, True, Re2Finder),
        (EMAIL, False, StretchFinder),
        (EMAIL, True, Re2Finder),
        ("ab$", True, StdlibFinder),
        ("a*b$", True, type(None)),
        ("a*[bc]", False, type(None)),
        ("a*", True, type(None)),
    ],
)
def test_the_quickest_finder_that_is_sure_to_be_linear_is_chosen(pattern, with_re2, kind):
    assert isinstance(finder_of(pattern, with_re2=with_re2), kind)


def test_pattern_too_large_for_re2_is_searched_otherwise():
    odd = "".join(chr(code_point) for code_point in range(0x4E00, 0x4E00 + 2_000, 2))
    assert isinstance(finder_of(f"[{odd}]{{1,900}}a", with_re2=True), StretchFinder)


@pytest.mark.parametrize(
    "text", ["no sign", "@", "a@b", "a.b@c.de", "x a.b@c.de,e@f.gh!", "é@b.cd a@b.cdé", "a@b.cc@d.ee"]
)
def test_stretches_give_the_matches_of_plain_re(text):
    assert list(compile_pattern(EMAIL, None).finder.find(text)) == plain_spans(EMAIL, text)


def test_a_stretch_knows_what_stands_around_it():
    pattern = r"\b[a-z.]+@[a-z]+\b"
    assert isinstance(finder_of(pattern), StretchFinder)
    for text in ["Xa@b", "a@bX", "-a@b-", "a@b"]:
        assert list(finder_of(pattern).find(text)) == plain_spans(pattern, text)


class CountingPattern:
    """A compiled pattern of google-re2 that counts its searches."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re2_module().compile(pattern, re2_module().Options())
        self.search_count = 0

    def finditer(self, text: bytes) -> Iterator[Re2Match]:
        for match in self._pattern.finditer(text):
            self.search_count += 1
            yield match


def searches_of(pattern: str, text: str) -> tuple[int, bool]:
    counting = CountingPattern(pattern)
    found = Re2Finder(counting, parse(pattern), compile_node(parse(pattern))).find(text)
    return counting.search_count, found is not None


@pytest.mark.parametrize("length", [50_000, 100_000])
def test_re2_gives_up_where_every_search_reads_the_rest(length):
    assert searches_of("x[^y]*y|x", "x" * length) == (9, False)


def test_a_text_on_which_re2_gives_up_is_redacted_all_the_same():
    text = "a@b.cc-@" * 2_000
    assert searches_of(EMAIL, text)[1] is False
    interceptor = interceptor_of(rule_of(EMAIL), backend="re2")
    assert inspect(interceptor, text).sanitized_text == re.sub(EMAIL, "[#]", text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[a-z]", "a" * 20_000),
        (EMAIL, "a@b.cc " * 5_000),
        ("[a-z]{1,4}z|a", "a" * 5_000),
    ],
    ids=["letters", "emails", "short_read_ahead"],
)
def test_re2_does_not_give_up_where_searches_read_little_ahead(pattern, text):
    searches, found = searches_of(pattern, text)
    assert found
    assert searches == len(plain_spans(pattern, text))
