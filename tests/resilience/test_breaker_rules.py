"""The rules B1 to B10 that the breaker keeps, at the mechanism's level."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from tests.resilience.driving import (
    ManualClock,
    breaker_of,
    end_with,
    fail_once,
    permit_of,
    rejection_of,
    succeed_once,
    windowed,
)
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    InterceptorError,
    ProviderCapabilityError,
    ProviderError,
    ProviderTimeoutError,
    TokenBudgetExceededError,
)
from tramapy.resilience.breaker import BreakerState, Transition, counts
from tramapy.resilience.retry import RetryPolicy, RetryPolicySettings, Stop

OVERLOADED = ProviderError("overloaded", retryable=True)
DLP = DlpInspectionError("refused")
BUDGET = TokenBudgetExceededError("attempt", limit_tokens=1, observed_tokens=2, provider_id="p", model="m")
BOTH_MODES = pytest.mark.parametrize("neutral_probe", ["release", "reopen"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def group(*errors: BaseException) -> BaseExceptionGroup[BaseException]:
    return BaseExceptionGroup("several", errors)


def caused_by(cause: BaseException) -> ProviderError:
    error = ProviderError("wrapped", retryable=True)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OVERLOADED,
        ProviderTimeoutError("slow"),
        ProviderError("down, do not retry", retryable=False, counts_on_breaker=True),
        group(OVERLOADED, group(ProviderTimeoutError("slow"))),
        caused_by(ConnectionResetError()),
        caused_by(asyncio.CancelledError()),
    ],
    ids=["retryable", "timeout", "declared", "group", "transport_cause", "timeout_of_a_cancel_scope"],
)
def test_b01_a_failure_speaks_of_the_providers_health(error):
    assert counts(error)


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("bad request", status_code=400),
        ProviderError("retry me, but I am well", retryable=True, counts_on_breaker=False),
        ProviderCapabilityError("no vision", provider_id="p", capability="vision"),
        CircuitBreakerOpenError("p", 1.0),
        DeadlineExceededError("over"),
        DLP,
        InterceptorError("hook"),
        BUDGET,
        ConfigurationError("set-up"),
        RuntimeError("unknown"),
        TimeoutError("of a hook"),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        GeneratorExit(),
        group(OVERLOADED, DLP),
        group(OVERLOADED, group(asyncio.CancelledError())),
    ],
    ids=lambda error: type(error).__name__,
)
def test_b01_everything_else_is_neutral(error):
    assert not counts(error)


def test_b02_a_permit_of_an_older_generation_is_ignored(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    old = permit_of(breaker)
    fail_once(breaker)
    clock.now_s = 100.0
    succeed_once(breaker)
    assert breaker.fail(old) is None
    assert breaker.state("p") is BreakerState.CLOSED


@BOTH_MODES
def test_b02_a_probe_whose_permit_was_dropped_frees_its_place(clock, neutral_probe):
    breaker = breaker_of(clock, failure_threshold=1, neutral_probe=neutral_probe)
    fail_once(breaker)
    clock.now_s = 100.0
    probe = permit_of(breaker)
    generation = probe.generation
    assert rejection_of(breaker)
    del probe  # a call that ended without anybody settling its permit
    successor = permit_of(breaker)
    assert successor.is_probe
    assert successor.generation == generation + 1
    assert breaker.succeed(successor) is Transition.CLOSED


def test_b02_a_dropped_permit_of_a_closed_circuit_is_neutral(clock):
    breaker = breaker_of(clock, failure_threshold=2)
    fail_once(breaker)
    permit_of(breaker)
    assert fail_once(breaker) is Transition.OPENED


def test_b03_a_neutral_end_gives_the_place_back_and_no_place_is_given_twice(clock):
    breaker = windowed(clock, half_open_permits=2)
    for _ in range(4):
        fail_once(breaker)
    clock.now_s = 100.0
    probes = [permit_of(breaker), permit_of(breaker)]
    for _ in range(50):
        assert rejection_of(breaker)
        breaker.release(probes.pop(0))
        probes.append(permit_of(breaker))
    generations = [probe.generation for probe in probes]
    assert generations == sorted(set(generations))


def test_b04_b06_the_open_time_is_fixed_by_the_injected_clock_at_opening(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    late = [permit_of(breaker) for _ in range(5)]
    clock.now_s = 7.0
    assert fail_once(breaker) is Transition.OPENED
    for permit in late:
        clock.now_s += 10.0
        assert breaker.fail(permit) is None
    assert breaker.open_until_s("p") == 107.0


def test_b05_every_step_is_a_plain_call_that_returns_its_result(clock):
    breaker = breaker_of(clock)
    for step in (breaker.admit, breaker.succeed, breaker.fail, breaker.release):
        assert not inspect.iscoroutinefunction(step)


@pytest.mark.parametrize("error", [DLP, InterceptorError("hook"), BUDGET, ConfigurationError("set-up")])
def test_b07_our_own_failures_neither_open_nor_close_nor_reset_nor_dilute(clock, error):
    default, rates = breaker_of(clock, failure_threshold=3), windowed(clock, minimum_calls=4)
    for breaker in (default, rates):
        fail_once(breaker)
        fail_once(breaker)
        for _ in range(20):
            assert end_with(breaker, permit_of(breaker), error) is None
    assert fail_once(default) is Transition.OPENED
    assert fail_once(rates) is None
    assert fail_once(rates) is Transition.OPENED


def test_b08_our_attempt_timeout_counts_and_the_callers_deadline_does_not():
    assert counts(ProviderTimeoutError("slow"))
    assert not counts(DeadlineExceededError("the caller wanted it sooner"))


def test_b09_a_rejection_says_who_and_when(clock):
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    clock.now_s = 40.0
    first, second = rejection_of(breaker), rejection_of(breaker)
    assert (first.provider_id, first.retry_after_s) == ("p", 60.0)
    assert first is not second


def test_b10_a_rejection_uses_up_no_retry_and_takes_no_place(clock):
    policy = RetryPolicy(RetryPolicySettings(provider_retries=5), lambda: 0.0)
    refused = CircuitBreakerOpenError("p", 60.0)
    assert isinstance(policy.decide(refused, 0, now_s=0.0, deadline_at_s=None), Stop)
    breaker = breaker_of(clock, failure_threshold=1)
    fail_once(breaker)
    for _ in range(10):
        rejection_of(breaker)
    clock.now_s = 100.0
    assert permit_of(breaker).generation == 1
