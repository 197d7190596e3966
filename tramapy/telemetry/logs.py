"""`StructlogEventObserver`: engine events as lines of structlog."""

from __future__ import annotations

import logging
import operator
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from tramapy.errors import ConfigurationError
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import AttributeValue, RuntimeEvent
from tramapy.hooks.events import EngineEventObserver, drop_awaitable
from tramapy.telemetry.span_fields import NO_FIELDS, SpanFields, SpanSource
from tramapy.telemetry.structlog_import import structlog
from tramapy.values import described

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
        catalogue.CONTENT_UNSCANNED.name: "warning",
        catalogue.RESPONSE_REFUSED.name: "info",
        catalogue.REQUEST_REFUSED.name: "warning",
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
_FAILED: Final = "failed"  # an operation that did; no event has this name
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
        _check_logger(logger)
        self._spans = SpanFields(spans)
        self._open = self._spans.open
        chosen = _checked_levels({} if levels is None else levels)
        self._levels: dict[str, str | None] = {**DEFAULT_LEVELS, _FAILED: "error", **chosen}
        if _COMPLETED in chosen:
            self._levels[_FAILED] = chosen[_COMPLETED]
        self._logger: EventLogger = structlog.get_logger(LOGGER_NAME) if logger is None else logger
        self._standard: EventLogger | None = _standard_logger() if logger is None else None
        # one that is bound already does not change with structlog's configuration
        self._is_bound = type(self._logger) is type(self._logger.bind()) if logger is not None else False
        self._writers = _Writers(self._configuration(), self._chosen_logger(), self._levels)

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Write an event's line."""
        name = event.definition.name
        ids = NO_FIELDS
        if name == _STARTED:
            if not self._is_bound:
                self._look_at_configuration()
            ids = self._spans.begin(event)
        elif self._open:
            ids = self._spans.fields_of(event)
        writers = self._writers
        method = writers.by_event.get(name, writers.other)
        if name == _COMPLETED and event.attribute("outcome") == "failed":
            method = writers.by_event[_FAILED]
        if method is None:
            return
        fields: dict[str, AttributeValue] = event.to_dict()
        if ids:
            fields.update(ids)
        result = method(name, fields)
        if result is not None:
            drop_awaitable(result)

    def _look_at_configuration(self) -> None:
        """Take other methods to write with where structlog was configured anew."""
        configuration = self._configuration()
        if not all(map(operator.is_, configuration, self._writers.configuration)):
            self._writers = _Writers(configuration, self._chosen_logger(), self._levels)

    def _configuration(self) -> tuple[object, ...]:
        # a logger that prints keeps the stdout that it began with
        settings = structlog.get_config()
        return (structlog.is_configured(), sys.stdout, sys.stderr, *map(settings.__getitem__, _SETTINGS))

    def _chosen_logger(self) -> EventLogger:
        is_standard = self._standard is not None and not structlog.is_configured()
        return self._standard if self._standard is not None and is_standard else self._logger


_Write: TypeAlias = Callable[[str, "dict[str, AttributeValue]"], object]
"""Writes an event's name and its fields at one level."""


class _Writers:
    """What writes the lines of each event through a bound logger; None for those that write nothing.

    Binding a logger of structlog's for each event was measured at twice the cost of the line itself.
    """

    __slots__ = ("by_event", "configuration", "logger", "other")

    def __init__(
        self, configuration: tuple[object, ...], logger: EventLogger, levels: Mapping[str, str | None]
    ) -> None:
        self.configuration = configuration
        self.logger = logger.bind()
        self.by_event = {name: self._method(level) for name, level in levels.items()}
        self.other = self._method(_OTHER_LEVEL)

    def _method(self, level: str | None) -> _Write | None:
        if level is None:
            return None
        # the level of a filtering logger is fixed; those on top of the standard library judge each line
        is_fixed = not isinstance(self.logger, structlog.stdlib.BoundLogger)
        is_enabled_for: object = getattr(self.logger, "is_enabled_for", None) if is_fixed else None
        if callable(is_enabled_for) and not is_enabled_for(_NUMBERS[level]):
            return None
        if type(self.logger) in _FILTERING:
            return _short_way(self.logger, level)
        return _any_way(self.logger, level)


_Process: TypeAlias = Callable[[str, str, object], "tuple[Sequence[Any], Mapping[str, Any]]"]
_FILTERING: Final = frozenset(map(structlog.make_filtering_bound_logger, (0, *_NUMBERS.values())))


def _short_way(logger: EventLogger, level: str) -> _Write:
    """Do what a method of structlog's own filtering loggers does, by what structlog has for wrapper classes.

    Their methods take the fields by keyword and hand them on so twice, which is a third of a line's cost.
    """
    # both names are there for wrapper classes, as structlog says; the second is what lines are written to
    process: _Process = operator.attrgetter("_process_event")(logger)
    out: Callable[..., object] = operator.attrgetter(f"_logger.{level}")(logger)

    def write(name: str, fields: dict[str, AttributeValue]) -> object:
        try:
            args, kwargs = process(level, name, fields)
            return out(*args, **kwargs)
        except structlog.DropEvent:
            return None

    return write


def _any_way(logger: EventLogger, level: str) -> _Write:
    """Call the method of a logger of any kind."""
    of = operator.attrgetter(level)
    method = of(logger)

    def write(name: str, fields: dict[str, AttributeValue]) -> object:
        if _RESERVED in fields:
            return of(logger.bind(**fields))(name)
        return method(name, **fields)

    return write


def _standard_logger() -> EventLogger:
    logger: EventLogger = structlog.wrap_logger(
        logging.getLogger(LOGGER_NAME),
        processors=[
            structlog.stdlib.filter_by_level,
            _escape,
            structlog.processors.LogfmtRenderer(key_order=["event"], drop_missing=True),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )
    return logger


def _escape(_logger: object, _method_name: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape what commands a terminal or ends a line; the renderer does so for a line feed alone."""
    for name, value in fields.items():
        if isinstance(value, str) and not value.isprintable():
            fields[name] = "".join(
                character
                if character.isprintable() or character == "\n"
                else character.encode("unicode_escape").decode("ascii")
                for character in value
            )
    return fields


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
    if not isinstance(levels, Mapping):
        raise ConfigurationError(
            f"levels is {described(levels)}; give a mapping of events to levels, such as "
            f"{{'{_STARTED}': 'info'}}"
        )
    for name, level in levels.items():
        if name not in catalogue.CATALOGUE:
            raise ConfigurationError(
                f"levels names {name!r}, which is no event; `tramapy events` lists those that are"
            )
        if level is not None and not isinstance(level, str):
            raise ConfigurationError(
                f"levels[{name!r}] is {described(level)}; give one of {', '.join(_NUMBERS)}, or None for no line"
            )
        if level is not None and level not in _NUMBERS:
            raise ConfigurationError(
                f"levels[{name!r}] is {level!r}; give one of {', '.join(_NUMBERS)}, or None for no line"
            )
    return dict(levels)
