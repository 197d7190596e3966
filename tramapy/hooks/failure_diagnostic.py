"""`FailureDiagnostic`: an original failure, for privileged eyes; imported at the first one."""

from __future__ import annotations

from dataclasses import dataclass

from tramapy.keywords import explains_names
from tramapy.values import class_label

__all__ = ["FailureDiagnostic"]


@explains_names
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
            f"error={class_label(self.error)}, correlation_id={self.correlation_id!r})"
        )
