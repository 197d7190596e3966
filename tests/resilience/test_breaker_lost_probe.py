"""A probe that never comes back, and a lock whose thread does not exist any more."""

from __future__ import annotations

import os
import signal
import weakref

import pytest

from tests.resilience.driving import ManualClock, breaker_of, permit_of
from tramapy import forks
from tramapy.resilience.breaker import BreakerState, CircuitBreaker, Rejection


def half_open(clock: ManualClock, **settings: object) -> CircuitBreaker:
    breaker = breaker_of(clock, failure_threshold=1, **settings)
    breaker.fail(permit_of(breaker))
    clock.now_s = 100.0
    return breaker


def test_an_idle_probe_gives_its_place_away_in_the_default_profile() -> None:
    clock = ManualClock()
    breaker = half_open(clock)
    idle = permit_of(breaker)
    clock.now_s = 100.0 + 119.9
    assert isinstance(breaker.admit("p"), Rejection)
    clock.now_s = 100.0 + 120.0
    probe = permit_of(breaker)
    breaker.fail(idle)
    assert breaker.state("p") is BreakerState.HALF_OPEN, "a late result of the lost probe counts for nothing"
    breaker.succeed(probe)
    assert breaker.state("p") is BreakerState.CLOSED


def test_a_longer_open_time_waits_longer_for_its_probe() -> None:
    clock = ManualClock()
    breaker = half_open(clock, open_duration_s=500.0)
    clock.now_s = 500.0
    idle = permit_of(breaker)
    clock.now_s = 999.0
    assert isinstance(breaker.admit("p"), Rejection)
    clock.now_s = 1000.0
    assert permit_of(breaker) is not idle


def test_the_original_waits_for_ever() -> None:
    clock = ManualClock()
    breaker = half_open(clock, neutral_probe="reopen")
    idle = permit_of(breaker)
    clock.now_s = 1e9
    assert isinstance(breaker.admit("p"), Rejection)
    assert idle.is_probe


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    breaker = half_open(ManualClock())
    with breaker._lock:  # as another thread may hold it in the moment of the fork
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            is_open = breaker.state("p") is BreakerState.OPEN
            breaker.release(permit_of(breaker))
            os._exit(0 if is_open else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert breaker.state("p") is BreakerState.OPEN


def test_after_a_fork_every_breaker_has_a_lock_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the child does, here in the parent, where it shows which lines ran."""
    monkeypatch.setattr(forks, "_SHARED", weakref.WeakValueDictionary())  # those of others are let alone
    breakers = [half_open(ManualClock()), half_open(ManualClock())]
    held = [breaker._lock for breaker in breakers]
    for lock in held:
        lock.acquire()
    forks._renew_all()
    assert [permit_of(breaker).is_probe for breaker in breakers] == [True, True]
    assert all(lock.locked() for lock in held)
