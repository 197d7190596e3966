"""Public bug reports about other breakers, as regression tests of this one. `rNN` is the report's number."""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
from pathlib import Path

import pytest

import tramapy.resilience
from tests.memory import growth_bytes
from tests.resilience.driving import (
    ManualClock,
    breaker_of,
    end_with,
    fail_once,
    is_admitted,
    permit_of,
    rejection_of,
    succeed_once,
    windowed,
)
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
)
from tramapy.resilience.breaker import BreakerState, CircuitBreaker, Transition, counts

OVERLOADED = ProviderError("overloaded", retryable=True)
DLP = DlpInspectionError("refused")
PROFILES = pytest.mark.parametrize("build", [breaker_of, windowed], ids=["default", "windowed"])
BOTH_MODES = pytest.mark.parametrize("neutral_probe", ["release", "reopen"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def opened(breaker: CircuitBreaker, clock: ManualClock) -> CircuitBreaker:
    """Open the circuit and wait until a probe may pass."""
    while fail_once(breaker) is not Transition.OPENED:
        pass
    clock.now_s += 100.0
    return breaker


@PROFILES
@BOTH_MODES
def test_r01_no_number_of_cancelled_probes_shuts_the_circuit_for_good(clock, build, neutral_probe):
    breaker = opened(build(clock, neutral_probe=neutral_probe), clock)
    for _ in range(10):
        end_with(breaker, permit_of(breaker), asyncio.CancelledError())
        clock.now_s += 100.0
    assert succeed_once(breaker) is Transition.CLOSED


@PROFILES
def test_r01_a_probe_whose_outcome_is_never_reported_does_not_shut_the_circuit(clock, build):
    breaker = opened(build(clock), clock)
    for _ in range(10):
        permit_of(breaker)  # given away unsettled each time
    assert succeed_once(breaker) is Transition.CLOSED


@BOTH_MODES
def test_r02_ignored_outcomes_do_not_use_up_the_probes(clock, neutral_probe):
    breaker = opened(windowed(clock, neutral_probe=neutral_probe, half_open_permits=3), clock)
    for _ in range(4):
        end_with(breaker, permit_of(breaker), DLP)
        clock.now_s += 100.0
    probes = [permit_of(breaker) for _ in range(3)]
    assert [breaker.succeed(probe) for probe in probes] == [None, None, Transition.CLOSED]


@pytest.mark.parametrize("error", [RuntimeError("unknown"), KeyboardInterrupt()], ids=["unknown", "exit"])
def test_r03_after_a_probe_that_ends_unexpectedly_a_later_caller_is_the_probe(clock, error):
    breaker = opened(breaker_of(clock), clock)
    end_with(breaker, permit_of(breaker), error)
    assert permit_of(breaker).is_probe


@PROFILES
def test_r04_slow_calls_of_the_closed_era_do_not_decide_the_half_open_one(clock, build):
    breaker = build(clock)
    slow = [permit_of(breaker) for _ in range(3)]
    probe = permit_of(opened(breaker, clock))
    assert [breaker.succeed(slow[0]), breaker.fail(slow[1])] == [None, None]
    breaker.release(slow[2])
    assert breaker.state("p") is BreakerState.HALF_OPEN
    assert not is_admitted(breaker)
    assert breaker.succeed(probe) is Transition.CLOSED


@PROFILES
def test_r05_r15_late_failures_open_once_and_push_nothing_back(clock, build):
    breaker = build(clock)
    permits = [permit_of(breaker) for _ in range(20)]
    transitions = []
    for permit in permits:
        transitions.append(breaker.fail(permit))
        clock.now_s += 1.0
    assert transitions.count(Transition.OPENED) == 1
    assert breaker.open_until_s("p") == transitions.index(Transition.OPENED) + 100.0


@PROFILES
def test_r06_a_probe_of_one_half_open_period_does_not_count_in_the_next(clock, build):
    breaker = opened(build(clock, neutral_probe="reopen"), clock)
    first = permit_of(breaker)
    breaker.release(first)
    clock.now_s += 100.0
    second = permit_of(breaker)
    assert breaker.succeed(first) is None
    assert not is_admitted(breaker), "it must not free a place that it does not hold"
    assert breaker.fail(second) is Transition.OPENED


def test_r06_two_probes_of_one_era_do_not_share_a_place(clock):
    breaker = opened(windowed(clock, half_open_permits=2, max_probe_s=60.0), clock)
    lost, kept = permit_of(breaker), permit_of(breaker)
    clock.now_s += 60.0
    successor = permit_of(breaker)
    assert breaker.fail(lost) is None
    assert breaker.fail(kept) is None, "it was out too long as well"
    assert breaker.succeed(successor) is None
    assert succeed_once(breaker) is Transition.CLOSED


def test_r08_r16_the_injected_clock_is_the_only_one():
    """Wall time jumps. Nothing here can read it, for the open time or for slow calls."""
    imported = set()
    for path in Path(tramapy.resilience.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module)
    assert "threading" in imported, "the walk must see the imports"
    assert not imported & {"time", "random", "asyncio", "anyio", "trio"}


def test_r08_a_step_back_of_the_clock_does_not_admit_early(clock):
    clock.now_s = 1000.0
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 900.0
    assert rejection_of(breaker).retry_after_s == 200.0
    clock.now_s = 1100.0
    assert is_admitted(breaker)


def test_r16_slowness_is_what_the_engine_measured(clock):
    breaker = windowed(clock, slow_call_duration_s=2.0)
    transitions = []
    for _ in range(4):
        permit = permit_of(breaker)
        clock.now_s += 50.0  # a test clock that runs on must not make a call slow, or a fast one out of it
        transitions.append(breaker.succeed(permit, 0.1))
    assert transitions == [None] * 4


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), concurrent.futures.CancelledError(), GeneratorExit()],
    ids=["asyncio", "futures", "generator"],
)
@PROFILES
def test_r12_r13_cancelled_calls_never_open_a_healthy_providers_circuit(clock, build, error):
    breaker = build(clock)
    for _ in range(1000):
        assert end_with(breaker, permit_of(breaker), error) is None
    assert breaker.state("p") is BreakerState.CLOSED
    assert permit_of(breaker).generation == 0


def test_r14_each_ask_passes_the_half_open_limit(clock):
    breaker = opened(breaker_of(clock), clock)
    probe = permit_of(breaker)
    assert [is_admitted(breaker) for _ in range(3)] == [False] * 3
    breaker.fail(probe)
    assert not is_admitted(breaker), "a retry of the probe asks again, and is turned away"


@pytest.mark.parametrize(
    "hidden",
    [DLP, InterceptorError("hook"), ConfigurationError("set-up")],
    ids=["dlp", "interceptor", "configuration"],
)
def test_r17_a_neutral_error_is_found_inside_a_group_and_behind_a_cause(hidden):
    wrapped = ProviderError("provider call failed", retryable=True)
    middle = RuntimeError("adapter")
    wrapped.__cause__, middle.__cause__ = middle, hidden
    assert not counts(wrapped)
    assert not counts(ExceptionGroup("several", [OVERLOADED, wrapped]))
    assert not counts(BaseExceptionGroup("several", [OVERLOADED, ExceptionGroup("deep", [hidden])]))


def test_r17_a_ring_of_causes_ends():
    first, second = ProviderError("a", retryable=True), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert counts(first)


@PROFILES
def test_r25_the_count_starts_over_after_each_opening(clock, build):
    breaker = build(clock)
    failures_until_open = []
    for _ in range(3):
        failures = 1
        while fail_once(breaker) is not Transition.OPENED:
            failures += 1
        failures_until_open.append(failures)
        clock.now_s += 100.0
        succeed_once(breaker)
    assert failures_until_open == [failures_until_open[0]] * 3


@pytest.mark.unmeasured
def test_r27_rejections_are_fresh_and_leave_nothing_behind(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    for _ in range(100):
        rejection_of(breaker)

    def reject() -> None:
        for _ in range(20_000):
            breaker.admit("p")

    assert growth_bytes(reject) < 10_000


def test_r27_the_error_of_a_rejection_has_one_frame_each_time(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)

    def frames_of_a_rejected_call() -> int:
        rejection = rejection_of(breaker)
        with pytest.raises(CircuitBreakerOpenError) as caught:
            raise CircuitBreakerOpenError(rejection.provider_id, rejection.retry_after_s)
        return len(caught.traceback)

    assert {frames_of_a_rejected_call() for _ in range(100)} == {1}


@BOTH_MODES
def test_r28_a_neutral_end_is_no_success(clock, neutral_probe):
    breaker = breaker_of(clock, failure_threshold=2, neutral_probe=neutral_probe)
    fail_once(breaker)
    end_with(breaker, permit_of(breaker), DLP)
    assert fail_once(breaker) is Transition.OPENED
    clock.now_s = 100.0
    end_with(breaker, permit_of(breaker), DLP)
    assert breaker.state("p") is not BreakerState.CLOSED
