"""The breaker's default profile. `test_rtNN` is item NN of the acceptance list, at the mechanism's level."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.resilience.driving import (
    ManualClock,
    at_once,
    breaker_of,
    end_with,
    fail_once,
    is_admitted,
    permit_of,
    rejection_of,
    succeed_once,
)
from tramapy.errors import (
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
    ProviderTimeoutError,
)
from tramapy.resilience.breaker import (
    BreakerState,
    CircuitBreaker,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    Rejection,
    Transition,
)

NEUTRAL_ENDS = pytest.mark.parametrize(
    "error",
    [
        DlpInspectionError("refused"),
        InterceptorError("hook"),
        ProviderError("bad request", status_code=400),
        asyncio.CancelledError(),
    ],
    ids=["dlp", "interceptor", "not_retryable", "cancelled"],
)
BOTH_MODES = pytest.mark.parametrize("neutral_probe", ["release", "reopen"])
RETRYABLE = ProviderError("overloaded", retryable=True)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_rt01_disabled_breaker_has_no_deadline(clock):
    breaker = breaker_of(clock, enabled=False)
    fail_once(breaker)
    assert breaker.open_until_s("p") is None


def test_rt02_unknown_provider_has_no_deadline_and_is_closed(clock):
    breaker = breaker_of(clock)
    assert breaker.open_until_s("p") is None
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt03_deadline_is_now_plus_duration_and_gone_when_reached(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    assert fail_once(breaker) is Transition.OPENED
    assert breaker.open_until_s("p") == 100.0
    clock.now_s = 99.0
    assert breaker.open_until_s("p") == 100.0
    clock.now_s = 100.0
    assert breaker.open_until_s("p") is None
    assert breaker.state("p") is BreakerState.OPEN, "reading the deadline must not admit a probe"


@pytest.mark.parametrize("window", [None, CircuitBreakerWindow(minimum_calls=1)], ids=["default", "windowed"])
def test_rt04_disabled_breaker_counts_nothing_and_admits(clock, window):
    breaker = breaker_of(clock, enabled=False, failure_threshold=1, window=window)
    for _ in range(3):
        permit = permit_of(breaker)
        assert permit.generation == 0
        assert breaker.fail(permit) is None
        assert breaker.succeed(permit_of(breaker)) is None
        breaker.release(permit_of(breaker))
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt05_with_the_real_clock_the_deadline_lies_ahead():
    breaker = CircuitBreaker(CircuitBreakerSettings(failure_threshold=1), time.monotonic)
    before_s = time.monotonic()
    fail_once(breaker)
    deadline_s = breaker.open_until_s("p")
    assert deadline_s is not None
    assert deadline_s >= before_s + 30.0


def test_rt06_success_resets_the_count(clock):
    breaker = breaker_of(clock, failure_threshold=2)
    for _ in range(2):
        assert fail_once(breaker) is None
        assert succeed_once(breaker) is None
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt07_rejected_until_the_exact_instant(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 99.0
    assert rejection_of(breaker).retry_after_s == 1.0
    clock.now_s = 100.0
    probe = permit_of(breaker)
    assert probe.is_probe
    assert probe.half_opened
    assert rejection_of(breaker).retry_after_s == 0.0


def test_rt08_success_of_the_probe_closes(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 100.0
    assert succeed_once(breaker) is Transition.CLOSED
    assert breaker.open_until_s("p") is None
    permit = permit_of(breaker)
    assert not permit.is_probe
    assert not permit.half_opened


def test_rt09_late_success_of_a_sibling_does_not_unblock(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    first, second = permit_of(breaker), permit_of(breaker)
    assert breaker.fail(first) is Transition.OPENED
    assert breaker.succeed(second) is None
    assert breaker.open_until_s("p") == 100.0


def test_rt10_late_failure_of_a_sibling_does_not_move_the_deadline(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    first, second = permit_of(breaker), permit_of(breaker)
    breaker.fail(first)
    clock.now_s = 10.0
    assert breaker.fail(second) is None
    assert breaker.open_until_s("p") == 100.0


def test_rt11_failure_of_the_probe_reopens_whatever_the_threshold(clock):
    breaker = breaker_of(clock, failure_threshold=3)
    for _ in range(3):
        fail_once(breaker)
    clock.now_s = 100.0
    assert fail_once(breaker) is Transition.OPENED
    assert breaker.open_until_s("p") == 200.0


@BOTH_MODES
@pytest.mark.parametrize(
    "end", [RETRYABLE, DlpInspectionError("refused"), None], ids=["failed", "neutral", "abandoned"]
)
def test_rt12_permit_of_the_first_closed_era_never_acts_as_the_probe(clock, neutral_probe, end):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe=neutral_probe)
    old = [permit_of(breaker) for _ in range(3)]
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    if end is None:
        breaker.release(probe)
    else:
        end_with(breaker, probe, end)
    clock.now_s = 200.0
    second_probe = permit_of(breaker)
    clock.now_s = 210.0
    assert breaker.succeed(old[0]) is None
    assert breaker.fail(old[1]) is None
    breaker.release(old[2])
    assert rejection_of(breaker).retry_after_s == 0.0
    assert breaker.succeed(second_probe) is Transition.CLOSED


def test_rt13_stale_success_during_a_probe_admits_nobody(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    stale = permit_of(breaker)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    assert breaker.succeed(stale) is None
    assert not is_admitted(breaker)
    assert breaker.fail(probe) is Transition.OPENED
    assert breaker.open_until_s("p") == 200.0


def test_rt14_stale_success_does_not_reset_a_recovered_circuit(clock):
    breaker = breaker_of(clock, failure_threshold=2)
    stale = permit_of(breaker)
    fail_once(breaker)
    fail_once(breaker)
    clock.now_s = 100.0
    succeed_once(breaker)
    assert fail_once(breaker) is None
    assert breaker.succeed(stale) is None
    assert fail_once(breaker) is Transition.OPENED


def test_rt15_stale_failure_does_not_count_on_a_recovered_circuit(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    stale = permit_of(breaker)
    fail_once(breaker)
    clock.now_s = 100.0
    succeed_once(breaker)
    assert breaker.fail(stale) is None
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt16_one_failure_then_one_good_probe_is_a_whole_cycle(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    assert breaker.open_until_s("p") == 100.0
    clock.now_s = 100.0
    probe = permit_of(breaker)
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert breaker.succeed(probe) is Transition.CLOSED
    assert breaker.state("p") is BreakerState.CLOSED


def test_rt19_probe_generations_count_the_openings(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    generations = []
    for cycle in range(1, 5):
        fail_once(breaker)
        clock.now_s = cycle * 100.0
        probe = permit_of(breaker)
        generations.append(probe.generation)
        breaker.succeed(probe)
    assert generations == [1, 2, 3, 4]


@NEUTRAL_ENDS
def test_rt20_neutral_probe_reopens_silently_with_a_fresh_deadline(clock, error):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe="reopen")
    fail_once(breaker)
    clock.now_s = 150.0
    probe = permit_of(breaker)
    clock.now_s = 160.0
    assert end_with(breaker, probe, error) is None
    assert breaker.state("p") is BreakerState.OPEN
    assert breaker.open_until_s("p") == 260.0
    clock.now_s = 260.0
    assert permit_of(breaker).generation == probe.generation + 1


@NEUTRAL_ENDS
def test_rt20_neutral_probe_frees_its_place_at_once_by_default(clock, error):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    assert end_with(breaker, probe, error) is None
    assert breaker.state("p") is BreakerState.HALF_OPEN
    successor = permit_of(breaker)
    assert successor.is_probe
    assert not successor.half_opened, "no second half-open event"
    assert successor.generation == probe.generation + 1
    assert not is_admitted(breaker), "still one probe at a time"
    assert breaker.succeed(successor) is Transition.CLOSED


@BOTH_MODES
@NEUTRAL_ENDS
def test_rt21_neutral_outcome_does_not_reset_the_count(clock, neutral_probe, error):
    breaker = breaker_of(clock, failure_threshold=2, neutral_probe=neutral_probe)
    assert fail_once(breaker) is None
    assert end_with(breaker, permit_of(breaker), error) is None
    assert fail_once(breaker) is Transition.OPENED


@BOTH_MODES
def test_rt22_neutral_outcome_leaves_a_closed_circuit_alone(clock, neutral_probe):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe=neutral_probe)
    for _ in range(1000):
        breaker.release(permit_of(breaker))
    assert breaker.state("p") is BreakerState.CLOSED
    assert permit_of(breaker).generation == 0


def test_rt23_providers_are_independent_and_models_share_theirs(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker, "a")
    assert is_admitted(breaker, "b")
    assert breaker.state("b") is BreakerState.CLOSED
    assert rejection_of(breaker, "a").provider_id == "a"


@pytest.mark.parametrize("field", ["failure_threshold", "open_duration_s"])
def test_rt24_zero_is_refused(field):
    with pytest.raises(ValueError, match=rf"CircuitBreakerSettings\.{field} is 0(\.0)?; give "):
        CircuitBreakerSettings(**{field: 0})


def test_rt25_a_route_with_one_retry_opens_once(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    assert not breaker.reports_each_attempt
    route = permit_of(breaker)
    transitions = [breaker.fail(route), breaker.fail(route)]  # a second report of the same route is void
    assert transitions == [Transition.OPENED, None]


@pytest.mark.parametrize("first", ["succeed", "fail", "release"])
@pytest.mark.parametrize("second", ["succeed", "fail", "release"])
def test_a_permit_is_settled_once(clock, first, second):
    breaker = breaker_of(clock, failure_threshold=2)
    fail_once(breaker)
    permit = permit_of(breaker)
    getattr(breaker, first)(permit)
    assert permit.is_settled
    before = (breaker.state("p"), breaker.open_until_s("p"))
    assert getattr(breaker, second)(permit) is None
    assert (breaker.state("p"), breaker.open_until_s("p")) == before
    if first == "release":
        assert fail_once(breaker) is Transition.OPENED, "the first failure must still be on the count"


@BOTH_MODES
def test_a_probe_is_settled_once(clock, neutral_probe):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe=neutral_probe)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    breaker.succeed(probe)
    breaker.release(probe)
    breaker.fail(probe)
    assert breaker.state("p") is BreakerState.CLOSED


def test_asking_leaves_no_trace_while_closed(clock):
    breaker = breaker_of(clock)
    for _ in range(10):
        permit_of(breaker, "asked")
    succeed_once(breaker, "asked")
    assert clock.read_count == 0


def test_the_reopen_deadline_runs_from_the_release(clock):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe="reopen")
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    clock.now_s = 130.0
    breaker.release(probe)
    clock.now_s = 140.0
    assert breaker.open_until_s("p") == 230.0


def test_a_finalizer_may_release_inside_another_call(clock):
    """The clock is read under the lock, so a hook there stands for a collector that strikes there."""
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    clock.on_read = lambda: breaker.release(probe)
    (admission,) = at_once(lambda _: breaker.admit("p"), 1)  # in a thread, lest a deadlock hang the run
    assert admission == Rejection("p", 0.0)
    successor = permit_of(breaker)
    assert successor.generation == probe.generation + 1


@pytest.mark.parametrize("report", ["succeed", "fail"])
def test_a_deferred_release_comes_before_the_next_report(clock, report):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)

    def release_twice() -> None:
        breaker.release(probe)
        breaker.release(probe)

    clock.on_read = release_twice
    at_once(lambda _: breaker.admit("p"), 1)
    assert getattr(breaker, report)(probe) is None
    assert breaker.state("p") is BreakerState.HALF_OPEN


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"enabled": 1}, TypeError, "enabled takes a bool, not int"),
        ({"failure_threshold": True}, TypeError, "failure_threshold takes an int, not bool"),
        ({"failure_threshold": 2.0}, TypeError, "failure_threshold takes an int, not float"),
        ({"failure_threshold": -1}, ValueError, "failure_threshold is -1; give at least 1"),
        ({"open_duration_s": float("nan")}, ValueError, "open_duration_s is nan; give more than 0"),
        ({"open_duration_s": float("inf")}, ValueError, "open_duration_s is inf; give at most"),
        ({"open_duration_s": 10**400}, ValueError, "open_duration_s is inf; give at most"),
        ({"open_duration_s": -1.0}, ValueError, "open_duration_s is -1.0; give more than 0"),
        ({"open_duration_s": True}, TypeError, "open_duration_s takes a number, not bool"),
        ({"open_duration_s": "30"}, TypeError, "open_duration_s takes a number, not str"),
        ({"neutral_probe": "ignore"}, ValueError, "neutral_probe is unknown; give 'release' or 'reopen'"),
        ({"window": 100}, TypeError, "window takes a CircuitBreakerWindow, not int"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(fields, kind, message):
    with pytest.raises(kind, match=rf"CircuitBreakerSettings\.{message}") as caught:
        CircuitBreakerSettings(**fields)
    assert not isinstance(caught.value, ConfigurationError)


def test_a_whole_number_of_seconds_becomes_a_float():
    assert isinstance(CircuitBreakerSettings(open_duration_s=30).open_duration_s, float)


def test_a_permit_shows_what_it_is(clock):
    assert repr(permit_of(breaker_of(clock))) == (
        "Permit(provider_id='p', generation=0, is_probe=False, half_opened=False)"
    )


def test_a_timeout_of_ours_opens_the_circuit(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    assert end_with(breaker, permit_of(breaker), ProviderTimeoutError("slow")) is Transition.OPENED
