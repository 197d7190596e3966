"""Tags in bounded number, and counters that cost the hot path one dictionary look-up."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from tramapy.telemetry.otel_import import metrics, trace

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, Observation
    from opentelemetry.trace import Span, SpanContext

__all__ = ["BufferedHistogram", "CountTable", "PendingMeasurements", "TagSets", "Tags"]

Tags: TypeAlias = dict[str, str | bool]

_MAX_LENGTH: Final = 128
_MAX_PENDING_COUNT: Final = 16_384
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
        if len(self._made) >= self._limit:
            return _OVERFLOW
        tags: Tags = {
            name: value[:_MAX_LENGTH]
            for name, value in zip(self._names, values, strict=True)
            if value is not None
        }
        return self._made.setdefault(values, tags)


class CountTable:
    """A counter that is added up here and asked for by each collection.

    A counter of the SDK costs 8 to 10 µs for each addition, which is more than the engine's whole event.
    """

    __slots__ = ("_counts", "_lock", "_tag_sets")

    def __init__(self, names: tuple[str, ...], limit: int) -> None:
        self._tag_sets = TagSets(names, limit)
        # by identity of the tags, which live as long as the table
        self._counts: dict[int, tuple[Tags, int]] = {}
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between

    def add(self, amount: int, *values: str | None) -> None:
        """Add to the count of one set of values."""
        tags = self._tag_sets.of(values)
        with self._lock:
            _, count = self._counts.get(id(tags), (tags, 0))
            self._counts[id(tags)] = (tags, count + amount)

    def counts(self) -> Iterable[tuple[Tags, int]]:
        """Return every count so far, each with its tags."""
        with self._lock:
            return list(self._counts.values())

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        """Answer a collection."""
        return [metrics.Observation(count, tags) for tags, count in self.counts()]


class PendingMeasurements:
    """Values that no collection has asked for yet.

    To record one costs the SDK 8 to 14 µs, half of all that an attempt's telemetry costs; so it is done on the
    thread that collects. Past a limit, which an SDK without a reader reaches, values are recorded at once.

    Args:
        limit: How many values may wait.
    """

    __slots__ = ("_limit", "_queue")

    def __init__(self, limit: int = _MAX_PENDING_COUNT) -> None:
        self._limit = limit
        self._queue: deque[tuple[Histogram, float, Tags, SpanContext]] = deque()

    def add(self, histogram: Histogram, amount: float, tags: Tags, span: Span) -> None:
        """Keep a value; of its span only the ids, for an exemplar."""
        if len(self._queue) < self._limit:
            self._queue.append((histogram, amount, tags, span.get_span_context()))
        else:
            histogram.record(amount, tags, trace.set_span_in_context(span))

    def record_all(self) -> None:
        """Record what is kept by now; what comes meanwhile is for the next collection."""
        for _ in range(len(self._queue)):
            try:
                histogram, amount, tags, span_context = self._queue.popleft()
            except IndexError:  # another collection was faster
                return
            span = trace.NonRecordingSpan(span_context)
            histogram.record(amount, tags, trace.set_span_in_context(span))


class BufferedHistogram:
    """A histogram of the SDK, and the tags that its values may have."""

    __slots__ = ("_histogram", "_pending", "_tag_sets")

    def __init__(self, histogram: Histogram, tag_sets: TagSets, pending: PendingMeasurements) -> None:
        self._histogram = histogram
        self._tag_sets = tag_sets
        self._pending = pending

    def record(self, amount: float, values: tuple[str | None, ...], span: Span) -> None:
        """Take a value of a span's, with the values of its tags in order."""
        self._pending.add(self._histogram, amount, self._tag_sets.of(values), span)
