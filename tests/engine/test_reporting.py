"""Every typed factory makes what the catalogue declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tramapy import (
    CATALOGUE,
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInspectionError,
    DlpRedaction,
    InterceptorError,
    ModelResponse,
    ProviderCapabilityError,
    ProviderError,
    ProviderTimeoutError,
    ResponseTooLargeError,
    RuntimeEvent,
    TokenBudgetExceededError,
    TokenUsage,
    ToolCall,
)
from tramapy.engine import reporting
from tramapy.engine.native import NativeRejectionError

BASE: reporting.Base = {"correlation_id": "c1", "provider_id": "p", "attempt": 0}
MODEL = "m"
FULL_USAGE = TokenUsage(
    input_tokens=1, output_tokens=2, reasoning_tokens=3, cache_read_tokens=4, cache_write_tokens=5
)
FULL_RESPONSE = ModelResponse(
    usage=FULL_USAGE, model="m-1", tool_calls=[ToolCall(id="c", name="t", arguments_json="{}")]
)
REJECTED = ProviderError("no", status_code=429)
BUDGET = TokenBudgetExceededError("attempt", limit_tokens=1, observed_tokens=2, provider_id="p", model="m")


def dlp_context(tool_name: str | None) -> DlpContext:
    return DlpContext(
        content_type=DlpContentType.TOOL_RESULT,
        content_location=DlpContentLocation.TOOL_MESSAGE_CONTENT,
        operation_interface="s",
        operation_method="m",
        correlation_id="c1",
        tool_name=tool_name,
    )


def each(factory: Callable[..., RuntimeEvent], *calls: dict[str, Any], **common: Any) -> list[RuntimeEvent]:
    """Call a factory with every set of arguments."""
    return [factory(**{**common, **call}) for call in calls]


def made() -> dict[str, list[RuntimeEvent]]:
    """Give the events of every factory, with and without what may be left out."""
    ends = {"base": BASE, "effective_model": MODEL, "duration_millis": 5}
    chunk = [{"first_chunk_millis": None, "dlp_micros": 0}, {"first_chunk_millis": 3, "dlp_micros": 10}]
    return {
        "operation_started": each(
            reporting.operation_started,
            {"workflow_run_id": None},
            {"workflow_run_id": "w1"},
            correlation_id="c1",
            service_interface="s",
            method_name="m",
            requested_model=MODEL,
            is_stream=True,
        ),
        "operation_completed": each(
            reporting.operation_completed,
            {"outcome": "success", "error": None},
            {"outcome": "failed", "error": ProviderError("x")},
            {"outcome": "cancelled", "error": KeyboardInterrupt()},
            correlation_id="c1",
            attempt_count=2,
            duration_millis=5,
        ),
        "route_selected": each(
            reporting.route_selected, {"route_index": 0}, {"route_index": 1}, base=BASE, effective_model=MODEL
        ),
        "attempt_started": each(
            reporting.attempt_started,
            {},
            base=BASE,
            service_interface="s",
            method_name="m",
            requested_model=MODEL,
            effective_model=MODEL,
            is_stream=False,
        ),
        "attempt_completed": each(
            reporting.attempt_completed,
            {"response": ModelResponse(), **chunk[0]},
            {"response": FULL_RESPONSE, **chunk[1]},
            **ends,
        ),
        "attempt_failed": each(
            reporting.attempt_failed,
            {"error": InterceptorError("x"), **chunk[0]},
            {"error": REJECTED, **chunk[1]},
            {"error": ProviderTimeoutError("x"), **chunk[1]},
            **ends,
        ),
        "attempt_cancelled": each(reporting.attempt_cancelled, *chunk, cancel_reason="closed", **ends),
        "retry_scheduled": [reporting.retry_scheduled(BASE, 0, 0.05, "backoff")],
        "startup_retry": [reporting.startup_retry(BASE, ProviderError("x"))],
        "circuit_opened": [reporting.circuit_opened(BASE)],
        "circuit_closed": [reporting.circuit_closed(BASE)],
        "circuit_half_opened": [reporting.circuit_half_opened("c1", "p")],
        "circuit_rejected": [reporting.circuit_rejected("c1", "p", route_index=0, retry_after_s=1.5)],
        "dlp_redacted": [
            reporting.dlp_redacted(BASE, dlp_context(tool), DlpRedaction("r", 1), tool)
            for tool in (None, "lookup")
        ],
        "dlp_inspection_failed": [
            reporting.dlp_inspection_failed(BASE, dlp_context(None), "rejected", None, None),
            reporting.dlp_inspection_failed(BASE, dlp_context("lookup"), "rejected", ValueError(), "lookup"),
        ],
        "tool_result_rejected": each(
            reporting.tool_result_rejected,
            {"aggregate_text_length": None, "tool_label": None},
            {"aggregate_text_length": 5, "tool_label": "lookup"},
            base=BASE,
            reason_code="r",
            configured_limit=4,
        ),
        "content_unscanned": [reporting.content_unscanned(BASE, "file_id")],
        "response_refused": [reporting.response_refused(BASE, "refusal")],
        "request_refused": [reporting.request_refused(BASE, "content_filter")],
        "usage_unavailable": [reporting.usage_unavailable(BASE, MODEL)],
        "budget_limit_exceeded": each(
            reporting.budget_limit_exceeded,
            {"is_hard": True},
            {"is_hard": False},
            base=BASE,
            effective_model=MODEL,
            limit_tokens=1,
            observed_tokens=2,
            scope="attempt",
        ),
    }


EVENTS = [
    pytest.param(event, id=f"{name}-{i}") for name, events in made().items() for i, event in enumerate(events)
]


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_passes_the_catalogues_check(event: RuntimeEvent) -> None:
    assert RuntimeEvent.of(CATALOGUE.get(event.name), event.attributes()) == event


def test_every_event_of_the_catalogue_has_a_factory() -> None:
    names = {event.name for events in made().values() for event in events}
    assert names == {definition.name for definition in CATALOGUE}


def test_every_factory_is_tested() -> None:
    factories = {
        name
        for name, function in inspect.getmembers(reporting, inspect.isfunction)
        if function.__module__ == reporting.__name__
        and function.__annotations__.get("return") == "RuntimeEvent"
    }
    assert factories == made().keys()


def test_every_allowed_attribute_is_used_somewhere() -> None:
    used: dict[str, set[str]] = {}
    for events in made().values():
        for event in events:
            used.setdefault(event.name, set()).update(event.attributes())
    assert used == {definition.name: set(definition.allowed_names) for definition in CATALOGUE} | {
        name: used[name] for name in _WITHOUT_AN_ATTEMPT
    }


_WITHOUT_AN_ATTEMPT = {
    "tramai.circuit.half_opened"
}  # allows an attempt's number, and comes before there is one


def test_a_factory_keeps_no_reference_to_the_base() -> None:
    base = dict(BASE)
    event = reporting.circuit_opened(base)
    base["provider_id"] = "q"
    assert event.attribute("provider_id") == "p"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderTimeoutError("x"), "timeout"),
        (ProviderError("x"), "provider"),
        (ProviderCapabilityError("x", provider_id="p", capability="vision"), "provider"),
        (ResponseTooLargeError("x", limit_bytes=1, read_bytes=2), "provider"),
        (DlpInspectionError("x"), "dlp"),
        (InterceptorError("x"), "interceptor"),
        (BUDGET, "budget"),
        (DeadlineExceededError("x"), "deadline"),
        (CircuitBreakerOpenError("p", 1.0), "circuit_open"),
        (ConfigurationError("x"), "configuration"),
        (ValueError("x"), "engine"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_failure_says_whose_it_is(error: Exception, kind: str) -> None:
    assert reporting.failure_kind(error) == kind


@pytest.mark.parametrize("name", ["gpt-4o", "a", "lookup_2", "org/model:free@1.0+x", "x" * 128])
def test_a_name_is_kept(name: str) -> None:
    assert reporting.safe_label(name) == name


@pytest.mark.parametrize("name", ["", "two words", "x" * 129, "-x", "naïve", "a\n", "secret!", '{"a": 1}'])
def test_what_could_be_text_is_unlabelled(name: str) -> None:
    assert reporting.safe_label(name) == "unlabelled"


def answered_by(model: str) -> object:
    event = reporting.attempt_completed(
        BASE, MODEL, ModelResponse(model=model), duration_millis=1, first_chunk_millis=None, dlp_micros=0
    )
    return event.attribute("response_model")


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-2024-08-06",
        "claude-sonnet-4-5-20250929",
        "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
        "claude-3-5-haiku@20241022",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo",
        "ft:gpt-4o-mini-2024-07-18:acme:support:9xYzAbCd",
    ],
)
def test_a_response_model_is_shown(name: str) -> None:
    assert answered_by(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "a secret of mine",
        "sk_test_0123456789abcdefghijk",
        "card-4111-1111-1111-1111",
        "078-05-1120",
        "ann@example.com",
        "ann@",
        "/".join(["model"] * 17),
        "",
    ],
)
def test_a_response_model_that_could_be_text_or_a_key_is_unlabelled(name: str) -> None:
    assert answered_by(name) == "unlabelled"


def test_a_refusal_in_a_vendors_format_has_the_name_of_its_kind() -> None:
    error = NativeRejectionError("no", body="x")
    assert reporting.startup_retry(BASE, error).attributes()["error_type"] == "ProviderError"
