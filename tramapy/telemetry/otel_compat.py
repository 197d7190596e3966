"""The original's metrics, beside ours: for dashboards that were made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tramapy.hooks import catalogue
from tramapy.telemetry.otel_series import BufferedHistogram, CountTable, PendingMeasurements, TagSets

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import SpanContext

    from tramapy.hooks.event_model import RuntimeEvent, RuntimeMetric
    from tramapy.telemetry.otel_outcome import Outcome
    from tramapy.telemetry.otel_state import OpenAttempt, OpenOperation

__all__ = ["CompatMetrics"]

_BASE: Final = catalogue.COMPAT_BASE_TAGS
_ENDED: Final = (*_BASE, catalogue.COMPAT_OUTCOME_TAG)


class CompatMetrics:
    """Counts and measures under the names of TramAI."""

    def __init__(self, meter: Meter, series_limit: int, pending: PendingMeasurements) -> None:
        self._meter = meter
        self._pending = pending
        self._limit = series_limit
        self._attempts = self._counter(catalogue.COMPAT_ATTEMPTS, _ENDED)
        self._tokens = {
            "input_tokens": self._counter(catalogue.COMPAT_INPUT_TOKENS, _BASE),
            "output_tokens": self._counter(catalogue.COMPAT_OUTPUT_TOKENS, _BASE),
        }
        self._tokens_per_attempt = {
            "input_tokens": self._histogram(catalogue.COMPAT_INPUT_TOKENS_PER_ATTEMPT, _BASE),
            "output_tokens": self._histogram(catalogue.COMPAT_OUTPUT_TOKENS_PER_ATTEMPT, _BASE),
        }
        self._duration = self._histogram(catalogue.COMPAT_DURATION, _ENDED)
        self._events = self._counter(catalogue.ENGINE_EVENTS_METRIC, (catalogue.COMPAT_EVENT_TAG,))
        self._rejected = self._counter(catalogue.TOOL_RESULT_REJECTED_METRIC, ("tramapy.reason_code",))

    def count(self, event: RuntimeEvent) -> None:
        """Count an event in the metric that its definition names."""
        if event.definition.metric_name == catalogue.TOOL_RESULT_REJECTED_METRIC.name:
            self._rejected.of(str(event.attribute("reason_code"))).add(1)
        self._events.of(event.definition.name).add(1)

    def end_attempt(
        self,
        attempt: OpenAttempt,
        operation: OpenOperation,
        event: RuntimeEvent,
        outcome: Outcome,
        span: SpanContext,
    ) -> None:
        """Measure an attempt by its last event."""
        base = (attempt.provider_id, operation.service_interface, operation.method_name)
        self._attempts.of(*base, outcome.name).add(1)
        own = event.attributes()
        self._duration.record(float(own["duration_millis"]), (*base, outcome.name), span)
        for key, counter in self._tokens.items():
            if key in own:
                counter.of(*base).add(int(own[key]))
                self._tokens_per_attempt[key].record(int(own[key]), base, span)

    def _counter(self, metric: RuntimeMetric, tags: tuple[str, ...]) -> CountTable:
        table = CountTable(tags, self._limit)
        self._meter.create_observable_counter(
            metric.name, [table.observe], unit=metric.unit, description=metric.description
        )
        return table

    def _histogram(self, metric: RuntimeMetric, tags: tuple[str, ...]) -> BufferedHistogram:
        made = self._meter.create_histogram(metric.name, unit=metric.unit, description=metric.description)
        return BufferedHistogram(made, TagSets(tags, self._limit), self._pending)
