"""The tallies against lists that forget nothing, over far more calls than a window holds."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.resilience.driving import ManualClock
from tramapy.resilience.tally import ConsecutiveTally, CountTally, TimeTally
from tramapy.resilience.window import CircuitBreakerWindow

calls = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from([0, 0, 1, 3, 9, 10, 11, 40])),
    min_size=20,
    max_size=60,
)
rates = st.sampled_from([0.25, 0.5, 0.75, 1.0])  # exact in binary
window_fields = st.fixed_dictionaries(
    {"minimum_calls": st.integers(1, 5), "failure_rate": rates, "slow_call_rate": rates}
)


def is_over(window: CircuitBreakerWindow, held: list[tuple[bool, bool]]) -> bool:
    if len(held) < window.minimum_calls:
        return False
    failed, slow = (Fraction(sum(call[bit] for call in held), len(held)) for bit in (0, 1))
    return failed >= Fraction(window.failure_rate) or slow >= Fraction(window.slow_call_rate)


@pytest.mark.unmeasured
@settings(max_examples=100)
@given(calls=calls, fields=window_fields, size_calls=st.integers(5, 8), clear_after=st.integers(0, 60))
def test_count_tally_judges_the_last_calls(calls, fields, size_calls, clear_after):
    window = CircuitBreakerWindow(size_calls=size_calls, **fields)
    tally = CountTally(window)
    held: list[tuple[bool, bool]] = []
    for number, (is_failure, is_slow, _) in enumerate(calls):
        if number == clear_after:
            tally.clear()
            held = []
        held = [*held, (is_failure, is_slow)][-size_calls:]
        assert tally.record(is_failure, is_slow) is is_over(window, held)


@pytest.mark.unmeasured
@settings(max_examples=100)
@given(calls=calls, fields=window_fields, clear_after=st.integers(0, 60))
def test_time_tally_judges_the_last_ten_tenths(calls, fields, clear_after):
    clock = ManualClock()
    window = CircuitBreakerWindow(size_s=10.0, **fields)
    tally = TimeTally(window, clock)
    held: list[tuple[float, tuple[bool, bool]]] = []
    for number, (is_failure, is_slow, step_s) in enumerate(calls):
        clock.now_s += step_s
        if number == clear_after:
            tally.clear()
            held = []
        held = [(at_s, call) for at_s, call in held if clock.now_s - at_s < 10.0]
        held.append((clock.now_s, (is_failure, is_slow)))
        assert tally.record(is_failure, is_slow) is is_over(window, [call for _, call in held])


@given(calls=calls, failure_threshold=st.integers(1, 5))
def test_consecutive_tally_judges_the_failures_since_the_last_success(calls, failure_threshold):
    tally = ConsecutiveTally(failure_threshold)
    in_a_row = 0
    for is_failure, is_slow, _ in calls:
        in_a_row = in_a_row + 1 if is_failure else 0
        assert tally.record(is_failure, is_slow) is (in_a_row >= failure_threshold)


@pytest.mark.parametrize("size", [{"size_calls": 50}, {"size_s": 50.0}], ids=["count", "time"])
def test_memory_does_not_grow_with_the_calls(size):
    clock = ManualClock()
    window = CircuitBreakerWindow(**size)
    tally = CountTally(window) if window.kind == "count" else TimeTally(window, clock)

    def held_bytes() -> int:
        names = [name for kind in type(tally).__mro__ for name in getattr(kind, "__slots__", ())]
        return sum(sys.getsizeof(getattr(tally, name)) for name in names)

    for _ in range(1000):
        clock.now_s += 1.0
        tally.record(True, False)
    before = held_bytes()
    for _ in range(10_000):
        clock.now_s += 1.0
        tally.record(True, False)
    assert held_bytes() == before
