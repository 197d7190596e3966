"""`Timeline`: hears the engine's events and turns them into lines that a person likes to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.table import Table
from rich.text import Text

from tramapy.hooks import catalogue
from tramapy.hooks.clock import Clock
from tramapy.hooks.event_model import AttributeValue
from tramapy.hooks.events import EngineEventObserver

__all__ = ["HeardEvent", "Timeline", "mark_placeholders"]

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
    """An event, and when it came on the demo's clock."""

    at_s: float
    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class _Line:
    mark: str
    text: str
    style: str = ""


class Timeline(EngineEventObserver):
    """Keeps every event in order.

    Args:
        clock: The demo's clock; it stands still but for waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.events: list[HeardEvent] = []

    def on_engine_event(self, name: str, attributes: Attributes) -> None:
        """Take an event."""
        self.events.append(HeardEvent(at_s=self._clock.now_s(), name=name, attributes=dict(attributes)))

    def count(self, name: str) -> int:
        """Return how often an event of that name came."""
        return sum(event.name == name for event in self.events)

    def table(self) -> Table:
        """Show what happened, one line an event; what follows from a failure comes after it."""
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim", justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for event in _in_reading_order(self.events):
            line = _LINES.get(event.name, _other)(event.attributes)
            style = line.style
            table.add_row(f"{event.at_s:8.3f} s", Text(line.mark, style=style), Text(line.text, style=style))
        return table


def mark_placeholders(text: str) -> Text:
    """Make `text` with everything in brackets highlighted."""
    marked = Text(text)
    marked.highlight_regex(r"\[[A-Z-]+\]", "bold green")
    return marked


def _in_reading_order(events: list[HeardEvent]) -> list[HeardEvent]:
    """Put each failed attempt before what it leads to: the engine decides first, then reports the failure."""
    ordered: list[HeardEvent] = []
    for event in events:
        if event.name == catalogue.ROUTE_SELECTED.name:
            continue
        position = len(ordered)
        if event.name == catalogue.ATTEMPT_FAILED.name:
            while position and ordered[position - 1].name in _ABOUT_TO_HAPPEN:
                position -= 1
        ordered.insert(position, event)
    return ordered


def _operation_started(attributes: Attributes) -> _Line:
    return _Line("┌", f"{attributes['correlation_id']} asks for {attributes['requested_model']}", "bold")


def _operation_completed(attributes: Attributes) -> _Line:
    count = attributes["attempt_count"]
    attempts = f"{count} attempt{'' if count == 1 else 's'}"
    if attributes["outcome"] == "success":
        return _Line("└", f"answered after {attempts}", "bold green")
    return _Line("└", f"{attributes['outcome']} after {attempts}: {attributes['error_type']}", "bold red")


def _attempt_started(attributes: Attributes) -> _Line:
    where = f"{attributes['provider_id']}, {attributes['effective_model']}"
    return _Line("│ →", f"attempt {attributes['attempt']} goes to {where}")


def _attempt_completed(attributes: Attributes) -> _Line:
    return _Line("│ ✓", f"attempt {attributes['attempt']} passed every hook", "green")


def _attempt_failed(attributes: Attributes) -> _Line:
    status = attributes.get("status_code")
    answered = f"HTTP {status}, " if status is not None else ""
    end = "retryable" if attributes["is_retryable"] else "final"
    kind = attributes["failure_kind"]
    return _Line("│ ✗", f"attempt {attributes['attempt']} failed: {answered}{end} ({kind})", "red")


def _attempt_cancelled(attributes: Attributes) -> _Line:
    return _Line("│ ✗", f"attempt {attributes['attempt']} ended: {attributes['cancel_reason']}", "yellow")


def _retry_scheduled(attributes: Attributes) -> _Line:
    why = "as the provider asks" if attributes["delay_source"] == "retry_after" else "by doubling backoff"
    return _Line("│ …", f"waits {attributes['delay_millis']} ms, {why}", "yellow")


def _startup_retry(attributes: Attributes) -> _Line:
    return _Line(
        "│ …", f"the stream gave nothing yet ({attributes['error_type']}): it may start again", "yellow"
    )


def _circuit_opened(attributes: Attributes) -> _Line:
    return _Line("│ ◉", f"the circuit of {attributes['provider_id']} opens", "bold red")


def _circuit_half_opened(attributes: Attributes) -> _Line:
    return _Line("│ ◌", f"the circuit of {attributes['provider_id']} lets one probe pass", "yellow")


def _circuit_closed(attributes: Attributes) -> _Line:
    return _Line("│ ○", f"the circuit of {attributes['provider_id']} closes", "bold green")


def _circuit_rejected(attributes: Attributes) -> _Line:
    left = attributes["retry_after_millis"]
    return _Line(
        "│ ◉", f"{attributes['provider_id']} is not asked: its circuit is open for {left} ms more", "red"
    )


def _dlp_redacted(attributes: Attributes) -> _Line:
    where = str(attributes["content_location"]).replace("_", " ")
    return _Line(
        "│ ▒", f"rule {attributes['rule_id']} replaced {attributes['replacement_count']} in {where}", "cyan"
    )


def _dlp_failed(attributes: Attributes) -> _Line:
    where = str(attributes["content_location"]).replace("_", " ")
    return _Line("│ ▒", f"DLP withholds {where}: {attributes['reason_code']}", "bold magenta")


def _other(attributes: Attributes) -> _Line:
    return _Line("│ ·", ", ".join(f"{name}={value}" for name, value in attributes.items()), "dim")


_LINES: Final[Mapping[str, Callable[[Attributes], _Line]]] = {
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
}
