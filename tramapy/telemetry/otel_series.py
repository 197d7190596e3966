"""Tags in bounded number, and counters that cost the hot path one dictionary look-up."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tramapy.forks import renew_after_fork
from tramapy.telemetry.otel_import import metrics, trace
from tramapy.telemetry.otel_text import exportable
from tramapy.values import MOST

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, Observation
    from opentelemetry.trace import SpanContext

__all__ = [
    "BufferedHistogram",
    "ChunkTimes",
    "CountTable",
    "Measurement",
    "PendingMeasurements",
    "TagSets",
    "Tags",
    "shown_tag",
]

Tags: TypeAlias = dict[str, str | bool]
Measurement: TypeAlias = "tuple[Histogram, float, Tags]"
"""A value, where it goes, and its tags."""

Measure: TypeAlias = Callable[[Any, Any], Iterable[Measurement]]
_Pending: TypeAlias = "tuple[Measure, Any, Any, SpanContext]"

_MAX_LENGTH: Final = 128
_MAX_PENDING_COUNT: Final = 8_192
_MAX_CHUNK_TIME_COUNT: Final = 65_536
_OVERFLOW: Final[Tags] = {"otel.metric.overflow": True}  # the specification's own name for it


class TagSets:
    """The tags of one metric, made once for each set of values; past the limit all others share one.

    Args:
        names: The tags that the metric may carry, in order.
        limit: How many sets of values there may be.
    """

    __slots__ = ("_limit", "_made", "_names")

    def __init__(self, names: tuple[str, ...], limit: int) -> None:
        self._names = names
        self._limit = limit
        self._made: dict[tuple[str | None, ...], Tags] = {}

    def of(self, values: tuple[str | None, ...]) -> Tags:
        """Return the tags of `values`, which stand in the order of the names; None is left out."""
        tags = self._made.get(values)
        return self._make(values) if tags is None else tags

    def _make(self, values: tuple[str | None, ...]) -> Tags:
        shown = _shown(values)
        if shown in self._made or len(self._made) < self._limit:
            return self._made.setdefault(shown, _tags(self._names, shown))
        return _OVERFLOW


class Count:
    """One series of a counter."""

    __slots__ = ("_lock", "_value", "tags")

    def __init__(self, tags: Tags) -> None:
        self.tags: Tags = tags
        self.restart()

    def restart(self) -> None:
        """Begin at nothing, with a lock that is free."""
        self._value = 0
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between

    @property
    def value(self) -> int:
        """What was added so far."""
        return self._value

    def add(self, amount: int) -> None:
        """Add to it, up to what 64 bits hold: over it, the exporters of OTLP lose all metrics from then on."""
        with self._lock:
            self._value = min(self._value + amount, MOST)


class CountTable:
    """A counter that is added up here and asked for by each collection.

    A counter of the SDK costs 8 to 10 µs for each addition, which is more than the engine's whole event.

    Args:
        names: The tags that the metric may carry, in order.
        limit: How many sets of values there may be; all others share one series.
    """

    __slots__ = ("__weakref__", "_counts", "_limit", "_names", "_overflow")

    def __init__(self, names: tuple[str, ...], limit: int) -> None:
        self._names = names
        self._limit = limit
        self._counts: dict[tuple[str | None, ...], Count] = {}
        self._overflow = Count(_OVERFLOW)
        renew_after_fork(self, type(self)._renew)

    def _renew(self) -> None:
        """Begin at nothing, in a forked child: what was counted before is its parent's."""
        for count in (*self._counts.values(), self._overflow):
            count.restart()

    def of(self, *values: str | None) -> Count:
        """Return the series of a set of values, in the order of the names; None is left out."""
        count = self._counts.get(values)
        return self._make(values) if count is None else count

    def _make(self, values: tuple[str | None, ...]) -> Count:
        shown = _shown(values)
        if shown in self._counts or len(self._counts) < self._limit:
            return self._counts.setdefault(shown, Count(_tags(self._names, shown)))
        return self._overflow

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        """Answer a collection."""
        counts = [*list(self._counts.values()), self._overflow]
        return [metrics.Observation(count.value, count.tags) for count in counts if count.value]


class PendingMeasurements:
    """Values that no collection has asked for yet.

    To record one costs the SDK 8 to 14 µs, half of all that an attempt's telemetry costs; so it is done on the
    thread that collects, as is everything that it takes to know the values. Past a limit, which an SDK without a
    reader reaches, they are recorded at once.

    Args:
        limit: How many entries may wait; an attempt is one, and an operation.
    """

    __slots__ = ("__weakref__", "_limit", "_queue")

    def __init__(self, limit: int = _MAX_PENDING_COUNT) -> None:
        self._limit = limit
        self._queue: deque[_Pending] = deque()
        renew_after_fork(self, type(self)._renew)

    def _renew(self) -> None:
        """Forget what waits, in a forked child: its parent records it."""
        self._queue.clear()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, measure: Measure, series: Any, event: Any, span: SpanContext) -> None:
        """Keep what values are made of; of the span only the ids, for an exemplar.

        Args:
            measure: Called with the two that follow, gives the values.
            series: What it is about, made once for many.
            event: Where the values are.
            span: The ids of its span.
        """
        if len(self._queue) < self._limit:
            self._queue.append((measure, series, event, span))
        else:
            _record(measure, series, event, span)

    def record_all(self) -> None:
        """Record what is kept by now; what comes meanwhile is for the next collection."""
        for _ in range(len(self._queue)):
            try:
                pending = self._queue.popleft()
            except IndexError:  # another collection was faster
                return
            _record(*pending)


class ChunkTimes:
    """How many times of pieces are kept, over all streams.

    Args:
        limit: The most; a collection makes room.
    """

    __slots__ = ("__weakref__", "_count", "_limit", "_lock")

    def __init__(self, limit: int = _MAX_CHUNK_TIME_COUNT) -> None:
        self._limit = limit
        self._renew()
        renew_after_fork(self, type(self)._renew)

    def _renew(self) -> None:
        """Begin at nothing, in a forked child, with a lock that is free."""
        self._count = 0
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between

    def reserve(self) -> bool:
        """Take room for one more; False where there is none."""
        with self._lock:
            if self._count >= self._limit:
                return False
            self._count += 1
        return True

    def release(self, count: int) -> None:
        """Give room back."""
        with self._lock:
            self._count -= count


class BufferedHistogram:
    """A histogram of the SDK, and the tags that its values may have."""

    __slots__ = ("_histogram", "_pending", "_tag_sets")

    def __init__(self, histogram: Histogram, tag_sets: TagSets, pending: PendingMeasurements) -> None:
        self._histogram = histogram
        self._tag_sets = tag_sets
        self._pending = pending

    def record(self, amount: float, values: tuple[str | None, ...], span: SpanContext) -> None:
        """Take a value of a span's, with the values of its tags in order."""
        self._pending.add(self._measured, self._tag_sets.of(values), amount, span)

    def _measured(self, tags: Tags, amount: float) -> tuple[Measurement]:
        return ((self._histogram, amount, tags),)


def shown_tag(value: str) -> str:
    """Return a value as a tag shows it."""
    return exportable(value, _MAX_LENGTH)


def _shown(values: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Return values as tags show them: two that are shown alike are one series, or one hides the other."""
    return tuple(None if value is None else shown_tag(value) for value in values)


def _tags(names: tuple[str, ...], values: tuple[str | None, ...]) -> Tags:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _record(measure: Measure, series: Any, event: Any, span: SpanContext) -> None:
    context = trace.set_span_in_context(trace.NonRecordingSpan(span))
    for histogram, amount, tags in measure(series, event):
        histogram.record(amount, tags, context)
