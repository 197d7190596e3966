"""`CharSet` as a set of code points."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.dlp.charset import ANY, LAST_CODE_POINT, CharSet

RANGES = st.lists(
    st.tuples(st.integers(60, 130), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))), max_size=4
)
SETTINGS = settings(max_examples=60)


def members(chars: CharSet) -> set[int]:
    return {code_point for first, last in chars.ranges for code_point in range(first, last + 1)}


@SETTINGS
@given(ranges=RANGES)
def test_ranges_become_sorted_disjoint_and_apart(ranges):
    chars = CharSet.of(*ranges)
    assert members(chars) == {point for first, last in ranges for point in range(first, last + 1)}
    assert all(
        last + 1 < first for (_, last), (first, _) in zip(chars.ranges, chars.ranges[1:], strict=False)
    )


@SETTINGS
@given(ranges=RANGES)
def test_complement_holds_exactly_the_others(ranges):
    chars = CharSet.of(*ranges)
    assert chars.complement().complement() == chars
    assert [point in chars.complement() for point in range(200)] == [
        point not in chars for point in range(200)
    ]
    assert chars.union([chars.complement()]) == ANY


@SETTINGS
@given(ranges=RANGES)
def test_ignoring_case_adds_the_other_case_of_ascii_letters_only(ranges):
    chars = CharSet.of(*ranges)
    letters = {chr(point) for point in members(chars) if chr(point).isascii() and chr(point).isalpha()}
    assert members(chars.ignoring_case()) == members(chars) | {ord(letter.swapcase()) for letter in letters}


def test_single_is_the_only_character():
    assert CharSet.holding("a").single == ord("a")
    assert CharSet.holding("ab").single is None
    assert CharSet.holding("").single is None


def test_complement_of_everything_is_empty():
    assert ANY.complement().ranges == ()
    assert CharSet(()).complement() == ANY
    assert LAST_CODE_POINT in ANY
