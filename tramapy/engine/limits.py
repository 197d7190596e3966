"""How long an attempt may take, and the error for a limit that passed: the attempt's own or the operation's."""

from __future__ import annotations

from tramapy.engine.operation import Attempt, Operation
from tramapy.errors import DeadlineExceededError, ProviderError, ProviderTimeoutError, TramapyError

__all__ = ["check_deadline", "expired", "limit_s"]


def limit_s(operation: Operation, deadline_at_s: float) -> float:
    """Return how long the provider may take now: the attempt's timeout, or less where the deadline is near.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    timeout_s = operation.timeout_s
    left_s = deadline_at_s - operation.pipeline.port.now_s()
    if left_s <= 0:
        raise _deadline_error(operation.attempt_count)
    return timeout_s if timeout_s is not None and timeout_s < left_s else left_s


def expired(attempt: Attempt, passed_limit_s: float | None) -> TramapyError:
    """Return the error for a limit that passed: the deadline's if it was the rest of it, else the attempt's.

    The clock is not asked: the limit ran on the event loop's own, which may differ by its resolution.
    """
    operation = attempt.operation
    if passed_limit_s is not None and (operation.timeout_s is None or passed_limit_s < operation.timeout_s):
        return _deadline_error(operation.attempt_count)
    return ProviderTimeoutError(
        f"Provider {attempt.route.provider.provider_id!r} took longer than timeout_s={operation.timeout_s}"
    )


def check_deadline(
    operation: Operation, cause: ProviderError | None = None, *, now_s: float | None = None
) -> None:
    """Raise `DeadlineExceededError` where the operation's deadline has passed; `cause` failed before."""
    deadline_at_s = operation.deadline_at_s
    if deadline_at_s is None:
        return
    if now_s is None:
        now_s = operation.pipeline.port.now_s()
    if now_s >= deadline_at_s:
        raise _deadline_error(operation.attempt_count) from cause


def _deadline_error(attempt_count: int) -> DeadlineExceededError:
    attempts = "1 attempt" if attempt_count == 1 else f"{attempt_count} attempts"
    return DeadlineExceededError(
        f"The operation's deadline_s passed after {attempts}; raise deadline_s, or lower timeout_s"
    )
