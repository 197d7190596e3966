"""The token budget. `test_rtNN` is item NN of the acceptance list."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tramapy.resilience.budget import (
    HardLimitExceeded,
    SoftLimitExceeded,
    TokenBudget,
    TokenBudgetSettings,
    UsageUnavailable,
)

COUNTS = st.integers(0, 50)


def budget_of(
    attempt: int | None = None, operation: int | None = None, soft: int | None = None
) -> TokenBudget:
    return TokenBudget(
        TokenBudgetSettings(
            hard_max_tokens_per_attempt=attempt,
            hard_max_tokens_per_operation=operation,
            soft_max_tokens_per_operation=soft,
        )
    )


def test_rt163_a_limit_is_passed_only_by_more():
    assert budget_of(attempt=10).add(6, 4) is None
    assert budget_of(attempt=10).add(6, 5) == HardLimitExceeded(
        scope="attempt", limit_tokens=10, observed_tokens=11
    )


def test_rt164_the_soft_limit_is_reported_once():
    budget = budget_of(soft=10)
    assert budget.add(5, 5) is None
    assert budget.add(1, 0) == SoftLimitExceeded(limit_tokens=10, observed_tokens=11)
    assert budget.add(1, 0) is None


@pytest.mark.parametrize(
    ("input_tokens", "output_tokens"), [(None, 5), (5, None), (None, None), (-1, 5), (5, -1)]
)
def test_rt165_without_a_usage_report_nothing_is_added(input_tokens, output_tokens):
    budget = budget_of(operation=10)
    assert isinstance(budget.add(input_tokens, output_tokens), UsageUnavailable)
    assert budget.add(10, 0) is None, "the limit must still be free"


def test_the_operations_limit_adds_attempts_up():
    budget = budget_of(operation=10)
    assert budget.add(5, 5) is None
    assert budget.add(0, 0) is None
    assert budget.add(0, 1) == HardLimitExceeded(scope="operation", limit_tokens=10, observed_tokens=11)


def test_the_attempts_limit_comes_before_the_operations():
    assert budget_of(attempt=10, operation=5).add(11, 0) == HardLimitExceeded(
        scope="attempt", limit_tokens=10, observed_tokens=11
    )


def test_a_hard_limit_hides_the_soft_one_until_the_next_answer():
    budget = budget_of(attempt=10, soft=5)
    assert isinstance(budget.add(11, 0), HardLimitExceeded)
    assert budget.add(1, 0) == SoftLimitExceeded(limit_tokens=5, observed_tokens=12)


@pytest.mark.parametrize("usage", [(None, None), (10**9, 10**9)], ids=["unknown", "huge"])
def test_without_limits_there_is_nothing_to_say(usage):
    assert not TokenBudgetSettings().is_active
    assert budget_of().add(*usage) is None


@pytest.mark.parametrize("name", ["attempt", "operation", "soft"])
def test_one_limit_makes_it_active(name):
    fields = {
        "attempt": "hard_max_tokens_per_attempt",
        "operation": "hard_max_tokens_per_operation",
        "soft": "soft_max_tokens_per_operation",
    }
    assert TokenBudgetSettings(**{fields[name]: 1}).is_active


@pytest.mark.parametrize(
    ("value", "kind", "remedy"),
    [
        (0, ValueError, "is 0; give at least 1"),
        (-5, ValueError, "is -5; give at least 1"),
        (-(10**5000), ValueError, "is an int of 16610 bits; give at least 1"),
        (True, TypeError, "takes an int, not bool"),
        (10.0, TypeError, "takes an int, not float"),
    ],
    ids=["zero", "negative", "very-negative", "bool", "float"],
)
@pytest.mark.parametrize(
    "field",
    ["hard_max_tokens_per_attempt", "hard_max_tokens_per_operation", "soft_max_tokens_per_operation"],
)
def test_limits_that_cannot_work_are_refused_by_name(field, value, kind, remedy):
    with pytest.raises(kind, match=rf"TokenBudgetSettings\.{field} {remedy}"):
        TokenBudgetSettings(**{field: value})


@pytest.mark.parametrize("soft", [10, 11])
def test_a_soft_limit_that_the_hard_one_hides_is_refused(soft):
    complaint = (
        rf"^TokenBudgetSettings\.soft_max_tokens_per_operation is {soft}, which would never be reported; "
        rf"give less than hard_max_tokens_per_operation \(10\), or leave it out$"
    )
    with pytest.raises(ValueError, match=complaint):
        TokenBudgetSettings(hard_max_tokens_per_operation=10, soft_max_tokens_per_operation=soft)


def test_a_soft_limit_may_be_above_what_one_attempt_may_use():
    TokenBudgetSettings(hard_max_tokens_per_attempt=10, soft_max_tokens_per_operation=11)


@given(
    usages=st.lists(st.tuples(COUNTS, COUNTS), max_size=12),
    attempt=st.one_of(st.none(), st.integers(1, 100)),
    operation=st.one_of(st.none(), st.integers(1, 400)),
    soft=st.one_of(st.none(), st.integers(1, 400)),
)
def test_outcomes_follow_from_the_sums(usages, attempt, operation, soft):
    assume(operation is None or soft is None or soft < operation)
    budget = budget_of(attempt, operation, soft)
    used, soft_reports = 0, 0
    for input_tokens, output_tokens in usages:
        now = input_tokens + output_tokens
        used += now
        outcome = budget.add(input_tokens, output_tokens)
        if attempt is not None and now > attempt:
            assert outcome == HardLimitExceeded(scope="attempt", limit_tokens=attempt, observed_tokens=now)
        elif operation is not None and used > operation:
            assert outcome == HardLimitExceeded(
                scope="operation", limit_tokens=operation, observed_tokens=used
            )
        elif soft is not None and used > soft and not soft_reports:
            assert outcome == SoftLimitExceeded(limit_tokens=soft, observed_tokens=used)
            soft_reports += 1
        else:
            assert outcome is None
