"""The metrics of `OpenTelemetryEventObserver`: four histograms, and counters that collections ask for."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tramapy.forks import renew_after_fork
from tramapy.hooks import catalogue
from tramapy.telemetry import metric_names as names
from tramapy.telemetry.otel_compat import CompatMetrics
from tramapy.telemetry.otel_import import metrics
from tramapy.telemetry.otel_outcome import OTHER
from tramapy.telemetry.otel_series import (
    ChunkTimes,
    Count,
    CountTable,
    Measurement,
    PendingMeasurements,
    Tags,
    TagSets,
    shown_tag,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

    from tramapy.hooks.event_model import RuntimeEvent
    from tramapy.telemetry.metric_names import TelemetryMetric
    from tramapy.telemetry.otel_outcome import Outcome
    from tramapy.telemetry.otel_state import OpenAttempt, OpenOperation

__all__ = ["CIRCUIT_STATES", "ObserverMetrics"]

CIRCUIT_STATES: Final = ("closed", "half_open", "open")

_STATE_AFTER: Final = {
    catalogue.CIRCUIT_OPENED.name: "open",
    catalogue.CIRCUIT_HALF_OPENED.name: "half_open",
    catalogue.CIRCUIT_CLOSED.name: "closed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _AttemptSeries:
    """Where attempts of one provider, model and outcome are counted and measured."""

    attempts: Count
    duration: Tags
    first_chunk: Tags
    dlp: Tags
    input_tokens: Tags
    output_tokens: Tags


class ObserverMetrics:
    """Everything that is counted and measured.

    Attributes:
        takers: What counts an event, by the event's name.
        take_any: What counts every event, whatever its name.

    Args:
        meter: Where the instruments are made.
        known_models: The models that a tag may name; any other is `_OTHER`.
        series_limit: How many series each metric may have, beside one for all that come later.
        counts_usage: Whether tokens are measured.
        is_compatible: Whether the original's metrics are fed, too.
        before_collection: Called by each collection, before it reads.
        queued_spans: Tells how many spans wait for their exporters, where that is known.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        known_models: frozenset[str],
        series_limit: int,
        counts_usage: bool,
        is_compatible: bool,
        before_collection: Callable[[], None],
        queued_spans: Callable[[], int | None],
    ) -> None:
        self._meter = meter
        self._limit = series_limit
        self._known_models = known_models
        self._counts_usage = counts_usage
        self._before_collection = before_collection
        self._pending = PendingMeasurements()
        self._queued_spans = queued_spans
        self._chunk_times = ChunkTimes()
        # before all others: what they ask for empties the queue
        self._gauge(names.EXPORT_QUEUE, self._observe_queues)
        self._attempt_duration = self._histogram(names.ATTEMPT_DURATION)
        self._token_usage = self._histogram(names.TOKEN_USAGE)
        self._first_chunk = self._histogram(names.TIME_TO_FIRST_CHUNK)
        self._time_per_chunk = self._histogram(names.TIME_PER_CHUNK)
        self._dlp_duration = self._histogram(names.DLP_DURATION)
        self._dlp_tags = TagSets(names.DLP_DURATION.tags, series_limit)
        self._operation_duration = self._histogram(names.OPERATION_DURATION)
        self._duration_tags = TagSets(names.ATTEMPT_DURATION.tags, series_limit)
        self._token_tags = TagSets(names.TOKEN_USAGE.tags, series_limit)
        self._first_chunk_tags = TagSets(names.TIME_TO_FIRST_CHUNK.tags, series_limit)
        self._operation_tags = TagSets(names.OPERATION_DURATION.tags, series_limit)
        self._series: dict[tuple[str | None, ...], _AttemptSeries] = {}
        self._attempts = self._counter(names.ATTEMPTS)
        self._retries = self._counter(names.RETRIES)
        self._fallbacks = self._counter(names.FALLBACKS)
        self._transitions = self._counter(names.CIRCUIT_TRANSITIONS)
        self._circuit_rejected = self._counter(names.CIRCUIT_REJECTED)
        self._redactions = self._counter(names.DLP_REDACTIONS)
        self._rejections = self._counter(names.DLP_REJECTIONS)
        self._dropped = self._counter(names.EVENTS_DROPPED)
        self._circuits: dict[str, str] = {}
        self._renew()
        renew_after_fork(self, type(self)._renew)
        self._gauge(names.CIRCUIT_STATE, self._observe_circuits)
        self._compat = CompatMetrics(meter, series_limit, self._pending) if is_compatible else None
        self.takers: dict[str, Callable[[RuntimeEvent], None]] = {
            catalogue.ROUTE_SELECTED.name: self._take_fallback,
            catalogue.RETRY_SCHEDULED.name: self._take_retry,
            catalogue.CIRCUIT_REJECTED.name: self._take_circuit_rejection,
            catalogue.DLP_REDACTED.name: self._take_redaction,
            catalogue.DLP_INSPECTION_FAILED.name: self._take_rejection,
            catalogue.DLP_TOOL_RESULT_REJECTED.name: self._take_rejection,
            **dict.fromkeys(_STATE_AFTER, self._take_transition),
        }
        self.take_any: Callable[[RuntimeEvent], None] | None = (
            None if self._compat is None else self._compat.count
        )

    def _renew(self) -> None:
        """Take a new lock, in a forked child; breakers are there as they were in its parent."""
        self._circuits_lock = threading.RLock()  # a dropped stream's finalizer may come in between

    def count_dropped(self, reason: str, amount: int = 1) -> None:
        """Count what is on no span."""
        self._dropped.of(reason).add(amount)

    def take_primary_route(self, event: RuntimeEvent) -> None:
        """Note the provider, whose breaker is closed until it is told otherwise."""
        provider_id = event.attribute("provider_id")
        if provider_id not in self._circuits:
            self._set_circuit(str(provider_id), None)

    def end_attempt(
        self, attempt: OpenAttempt, operation: OpenOperation, event: RuntimeEvent, outcome: Outcome
    ) -> None:
        """Measure an attempt by its last event."""
        series = self._series_of(attempt, event.attribute("response_model"), outcome)
        span = attempt.span.get_span_context()
        series.attempts.add(1)
        self._pending.add(self._attempt_measurements, series, event, span)
        if attempt.chunk_gaps_s is not None:
            self._pending.add(self._chunk_measurements, series, attempt.chunk_gaps_s, span)
        if self._compat is not None:
            self._compat.end_attempt(attempt, operation, event, outcome, span)

    def take_chunk(self, attempt: OpenAttempt, gap_s: float) -> None:
        """Keep the time of a piece; past a limit of all that are kept, it is dropped and counted."""
        gaps_s = attempt.chunk_gaps_s
        if gaps_s is None:
            attempt.chunk_gaps_s = gaps_s = array("d")
        if self._chunk_times.reserve():
            gaps_s.append(gap_s)
        else:
            self.count_dropped("chunk_times")

    def forget_chunks(self, attempt: OpenAttempt) -> None:
        """Give back the room of an attempt whose end was not heard."""
        if attempt.chunk_gaps_s is not None:
            self._chunk_times.release(len(attempt.chunk_gaps_s))

    def end_operation(self, operation: OpenOperation, event: RuntimeEvent, outcome: Outcome) -> None:
        """Measure an operation by its last event."""
        values = (operation.service_interface, operation.method_name, outcome.name, outcome.error_type)
        tags = self._operation_tags.of(values)
        self._pending.add(self._operation_measurements, tags, event, operation.span.get_span_context())

    def _attempt_measurements(self, series: _AttemptSeries, event: RuntimeEvent) -> Iterator[Measurement]:
        own = event.attributes()
        yield self._attempt_duration, int(own["duration_millis"]) / 1000, series.duration
        if "first_chunk_millis" in own:
            yield self._first_chunk, int(own["first_chunk_millis"]) / 1000, series.first_chunk
        if "dlp_micros" in own:
            yield self._dlp_duration, int(own["dlp_micros"]) / 1e6, series.dlp
        if self._counts_usage:
            if "input_tokens" in own:
                yield self._token_usage, int(own["input_tokens"]), series.input_tokens
            if "output_tokens" in own:
                yield self._token_usage, int(own["output_tokens"]), series.output_tokens

    def _chunk_measurements(self, series: _AttemptSeries, gaps_s: array[float]) -> Iterator[Measurement]:
        self._chunk_times.release(len(gaps_s))
        for gap_s in gaps_s:
            # a clock that is set back measures nothing
            yield self._time_per_chunk, max(gap_s, 0.0), series.first_chunk

    def _operation_measurements(self, tags: Tags, event: RuntimeEvent) -> tuple[Measurement]:
        return ((self._operation_duration, int(event.attributes()["duration_millis"]) / 1000, tags),)

    def _series_of(self, attempt: OpenAttempt, response_model: object, outcome: Outcome) -> _AttemptSeries:
        """Return the series that attempts of one kind feed: found at once where there was one before."""
        known = self._known
        model = known(attempt.model)
        answered = None if response_model is None else known(str(response_model))
        key = (attempt.provider_id, attempt.operation_name, model, answered, outcome.name, outcome.error_type)
        series = self._series.get(key)
        if series is not None:
            return series
        who = (attempt.operation_name, attempt.provider_name, model, answered)
        series = _AttemptSeries(
            attempts=self._attempts.of(attempt.provider_id, outcome.name),
            duration=self._duration_tags.of((*who, outcome.error_type, outcome.name)),
            first_chunk=self._first_chunk_tags.of(who),
            dlp=self._dlp_tags.of((attempt.provider_id,)),
            input_tokens=self._token_tags.of((*who, "input")),
            output_tokens=self._token_tags.of((*who, "output")),
        )
        if len(self._series) < self._limit:
            self._series[key] = series
        return series

    def _known(self, model: str) -> str:
        return model if model in self._known_models else OTHER

    def _histogram(self, metric: TelemetryMetric) -> Histogram:
        return self._meter.create_histogram(
            metric.name,
            unit=metric.unit,
            description=metric.description,
            explicit_bucket_boundaries_advisory=metric.buckets,
        )

    def _gauge(
        self, metric: TelemetryMetric, observe: Callable[[CallbackOptions], Iterable[Observation]]
    ) -> None:
        self._meter.create_observable_gauge(
            metric.name, [observe], unit=metric.unit, description=metric.description
        )

    def _counter(self, metric: TelemetryMetric) -> CountTable:
        table = CountTable(metric.tags, self._limit)

        def observe(options: CallbackOptions) -> Iterable[Observation]:
            self._before_collection()
            self._pending.record_all()
            return table.observe(options)

        self._meter.create_observable_counter(
            metric.name, [observe], unit=metric.unit, description=metric.description
        )
        return table

    def _observe_queues(self, _: CallbackOptions) -> Iterable[Observation]:
        (tag,) = names.EXPORT_QUEUE.tags
        counts = {"values": len(self._pending), "spans": self._queued_spans()}
        return [
            metrics.Observation(count, {tag: name}) for name, count in counts.items() if count is not None
        ]

    def _observe_circuits(self, _: CallbackOptions) -> Iterable[Observation]:
        provider_tag, state_tag = names.CIRCUIT_STATE.tags
        with self._circuits_lock:
            circuits = list(self._circuits.items())
        return [
            metrics.Observation(int(state == current), {provider_tag: provider_id, state_tag: state})
            for provider_id, current in circuits
            for state in CIRCUIT_STATES
        ]

    def _take_fallback(self, event: RuntimeEvent) -> None:
        self.take_primary_route(event)
        self._fallbacks.of(*_texts(event, "provider_id")).add(1)

    def _take_retry(self, event: RuntimeEvent) -> None:
        self._retries.of(*_texts(event, "provider_id", "delay_source")).add(1)

    def _take_circuit_rejection(self, event: RuntimeEvent) -> None:
        self._circuit_rejected.of(*_texts(event, "provider_id")).add(1)

    def _take_transition(self, event: RuntimeEvent) -> None:
        provider_id, state = str(event.attribute("provider_id")), _STATE_AFTER[event.definition.name]
        self._transitions.of(provider_id, state).add(1)
        self._set_circuit(provider_id, state)

    def _set_circuit(self, provider_id: str, state: str | None) -> None:
        """Note the state of a provider's breaker; without one it is as it was, or closed."""
        shown = shown_tag(provider_id)
        with self._circuits_lock:
            if shown in self._circuits or len(self._circuits) * len(CIRCUIT_STATES) < self._limit:
                self._circuits[shown] = state or self._circuits.get(shown, "closed")

    def _take_redaction(self, event: RuntimeEvent) -> None:
        values = _texts(event, "rule_id", "content_type", "content_location")
        self._redactions.of(*values).add(int(event.attributes()["replacement_count"]))

    def _take_rejection(self, event: RuntimeEvent) -> None:
        self._rejections.of(*_texts(event, "reason_code", "content_type", "content_location")).add(1)


def _texts(event: RuntimeEvent, *keys: str) -> tuple[str | None, ...]:
    return tuple(None if (value := event.attribute(key)) is None else str(value) for key in keys)
