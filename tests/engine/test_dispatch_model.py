"""A state machine drives retry, fallback and breaker against a model: who is called when, and what comes out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.drivers import Driver, Rig
from tests.engine.dispatch_model import DispatchModel, Outcome, Settings, Story, states
from tests.engine.doubles import Scripted, breaker_of, down, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    DeadlineExceededError,
    DlpInspectionError,
    DlpResult,
    ModelRequest,
    ProviderError,
    ProviderTimeoutError,
    Route,
)
from tramapy.testing import ScriptedProvider

SECONDS = st.sampled_from([0.0, 0.25, 1.0, 4.0])
OUTCOMES = st.builds(
    Outcome,
    kind=st.sampled_from(
        ["ok", "fail", "fail", "fail", "timeout", "permanent", "defect", "inner-open", "refused"]
    ),
    took_s=SECONDS,
    hint_s=st.sampled_from([None, None, 0.0, 0.5, 2.0, 30.0]),
)
SETTINGS = st.builds(
    Settings,
    routes=st.sampled_from([("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "a")]),
    retries=st.integers(0, 3),
    cap_s=st.sampled_from([1.0, 10.0]),
    deadline_s=st.sampled_from([None, None, 1.0, 5.0]),
    threshold=st.sampled_from([None, 1, 2, 3]),
    open_s=st.sampled_from([0.5, 10.0]),
    window=st.sampled_from([None, None, 4]),
)
LONGEST = 3 * 4


class Machine(RuleBasedStateMachine):
    driver: Driver

    @initialize(chosen=SETTINGS)
    def build(self, chosen: Settings) -> None:
        self.model = DispatchModel(chosen)
        self.outcomes: list[Outcome] = []
        self.asked: list[tuple[str, ModelRequest]] = []
        self.raised: dict[int, Exception] = {}
        self.rig = self._rig(chosen)

    def _rig(self, chosen: Settings) -> Rig:
        providers = {name: ScriptedProvider([self._answer_of(name)], repeat_last=True) for name in "abc"}
        breaker = None
        if chosen.threshold is not None:
            window = chosen.window and CircuitBreakerWindow(
                size_calls=chosen.window, minimum_calls=2, half_open_permits=1, max_probe_s=1e9
            )
            breaker = CircuitBreakerSettings(
                failure_threshold=chosen.threshold, open_duration_s=chosen.open_s, window=window or None
            )
        else:
            chosen.window = None
        first, *rest = chosen.routes
        return self.driver.rig(
            providers,
            models={"m": first},
            fallbacks={"m": [Route(name) for name in rest]},
            retry=retries(chosen.retries, max_retry_after_s=chosen.cap_s),
            deadline_s=chosen.deadline_s,
            circuit_breaker=breaker,
            dlp=Scripted(_refuse),
        )

    def _answer_of(self, name: str) -> Any:
        def answer(request: ModelRequest) -> str:
            outcome = self.outcomes.pop(0)
            number = len(self.asked)
            self.asked.append((name, request))
            self.rig.clock.advance(outcome.took_s)
            if outcome.kind in ("ok", "refused"):
                return outcome.kind
            self.raised[number] = _error(outcome)
            raise self.raised[number]

        return answer

    @rule(elapsed_s=SECONDS)
    def wait(self, elapsed_s: float) -> None:
        self.model.now_s += elapsed_s
        self.rig.clock.advance(elapsed_s)

    @rule(outcomes=st.lists(OUTCOMES, min_size=LONGEST, max_size=LONGEST))
    def operate(self, outcomes: list[Outcome]) -> None:
        expected = self.model.operate(outcomes)
        self.outcomes = list(outcomes)
        self.asked.clear()
        self.raised.clear()
        slept, heard = len(self.rig.clock.sleeps), len(self.rig.observer.events)
        error = self._run()
        names = self.rig.names[heard:]
        self._check_result(expected, error)
        assert list(self.rig.clock.sleeps[slept:]) == expected.sleeps
        assert self.rig.clock.now_s() == self.model.now_s
        self._check_events(expected, names, self.rig.observer.events[heard:])

    def _run(self) -> Exception | None:
        try:
            assert self.rig.complete().content == "ok"
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            return error
        return None

    def _check_result(self, expected: Story, error: Exception | None) -> None:
        kinds: dict[str, type[Exception]] = {
            "ok": type(None),  # type: ignore[dict-item]  # the type of no error
            "failure": ProviderError,
            "permanent": ProviderError,
            "defect": ProviderError,
            "refused": DlpInspectionError,
            "deadline": DeadlineExceededError,
        }
        if expected.result.startswith("open "):
            assert isinstance(error, CircuitBreakerOpenError)
            assert error.provider_id == expected.result.removeprefix("open ")
            return
        assert isinstance(error, kinds[expected.result])
        numbers = [number for _, number in expected.calls]
        if expected.result in ("failure", "permanent"):
            assert error is self.raised[numbers.index(expected.call_of_result)]
        if expected.result == "deadline":
            known = expected.call_of_result
            assert error is not None
            assert error.__cause__ is (None if known is None else self.raised[numbers.index(known)])

    def _check_events(self, expected: Story, names: list[str], events: Any) -> None:
        started = [
            (event.attributes["provider_id"], event.attributes["attempt"])
            for event in events
            if event.name == "tramai.attempt.started"
        ]
        assert [name for name, _ in self.asked] == [name for name, _ in expected.calls]
        assert started[: len(expected.calls)] == expected.calls
        circuits = [
            (event.name.removeprefix("tramai.circuit."), event.attributes["provider_id"])
            for event in events
            if event.name.startswith("tramai.circuit.")
        ]
        assert circuits == expected.circuits
        ends = sum(names.count(end) for end in ("attempt.completed", "attempt.failed", "attempt.cancelled"))
        assert ends == len(started)
        assert names.count("retry.scheduled") == len(expected.sleeps)
        assert (names[0], names[-1]) == ("operation.started", "operation.completed")
        assert events[-1].attributes["attempt_count"] == expected.attempt_count

    @precondition(lambda self: self.model.settings.threshold is not None)
    @rule()
    def circuits_agree(self) -> None:
        breaker = breaker_of(self.rig)
        assert {name: breaker.state(name).value for name in self.model.circuits} == states(self.model)


def _refuse(_: object, text: str) -> DlpResult:
    if text == "refused":
        raise DlpInspectionError("no")
    return DlpResult(text)


def _error(outcome: Outcome) -> Exception:
    if outcome.kind == "fail":
        return down(retry_after_s=outcome.hint_s)
    if outcome.kind == "timeout":
        return ProviderTimeoutError("slow", retry_after_s=outcome.hint_s)
    errors = {
        "permanent": ProviderError("no"),
        "defect": KeyError("x"),
        "inner-open": CircuitBreakerOpenError("inner", 1.0),
    }
    return errors[outcome.kind]


@pytest.mark.unmeasured
@pytest.mark.parametrize(("name", "examples"), [("sync", 150), ("asyncio", 25), ("trio", 25)])
def test_retry_and_fallback_keep_to_the_model(name: str, examples: int) -> None:
    class Driven(Machine):
        driver = Driver(name)

    run_state_machine_as_test(
        Driven,
        settings=settings(max_examples=examples, stateful_step_count=12),
    )
