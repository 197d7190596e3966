"""Ids that tie a program's own log lines to the attempt that they are logged in, and to its trace."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from typing import Any, Final

from tramapy.engine.arguments import checked_flag
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.hooks.events import EngineEventObserver
from tramapy.telemetry.span_fields import NO_FIELDS, Fields, SpanFields, SpanSource, current_span_fields

__all__ = ["AttemptContextObserver", "TraceIdsProcessor", "attempt_fields"]

_fields: ContextVar[Fields] = ContextVar("tramapy_log_fields", default=NO_FIELDS)

_OF_SPANS: Final = frozenset({"trace_id", "span_id"})
_CARRIED: Final = ("correlation_id", "provider_id", "attempt")


def attempt_fields() -> Fields:
    """Return the ids of the attempt whose provider call runs here: bind them to a logger that leaves this context.

    Ids in a context variable do not reach a thread that you start yourself; ids that a logger holds do. Empty
    where no attempt runs, or no observer that knows one is registered.
    """
    return dict(_fields.get())


class TraceIdsProcessor:
    """A structlog processor that adds `trace_id` and `span_id`, or else the ids that the engine itself knows.

    In this order: what the line carries already; the attempt whose provider call runs here, as an
    `AttemptContextObserver` knows it; the current span of OpenTelemetry. Never
    an id of zeros.

    Args:
        is_ambient: False to leave the current span of OpenTelemetry aside.
    """

    __slots__ = ("_is_ambient",)

    def __init__(self, *, is_ambient: bool = True) -> None:
        self._is_ambient = checked_flag("is_ambient", is_ambient)

    def __call__(
        self, logger: object, method_name: str, event_dict: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Add ids to a line that has none of its own."""
        event = event_dict.get("event")
        if type(event) is str and event in catalogue.CATALOGUE:
            return event_dict  # an engine event carries all that is known; what runs here may be another operation
        fields = _fields.get()
        if self._is_ambient and not fields and "attempt" not in event_dict:
            fields = current_span_fields()
        has_trace = "trace_id" in event_dict
        for name, value in fields.items():
            if not (has_trace and name in _OF_SPANS):
                event_dict.setdefault(name, value)
        return event_dict


class AttemptContextObserver(EngineEventObserver):
    """Shows the ids of an attempt to `TraceIdsProcessor` and `attempt_fields` during its provider call.

    Args:
        spans: Where the ids of spans come from; give the `OpenTelemetryEventObserver`, and register it first.
            None takes the span of OpenTelemetry that is current where an operation begins, if there is one.

    Raises:
        ConfigurationError: `spans` has no `span_context_of`.
    """

    def __init__(self, *, spans: SpanSource | None = None) -> None:
        self._spans = SpanFields(spans)

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Remember and forget the ids of spans."""
        self._spans.fields_of(event)

    def provider_call_scope(self, event: RuntimeEvent) -> AbstractContextManager[object] | None:
        """Hold the attempt's ids for the time of its provider call."""
        fields: Fields = {name: value for name in _CARRIED if (value := event.attribute(name)) is not None}
        fields.update(self._spans.known_fields_of(event))
        return _Scope(fields)


class _Scope:
    """Holds an attempt's ids in the context of one step of its provider call.

    Where it is left in another context than it was entered in, as by a garbage collector that closes a
    coroutine, there is nothing to restore.
    """

    __slots__ = ("_held", "_token")

    def __init__(self, held: Fields) -> None:
        self._held = held
        self._token: Token[Fields]

    def __enter__(self) -> None:
        self._token = _fields.set(self._held)

    def __exit__(self, *_: object) -> None:
        try:
            _fields.reset(self._token)
        except ValueError:
            return
