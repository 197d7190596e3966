"""The operations and attempts whose spans are open: found by an event, bounded, oldest dropped first."""

from __future__ import annotations

import itertools
import threading
from array import array
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from tramapy.forks import renew_after_fork
from tramapy.telemetry.otel_import import context as otel_context
from tramapy.values import MOST

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from tramapy.hooks.event_model import AttributeValue, RuntimeEvent
    from tramapy.telemetry.otel_outcome import Outcome

__all__ = ["OpenAttempt", "OpenOperation", "OperationTable"]

_serials = itertools.count(1)
# Which operation of several with one correlation id this context's events speak of: an id is the caller's to
# choose, and may be that of a request which asks twice at once. A number, so that a context keeps nothing alive.
_latest: ContextVar[int] = ContextVar("tramapy_otel_operation", default=0)
_entered: ContextVar[object] = ContextVar("tramapy_otel_scope")


class OpenOperation:
    """An operation that has begun: its span, and what its last event will tell of its attempts."""

    __slots__ = (
        *("serial", "correlation_id", "service_interface", "method_name", "span", "context"),
        *("is_recording", "attempt", "attempt_count", "last_outcome", "input_tokens"),
        *("output_tokens", "is_abandoned", "has_attempt_spans", "older"),
    )

    def __init__(self, event: RuntimeEvent, span: Span, context: Context) -> None:
        own = event.attributes()
        self.serial: int = next(_serials)
        self.correlation_id: str = str(own["correlation_id"])
        self.service_interface: str = str(own["service_interface"])
        self.method_name: str = str(own["method_name"])
        self.span = span
        self.context = context
        self.is_recording: bool = span.is_recording()
        self.attempt: OpenAttempt | None = None
        self.last_outcome: Outcome | None = None
        self.attempt_count: int = 0
        self.input_tokens: int = 0
        self.output_tokens: int = 0
        self.is_abandoned = False
        self.has_attempt_spans = True
        self.older: OpenOperation | None = None

    def begin_attempt(self, attempt: OpenAttempt) -> None:
        """Note the attempt that runs now."""
        self.attempt = attempt
        self.attempt_count += 1

    def end_attempt(self, event: RuntimeEvent, outcome: Outcome) -> OpenAttempt | None:
        """Note how an attempt ended and what it used; returns it, if its beginning was heard."""
        attempt, self.attempt = self.attempt, None
        self.last_outcome = outcome
        own = event.attributes()
        self.input_tokens = min(self.input_tokens + int(own.get("input_tokens", 0)), MOST)
        self.output_tokens = min(self.output_tokens + int(own.get("output_tokens", 0)), MOST)
        return attempt


class OpenAttempt:
    """An attempt that has begun; and the scope in which its span is current, entered once at a time.

    Where the scope is left in another context than it was entered in, as by a garbage collector that closes a
    coroutine, there is nothing to restore: OpenTelemetry would log that it failed to detach.
    """

    __slots__ = (
        *("number", "provider_id", "provider_name", "operation_name", "model"),
        *("span", "is_recording", "chunk_gaps_s", "_context", "_mark", "_token"),
    )

    def __init__(
        self, event: RuntimeEvent, span: Span, context: Context, operation_name: str, provider_name: str
    ) -> None:
        own = event.attributes()
        self.number: AttributeValue = own["attempt"]
        self.provider_id: str = str(own["provider_id"])
        self.provider_name = provider_name
        self.operation_name = operation_name
        self.model: str = str(own["effective_model"])
        self.span = span
        self.is_recording: bool = span.is_recording()
        self.chunk_gaps_s: array[float] | None = None
        self._context = context
        self._mark: Token[object]
        self._token: Token[Context]

    def __enter__(self) -> None:
        self._mark = _entered.set(self)
        self._token = otel_context.attach(self._context)

    def __exit__(self, *_: object) -> None:
        try:
            _entered.reset(self._mark)
        except ValueError:  # the mark is another context's, and so is the token
            return
        otel_context.detach(self._token)


class OperationTable:
    """Open operations by their order and by their correlation id.

    Args:
        limit: How many may be open; one more, and the oldest is given up.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: dict[int, OpenOperation] = {}
        # the newest of each id, which knows the one before it
        self._named: dict[str, OpenOperation] = {}
        self._renew()
        renew_after_fork(self, type(self)._renew)

    def _renew(self) -> None:
        """Take a new lock, in a forked child, and leave the operations to its parent, whose spans they are."""
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between
        self._open.clear()
        self._named.clear()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, operation: OpenOperation) -> OpenOperation | None:
        """Add an operation; returns the oldest one where that must go."""
        _latest.set(operation.serial)
        oldest: OpenOperation | None = None
        with self._lock:
            if len(self._open) >= self._limit:
                oldest = next(iter(self._open.values()))
                self.remove(oldest)
            self._open[operation.serial] = operation
            operation.older = self._named.get(operation.correlation_id)
            self._named[operation.correlation_id] = operation
        return oldest

    def find(self, event: RuntimeEvent) -> OpenOperation | None:
        """Return the operation that an event speaks of: this context's own, or else the newest of its id."""
        correlation_id = event.attribute("correlation_id")
        own = self._open.get(_latest.get())
        if own is not None and own.correlation_id == correlation_id:
            return own
        return self._named.get(str(correlation_id))

    def remove(self, operation: OpenOperation) -> bool:
        """Forget an operation; False where it was forgotten before."""
        with self._lock:
            if self._open.pop(operation.serial, None) is None:
                return False
            newer = self._named[operation.correlation_id]
            if newer is not operation:
                while newer.older is not None and newer.older is not operation:
                    newer = newer.older
                newer.older = operation.older
            elif operation.older is None:
                del self._named[operation.correlation_id]
            else:
                self._named[operation.correlation_id] = operation.older
            return True
