"""The breaker under real threads that meet at a barrier."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest

from tests.resilience.driving import (
    BARRIER_TIMEOUT_S,
    ManualClock,
    at_once,
    breaker_of,
    fail_once,
    is_admitted,
    permit_of,
    rejection_of,
    windowed,
)
from tramapy.resilience.breaker import BreakerState, CircuitBreaker, Permit, Rejection, Transition


def expired_breaker(clock: ManualClock) -> CircuitBreaker:
    """A circuit whose open time is over, at clock 100."""
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 100.0
    return breaker


@pytest.mark.parametrize("count", [8, 16], ids=["rt07", "rt08"])
def test_rt07_rt08_one_of_many_callers_is_admitted_at_expiry(count):
    breaker = expired_breaker(ManualClock())
    admissions = at_once(lambda _: breaker.admit("p"), count)
    probes = [admission for admission in admissions if isinstance(admission, Permit)]
    rejections = [admission for admission in admissions if isinstance(admission, Rejection)]
    assert len(probes) == 1
    assert probes[0].half_opened
    assert [rejection.retry_after_s for rejection in rejections] == [0.0] * (count - 1)
    assert breaker.succeed(probes[0]) is Transition.CLOSED
    assert breaker.open_until_s("p") is None
    assert is_admitted(breaker)


def test_rt17_stale_reports_at_once_change_nothing():
    clock = ManualClock()
    breaker = breaker_of(clock, failure_threshold=1)
    stale = [permit_of(breaker) for _ in range(16)]
    fail_once(breaker)
    clock.now_s = 10.0
    failures = at_once(lambda number: breaker.fail(stale[number]), 8)
    successes = at_once(lambda number: breaker.succeed(stale[8 + number]), 8)
    assert failures + successes == [None] * 16
    assert breaker.open_until_s("p") == 100.0


def test_rt18_the_probe_wins_over_racing_stale_reports():
    clock = ManualClock()
    breaker = breaker_of(clock, failure_threshold=1)
    stale = [permit_of(breaker), permit_of(breaker)]
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    reports = [
        lambda: breaker.fail(probe),
        lambda: breaker.fail(stale[0]),
        lambda: breaker.succeed(stale[1]),
    ]
    transitions = at_once(lambda number: reports[number](), 3)
    assert transitions == [Transition.OPENED, None, None]
    assert breaker.open_until_s("p") == 200.0


def test_r07_exactly_n_probes_pass_at_expiry():
    clock = ManualClock()
    breaker = windowed(clock, half_open_permits=3)
    for _ in range(4):
        fail_once(breaker)
    clock.now_s = 100.0
    admissions = at_once(lambda _: breaker.admit("p"), 16)
    probes = [admission for admission in admissions if isinstance(admission, Permit)]
    assert len(probes) == 3
    assert sum(probe.half_opened for probe in probes) == 1


def test_r09_no_lock_is_held_during_a_call():
    breaker = breaker_of(ManualClock())
    everyone_is_in_a_call = threading.Barrier(8)

    def call(_: int) -> None:
        permit = permit_of(breaker)
        everyone_is_in_a_call.wait(BARRIER_TIMEOUT_S)  # breaks unless all eight calls run at the same time
        breaker.succeed(permit)

    at_once(call, 8)


def test_r10_no_failure_is_lost_between_threads():
    threads, each = 8, 500
    breaker = breaker_of(ManualClock(), failure_threshold=threads * each)
    transitions = at_once(lambda _: [fail_once(breaker) for _ in range(each)], threads)
    assert [transition for list_ in transitions for transition in list_ if transition] == [Transition.OPENED]


def test_r10_each_permit_counts_once_between_threads():
    breaker = breaker_of(ManualClock(), failure_threshold=2)
    permit = permit_of(breaker)
    assert at_once(lambda _: breaker.fail(permit), 8) == [None] * 8
    assert breaker.state("p") is BreakerState.CLOSED


def test_one_successor_for_a_probe_that_many_release():
    breaker = expired_breaker(ManualClock())
    probe = permit_of(breaker)
    at_once(lambda _: breaker.release(probe), 8)
    successor = permit_of(breaker)
    assert successor.generation == probe.generation + 1
    assert rejection_of(breaker).retry_after_s == 0.0


@contextlib.contextmanager
def lock_held_elsewhere(breaker: CircuitBreaker, clock: ManualClock) -> Iterator[None]:
    """Stop another thread where it reads the clock under the lock: it asks for a provider that is shut off."""
    is_inside, may_go_on = threading.Event(), threading.Event()
    was_told_to_go_on = []

    def stop() -> None:
        is_inside.set()
        was_told_to_go_on.append(may_go_on.wait(BARRIER_TIMEOUT_S))

    fail_once(breaker, "other")
    clock.on_read = stop
    thread = threading.Thread(target=breaker.admit, args=("other",), daemon=True)
    thread.start()
    assert is_inside.wait(BARRIER_TIMEOUT_S)
    yield
    may_go_on.set()
    thread.join(BARRIER_TIMEOUT_S)
    assert was_told_to_go_on == [True], "the body must not have waited for the lock"


def test_release_does_not_wait_for_the_lock():
    clock = ManualClock()
    breaker = expired_breaker(clock)
    probe = permit_of(breaker)
    with lock_held_elsewhere(breaker, clock):
        breaker.release(probe)
    assert permit_of(breaker).generation == probe.generation + 1


def test_asking_for_a_healthy_provider_does_not_wait_for_the_lock():
    clock = ManualClock()
    breaker = expired_breaker(clock)
    assert breaker.succeed(permit_of(breaker)) is Transition.CLOSED
    with lock_held_elsewhere(breaker, clock):
        assert permit_of(breaker, "never seen").generation == 0
        assert permit_of(breaker, "p").generation == 1


@pytest.mark.parametrize("size", [{"size_calls": 1000}, {"size_s": 10.0}], ids=["count", "time"])
def test_windowed_totals_stay_exact_between_threads(size):
    """After 400 failures and 400 successes, the 801st call decides: with one of them lost it would not."""
    breaker = windowed(ManualClock(), failure_rate=0.5, minimum_calls=801, **size)

    def call(number: int) -> None:
        report = breaker.fail if number % 2 else breaker.succeed
        for _ in range(100):
            assert report(permit_of(breaker)) is None

    at_once(call, 8)
    assert fail_once(breaker) is Transition.OPENED
