"""`RecordingObserver`: keep every engine event, to be asked about afterwards."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tramapy.hooks.events import EngineEventObserver

__all__ = ["RecordedEvent", "RecordingObserver"]


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event as it was heard; the attributes are a copy."""

    name: str
    attributes: Mapping[str, object]


class RecordingObserver(EngineEventObserver):
    """Hears engine events and keeps them in order; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between
        self._events: list[RecordedEvent] = []

    def on_engine_event(self, name: str, attributes: Mapping[str, object]) -> None:
        """Take an event by name."""
        recorded = RecordedEvent(name, MappingProxyType(dict(attributes)))
        with self._lock:
            self._events.append(recorded)

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """Every event so far, in order."""
        with self._lock:
            return tuple(self._events)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every event so far, in order."""
        return tuple(event.name for event in self.events)

    def attributes_of(self, name: str) -> tuple[Mapping[str, object], ...]:
        """Return the attributes of every event of that name, in order; none where it did not happen."""
        return tuple(event.attributes for event in self.events if event.name == name)

    def __repr__(self) -> str:
        return f"RecordingObserver(<{len(self.events)} events>)"
