from __future__ import annotations

from tests.cli.trace.events import STEPS, heard
from tests.memory import peak_bytes
from tramapy.cli.event_lines import HeardEvent
from tramapy.cli.trace.operations import BookLimits, group_by_id


def test_operations_are_told_as_they_end() -> None:
    first, second = heard(correlation_id="first"), heard(correlation_id="second")
    grouped = list(group_by_id([first[0], *second, *first[1:]]))
    assert [operation.correlation_id for operation in grouped] == ["second", "first"]
    assert grouped[0].events == second
    assert grouped[1].events == first
    assert grouped[1].outcome == "success"


def test_an_operation_without_an_end_comes_last() -> None:
    grouped = list(group_by_id([*heard()[:-1], *heard(correlation_id="whole")]))
    assert [(operation.correlation_id, operation.outcome) for operation in grouped] == [
        ("whole", "success"),
        ("c-1", None),
    ]


def test_an_operation_without_a_beginning_begins_with_its_first_event() -> None:
    (operation,) = group_by_id(heard()[2:])
    assert operation.started is None
    assert operation.started_at_s == heard()[2].at_s


def test_an_id_may_come_again_once_its_operation_ended() -> None:
    assert [operation.events for operation in group_by_id([*heard(), *heard()])] == [heard(), heard()]


def test_of_too_many_open_operations_the_oldest_is_told_as_it_is() -> None:
    starts = [heard(STEPS[:1], str(number))[0] for number in range(5)]
    grouped = list(group_by_id(starts, BookLimits(operation_count=2)))
    assert [operation.correlation_id for operation in grouped] == list("01234")


def test_of_too_many_events_the_last_one_is_kept() -> None:
    events = heard()
    (operation,) = group_by_id([*events[:-1], *events[2:-1], events[-1]], BookLimits(event_count=9))
    assert operation.lost_event_count == len(events) - 3
    assert operation.events == events


def test_texts_of_open_operations_are_bounded() -> None:
    long = "x" * 200

    def endless() -> list[HeardEvent]:
        return [
            HeardEvent(at_s=0.0, name="later.event", attributes={"correlation_id": str(number), "a": long})
            for number in range(500)
        ]

    grouped = group_by_id(endless(), BookLimits(character_count=10_000))
    assert next(grouped).correlation_id == "0"
    assert len(list(grouped)) == 499


def test_memory_does_not_grow_with_the_file() -> None:
    def endless(count: int) -> object:
        for number in range(count):
            yield HeardEvent(at_s=0.0, name="later.event", attributes={"correlation_id": str(number)})

    def peak(count: int) -> int:
        def read() -> None:
            for _ in group_by_id(endless(count), BookLimits(operation_count=50)):  # type: ignore[arg-type]
                pass

        return peak_bytes(read)

    assert peak(5_000) < 2 * peak(500)
