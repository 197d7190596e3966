"""An OpenTelemetry SDK whose spans and metrics stay in memory, and the observer that feeds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, MetricsData
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind

from tramapy.telemetry import OpenTelemetryEventObserver


class Telemetry:
    """The observer under test, and what came out of it; `settings` are its own.

    `tracer_provider` makes spans beside the observer's.
    """

    def __init__(self, *, sampler: Sampler = ALWAYS_ON, **settings: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(sampler=sampler)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider(metric_readers=[self._reader])
        self.observer = OpenTelemetryEventObserver(
            tracer_provider=self.tracer_provider, meter_provider=self.meter_provider, **settings
        )

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """Every span that ended, in the order of their ends."""
        return self._exporter.get_finished_spans()

    @property
    def operations(self) -> list[ReadableSpan]:
        """The spans of operations."""
        return [span for span in self.spans if span.name.startswith("tramapy ")]

    @property
    def attempts(self) -> list[ReadableSpan]:
        """The spans of attempts."""
        return [span for span in self.spans if span.kind is SpanKind.CLIENT]

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """Collect, and return a metric's value for each set of tags; of a histogram its count and sum."""
        return {
            tuple(sorted((point.attributes or {}).items())): (point.count, point.sum)
            if isinstance(point, HistogramDataPoint)
            else point.value
            for metric, point in self._points()
            if metric == name
        }

    def series_counts(self) -> dict[str, int]:
        """Collect, and return how many series each metric has."""
        counts: dict[str, int] = {}
        for name, _ in self._points():
            counts[name] = counts.get(name, 0) + 1
        return counts

    def everything(self) -> list[object]:
        """Return all that left: spans as JSON, and metrics as JSON."""
        data = self._reader.get_metrics_data()
        return [*(span.to_json() for span in self.spans), "" if data is None else data.to_json()]

    def metrics_data(self) -> MetricsData | None:
        """Collect, and return what an exporter gets."""
        return self._reader.get_metrics_data()

    def _points(self) -> Iterator[tuple[str, Any]]:
        data = self._reader.get_metrics_data()
        if data is None:
            return
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        yield metric.name, point


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def event_names(span: ReadableSpan) -> list[str]:
    return [event.name.removeprefix("tramai.") for event in span.events]


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    return (
        span.parent is not None
        and parent.context is not None
        and span.parent.span_id == parent.context.span_id
        and span.parent.trace_id == parent.context.trace_id
    )
