"""`AsyncAuditLog`: an audit log for event loops, which never wait for a disk."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.to_thread

from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContext, DlpRedaction, DlpRedactionAuditEmitter
from tramapy.telemetry.audit import AuditLog
from tramapy.values import described

__all__ = ["AsyncAuditLog"]


class AsyncAuditLog(DlpRedactionAuditEmitter):
    """Does in a worker thread what an `AuditLog` does, on asyncio and trio. For `AsyncTramapy` alone.

    A cancellation does not wait for the disk: the operation ends at once, its text is not handed on, and the
    events may be recorded all the same.

    Args:
        log: The log; several threads call it at a time.
        limiter: How many threads it may take; by default it shares anyio's 40 with the rest of the program.

    Raises:
        ConfigurationError: `log` is no `AuditLog`, or `limiter` no limiter.
    """

    def __init__(self, log: AuditLog, *, limiter: anyio.CapacityLimiter | None = None) -> None:
        if not isinstance(log, AuditLog):
            raise ConfigurationError(f"log is {described(log)}; give an AuditLog")
        if limiter is not None and not isinstance(limiter, anyio.CapacityLimiter):
            raise ConfigurationError(
                f"limiter is {described(limiter)}; give an anyio.CapacityLimiter, or leave it out"
            )
        self._log = log
        self._limiter = limiter

    async def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        """Record redactions as `AuditLog.emit` does, and return when they are recorded."""
        await anyio.to_thread.run_sync(
            self._log.emit, context, tuple(redactions), abandon_on_cancel=True, limiter=self._limiter
        )
