from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.trace.events import STEPS, record
from tramapy.cli.event_lines import HeardEvent
from tramapy.cli.trace.event_file import LINE_LIMIT_BYTES, BadLine, read_events

GOOD = json.dumps(record(0.0, "circuit.opened", {"provider_id": "p"})).encode()


def read(data: bytes) -> list[HeardEvent | BadLine]:
    return list(read_events(io.BytesIO(data)))


def test_each_line_is_an_event() -> None:
    data = b"".join(json.dumps(record(*step)).encode() + b"\n" for step in STEPS)
    events = read(data)
    assert [event.name for event in events if isinstance(event, HeardEvent)] == [
        f"tramai.{step[1]}" for step in STEPS
    ]
    assert len(events) == len(STEPS)


def test_blank_lines_are_nothing() -> None:
    assert read(b"\n  \n\r\n\t\n") == []


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"], ids=repr)
def test_a_last_line_may_have_no_end(end: bytes) -> None:
    (event,) = read(GOOD + end)
    assert isinstance(event, HeardEvent)


def test_a_byte_order_mark_is_no_harm() -> None:
    (event,) = read(b"\xef\xbb\xbf" + GOOD + b"\n")
    assert isinstance(event, HeardEvent)


BAD: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"hello", "it is no JSON"),
    "no UTF-8": (b'{"at_s": "\xff"}', "it is no JSON"),
    "binary": (b"\x00\x01\x02\x7fELF", "it is no JSON"),
    "deep lists": (b"[" * 60_000, "it is no JSON"),
    "deep objects": (b'{"a":' * 12_000, "it is no JSON"),
    "deep and whole": (b"[" * 30_000 + b"]" * 30_000, "it is no JSON"),
    "a number of many digits": (b"1" * 60_000, "it is no JSON"),
    "a list": (b"[1]", "it is no object"),
    "a text": (b'"x"', "it is no object"),
    "a number": (b"1e999", "it is no object"),
    "null": (b"null", "it is no object"),
    "an empty object": (b"{}", "its time is no time"),
    "not a number": (b'{"at_s": NaN, "name": "x", "attributes": {}}', "its time is no time"),
    "infinity": (b'{"at_s": 1e999, "name": "x", "attributes": {}}', "its time is no time"),
    "a name of another type": (b'{"at_s": 1, "name": {}, "attributes": {}}', "it has no name"),
    "attributes of another type": (b'{"at_s": 1, "name": "x", "attributes": []}', "it has no attributes"),
    "no id": (b'{"at_s": 1, "name": "x", "attributes": {}}', "it has no correlation id"),
}


@pytest.mark.parametrize(("line", "reason"), BAD.values(), ids=BAD)
def test_a_bad_line_is_told_by_its_number_and_the_next_is_read(line: bytes, reason: str) -> None:
    before, bad, after = read(GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    assert bad == BadLine(number=2, reason=reason)
    assert isinstance(before, HeardEvent)
    assert isinstance(after, HeardEvent)


def test_lines_that_are_nested_just_not_too_deep_are_judged_alike() -> None:
    (bad,) = read(b'{"at_s":1,"name":"x","attributes":{"correlation_id":' + b"[" * 500 + b"]" * 500 + b"}}\n")
    assert bad == BadLine(number=1, reason="it has no correlation id")


class _Counting(io.BytesIO):
    """Tells how much was asked for at once."""

    largest = 0

    def readline(self, size: Any = -1) -> bytes:
        line = super().readline(size)
        self.largest = max(self.largest, len(line))
        return line


@pytest.mark.parametrize("ending", [b"\n" + GOOD, b""], ids=["and another", "and the end"])
def test_a_huge_line_is_passed_over_in_bounded_memory(ending: bytes) -> None:
    file = _Counting(b"x" * 5_000_000 + ending)
    bad, *rest = read_events(file)
    assert bad == BadLine(number=1, reason="it is longer than 65536 bytes")
    assert len(rest) == bool(ending)
    assert file.largest == LINE_LIMIT_BYTES


@pytest.mark.parametrize("extra", [-1, 0, 1], ids=["below", "at", "above"])
def test_a_line_of_about_the_limit(extra: int) -> None:
    line = GOOD + b" " * (LINE_LIMIT_BYTES - 1 - len(GOOD) + extra) + b"\n"
    result, event = read(line + GOOD)
    assert isinstance(result, BadLine if extra == 1 else HeardEvent)
    assert isinstance(event, HeardEvent)


def test_a_cut_last_line_is_told_apart() -> None:
    _, bad = read(GOOD + b"\n" + GOOD[:20])
    assert bad == BadLine(number=2, reason="it is no JSON", is_torn=True)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    for item in read(data + b"\n" + GOOD)[:-1]:
        assert isinstance(item, (BadLine, HeardEvent))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda children: st.lists(children) | st.dictionaries(st.text(), children),
        max_leaves=8,
    ),
    st.sampled_from(["tramai.circuit.opened", "tramai.operation.completed", "x"]),
)
def test_any_json_is_read(value: Any, name: str) -> None:
    for member in ("at_s", "name", "attributes"):
        written = {"at_s": 1, "name": name, "attributes": {"correlation_id": "c"}, member: value}
        (item,) = read(json.dumps(written).encode() + b"\n")
        assert isinstance(item, (BadLine, HeardEvent))
