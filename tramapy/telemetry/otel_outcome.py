"""How an attempt or an operation ended, in the few words that spans and metrics have for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tramapy.hooks.event_model import RuntimeEvent

__all__ = ["CANCELLED_ERROR_TYPE", "DROPPED", "LOST", "SUCCESS", "Outcome"]

OTHER: Final = "_OTHER"
CANCELLED_ERROR_TYPE: Final = "cancelled"
DLP_BLOCKED: Final = "tramapy.dlp.blocked"

_ERROR_TYPES: Final = {
    "timeout": "timeout",
    "circuit_open": "tramapy.circuit.open",
    "deadline": "tramapy.deadline.exceeded",
    "interceptor": "tramapy.interceptor.failed",
    "budget": "tramapy.token_budget.exceeded",
    "configuration": "tramapy.configuration.invalid",
}
_STATUS_CODES: Final = range(100, 600)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome's name, and its `error.type` where it is an error.

    A name is one of `success`, `failed`, `blocked` (by DLP), `cut` (a stream without an end), `cancelled`,
    `closed` and `abandoned` (by the consumer), and of `lost` and `dropped` (no end was heard).
    """

    name: str
    error_type: str | None = None


SUCCESS: Final = Outcome("success")
LOST: Final = Outcome("lost")
DROPPED: Final = Outcome("dropped")
_BLOCKED_ATTEMPT: Final = Outcome("blocked")
_BLOCKED_OPERATION: Final = Outcome("blocked", DLP_BLOCKED)


def completed_attempt(_: RuntimeEvent) -> Outcome:
    """Judge an attempt that gave an answer."""
    return SUCCESS


def failed_attempt(event: RuntimeEvent) -> Outcome:
    """Judge an attempt's failure. That DLP blocked its answer is no error of the attempt's."""
    kind = event.attribute("failure_kind")
    if kind == "dlp":
        return _BLOCKED_ATTEMPT
    if kind != "provider":
        return Outcome("failed", _ERROR_TYPES.get(str(kind), OTHER))
    status_code, failure_code = event.attribute("status_code"), event.attribute("failure_code")
    name = "cut" if failure_code == "stream_cut" else "failed"
    if isinstance(status_code, int) and status_code in _STATUS_CODES:
        return Outcome(name, str(status_code))
    return Outcome(name, OTHER if failure_code is None else str(failure_code))


def cancelled_attempt(event: RuntimeEvent, *, is_error: bool) -> Outcome:
    """Judge an attempt that ended without an outcome; a consumer that closes a stream is never an error."""
    reason = str(event.attribute("cancel_reason"))
    return Outcome(reason, CANCELLED_ERROR_TYPE if is_error and reason == "cancelled" else None)


def completed_operation(event: RuntimeEvent, last: Outcome | None, *, cancelled_is_error: bool) -> Outcome:
    """Judge an operation by its own event, and by how its last attempt ended where that says more."""
    outcome = event.attribute("outcome")
    if outcome == "success":
        return SUCCESS
    if outcome == "cancelled":
        if last is not None and last.name in ("closed", "abandoned"):
            return last
        return Outcome("cancelled", CANCELLED_ERROR_TYPE if cancelled_is_error else None)
    kind = event.attribute("failure_kind")
    if kind == "dlp":
        return _BLOCKED_OPERATION
    if kind == "provider" and last is not None and last.error_type is not None:
        return last
    return Outcome("failed", _ERROR_TYPES.get(str(kind), OTHER))
