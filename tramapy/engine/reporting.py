"""Typed factories of the engine's events: they build what the catalogue declares, unchecked and fast.

Tests hold every one to `RuntimeEvent.of`. A `base` is the attributes that all events of an attempt share.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from tramapy.engine.native import NativeRejectionError
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
    ProviderTimeoutError,
    TokenBudgetExceededError,
)
from tramapy.hooks import catalogue
from tramapy.hooks.dlp import DlpContext, DlpRedaction
from tramapy.hooks.event_model import AttributeValue, RuntimeEvent, make_trusted_event
from tramapy.messages import NO_USAGE, ModelResponse, TokenUsage
from tramapy.values import MOST, UNLABELLED, class_label, remembering

__all__ = ["Base", "failure_kind", "safe_label"]

Base: TypeAlias = dict[str, AttributeValue]

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (ProviderTimeoutError, "timeout"),
    (ProviderError, "provider"),
    (DlpInspectionError, "dlp"),
    (InterceptorError, "interceptor"),
    (TokenBudgetExceededError, "budget"),
    (DeadlineExceededError, "deadline"),
    (CircuitBreakerOpenError, "circuit_open"),
    (ConfigurationError, "configuration"),
)
_USAGE = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
UNREGISTERED_TOOL = "unregistered_tool"
# below, it is the clock that is measured, and a value costs the SDK of OpenTelemetry as much
_LEAST_DLP_MICROS = 10
_LONGEST_MODEL = 96
_LONGEST_WORD = 20  # of a model's name; keys and tokens have longer ones
_MOST_DIGITS = 12  # a card's number has 13 or more; a version with its date at most 12
_STATUS_CODES = range(1000)  # an adapter may make one of anything that a provider sends
_MODEL_WORD = re.compile(r"[-_.:/@+]")
_SAFE_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+\-]{0,127}\Z")


def _class_name(error: BaseException) -> str:
    """Return the class of an error as its catcher knows it: a refusal in a vendor's format becomes the vendor's."""
    return "ProviderError" if isinstance(error, NativeRejectionError) else class_label(error)


def failure_kind(error: BaseException) -> str:
    """Say whose failure an error is, in a word of the catalogue."""
    for error_type, kind in _KINDS:
        if isinstance(error, error_type):
            return kind
    return "engine"


@remembering(512)
def safe_label(name: str) -> str:
    """Return a tool's name, or `unlabelled` where it could be text and no name."""
    return name if _SAFE_LABEL.match(name) else UNLABELLED


@remembering(512)
def model_label(name: str) -> str:
    """Return the model that a provider says has answered, or `unlabelled` where that is not shaped like one.

    Stricter than for tools, which the caller declares: a letter first, short words, few digits, and `@` before a
    version alone. Keys, tokens, numbers and addresses are shaped otherwise.
    """
    if not _SAFE_LABEL.match(name) or not name[0].isalpha() or len(name) > _LONGEST_MODEL:
        return UNLABELLED
    at = name.find("@")
    is_model = (
        max(map(len, _MODEL_WORD.split(name))) <= _LONGEST_WORD
        and sum(map(str.isdigit, name)) <= _MOST_DIGITS
        and (at < 0 or name[at + 1 : at + 2].isdigit())
    )
    return name if is_model else UNLABELLED


def operation_started(
    correlation_id: str,
    service_interface: str,
    method_name: str,
    requested_model: str,
    *,
    is_stream: bool,
    workflow_run_id: str | None,
) -> RuntimeEvent:
    attributes: Base = {
        "correlation_id": correlation_id,
        "service_interface": service_interface,
        "method_name": method_name,
        "requested_model": requested_model,
        "is_stream": is_stream,
    }
    if workflow_run_id is not None:
        attributes["workflow_run_id"] = workflow_run_id
    return make_trusted_event(catalogue.OPERATION_STARTED, attributes)


def operation_completed(
    correlation_id: str,
    *,
    attempt_count: int,
    duration_millis: int,
    outcome: str,
    error: BaseException | None,
) -> RuntimeEvent:
    attributes: Base = {
        "correlation_id": correlation_id,
        "outcome": outcome,
        "attempt_count": attempt_count,
        "duration_millis": duration_millis,
    }
    if error is not None:
        attributes["error_type"] = _class_name(error)
        if outcome == "failed":
            attributes["failure_kind"] = failure_kind(error)
    return make_trusted_event(catalogue.OPERATION_COMPLETED, attributes)


def route_selected(base: Base, effective_model: str, route_index: int) -> RuntimeEvent:
    # the three events of every attempt: a display with `**base` would take twice as long as a copy
    attributes: Base = base.copy()
    attributes["effective_model"] = effective_model
    attributes["route_index"] = route_index
    attributes["is_fallback"] = route_index > 0
    return make_trusted_event(catalogue.ROUTE_SELECTED, attributes)


def attempt_started(
    base: Base,
    *,
    service_interface: str,
    method_name: str,
    requested_model: str,
    effective_model: str,
    is_stream: bool,
) -> RuntimeEvent:
    attributes: Base = base.copy()
    attributes["service_interface"] = service_interface
    attributes["method_name"] = method_name
    attributes["requested_model"] = requested_model
    attributes["effective_model"] = effective_model
    attributes["is_stream"] = is_stream
    return make_trusted_event(catalogue.ATTEMPT_STARTED, attributes)


def attempt_completed(
    base: Base,
    effective_model: str,
    response: ModelResponse,
    *,
    duration_millis: int,
    first_chunk_millis: int | None,
    dlp_micros: int,
) -> RuntimeEvent:
    attributes: Base = base.copy()
    attributes["effective_model"] = effective_model
    attributes["finish_reason"] = response.finish_reason._value_  # before 3.12 `.value` is a call, of 0.15 µs
    attributes["duration_millis"] = duration_millis
    if response.model is not None:
        attributes["response_model"] = model_label(response.model)
    if response.tool_calls:
        attributes["tool_call_count"] = len(response.tool_calls)
    if first_chunk_millis is not None:
        attributes["first_chunk_millis"] = first_chunk_millis
    if dlp_micros >= _LEAST_DLP_MICROS:
        attributes["dlp_micros"] = dlp_micros
    if response.usage is not NO_USAGE:
        _add_usage(attributes, response.usage)
    return make_trusted_event(catalogue.ATTEMPT_COMPLETED, attributes)


def _add_usage(attributes: Base, usage: TokenUsage) -> None:
    for name in _USAGE:
        count: int | None = getattr(usage, name)
        if count is not None:
            attributes[name] = count


def attempt_failed(
    base: Base,
    effective_model: str,
    error: BaseException,
    *,
    duration_millis: int,
    first_chunk_millis: int | None,
    dlp_micros: int,
) -> RuntimeEvent:
    attributes: Base = {
        **base,
        "effective_model": effective_model,
        "failure_kind": failure_kind(error),
        "error_type": _class_name(error),
        "is_retryable": isinstance(error, ProviderError) and error.retryable,
        "duration_millis": duration_millis,
    }
    if first_chunk_millis is not None:
        attributes["first_chunk_millis"] = first_chunk_millis
    if dlp_micros >= _LEAST_DLP_MICROS:
        attributes["dlp_micros"] = dlp_micros
    if isinstance(error, ProviderError):
        attributes["failure_code"] = error.failure_code.value
        if error.status_code is not None and error.status_code in _STATUS_CODES:
            attributes["status_code"] = int(error.status_code)
    return make_trusted_event(catalogue.ATTEMPT_FAILED, attributes)


def attempt_cancelled(
    base: Base,
    effective_model: str,
    cancel_reason: str,
    *,
    duration_millis: int,
    first_chunk_millis: int | None,
    dlp_micros: int,
) -> RuntimeEvent:
    attributes: Base = {
        **base,
        "effective_model": effective_model,
        "cancel_reason": cancel_reason,
        "duration_millis": duration_millis,
    }
    if first_chunk_millis is not None:
        attributes["first_chunk_millis"] = first_chunk_millis
    if dlp_micros >= _LEAST_DLP_MICROS:
        attributes["dlp_micros"] = dlp_micros
    return make_trusted_event(catalogue.ATTEMPT_CANCELLED, attributes)


def retry_scheduled(base: Base, retry_index: int, delay_s: float, delay_source: str) -> RuntimeEvent:
    attributes: Base = {
        **base,
        "retry_index": retry_index,
        "delay_millis": round(delay_s * 1000),
        "delay_source": delay_source,
    }
    return make_trusted_event(catalogue.RETRY_SCHEDULED, attributes)


def startup_retry(base: Base, error: BaseException) -> RuntimeEvent:
    return make_trusted_event(catalogue.STREAMING_STARTUP_RETRY, {**base, "error_type": _class_name(error)})


def circuit_opened(base: Base) -> RuntimeEvent:
    return make_trusted_event(catalogue.CIRCUIT_OPENED, {**base})


def circuit_closed(base: Base) -> RuntimeEvent:
    return make_trusted_event(catalogue.CIRCUIT_CLOSED, {**base})


def circuit_half_opened(correlation_id: str, provider_id: str) -> RuntimeEvent:
    attributes: Base = {"correlation_id": correlation_id, "provider_id": provider_id}
    return make_trusted_event(catalogue.CIRCUIT_HALF_OPENED, attributes)


def circuit_rejected(
    correlation_id: str, provider_id: str, *, route_index: int, retry_after_s: float
) -> RuntimeEvent:
    attributes: Base = {
        "correlation_id": correlation_id,
        "provider_id": provider_id,
        "route_index": route_index,
        "retry_after_millis": round(retry_after_s * 1000),
    }
    return make_trusted_event(catalogue.CIRCUIT_REJECTED, attributes)


def dlp_redacted(
    base: Base, context: DlpContext, redaction: DlpRedaction, tool_label: str | None
) -> RuntimeEvent:
    attributes: Base = {
        **_dlp_base(base, context, tool_label),
        "rule_id": redaction.rule_id,
        "replacement_count": redaction.replacement_count,
    }
    return make_trusted_event(catalogue.DLP_REDACTED, attributes)


def dlp_inspection_failed(
    base: Base, context: DlpContext, reason_code: str, error: BaseException | None, tool_label: str | None
) -> RuntimeEvent:
    attributes: Base = {**_dlp_base(base, context, tool_label), "reason_code": reason_code}
    if error is not None:
        attributes["error_type"] = _class_name(error)
    return make_trusted_event(catalogue.DLP_INSPECTION_FAILED, attributes)


def tool_result_rejected(
    base: Base,
    reason_code: str,
    *,
    configured_limit: int,
    aggregate_text_length: int | None,
    tool_label: str | None,
) -> RuntimeEvent:
    attributes: Base = {**base, "reason_code": reason_code, "configured_limit": configured_limit}
    if aggregate_text_length is not None:
        attributes["aggregate_text_length"] = aggregate_text_length
    if tool_label is not None:
        attributes["tool_name"] = tool_label
    return make_trusted_event(catalogue.DLP_TOOL_RESULT_REJECTED, attributes)


def content_unscanned(base: Base, reason_code: str) -> RuntimeEvent:
    return make_trusted_event(catalogue.CONTENT_UNSCANNED, {**base, "reason_code": reason_code})


def response_refused(base: Base, reason_code: str) -> RuntimeEvent:
    return make_trusted_event(catalogue.RESPONSE_REFUSED, {**base, "reason_code": reason_code})


def request_refused(base: Base, reason_code: str) -> RuntimeEvent:
    return make_trusted_event(catalogue.REQUEST_REFUSED, {**base, "reason_code": reason_code})


def usage_unavailable(base: Base, effective_model: str) -> RuntimeEvent:
    return make_trusted_event(
        catalogue.TOKEN_BUDGET_USAGE_UNAVAILABLE, {**base, "effective_model": effective_model}
    )


def budget_limit_exceeded(
    base: Base, effective_model: str, *, limit_tokens: int, observed_tokens: int, scope: str, is_hard: bool
) -> RuntimeEvent:
    attributes: Base = {
        **base,
        "effective_model": effective_model,
        "limit_tokens": limit_tokens,
        "observed_tokens": min(observed_tokens, MOST),
        "scope": scope,
    }
    definition = (
        catalogue.TOKEN_BUDGET_HARD_LIMIT_EXCEEDED if is_hard else catalogue.TOKEN_BUDGET_SOFT_LIMIT_EXCEEDED
    )
    return make_trusted_event(definition, attributes)


def _dlp_base(base: Base, context: DlpContext, tool_label: str | None) -> Base:
    attributes: Base = {
        **base,
        "content_type": context.content_type.value,
        "content_location": context.content_location.value,
    }
    if tool_label is not None:
        attributes["tool_name"] = tool_label
    return attributes
