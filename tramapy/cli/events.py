"""`tramapy events`: the catalogue as tables, JSON or Markdown."""

from __future__ import annotations

import enum
import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tramapy.hooks.catalogue import CATALOGUE
from tramapy.hooks.event_model import RuntimeAttributeKey, RuntimeEventDefinition, RuntimeMetric
from tramapy.hooks.event_page import TRAMAI_KEYS, render_event_page

__all__ = ["EventsFormat", "show_events"]


class EventsFormat(enum.StrEnum):
    """What every command knows, and the page of the documentation."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def show_events(format_: EventsFormat, console: Console) -> None:
    """Print the catalogue."""
    if format_ is EventsFormat.TEXT:
        console.print(_events_table())
        console.print(_attributes_table())
        return
    text = _as_json() if format_ is EventsFormat.JSON else render_event_page(CATALOGUE)
    # as it is, however narrow the terminal: both are read by programs
    console.print(Text(text), soft_wrap=True, end="")


def _events_table() -> Table:
    table = Table(
        title="Engine events (an asterisk marks a required attribute)", show_lines=True, title_justify="left"
    )
    table.add_column("Event", style="cyan", no_wrap=True)
    table.add_column("Says")
    table.add_column("Attributes", overflow="fold")
    for event in CATALOGUE:
        table.add_row(Text(event.name), Text(event.description), _attribute_names(event))
    return table


def _attribute_names(event: RuntimeEventDefinition) -> Text:
    names = [f"{name}*" if name in event.required else name for name in event.allowed_names]
    return Text(", ".join(names))


def _attributes_table() -> Table:
    table = Table(title="Attributes", title_justify="left")
    table.add_column("Attribute", style="cyan", no_wrap=True)
    table.add_column("Type")
    table.add_column("Cardinality")
    table.add_column("Says")
    for name in sorted(CATALOGUE.keys):
        key = CATALOGUE.keys[name]
        table.add_row(name, key.value_type.__name__, key.cardinality.value, Text(key.description))
    return table


def _as_json() -> str:
    catalogue = {
        "events": [_event(event) for event in CATALOGUE],
        "attributes": [_attribute(CATALOGUE.keys[name]) for name in sorted(CATALOGUE.keys)],
        "metrics": [_metric(metric) for metric in CATALOGUE.metrics],
        "tramai_keys": [{"tramai_key": known.tramai_key, "key": known.key} for known in TRAMAI_KEYS],
    }
    return json.dumps(catalogue, indent=2, ensure_ascii=False) + "\n"


def _event(event: RuntimeEventDefinition) -> dict[str, object]:
    return {
        "name": event.name,
        "domain": event.domain.value,
        "description": event.description,
        "required": [name for name in event.allowed_names if name in event.required],
        "optional": [name for name in event.allowed_names if name not in event.required],
        "sensitivity": event.sensitivity.value,
        "is_audit_eligible": event.is_audit_eligible,
        "is_evidence_eligible": event.is_evidence_eligible,
        "is_span_eligible": event.is_span_eligible,
        "metric_name": event.metric_name,
        "failure_policy": event.failure_policy.value,
    }


def _attribute(key: RuntimeAttributeKey) -> dict[str, object]:
    return {
        "name": key.name,
        "type": key.value_type.__name__,
        "sensitivity": key.sensitivity.value,
        "cardinality": key.cardinality.value,
        "description": key.description,
    }


def _metric(metric: RuntimeMetric) -> dict[str, object]:
    return {
        "name": metric.name,
        "instrument": metric.instrument.value,
        "type": metric.value_type.__name__,
        "unit": metric.unit,
        "description": metric.description,
    }
