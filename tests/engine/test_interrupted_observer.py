"""An interrupt that hits in an observer: whatever the event, everything ends once and nothing stays open."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from tests.drivers import Driver, Rig
from tests.engine.checkpoints import CountingBreaker
from tests.engine.doubles import Words, down, retries
from tests.engine.stream_doubles import terminal_events
from tests.engine.test_cancellation import kinds
from tramapy import (
    CircuitBreakerSettings,
    CompletedChunk,
    DlpInspectionError,
    EngineEventObserver,
    ModelResponse,
    Route,
)
from tramapy.resilience.breaker import Permit
from tramapy.testing import ScriptedProvider


class Interrupts(EngineEventObserver):
    """Is interrupted at the first event of a name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_hit = False

    def on_engine_event(self, name: str, attributes: Mapping[str, Any]) -> None:
        if name == f"tramai.{self._name}" and not self.is_hit:
            self.is_hit = True
            raise KeyboardInterrupt


class Refuses(Words):
    def inspect(self, context: Any, text: str) -> Any:
        raise DlpInspectionError("refused")


ANSWER = ["one secret", CompletedChunk(ModelResponse(content="one secret"))]

WORLDS: dict[str, dict[str, Any]] = {
    "recovers": {"p": [down(), ANSWER], "retry": retries(1), "is_probe": True, "dlp": Words()},
    "falls-back": {"p": [down()], "q": [ANSWER], "retry": retries(0)},
    "is-passed-over": {"p": [], "q": [ANSWER], "is_open": True},
    "fails": {"p": [down()], "q": [down()], "retry": retries(0)},
    "is-refused": {"p": [ANSWER], "dlp": Refuses()},
}

EVENTS = [
    ("recovers", "operation.started"),
    ("recovers", "circuit.half_opened"),
    ("recovers", "route.selected"),
    ("recovers", "attempt.started"),
    ("recovers", "retry.scheduled"),
    ("recovers", "dlp.redacted"),
    ("recovers", "circuit.closed"),
    ("recovers", "attempt.completed"),
    ("recovers", "operation.completed"),
    ("falls-back", "circuit.opened"),
    ("falls-back", "attempt.failed"),
    ("is-passed-over", "circuit.rejected"),
    ("fails", "attempt.failed"),
    ("fails", "operation.completed"),
    ("is-refused", "dlp.inspection_failed"),
    ("is-refused", "attempt.failed"),
]


def make(driver: Driver, observer: Interrupts, world: dict[str, Any]) -> tuple[Rig, CountingBreaker]:
    """Make a facade whose breaker is where the scenario wants it."""
    settings = dict(world)
    p, q = settings.pop("p"), settings.pop("q", ())
    is_probe, is_open = settings.pop("is_probe", False), settings.pop("is_open", False)
    providers = {"p": ScriptedProvider(p), "q": ScriptedProvider(q)}
    rig = driver.rig(
        providers, default_provider="p", fallbacks={"m": [Route("q")]}, event_observers=[observer], **settings
    )
    breaker = CountingBreaker(CircuitBreakerSettings(failure_threshold=1), rig.clock.now_s)
    rig.tramapy._pipeline = dataclasses.replace(rig.tramapy._pipeline, breaker=breaker)
    if is_probe or is_open:
        permit = breaker.admit("p")
        assert isinstance(permit, Permit)
        breaker.fail(permit)
    if is_probe:
        rig.clock.advance(30.0)
    return rig, breaker


@kinds
@pytest.mark.parametrize(("world", "event"), EVENTS, ids=["-at-".join(each) for each in EVENTS])
def test_cancel_28_an_interrupt_in_an_observer_ends_everything_once(
    driver: Driver, kind: str, world: str, event: str
) -> None:
    observer = Interrupts(event)
    rig, breaker = make(driver, observer, WORLDS[world])
    with pytest.raises(KeyboardInterrupt):
        rig.complete() if kind == "complete" else rig.stream()
    assert observer.is_hit
    names = rig.names
    assert names.count("operation.started") == names.count("operation.completed") == 1
    assert len(terminal_events(names)) == names.count("attempt.started")
    assert all(permit.is_settled for permit in breaker.permits)
    assert sum(provider.open_stream_count for provider in rig.tramapy._providers.values()) == 0


def test_an_interrupt_at_the_event_of_a_startup_retry_ends_everything_once(driver: Driver) -> None:
    observer = Interrupts("streaming.startup_retry")
    rig, breaker = make(driver, observer, WORLDS["falls-back"])
    with pytest.raises(KeyboardInterrupt):
        rig.stream()
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert all(permit.is_settled for permit in breaker.permits)


def test_an_interrupt_at_the_end_of_a_stream_that_is_left_still_completes_the_operation(
    driver: Driver,
) -> None:
    observer = Interrupts("attempt.cancelled")
    rig, breaker = make(driver, observer, {"p": ["one two three"]})
    with pytest.raises(KeyboardInterrupt):
        rig.stream(take=1)
    assert rig.names[-2:] == ["attempt.cancelled", "operation.completed"]
    assert all(permit.is_settled for permit in breaker.permits)
