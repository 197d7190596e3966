"""An operation as a timeline for a terminal, or as one line of JSON."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from tramapy.cli.event_lines import Attributes, EventLine, HeardEvent, in_reading_order, line_of, route_of
from tramapy.cli.trace.operations import TracedOperation
from tramapy.cli.trace.totals import OperationTotals
from tramapy.hooks import catalogue

__all__ = ["as_json", "plain_timeline", "timeline"]

_BAR_WIDTH: Final = 24
_BAR_MIN_COLUMNS: Final = 120
_MISSING_STYLE: Final = "bold yellow"


def timeline(operation: TracedOperation, console: Console) -> Group:
    """Show an operation, one line an event: when it came, what it was, and where in the operation an attempt lay."""
    has_bars = console.width >= _BAR_MIN_COLUMNS
    table = Table.grid(padding=(0, 1), expand=has_bars)
    table.add_column(style="dim", justify="right", no_wrap=True, overflow="crop")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1 if has_bars else None)
    if has_bars:
        table.add_column(no_wrap=True, width=_BAR_WIDTH)
    bars = _Bars(operation)
    for at_s, line, bar in _lines(operation, bars):
        cells = [Text(_when(operation, at_s)), Text(line.mark, line.style), Text(line.text, line.style)]
        table.add_row(*cells, *([Text(bar, line.style)] if has_bars else []))
    return Group(table, Text())


def plain_timeline(operation: TracedOperation) -> Text:
    """Show an operation for a pipe: a line an event, however long, with nothing behind its last word."""
    shown = [(_when(operation, at_s), line) for at_s, line, _ in _lines(operation, _Bars(operation))]
    when_width = max(len(when) for when, _ in shown)
    mark_width = max(len(line.mark) for _, line in shown)
    text = Text()
    for when, line in shown:
        text.append(f"{when:>{when_width}} ", "dim")
        text.append(f"{line.mark:<{mark_width}} {line.text}".rstrip(), line.style)
        text.append("\n")
    return text


def as_json(operation: TracedOperation) -> str:
    """Return an operation as one line of JSON in ASCII."""
    started: Attributes = {} if operation.started is None else operation.started.attributes
    completed: Attributes = {} if operation.completed is None else operation.completed.attributes
    return json.dumps(
        {
            "correlation_id": operation.correlation_id,
            **{
                key: started.get(key)
                for key in ("service_interface", "method_name", "requested_model", "is_stream")
            },
            "started_at_s": operation.started_at_s,
            "outcome": operation.outcome,
            **{key: completed.get(key) for key in ("failure_kind", "error_type", "duration_millis")},
            **dataclasses.asdict(OperationTotals.of(operation)),
            "lost_event_count": operation.lost_event_count,
            "events": [
                {"at_s": event.at_s, "name": event.name, "attributes": dict(event.attributes)}
                for event in operation.events
            ],
        }
    )


def _when(operation: TracedOperation, at_s: float | None) -> str:
    return "" if at_s is None else f"{max(0.0, at_s - operation.started_at_s):8.3f} s"


def _lines(operation: TracedOperation, bars: _Bars) -> Iterator[tuple[float | None, EventLine, str]]:
    if operation.started is None:
        text = f"{operation.correlation_id}: its beginning is missing"
        yield None, EventLine("┌", text, _MISSING_STYLE), ""
    for event in in_reading_order(operation.events):
        if event.name == catalogue.ROUTE_SELECTED.name:
            if event.attributes.get("is_fallback") is True:
                yield event.at_s, _fallback(event.attributes), ""
            continue
        if event is operation.completed:
            yield from _lost(operation)
        line = line_of(event)
        details = _DETAILS.get(event.name, _nothing)(event.attributes)
        if event is operation.started:
            details = f"{details}, {_moment(event.at_s)}"
        elif event is operation.completed:
            details += _tokens_of(OperationTotals.of(operation))
        yield event.at_s, EventLine(line.mark, line.text + details, line.style), bars.bar(event)
    if operation.completed is None:
        yield from _lost(operation)
        yield None, EventLine("└", "its end is missing", _MISSING_STYLE), ""


def _lost(operation: TracedOperation) -> Iterator[tuple[float | None, EventLine, str]]:
    if operation.lost_event_count:
        text = f"{operation.lost_event_count:,} more events are left out"
        yield None, EventLine("│ ·", text, _MISSING_STYLE), ""


class _Bars:
    """Where in its operation each attempt lay, drawn beside its last event."""

    def __init__(self, operation: TracedOperation) -> None:
        times = [event.at_s for event in operation.events]
        self._start_s = min(times)
        self._length_s = max(times) - self._start_s
        self._starts = {
            event.attributes["attempt"]: event.at_s
            for event in operation.events
            if event.name == catalogue.ATTEMPT_STARTED.name
        }

    def bar(self, event: HeardEvent) -> str:
        start_s = self._starts.get(event.attributes.get("attempt", -1))
        if event.name not in _ENDS or start_s is None or not self._length_s:
            return ""
        first, last = self._column(start_s), self._column(event.at_s)
        return " " * first + "━" * max(1, last - first)

    def _column(self, at_s: float) -> int:
        return min(_BAR_WIDTH - 1, int((at_s - self._start_s) / self._length_s * _BAR_WIDTH))


_ENDS: Final = frozenset(
    {
        catalogue.ATTEMPT_COMPLETED.name,
        catalogue.ATTEMPT_FAILED.name,
        catalogue.ATTEMPT_CANCELLED.name,
    }
)


def _fallback(attributes: Attributes) -> EventLine:
    return EventLine("│ ↳", f"falls back to {route_of(attributes)}", "yellow")


def _nothing(_: Attributes) -> str:
    return ""


def _operation_started(attributes: Attributes) -> str:
    streamed = ", streamed" if attributes["is_stream"] else ""
    return f" in {attributes['service_interface']}.{attributes['method_name']}{streamed}"


def _duration(attributes: Attributes) -> str:
    return f", {attributes['duration_millis']:,} ms"


def _attempt_completed(attributes: Attributes) -> str:
    return "".join(
        (
            _duration(attributes),
            _first_chunk(attributes),
            _dlp(attributes),
            _tokens(attributes.get("input_tokens"), attributes.get("output_tokens")),
            _told(attributes, "tool_call_count", "{} tool calls"),
            "" if attributes["finish_reason"] == "stop" else f", finish reason {attributes['finish_reason']}",
        )
    )


def _attempt_failed(attributes: Attributes) -> str:
    code = _told(attributes, "failure_code", "{}")
    times = f"{_duration(attributes)}{_first_chunk(attributes)}{_dlp(attributes)}"
    return f"{times}, {attributes['error_type']}{code}"


def _attempt_cancelled(attributes: Attributes) -> str:
    return f"{_duration(attributes)}{_first_chunk(attributes)}"


def _first_chunk(attributes: Attributes) -> str:
    return _told(attributes, "first_chunk_millis", "first chunk after {:,} ms")


def _dlp(attributes: Attributes) -> str:
    return _told(attributes, "dlp_micros", "DLP {:,} µs")


def _told(attributes: Attributes, key: str, words: str) -> str:
    value = attributes.get(key)
    return "" if value is None else f", {words.format(value)}"


def _tokens_of(totals: OperationTotals) -> str:
    return _tokens(totals.input_tokens, totals.output_tokens)


def _tokens(input_tokens: object, output_tokens: object) -> str:
    if not isinstance(input_tokens, int) or not isinstance(output_tokens, int):
        return ""
    return f", {input_tokens:,} + {output_tokens:,} tokens"


def _moment(at_s: float) -> str:
    moment = datetime.datetime.fromtimestamp(at_s, datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


_DETAILS: Final[Mapping[str, Callable[[Attributes], str]]] = {
    catalogue.OPERATION_STARTED.name: _operation_started,
    catalogue.OPERATION_COMPLETED.name: _duration,
    catalogue.ATTEMPT_COMPLETED.name: _attempt_completed,
    catalogue.ATTEMPT_FAILED.name: _attempt_failed,
    catalogue.ATTEMPT_CANCELLED.name: _attempt_cancelled,
}
