"""One engine event as one line that a person likes to read; `demo` and `trace` share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from tramapy.hooks import catalogue
from tramapy.hooks.event_model import AttributeValue

__all__ = ["Attributes", "EventLine", "HeardEvent", "in_reading_order", "line_of", "route_of"]

Attributes: TypeAlias = Mapping[str, AttributeValue]

_ABOUT_TO_HAPPEN: Final = frozenset(
    {
        catalogue.RETRY_SCHEDULED.name,
        catalogue.STREAMING_STARTUP_RETRY.name,
        catalogue.CIRCUIT_OPENED.name,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardEvent:
    """An event, and when it came."""

    at_s: float
    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class EventLine:
    """What is shown of an event.

    Args:
        mark: Signs that stand before the text, in a column of their own.
        text: What happened.
        style: A style of rich.
    """

    mark: str
    text: str
    style: str = ""


def line_of(event: HeardEvent) -> EventLine:
    """Return an event's line; it has the attributes that the catalogue requires."""
    make = _LINES.get(event.name)
    return _other(event) if make is None else make(event.attributes)


def in_reading_order(events: Iterable[HeardEvent]) -> list[HeardEvent]:
    """Put each failed attempt before what it leads to: the engine decides first, then reports the failure."""
    ordered: list[HeardEvent] = []
    for event in events:
        position = len(ordered)
        if event.name == catalogue.ATTEMPT_FAILED.name:
            while position and ordered[position - 1].name in _ABOUT_TO_HAPPEN:
                position -= 1
        ordered.insert(position, event)
    return ordered


def route_of(attributes: Attributes) -> str:
    """Return the provider and the model of a route, where it has one."""
    provider_id, model = attributes["provider_id"], attributes.get("effective_model")
    return f"{provider_id}" if model in (None, catalogue.NO_MODEL) else f"{provider_id}, {model}"


def _operation_started(attributes: Attributes) -> EventLine:
    model = attributes["requested_model"]
    asks = "asks without a model" if model == catalogue.NO_MODEL else f"asks for {model}"
    return EventLine("┌", f"{attributes['correlation_id']} {asks}", "bold")


def _operation_completed(attributes: Attributes) -> EventLine:
    count = attributes["attempt_count"]
    attempts = f"{count} attempt{'' if count == 1 else 's'}"
    if attributes["outcome"] == "success":
        return EventLine("└", f"answered after {attempts}", "bold green")
    error_type = attributes.get("error_type")
    why = "" if error_type is None else f": {error_type}"
    return EventLine("└", f"{attributes['outcome']} after {attempts}{why}", "bold red")


def _attempt_started(attributes: Attributes) -> EventLine:
    return EventLine("│ →", f"attempt {attributes['attempt']} goes to {route_of(attributes)}")


def _attempt_completed(attributes: Attributes) -> EventLine:
    return EventLine("│ ✓", f"attempt {attributes['attempt']} passed every hook", "green")


def _attempt_failed(attributes: Attributes) -> EventLine:
    status = attributes.get("status_code")
    answered = f"HTTP {status}, " if status is not None else ""
    end = "retryable" if attributes["is_retryable"] else "final"
    kind = attributes["failure_kind"]
    return EventLine("│ ✗", f"attempt {attributes['attempt']} failed: {answered}{end} ({kind})", "red")


def _attempt_cancelled(attributes: Attributes) -> EventLine:
    return EventLine("│ ✗", f"attempt {attributes['attempt']} ended: {attributes['cancel_reason']}", "yellow")


def _retry_scheduled(attributes: Attributes) -> EventLine:
    why = "as the provider asks" if attributes["delay_source"] == "retry_after" else "by doubling backoff"
    return EventLine("│ …", f"waits {attributes['delay_millis']} ms, {why}", "yellow")


def _startup_retry(attributes: Attributes) -> EventLine:
    return EventLine(
        "│ …", f"the stream gave nothing yet ({attributes['error_type']}): it may start again", "yellow"
    )


def _circuit_opened(attributes: Attributes) -> EventLine:
    return EventLine("│ ◉", f"the circuit of {attributes['provider_id']} opens", "bold red")


def _circuit_half_opened(attributes: Attributes) -> EventLine:
    return EventLine("│ ◌", f"the circuit of {attributes['provider_id']} lets one probe pass", "yellow")


def _circuit_closed(attributes: Attributes) -> EventLine:
    return EventLine("│ ○", f"the circuit of {attributes['provider_id']} closes", "bold green")


def _circuit_rejected(attributes: Attributes) -> EventLine:
    left = attributes["retry_after_millis"]
    return EventLine(
        "│ ◉", f"{attributes['provider_id']} is not asked: its circuit is open for {left} ms more", "red"
    )


def _dlp_redacted(attributes: Attributes) -> EventLine:
    where = str(attributes["content_location"]).replace("_", " ")
    return EventLine(
        "│ ▒", f"rule {attributes['rule_id']} replaced {attributes['replacement_count']} in {where}", "cyan"
    )


def _dlp_failed(attributes: Attributes) -> EventLine:
    where = str(attributes["content_location"]).replace("_", " ")
    return EventLine("│ ▒", f"DLP withholds {where}: {attributes['reason_code']}", "bold magenta")


def _tool_result_rejected(attributes: Attributes) -> EventLine:
    return EventLine("│ ▒", f"DLP refuses a tool result: {attributes['reason_code']}", "bold magenta")


def _content_unscanned(attributes: Attributes) -> EventLine:
    return EventLine("│ ▒", f"passes uninspected: {attributes['reason_code']}", "magenta")


def _response_refused(attributes: Attributes) -> EventLine:
    return EventLine("│ ⊘", f"the model refuses: {attributes['reason_code']}", "yellow")


def _request_refused(attributes: Attributes) -> EventLine:
    return EventLine("│ ⊘", f"the provider refuses the request: {attributes['reason_code']}", "yellow")


def _usage_unavailable(attributes: Attributes) -> EventLine:
    return EventLine("│ Σ", f"{attributes['provider_id']} told no token counts", "yellow")


def _soft_limit(attributes: Attributes) -> EventLine:
    return EventLine("│ Σ", f"the soft token limit is passed{_of_limit(attributes)}", "yellow")


def _hard_limit(attributes: Attributes) -> EventLine:
    return EventLine("│ Σ", f"the hard token limit is passed{_of_limit(attributes)}", "bold red")


def _of_limit(attributes: Attributes) -> str:
    observed, limit = attributes.get("observed_tokens"), attributes.get("limit_tokens")
    return "" if observed is None or limit is None else f": {observed} of {limit}"


def _other(event: HeardEvent) -> EventLine:
    told = ", ".join(
        f"{key}={value}" for key, value in event.attributes.items() if key != catalogue.CORRELATION_ID.name
    )
    return EventLine("│ ·", f"{event.name} {told}".rstrip(), "dim")


_LINES: Final[Mapping[str, Callable[[Attributes], EventLine]]] = {
    catalogue.OPERATION_STARTED.name: _operation_started,
    catalogue.OPERATION_COMPLETED.name: _operation_completed,
    catalogue.ATTEMPT_STARTED.name: _attempt_started,
    catalogue.ATTEMPT_COMPLETED.name: _attempt_completed,
    catalogue.ATTEMPT_FAILED.name: _attempt_failed,
    catalogue.ATTEMPT_CANCELLED.name: _attempt_cancelled,
    catalogue.RETRY_SCHEDULED.name: _retry_scheduled,
    catalogue.STREAMING_STARTUP_RETRY.name: _startup_retry,
    catalogue.CIRCUIT_OPENED.name: _circuit_opened,
    catalogue.CIRCUIT_HALF_OPENED.name: _circuit_half_opened,
    catalogue.CIRCUIT_CLOSED.name: _circuit_closed,
    catalogue.CIRCUIT_REJECTED.name: _circuit_rejected,
    catalogue.DLP_REDACTED.name: _dlp_redacted,
    catalogue.DLP_INSPECTION_FAILED.name: _dlp_failed,
    catalogue.DLP_TOOL_RESULT_REJECTED.name: _tool_result_rejected,
    catalogue.CONTENT_UNSCANNED.name: _content_unscanned,
    catalogue.RESPONSE_REFUSED.name: _response_refused,
    catalogue.REQUEST_REFUSED.name: _request_refused,
    catalogue.TOKEN_BUDGET_USAGE_UNAVAILABLE.name: _usage_unavailable,
    catalogue.TOKEN_BUDGET_SOFT_LIMIT_EXCEEDED.name: _soft_limit,
    catalogue.TOKEN_BUDGET_HARD_LIMIT_EXCEEDED.name: _hard_limit,
}
