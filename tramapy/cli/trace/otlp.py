"""`SpanBook`: the spans of `OpenTelemetryEventObserver`, turned back into the events that they were made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from tramapy.cli.event_lines import HeardEvent
from tramapy.cli.trace.heard import TraceInputError, heard_event
from tramapy.cli.trace.operations import BookLimits, OperationBook, TracedOperation
from tramapy.hooks import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["SpanBook"]

_Key: TypeAlias = tuple[bytes, bytes]
_Attributes: TypeAlias = dict[str, str | int | float | bool]

_SCOPE: Final = "tramapy"
_PREFIX: Final = "tramapy."
# of opentelemetry.proto.trace.v1.Span.SpanKind
_INTERNAL: Final = 1
_CLIENT: Final = 3

_SPAN_LIMIT: Final = 10_000
_EVENT_LIMIT: Final = 1_000
_ATTRIBUTE_LIMIT: Final = 64
_WAITING_LIMIT: Final = 64

_ORDER: Final = {
    catalogue.OPERATION_STARTED.name: 0,
    catalogue.ROUTE_SELECTED.name: 1,
    catalogue.ATTEMPT_STARTED.name: 2,
    catalogue.ATTEMPT_COMPLETED.name: 4,
    catalogue.ATTEMPT_FAILED.name: 4,
    catalogue.ATTEMPT_CANCELLED.name: 4,
    catalogue.OPERATION_COMPLETED.name: 5,
}
# what the conventions call what an attempt's last event tells
_RENAMED: Final = {
    "gen_ai.response.model": "response_model",
    "gen_ai.response.finish_reasons": "finish_reason",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_tokens",
}
_FAILED: Final = frozenset({"failed", "cut", "blocked"})


class SpanBook:
    """Takes exports and gives operations, once all of their attempts are there.

    Attributes:
        foreign_span_count: Spans of other libraries; they are not looked at.
        bad_span_count: Spans that are none of our observer's, though they say so, and those beyond a limit.
    """

    def __init__(self, limits: BookLimits | None = None) -> None:
        self.foreign_span_count: int = 0
        self.bad_span_count: int = 0
        self._book: OperationBook[_Key] = OperationBook(limits)
        # operations whose own span has come, and how many of their attempts have not
        self._missing_counts: dict[_Key, int] = {}
        self._attempt_counts: dict[_Key, int] = {}

    def add(self, request: ExportTraceServiceRequest) -> Iterator[TracedOperation]:
        """Take an export; yield the operations that are whole now."""
        left = _SPAN_LIMIT
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                if scope_spans.scope.name != _SCOPE:
                    self.foreign_span_count += len(scope_spans.spans)
                    continue
                self.bad_span_count += max(0, len(scope_spans.spans) - left)
                for span in islice(scope_spans.spans, left):
                    left -= 1
                    yield from self._take(span)

    def rest(self) -> Iterator[TracedOperation]:
        """Yield the operations that are not whole, or whose attempts did not all come."""
        for operation in self._book.rest():
            yield _sorted(operation)

    def _take(self, span: Span) -> Iterator[TracedOperation]:
        try:
            key, events = _events_of(span)
        except TraceInputError:
            self.bad_span_count += 1
            return
        for event in events:
            self._book.add(key, event)
        if span.kind == _CLIENT:
            self._attempt_counts[key] = self._attempt_counts.get(key, 0) + 1
        else:
            count = events[-1].attributes["attempt_count"]
            self._missing_counts[key] = count if isinstance(count, int) else 0
        yield from self._whole(key)
        while len(self._missing_counts) > _WAITING_LIMIT:
            yield self._pop(next(iter(self._missing_counts)))
        for late_key, operation in self._book.overdue():
            self._forget(late_key)
            yield _sorted(operation)

    def _whole(self, key: _Key) -> Iterator[TracedOperation]:
        expected = self._missing_counts.get(key)
        if expected is not None and self._attempt_counts.get(key, 0) >= expected:
            yield self._pop(key)

    def _pop(self, key: _Key) -> TracedOperation:
        self._forget(key)
        return _sorted(self._book.pop(key))

    def _forget(self, key: _Key) -> None:
        self._missing_counts.pop(key, None)
        self._attempt_counts.pop(key, None)


def _sorted(operation: TracedOperation) -> TracedOperation:
    """Put the events of several spans together: in order, those of one moment as the engine tells them.

    An attempt's span does not name its operation, and an operation's does not say whether it is streamed.
    """
    events = sorted(operation.events, key=lambda event: (event.at_s, _ORDER.get(event.name, 3)))
    ends = (operation.started, operation.completed)
    between = [event for event in events if event not in ends]
    named = operation.events[0] if operation.started is None else operation.started
    whole = TracedOperation(str(named.attributes["correlation_id"]))
    whole.lost_event_count = operation.lost_event_count
    is_stream = any(event.attributes.get("is_stream") is True for event in events)
    # a clock that was set in between must not end an operation before it begins
    for event in (operation.started, *between, operation.completed):
        if event is not None:
            told = {**event.attributes, "correlation_id": whole.correlation_id}
            if event is operation.started:
                told["is_stream"] = is_stream
            whole.add(HeardEvent(at_s=event.at_s, name=event.name, attributes=told))
    return whole


def _events_of(span: Span) -> tuple[_Key, list[HeardEvent]]:
    owner_id = span.span_id if span.kind == _INTERNAL else span.parent_span_id
    if span.kind not in (_INTERNAL, _CLIENT) or len(span.trace_id) != 16 or len(owner_id) != 8:
        raise TraceInputError("it is no span of an operation or attempt")
    attributes = _attributes(span.attributes)
    own: _Attributes = {
        name.removeprefix(_PREFIX): value for name, value in attributes.items() if name.startswith(_PREFIX)
    }
    if span.kind == _CLIENT:
        own["correlation_id"] = f"trace {span.trace_id.hex()}"  # until its operation comes
    first, last = (_operation if span.kind == _INTERNAL else _attempt)(span, own, attributes)
    between = [
        heard_event(
            event.time_unix_nano / 1e9,
            event.name,
            {
                "correlation_id": own.get("correlation_id"),
                **{
                    name.removeprefix(_PREFIX): value for name, value in _attributes(event.attributes).items()
                },
            },
        )
        for event in islice(span.events, _EVENT_LIMIT)
    ]
    return (span.trace_id, owner_id), [first, *between, last]


def _operation(span: Span, own: _Attributes, _: Mapping[str, object]) -> tuple[HeardEvent, HeardEvent]:
    first = heard_event(
        span.start_time_unix_nano / 1e9, catalogue.OPERATION_STARTED.name, {**own, "is_stream": False}
    )
    last = heard_event(
        span.end_time_unix_nano / 1e9,
        catalogue.OPERATION_COMPLETED.name,
        {"attempt_count": 0, **own, "duration_millis": _duration_millis(span)},
    )
    return first, last


def _attempt(
    span: Span, own: _Attributes, attributes: Mapping[str, str | int | float | bool]
) -> tuple[HeardEvent, HeardEvent]:
    model = attributes.get("gen_ai.request.model", catalogue.NO_MODEL)
    told: dict[str, object] = {
        "provider_id": attributes.get("gen_ai.provider.name"),
        **own,
        "effective_model": model,
        "is_stream": bool(attributes.get("gen_ai.request.stream")),
    }
    first = heard_event(span.start_time_unix_nano / 1e9, catalogue.ATTEMPT_STARTED.name, told)
    for name, key in _RENAMED.items():
        if name in attributes:
            told[key] = attributes[name]
    first_chunk_s = attributes.get("gen_ai.response.time_to_first_chunk")
    if isinstance(first_chunk_s, (int, float)):
        millis = first_chunk_s * 1000
        told["first_chunk_millis"] = round(millis) if math.isfinite(millis) else millis
    told["duration_millis"] = _duration_millis(span)
    outcome = told.get("outcome")
    if outcome == "success":
        definition = catalogue.ATTEMPT_COMPLETED
    elif outcome in _FAILED:
        definition = catalogue.ATTEMPT_FAILED
    else:
        definition = catalogue.ATTEMPT_CANCELLED
        told["cancel_reason"] = outcome
    return first, heard_event(span.end_time_unix_nano / 1e9, definition.name, told)


def _duration_millis(span: Span) -> int:
    return max(0, span.end_time_unix_nano - span.start_time_unix_nano) // 1_000_000


def _attributes(pairs: Iterable[KeyValue]) -> _Attributes:
    """Return the attributes that are scalars, and of lists the first text; the deep ones are none of ours."""
    found: _Attributes = {}
    for pair in islice(pairs, _ATTRIBUTE_LIMIT):
        value = pair.value
        kind = value.WhichOneof("value")
        if kind == "array_value" and value.array_value.values:
            value = value.array_value.values[0]
            kind = value.WhichOneof("value")
        if kind == "string_value":
            found[pair.key] = value.string_value
        elif kind == "bool_value":
            found[pair.key] = value.bool_value
        elif kind == "int_value":
            found[pair.key] = value.int_value
        elif kind == "double_value":
            found[pair.key] = value.double_value
    return found
