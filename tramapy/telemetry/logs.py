"""`StructlogEventObserver`: engine events as lines of structlog."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from tramapy.errors import ConfigurationError
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.hooks.events import EngineEventObserver, drop_awaitable
from tramapy.telemetry.span_fields import SpanFields, SpanSource
from tramapy.telemetry.structlog_import import structlog

__all__ = ["DEFAULT_LEVELS", "EventLogger", "StructlogEventObserver"]

LOGGER_NAME: Final = "tramapy.events"

DEFAULT_LEVELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        catalogue.OPERATION_STARTED.name: "debug",
        catalogue.ROUTE_SELECTED.name: "debug",
        catalogue.ATTEMPT_STARTED.name: "debug",
        catalogue.DLP_REDACTED.name: "info",
        catalogue.DLP_INSPECTION_FAILED.name: "error",
        catalogue.DLP_TOOL_RESULT_REJECTED.name: "warning",
        catalogue.RETRY_SCHEDULED.name: "warning",
        catalogue.STREAMING_STARTUP_RETRY.name: "warning",
        catalogue.CIRCUIT_OPENED.name: "error",
        catalogue.CIRCUIT_HALF_OPENED.name: "info",
        catalogue.CIRCUIT_CLOSED.name: "info",
        catalogue.CIRCUIT_REJECTED.name: "warning",
        catalogue.TOKEN_BUDGET_USAGE_UNAVAILABLE.name: "info",
        catalogue.TOKEN_BUDGET_SOFT_LIMIT_EXCEEDED.name: "warning",
        catalogue.TOKEN_BUDGET_HARD_LIMIT_EXCEEDED.name: "error",
        catalogue.ATTEMPT_COMPLETED.name: "info",
        catalogue.ATTEMPT_FAILED.name: "warning",
        catalogue.ATTEMPT_CANCELLED.name: "info",
        catalogue.OPERATION_COMPLETED.name: "debug",
    }
)
"""The level of each event's line; an operation that failed is an `error`, whatever its attempts were."""

# an argument of structlog's own methods, which take fields by keyword beside it
_RESERVED: Final = "method_name"
_NUMBERS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_SETTINGS: Final = ("processors", "context_class", "wrapper_class", "logger_factory")
_STARTED: Final = catalogue.OPERATION_STARTED.name
_COMPLETED: Final = catalogue.OPERATION_COMPLETED.name
_OTHER_LEVEL: Final = "info"


class EventLogger(Protocol):
    """What lines are written with: a logger of structlog's, bound or not."""

    def bind(self, **fields: object) -> EventLogger:
        """Return a logger whose lines all have some fields."""
        ...

    def info(self, event: str, **fields: object) -> object:
        """Write a line; the other levels' methods are alike."""
        ...


class StructlogEventObserver(EngineEventObserver):
    """Writes engine events as lines of structlog: the event's name, its attributes, and ids of its span.

    At level INFO a call that succeeds makes one line. No line holds text of a prompt, an answer or a tool.

    Args:
        logger: Where lines go. None takes structlog as the program configured it, under the name
            `tramapy.events`; until it is configured, lines go to the standard library's logger of that name,
            because structlog would print them to stdout.
        levels: Other levels for events, by name: `debug`, `info`, `warning`, `error`, `critical`, or None for no
            line.
        spans: Where the ids of spans come from; give the `OpenTelemetryEventObserver`, and register it first.

    Raises:
        ConfigurationError: A level or `spans` is none, an event is not in the catalogue, or `logger` is a logger
            of the standard library, which takes no fields.
    """

    def __init__(
        self,
        logger: EventLogger | None = None,
        *,
        levels: Mapping[str, str | None] | None = None,
        spans: SpanSource | None = None,
    ) -> None:
        self._spans = SpanFields(spans)
        _check_logger(logger)
        chosen = levels or {}
        self._levels: dict[str, str | None] = {**DEFAULT_LEVELS, **_checked_levels(chosen)}
        self._failed_level = self._levels[_COMPLETED] if _COMPLETED in chosen else "error"
        self._logger: EventLogger = structlog.get_logger(LOGGER_NAME) if logger is None else logger
        self._standard: EventLogger | None = _standard_logger() if logger is None else None
        self._writers = _Writers((), None)

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Write an event's line."""
        ids = self._spans.fields_of(event)
        name = event.definition.name
        writers = self._writers
        if name == _STARTED or not writers.configuration:
            writers = self._current_writers()
        level = self._levels.get(name, _OTHER_LEVEL)
        if name == _COMPLETED and event.attribute("outcome") == "failed":
            level = self._failed_level
        if level not in writers.methods:
            return
        attributes = event.attributes()
        fields: Mapping[str, object] = {**attributes, **ids} if ids else attributes
        if _RESERVED in fields:
            bound = writers.logger.bind(**fields)
            result = getattr(bound, str(level))(name)
        else:
            result = writers.methods[level](name, **fields)
        if result is not None:
            drop_awaitable(result)

    def _current_writers(self) -> _Writers:
        """Return the methods to write with; looked for again where structlog was configured anew."""
        writers = self._writers
        is_configured = structlog.is_configured()
        configuration = (is_configured, *map(structlog.get_config().__getitem__, _SETTINGS))
        if not writers.configuration or not all(map(operator.is_, configuration, writers.configuration)):
            is_standard = self._standard is not None and not is_configured
            logger = self._standard if is_standard else self._logger
            writers = self._writers = _Writers(configuration, logger)
        return writers


class _Writers:
    """A bound logger, and its methods by level; without those that write nothing.

    Binding a logger of structlog's for each event was measured at twice the cost of the line itself.
    """

    __slots__ = ("configuration", "logger", "methods")

    def __init__(self, configuration: tuple[object, ...], logger: EventLogger | None) -> None:
        self.configuration = configuration
        self.methods: dict[str | None, Callable[..., object]] = {}
        if logger is None:
            return
        self.logger = logger.bind()
        # the level of a filtering logger is fixed; those on top of the standard library judge each line
        is_fixed = not isinstance(self.logger, structlog.stdlib.BoundLogger)
        is_enabled_for: object = getattr(self.logger, "is_enabled_for", None) if is_fixed else None
        for level, number in _NUMBERS.items():
            if not callable(is_enabled_for) or is_enabled_for(number):
                self.methods[level] = getattr(self.logger, level)


def _standard_logger() -> EventLogger:
    logger: EventLogger = structlog.wrap_logger(
        logging.getLogger(LOGGER_NAME),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.LogfmtRenderer(key_order=["event"], drop_missing=True),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )
    return logger


def _check_logger(logger: object) -> None:
    if isinstance(logger, (logging.Logger, logging.LoggerAdapter)):
        raise ConfigurationError(
            "logger is one of the standard library, which takes no fields; give "
            "structlog.wrap_logger(logger) or None"
        )
    if logger is not None and isinstance(logger, type):
        raise ConfigurationError(f"logger is the class {logger.__name__}; give a logger")
    for name in ("bind", "info"):
        if logger is not None and not callable(getattr(logger, name, None)):
            raise ConfigurationError(f"logger is of type {type(logger).__name__}, which has no method {name}")


def _checked_levels(levels: Mapping[str, str | None]) -> dict[str, str | None]:
    for name, level in levels.items():
        if name not in catalogue.CATALOGUE:
            raise ConfigurationError(
                f"levels names {name!r}, which is no event; `tramapy events` lists those that are"
            )
        if level is not None and level not in _NUMBERS:
            raise ConfigurationError(
                f"levels[{name!r}] is {level!r}; give one of {', '.join(_NUMBERS)}, or None for no line"
            )
    return dict(levels)
