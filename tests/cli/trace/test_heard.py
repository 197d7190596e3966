from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.trace.events import STEPS, record
from tramapy import CATALOGUE
from tramapy.cli.trace.heard import TraceInputError, cleaned, heard_event

OPENED: dict[str, Any] = {"correlation_id": "c", "provider_id": "p"}


def heard(record: Any) -> Any:
    return heard_event(record["at_s"], record["name"], record["attributes"])


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_an_event_of_the_catalogue_is_taken_as_it_is(step: Any) -> None:
    written = record(*step)
    event = heard(written)
    assert (event.at_s, event.name, event.attributes) == (
        written["at_s"],
        written["name"],
        written["attributes"],
    )


@pytest.mark.parametrize("definition", CATALOGUE, ids=lambda definition: definition.name)
def test_an_event_without_what_it_must_have_is_none(definition: Any) -> None:
    whole = {key.name: key.value_type() for key in definition.allowed}
    assert heard_event(1.0, definition.name, whole).attributes == whole
    for name in definition.required:
        with pytest.raises(TraceInputError):
            heard_event(1.0, definition.name, {key: value for key, value in whole.items() if key != name})


def test_an_attribute_of_a_later_version_is_left_out() -> None:
    event = heard_event(1, "tramai.circuit.opened", {**OPENED, "later": "x"})
    assert event.attributes == OPENED


def test_an_event_of_a_later_version_has_its_scalars() -> None:
    told = {
        "correlation_id": "c",
        "text": "x",
        "number": 7,
        "is_so": True,
        "list": [1],
        "object": {"a": 1},
        "float": 1.5,
        "none": None,
        "huge": 2**63,
    }
    event = heard_event(1, "later.event", told)
    assert event.attributes == {"correlation_id": "c", "text": "x", "number": 7, "is_so": True}


def test_an_event_of_a_later_version_has_few_attributes() -> None:
    told: dict[str, object] = {"correlation_id": "c", **{f"key{number}": 1 for number in range(1_000)}}
    assert len(heard_event(1, "later.event", told).attributes) == 32


@pytest.mark.parametrize(
    "at_s", [None, "1", True, -1, float("nan"), float("inf"), 10**30, 1e300, [1]], ids=repr
)
def test_what_is_no_time_is_refused(at_s: object) -> None:
    with pytest.raises(TraceInputError, match="its time is no time"):
        heard_event(at_s, "tramai.circuit.opened", OPENED)


@pytest.mark.parametrize("name", [None, "", 7, ["x"]], ids=repr)
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(TraceInputError, match="it has no name"):
        heard_event(1, name, OPENED)


@pytest.mark.parametrize("attributes", [None, [], "x", 1], ids=repr)
def test_what_are_no_attributes_are_refused(attributes: object) -> None:
    with pytest.raises(TraceInputError, match="it has no attributes"):
        heard_event(1, "tramai.circuit.opened", attributes)


@pytest.mark.parametrize("correlation_id", [None, 7, True], ids=repr)
def test_an_event_of_no_operation_is_refused(correlation_id: object) -> None:
    with pytest.raises(TraceInputError, match="it has no correlation id"):
        heard_event(1, "later.event", {"correlation_id": correlation_id})


@pytest.mark.parametrize("provider_id", [None, [], {}, 1.5, 2**63], ids=repr)
def test_a_value_that_no_event_has_is_refused(provider_id: object) -> None:
    with pytest.raises(TraceInputError, match="its provider_id is of a type that no event has"):
        heard_event(1, "tramai.circuit.opened", {**OPENED, "provider_id": provider_id})


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TraceInputError, match="takes str, not int"):
        heard_event(1, "tramai.circuit.opened", {**OPENED, "provider_id": 7})


HOSTILE = [
    "\x1b[2J\x1b]0;title\x07",
    "two\nlines\r",
    "\u202etxt.exe",
    "\u2028\u2029",
    "\x9b31m",
    "zero\u200bwidth",
    "\ud800",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_commands_a_terminal(text: str) -> None:
    event = heard_event(1, text, {"correlation_id": text, text: text})
    for shown in (event.name, *event.attributes, *map(str, event.attributes.values())):
        assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert "\N{REPLACEMENT CHARACTER}" in shown or shown == "correlation_id"


def test_good_text_stays() -> None:
    assert cleaned("gpt-4o, größer, 模型 🙂") == "gpt-4o, größer, 模型 🙂"


def test_long_text_is_cut() -> None:
    assert cleaned("x" * 200) == "x" * 200
    assert cleaned("x" * 1_000_000) == "x" * 200 + "…"


@given(st.text())
def test_cleaned_text_is_clean(text: str) -> None:
    assert cleaned(cleaned(text)) == cleaned(text)
    assert len(cleaned(text)) <= 201
