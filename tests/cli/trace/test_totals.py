from __future__ import annotations

import pytest

from tests.cli.trace.events import STEPS, Step, heard
from tramapy.cli.trace.operations import TracedOperation, group_by_id
from tramapy.cli.trace.totals import OperationTotals, Summary


def traced(*steps: Step) -> TracedOperation:
    (operation,) = group_by_id(heard(steps))
    return operation


def summed(*operations: TracedOperation) -> str:
    summary = Summary()
    for operation in operations:
        summary.add(operation, OperationTotals.of(operation))
    return str(summary)


def ended(outcome: str) -> Step:
    return 1.0, "operation.completed", {"outcome": outcome, "attempt_count": 0, "duration_millis": 1}


def test_everything_is_counted() -> None:
    assert OperationTotals.of(traced(*STEPS)) == OperationTotals(
        attempt_count=2,
        retry_count=0,
        fallback_count=1,
        circuit_opened_count=1,
        redaction_count=2,
        rejection_count=0,
        input_tokens=1200,
        output_tokens=45,
        first_chunk_millis=90,
    )


def test_what_nobody_told_is_none() -> None:
    totals = OperationTotals.of(traced(STEPS[0]))
    assert (totals.input_tokens, totals.output_tokens, totals.first_chunk_millis) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        (
            "dlp.inspection_failed",
            {"content_type": "model_output", "content_location": "x", "reason_code": "rejected"},
        ),
        ("dlp.tool_result_rejected", {"reason_code": "too_long", "configured_limit": 1}),
    ],
)
def test_texts_and_tool_results_that_are_withheld_count_alike(
    name: str, attributes: dict[str, str | int | bool]
) -> None:
    assert OperationTotals.of(traced((0.0, name, attributes))).rejection_count == 1


def test_the_summary_names_what_happened() -> None:
    assert summed(traced(*STEPS), traced(ended("failed")), traced(STEPS[0])) == (
        "3 operations: 1 success, 1 failed, 1 without an end; 2 attempts, 1 fallback, 1 circuit opening, "
        "2 replacements, 1,200 input tokens, 45 output tokens."
    )


def test_the_summary_of_nothing() -> None:
    assert summed() == "No operations."
    assert summed(traced(ended("cancelled"))) == "1 operation: 1 cancelled."


def test_outcomes_that_nobody_knows_are_one() -> None:
    operations = [traced(ended(f"outcome-{number}")) for number in range(100)]
    assert summed(*operations) == "100 operations: 100 of another outcome."


def test_retries_have_a_plural() -> None:
    retry: Step = (
        0.0,
        "retry.scheduled",
        {"provider_id": "p", "attempt": 0, "retry_index": 0, "delay_millis": 5, "delay_source": "backoff"},
    )
    assert "2 retries" in summed(traced(retry, retry, ended("success")))
