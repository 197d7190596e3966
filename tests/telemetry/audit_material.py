"""Contexts and logs that the audit's tests share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tramapy import DlpContentLocation, DlpContentType, DlpContext, DlpRedaction
from tramapy.telemetry import AuditEvent, AuditLog, AuditStore, MemoryAuditStore

ONE = (DlpRedaction("ssn", 1),)


def context(correlation_id: str = "c-1", **fields: Any) -> DlpContext:
    """Make the context of an answer."""
    return DlpContext(
        **{
            "content_type": DlpContentType.MODEL_OUTPUT,
            "content_location": DlpContentLocation.MODEL_RESPONSE_CONTENT,
            "operation_interface": "Support",
            "operation_method": "answer",
            "correlation_id": correlation_id,
            **fields,
        }
    )


def clock() -> Callable[[], datetime]:
    """Make a clock that gives a second more each time."""
    seconds = itertools.count()
    return lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(seconds=next(seconds))


def ids() -> Callable[[], str]:
    """Make ids e-1, e-2 and so on."""
    numbers = itertools.count(1)
    return lambda: f"e-{next(numbers)}"


def log_of(store: AuditStore, **options: Any) -> AuditLog:
    """Make a log with such a clock and such ids."""
    return AuditLog(store, **{"now": clock(), "new_id": ids(), **options})


def events_of(counts: Sequence[tuple[str, int]], *, correlation_id: str = "c-1") -> tuple[AuditEvent, ...]:
    """Return the events of one emit."""
    store = MemoryAuditStore()
    log_of(store).emit(context(correlation_id), [DlpRedaction(rule_id, count) for rule_id, count in counts])
    return store.events()
