"""The breaker's windowed profile: rates, several probes, and probes that get lost."""

from __future__ import annotations

import pytest

from tests.resilience.driving import (
    ManualClock,
    breaker_of,
    fail_once,
    is_admitted,
    permit_of,
    rejection_of,
    succeed_once,
    windowed,
)
from tramapy.resilience.breaker import BreakerState, CircuitBreaker, Permit, Transition


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def half_open(
    clock: ManualClock, probe_count: int, neutral_probe: str = "release", **window: object
) -> tuple[CircuitBreaker, list[Permit]]:
    """A circuit whose probes are all out, at clock 100."""
    breaker = windowed(clock, neutral_probe=neutral_probe, half_open_permits=probe_count, **window)
    for _ in range(4):
        fail_once(breaker)
    clock.now_s = 100.0
    return breaker, [permit_of(breaker) for _ in range(probe_count)]


def test_each_attempt_is_reported(clock):
    assert windowed(clock).reports_each_attempt
    assert not breaker_of(clock).reports_each_attempt


def test_opens_at_the_failure_rate_and_not_before(clock):
    breaker = windowed(clock)
    succeed_once(breaker)
    succeed_once(breaker)
    assert fail_once(breaker) is None
    assert fail_once(breaker) is Transition.OPENED
    assert breaker.open_until_s("p") == 100.0


def test_too_few_calls_say_nothing(clock):
    breaker = windowed(clock, minimum_calls=4)
    assert [fail_once(breaker) for _ in range(4)] == [None, None, None, Transition.OPENED]


def test_a_success_may_complete_the_minimum_and_open(clock):
    breaker = windowed(clock, minimum_calls=4)
    for _ in range(3):
        fail_once(breaker)
    assert succeed_once(breaker) is Transition.OPENED


def test_old_calls_leave_a_count_window(clock):
    breaker = windowed(clock, size_calls=4, minimum_calls=4, failure_rate=0.75)
    for report in (fail_once, fail_once, succeed_once, succeed_once, succeed_once):
        assert report(breaker) is None
    assert fail_once(breaker) is None, "success, success, success, failure: the first failures are out"
    assert fail_once(breaker) is None
    assert fail_once(breaker) is Transition.OPENED


@pytest.mark.parametrize(("second_at_s", "opens"), [(9.0, True), (10.0, False)], ids=["within", "outside"])
def test_old_calls_leave_a_time_window(clock, second_at_s, opens):
    breaker = windowed(clock, size_s=10.0, minimum_calls=4)
    for _ in range(3):
        fail_once(breaker)
    clock.now_s = second_at_s
    assert (fail_once(breaker) is Transition.OPENED) is opens


def test_a_long_pause_empties_a_time_window(clock):
    breaker = windowed(clock, size_s=10.0, minimum_calls=4)
    for second in range(3):
        clock.now_s = float(second)
        fail_once(breaker)
    clock.now_s = 1_000_000.0
    assert [fail_once(breaker) for _ in range(4)] == [None, None, None, Transition.OPENED]


def test_a_clock_that_steps_back_loses_no_call(clock):
    clock.now_s = 50.0
    breaker = windowed(clock, size_s=10.0, minimum_calls=4)
    fail_once(breaker)
    clock.now_s = 20.0
    assert [fail_once(breaker) for _ in range(3)] == [None, None, Transition.OPENED]


@pytest.mark.parametrize("size", [{"size_calls": 10}, {"size_s": 10.0}], ids=["count", "time"])
@pytest.mark.parametrize(
    ("duration_s", "opens"), [(2.0, False), (2.001, True), (None, False)], ids=["equal", "longer", "unknown"]
)
def test_slow_calls_open_at_their_own_rate(clock, size, duration_s, opens):
    breaker = windowed(clock, slow_call_duration_s=2.0, slow_call_rate=0.5, **size)
    transitions = [breaker.succeed(permit_of(breaker), duration_s) for _ in range(4)]
    assert transitions == [None, None, None, Transition.OPENED if opens else None]


def test_a_failed_call_may_be_slow_too(clock):
    breaker = windowed(clock, failure_rate=1.0, slow_call_duration_s=2.0, slow_call_rate=0.5)
    succeed_once(breaker)
    succeed_once(breaker)
    assert breaker.fail(permit_of(breaker), 3.0) is None
    assert breaker.fail(permit_of(breaker), 3.0) is Transition.OPENED


def test_slow_calls_leave_the_count_window(clock):
    breaker = windowed(clock, size_calls=4, slow_call_duration_s=2.0, slow_call_rate=0.5)
    breaker.succeed(permit_of(breaker), 3.0)
    for _ in range(4):
        breaker.succeed(permit_of(breaker), 1.0)
    assert breaker.succeed(permit_of(breaker), 3.0) is None


def test_duration_means_nothing_without_a_slow_limit(clock):
    breaker = windowed(clock)
    for _ in range(10):
        breaker.succeed(permit_of(breaker), 1e9)
    assert breaker.state("p") is BreakerState.CLOSED


def test_n_probes_and_no_more(clock):
    breaker, probes = half_open(clock, 3)
    assert [probe.half_opened for probe in probes] == [True, False, False]
    assert rejection_of(breaker).retry_after_s == 0.0


def test_all_probes_decide_together(clock):
    breaker, probes = half_open(clock, 3)
    assert breaker.fail(probes[0]) is None
    assert breaker.succeed(probes[1]) is None
    assert not is_admitted(breaker), "a place that was reported is not given again"
    assert breaker.succeed(probes[2]) is Transition.CLOSED


def test_reopens_as_soon_as_the_rate_cannot_be_missed(clock):
    breaker, probes = half_open(clock, 4)
    assert breaker.fail(probes[0]) is None
    assert breaker.fail(probes[1]) is Transition.OPENED
    assert breaker.succeed(probes[2]) is None
    assert breaker.open_until_s("p") == 200.0


def test_slow_probes_reopen(clock):
    breaker, probes = half_open(clock, 2, slow_call_duration_s=2.0, slow_call_rate=1.0)
    assert breaker.succeed(probes[0], 3.0) is None
    assert breaker.succeed(probes[1], 3.0) is Transition.OPENED


def test_the_window_starts_empty_after_recovery(clock):
    breaker, probes = half_open(clock, 1)
    assert breaker.succeed(probes[0]) is Transition.CLOSED
    assert [fail_once(breaker) for _ in range(4)] == [None, None, None, Transition.OPENED]


def test_a_neutral_probe_frees_its_place_and_leaves_its_siblings_alone(clock):
    breaker, probes = half_open(clock, 3)
    breaker.release(probes[0])
    successor = permit_of(breaker)
    assert successor.generation == probes[1].generation + 1
    assert not is_admitted(breaker)
    assert breaker.succeed(probes[1]) is None
    assert breaker.succeed(probes[2]) is None
    assert breaker.succeed(successor) is Transition.CLOSED


def test_under_reopen_a_neutral_probe_voids_its_siblings(clock):
    breaker, (first, second) = half_open(clock, 2, "reopen")
    breaker.release(first)
    assert breaker.open_until_s("p") == 200.0
    assert breaker.succeed(second) is None
    assert breaker.state("p") is BreakerState.OPEN


@pytest.mark.parametrize("neutral_probe", ["release", "reopen"])
def test_a_probe_that_is_out_too_long_loses_its_place(clock, neutral_probe):
    breaker, (lost,) = half_open(clock, 1, neutral_probe, max_probe_s=60.0)
    clock.now_s = 159.0
    assert not is_admitted(breaker)
    clock.now_s = 160.0
    successor = permit_of(breaker)
    assert successor.is_probe
    assert not successor.half_opened
    assert successor.generation == lost.generation + 1
    assert breaker.fail(lost) is None
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert breaker.succeed(successor) is Transition.CLOSED


@pytest.mark.parametrize("end", ["succeed", "fail", "release"])
def test_a_lost_probe_says_nothing_even_where_nobody_has_taken_its_place(clock, end):
    breaker, (lost,) = half_open(clock, 1, max_probe_s=60.0)
    clock.now_s = 160.0
    assert getattr(breaker, end)(lost) is None
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert permit_of(breaker).generation == lost.generation + 1


def test_a_lost_probe_does_not_count_after_recovery(clock):
    breaker, (lost,) = half_open(clock, 1, max_probe_s=60.0)
    clock.now_s = 160.0
    assert succeed_once(breaker) is Transition.CLOSED
    for _ in range(3):
        fail_once(breaker)
    assert breaker.fail(lost) is None
    assert fail_once(breaker) is Transition.OPENED
