from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.cli.trace.events import START_S
from tests.cli.trace.spans import (
    ATTEMPT,
    FAILURE,
    OPERATION,
    OPERATION_ID,
    SUCCESS,
    attempt,
    event,
    export,
    nanos,
    operation,
    pairs,
)
from tramapy.cli.trace.operations import BookLimits, TracedOperation
from tramapy.cli.trace.otlp import SpanBook


def names(traced: TracedOperation) -> list[str]:
    return [event.name.removeprefix("tramai.") for event in traced.events]


def took(*spans: Span) -> TracedOperation:
    (traced,) = SpanBook().add(export(*spans))
    return traced


def test_spans_become_the_events_that_they_were_made_of() -> None:
    traced = took(attempt(), operation())
    assert names(traced) == [
        "operation.started",
        "attempt.started",
        "attempt.completed",
        "operation.completed",
    ]
    started, begun, completed, ended = traced.events
    assert started.attributes == {
        "correlation_id": "c-1",
        "service_interface": "Support",
        "method_name": "reply",
        "requested_model": "gpt-4o",
        "is_stream": True,
    }
    assert started.at_s == START_S
    assert begun.attributes["effective_model"] == "gpt-4o"
    assert begun.attributes["is_stream"] is True
    assert completed.attributes == {
        "correlation_id": "c-1",
        "provider_id": "openai",
        "attempt": 0,
        "effective_model": "gpt-4o",
        "finish_reason": "stop",
        "input_tokens": 120,
        "output_tokens": 45,
        "duration_millis": 800,
        "first_chunk_millis": 90,
    }
    assert ended.attributes == {
        "correlation_id": "c-1",
        "outcome": "success",
        "attempt_count": 1,
        "duration_millis": 1000,
    }


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("failed", "attempt.failed"),
        ("cut", "attempt.failed"),
        ("blocked", "attempt.failed"),
        ("cancelled", "attempt.cancelled"),
        ("closed", "attempt.cancelled"),
        ("abandoned", "attempt.cancelled"),
        ("lost", "attempt.cancelled"),
    ],
)
def test_each_outcome_of_an_attempt_has_its_event(outcome: str, expected: str) -> None:
    attributes = {**FAILURE, "tramapy.outcome": outcome}
    traced = took(attempt(attributes), operation({**OPERATION, "tramapy.outcome": outcome}))
    assert names(traced)[2] == expected
    assert traced.outcome == outcome
    assert traced.events[2].attributes.get("cancel_reason") in (None, outcome)


def test_events_of_both_spans_stand_in_order() -> None:
    base = {"provider_id": "openai", "attempt": 0}
    redaction = {**base, "content_type": "x", "content_location": "y", "rule_id": "z", "replacement_count": 1}
    route = {**base, "effective_model": "m", "is_fallback": True}
    traced = took(
        attempt(events=[event(0.9, "dlp.redacted", redaction)]),
        operation(events=[event(0.1, "route.selected", route), event(0.05, "circuit.opened", base)]),
    )
    assert names(traced) == [
        "operation.started",
        "circuit.opened",
        "route.selected",
        "attempt.started",
        "dlp.redacted",
        "attempt.completed",
        "operation.completed",
    ]


def test_a_clock_that_was_set_leaves_the_ends_at_the_ends() -> None:
    traced = took(attempt(start_s=-5.0, end_s=7.0), operation())
    assert names(traced)[0] == "operation.started"
    assert names(traced)[-1] == "operation.completed"


def test_an_operation_waits_for_its_attempts() -> None:
    book = SpanBook()
    assert list(book.add(export(operation()))) == []
    (traced,) = book.add(export(attempt()))
    assert len(traced.events) == 4
    assert list(book.rest()) == []


def test_attempts_alone_are_told_at_the_end() -> None:
    book = SpanBook()
    assert list(book.add(export(attempt(), attempt(FAILURE)))) == []
    (traced,) = book.rest()
    assert traced.completed is None
    assert traced.correlation_id == f"trace {b't'.hex() * 16}"


def test_an_id_of_a_provider_goes_before_the_name_of_its_vendor() -> None:
    traced = took(attempt({**SUCCESS, "tramapy.provider_id": "backup"}), operation())
    assert traced.events[1].attributes["provider_id"] == "backup"


def test_an_operation_whose_attempts_never_come_does_not_wait_for_ever() -> None:
    book = SpanBook()
    spans = [operation(span_id=b"%08d" % number) for number in range(70)]
    assert len(list(book.add(export(*spans)))) == 6
    assert len(list(book.rest())) == 64


def test_open_operations_are_bounded() -> None:
    book = SpanBook(BookLimits(operation_count=10))
    spans = [attempt(parent_id=b"%08d" % number) for number in range(50)]
    assert len(list(book.add(export(*spans)))) == 40
    assert len(book._attempt_counts) == 10


def test_one_trace_may_hold_many_operations() -> None:
    book = SpanBook()
    spans = [attempt(parent_id=b"first..."), attempt(parent_id=b"second..")]
    ends = [operation(span_id=b"second.."), operation(span_id=b"first...")]
    assert len(list(book.add(export(*spans, *ends)))) == 2


def test_spans_of_other_libraries_are_counted() -> None:
    book = SpanBook()
    assert list(book.add(export(operation(), attempt(), scope="httpx"))) == []
    assert (book.foreign_span_count, book.bad_span_count) == (2, 0)


def _without(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if key != name}


BAD_SPANS: dict[str, Span] = {
    "nothing": Span(),
    "another kind": Span(trace_id=b"t" * 16, span_id=OPERATION_ID, kind=Span.SPAN_KIND_SERVER),
    "an unknown kind": Span(trace_id=b"t" * 16, span_id=OPERATION_ID, kind=77),  # type: ignore[arg-type]
    "no trace id": operation(trace_id=b""),
    "a long trace id": operation(trace_id=b"t" * 100_000),
    "no span id": operation(span_id=b""),
    "no parent": attempt(parent_id=b""),
    "no correlation id": operation(_without(OPERATION, "tramapy.correlation_id")),
    "no outcome": operation(_without(OPERATION, "tramapy.outcome")),
    "an outcome of another type": operation({**OPERATION, "tramapy.outcome": 7}),
    "an id of bytes": operation({**OPERATION, "tramapy.correlation_id": b"x"}),
    "a count of another type": operation({**OPERATION, "tramapy.attempt_count": "1"}),
    "a model of another type": attempt({**SUCCESS, "gen_ai.request.model": 7}),
    "no provider": attempt(_without(SUCCESS, "gen_ai.provider.name")),
    "an attempt without an outcome": attempt(ATTEMPT),
    "tokens of another type": attempt({**SUCCESS, "gen_ai.usage.input_tokens": "many"}),
    "a first chunk at infinity": attempt({**SUCCESS, "gen_ai.response.time_to_first_chunk": float("inf")}),
    "a first chunk of an overflow": attempt({**SUCCESS, "gen_ai.response.time_to_first_chunk": 1e307}),
    "a first chunk that is no number": attempt(
        {**SUCCESS, "gen_ai.response.time_to_first_chunk": float("nan")}
    ),
    "a time after all": Span(
        trace_id=b"t" * 16,
        span_id=OPERATION_ID,
        kind=Span.SPAN_KIND_INTERNAL,
        end_time_unix_nano=2**64 - 1,
        attributes=pairs({"tramapy.correlation_id": 7}),
    ),
    "an event that lacks something": operation(events=[event(0.1, "circuit.opened", {})]),
    "an event without a name": operation(events=[Span.Event(time_unix_nano=nanos(0.1))]),
}


@pytest.mark.parametrize("span", BAD_SPANS.values(), ids=BAD_SPANS)
def test_a_span_that_is_none_of_ours_is_counted(span: Span) -> None:
    book = SpanBook()
    (good,) = book.add(export(span, attempt(), operation()))
    assert len(good.events) == 4
    assert book.bad_span_count == 1


def test_an_attempt_without_a_model_says_so() -> None:
    traced = took(attempt(_without(SUCCESS, "gen_ai.request.model")), operation())
    assert traced.events[1].attributes["effective_model"] == "none"


def test_a_first_chunk_of_another_type_is_left_out() -> None:
    traced = took(attempt({**SUCCESS, "gen_ai.response.time_to_first_chunk": "soon"}), operation())
    assert "first_chunk_millis" not in traced.events[2].attributes


def test_text_of_a_span_commands_no_terminal() -> None:
    attributes = {**OPERATION, "tramapy.correlation_id": "\x1b[2J", "tramapy.attempt_count": 0}
    assert took(operation(attributes)).correlation_id == "\N{REPLACEMENT CHARACTER}[2J"


def test_a_span_with_too_many_events_has_the_first() -> None:
    base = {"provider_id": "openai", "attempt": 0}
    events = [event(0.5, "circuit.opened", base) for _ in range(5_000)]
    traced = took(attempt(), operation(events=events))
    assert len(traced.events) + traced.lost_event_count <= 1_004
    assert traced.outcome == "success"


def test_a_span_with_too_many_attributes_has_the_first() -> None:
    many = {**OPERATION, **{f"tramapy.x{number}": number for number in range(5_000)}}
    assert took(attempt(), operation(many)).outcome == "success"


def test_an_export_with_too_many_spans_has_the_first() -> None:
    book = SpanBook()
    list(book.add(export(*[Span()] * 12_000)))
    assert book.bad_span_count == 12_000


def test_values_that_are_deep_are_left_out() -> None:
    value = AnyValue(string_value="x")
    for _ in range(40):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    span = operation({**OPERATION, "tramapy.attempt_count": 0, "empty": []})
    span.attributes.append(KeyValue(key="tramapy.deep", value=value))
    span.attributes.append(KeyValue(key="tramapy.none"))
    assert took(span).outcome == "success"


@given(st.binary(max_size=200))
def test_any_message_that_can_be_decoded_is_taken(data: bytes) -> None:
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(data)
    except Exception:  # no message at all; the receiver refuses it
        return
    book = SpanBook()
    assert not [operation for operation in (*book.add(request), *book.rest()) if not operation.events]


_VALUES = st.one_of(
    st.text(max_size=5),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(max_size=3),
    st.lists(st.text(max_size=3), max_size=2),
)


@given(st.dictionaries(st.sampled_from([*OPERATION, *SUCCESS, *FAILURE]), _VALUES))
def test_attributes_of_any_type_are_taken(changed: dict[str, Any]) -> None:
    book = SpanBook()
    request = export(attempt({**SUCCESS, **changed}), operation({**OPERATION, **changed}))
    given_back = [*book.add(request), *book.rest()]
    assert sum(len(one.events) for one in given_back) + 2 * book.bad_span_count == 4
