"""`OperationBook`: events put together to the operations that they speak of, in bounded memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tramapy.cli.event_lines import HeardEvent
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEventDefinition

__all__ = ["BookLimits", "OperationBook", "TracedOperation", "group_by_id"]

K = TypeVar("K", bound=Hashable)

_STARTED: Final = catalogue.OPERATION_STARTED.name
_COMPLETED: Final = catalogue.OPERATION_COMPLETED.name


class TracedOperation:
    """What is known of an operation.

    Attributes:
        correlation_id: Its id.
        events: Its events, in order.
        lost_event_count: How many are left out because there were too many.
        started: Its first event, or None where that is missing.
        completed: Its last event, or None where that is missing.
    """

    def __init__(self, correlation_id: str) -> None:
        self.correlation_id = correlation_id
        self.events: list[HeardEvent] = []
        self.lost_event_count: int = 0
        self.started: HeardEvent | None = None
        self.completed: HeardEvent | None = None

    def add(self, event: HeardEvent) -> None:
        """Take an event that comes after all before."""
        if event.name == _STARTED:
            self.started = event
        elif event.name == _COMPLETED:
            self.completed = event
        self.events.append(event)

    @property
    def started_at_s(self) -> float:
        """When it began, in seconds since 1970, as far as that is known."""
        return self.events[0].at_s if self.started is None else self.started.at_s

    @property
    def outcome(self) -> str | None:
        """How it ended, or None where its end is missing."""
        return None if self.completed is None else str(self.completed.attributes["outcome"])

    def count(self, definition: RuntimeEventDefinition) -> int:
        """Return how many events of a kind it has."""
        return sum(event.name == definition.name for event in self.events)

    def total(self, key: str, *definitions: RuntimeEventDefinition) -> int | None:
        """Return the sum of an attribute over events of some kinds, or None where none has it."""
        names = {definition.name for definition in definitions}
        values = [event.attributes.get(key) for event in self.events if event.name in names]
        numbers = [value for value in values if isinstance(value, int)]
        return sum(numbers) if numbers else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookLimits:
    """What bounds a book.

    Args:
        operation_count: How many operations may be open at a time.
        event_count: How many events are kept of one, its last beside them.
        character_count: How much text is kept in all, where an event counts 256 beside its own.
    """

    operation_count: int = 1_000
    event_count: int = 1_000
    character_count: int = 8_000_000


class OperationBook(Generic[K]):
    """Operations that are not whole yet."""

    def __init__(self, limits: BookLimits | None = None) -> None:
        self._limits = BookLimits() if limits is None else limits
        self._open: dict[K, TracedOperation] = {}
        self._character_count = 0

    def add(self, key: K, event: HeardEvent) -> TracedOperation:
        """Add an event to the operation of that key."""
        operation = self._open.get(key)
        if operation is None:
            operation = self._open[key] = TracedOperation(str(event.attributes["correlation_id"]))
        # the last event is never one of too many
        if event.name != _COMPLETED and len(operation.events) >= self._limits.event_count:
            operation.lost_event_count += 1
            return operation
        operation.add(event)
        self._character_count += _weight(event)
        return operation

    def pop(self, key: K) -> TracedOperation:
        """Take an operation out."""
        operation = self._open.pop(key)
        self._character_count -= sum(map(_weight, operation.events))
        return operation

    def overdue(self) -> Iterator[tuple[K, TracedOperation]]:
        """Take out the oldest operations, as many as are too many."""
        limits = self._limits
        while len(self._open) > limits.operation_count or self._character_count > limits.character_count:
            key = next(iter(self._open))
            yield key, self.pop(key)

    def rest(self) -> Iterator[TracedOperation]:
        """Take out all, in the order in which they began."""
        while self._open:
            yield self.pop(next(iter(self._open)))


def group_by_id(events: Iterable[HeardEvent], limits: BookLimits | None = None) -> Iterator[TracedOperation]:
    """Yield operations as they end, by their correlation ids; and last those whose end did not come."""
    book: OperationBook[str] = OperationBook(limits)
    for event in events:
        key = str(event.attributes["correlation_id"])
        book.add(key, event)
        if event.name == _COMPLETED:
            yield book.pop(key)
        for _, operation in book.overdue():
            yield operation
    yield from book.rest()


def _weight(event: HeardEvent) -> int:
    texts = (value for value in event.attributes.values() if isinstance(value, str))
    return 256 + sum(map(len, event.attributes)) + sum(map(len, texts))
