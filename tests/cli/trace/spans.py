"""Exports as `OpenTelemetryEventObserver` makes them, built by hand, for the tests of `tramapy trace --listen`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tests.cli.trace.events import START_S

TRACE_ID = b"t" * 16
OPERATION_ID = b"o" * 8

OPERATION: dict[str, Any] = {
    "tramapy.correlation_id": "c-1",
    "tramapy.service_interface": "Support",
    "tramapy.method_name": "reply",
    "tramapy.requested_model": "gpt-4o",
    "tramapy.attempt_count": 1,
    "tramapy.outcome": "success",
}
ATTEMPT: dict[str, Any] = {
    "gen_ai.provider.name": "openai",
    "tramapy.attempt": 0,
    "gen_ai.request.model": "gpt-4o",
}
SUCCESS: dict[str, Any] = {
    **ATTEMPT,
    "tramapy.outcome": "success",
    "gen_ai.request.stream": True,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.response.time_to_first_chunk": 0.09,
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 45,
}
FAILURE: dict[str, Any] = {
    **ATTEMPT,
    "tramapy.outcome": "failed",
    "tramapy.failure_kind": "provider",
    "tramapy.error_type": "ProviderError",
    "tramapy.is_retryable": True,
    "tramapy.status_code": 503,
}


def value_of(value: Any) -> AnyValue:
    """Return a value as the wire has it."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    return AnyValue(array_value=ArrayValue(values=[value_of(item) for item in value]))


def pairs(attributes: Mapping[str, Any]) -> list[KeyValue]:
    """Return attributes as the wire has them."""
    return [KeyValue(key=key, value=value_of(value)) for key, value in attributes.items()]


def nanos(at_s: float) -> int:
    """Return a time as the wire has it."""
    return int(START_S) * 10**9 + round(at_s * 1e9)


def event(at_s: float, name: str, attributes: Mapping[str, Any]) -> Span.Event:
    """Make a span event of an event's name and attributes."""
    prefixed = {f"tramapy.{key}": value for key, value in attributes.items()}
    return Span.Event(time_unix_nano=nanos(at_s), name=f"tramai.{name}", attributes=pairs(prefixed))


def operation(
    attributes: Mapping[str, Any] = OPERATION,
    *,
    span_id: bytes = OPERATION_ID,
    trace_id: bytes = TRACE_ID,
    end_s: float = 1.0,
    events: Iterable[Span.Event] = (),
) -> Span:
    """Make an operation's span."""
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        kind=Span.SPAN_KIND_INTERNAL,
        name="tramapy Support.reply",
        start_time_unix_nano=nanos(0.0),
        end_time_unix_nano=nanos(end_s),
        attributes=pairs(attributes),
        events=events,
    )


def attempt(
    attributes: Mapping[str, Any] = SUCCESS,
    *,
    parent_id: bytes = OPERATION_ID,
    start_s: float = 0.1,
    end_s: float = 0.9,
    events: Iterable[Span.Event] = (),
) -> Span:
    """Make an attempt's span."""
    return Span(
        trace_id=TRACE_ID,
        span_id=b"a" * 8,
        parent_span_id=parent_id,
        kind=Span.SPAN_KIND_CLIENT,
        name="chat gpt-4o",
        start_time_unix_nano=nanos(start_s),
        end_time_unix_nano=nanos(end_s),
        attributes=pairs(attributes),
        events=events,
    )


def export(*spans: Span, scope: str = "tramapy") -> ExportTraceServiceRequest:
    """Make an export of spans."""
    scope_spans = ScopeSpans(scope=InstrumentationScope(name=scope), spans=spans)
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[scope_spans])])
