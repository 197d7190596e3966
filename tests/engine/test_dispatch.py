"""`Dispatch` by itself: what no facade can bring about."""

from __future__ import annotations

import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.doubles import breaker_of, retries
from tramapy import CircuitBreakerSettings, ModelResponse, ProviderError
from tramapy.engine.dispatch import Dispatch
from tramapy.engine.operation import Operation
from tramapy.resilience.breaker import BreakerState


def rig_and_operation() -> tuple[Rig, Operation]:
    rig = Driver("sync").rig(
        ["answer"], retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    return rig, Operation(rig.tramapy._pipeline, HELLO, is_stream=False, model="m")


def test_without_any_route_the_error_is_retryable() -> None:
    _, operation = rig_and_operation()
    operation.routes = ()
    with pytest.raises(ProviderError, match="No route was available") as caught:
        Dispatch(operation).begin()
    assert caught.value.retryable


def test_a_permit_that_was_given_back_is_not_reported() -> None:
    rig, operation = rig_and_operation()
    breaker = breaker_of(rig)
    breaker.fail(breaker.admit("p"))
    rig.clock.advance(30.0)
    dispatch = Dispatch(operation)
    attempt = dispatch.begin()
    dispatch.release()
    dispatch.succeeded(attempt, ModelResponse())
    assert breaker.state("p") is BreakerState.HALF_OPEN


def test_to_give_back_twice_is_to_give_back_once() -> None:
    rig, operation = rig_and_operation()
    dispatch = Dispatch(operation)
    dispatch.begin()
    dispatch.release()
    dispatch.release()
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_a_pause_before_the_first_piece_moves_the_start_alone() -> None:
    _, operation = rig_and_operation()
    attempt = Dispatch(operation).begin()
    started_s = attempt.started_s
    attempt.leave_out(2.0)
    assert attempt.started_s == started_s + 2.0
    assert attempt.first_chunk_s is None
