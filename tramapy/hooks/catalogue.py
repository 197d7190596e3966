"""The engine's events: names as in TramAI, attribute keys in snake case, one spelling for one thing.

This is the only module with `tramai.` literals; a test scans for others.
"""

from __future__ import annotations

from typing import Final

from tramapy.hooks.event_model import (
    RuntimeAttributeCardinality,
    RuntimeAttributeKey,
    RuntimeEventCatalogue,
    RuntimeEventDefinition,
    RuntimeEventDomain,
    RuntimeMetric,
    RuntimeMetricInstrument,
)

__all__ = ["CATALOGUE", "COMPAT_METRICS"]

_HIGH = RuntimeAttributeCardinality.HIGH
_ENGINE = RuntimeEventDomain.ENGINE
_ROUTING = RuntimeEventDomain.ROUTING
_POLICY = RuntimeEventDomain.POLICY
_TOOL = RuntimeEventDomain.TOOL


def _text(name: str, description: str) -> RuntimeAttributeKey:
    return RuntimeAttributeKey(name=name, value_type=str, description=description)


def _open_text(name: str, description: str) -> RuntimeAttributeKey:
    return RuntimeAttributeKey(name=name, value_type=str, cardinality=_HIGH, description=description)


def _number(name: str, description: str) -> RuntimeAttributeKey:
    return RuntimeAttributeKey(name=name, value_type=int, cardinality=_HIGH, description=description)


def _few(name: str, description: str) -> RuntimeAttributeKey:
    return RuntimeAttributeKey(name=name, value_type=int, description=description)


def _flag(name: str, description: str) -> RuntimeAttributeKey:
    return RuntimeAttributeKey(name=name, value_type=bool, description=description)


CORRELATION_ID = _open_text("correlation_id", "The operation's id; on every event")
WORKFLOW_RUN_ID = _open_text("workflow_run_id", "The caller's id of a longer run")
NO_MODEL: Final = "none"
"""What stands for the model of a call that names none, such as one that lists files."""

PROVIDER_ID = _text("provider_id", "The attempt's provider, a key of `providers`")
ATTEMPT = _few("attempt", "Zero-based number of the attempt within its operation")
SERVICE_INTERFACE = _text("service_interface", "The caller's name of the service")
METHOD_NAME = _text("method_name", "The caller's name of the call")
REQUESTED_MODEL = _open_text(
    "requested_model", "The model that the operation named; `none` where it named none"
)
EFFECTIVE_MODEL = _open_text("effective_model", "The model of the route")
RESPONSE_MODEL = _open_text("response_model", "The model that answered, as the provider names it")
IS_STREAM = _flag("is_stream", "Whether the answer is streamed")
ROUTE_INDEX = _few("route_index", "0 for the primary route, then the fallbacks in order")
IS_FALLBACK = _flag("is_fallback", "Whether the route is not the primary one")
OUTCOME = _text("outcome", "`success`, `failed` or `cancelled`")
FAILURE_KIND = _text(
    "failure_kind",
    "Whose failure: `provider`, `timeout`, `circuit_open`, `deadline`, `dlp`, `interceptor`, `budget`, "
    "`configuration` or `engine`",
)
ERROR_TYPE = _text("error_type", "The class of the error that ended it")
FAILURE_CODE = _text("failure_code", "How a provider failed, a `ProviderFailureCode` value")
STATUS_CODE = _few("status_code", "The HTTP status of a provider's failure")
IS_RETRYABLE = _flag("is_retryable", "Whether the same request may succeed later")
CANCEL_REASON = _text(
    "cancel_reason", "`cancelled`, `closed` by the consumer, or `abandoned` without closing"
)
DURATION_MILLIS = _number("duration_millis", "How long it took, hooks included")
FIRST_CHUNK_MILLIS = _number(
    "first_chunk_millis", "From the start of the attempt to the provider's first piece"
)
DLP_MICROS = _number("dlp_micros", "How much of it DLP took; only from 10 µs")
ATTEMPT_COUNT = _few("attempt_count", "How many attempts the operation made")
FINISH_REASON = _text("finish_reason", "Why the model stopped, a `FinishReason` value")
INPUT_TOKENS = _number("input_tokens", "Tokens of the prompt, cached ones included")
OUTPUT_TOKENS = _number("output_tokens", "Tokens of the answer, reasoning included")
REASONING_TOKENS = _number("reasoning_tokens", "Tokens spent on reasoning")
CACHE_READ_TOKENS = _number("cache_read_tokens", "Prompt tokens read from the provider's cache")
CACHE_WRITE_TOKENS = _number("cache_write_tokens", "Prompt tokens written to the provider's cache")
TOOL_CALL_COUNT = _few("tool_call_count", "How many tool calls the model proposed")
RETRY_INDEX = _few("retry_index", "Zero-based number of the retry within its route")
DELAY_MILLIS = _number("delay_millis", "How long the engine sleeps before the next attempt")
DELAY_SOURCE = _text("delay_source", "`retry_after` where the provider gave a hint, else `backoff`")
RETRY_AFTER_MILLIS = _number("retry_after_millis", "Until a probe may pass")
CONTENT_TYPE = _text("content_type", "Whose text, a `DlpContentType` value")
CONTENT_LOCATION = _text("content_location", "Where it stands, a `DlpContentLocation` value")
TOOL_NAME = _open_text("tool_name", "The tool whose result or arguments were inspected")
RULE_ID = _text("rule_id", "The DLP rule")
REPLACEMENT_COUNT = _number("replacement_count", "How many matches the rule replaced")
REASON_CODE = _text("reason_code", "Why, in a fixed word")
AGGREGATE_TEXT_LENGTH = _number("aggregate_text_length", "Length that was found, in characters")
CONFIGURED_LIMIT = _number("configured_limit", "Length that is allowed, in characters")
LIMIT_TOKENS = _number("limit_tokens", "The configured limit")
OBSERVED_TOKENS = _number("observed_tokens", "What was used")
SCOPE = _text("scope", "`attempt` or `operation`")

_USAGE = (INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS)
_WHERE = (CORRELATION_ID, PROVIDER_ID, ATTEMPT)
_BUDGET = (*_WHERE, EFFECTIVE_MODEL, LIMIT_TOKENS, OBSERVED_TOKENS, SCOPE)

ENGINE_EVENTS_METRIC: Final = RuntimeMetric(
    name="tramai.engine.events", unit="{event}", description="Engine events by name"
)
TOOL_RESULT_REJECTED_METRIC: Final = RuntimeMetric(
    name="tramai.dlp.tool_result_rejected", unit="{rejection}", description="Tool results that DLP refused"
)


def _names(*keys: RuntimeAttributeKey) -> frozenset[str]:
    return frozenset(key.name for key in keys)


OPERATION_STARTED: Final = RuntimeEventDefinition(
    name="tramai.operation.started",
    domain=_ENGINE,
    description="An operation begins",
    allowed=(CORRELATION_ID, SERVICE_INTERFACE, METHOD_NAME, REQUESTED_MODEL, IS_STREAM, WORKFLOW_RUN_ID),
    required=_names(CORRELATION_ID, SERVICE_INTERFACE, METHOD_NAME, REQUESTED_MODEL, IS_STREAM),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
ROUTE_SELECTED: Final = RuntimeEventDefinition(
    name="tramai.route.selected",
    domain=_ROUTING,
    description="An attempt goes to this provider and model",
    allowed=(*_WHERE, EFFECTIVE_MODEL, ROUTE_INDEX, IS_FALLBACK),
    required=_names(*_WHERE),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
ATTEMPT_STARTED: Final = RuntimeEventDefinition(
    name="tramai.attempt.started",
    domain=_ENGINE,
    description="An attempt begins; its request interceptors have run",
    allowed=(*_WHERE, SERVICE_INTERFACE, METHOD_NAME, REQUESTED_MODEL, EFFECTIVE_MODEL, IS_STREAM),
    required=_names(*_WHERE, EFFECTIVE_MODEL, IS_STREAM),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
DLP_REDACTED: Final = RuntimeEventDefinition(
    name="tramai.dlp.redacted",
    domain=_POLICY,
    description="A DLP rule replaced text; the audit record, if any, is written",
    allowed=(*_WHERE, CONTENT_TYPE, CONTENT_LOCATION, TOOL_NAME, RULE_ID, REPLACEMENT_COUNT),
    required=_names(CORRELATION_ID, CONTENT_TYPE, CONTENT_LOCATION, RULE_ID, REPLACEMENT_COUNT),
    is_audit_eligible=True,
    is_evidence_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
DLP_INSPECTION_FAILED: Final = RuntimeEventDefinition(
    name="tramai.dlp.inspection_failed",
    domain=_POLICY,
    description="DLP rejected text, failed, or gave no honest evidence; the operation fails closed",
    allowed=(*_WHERE, CONTENT_TYPE, CONTENT_LOCATION, TOOL_NAME, REASON_CODE, ERROR_TYPE),
    required=_names(CORRELATION_ID, CONTENT_TYPE, CONTENT_LOCATION, REASON_CODE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
DLP_TOOL_RESULT_REJECTED: Final = RuntimeEventDefinition(
    name="tramai.dlp.tool_result_rejected",
    domain=_TOOL,
    description="A tool result is too long, or hides sensitive text around something that is no text",
    allowed=(*_WHERE, REASON_CODE, AGGREGATE_TEXT_LENGTH, CONFIGURED_LIMIT, TOOL_NAME),
    required=_names(CORRELATION_ID, REASON_CODE, CONFIGURED_LIMIT),
    is_audit_eligible=True,
    metric_name=TOOL_RESULT_REJECTED_METRIC.name,
)
CONTENT_UNSCANNED: Final = RuntimeEventDefinition(
    name="tramai.content.unscanned",
    domain=_POLICY,
    description="A wrapped client's call has content that cannot be inspected; said once for each reason",
    allowed=(*_WHERE, REASON_CODE),
    required=_names(*_WHERE, REASON_CODE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
RESPONSE_REFUSED: Final = RuntimeEventDefinition(
    name="tramai.response.refused",
    domain=_POLICY,
    description="The model refused, or its provider's content filter stopped it; the attempt is a success",
    allowed=(*_WHERE, REASON_CODE),
    required=_names(*_WHERE, REASON_CODE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
REQUEST_REFUSED: Final = RuntimeEventDefinition(
    name="tramai.request.refused",
    domain=_POLICY,
    description="The provider's content filter answered with an error; the attempt fails, the provider is well",
    allowed=(*_WHERE, REASON_CODE),
    required=_names(*_WHERE, REASON_CODE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
RETRY_SCHEDULED: Final = RuntimeEventDefinition(
    name="tramai.retry.scheduled",
    domain=_ENGINE,
    description="The same route is tried again after a delay",
    allowed=(*_WHERE, RETRY_INDEX, DELAY_MILLIS, DELAY_SOURCE),
    required=_names(*_WHERE, RETRY_INDEX, DELAY_MILLIS, DELAY_SOURCE),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
STREAMING_STARTUP_RETRY: Final = RuntimeEventDefinition(
    name="tramai.streaming.startup_retry",
    domain=_ENGINE,
    description="A stream failed before anything of it was released; it is retried or falls back",
    allowed=(*_WHERE, ERROR_TYPE),
    required=_names(*_WHERE, ERROR_TYPE),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
CIRCUIT_OPENED: Final = RuntimeEventDefinition(
    name="tramai.circuit.opened",
    domain=_ROUTING,
    description="A provider's breaker shut it off",
    allowed=_WHERE,
    required=_names(CORRELATION_ID, PROVIDER_ID),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
CIRCUIT_HALF_OPENED: Final = RuntimeEventDefinition(
    name="tramai.circuit.half_opened",
    domain=_ROUTING,
    description="A provider's breaker lets a probe pass",
    allowed=_WHERE,
    required=_names(CORRELATION_ID, PROVIDER_ID),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
CIRCUIT_CLOSED: Final = RuntimeEventDefinition(
    name="tramai.circuit.closed",
    domain=_ROUTING,
    description="A probe succeeded; the provider is back",
    allowed=_WHERE,
    required=_names(CORRELATION_ID, PROVIDER_ID),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
CIRCUIT_REJECTED: Final = RuntimeEventDefinition(
    name="tramai.circuit.rejected",
    domain=_ROUTING,
    description="A route was passed over because its breaker is open; no attempt number is used",
    allowed=(CORRELATION_ID, PROVIDER_ID, ROUTE_INDEX, RETRY_AFTER_MILLIS),
    required=_names(CORRELATION_ID, PROVIDER_ID, RETRY_AFTER_MILLIS),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
TOKEN_BUDGET_USAGE_UNAVAILABLE: Final = RuntimeEventDefinition(
    name="tramai.token_budget.usage_unavailable",
    domain=_ENGINE,
    description="A budget is set, but the provider gave no token counts; nothing is added",
    allowed=(*_WHERE, EFFECTIVE_MODEL),
    required=_names(*_WHERE),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
TOKEN_BUDGET_SOFT_LIMIT_EXCEEDED: Final = RuntimeEventDefinition(
    name="tramai.token_budget.soft_limit_exceeded",
    domain=_ENGINE,
    description="An operation passed its soft limit; said once, and nothing else happens",
    allowed=_BUDGET,
    required=_names(*_WHERE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
TOKEN_BUDGET_HARD_LIMIT_EXCEEDED: Final = RuntimeEventDefinition(
    name="tramai.token_budget.hard_limit_exceeded",
    domain=_ENGINE,
    description="A hard limit was passed; the operation fails",
    allowed=_BUDGET,
    required=_names(*_WHERE),
    is_audit_eligible=True,
    metric_name=ENGINE_EVENTS_METRIC.name,
)
ATTEMPT_COMPLETED: Final = RuntimeEventDefinition(
    name="tramai.attempt.completed",
    domain=_ENGINE,
    description="An attempt gave an answer that passed every hook",
    allowed=(
        *(*_WHERE, EFFECTIVE_MODEL, RESPONSE_MODEL, FINISH_REASON, *_USAGE),
        *(TOOL_CALL_COUNT, DURATION_MILLIS, FIRST_CHUNK_MILLIS, DLP_MICROS),
    ),
    required=_names(*_WHERE, EFFECTIVE_MODEL, FINISH_REASON, DURATION_MILLIS),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
ATTEMPT_FAILED: Final = RuntimeEventDefinition(
    name="tramai.attempt.failed",
    domain=_ENGINE,
    description="An attempt failed; `failure_kind` says whose failure it was",
    allowed=(
        *(*_WHERE, EFFECTIVE_MODEL, FAILURE_KIND, ERROR_TYPE, FAILURE_CODE, STATUS_CODE, IS_RETRYABLE),
        *(DURATION_MILLIS, FIRST_CHUNK_MILLIS, DLP_MICROS),
    ),
    required=_names(*_WHERE, EFFECTIVE_MODEL, FAILURE_KIND, ERROR_TYPE, IS_RETRYABLE, DURATION_MILLIS),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
ATTEMPT_CANCELLED: Final = RuntimeEventDefinition(
    name="tramai.attempt.cancelled",
    domain=_ENGINE,
    description="An attempt ended without an outcome of its own",
    allowed=(*_WHERE, EFFECTIVE_MODEL, CANCEL_REASON, DURATION_MILLIS, FIRST_CHUNK_MILLIS, DLP_MICROS),
    required=_names(*_WHERE, EFFECTIVE_MODEL, CANCEL_REASON, DURATION_MILLIS),
    metric_name=ENGINE_EVENTS_METRIC.name,
)
OPERATION_COMPLETED: Final = RuntimeEventDefinition(
    name="tramai.operation.completed",
    domain=_ENGINE,
    description="An operation ended, one way or another; the last event of its `correlation_id`",
    allowed=(CORRELATION_ID, OUTCOME, FAILURE_KIND, ERROR_TYPE, ATTEMPT_COUNT, DURATION_MILLIS),
    required=_names(CORRELATION_ID, OUTCOME, ATTEMPT_COUNT, DURATION_MILLIS),
    metric_name=ENGINE_EVENTS_METRIC.name,
)

CATALOGUE: Final = RuntimeEventCatalogue(
    (
        *(OPERATION_STARTED, ROUTE_SELECTED, ATTEMPT_STARTED),
        *(DLP_REDACTED, DLP_INSPECTION_FAILED, DLP_TOOL_RESULT_REJECTED),
        *(CONTENT_UNSCANNED, RESPONSE_REFUSED, REQUEST_REFUSED),
        *(RETRY_SCHEDULED, STREAMING_STARTUP_RETRY),
        *(CIRCUIT_OPENED, CIRCUIT_HALF_OPENED, CIRCUIT_CLOSED, CIRCUIT_REJECTED),
        *(
            TOKEN_BUDGET_USAGE_UNAVAILABLE,
            TOKEN_BUDGET_SOFT_LIMIT_EXCEEDED,
            TOKEN_BUDGET_HARD_LIMIT_EXCEEDED,
        ),
        *(ATTEMPT_COMPLETED, ATTEMPT_FAILED, ATTEMPT_CANCELLED, OPERATION_COMPLETED),
    ),
    metrics=(ENGINE_EVENTS_METRIC, TOOL_RESULT_REJECTED_METRIC),
)
"""Every event of the engine. `tramapy events` prints it."""

COMPAT_ATTEMPTS: Final = RuntimeMetric(
    name="tramai.operation.attempts", unit="{attempt}", description="Attempts"
)
COMPAT_INPUT_TOKENS: Final = RuntimeMetric(
    name="tramai.operation.input_tokens", unit="{token}", description="Tokens of prompts"
)
COMPAT_OUTPUT_TOKENS: Final = RuntimeMetric(
    name="tramai.operation.output_tokens", unit="{token}", description="Tokens of answers"
)
COMPAT_DURATION: Final = RuntimeMetric(
    name="tramai.operation.duration",
    unit="ms",
    description="How long an attempt took",
    instrument=RuntimeMetricInstrument.HISTOGRAM,
    value_type=float,
)
COMPAT_INPUT_TOKENS_PER_ATTEMPT: Final = RuntimeMetric(
    name="tramai.operation.input_tokens.per_attempt",
    unit="{token}",
    description="Tokens of an attempt's prompt",
    instrument=RuntimeMetricInstrument.HISTOGRAM,
)
COMPAT_OUTPUT_TOKENS_PER_ATTEMPT: Final = RuntimeMetric(
    name="tramai.operation.output_tokens.per_attempt",
    unit="{token}",
    description="Tokens of an attempt's answer",
    instrument=RuntimeMetricInstrument.HISTOGRAM,
)
COMPAT_METRICS: Final = (
    *(COMPAT_ATTEMPTS, COMPAT_INPUT_TOKENS, COMPAT_OUTPUT_TOKENS, COMPAT_DURATION),
    *(COMPAT_INPUT_TOKENS_PER_ATTEMPT, COMPAT_OUTPUT_TOKENS_PER_ATTEMPT),
    *(ENGINE_EVENTS_METRIC, TOOL_RESULT_REJECTED_METRIC),
)
"""The original's metrics of an attempt, for dashboards that were made for it; see `compat_metrics`."""
# of the original's five base tags without the model and the attempt, whose values nobody bounds
COMPAT_BASE_TAGS: Final = ("gen_ai.system", "tramai.operation.interface", "tramai.operation.method")
COMPAT_OUTCOME_TAG: Final = "tramai.outcome"
COMPAT_EVENT_TAG: Final = "tramai.event.name"
