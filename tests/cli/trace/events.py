"""Dumps of events, as the observer writes them, for the tests of `tramapy trace`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tramapy.cli.event_lines import HeardEvent
from tramapy.hooks.event_model import AttributeValue

Step = tuple[float, str, dict[str, AttributeValue]]

BASE: dict[str, AttributeValue] = {"provider_id": "openai", "attempt": 0}
NEXT: dict[str, AttributeValue] = {"provider_id": "backup", "attempt": 1}

# an operation in which nearly everything happens
STEPS: tuple[Step, ...] = (
    (
        0.0,
        "operation.started",
        {
            "service_interface": "Support",
            "method_name": "reply",
            "requested_model": "gpt-4o",
            "is_stream": True,
        },
    ),
    (
        0.0,
        "route.selected",
        {**BASE, "effective_model": "gpt-4o", "route_index": 0, "is_fallback": False},
    ),
    (0.001, "attempt.started", {**BASE, "effective_model": "gpt-4o", "is_stream": True}),
    (
        0.002,
        "dlp.redacted",
        {
            **BASE,
            "content_type": "model_input",
            "content_location": "request_message_content",
            "rule_id": "email",
            "replacement_count": 2,
        },
    ),
    (0.5, "circuit.opened", {**BASE}),
    (
        0.5,
        "attempt.failed",
        {
            **BASE,
            "effective_model": "gpt-4o",
            "failure_kind": "provider",
            "error_type": "ProviderError",
            "failure_code": "overloaded",
            "status_code": 503,
            "is_retryable": True,
            "duration_millis": 499,
        },
    ),
    (
        0.5,
        "route.selected",
        {**NEXT, "effective_model": "other-model", "route_index": 1, "is_fallback": True},
    ),
    (0.501, "attempt.started", {**NEXT, "effective_model": "other-model", "is_stream": True}),
    (
        1.0,
        "attempt.completed",
        {
            **NEXT,
            "effective_model": "other-model",
            "finish_reason": "length",
            "duration_millis": 499,
            "first_chunk_millis": 90,
            "input_tokens": 1200,
            "output_tokens": 45,
            "tool_call_count": 3,
        },
    ),
    (1.0, "operation.completed", {"outcome": "success", "attempt_count": 2, "duration_millis": 1000}),
)

START_S = 1_796_038_213.0


def record(at_s: float, name: str, attributes: dict[str, AttributeValue], correlation_id: str = "c-1") -> Any:
    """Return an event as JSON has it."""
    return {
        "at_s": START_S + at_s,
        "name": f"tramai.{name}",
        "attributes": {"correlation_id": correlation_id, **attributes},
    }


def heard(steps: Iterable[Step] = STEPS, correlation_id: str = "c-1") -> list[HeardEvent]:
    """Return events as the reader makes them."""
    return [HeardEvent(**record(*step, correlation_id=correlation_id)) for step in steps]


def dumped(path: Path, steps: Iterable[Step] = STEPS, correlation_id: str = "c-1") -> Path:
    """Append events to a dump."""
    with path.open("a", encoding="utf-8") as file:
        for step in steps:
            file.write(json.dumps(record(*step, correlation_id=correlation_id)) + "\n")
    return path
