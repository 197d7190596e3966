"""`OpenTelemetryEventObserver`: each operation and attempt as a span, and the engine's events as metrics."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.engine.arguments import checked_flag
from tramapy.errors import ConfigurationError
from tramapy.forks import renew_after_fork
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver
from tramapy.keywords import explains_names
from tramapy.messages import ModelRequest, ModelResponse
from tramapy.telemetry import otel_outcome, otel_spans
from tramapy.telemetry.genai_names import SCHEMA_URL
from tramapy.telemetry.otel_arguments import check_names, check_provider, model_names
from tramapy.telemetry.otel_content import captures_content, request_attributes, response_attributes
from tramapy.telemetry.otel_import import context as otel_context
from tramapy.telemetry.otel_import import metrics, trace
from tramapy.telemetry.otel_metrics import ObserverMetrics
from tramapy.telemetry.otel_outcome import Outcome
from tramapy.telemetry.otel_processors import drops_children, has_synchronous_export, queued_span_count
from tramapy.telemetry.otel_state import OpenAttempt, OpenOperation, OperationTable
from tramapy.values import class_label, described

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, SpanContext, TracerProvider

__all__ = ["OpenTelemetryEventObserver", "TelemetryLimits"]

_logger = logging.getLogger("tramapy.telemetry")

_SCOPE: Final = "tramapy"
_STARTED: Final = catalogue.OPERATION_STARTED.name
_COMPLETED: Final = catalogue.OPERATION_COMPLETED.name
_ROUTE_SELECTED: Final = catalogue.ROUTE_SELECTED.name
_ATTEMPT_STARTED: Final = catalogue.ATTEMPT_STARTED.name
_ATTEMPT_CANCELLED: Final = catalogue.ATTEMPT_CANCELLED.name
_FAILURES_PER_WARNING: Final = 1_000


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryLimits:
    """What bounds the observer's memory and what it writes.

    Args:
        open_operation_count: How many operations may be open; one more, and the oldest span is ended.
        series_count: How many series each metric may have, beside one for all that come later.
        content_length: How many characters of a request or an answer are shown, where content is captured.

    Raises:
        ConfigurationError: One is below 1.
    """

    open_operation_count: int = 10_000
    series_count: int = 1_000
    content_length: int = 8_192

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value: object = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigurationError(f"TelemetryLimits.{name} takes an int of at least 1")


class OpenTelemetryEventObserver(EngineEventObserver, AttemptContentObserver):
    """Hears engine events and tells OpenTelemetry: spans, span events and metrics.

    One is enough for a process; it may hear many pipelines, from any thread.

    Args:
        tracer_provider: Where spans go; by default the global provider.
        meter_provider: Where metrics go; by default the global provider.
        known_models: The models that a metric may name; any other is `_OTHER`.
        provider_names: Provider ids, and what the conventions call their vendors; by default the id itself.
        cancelled_is_error: Whether the caller's own cancellation sets the status ERROR.
        compat_metrics: Whether the original's metrics are fed, too.
        counts_usage: False where an instrumentation of the SDK beneath counts tokens, so that none counts twice.
        measures_chunks: Whether the time from each piece of a stream to the next is measured.
        limits: What bounds memory and attributes.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        known_models: Iterable[str] = (),
        provider_names: Mapping[str, str] | None = None,
        cancelled_is_error: bool = False,
        compat_metrics: bool = False,
        counts_usage: bool = True,
        measures_chunks: bool = False,
        limits: TelemetryLimits | None = None,
    ) -> None:
        check_provider("tracer_provider", tracer_provider, "get_tracer")
        check_provider("meter_provider", meter_provider, "get_meter")
        models = model_names(known_models)
        check_names(provider_names)
        for name, switch in (
            ("cancelled_is_error", cancelled_is_error),
            ("compat_metrics", compat_metrics),
            ("counts_usage", counts_usage),
            ("measures_chunks", measures_chunks),
        ):
            checked_flag(name, switch)
        if limits is not None and not isinstance(limits, TelemetryLimits):
            raise ConfigurationError(f"limits is {described(limits)}; give TelemetryLimits(...)")
        self._limits = TelemetryLimits() if limits is None else limits
        self._tracer_provider = tracer_provider
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider, schema_url=SCHEMA_URL)
        self._metrics = ObserverMetrics(
            metrics.get_meter(_SCOPE, meter_provider=meter_provider, schema_url=SCHEMA_URL),
            known_models=models,
            series_limit=self._limits.series_count,
            counts_usage=counts_usage,
            is_compatible=compat_metrics,
            before_collection=self.settle,
            queued_spans=self._queued_spans,
        )
        self.hears_chunks: bool = measures_chunks
        self._takers, self._take_any = self._metrics.takers, self._metrics.take_any
        self._provider_names = dict(provider_names or {})
        self._cancelled_is_error = cancelled_is_error
        self._counts_usage = counts_usage
        self._captures_content = captures_content()
        self._operations = OperationTable(self._limits.open_operation_count)
        # bounded by the operations that are open: each has two late events at most
        self._late: deque[_Late] = deque()
        self._renew()
        renew_after_fork(self, type(self)._renew)
        self._failure_count = 0
        self._is_checked = False
        self._drops_attempts = False
        self._endings: dict[str, Callable[[RuntimeEvent], Outcome]] = {
            catalogue.ATTEMPT_COMPLETED.name: otel_outcome.completed_attempt,
            catalogue.ATTEMPT_FAILED.name: otel_outcome.failed_attempt,
            _ATTEMPT_CANCELLED: functools.partial(
                otel_outcome.cancelled_attempt, is_error=cancelled_is_error
            ),
        }

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Take an event. A failure of OpenTelemetry's is counted, and logged by its type now and then."""
        try:
            self._take(event)
        except Exception as error:  # fail-open; a cancellation is let through by _contain
            failure = error
        else:
            return
        self._contain(failure)

    def on_stream_chunk(self, event: RuntimeEvent, gap_s: float) -> None:
        """Keep how long a piece of a stream took, until its attempt ends."""
        attempt = self._attempt_of(event)
        if attempt is not None:
            self._metrics.take_chunk(attempt, gap_s)

    def provider_call_scope(self, event: RuntimeEvent) -> AbstractContextManager[object] | None:
        """Make the attempt's span current, so that an instrumented HTTP client's spans are its children."""
        return self._attempt_of(event)

    def on_attempt_request(self, event: RuntimeEvent, request: ModelRequest) -> None:
        """Show what is sent on the attempt's span, where the conventions' switch asks for it."""
        attempt = self._attempt_of(event) if self._captures_content else None
        if attempt is not None and attempt.is_recording:
            attempt.span.set_attributes(request_attributes(request, self._limits.content_length))

    def on_attempt_response(self, event: RuntimeEvent, response: ModelResponse) -> None:
        """Show the answer on the attempt's span, where the conventions' switch asks for it."""
        attempt = self._attempt_of(event) if self._captures_content else None
        if attempt is not None and attempt.is_recording:
            attempt.span.set_attributes(response_attributes(response, self._limits.content_length))

    def span_context_of(self, event: RuntimeEvent) -> SpanContext | None:
        """Return the ids of the open span that an event belongs to, from any thread; None where there is none."""
        operation = self._operations.find(event)
        if operation is None:
            return None
        return _span_of(operation, event).get_span_context()

    def settle(self) -> None:
        """End the spans of streams that were dropped without closing.

        Their events come from a finalizer, which may run while OpenTelemetry holds a lock; so they wait here for
        the next event, the next collection of metrics, or this. Call it before a provider's `shutdown`.
        """
        # no waiting: a collection that asks for it may hold a lock that whoever settles now waits for
        if not self._settling.acquire(blocking=False):
            return
        try:
            while self._late:
                late = self._late.popleft()
                try:
                    self._settle_one(late)
                except Exception as error:  # fail-open; a cancellation is let through by _contain
                    failure = error
                else:
                    continue
                self._contain(failure)
        finally:
            self._settling.release()

    def _renew(self) -> None:
        """Begin anew in a forked child, where this is called: what its parent's streams left is its parent's."""
        self._settling = threading.RLock()
        self._late.clear()

    @property
    def open_operation_count(self) -> int:
        """How many operations have begun and not ended."""
        return len(self._operations)

    def _take(self, event: RuntimeEvent) -> None:
        name = event.definition.name
        if name == _STARTED:
            if self._late:
                self.settle()
            if self._take_any is not None:
                self._take_any(event)
            self._begin(event)
            return
        if name == _ROUTE_SELECTED and not event.attribute("is_fallback"):
            # no more than the span of the attempt says, which follows at once
            self._metrics.take_primary_route(event)
            if self._take_any is not None:
                self._take_any(event)
            return
        operation = self._operations.find(event)
        if operation is not None:
            if name == _ATTEMPT_CANCELLED and event.attribute("cancel_reason") == "abandoned":
                operation.is_abandoned = True
            if operation.is_abandoned:
                self._late.append(_Late(operation, event, time.time_ns()))
                return
        if self._late:
            self.settle()
        taker = self._takers.get(name)
        if taker is not None:
            taker(event)
        if self._take_any is not None:
            self._take_any(event)
        if operation is None:
            self._metrics.count_dropped("unknown_operation")
        else:
            self._handle(operation, event, name, None)

    def _begin(self, event: RuntimeEvent) -> None:
        if not self._is_checked:
            self._look_at_provider()
        parent = otel_context.get_current()
        span = self._started_span(
            otel_spans.operation_name(event),
            parent,
            trace.SpanKind.INTERNAL,
            otel_spans.operation_attributes(event),
        )
        context = otel_spans.context_of(span, parent)
        operation = OpenOperation(event, span, context)
        operation.has_attempt_spans = operation.is_recording or not self._drops_attempts
        oldest = self._operations.add(operation)
        if oldest is not None:
            self._give_up(oldest)

    def _handle(self, operation: OpenOperation, event: RuntimeEvent, name: str, at_ns: int | None) -> None:
        ending = self._endings.get(name)
        if ending is not None:
            self._end_attempt(operation, event, ending(event), at_ns)
        elif name == _ATTEMPT_STARTED:
            self._begin_attempt(operation, event)
        elif name == _COMPLETED:
            self._end_operation(operation, event, at_ns)
        elif event.definition.is_span_eligible:
            span = _span_of(operation, event)
            if span.is_recording():
                span.add_event(name, otel_spans.event_attributes(event), at_ns)

    def _begin_attempt(self, operation: OpenOperation, event: RuntimeEvent) -> None:
        if operation.attempt is not None:
            self._lose_attempt(operation, operation.attempt)
        provider_id = str(event.attribute("provider_id"))
        provider_name = self._provider_names.get(provider_id, provider_id)
        operation_name = otel_spans.gen_ai_operation(operation.method_name)
        span, context = operation.span, operation.context
        if operation.has_attempt_spans:
            span = self._started_span(
                otel_spans.attempt_name(operation_name, event),
                context,
                trace.SpanKind.CLIENT,
                otel_spans.attempt_attributes(event, operation_name, provider_name),
            )
            context = otel_spans.context_of(span, context)
        operation.begin_attempt(OpenAttempt(event, span, context, operation_name, provider_name))

    def _started_span(
        self, name: str, parent: Context, kind: trace.SpanKind, attributes: otel_spans.Attributes
    ) -> Span:
        """Start a span; where that fails, the parent's ids stand for it, so that metrics do not depend on spans."""
        try:
            return self._tracer.start_span(name, parent, kind, attributes)
        except Exception as error:  # fail-open; a cancellation is let through by _contain
            failure = error
        self._contain(failure)
        return trace.NonRecordingSpan(trace.get_current_span(parent).get_span_context())

    def _end_attempt(
        self, operation: OpenOperation, event: RuntimeEvent, outcome: Outcome, at_ns: int | None
    ) -> None:
        attempt = operation.end_attempt(event, outcome)
        if attempt is None:
            self._metrics.count_dropped("unknown_attempt")
            return
        try:
            self._metrics.end_attempt(attempt, operation, event, outcome)
        finally:
            attributes: otel_spans.Attributes | None = None
            if attempt.is_recording:
                attributes = otel_spans.attempt_end_attributes(event, counts_usage=self._counts_usage)
            otel_spans.finish(attempt.span, attributes, outcome, at_ns)

    def _end_operation(self, operation: OpenOperation, event: RuntimeEvent, at_ns: int | None) -> None:
        if not self._operations.remove(operation):
            self._metrics.count_dropped("unknown_operation")
            return
        if operation.attempt is not None:
            self._lose_attempt(operation, operation.attempt)
        outcome = otel_outcome.completed_operation(
            event, operation.last_outcome, cancelled_is_error=self._cancelled_is_error
        )
        try:
            self._metrics.end_operation(operation, event, outcome)
        finally:
            attributes: otel_spans.Attributes | None = None
            if operation.is_recording:
                attributes = otel_spans.operation_end_attributes(event, operation)
            otel_spans.finish(operation.span, attributes, outcome, at_ns)

    def _lose_attempt(self, operation: OpenOperation, attempt: OpenAttempt) -> None:
        """End an attempt whose end was not heard."""
        operation.attempt = None
        self._metrics.count_dropped("lost_attempt")
        self._metrics.forget_chunks(attempt)
        otel_spans.finish(attempt.span, {}, otel_outcome.LOST, None)

    def _give_up(self, operation: OpenOperation) -> None:
        """End the oldest operation, of which too many are open; its later events are dropped and counted."""
        self._metrics.count_dropped("too_many_operations")
        attempt, operation.attempt = operation.attempt, None
        if attempt is not None:
            self._metrics.forget_chunks(attempt)
            otel_spans.finish(attempt.span, {}, otel_outcome.DROPPED, None)
        otel_spans.finish(operation.span, {}, otel_outcome.DROPPED, None)

    def _attempt_of(self, event: RuntimeEvent) -> OpenAttempt | None:
        operation = self._operations.find(event)
        return None if operation is None else operation.attempt

    def _settle_one(self, late: _Late) -> None:
        name = late.event.definition.name
        if self._take_any is not None:
            self._take_any(late.event)
        self._handle(late.operation, late.event, name, late.at_ns)

    def _queued_spans(self) -> int | None:
        return queued_span_count(self._tracer_provider or trace.get_tracer_provider())

    def _look_at_provider(self) -> None:
        """Look, once, at what samples; and warn of a processor that exports on the caller's thread."""
        self._is_checked = True
        provider = self._tracer_provider or trace.get_tracer_provider()
        self._drops_attempts = drops_children(provider)
        if has_synchronous_export(provider):
            _logger.warning(
                "a span processor exports on the caller's thread, so that a slow collector stops your program; "
                "use BatchSpanProcessor in the place of SimpleSpanProcessor"
            )

    def _contain(self, failure: Exception) -> None:
        rethrow_if_cancellation(failure)
        self._metrics.count_dropped("failed")
        self._failure_count += 1
        if self._failure_count % _FAILURES_PER_WARNING == 1:
            _logger.warning(
                "OpenTelemetry failed error_type=%s failure_count=%d",
                class_label(failure),
                self._failure_count,
            )


@dataclass(frozen=True, slots=True)
class _Late:
    """An event that a finalizer brought, and when."""

    operation: OpenOperation
    event: RuntimeEvent
    at_ns: int


def _span_of(operation: OpenOperation, event: RuntimeEvent) -> Span:
    """Return the attempt's span for what an event says of the attempt that is open, else the operation's."""
    attempt = operation.attempt
    is_its_own = attempt is not None and attempt.number == event.attribute("attempt")
    return attempt.span if attempt is not None and is_its_own else operation.span
