"""What stands on a span: its name, its attributes, its status. Nothing is None, and nothing is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from tramapy.hooks.catalogue import NO_MODEL
from tramapy.hooks.event_model import RuntimeEvent, RuntimeEventSensitivity
from tramapy.telemetry import genai_names as genai
from tramapy.telemetry.otel_import import context as otel_context
from tramapy.telemetry.otel_import import trace
from tramapy.telemetry.otel_text import exportable

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from tramapy.telemetry.otel_outcome import Outcome
    from tramapy.telemetry.otel_state import OpenOperation

__all__ = ["OWN_ATTRIBUTES", "Attributes"]

Attributes: TypeAlias = dict[str, str | int | float | bool | tuple[str, ...]]

_MAX_LENGTH: Final = 256

OUTCOME: Final = "tramapy.outcome"
ATTEMPT: Final = "tramapy.attempt"
PROVIDER_ID: Final = "tramapy.provider_id"
USAGE_INPUT_TOKENS: Final = "tramapy.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "tramapy.usage.output_tokens"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"tramapy.{key}" for key in keys}


# what each span carries of its own events: the catalogue's keys, and their names here
OPERATION_KEYS: Final = _named(
    *("correlation_id", "service_interface", "method_name", "requested_model", "workflow_run_id")
)
ATTEMPT_END_KEYS: Final = _named(
    *("failure_kind", "error_type", "failure_code", "status_code", "is_retryable"),
    *("tool_call_count", "dlp_micros"),
)
OPERATION_END_KEYS: Final = _named("attempt_count", "failure_kind", "error_type")

OWN_ATTRIBUTES: Final = tuple(
    dict.fromkeys(
        (
            *OPERATION_KEYS.values(),
            *(ATTEMPT, PROVIDER_ID, OUTCOME),
            *ATTEMPT_END_KEYS.values(),
            *OPERATION_END_KEYS.values(),
            *(USAGE_INPUT_TOKENS, USAGE_OUTPUT_TOKENS),
        )
    )
)
"""Our own attributes of spans, in the order of the reference table; events carry the catalogue's."""

# An instrumentation of an SDK that knows this key makes no span of its own beneath ours, and counts no tokens.
_SUPPRESS_SDK_KEY: Final = "suppress_language_model_instrumentation"
# under which OpenTelemetry looks for the current span
(_SPAN_KEY,) = trace.set_span_in_context(trace.INVALID_SPAN, otel_context.Context())


def operation_name(event: RuntimeEvent) -> str:
    """Name an operation's span: `tramapy {service}.{method}`."""
    name = f"tramapy {event.attribute('service_interface')}.{event.attribute('method_name')}"
    return exportable(name, _MAX_LENGTH)


def attempt_name(operation: str, event: RuntimeEvent) -> str:
    """Name an attempt's span as the conventions do: `{operation} {model}`, or `{operation}` without one."""
    model = event.attribute("effective_model")
    return operation if model == NO_MODEL else exportable(f"{operation} {model}", _MAX_LENGTH)


def gen_ai_operation(method_name: str) -> str:
    """Return the conventions' operation of a method; under `wrap` a method is the SDK's resource path."""
    if "embed" in method_name:
        return "embeddings"
    return "text_completion" if method_name == "completions.create" else "chat"


def context_of(span: Span, parent: Context) -> Context:
    """Return a context beneath a span, in which an instrumentation of an SDK that can be told so stays silent.

    It is made in one step: each value that OpenTelemetry sets by itself costs two copies.
    """
    return otel_context.Context({**parent, _SPAN_KEY: span, _SUPPRESS_SDK_KEY: True})


def operation_attributes(event: RuntimeEvent) -> Attributes:
    """Return what an operation's span begins with; a sampler sees it."""
    return _own(event, OPERATION_KEYS)


def attempt_attributes(event: RuntimeEvent, operation: str, provider_name: str) -> Attributes:
    """Return what an attempt's span begins with; a sampler sees it."""
    own = event.attributes()
    model, provider_id = own["effective_model"], own["provider_id"]
    attributes: Attributes = {
        genai.OPERATION_NAME: operation,
        genai.PROVIDER_NAME: exportable(provider_name, _MAX_LENGTH),
        ATTEMPT: own["attempt"],
    }
    if model != NO_MODEL:
        attributes[genai.REQUEST_MODEL] = exportable(str(model), _MAX_LENGTH)
    if provider_id != provider_name:
        attributes[PROVIDER_ID] = exportable(str(provider_id), _MAX_LENGTH)
    if own["is_stream"]:
        attributes[genai.REQUEST_STREAM] = True
    return attributes


def attempt_end_attributes(event: RuntimeEvent, *, counts_usage: bool) -> Attributes:
    """Return what an attempt's last event adds."""
    own = event.attributes()
    attributes = _own(event, ATTEMPT_END_KEYS)
    if "response_model" in own:
        attributes[genai.RESPONSE_MODEL] = exportable(str(own["response_model"]), _MAX_LENGTH)
    if "finish_reason" in own:
        attributes[genai.FINISH_REASONS] = (str(own["finish_reason"]),)
    first_chunk_millis = own.get("first_chunk_millis")
    if first_chunk_millis is not None:
        attributes[genai.TIME_TO_FIRST_CHUNK] = int(first_chunk_millis) / 1000
    if counts_usage:
        for key, name in genai.USAGE_NAMES.items():
            if key in own:
                attributes[name] = own[key]
    return attributes


def operation_end_attributes(event: RuntimeEvent, operation: OpenOperation) -> Attributes:
    """Return what an operation's last event adds."""
    attributes = _own(event, OPERATION_END_KEYS)
    if operation.attempt_count > 1:  # of one attempt they are the attempt's own
        attributes[USAGE_INPUT_TOKENS] = operation.input_tokens
        attributes[USAGE_OUTPUT_TOKENS] = operation.output_tokens
    return attributes


def event_attributes(event: RuntimeEvent) -> Attributes:
    """Return an event's attributes as those of a span event; the ids of its span are not said again."""
    if event.definition.sensitivity is RuntimeEventSensitivity.SENSITIVE:
        return {}
    hidden = {
        key.name for key in event.definition.allowed if key.sensitivity is RuntimeEventSensitivity.SENSITIVE
    }
    return {
        f"tramapy.{key}": exportable(value, _MAX_LENGTH) if isinstance(value, str) else value
        for key, value in event.attributes().items()
        if key != "correlation_id" and key not in hidden
    }


def finish(span: Span, attributes: Attributes | None, outcome: Outcome, at_ns: int | None) -> None:
    """Write a span's last attributes and its status, and end it; one that is not recorded takes no attributes."""
    if attributes is not None:
        attributes[OUTCOME] = outcome.name
        if outcome.error_type is not None:
            attributes[genai.ERROR_TYPE] = outcome.error_type
            # in a fixed word: an exception's message may hold what DLP withheld
            span.set_status(trace.Status(trace.StatusCode.ERROR, outcome.error_type))
        span.set_attributes(attributes)
    span.end(at_ns)


def _own(event: RuntimeEvent, names: dict[str, str]) -> Attributes:
    own = event.attributes()
    found: Attributes = {}
    for key, name in names.items():
        value = own.get(key)
        if value is not None:
            # as exportable does, without a call for the usual text
            is_usual = type(value) is str and len(value) <= _MAX_LENGTH and value.isascii()
            found[name] = value if is_usual or not isinstance(value, str) else exportable(value, _MAX_LENGTH)
    return found
