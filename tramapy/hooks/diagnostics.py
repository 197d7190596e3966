"""Where a hidden failure goes: a log line of identifiers, or a privileged observer that sees it whole."""

from __future__ import annotations

import contextlib
import enum
import logging
from typing import TYPE_CHECKING

from tramapy.values import class_label

if TYPE_CHECKING:
    from tramapy.hooks.failure_diagnostic import FailureDiagnostic

__all__ = [
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
            class_label(error),
            policy.name,
            authority.name,
        )


def add_note_once(error: BaseException, note: str) -> None:
    """Add a note that is not there yet: a provider may raise one and the same instance again and again."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
