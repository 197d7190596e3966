from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from tests.cli.trace.events import START_S, STEPS, Step, heard
from tramapy import CATALOGUE
from tramapy.cli.trace.heard import heard_event
from tramapy.cli.trace.operations import BookLimits, TracedOperation, group_by_id
from tramapy.cli.trace.showing import as_json, plain_timeline, timeline


def traced(*steps: Step) -> TracedOperation:
    (operation,) = group_by_id(heard(steps))
    return operation


def shown(operation: TracedOperation, width: int = 110, **options: object) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, **options)  # type: ignore[arg-type]
    console.print(timeline(operation, console))
    return file.getvalue()


def lines(operation: TracedOperation, width: int = 110) -> list[str]:
    return [line.rstrip() for line in shown(operation, width).splitlines()]


def test_an_operation_is_told_from_its_start_to_its_end() -> None:
    assert lines(traced(*STEPS)) == [
        "   0.000 s ┌   c-1 asks for gpt-4o in Support.reply, streamed, 2026-11-30 11:30:13 UTC",
        "   0.001 s │ → attempt 0 goes to openai, gpt-4o",
        "   0.002 s │ ▒ rule email replaced 2 in request message content",
        "   0.500 s │ ✗ attempt 0 failed: HTTP 503, retryable (provider), 499 ms, ProviderError, overloaded",
        "   0.500 s │ ◉ the circuit of openai opens",
        "   0.500 s │ ↳ falls back to backup, other-model",
        "   0.501 s │ → attempt 1 goes to backup, other-model",
        "   1.000 s │ ✓ attempt 1 passed every hook, 499 ms, first chunk after 90 ms, 1,200 + 45 tokens, "
        "3 tool calls,",
        "               finish reason length",
        "   1.000 s └   answered after 2 attempts, 1,000 ms, 1,200 + 45 tokens",
        "",
    ]


def test_a_wide_terminal_shows_where_each_attempt_lay() -> None:
    wide = lines(traced(*STEPS), 140)
    failed = next(line for line in wide if "✗" in line)
    completed = next(line for line in wide if "✓" in line)
    assert failed[140 - 24 :] == "━" * 12
    assert completed[140 - 24 :] == " " * 12 + "━" * 11
    assert [line for line in wide if "━" in line] == [failed, completed]


def test_an_operation_of_no_length_has_no_bars() -> None:
    assert "━" not in shown(traced(*[(0.0, name, attributes) for _, name, attributes in STEPS]), 140)


def test_an_end_without_its_start_has_no_bar() -> None:
    assert "━" not in shown(traced(STEPS[0], *STEPS[8:]), 140)


def test_what_is_missing_is_said() -> None:
    told = lines(traced(STEPS[2]))
    assert told[0].strip() == "┌   c-1: its beginning is missing"
    assert told[2].strip() == "└   its end is missing"


@pytest.mark.parametrize("end", [[STEPS[-1]], []], ids=["ended", "not ended"])
def test_what_is_left_out_is_said(end: list[Step]) -> None:
    steps = [STEPS[0], *[STEPS[2]] * 5, *end]
    (operation,) = group_by_id(heard(steps), BookLimits(event_count=3))
    assert "│ · 3 more events are left out" in shown(operation)


def test_a_fallback_without_a_model_names_the_provider() -> None:
    step: Step = (0.0, "route.selected", {"provider_id": "p", "attempt": 1, "is_fallback": True})
    assert "↳ falls back to p\n" in "\n".join(lines(traced(step))) + "\n"


def test_a_cancelled_attempt_says_how_long_it_took() -> None:
    step: Step = (
        0.2,
        "attempt.cancelled",
        {
            "provider_id": "p",
            "attempt": 0,
            "effective_model": "m",
            "cancel_reason": "closed",
            "duration_millis": 200,
            "first_chunk_millis": 7,
        },
    )
    assert "attempt 0 ended: closed, 200 ms, first chunk after 7 ms" in shown(traced(step))


def test_a_pipe_gets_a_line_for_each_event_however_long() -> None:
    operation = traced(*STEPS)
    text = plain_timeline(operation).plain
    assert text.splitlines()[:7] == lines(operation)[:7]
    assert len(text.splitlines()) == 9
    long = plain_timeline(traced(STEPS[0], (0.1, "circuit.opened", {"provider_id": "p" * 190}))).plain
    assert f"the circuit of {'p' * 190} opens\n" in long
    assert not any(line.endswith(" ") for line in long.splitlines())


@pytest.mark.parametrize("width", [1, 5, 10, 20, 40, 79, 80, 119, 120, 400])
def test_any_width_shows_every_event(width: int) -> None:
    operation = traced(*STEPS)
    text = shown(operation, width)
    assert all(len(line) <= width for line in text.splitlines())
    if width >= 40:
        assert text.count("attempt") >= 4


def test_without_colour_no_escape_is_written() -> None:
    assert "\x1b" not in shown(traced(*STEPS), force_terminal=True, no_color=True, color_system=None)
    assert "\x1b" in shown(traced(*STEPS), force_terminal=True, color_system="standard")


@pytest.mark.parametrize("definition", CATALOGUE, ids=lambda definition: definition.name)
def test_every_event_can_be_shown_with_the_least_that_it_must_have(definition: object) -> None:
    event = CATALOGUE.get(definition.name)  # type: ignore[attr-defined]
    least = {key.name: key.value_type() for key in event.allowed if key.name in event.required}
    operation = TracedOperation("c")
    operation.add(heard_event(1.0, event.name, least))
    assert shown(operation)
    assert json.loads(as_json(operation))["events"][0]["attributes"] == least


@pytest.mark.parametrize("text", ["[red]x[/red]", "[/]", "[link=x]", ":boom:", "\\[", "{}", "%s"])
def test_text_of_a_dump_is_no_markup(text: str) -> None:
    operation = TracedOperation(text)
    operation.add(heard_event(1.0, "tramai.circuit.opened", {"correlation_id": text, "provider_id": text}))
    assert f"the circuit of {text} opens" in shown(operation)


def test_numbers_of_any_size_are_shown() -> None:
    attributes = {"correlation_id": "c", "outcome": "success", "attempt_count": -(2**63)}
    operation = TracedOperation("c")
    operation.add(
        heard_event(1.0, "tramai.operation.completed", {**attributes, "duration_millis": 2**63 - 1})
    )
    assert "9,223,372,036,854,775,807 ms" in shown(operation, 200)


def test_the_time_of_dlp_is_shown_where_it_is_told() -> None:
    at_s, name, attributes = STEPS[-2]
    assert name == "attempt.completed"
    assert "DLP" not in shown(traced(*STEPS), 200)
    assert ", DLP 1,200 µs, " in shown(traced((at_s, name, {**attributes, "dlp_micros": 1200})), 200)


def test_a_clock_that_went_back_shows_no_negative_time() -> None:
    assert "-" not in "".join(line[:10] for line in lines(traced(STEPS[0], (-5.0, *STEPS[2][1:]))))


def test_json_has_the_totals_and_the_events() -> None:
    text = as_json(traced(*STEPS))
    assert text.isascii()
    assert "\n" not in text
    shown = json.loads(text)
    events = shown.pop("events")
    assert [event["name"] for event in events] == [f"tramai.{step[1]}" for step in STEPS]
    assert shown == {
        "correlation_id": "c-1",
        "service_interface": "Support",
        "method_name": "reply",
        "requested_model": "gpt-4o",
        "is_stream": True,
        "started_at_s": START_S,
        "outcome": "success",
        "failure_kind": None,
        "error_type": None,
        "duration_millis": 1000,
        "attempt_count": 2,
        "retry_count": 0,
        "fallback_count": 1,
        "circuit_opened_count": 1,
        "redaction_count": 2,
        "rejection_count": 0,
        "input_tokens": 1200,
        "output_tokens": 45,
        "first_chunk_millis": 90,
        "lost_event_count": 0,
    }
