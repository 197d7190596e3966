"""`DlpProcessor`: a structlog processor that redacts log lines of the whole application."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any, cast

from tramapy.hooks.dlp import DlpContentType, DlpInterceptor
from tramapy.telemetry.log_event import clean_event, entry_of, withheld_event
from tramapy.telemetry.log_record import changed_copy, clean_changes, withheld_changes
from tramapy.telemetry.log_redaction import WITHHELD, LogRedactor, WithheldLine
from tramapy.telemetry.log_walk import LineWalk

__all__ = ["DlpProcessor"]


class DlpProcessor:
    """Runs a DLP interceptor over every text of a log line: event, keys, values, exception and stack.

    Put it right before the renderer, behind whatever else adds to a line. It renders `exc_info`, `stack_info` and
    `positional_args` itself. Nothing is raised into the program that logs: where the inspection fails, the line
    says so and shows nothing else.

    Args:
        dlp: A plain interceptor without placeholders.
        content_type: What the texts are inspected as.

    Raises:
        ConfigurationError: `dlp` cannot do this work.
        TypeError: `dlp` is no `DlpInterceptor`.
    """

    __slots__ = ("_redactor",)

    def __init__(
        self, dlp: DlpInterceptor, *, content_type: DlpContentType = DlpContentType.MODEL_OUTPUT
    ) -> None:
        self._redactor = LogRedactor(dlp, content_type)

    def __call__(
        self, logger: object, method_name: str, event_dict: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Return what may be shown of a line, as a new dict."""
        if not isinstance(cast("object", event_dict), Mapping):  # a renderer stands before us
            return cast("MutableMapping[str, Any]", self._rendered(event_dict))
        outcome = self._redactor.guarded(self._redacted, event_dict)
        return self._withheld(event_dict, outcome) if isinstance(outcome, WithheldLine) else outcome

    def _redacted(self, line: Mapping[str, Any]) -> dict[str, Any]:
        if "_record" not in line:
            return clean_event(line, self._redactor)
        parts = dict(line)
        kept = _of_formatter(parts)
        for name in kept:
            del parts[name]
        for name, record in _records(kept):
            kept[name] = changed_copy(record, clean_changes(record, self._redactor))
        return clean_event(parts, self._redactor) | kept

    def _withheld(self, line: Mapping[str, Any], why: WithheldLine) -> dict[str, Any]:
        kept = _of_formatter(line)
        for name, record in _records(kept):
            kept[name] = changed_copy(record, withheld_changes(record, why, self._redactor))
        return withheld_event(line, why) | kept

    def _rendered(self, line: object) -> object:
        """Redact what a renderer made of a line; what is neither text nor bytes is withheld."""
        if isinstance(line, (str, bytes, bytearray)):
            outcome = self._redactor.guarded(LineWalk(self._redactor.text).value, line)
            return WITHHELD if isinstance(outcome, WithheldLine) else outcome
        return ((WITHHELD,), dict[str, object]())


def _of_formatter(line: object) -> dict[str, Any]:
    """Return what a `ProcessorFormatter` adds to a line for its own processors."""
    found = {name: entry_of(line, name) for name in ("_record", "_from_structlog")}
    return {
        name: value for name, value in found.items() if issubclass(type(value), (logging.LogRecord, bool))
    }


def _records(kept: Mapping[str, Any]) -> list[tuple[str, logging.LogRecord]]:
    return [(name, value) for name, value in kept.items() if issubclass(type(value), logging.LogRecord)]
