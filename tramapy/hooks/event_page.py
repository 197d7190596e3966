"""The catalogue as Markdown, always the same for the same catalogue; `docs/events.md` holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tramapy.hooks.event_model import (
    RuntimeAttributeKey,
    RuntimeEventCatalogue,
    RuntimeEventDefinition,
    RuntimeMetric,
)

__all__ = ["TRAMAI_KEYS", "KeyMapping", "render_event_page"]

_NONE: Final = "—"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMapping:
    """An attribute key of TramAI's, and the one that says the same here."""

    tramai_key: str
    key: str
    note: str = ""


TRAMAI_KEYS: Final = (
    KeyMapping(tramai_key="providerId", key="provider_id", note="`dlp.inspection_failed`"),
    KeyMapping(tramai_key="correlationId", key="correlation_id", note="here on every event"),
    KeyMapping(tramai_key="toolName", key="tool_name"),
    KeyMapping(tramai_key="reasonCode", key="reason_code"),
    KeyMapping(tramai_key="aggregateTextLength", key="aggregate_text_length"),
    KeyMapping(tramai_key="configuredLimit", key="configured_limit"),
    KeyMapping(tramai_key="failure_type", key="error_type", note="`streaming.startup_retry`"),
    KeyMapping(tramai_key="provider_id", key="provider_id", note="the same"),
    KeyMapping(tramai_key="effective_model", key="effective_model", note="the same"),
    KeyMapping(tramai_key="route_index", key="route_index", note="the same"),
    KeyMapping(tramai_key="is_fallback", key="is_fallback", note="the same"),
    KeyMapping(tramai_key="retry_index", key="retry_index", note="the same"),
    KeyMapping(tramai_key="delay_millis", key="delay_millis", note="the same"),
    KeyMapping(tramai_key="delay_source", key="delay_source", note="the same"),
    KeyMapping(tramai_key="limit_tokens", key="limit_tokens", note="the same"),
    KeyMapping(tramai_key="observed_tokens", key="observed_tokens", note="the same"),
    KeyMapping(tramai_key="scope", key="scope", note="the same"),
)
"""Every attribute key of TramAI's engine events. The names of the events are the same in both."""


def render_event_page(catalogue: RuntimeEventCatalogue) -> str:
    """Render events, attributes, metrics and the keys of TramAI's as Markdown that ends in a newline."""
    sections = (
        ("Events", _table(_EVENT_HEAD, map(_event_row, catalogue.definitions))),
        ("What the events are for", _table(_USE_HEAD, map(_use_row, catalogue.definitions))),
        ("Attributes", _table(_KEY_HEAD, map(_key_row, _sorted_keys(catalogue)))),
        ("Metrics", _table(_METRIC_HEAD, map(_metric_row, catalogue.metrics))),
        ("Keys in TramAI", _table(_MAPPING_HEAD, map(_mapping_row, TRAMAI_KEYS))),
    )
    return "\n".join(f"## {title}\n\n{table}" for title, table in sections)


_EVENT_HEAD = ("Event", "Says", "Required attributes", "Optional attributes")
_USE_HEAD = ("Event", "Domain", "Sensitivity", "Audit", "Evidence", "Span", "Metric", "A failing observer")
_KEY_HEAD = ("Attribute", "Type", "Sensitivity", "Cardinality", "Says")
_METRIC_HEAD = ("Metric", "Instrument", "Type", "Unit", "Says")
_MAPPING_HEAD = ("In TramAI", "Here", "Where")


def _event_row(event: RuntimeEventDefinition) -> Sequence[str]:
    names = event.allowed_names
    return (
        _code(event.name),
        event.description,
        _codes(name for name in names if name in event.required),
        _codes(name for name in names if name not in event.required),
    )


def _use_row(event: RuntimeEventDefinition) -> Sequence[str]:
    return (
        _code(event.name),
        event.domain.value,
        event.sensitivity.value,
        _yes(event.is_audit_eligible),
        _yes(event.is_evidence_eligible),
        _yes(event.is_span_eligible),
        _NONE if event.metric_name is None else _code(event.metric_name),
        event.failure_policy.value.replace("_", " "),
    )


def _sorted_keys(catalogue: RuntimeEventCatalogue) -> list[RuntimeAttributeKey]:
    return sorted(catalogue.keys.values(), key=lambda key: key.name)


def _key_row(key: RuntimeAttributeKey) -> Sequence[str]:
    return (
        _code(key.name),
        _code(key.value_type.__name__),
        key.sensitivity.value,
        key.cardinality.value,
        key.description,
    )


def _metric_row(metric: RuntimeMetric) -> Sequence[str]:
    return (
        _code(metric.name),
        metric.instrument.value,
        _code(metric.value_type.__name__),
        _code(metric.unit),
        metric.description,
    )


def _mapping_row(mapping: KeyMapping) -> Sequence[str]:
    return (_code(mapping.tramai_key), _code(mapping.key), mapping.note or _NONE)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names)) or _NONE


def _code(text: str) -> str:
    return f"`{text}`"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
