"""The text of a JSON value beside the places that a plan covers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy import DlpInspectionError
from tramapy.wire.rest import EACH, OPAQUE, SHOWN, SKIP, Plan, merged, rest_of

PLAN: Plan = {
    "id": SKIP,
    "usage": SKIP,
    "choices": {EACH: {"index": SKIP, "message": {"role": SKIP, "content": SKIP}}},
}
BLOCKS: Plan = {
    EACH: lambda block: {"type": SKIP, "text": SKIP} if block == {"type": "text", "text": "a"} else None
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=3), children, max_size=4)
    ),
    max_leaves=12,
)


def test_what_is_planned_is_no_rest() -> None:
    value = {
        "id": "a",
        "usage": {"n": 12},
        "choices": [{"index": 0, "message": {"role": "x", "content": "y"}}],
    }
    assert rest_of(value, PLAN) is None
    assert merged(value, PLAN, None) == value


def test_what_is_not_planned_is_rest_in_its_place() -> None:
    value = {
        "id": "a",
        "choices": [{"index": 0}, {"message": {"content": "y", "notes": [{"at": "z"}]}}],
        "new": "w",
    }
    rest = rest_of(value, PLAN)
    assert rest == {"choices": {"1": {"message": {"notes": [{"at": "z"}]}}}, "new": "w"}
    changed = {"choices": {"1": {"message": {"notes": [{"at": "*"}]}}}, "new": "**"}
    assert merged(value, PLAN, changed) == {
        "id": "a",
        "choices": [{"index": 0}, {"message": {"content": "y", "notes": [{"at": "*"}]}}],
        "new": "**",
    }


def test_a_plan_may_look_at_the_value() -> None:
    value = [{"type": "text", "text": "a"}, {"type": "odd", "text": "b"}]
    assert rest_of(value, BLOCKS) == {"1": {"type": "odd", "text": "b"}}
    assert merged(value, BLOCKS, {"1": {"type": "odd", "text": "*"}}) == [
        value[0],
        {"type": "odd", "text": "*"},
    ]


@pytest.mark.parametrize(
    "value", [None, True, 12, 999_999, 1.5, 4111111111111111.5, "", [], {}, [None, [0.5]]]
)
def test_what_holds_no_text_is_no_rest(value: object) -> None:
    assert rest_of(value, None) is None
    assert rest_of({"choices": value}, PLAN) is None


@pytest.mark.parametrize("value", ["a", 4111111111111111, -1_000_000, {"name": None}, [[{"": 0}]]])
def test_texts_names_and_long_numbers_are_rest(value: object) -> None:
    assert rest_of(value, None) == value
    assert rest_of({"choices": value}, {"choices": None}) == {"choices": value}


def test_a_text_that_is_gone_from_the_rest_is_refused() -> None:
    with pytest.raises(DlpInspectionError, match="another shape"):
        merged({"a": "x", "b": "y"}, {}, {"a": "x"})
    with pytest.raises(DlpInspectionError, match="another shape"):
        merged({"a": "x", "b": "y"}, {}, {"a": "x", "b": "y", "c": "z"})


def test_a_name_that_is_no_word_is_text() -> None:
    value = {"4111 1111 1111 1111": None, "stream": True, "index": 0, "a1": 5}
    assert rest_of(value, {"index": SKIP}) == {"4111 1111 1111 1111": None, "a1": 5}
    assert rest_of(value, {EACH: SKIP}) is None
    with pytest.raises(DlpInspectionError, match="another shape"):
        merged(value, {"index": SKIP}, {"[CARD]": None, "a1": 5})


@pytest.mark.parametrize(
    "rest", [None, "w", [], {}, {"new": "w", "more": "w"}, {"more": "w"}, {"choices": {"0": "x"}}]
)
def test_a_rest_of_another_shape_is_refused(rest: object) -> None:
    value = {"choices": [{"index": 0, "new": "v"}], "new": "w"}
    with pytest.raises(DlpInspectionError, match="another shape"):
        merged(value, PLAN, rest)


def test_a_rest_where_there_was_none_is_refused() -> None:
    with pytest.raises(DlpInspectionError, match="another shape"):
        merged({"id": "a"}, PLAN, {"new": "w"})


@given(JSON)
def test_its_own_rest_changes_nothing(value: object) -> None:
    for plan in (PLAN, BLOCKS, None, {EACH: {EACH: SKIP}}):
        rest = rest_of({"choices": value, "id": value}, plan)
        assert merged({"choices": value, "id": value}, plan, json.loads(json.dumps(rest))) == {
            "choices": value,
            "id": value,
        }


@pytest.mark.parametrize(
    ("plan", "skipped", "inspected"),
    [
        (
            OPAQUE,
            ["a", 5_000_000, True, None, "2026-01-01T00:00:00+00:00", "QUJD+/" * 99, f"{'QUJD' * 19}\n" * 9],
            [],
        ),
        (OPAQUE, [], [{"a": None}, ["a"], "an id", "a@b.example", "word " * 99]),
        (SHOWN, ["a", "", None], [5_000_000, {"a": "b"}, ["a"]]),
        (SKIP, ["a", {"a": "b"}, ["a"]], []),
    ],
    ids=repr,
)
def test_what_skips_a_type_inspects_the_others(
    plan: Plan, skipped: list[object], inspected: list[object]
) -> None:
    for value in skipped:
        assert rest_of(value, plan) is None
        assert rest_of({"x": value}, {"x": plan}) is None
    for value in inspected:
        assert rest_of(value, plan) == value
        assert rest_of({"x": value}, {"x": plan}) == {"x": value}
        assert merged({"x": value}, {"x": plan}, {"x": {"new": "w"}}) == {"x": {"new": "w"}}


def test_nothing_shows_text() -> None:
    assert [repr(SKIP), repr(OPAQUE), repr(SHOWN)] == ["SKIP", "OPAQUE", "SHOWN"]
