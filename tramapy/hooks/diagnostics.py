"""Where a hidden failure goes: a log line of identifiers, or a privileged observer that sees it whole."""

from __future__ import annotations

import contextlib
import enum
import logging
from dataclasses import dataclass

__all__ = [
    "FailureDiagnostic",
    "FailureDiagnosticObserver",
    "FailurePolicy",
    "SecondaryEffectAuthority",
    "add_note_once",
    "report_secondary_failure",
]

_logger = logging.getLogger("tramapy.secondary")


class FailurePolicy(enum.Enum):
    """What a failing side task does to the operation."""

    FAIL_OPEN = "fail_open"
    FAIL_CLOSED = "fail_closed"


class SecondaryEffectAuthority(enum.Enum):
    """Whether a side task has a say in the operation's outcome."""

    AUTHORITATIVE = "authoritative"
    NON_AUTHORITATIVE = "non_authoritative"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FailureDiagnostic:
    """An original failure, before its text was dropped.

    **It may hold prompts, answers and credentials.** It is handed to a `FailureDiagnosticObserver` only.

    Args:
        extension_point: What failed, for example `provider`, `operation_interceptor`, `dlp` or `audit`.
        callback: The method or event, for example `intercept_request`.
        correlation_id: The operation's id.
        error: The original, with its traceback and causes.
        provider_id: The attempt's provider, where one was running.
        attempt: Its number, where one was running.
    """

    extension_point: str
    callback: str
    correlation_id: str
    error: BaseException
    provider_id: str | None = None
    attempt: int | None = None

    def __repr__(self) -> str:
        return (
            f"FailureDiagnostic({self.extension_point}.{self.callback}, "
            f"error={type(self.error).__name__}, correlation_id={self.correlation_id!r})"
        )


class FailureDiagnosticObserver:
    """Privileged: receives originals that may hold payload. Treat them as you treat the payload.

    Callers get an error in fixed words instead; this is the only way to the original. A plain method; what it
    raises is dropped and reported by type.
    """

    def on_failure(self, diagnostic: FailureDiagnostic) -> None:
        """Take one failure."""


def report_secondary_failure(
    extension_point: str,
    callback: str,
    error: BaseException,
    *,
    policy: FailurePolicy = FailurePolicy.FAIL_OPEN,
    authority: SecondaryEffectAuthority = SecondaryEffectAuthority.NON_AUTHORITATIVE,
) -> None:
    """Log one warning of exactly five identifiers on the logger `tramapy.secondary`; never text or a stack.

    What a logging handler raises is dropped: a broken log must not break the operation that it tells of.
    """
    # the application's own filters and handlers run in here, and nobody is left to tell of their failure
    with contextlib.suppress(Exception):
        _logger.warning(
            "secondary effect failed "
            "extension_point=%s callback=%s error_type=%s failure_policy=%s authority=%s",
            extension_point,
            callback,
            type(error).__name__,
            policy.name,
            authority.name,
        )


def add_note_once(error: BaseException, note: str) -> None:
    """Add a note that is not there yet: a provider may raise one and the same instance again and again."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
