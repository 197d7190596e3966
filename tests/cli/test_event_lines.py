from __future__ import annotations

import pytest

from tramapy import CATALOGUE
from tramapy.cli.event_lines import EventLine, HeardEvent, in_reading_order, line_of
from tramapy.hooks.event_model import AttributeValue


def line(name: str, **attributes: AttributeValue) -> EventLine:
    return line_of(HeardEvent(at_s=0.0, name=name, attributes={"correlation_id": "c", **attributes}))


@pytest.mark.parametrize("definition", CATALOGUE, ids=lambda definition: definition.name)
def test_what_is_required_is_enough_for_a_line(definition: object) -> None:
    event = CATALOGUE.get(definition.name)  # type: ignore[attr-defined]
    least = {key.name: key.value_type() for key in event.allowed if key.name in event.required}
    shown = line_of(HeardEvent(at_s=0.0, name=event.name, attributes=least))
    assert shown.text
    assert event.name not in shown.text or event.name == "tramai.route.selected"


def test_an_event_that_nobody_knows_is_shown_with_all_that_it_says() -> None:
    assert line("mine.event", a=1, b="x") == EventLine("│ ·", "mine.event a=1, b=x", "dim")
    assert line("mine.event").text == "mine.event"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"outcome": "success", "attempt_count": 1}, "answered after 1 attempt"),
        ({"outcome": "cancelled", "attempt_count": 2}, "cancelled after 2 attempts"),
        ({"outcome": "failed", "attempt_count": 0, "error_type": "E"}, "failed after 0 attempts: E"),
    ],
)
def test_an_operation_ends_in_words(attributes: dict[str, AttributeValue], expected: str) -> None:
    assert line("tramai.operation.completed", **attributes).text == expected


def test_a_token_limit_says_how_far_it_was_passed() -> None:
    shown = line("tramai.token_budget.hard_limit_exceeded", observed_tokens=120, limit_tokens=100)
    assert shown.text == "the hard token limit is passed: 120 of 100"


def test_what_follows_from_a_failure_comes_after_it() -> None:
    names = ["attempt.started", "retry.scheduled", "attempt.failed", "attempt.started"]
    events = [HeardEvent(at_s=0.0, name=f"tramai.{name}", attributes={}) for name in names]
    assert [event.name.removeprefix("tramai.") for event in in_reading_order(events)] == [
        "attempt.started",
        "attempt.failed",
        "retry.scheduled",
        "attempt.started",
    ]


def test_a_call_without_a_model_says_so() -> None:
    started = line("tramai.operation.started", requested_model="none")
    assert started.text == "c asks without a model"
    attempt = line("tramai.attempt.started", provider_id="openai", attempt=0, effective_model="none")
    assert attempt.text == "attempt 0 goes to openai"
