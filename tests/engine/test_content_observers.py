"""Observers beside the operation: content observers see text after DLP, and no observer changes an outcome."""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Onlooker, OnRequest, OnResponse, Scripted, Words, down, raising, retries
from tramapy import (
    AttemptContentObserver,
    CircuitBreakerSettings,
    DlpInspectionError,
    EngineEventObserver,
    Message,
    ModelResponse,
    ProviderError,
    RuntimeEvent,
    ToolCall,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a9c"
MASK = {CANARY: "[S]"}


def test_content_observers_get_text_after_dlp_only(driver: Driver) -> None:
    onlooker = Onlooker()
    answer = ModelResponse(
        content=CANARY,
        refusal=CANARY,
        reasoning=CANARY,
        tool_calls=[ToolCall(id="c1", name="lookup", arguments_json=CANARY)],
    )
    rig = driver.rig(
        [answer],
        dlp=Words(MASK),
        request_dlp=Words(MASK),
        interceptors=[
            OnRequest(lambda messages: [*messages, Message.user(CANARY)]),
            OnResponse(lambda response: response.replace(content=CANARY)),
        ],
        content_observers=[onlooker],
    )
    rig.complete([Message.user(CANARY), Message.tool(CANARY, tool_call_id="c1")], instructions=CANARY)
    assert len(onlooker.requests) == len(onlooker.responses) == 1
    assert_no_canary(CANARY, onlooker.requests, onlooker.responses, rig.observer.events)


def test_they_get_the_attempts_event(driver: Driver) -> None:
    events: list[RuntimeEvent] = []

    class Noting(AttemptContentObserver):
        def on_attempt_request(self, event: RuntimeEvent, request: object) -> None:
            events.append(event)

        def on_attempt_response(self, event: RuntimeEvent, response: object) -> None:
            events.append(event)

    rig = driver.rig(["answer"], content_observers=[Noting()])
    rig.complete(correlation_id="c1")
    first, second = events
    assert first is second
    assert first.name.endswith("attempt.started")
    assert first.attribute("correlation_id") == "c1"


def test_they_work_without_event_observers(driver: Driver) -> None:
    onlooker = Onlooker()
    rig = driver.rig([])
    rig.tramapy = type(rig.tramapy)({"p": ScriptedProvider(["answer"])}, content_observers=[onlooker])
    rig.complete()
    assert [response.content for response in onlooker.responses] == ["answer"]


def test_several_are_told_in_order(driver: Driver) -> None:
    order: list[str] = []

    class Named(AttemptContentObserver):
        def __init__(self, name: str) -> None:
            self._name = name

        def on_attempt_response(self, event: object, response: object) -> None:
            order.append(self._name)

    driver.rig(["answer"], content_observers=[Named("one"), Named("two")]).complete()
    assert order == ["one", "two"]


def test_a_retried_attempt_shows_its_request_again_and_no_answer(driver: Driver) -> None:
    onlooker = Onlooker()
    driver.rig([down(), "answer"], retry=retries(1), content_observers=[onlooker]).complete()
    assert len(onlooker.requests) == 2
    assert len(onlooker.responses) == 1


def test_a_rejected_answer_is_not_shown(driver: Driver) -> None:
    onlooker = Onlooker()
    rig = driver.rig(["text"], dlp=Scripted(raising(ValueError())), content_observers=[onlooker])
    with pytest.raises(DlpInspectionError):
        rig.complete()
    assert onlooker.responses == []


class BrokenOnlooker(AttemptContentObserver):
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def on_attempt_request(self, event: object, request: object) -> None:
        raise self._error

    def on_attempt_response(self, event: object, response: object) -> None:
        raise self._error


def test_one_that_fails_is_isolated_and_reported(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    onlooker = Onlooker()
    rig = driver.rig(["answer"], content_observers=[BrokenOnlooker(ValueError(CANARY)), onlooker])
    with caplog.at_level(logging.WARNING, logger="tramapy.secondary"):
        assert rig.complete().content == "answer"
    assert len(onlooker.responses) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"secondary effect failed extension_point=attempt_content_observer callback={callback} "
        "error_type=ValueError failure_policy=FAIL_OPEN authority=NON_AUTHORITATIVE"
        for callback in ("on_attempt_request", "on_attempt_response")
    ]
    assert_no_canary(CANARY, caplog.records)


def test_a_cancellation_from_one_escapes(driver: Driver) -> None:
    rig = driver.rig([], content_observers=[BrokenOnlooker(concurrent.futures.CancelledError())])
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert rig.names[-2:] == ["attempt.cancelled", "operation.completed"]


def test_an_awaitable_from_one_is_closed_and_reported(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    async def later(*_: object) -> None:
        raise AssertionError("never awaited")

    class Handing(AttemptContentObserver):
        def on_attempt_response(self, event: object, response: object) -> Any:
            return later()

    rig = driver.rig(["answer"], content_observers=[Handing()])
    with caplog.at_level(logging.WARNING, logger="tramapy.secondary"):
        assert rig.complete().content == "answer"
    assert "callback=on_attempt_response error_type=TypeError" in caplog.text


class BrokenObserver(EngineEventObserver):
    """Fails on every event."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_engine_event(self, name: str, attributes: Mapping[str, object]) -> None:
        self.names.append(name)
        raise ValueError(CANARY)


def test_rt119_a_failing_observer_does_not_fail_a_success(driver: Driver) -> None:
    observer = BrokenObserver()
    provider = ScriptedProvider(["answer"])
    rig = driver.rig(provider, event_observers=[observer])
    assert rig.complete().content == "answer"
    assert len(provider.requests) == 1
    assert len(observer.names) == len(rig.names) == 5


def test_rt120_a_failing_observer_does_not_replace_the_providers_error(driver: Driver) -> None:
    failure = ProviderError("no")
    rig = driver.rig([failure], event_observers=[BrokenObserver()])
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is failure
    notes = caught.value.__notes__
    assert notes[0] == "An engine event observer raised ValueError on tramai.attempt.failed."
    assert_no_canary(CANARY, caught.value)


def test_a_failing_observer_does_not_disturb_a_retry(driver: Driver) -> None:
    rig = driver.rig([down(), "answer"], retry=retries(1), event_observers=[BrokenObserver()])
    assert rig.complete().content == "answer"
    assert rig.clock.sleeps == (0.05,)


def test_an_awaitable_beside_a_failure_is_closed(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    class Handing(EngineEventObserver):
        def on_runtime_event(self, event: RuntimeEvent) -> Any:
            return later()

    async def later() -> None:
        raise AssertionError("never awaited")

    rig = driver.rig([ProviderError("no")], event_observers=[Handing()])
    with caplog.at_level(logging.WARNING, logger="tramapy.secondary"), pytest.raises(ProviderError):
        rig.complete()
    assert caplog.text.count("error_type=TypeError") == 5


@pytest.mark.parametrize(
    "name", ["operation.started", "route.selected", "retry.scheduled", "circuit.opened", "circuit.closed"]
)
def test_a_cancellation_from_an_observer_ends_the_attempt_once(driver: Driver, name: str) -> None:
    class Cancelling(EngineEventObserver):
        def on_engine_event(self, event_name: str, attributes: object) -> None:
            if event_name.endswith(name):
                raise concurrent.futures.CancelledError

    rig = driver.rig(
        [down(), down(), "probe"],
        retry=retries(1),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        event_observers=[Cancelling()],
    )
    if name == "circuit.closed":
        with pytest.raises(ProviderError):
            rig.complete()
        rig.clock.advance(30.0)
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert rig.names[-1] == "operation.completed"
    assert rig.attributes_of("operation.completed")[-1]["outcome"] == "cancelled"
    started = rig.names.count("attempt.started")
    assert sum(rig.names.count(end) for end in ("attempt.failed", "attempt.cancelled")) == started


def test_events_carry_no_text_on_any_path(driver: Driver) -> None:
    rig = driver.rig(
        [down(), ModelResponse(content=CANARY, refusal=CANARY, reasoning=CANARY)],
        retry=retries(1),
        dlp=Words(MASK),
        request_dlp=Words({CANARY: ""}),
    )
    rig.complete([Message.user(CANARY), Message.tool(CANARY, tool_call_id="c1")])
    assert_no_canary(CANARY, [(event.name, dict(event.attributes)) for event in rig.observer.events])


def test_one_error_raised_again_and_again_gathers_no_notes(driver: Driver) -> None:
    class Failing(EngineEventObserver):
        def on_engine_event(self, name: str, attributes: object) -> None:
            raise OSError

    error = ProviderError("down", retryable=True)
    rig = driver.rig(ScriptedProvider([error], repeat_last=True), event_observers=[Failing()])
    for _ in range(3):
        with pytest.raises(ProviderError) as caught:
            rig.complete()
    notes = caught.value.__notes__
    assert len(notes) == len(set(notes)) == 2
