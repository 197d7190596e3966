"""What `OpenTelemetryEventObserver` exports is what the engine's events said, once it is shown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.drivers import HELLO
from tramapy import (
    CircuitBreakerSettings,
    DlpInspectionError,
    DlpInterceptor,
    DlpRule,
    FinishReason,
    ModelResponse,
    ProviderError,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    TokenUsage,
    Tramapy,
    TramapyError,
)
from tramapy.cli.trace.operations import TracedOperation
from tramapy.cli.trace.otlp import SpanBook
from tramapy.telemetry import OpenTelemetryEventObserver
from tramapy.testing import FakeClock, RecordingObserver, ScriptedProvider

DOWN = ProviderError("down", retryable=True, status_code=503)
BAD = ProviderError("bad", status_code=400)
WHOLE = ModelResponse(
    content="an answer", finish_reason=FinishReason.STOP, usage=TokenUsage(input_tokens=12, output_tokens=5)
)
NUMBERS = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[DlpRule(id="number", pattern=r"\d+")]))


class RejectAll(DlpInterceptor):
    def inspect(self, context: Any, text: str) -> Any:
        raise DlpInspectionError("no")


def complete(tramapy: Tramapy) -> None:
    tramapy.complete(HELLO, model="m")


def stream(tramapy: Tramapy) -> None:
    for _ in tramapy.stream(HELLO, model="m"):
        pass


def close_early(tramapy: Tramapy) -> None:
    with tramapy.stream(HELLO, model="m") as chunks:
        next(chunks)


def twice(tramapy: Tramapy) -> None:
    with contextlib.suppress(TramapyError):
        complete(tramapy)
    complete(tramapy)


CASES: dict[str, tuple[list[Any], Callable[[Tramapy], None], dict[str, Any]]] = {
    "success": ([WHOLE], complete, {}),
    "a retry": ([DOWN, WHOLE], complete, {}),
    "a failure": ([BAD], complete, {}),
    "redactions": (["number 12 and 34"], complete, {"dlp": NUMBERS}),
    "a rejection": (["an answer"], complete, {"dlp": RejectAll()}),
    "a stream": ([WHOLE], stream, {}),
    "a stream that is closed": (["one two three four"], close_early, {}),
    "an open circuit": (
        [DOWN, WHOLE],
        twice,
        {
            "circuit_breaker": CircuitBreakerSettings(failure_threshold=1),
            "retry": RetryPolicySettings(provider_retries=0),
        },
    ),
}


def traced(heard: RecordingObserver, case: str) -> list[TracedOperation]:
    answers, act, settings = CASES[case]
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    observer = OpenTelemetryEventObserver(tracer_provider=provider)
    tramapy = Tramapy(
        {"p": ScriptedProvider(answers)},
        event_observers=[heard, observer],
        **{"clock": FakeClock(), **settings},
    )
    with contextlib.suppress(TramapyError):
        act(tramapy)
    book = SpanBook()
    operations = list(book.add(encode_spans(exporter.get_finished_spans())))
    assert list(book.rest()) == []
    assert (book.bad_span_count, book.foreign_span_count) == (0, 0)
    return operations


@pytest.mark.parametrize("case", CASES)
def test_the_events_are_those_that_the_engine_told(case: str, caplog: pytest.LogCaptureFixture) -> None:
    heard = RecordingObserver()
    operations = traced(heard, case)
    told = [event for event in heard.events if event.name != "tramai.route.selected"]
    shown = [
        event
        for operation in operations
        for event in operation.events
        if event.name != "tramai.route.selected"
    ]
    assert sorted(event.name for event in shown) == sorted(event.name for event in told)
    for event in told:
        (same,) = [one for one in shown if _identity(one) == _identity(event)]
        # outcomes may say more than the events do, and an operation's span times itself
        assert {key for key, value in same.attributes.items() if event.attributes.get(key) != value} <= {
            *("duration_millis", "first_chunk_millis", "outcome", "cancel_reason")
        }
        # of what an attempt's start says, its operation's tells the rest
        missing = event.attributes.keys() - same.attributes.keys()
        assert missing <= {"service_interface", "method_name", "requested_model"}
        assert not missing or event.name == "tramai.attempt.started"


def _identity(event: Any) -> tuple[object, ...]:
    return (event.name, *(event.attributes.get(key) for key in ("correlation_id", "attempt", "rule_id")))


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("success", ["success"]),
        ("a failure", ["failed"]),
        ("a rejection", ["blocked"]),
        ("a stream that is closed", ["closed"]),
        ("an open circuit", ["failed", "failed"]),
    ],
)
def test_outcomes_are_those_of_the_spans(case: str, outcomes: list[str], caplog: Any) -> None:
    assert [operation.outcome for operation in traced(RecordingObserver(), case)] == outcomes
