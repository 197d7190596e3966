"""`DlpLogFilter`: a filter of the standard library's `logging` that redacts records."""

from __future__ import annotations

import logging
import sys
from typing import Final

from tramapy.hooks.dlp import DlpContentType, DlpInterceptor
from tramapy.telemetry.log_record import apply_changes, changed_copy, clean_changes, withheld_changes
from tramapy.telemetry.log_redaction import LogRedactor, WithheldLine

__all__ = ["DlpLogFilter"]

_MAY_REPLACE: Final = sys.version_info >= (3, 12)


class DlpLogFilter(logging.Filter):
    """Runs a DLP interceptor over every text of a record: message, exception, stack, names and extra attributes.

    Add it to handlers: a filter of a logger does not see the records of the loggers beneath. On Python 3.12 and
    later the handler gets a redacted copy. Before that a filter can only change the record itself, so handlers
    that come later see it redacted, too. No record is dropped, and nothing is raised into the program that logs:
    where the inspection fails, the record says so and shows nothing else.

    Args:
        dlp: A plain interceptor without placeholders.
        content_type: What the texts are inspected as.

    Raises:
        ConfigurationError: `dlp` cannot do this work.
        TypeError: `dlp` is no `DlpInterceptor`.
    """

    def __init__(
        self, dlp: DlpInterceptor, *, content_type: DlpContentType = DlpContentType.MODEL_OUTPUT
    ) -> None:
        super().__init__()
        self._redactor = LogRedactor(dlp, content_type)
        self._may_replace: bool = _MAY_REPLACE

    def filter(  # type: ignore[override]  # Python 3.12 and later take a record
        self, record: logging.LogRecord
    ) -> bool | logging.LogRecord:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return True, or on Python 3.12 and later a redacted copy where anything had to be changed."""
        outcome = self._redactor.guarded(self._redacted, record)
        if isinstance(outcome, WithheldLine):
            return self._changed(record, withheld_changes(record, outcome, self._redactor))
        return outcome

    def _redacted(self, record: logging.LogRecord) -> bool | logging.LogRecord:
        changes = clean_changes(record, self._redactor)
        return self._changed(record, changes) if changes else True

    def _changed(self, record: logging.LogRecord, changes: dict[str, object]) -> bool | logging.LogRecord:
        if self._may_replace:
            return changed_copy(record, changes)
        apply_changes(record, changes)
        return True
