"""`OperationTotals`: what an operation's events come to; and `Summary`, the same over all operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tramapy.cli.trace.operations import TracedOperation
from tramapy.hooks import catalogue

__all__ = ["OperationTotals", "Summary"]

_ENDS: Final = (catalogue.ATTEMPT_COMPLETED, catalogue.ATTEMPT_FAILED, catalogue.ATTEMPT_CANCELLED)
_OUTCOMES: Final = ("success", "failed", "blocked", "cut", "cancelled", "closed", "abandoned")
_OTHER: Final = "of another outcome"
_UNKNOWN: Final = "without an end"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationTotals:
    """Counts of one operation; None where nobody told.

    Args:
        attempt_count: Attempts that began.
        retry_count: Retries that were scheduled.
        fallback_count: Attempts that went to a route that is not the primary one.
        circuit_opened_count: Breakers that opened.
        redaction_count: Matches that DLP replaced.
        rejection_count: Texts and tool results that DLP withheld.
        input_tokens: Tokens of all prompts.
        output_tokens: Tokens of all answers.
        first_chunk_millis: From the start of the last attempt that was streamed to its first piece.
    """

    attempt_count: int
    retry_count: int
    fallback_count: int
    circuit_opened_count: int
    redaction_count: int
    rejection_count: int
    input_tokens: int | None
    output_tokens: int | None
    first_chunk_millis: int | None

    @classmethod
    def of(cls, operation: TracedOperation) -> OperationTotals:
        """Count."""
        selected = catalogue.ROUTE_SELECTED.name
        chunks = [event.attributes.get("first_chunk_millis") for event in operation.events]
        return cls(
            attempt_count=operation.count(catalogue.ATTEMPT_STARTED),
            retry_count=operation.count(catalogue.RETRY_SCHEDULED),
            fallback_count=sum(
                event.name == selected and event.attributes.get("is_fallback") is True
                for event in operation.events
            ),
            circuit_opened_count=operation.count(catalogue.CIRCUIT_OPENED),
            redaction_count=operation.total("replacement_count", catalogue.DLP_REDACTED) or 0,
            rejection_count=operation.count(catalogue.DLP_INSPECTION_FAILED)
            + operation.count(catalogue.DLP_TOOL_RESULT_REJECTED),
            input_tokens=operation.total("input_tokens", *_ENDS),
            output_tokens=operation.total("output_tokens", *_ENDS),
            first_chunk_millis=next((chunk for chunk in reversed(chunks) if isinstance(chunk, int)), None),
        )


class Summary:
    """What all operations come to."""

    def __init__(self) -> None:
        self._outcomes: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def add(self, operation: TracedOperation, totals: OperationTotals) -> None:
        """Take an operation."""
        outcome = operation.outcome
        if outcome is None:
            outcome = _UNKNOWN
        elif outcome not in _OUTCOMES:
            outcome = _OTHER  # a file may have any number of them
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1
        for name, count in (
            ("attempt", totals.attempt_count),
            ("retry", totals.retry_count),
            ("fallback", totals.fallback_count),
            ("circuit opening", totals.circuit_opened_count),
            ("replacement", totals.redaction_count),
            ("text withheld", totals.rejection_count),
            ("input token", totals.input_tokens or 0),
            ("output token", totals.output_tokens or 0),
        ):
            self._counts[name] = self._counts.get(name, 0) + count

    def __str__(self) -> str:
        operation_count = sum(self._outcomes.values())
        if not operation_count:
            return "No operations."
        known = [name for name in (*_OUTCOMES, _OTHER, _UNKNOWN) if name in self._outcomes]
        outcomes = ", ".join(f"{self._outcomes[name]:,} {name}" for name in known)
        counts = ", ".join(_counted(count, name) for name, count in self._counts.items() if count)
        return f"{_counted(operation_count, 'operation')}: {outcomes}{'; ' if counts else ''}{counts}."


_PLURALS: Final = {"retry": "retries", "text withheld": "texts withheld"}


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name if count == 1 else _PLURALS.get(name, f'{name}s')}"
