import io

import pytest
from rich.console import Console

from tramapy import CATALOGUE
from tramapy.cli.demo.timeline import Timeline
from tramapy.hooks.event_model import RuntimeEventDefinition
from tramapy.testing import FakeClock


def shown(timeline: Timeline) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(timeline.table())
    return console.file.getvalue()  # type: ignore[attr-defined]


def attributes_of(definition: RuntimeEventDefinition) -> dict[str, str | int | bool]:
    return {key.name: key.value_type() for key in definition.allowed}


@pytest.mark.parametrize(
    "definition",
    [event for event in CATALOGUE if event.name != "tramai.route.selected"],
    ids=lambda event: event.name,
)
def test_every_event_has_a_line(definition: RuntimeEventDefinition) -> None:
    timeline = Timeline(FakeClock())
    timeline.on_engine_event(definition.name, attributes_of(definition))
    assert len(shown(timeline).splitlines()) >= 1
    assert "0.000 s" in shown(timeline)


def test_lines_tell_the_time_of_the_clock() -> None:
    clock = FakeClock()
    timeline = Timeline(clock)
    clock.advance(1.5)
    timeline.on_engine_event("tramai.circuit.closed", {"provider_id": "p"})
    assert shown(timeline).split() == ["1.500", "s", "│", "○", "the", "circuit", "of", "p", "closes"]


def test_a_failed_attempt_is_told_before_what_it_leads_to() -> None:
    timeline = Timeline(FakeClock())
    for name in ("tramai.attempt.started", "tramai.circuit.opened", "tramai.attempt.failed"):
        timeline.on_engine_event(name, attributes_of(CATALOGUE.get(name)))
    assert [line.split()[3] for line in shown(timeline).splitlines()] == ["→", "✗", "◉"]


def test_events_are_counted_by_name() -> None:
    timeline = Timeline(FakeClock())
    timeline.on_engine_event("a", {})
    timeline.on_engine_event("b", {})
    timeline.on_engine_event("a", {})
    assert timeline.count("a") == 2


def test_success_and_failure_are_told_apart() -> None:
    timeline = Timeline(FakeClock())
    base = {"correlation_id": "c", "attempt_count": 2}
    timeline.on_engine_event("tramai.operation.completed", {**base, "outcome": "success"})
    timeline.on_engine_event("tramai.operation.completed", {**base, "outcome": "failed", "error_type": "E"})
    assert "answered after 2 attempts" in shown(timeline)
    assert "failed after 2 attempts: E" in shown(timeline)
