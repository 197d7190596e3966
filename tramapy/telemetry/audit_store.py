"""`AuditStore`: where audit events are kept, one chain a stream; and the store in memory."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tramapy.errors import ConfigurationError, TramapyError
from tramapy.forks import renew_after_fork
from tramapy.telemetry.audit_event import AuditEvent, SealedEvent

__all__ = ["FIRST", "AuditHead", "AuditStore", "AuditStoreError", "Links", "MemoryAuditStore", "check_count"]


class AuditStoreError(TramapyError):
    """An audit store did not take an event: it is full, closed, broken, locked, or its disk failed.

    From an emitter it fails the operation closed, with `DlpInspectionError`.
    """


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The last event of a stream: its sequence number, and its hash; 0 and None where there is none."""

    sequence_number: int
    event_hash: str | None


FIRST = AuditHead(0, None)
"""The head of a stream that has no event."""

Links: TypeAlias = Callable[[AuditHead], Sequence[SealedEvent]]
"""Makes the next events of a stream, chained to its head."""


class AuditStore(abc.ABC):
    """Keeps audit events. Any number of threads may append.

    Attributes:
        may_block: Whether an append may wait for a disk or a network, so that it must not run on an event loop.
    """

    may_block: bool = True

    @abc.abstractmethod
    def append(self, stream_id: str, links: Links) -> None:
        """Ask for the next events of a stream and keep them, all or none, with nothing in between.

        Args:
            stream_id: The stream.
            links: Called once with the stream's head, while no other event can be appended. Gives at least one.

        Raises:
            AuditStoreError: They were not kept.
        """


class MemoryAuditStore(AuditStore):
    """Keeps events in memory, for tests and for small programs; they are gone with the process.

    Args:
        limit_count: The most events; a full store refuses more rather than forget any.

    Raises:
        ConfigurationError: The limit is below 1.
    """

    may_block: bool = False

    def __init__(self, *, limit_count: int = 100_000) -> None:
        check_count("limit_count", limit_count)
        self._limit_count = limit_count
        self._lock = threading.Lock()
        renew_after_fork(self, type(self)._renew)
        self._events: list[AuditEvent] = []
        self._heads: dict[str, AuditHead] = {}

    def _renew(self) -> None:
        """Take a new lock, in a forked child."""
        self._lock = threading.Lock()

    def append(self, stream_id: str, links: Links) -> None:
        """Keep the next events of a stream."""
        with self._lock:
            events = [link.event for link in links(self._heads.get(stream_id, FIRST))]
            if len(self._events) + len(events) > self._limit_count:
                raise AuditStoreError(
                    f"The audit store in memory is full at {self._limit_count} events; raise limit_count, or "
                    "keep them in a FileAuditStore"
                )
            self._events += events
            self._heads[stream_id] = AuditHead(events[-1].sequence_number, events[-1].event_hash)

    def events(self, stream_id: str | None = None) -> tuple[AuditEvent, ...]:
        """Return what was kept, in order: all of it, or that of one stream."""
        with self._lock:
            return tuple(
                event for event in self._events if stream_id is None or event.audit_stream_id == stream_id
            )


def check_count(name: str, value: object) -> None:
    """Raise `ConfigurationError` unless `value` is an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} takes an int of at least 1")
