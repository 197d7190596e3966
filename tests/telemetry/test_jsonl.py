from __future__ import annotations

import errno
import gc
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.drivers import HELLO
from tramapy import CATALOGUE, ConfigurationError, ProviderError, RuntimeEvent, Tramapy, TramapyError
from tramapy.hooks.event_model import (
    RuntimeAttributeKey,
    RuntimeEventDefinition,
    RuntimeEventDomain,
    RuntimeEventSensitivity,
)
from tramapy.telemetry import JsonlEventObserver
from tramapy.telemetry.jsonl_file import RotatedFile
from tramapy.telemetry.line_queue import LineQueue, _close_at_exit
from tramapy.testing import RecordingObserver, ScriptedProvider


def opened(correlation_id: str = "c") -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.circuit.opened"), {"correlation_id": correlation_id, "provider_id": "p"}
    )


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def run_program(code: str, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments],
        check=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_every_event_of_an_operation_is_a_line(tmp_path: Path) -> None:
    path, heard = tmp_path / "events.jsonl", RecordingObserver()
    with JsonlEventObserver(path, now_epoch_s=lambda: 12.5) as observer:
        Tramapy({"p": ScriptedProvider(["an answer"])}, event_observers=[heard, observer]).complete(
            HELLO, model="m"
        )
    assert [(record["name"], record["attributes"]) for record in records(path)] == [
        (event.name, dict(event.attributes)) for event in heard.events
    ]
    assert {record["at_s"] for record in records(path)} == {12.5}
    assert observer.dropped_count == 0


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    JsonlEventObserver(tmp_path / "events.jsonl").close()
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_second_observer_appends(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with JsonlEventObserver(tmp_path / "events.jsonl") as observer:
            observer.on_runtime_event(opened(name))
    assert [record["attributes"]["correlation_id"] for record in records(tmp_path / "events.jsonl")] == [
        "first",
        "second",
    ]


def test_a_line_that_a_crash_cut_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"at_s": 1, "na')
    with JsonlEventObserver(path) as observer:
        observer.on_runtime_event(opened())
    first, second = path.read_bytes().splitlines()
    assert first == b'{"at_s": 1, "na'
    assert json.loads(second)["name"] == "tramai.circuit.opened"


def test_flush_waits_until_what_was_heard_is_written(tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "events.jsonl") as observer:
        observer.on_runtime_event(opened())
        assert observer.flush()
        assert len(records(tmp_path / "events.jsonl")) == 1


def test_what_comes_after_close_is_dropped_and_counted(tmp_path: Path) -> None:
    observer = JsonlEventObserver(tmp_path / "events.jsonl")
    assert observer.close()
    observer.on_runtime_event(opened())
    assert observer.dropped_count == 1
    assert observer.close()
    assert observer.flush()
    assert (tmp_path / "events.jsonl").read_bytes() == b""


def test_long_texts_are_cut_and_lone_surrogates_are_written(tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "events.jsonl") as observer:
        observer.on_runtime_event(opened("\ud800" + "x" * 5_000))
    assert records(tmp_path / "events.jsonl")[0]["attributes"]["correlation_id"] == "\ud800" + "x" * 255


SENSITIVE = RuntimeEventSensitivity.SENSITIVE
ID = RuntimeAttributeKey(name="correlation_id", value_type=str)
HIDDEN = RuntimeAttributeKey(name="hidden", value_type=str, sensitivity=SENSITIVE)


@pytest.mark.parametrize(
    ("sensitivity", "expected"),
    [(RuntimeEventSensitivity.INTERNAL, {"correlation_id": "c"}), (SENSITIVE, {})],
    ids=["attribute", "event"],
)
def test_what_is_declared_sensitive_is_not_written(
    sensitivity: RuntimeEventSensitivity, expected: dict[str, str], tmp_path: Path
) -> None:
    definition = RuntimeEventDefinition(
        name="mine", domain=RuntimeEventDomain.POLICY, allowed=(ID, HIDDEN), sensitivity=sensitivity
    )
    with JsonlEventObserver(tmp_path / "events.jsonl") as observer:
        observer.on_runtime_event(RuntimeEvent.of(definition, {"correlation_id": "c", "hidden": "canary"}))
    assert records(tmp_path / "events.jsonl")[0]["attributes"] == expected


def test_definitions_without_end_are_not_all_kept(tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "f") as observer:
        for number in range(1_100):
            own = RuntimeEventDefinition(
                name=f"e{number}", domain=RuntimeEventDomain.POLICY, allowed=(ID, HIDDEN)
            )
            observer.on_runtime_event(RuntimeEvent.of(own, {"correlation_id": "c", "hidden": "canary"}))
    written = records(tmp_path / "f")
    assert [record["name"] for record in written] == [f"e{number}" for number in range(1_100)]
    assert all(record["attributes"] == {"correlation_id": "c"} for record in written)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("limit_bytes", 4095),
        ("limit_bytes", True),
        ("backup_count", -1),
        ("buffer_event_count", 0),
        ("buffer_event_count", 1.5),
    ],
)
def test_a_number_that_cannot_be_is_refused(option: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=rf"{option} takes an int of at least \d+"):
        JsonlEventObserver(tmp_path / "events.jsonl", **{option: value})


def test_an_argument_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="path is of type int; give a str or a Path"):
        JsonlEventObserver(5)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ConfigurationError, match="now_epoch_s is of type int; give a function"):
        JsonlEventObserver(tmp_path / "events.jsonl", now_epoch_s=5)  # type: ignore[arg-type]  # what is refused


def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot open .*No such file or directory"):
        JsonlEventObserver(tmp_path / "missing" / "events.jsonl")


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="it is no regular file"):
        JsonlEventObserver(tmp_path / "pipe")


@pytest.mark.parametrize("backup_count", [0, 1, 2])
def test_a_full_file_is_put_aside_and_the_oldest_is_forgotten(backup_count: int, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with JsonlEventObserver(path, limit_bytes=4096, backup_count=backup_count) as observer:
        for number in range(200):
            observer.on_runtime_event(opened(f"{number:03}"))
    parts = [path, *(tmp_path / f"events.jsonl.{number}" for number in range(1, backup_count + 1))]
    assert sorted(tmp_path.iterdir()) == sorted(parts)
    assert all(part.stat().st_size <= 4096 for part in parts)
    ids = [record["attributes"]["correlation_id"] for part in reversed(parts) for record in records(part)]
    assert ids == [f"{number:03}" for number in range(200 - len(ids), 200)]
    assert len(ids) > 25 * backup_count


def test_a_line_longer_than_the_limit_stands_alone(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "f", limit_bytes=10, backup_count=9)
    file.append([b"1234\n", b"a line that is longer\n", b"5678\n", b"9\n"])
    file.close()
    assert (tmp_path / "f").read_bytes() == b"5678\n9\n"
    assert (tmp_path / "f.1").read_bytes() == b"a line that is longer\n"
    assert (tmp_path / "f.2").read_bytes() == b"1234\n"
    assert file.line_count == 4


def test_nothing_to_append_is_nothing(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "f", limit_bytes=10, backup_count=1)
    file.append([])
    file.close()
    assert not (tmp_path / "f").exists()


class _Held:
    """An encoder that waits, so that a test can fill the queue behind it."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.gate = threading.Event()

    def __call__(self, item: bytes) -> bytes:
        self.is_reached.set()
        assert self.gate.wait(30)
        return item


def held_queue(path: Path, *, capacity: int) -> tuple[LineQueue[bytes], _Held]:
    held = _Held()
    lines = LineQueue(RotatedFile(path, limit_bytes=4096, backup_count=1), held, capacity=capacity)
    lines.put(b"first\n")
    assert not lines.flush(0.0)  # it hurries, but the encoder waits
    assert held.is_reached.wait(30)
    return lines, held


def test_a_full_buffer_drops_and_counts_and_never_waits(tmp_path: Path) -> None:
    lines, held = held_queue(tmp_path / "f", capacity=3)
    for number in range(10):
        lines.put(b"%d\n" % number)
    assert lines.dropped_count == 7
    held.gate.set()
    assert lines.close(30)
    assert (tmp_path / "f").read_bytes() == b"first\n0\n1\n2\n"


class _Unclosable(RotatedFile):
    """A file on a disk that breaks while it is closed."""

    def close(self) -> None:
        super().close()
        raise OSError("the disk is gone")


def test_close_ends_on_a_disk_that_breaks(tmp_path: Path) -> None:
    file = _Unclosable(tmp_path / "f", limit_bytes=4096, backup_count=1)
    lines: LineQueue[bytes] = LineQueue(file, bytes, capacity=1)
    lines.put(b"1\n")
    assert lines.close(30)
    assert (tmp_path / "f").read_bytes() == b"1\n"


def test_close_gives_up_after_its_time(tmp_path: Path) -> None:
    lines, held = held_queue(tmp_path / "f", capacity=3)
    assert not lines.close(0.0)
    held.gate.set()
    assert lines.close(30)


def test_a_file_that_fails_costs_counted_drops_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "logs"
    directory.mkdir()
    path = directory / "f"
    provider = ScriptedProvider(["one", "two"])
    with caplog.at_level(logging.WARNING, "tramapy.telemetry"):
        observer = JsonlEventObserver(path, limit_bytes=4096, backup_count=1)
        # the next rotation fails, and so does everything after it
        directory.joinpath("f.1").mkdir()
        directory.joinpath("f.1", "full").touch()
        for number in range(100):
            observer.on_runtime_event(opened(str(number)))
        observer.flush()
        assert Tramapy({"p": provider}, event_observers=[observer]).complete(HELLO, model="m").content
        observer.close()
    written = len(records(path))
    assert observer.dropped_count == 105 - written
    assert 0 < written < 100
    assert len(caplog.records) == 1
    assert "error_type=" in caplog.text
    assert str(tmp_path) not in caplog.text


def test_a_file_that_works_again_is_written_again(tmp_path: Path) -> None:
    directory = tmp_path / "logs"
    directory.mkdir()
    with JsonlEventObserver(directory / "f", limit_bytes=4096, backup_count=1) as observer:
        blocked = directory / "f.1"
        blocked.mkdir()
        (blocked / "full").touch()
        for number in range(100):
            observer.on_runtime_event(opened(str(number)))
        observer.flush()
        dropped_count = observer.dropped_count
        (blocked / "full").unlink()
        blocked.rmdir()
        observer.on_runtime_event(opened("again"))
    assert dropped_count > 0
    assert observer.dropped_count == dropped_count
    assert records(directory / "f")[-1]["attributes"]["correlation_id"] == "again"


def test_a_warning_that_fails_does_not_end_the_thread(tmp_path: Path) -> None:
    def refuse(_: logging.LogRecord) -> bool:
        raise RuntimeError("a broken filter")

    logger = logging.getLogger("tramapy.telemetry")
    logger.addFilter(refuse)
    try:
        with JsonlEventObserver(tmp_path / "f", now_epoch_s=lambda: "no number") as observer:  # type: ignore[arg-type,return-value]
            observer.on_runtime_event(opened())
            assert observer.flush()
    finally:
        logger.removeFilter(refuse)
    assert observer.dropped_count == 1


def test_the_operation_does_not_notice_a_clock_that_fails(tmp_path: Path) -> None:
    def fail() -> float:
        raise RuntimeError("no clock")

    with JsonlEventObserver(tmp_path / "f", now_epoch_s=fail) as observer:
        tramapy = Tramapy({"p": ScriptedProvider(["an answer"])}, event_observers=[observer])
        assert tramapy.complete(HELLO, model="m").content == "an answer"


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "f") as observer:

        def work(name: str) -> None:
            for number in range(200):
                observer.on_runtime_event(opened(f"{name}{number}"))

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ids = [record["attributes"]["correlation_id"] for record in records(tmp_path / "f")]
    assert len(set(ids)) == 800
    for name in "abcd":
        assert [one for one in ids if one[0] == name] == [f"{name}{number}" for number in range(200)]


def test_an_observer_that_nobody_closes_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    observer = JsonlEventObserver(tmp_path / "f")
    (thread,) = set(threading.enumerate()) - before
    lines = weakref.ref(observer._queue)
    observer.on_runtime_event(opened())
    del observer
    gc.collect()
    thread.join(30)
    gc.collect()
    assert lines() is None
    assert len(records(tmp_path / "f")) == 1


def test_a_queue_that_is_gone_is_not_closed_at_exit(tmp_path: Path) -> None:
    lines, held = held_queue(tmp_path / "f", capacity=1)
    held.gate.set()
    assert lines.close(30)
    _close_at_exit(weakref.ref(lines))
    assert lines.close(0.0)
    gone = weakref.ref(RotatedFile(tmp_path / "g", limit_bytes=1, backup_count=1))
    gc.collect()
    _close_at_exit(gone)  # type: ignore[arg-type]


PROGRAM = """
import os, sys
from tramapy import CATALOGUE, RuntimeEvent
from tramapy.telemetry import JsonlEventObserver

def event(name):
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.circuit.opened"), {"correlation_id": name, "provider_id": "p"}
    )

observer = JsonlEventObserver(sys.argv[1])
observer.on_runtime_event(event("parent"))
"""


def test_what_is_buffered_when_the_program_ends_is_written(tmp_path: Path) -> None:
    run_program(PROGRAM, str(tmp_path / "f"))
    assert [record["attributes"]["correlation_id"] for record in records(tmp_path / "f")] == ["parent"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize(
    ("in_child", "expected"),
    [
        ('observer.on_runtime_event(event("child")); observer.close()', ["child", "parent"]),
        ("assert observer.flush(30)", ["parent"]),
        ("assert observer.close(0.0)", ["parent"]),
        ("pass", ["parent"]),
    ],
    ids=["event", "flush", "close", "nothing"],
)
def test_a_forked_child_writes_its_own_events_alone(
    in_child: str, expected: list[str], tmp_path: Path
) -> None:
    program = f"""
assert observer.flush(30)
if os.fork() == 0:
    {in_child}
    sys.exit(0)
assert os.wait()[1] == 0
"""
    run_program(PROGRAM + program, str(tmp_path / "f"))
    assert sorted(record["attributes"]["correlation_id"] for record in records(tmp_path / "f")) == expected


@pytest.mark.parametrize(
    "failure", [ProviderError("canary-text", status_code=500), RuntimeError("canary-text")]
)
def test_no_text_of_an_error_is_written(failure: Exception, tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "f") as observer:
        tramapy = Tramapy({"p": ScriptedProvider([failure])}, event_observers=[observer])
        with pytest.raises(TramapyError):
            tramapy.complete(HELLO, model="m")
    assert b"canary-text" not in (tmp_path / "f").read_bytes()
    assert b"tramai.attempt.failed" in (tmp_path / "f").read_bytes()


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write: Callable[[int, bytes], int] = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    file = RotatedFile(tmp_path / "f", limit_bytes=100, backup_count=1)
    file.append([b"a whole line\n"])
    file.close()
    assert (tmp_path / "f").read_bytes() == b"a whole line\n"


def test_lines_before_a_failure_are_not_counted_as_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write: Callable[[int, bytes], int] = os.write
    room = [20]  # bytes that the disk still takes

    def full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "full")
        count = write(descriptor, bytes(data[: room[0]]))
        room[0] -= count
        return count

    file = RotatedFile(tmp_path / "f", limit_bytes=100, backup_count=1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            file.append([b"a line\n"] * 5)
    assert file.line_count == 2
    file.append([b"a line\n"])
    file.close()
    assert file.line_count == 3
    assert (tmp_path / "f").read_bytes() == b"a line\na line\na line\na line\n"
