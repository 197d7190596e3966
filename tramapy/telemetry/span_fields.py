"""Ids of the spans that events belong to: remembered by operation, so that they are right in any thread."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, Protocol

from tramapy.errors import ConfigurationError
from tramapy.forks import renew_after_fork
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEvent

__all__ = ["NO_FIELDS", "Fields", "SpanFields", "SpanIds", "SpanSource", "current_span_fields"]

Fields = dict[str, str | int]

NO_FIELDS: Final[Fields] = {}
# Which operation of several with one correlation id this context speaks of; a number keeps nothing alive.
_latest: ContextVar[int] = ContextVar("tramapy_log_operation", default=0)
_serials = itertools.count(1)

_STARTED: Final = catalogue.OPERATION_STARTED.name
_COMPLETED: Final = catalogue.OPERATION_COMPLETED.name
_ATTEMPT_STARTED: Final = catalogue.ATTEMPT_STARTED.name
_OPEN_OPERATION_COUNT: Final = 10_000


class SpanIds(Protocol):
    """The part of OpenTelemetry's `SpanContext` that we use."""

    @property
    def trace_id(self) -> int:
        """The trace's id, 0 for none."""
        ...

    @property
    def span_id(self) -> int:
        """The span's id, 0 for none."""
        ...


class SpanSource(Protocol):
    """Knows the spans of operations and attempts; `OpenTelemetryEventObserver` is one."""

    def span_context_of(self, event: RuntimeEvent) -> SpanIds | None:
        """Return the ids of the open span that an event belongs to, in any thread."""
        ...


class SpanFields:
    """Knows the ids of the spans of open operations; the oldest is forgotten where there are 10,000.

    Args:
        spans: Where the ids come from. None takes the span of OpenTelemetry that is current where an operation
            begins, if there is one.

    Raises:
        ConfigurationError: `spans` has no `span_context_of`.
    """

    __slots__ = ("_spans", "_table", "open")

    def __init__(self, spans: SpanSource | None) -> None:
        if spans is not None and not callable(getattr(spans, "span_context_of", None)):
            raise ConfigurationError(
                f"spans takes an OpenTelemetryEventObserver, not {type(spans).__name__}, which has no "
                f"span_context_of"
            )
        self._spans = spans
        self._table = _Operations(_OPEN_OPERATION_COUNT)
        self.open: Mapping[int, object] = self._table.open
        """The open operations that have ids; where there are none, no event but a beginning has any."""

    def fields_of(self, event: RuntimeEvent) -> Fields:
        """Return the `trace_id` and `span_id` of the span that an event belongs to; call it once an event."""
        name = event.definition.name
        if name == _STARTED:
            return self.begin(event)
        operation = self._table.find(event)
        if operation is None:
            return NO_FIELDS
        if name == _COMPLETED:
            self._table.remove(operation)
        elif name == _ATTEMPT_STARTED and self._spans is not None:
            operation.attempt = event.attribute("attempt")
            operation.attempt_fields = _asked(self._spans, event)
        return operation.fields_of(event)

    def known_fields_of(self, event: RuntimeEvent) -> Fields:
        """Return the ids of the span that an event belongs to, once more."""
        operation = self._table.find(event)
        return NO_FIELDS if operation is None else operation.fields_of(event)

    def begin(self, event: RuntimeEvent) -> Fields:
        """Do what `fields_of` does, for the event that begins an operation."""
        fields = current_span_fields() if self._spans is None else _asked(self._spans, event)
        if fields or self._spans is not None:
            self._table.add(_Operation(str(event.attribute("correlation_id")), fields))
        return fields


def current_span_fields() -> Fields:
    """Return the ids of OpenTelemetry's current span; empty where there is none, or nobody imported it."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return NO_FIELDS
    return _span_fields(trace.get_current_span().get_span_context())


def _span_fields(ids: SpanIds) -> Fields:
    if not ids.trace_id or not ids.span_id:
        return NO_FIELDS
    return {"trace_id": f"{ids.trace_id:032x}", "span_id": f"{ids.span_id:016x}"}


def _asked(spans: SpanSource, event: RuntimeEvent) -> Fields:
    ids = spans.span_context_of(event)
    return NO_FIELDS if ids is None else _span_fields(ids)


class _Operation:
    """The ids of an operation and of its latest attempt."""

    __slots__ = ("attempt", "attempt_fields", "correlation_id", "fields", "serial")

    def __init__(self, correlation_id: str, fields: Fields) -> None:
        self.serial = next(_serials)
        self.correlation_id = correlation_id
        self.fields = fields
        self.attempt: object = None
        self.attempt_fields = NO_FIELDS

    def fields_of(self, event: RuntimeEvent) -> Fields:
        """Return the attempt's ids for what an event says of it, else the operation's."""
        number = event.attribute("attempt")
        is_its_own = number is not None and number == self.attempt
        return self.attempt_fields or self.fields if is_its_own else self.fields


class _Operations:
    """Open operations, by serial number and by correlation id."""

    __slots__ = ("__weakref__", "_limit", "_lock", "_named", "open")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.open: dict[int, _Operation] = {}
        self._named: dict[str, list[_Operation]] = {}
        self._renew()
        renew_after_fork(self, type(self)._renew)

    def _renew(self) -> None:
        """Take a new lock, in a forked child, and forget the operations of its parent."""
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between
        self.open.clear()
        self._named.clear()

    def add(self, operation: _Operation) -> None:
        _latest.set(operation.serial)
        with self._lock:
            if len(self.open) >= self._limit:
                self.remove(next(iter(self.open.values())))
            self.open[operation.serial] = operation
            self._named.setdefault(operation.correlation_id, []).append(operation)

    def find(self, event: RuntimeEvent) -> _Operation | None:
        """Return the operation that an event speaks of: this context's own, or else the newest of its id."""
        correlation_id = event.attribute("correlation_id")
        own = self.open.get(_latest.get())
        if own is not None and own.correlation_id == correlation_id:
            return own
        with self._lock:
            same = self._named.get(str(correlation_id))
            return None if same is None else same[-1]

    def remove(self, operation: _Operation) -> None:
        with self._lock:
            if self.open.pop(operation.serial, None) is None:
                return
            same = self._named[operation.correlation_id]
            same.remove(operation)
            if not same:
                del self._named[operation.correlation_id]
