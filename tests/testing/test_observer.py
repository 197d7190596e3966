"""`RecordingObserver`: what was heard, in order, as it was."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tramapy.testing import RecordedEvent, RecordingObserver


class Event:
    name = "tramai.circuit.opened"

    def attributes(self) -> Mapping[str, object]:
        return {"provider_id": "p"}


def test_events_are_kept_in_order() -> None:
    observer = RecordingObserver()

    observer.on_engine_event("first", {"a": 1})
    observer.on_engine_event("second", {})

    assert observer.names == ("first", "second")
    assert observer.events[0] == RecordedEvent("first", {"a": 1})


def test_typed_event_is_recorded_once_by_its_name() -> None:
    observer = RecordingObserver()

    observer.on_runtime_event(Event())

    assert observer.events == (RecordedEvent("tramai.circuit.opened", {"provider_id": "p"}),)


def test_attributes_are_those_of_every_event_of_the_name() -> None:
    observer = RecordingObserver()
    for name, attempt in (("retry", 0), ("other", 0), ("retry", 1)):
        observer.on_engine_event(name, {"attempt": attempt})

    assert observer.attributes_of("retry") == ({"attempt": 0}, {"attempt": 1})
    assert observer.attributes_of("never") == ()


def test_recorded_attributes_do_not_change_afterwards() -> None:
    observer = RecordingObserver()
    attributes = {"attempt": 0}

    observer.on_engine_event("retry", attributes)
    attributes["attempt"] = 9

    assert observer.attributes_of("retry") == ({"attempt": 0},)
    with pytest.raises(TypeError):
        observer.events[0].attributes["attempt"] = 1  # type: ignore[index]


def test_repr_shows_a_count() -> None:
    assert repr(RecordingObserver()) == "RecordingObserver(<0 events>)"
