from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory import peak_bytes
from tests.telemetry.audit_material import ONE, context, events_of, log_of
from tests.telemetry.test_audit_event import audit_events, strategy_of
from tramapy import ConfigurationError, DlpRedaction
from tramapy.telemetry import (
    AuditEvent,
    AuditLog,
    AuditProblemCode,
    AuditVerification,
    FileAuditStore,
    MemoryAuditStore,
    verify_audit,
    verify_audit_files,
)
from tramapy.telemetry.audit_event import FIELDS, event_hash
from tramapy.telemetry.audit_line import LIMIT_LINE_BYTES, line_hash

P = AuditProblemCode

any_time_with_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def chain(count: int = 4) -> list[AuditEvent]:
    """Return one stream's events."""
    store = MemoryAuditStore()
    log = log_of(store)
    for _ in range(count):
        log.emit(context("s"), ONE)
    return list(store.events())


def sealed_again(event: AuditEvent, **changes: Any) -> AuditEvent:
    """Return an event altered by someone who knows how hashes are made."""
    event = dataclasses.replace(event, **changes)
    return dataclasses.replace(event, event_hash=event_hash(event))


def codes(found: AuditVerification) -> list[tuple[int, AuditProblemCode]]:
    return [(problem.line_number, problem.code) for problem in found.problems]


def replaced(events: Sequence[AuditEvent], position: int, event: AuditEvent) -> list[AuditEvent]:
    return [*events[:position], event, *events[position + 1 :]]


def test_rt173_an_empty_list_is_valid() -> None:
    found = verify_audit([])
    assert found.is_valid
    assert (found.event_count, found.stream_count, found.head) == (0, 0, None)


def test_rt173_a_whole_chain_is_valid() -> None:
    events = chain()
    found = verify_audit(events)
    assert found.is_valid
    assert (found.event_count, found.stream_count, found.head) == (4, 1, events[-1].event_hash)


def test_rt173_an_altered_field_is_found() -> None:
    events = chain()
    events[1] = dataclasses.replace(events[1], decision="ALLOW")
    assert codes(verify_audit(events)) == [(2, P.EVENT_HASH)]


def test_rt173_a_gap_is_found() -> None:
    events = chain()
    del events[1]
    assert codes(verify_audit(events)) == [(2, P.SEQUENCE_NUMBER), (2, P.PREVIOUS_EVENT_HASH)]


def test_rt173_a_duplicate_id_is_found() -> None:
    events = chain()
    events[3] = sealed_again(events[3], event_id=events[0].event_id)
    assert codes(verify_audit(events)) == [(4, P.DUPLICATE_EVENT_ID)]


def test_rt173_a_wrong_previous_hash_is_found() -> None:
    events = chain()
    events[3] = sealed_again(events[3], previous_event_hash="0" * 64)
    assert codes(verify_audit(events)) == [(4, P.PREVIOUS_EVENT_HASH)]


def test_rt173_all_errors_are_listed() -> None:
    events = chain()
    events[0] = sealed_again(events[0], sequence_number=2, previous_event_hash="0" * 64)
    events[1] = sealed_again(events[1], schema_version=2, hash_algorithm="MD5")
    events[2] = sealed_again(events[2], audit_stream_id="other")
    assert codes(verify_audit(events)) == [
        (1, P.SEQUENCE_NUMBER),
        (1, P.PREVIOUS_EVENT_HASH),
        (2, P.SCHEMA_VERSION),
        (2, P.HASH_ALGORITHM),
        (2, P.SEQUENCE_NUMBER),
        (2, P.PREVIOUS_EVENT_HASH),
        (3, P.STREAM_ID),
        (3, P.SEQUENCE_NUMBER),
        (3, P.PREVIOUS_EVENT_HASH),
        (4, P.SEQUENCE_NUMBER),
        (4, P.PREVIOUS_EVENT_HASH),
    ]


def test_problems_are_counted_over_the_limit() -> None:
    events = [dataclasses.replace(event, decision="ALLOW") for event in chain(5)]
    found = verify_audit(events, limit_problem_count=2)
    assert len(found.problems) == 2
    assert found.problem_count == 5
    assert not found.is_valid


@given(st.data())
def test_any_altered_field_is_found_where_it_is(data: st.DataObject) -> None:
    events = chain()
    position = data.draw(st.integers(0, 3))
    name = data.draw(st.sampled_from([field.attribute for field in FIELDS]))
    value = data.draw(strategy_of(name).filter(lambda other: other != getattr(events[position], name)))
    altered = replaced(events, position, dataclasses.replace(events[position], **{name: value}))
    assert position + 1 in {number for number, _ in codes(verify_audit(altered))}


@given(st.data())
def test_a_field_altered_with_its_hash_is_found_unless_it_is_the_last(data: st.DataObject) -> None:
    events = chain()
    position = data.draw(st.integers(0, 2))
    name = data.draw(st.sampled_from([field.attribute for field in FIELDS if field.name != "eventHash"]))
    value = data.draw(strategy_of(name).filter(lambda other: other != getattr(events[position], name)))
    altered = replaced(events, position, sealed_again(events[position], **{name: value}))
    assert not verify_audit(altered).is_valid


@given(st.permutations(range(5)).filter(lambda order: list(order) != list(range(5))))
def test_any_other_order_is_found(order: list[int]) -> None:
    events = chain(5)
    assert not verify_audit([events[position] for position in order]).is_valid


@given(
    st.sets(st.integers(0, 4), min_size=1, max_size=4).filter(lambda gone: gone != set(range(min(gone), 5)))
)
def test_any_gap_is_found(gone: set[int]) -> None:
    events = [event for position, event in enumerate(chain(5)) if position not in gone]
    assert not verify_audit(events).is_valid


@given(st.lists(audit_events, max_size=4))
def test_any_events_are_judged_without_failing(events: list[AuditEvent]) -> None:
    found = verify_audit(events)
    assert found.event_count == len(events)
    assert found.is_valid == (not events)


@pytest.mark.parametrize(
    "changes",
    [{"sequence_number": 10**30}, {"actor": "\ud800"}, {"event_hash": "\ud800"}, {"event_id": "\ud800"}],
    ids=["huge number", "surrogate", "surrogate hash", "surrogate id"],
)
def test_events_that_nothing_of_ours_can_write_are_invalid(changes: dict[str, Any]) -> None:
    events = chain(2)
    events[0] = dataclasses.replace(events[0], **changes)
    assert not verify_audit(events).is_valid


# files


def write_log(directory: Path, *, limit_file_bytes: int = 2**30) -> tuple[Path, ...]:
    """Write twelve events in three streams and return the files."""
    with FileAuditStore(directory / "a.jsonl", fsync="never", limit_file_bytes=limit_file_bytes) as store:
        log = log_of(store)
        for number in range(6):
            log.emit(context(f"s{number % 3}"), [DlpRedaction("a", 1), DlpRedaction("b", 2)])
        return store.paths


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    """The lines of a log, without their ends."""
    return write_log(tmp_path)[0].read_bytes().splitlines()


def verify_lines(directory: Path, lines: Sequence[bytes], **options: Any) -> AuditVerification:
    path = directory / "copy.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return verify_audit_files(path, **options)


def test_an_empty_file_is_valid(tmp_path: Path) -> None:
    found = verify_lines(tmp_path, [])
    assert found.is_valid
    assert found.head is None


def test_the_path_of_a_log_stands_for_its_files(tmp_path: Path) -> None:
    paths = write_log(tmp_path, limit_file_bytes=2_000)
    assert len(paths) > 1
    given = tmp_path / "a.jsonl"
    assert verify_audit_files(given) == verify_audit_files(*paths)
    with given.open("wb"):
        assert verify_audit_files(given).event_count == 0, "a file of that very name is taken as it is"


def test_the_index_and_torn_bytes_are_passed_over(tmp_path: Path) -> None:
    paths = write_log(tmp_path)
    index, torn = tmp_path / "a.jsonl.index", tmp_path / f"a.000001.{'0' * 16}.torn"
    torn.write_bytes(b"torn")
    assert verify_audit_files(index, *paths, torn) == verify_audit_files(*paths)
    moved = tmp_path / "log.index"
    moved.write_bytes(paths[0].read_bytes())
    assert verify_audit_files(moved).event_count == 12, "a name alone makes no index"


def test_nothing_to_verify_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path)
    for paths in ((), (tmp_path / "a.jsonl.index",)):
        with pytest.raises(ConfigurationError, match="was given no file of a log"):
            verify_audit_files(*paths)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([Path("a")],), {}, r"write verify_audit_files\(\*paths\)"),
        ((7,), {}, "a path is of type int; give a str or a Path"),
        ((Path("a"),), {"head": "any text"}, "head takes a SHA-256 in hex"),
        ((Path("a"),), {"head": "A" * 64}, "head takes a SHA-256 in hex"),
        ((Path("a"),), {"head": 7}, "head takes a SHA-256 in hex"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        verify_audit_files(*arguments, **options)


def test_a_whole_log_is_valid(tmp_path: Path, lines: list[bytes]) -> None:
    found = verify_lines(tmp_path, lines)
    assert found.is_valid
    assert (found.event_count, found.stream_count, found.recovery_count) == (12, 3, 0)
    assert found.head == line_hash(lines[-1])


def test_files_of_a_log_are_one_chain(tmp_path: Path) -> None:
    paths = write_log(tmp_path, limit_file_bytes=2_000)
    assert len(paths) > 2
    found = verify_audit_files(*paths)
    assert found.is_valid
    assert found.event_count == 12


@pytest.mark.parametrize(
    ("order", "place"),
    [((0, 2), (2, 1)), ((1, 0, 2), (1, 1)), ((0, 0, 1, 2), (2, 1))],
    ids=["missing", "swapped", "twice"],
)
def test_a_file_that_is_missing_swapped_or_given_twice_is_found(
    tmp_path: Path, order: tuple[int, ...], place: tuple[int, int]
) -> None:
    paths = write_log(tmp_path, limit_file_bytes=2_000)
    given = [paths[position] for position in order]
    problem = verify_audit_files(*given).problems[0]
    assert problem.code is P.LINE_NUMBER
    assert (problem.path, problem.line_number) == (str(given[place[0] - 1]), place[1])


def test_later_files_are_valid_only_where_part_of_a_log_is_asked_for(tmp_path: Path) -> None:
    paths = write_log(tmp_path, limit_file_bytes=2_000)
    found = verify_audit_files(*paths[1:])
    assert found.problems[0].code is P.LINE_NUMBER
    assert "were not given" in found.problems[0].message
    assert verify_audit_files(*paths[1:], is_partial=True).is_valid


def test_part_of_a_log_is_still_a_chain(tmp_path: Path, lines: list[bytes]) -> None:
    assert verify_lines(tmp_path, lines[4:], is_partial=True).is_valid
    assert codes(verify_lines(tmp_path, [*lines[4:6], *lines[7:]], is_partial=True))[0] == (3, P.LINE_NUMBER)


def test_a_whole_stream_that_is_gone_is_found(tmp_path: Path, lines: list[bytes]) -> None:
    rest = [line for line in lines if b'"auditStreamId":"s1"' not in line]
    found = codes(verify_lines(tmp_path, rest))
    assert {code for _, code in found} == {P.LINE_NUMBER, P.PREVIOUS_LINE_HASH}


def test_a_cut_at_the_end_is_found_by_the_head_alone(tmp_path: Path, lines: list[bytes]) -> None:
    head = line_hash(lines[-1])
    assert verify_lines(tmp_path, lines, head=head).is_valid
    assert verify_lines(tmp_path, lines[:-1]).is_valid
    assert codes(verify_lines(tmp_path, lines[:-1], head=head)) == [(11, P.HEAD)]
    assert codes(verify_lines(tmp_path, [], head=head)) == [(0, P.HEAD)]


def test_an_earlier_head_is_still_there(tmp_path: Path, lines: list[bytes]) -> None:
    head = line_hash(lines[4])
    assert verify_lines(tmp_path, lines, head=head).is_valid
    assert verify_lines(tmp_path, lines[5:], head=head, is_partial=True).is_valid
    assert P.HEAD in {
        code for _, code in codes(verify_lines(tmp_path, lines[6:], head=head, is_partial=True))
    }
    assert P.HEAD in {code for _, code in codes(verify_lines(tmp_path, lines[:4], head=head))}


@any_time_with_files
@given(st.data())
def test_any_changed_byte_is_found(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "a.000001.jsonl"
    if not path.exists():
        write_log(tmp_path)
    whole = path.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda other: other != whole[position]))
    changed = whole[:position] + bytes([byte]) + whole[position + 1 :]
    (tmp_path / "changed.jsonl").write_bytes(changed)
    found = verify_audit_files(tmp_path / "changed.jsonl", head=line_hash(whole.splitlines()[-1]))
    assert not found.is_valid
    line = whole[:position].count(b"\n") + 1
    assert found.problems[0].line_number in (line, line + 1)


@any_time_with_files
@given(st.permutations(range(12)).filter(lambda order: list(order) != list(range(12))))
def test_any_other_order_of_lines_is_found(tmp_path: Path, lines: list[bytes], order: list[int]) -> None:
    assert not verify_lines(tmp_path, [lines[position] for position in order]).is_valid


@any_time_with_files
@given(st.integers(0, 11), st.integers(0, 12))
def test_a_line_that_is_there_twice_is_found(
    tmp_path: Path, lines: list[bytes], source: int, target: int
) -> None:
    found = verify_lines(tmp_path, [*lines[:target], lines[source], *lines[target:]])
    assert P.DUPLICATE_EVENT_ID in {code for _, code in codes(found)}
    assert P.LINE_NUMBER in {code for _, code in codes(found)}


@any_time_with_files
@given(st.binary(max_size=60))
def test_any_bytes_are_judged_without_failing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "any").write_bytes(data)
    assert verify_audit_files(tmp_path / "any").is_valid == (not data)


NOT_RECORDS: dict[str, bytes] = {
    "empty": b"",
    "text": b"hello",
    "not utf-8": b"\xff\xfe",
    "list": b"[]",
    "number": b"1",
    "deep": b"[" * 60_000,
    "long number": b'{"lineNumber":' + b"9" * 5_000 + b"}",
    "no line number": b'{"previousLineHash":null,"event":{}}',
    "float": b'{"lineNumber":1.0,"previousLineHash":null}',
    "large": b'{"lineNumber":9223372036854775808,"previousLineHash":null}',
    "hash": b'{"lineNumber":1,"previousLineHash":7}',
    "no body": b'{"lineNumber":1,"previousLineHash":null}',
    "recovery": b'{"lineNumber":1,"previousLineHash":null,"recovery":{"timestamp":"x"}}',
}


@pytest.mark.parametrize("line", NOT_RECORDS.values(), ids=NOT_RECORDS)
def test_a_line_that_is_no_record_is_found(tmp_path: Path, lines: list[bytes], line: bytes) -> None:
    found = codes(verify_lines(tmp_path, [lines[0], line, *lines[1:]]))
    assert found[0] == (2, P.NOT_A_RECORD)


def test_a_line_that_is_too_long_is_found_and_skipped(tmp_path: Path, lines: list[bytes]) -> None:
    long = b"x" * (3 * LIMIT_LINE_BYTES)
    found = codes(verify_lines(tmp_path, [lines[0], long, *lines[1:]]))
    assert found == [(2, P.LINE_TOO_LONG), (3, P.LINE_NUMBER), (3, P.PREVIOUS_LINE_HASH)]
    (tmp_path / "long").write_bytes(long)
    assert codes(verify_audit_files(tmp_path / "long")) == [(1, P.LINE_TOO_LONG)]


@pytest.mark.parametrize("cut", [1, 2, 300], ids=str)
def test_a_torn_line_is_found(tmp_path: Path, lines: list[bytes], cut: int) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes((b"\n".join(lines) + b"\n")[:-cut])
    assert codes(verify_audit_files(path)) == [(12, P.TORN_LINE)]


def _spaced(line: bytes) -> bytes:
    return json.dumps(json.loads(line)).encode()


def _twice(line: bytes) -> bytes:
    return line.replace(b'"decision":"REDACTED"', b'"decision":"ALLOW","decision":"REDACTED"')


def _escaped(line: bytes) -> bytes:
    return line.replace(b'"Support"', b'"\\u0053upport"')


def _extra(line: bytes) -> bytes:
    return line[:-1] + b',"note":1}'


def _surrogate(line: bytes) -> bytes:
    return line.replace(b'"Support"', b'"\\ud800"')


@pytest.mark.parametrize("change", [_spaced, _twice, _escaped, _extra, _surrogate])
def test_a_record_in_other_words_is_found_even_in_the_last_line(
    tmp_path: Path, lines: list[bytes], change: Callable[[bytes], bytes]
) -> None:
    found = codes(verify_lines(tmp_path, [*lines[:-1], change(lines[-1])]))
    assert found[0] == (12, P.NOT_CANONICAL)


def test_problems_repeat_nothing_of_the_file(tmp_path: Path, lines: list[bytes]) -> None:
    bad = [line.replace(b'"Support"', b'"canary-0xfeed"') for line in lines]
    found = verify_lines(tmp_path, [*bad, b"canary-0xfeed"])
    assert found.problems
    assert "canary" not in repr(found.problems)


@pytest.mark.parametrize("name", ["missing", "."], ids=["missing", "directory"])
def test_a_file_that_cannot_be_read_is_an_os_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match=r"No such file|directory"):
        verify_audit_files(tmp_path / name)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Ids and heads are in a database of bounded cache, outside of what Python allocates; the rest is a line."""
    with FileAuditStore(tmp_path / "a.jsonl", fsync="never") as store:
        log = AuditLog(store)
        for number in range(2_000):
            log.emit(context(f"s{number}"), ONE)
    assert verify_audit_files(*store.paths).stream_count == 2_000
    assert store.paths[0].stat().st_size > 1_500_000
    assert peak_bytes(lambda: verify_audit_files(*store.paths)) < 600_000


def test_events_of_several_streams_are_not_one_stream() -> None:
    assert codes(verify_audit([*events_of([("a", 1)]), *events_of([("a", 1)], correlation_id="c-2")])) == [
        (2, P.STREAM_ID),
        (2, P.DUPLICATE_EVENT_ID),
    ]
