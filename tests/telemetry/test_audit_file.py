from __future__ import annotations

import hashlib
import json
import logging
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.telemetry.audit_material import ONE, context, log_of
from tramapy import ConfigurationError, DlpRedaction
from tramapy.telemetry import (
    AuditHead,
    AuditLog,
    AuditProblemCode,
    AuditStoreError,
    AuditVerification,
    FileAuditStore,
    MemoryAuditStore,
    verify_audit_files,
)
from tramapy.telemetry.audit_line import LIMIT_LINE_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log of a test is."""
    return tmp_path / "audit.jsonl"


def verified(store: FileAuditStore, **options: Any) -> AuditVerification:
    return verify_audit_files(*store.paths, **options)


def fill(store: FileAuditStore, count: int = 3, *, stream: str = "s", **options: Any) -> None:
    log = AuditLog(store, **options)
    for _ in range(count):
        log.emit(context(stream), ONE)


def write(path: Path, count: int = 3, **options: Any) -> tuple[Path, ...]:
    """Write a log and close it."""
    with FileAuditStore(path, **{"fsync": "never", **options}) as store:
        fill(store, count)
    return store.paths


class Syncs:
    """Counts what is synchronized, files apart from directories; `failing` makes it fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file_count = 0
        self.directory_count = 0
        self.failing = False
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, handle: int) -> None:
        if self.failing:
            raise OSError(5, "Input/output error")
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            self.directory_count += 1
        else:
            self.file_count += 1
        self._real(handle)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    """What is synchronized."""
    return Syncs(monkeypatch)


def test_events_are_lines_that_verify(path: Path) -> None:
    with FileAuditStore(path) as store:
        fill(store)
        assert store.paths == (path.with_name("audit.000001.jsonl"),)
    lines = store.paths[0].read_bytes().splitlines()
    assert [json.loads(line)["event"]["sequenceNumber"] for line in lines] == [1, 2, 3]
    found = verified(store, head=store.head)
    assert found.is_valid
    assert found.head == store.head == hashlib.sha256(lines[-1]).hexdigest()


def test_a_path_without_a_suffix_gets_one(tmp_path: Path) -> None:
    assert write(tmp_path / "audit") == (tmp_path / "audit.000001.jsonl",)


def test_an_empty_log_has_no_head(path: Path) -> None:
    with FileAuditStore(path) as store:
        assert store.head is None
    assert verified(store).is_valid
    with FileAuditStore(path) as store:
        fill(store)
    assert verified(store).is_valid


def test_files_are_for_their_owner_alone(path: Path) -> None:
    assert stat.S_IMODE(write(path)[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("audit.jsonl.index").stat().st_mode) == 0o600


def test_a_log_goes_on_where_it_ended(path: Path) -> None:
    for _ in range(3):
        write(path, 2)
    paths = write(path, 2)
    found = verify_audit_files(*paths)
    assert found.is_valid
    assert (found.event_count, found.stream_count) == (8, 1)


def test_a_log_goes_on_without_its_index(path: Path) -> None:
    write(path, 5, limit_file_bytes=1_500)
    path.with_name("audit.jsonl.index").unlink()
    paths = write(path, 5, limit_file_bytes=1_500)
    assert len(paths) > 3
    found = verify_audit_files(*paths)
    assert found.is_valid
    assert found.event_count == 10


def test_a_log_that_was_not_closed_is_indexed_again(path: Path) -> None:
    store = FileAuditStore(path, fsync="never", limit_file_bytes=2_500)
    fill(store, 8)
    _abandon(store)
    paths = write(path, 2)
    found = verify_audit_files(*paths)
    assert found.is_valid
    assert (found.event_count, found.recovery_count) == (10, 0)


def _abandon(store: FileAuditStore) -> None:
    """Leave a store as a crash does: nothing of the index is committed."""
    os.close(store._file)
    store._file = -1
    store._index.close()


def test_the_index_is_committed_now_and_then(path: Path) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 1_001)
    _abandon(store)
    database = sqlite3.connect(path.with_name("audit.jsonl.index"))
    assert database.execute("SELECT line FROM position").fetchall() == [(1_000,)]
    database.close()
    assert verify_audit_files(*write(path, 1)).event_count == 1_002


# files and limits


def test_a_full_file_is_followed_by_the_next(path: Path) -> None:
    with FileAuditStore(path, fsync="never", limit_file_bytes=2_000) as store:
        fill(store, 10)
        assert [each.name for each in store.paths] == [f"audit.{number:06}.jsonl" for number in range(1, 6)]
        assert all(each.stat().st_size <= 2_000 for each in store.paths)
    assert verified(store).is_valid


def test_an_emit_is_never_split_over_files(path: Path) -> None:
    redactions = [DlpRedaction(rule_id, 1) for rule_id in "abcd"]
    with FileAuditStore(path, fsync="never", limit_file_bytes=100) as store:
        log = log_of(store)
        log.emit(context(), redactions)
        log.emit(context(), redactions)
    assert [each.read_bytes().count(b"\n") for each in store.paths] == [4, 4]
    assert verified(store).is_valid


def test_a_full_log_refuses_until_old_files_are_moved_away(path: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    with FileAuditStore(path, fsync="never", limit_file_bytes=900, limit_file_count=2) as store:
        fill(store, 2)
        with pytest.raises(AuditStoreError, match="full at 2 files"):
            fill(store, 1)
        first = store.paths[0].rename(archive / store.paths[0].name)
        fill(store, 1)
        with pytest.raises(AuditStoreError, match="full at 2 files"):
            fill(store, 1)
    assert verify_audit_files(first, *store.paths).event_count == 3
    assert verify_audit_files(first, *store.paths).is_valid
    assert verified(store, is_partial=True).is_valid


def test_a_log_whose_old_files_were_moved_away_goes_on(path: Path, tmp_path: Path) -> None:
    paths = write(path, 4, limit_file_bytes=900)
    moved = [each.rename(tmp_path / f"moved-{each.name}") for each in paths[:-1]]
    rest = write(path, 2, limit_file_bytes=900)
    assert verify_audit_files(*moved, *rest).is_valid
    assert verify_audit_files(*moved, *rest).event_count == 6


def test_a_crash_right_after_a_file_was_begun_is_no_loss(path: Path) -> None:
    write(path, 2)
    path.with_name("audit.000002.jsonl").touch()
    paths = write(path, 1)
    assert [each.stat().st_size > 0 for each in paths] == [True, True]
    assert verify_audit_files(*paths).is_valid


# when the disk has it


def test_always_waits_for_the_disk_with_every_emit(path: Path, syncs: Syncs) -> None:
    with FileAuditStore(path, fsync="always") as store:
        assert syncs.directory_count == 1
        fill(store, 5)
        assert syncs.file_count == 5
    assert syncs.file_count == 5


def test_an_emit_of_several_rules_waits_once(path: Path, syncs: Syncs) -> None:
    with FileAuditStore(path) as store:
        AuditLog(store).emit(context(), [DlpRedaction(rule_id, 1) for rule_id in "abc"])
        assert syncs.file_count == 1


def test_interval_waits_when_it_is_due_and_at_the_end(path: Path, syncs: Syncs) -> None:
    now_s = [100.0]
    with FileAuditStore(path, fsync="interval", fsync_interval_s=2, clock=lambda: now_s[0]) as store:
        for now_s[0] in (100.5, 101.9, 102.0, 103.9):
            fill(store, 1)
        assert syncs.file_count == 1
    assert syncs.file_count == 2


def test_never_does_not_wait(path: Path, syncs: Syncs) -> None:
    with FileAuditStore(path, fsync="never", limit_file_bytes=900) as store:
        fill(store, 5)
    path.with_name("audit.000001.jsonl").write_bytes(b"")
    assert (syncs.file_count, syncs.directory_count) == (0, 0)


def test_threads_that_wait_share_a_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_waits, all_wrote = threading.Event(), threading.Event()
    count = [0]

    def fsync(handle: int) -> None:
        count[0] += 1
        first_waits.set()
        assert all_wrote.wait(30)

    with FileAuditStore(path) as store:
        monkeypatch.setattr(os, "fsync", fsync)
        threads = [threading.Thread(target=fill, args=(store, 1))]
        threads[0].start()
        assert first_waits.wait(30)
        threads += [threading.Thread(target=fill, args=(store, 1)) for _ in range(4)]
        for thread in threads[1:]:
            thread.start()
        while store._position.line_number < 5:
            os.sched_yield()
        all_wrote.set()
        for thread in threads:
            thread.join()
    assert count[0] == 2
    assert verified(store).event_count == 5


def test_threads_append_to_one_log(path: Path) -> None:
    with FileAuditStore(path, fsync="interval", limit_file_bytes=20_000) as store:
        threads = [
            threading.Thread(target=fill, args=(store, 40), kwargs={"stream": f"s{number % 3}"})
            for number in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = verified(store)
    assert found.is_valid
    assert (found.event_count, found.stream_count) == (240, 3)


# what fails


def test_a_disk_that_did_not_take_it_ends_all_appending(path: Path, syncs: Syncs) -> None:
    store = FileAuditStore(path)
    fill(store, 1)
    syncs.failing = True
    with pytest.raises(AuditStoreError, match="did not take the audit log"):
        fill(store, 1)
    syncs.failing = False
    with pytest.raises(AuditStoreError, match="open it again"):
        fill(store, 1)
    store.close()
    assert verify_audit_files(*write(path, 1)).is_valid


def test_a_thread_that_waits_hears_that_the_wait_before_failed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, may_fail = threading.Event(), threading.Event()
    errors: list[AuditStoreError] = []

    def fsync(handle: int) -> None:
        waits.set()
        assert may_fail.wait(30)
        raise OSError(5, "Input/output error")

    def emit() -> None:
        try:
            fill(store, 1)
        except AuditStoreError as error:
            errors.append(error)

    store = FileAuditStore(path)
    monkeypatch.setattr(os, "fsync", fsync)
    threads = [threading.Thread(target=emit) for _ in range(2)]
    threads[0].start()
    assert waits.wait(30)
    threads[1].start()
    while store._position.line_number < 2:
        os.sched_yield()
    may_fail.set()
    for thread in threads:
        thread.join()
    store.close()
    assert len(errors) == 2


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Let no file of this process grow over 4,000 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_write_that_fails_leaves_no_part_of_it(path: Path, request: pytest.FixtureRequest) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 2)
    before = store.paths[0].read_bytes()
    request.getfixturevalue("small_disk")
    with pytest.raises(AuditStoreError, match="File too large"):
        AuditLog(store).emit(context(), [DlpRedaction(f"rule-{number}", 1) for number in range(9)])
    assert store.paths[0].read_bytes() == before
    fill(store, 1)
    _abandon(store)
    assert verified(store).event_count == 3
    assert verified(store).is_valid


def test_a_write_whose_part_stays_ends_all_appending(path: Path) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 1)
    kept = os.dup(store._file)

    def links(head: AuditHead) -> Any:
        full = os.open("/dev/full", os.O_WRONLY)  # takes no byte, and cannot be cut
        os.dup2(full, store._file)
        os.close(full)
        return made.made

    log_of(made := Links()).emit(context("s"), ONE)
    with pytest.raises(AuditStoreError, match="No space left"):
        store.append("s", links)
    os.dup2(kept, store._file)
    os.close(kept)
    with pytest.raises(AuditStoreError, match="interrupted"):
        fill(store, 1)
    store.close()


class Links(MemoryAuditStore):
    """Keeps what a log makes as it is given to a store."""

    def append(self, stream_id: str, links: Any) -> None:
        self.made = links(AuditHead(1, "0" * 64))


def test_an_error_of_the_log_leaves_the_store_usable(path: Path) -> None:
    with FileAuditStore(path, fsync="never") as store:
        fill(store, 1)
        with pytest.raises(ValueError, match="event id"):
            fill(store, 1, new_id=lambda: "")
        fill(store, 1)
    assert verified(store).event_count == 2
    assert verified(store).is_valid


def test_an_index_that_fails_ends_all_appending(path: Path) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 1)
    store._index._database.execute("DROP TABLE heads")
    with pytest.raises(AuditStoreError, match="cannot be used"):
        fill(store, 1)
    with pytest.raises(AuditStoreError, match="The index of the audit log failed"):
        fill(store, 1)
    store.close()
    assert verify_audit_files(*write(path, 1)).event_count == 2


@pytest.mark.parametrize("change", ["longer", "shorter", "removed"])
def test_a_file_that_something_else_changed_is_not_added_to(path: Path, change: str) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 2)
    if change == "removed":
        store.paths[0].unlink()
    else:
        data = store.paths[0].read_bytes()
        store.paths[0].write_bytes(data + b"x" if change == "longer" else data[:-10])
    with pytest.raises(AuditStoreError, match="Something else changed"):
        fill(store, 1)
    _abandon(store)


def test_a_closed_store_refuses(path: Path) -> None:
    store = FileAuditStore(path, fsync="never")
    store.close()
    store.close()
    with pytest.raises(AuditStoreError, match="closed"):
        fill(store, 1)


def test_a_file_that_cannot_be_opened_is_an_error_and_gives_the_log_free(path: Path) -> None:
    path.with_name("audit.000001.jsonl").mkdir()
    with pytest.raises(OSError, match="directory"):
        FileAuditStore(path)
    path.with_name("audit.000001.jsonl").rmdir()
    write(path)


def test_a_next_file_that_cannot_be_opened_is_an_error(path: Path, syncs: Syncs) -> None:
    with FileAuditStore(path, limit_file_bytes=900) as store:
        fill(store, 1)
        directory = store._files._directory
        store._files._directory = directory / "missing"
        with pytest.raises(AuditStoreError, match="cannot be opened"):
            store._begin_file()
        store._files._directory = directory
        fill(store, 1)
    assert verified(store).is_valid


def test_a_directory_that_the_disk_does_not_keep_is_an_error(path: Path, syncs: Syncs) -> None:
    syncs.failing = True
    with pytest.raises(AuditStoreError, match=r"cannot be opened \(Input/output error\)"):
        FileAuditStore(path)


# one store a log


def test_a_second_store_is_refused(path: Path, tmp_path: Path) -> None:
    with FileAuditStore(path) as store:
        with pytest.raises(AuditStoreError, match="Another store"):
            FileAuditStore(path)
        fill(store, 1)
        with FileAuditStore(tmp_path / "other.jsonl") as other:
            fill(other, 1)
    FileAuditStore(path).close()


OPEN = """
import sys
from tramapy.telemetry import AuditStoreError, FileAuditStore
try:
    FileAuditStore(sys.argv[1]).close()
except AuditStoreError as error:
    print(error)
"""


def test_a_second_process_is_refused(path: Path) -> None:
    with FileAuditStore(path) as store:
        fill(store, 1)
        assert "Another store has the audit log" in _python(OPEN, path)
        fill(store, 1)
    assert _python(OPEN, path) == ""
    assert verified(store).is_valid


def _python(code: str, *arguments: object) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout


FORK = """
import os, sys
from tests.telemetry.test_audit_file import fill
from tramapy.telemetry import AuditStoreError, FileAuditStore
store = FileAuditStore(sys.argv[1], fsync="never")
fill(store, 1)
child = os.fork()
if child == 0:
    try:
        fill(store, 1)
    except AuditStoreError as error:
        print(error, flush=True)
    store.close()
    os._exit(0)
os.waitpid(child, 0)
fill(store, 1)
store.close()
"""


def test_a_forked_child_is_refused(path: Path) -> None:
    assert "before a fork" in _python(FORK, path)
    assert verify_audit_files(path.with_name("audit.000001.jsonl")).event_count == 2


def test_another_process_id_is_refused_and_closes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FileAuditStore(path, fsync="never") as store:
        fill(store, 1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            with pytest.raises(AuditStoreError, match="before a fork"):
                fill(store, 1)
            store.close()
        fill(store, 1)
    assert verified(store).event_count == 2


# crashes


@pytest.mark.parametrize("kept", [0, 1, 40, -1], ids=["nothing", "a byte", "some", "all but the end"])
def test_a_torn_line_is_moved_out_and_noted(path: Path, kept: int, caplog: pytest.LogCaptureFixture) -> None:
    file = write(path, 3)[0]
    lines = file.read_bytes().splitlines(keepends=True)
    torn = lines[2][:kept]
    file.write_bytes(b"".join(lines[:2]) + torn)
    path.with_name("audit.jsonl.index").unlink()
    caplog.set_level(logging.WARNING, "tramapy.audit")
    paths = write(path, 1)
    found = verify_audit_files(*paths)
    assert found.is_valid
    assert found.event_count == 3
    if not torn:
        assert found.recovery_count == 0
        return
    assert found.recovery_count == 1
    note = json.loads(paths[0].read_bytes().splitlines()[2])
    assert note["recovery"]["removedByteCount"] == len(torn)
    assert note["recovery"]["removedSha256"] == hashlib.sha256(torn).hexdigest()
    (moved,) = path.parent.glob("*.torn")
    assert moved.read_bytes() == torn
    assert stat.S_IMODE(moved.stat().st_mode) == 0o600
    assert f"{len(torn)} bytes of an unfinished line" in caplog.text


@pytest.mark.parametrize("size", [1, 5_000, 200_000], ids=str)
def test_a_tail_of_any_size_is_moved_out(path: Path, size: int, syncs: Syncs) -> None:
    file = write(path, 3)[0]
    with file.open("ab") as opened:
        opened.write(b"\0" * size)
    with FileAuditStore(path) as store:
        fill(store, 1)
    found = verified(store)
    assert found.is_valid
    assert (found.event_count, found.recovery_count) == (4, 1)
    assert syncs.file_count >= 3


def test_a_crash_in_the_midst_of_a_recovery_is_recovered_from(path: Path) -> None:
    file = write(path, 3)[0]
    whole = file.read_bytes()
    file.write_bytes(whole + b"x" * 2_000)
    FileAuditStore(path, fsync="never").close()
    noted = file.read_bytes()
    # the note was written and the rest not yet cut off, or the note was written in part
    for remains in (noted + b"x" * (2_000 - len(noted) + len(whole)), noted[:-30]):
        file.write_bytes(remains)
        path.with_name("audit.jsonl.index").unlink()
        FileAuditStore(path, fsync="never").close()
        assert verify_audit_files(file).is_valid
        assert verify_audit_files(file).event_count == 3


def test_a_torn_line_that_is_not_at_the_end_is_refused(path: Path) -> None:
    paths = write(path, 4, limit_file_bytes=900)
    paths[1].write_bytes(paths[1].read_bytes()[:-5])
    path.with_name("audit.jsonl.index").unlink()
    with pytest.raises(AuditStoreError, match="is not the last"):
        FileAuditStore(path)
    codes = [problem.code for problem in verify_audit_files(*paths).problems]
    assert codes[0] is AuditProblemCode.TORN_LINE


@pytest.mark.parametrize(
    "line",
    [
        b"hello\n",
        b"x" * (LIMIT_LINE_BYTES + 5) + b"\n",
        b'{"lineNumber":4,"previousLineHash":null,"recovery":'
        b'{"timestamp":"","removedByteCount":1,"removedSha256":""}}\n',
    ],
    ids=["no record", "too long", "no link"],
)
def test_a_log_with_a_line_that_does_not_continue_it_is_refused(path: Path, line: bytes) -> None:
    file = write(path, 3)[0]
    with file.open("ab") as opened:
        opened.write(line)
    with pytest.raises(AuditStoreError, match=r"Line 4 of the audit log, in .* does not continue it"):
        FileAuditStore(path)


@pytest.mark.parametrize("part", ["decision", "stream"])
def test_an_event_that_was_altered_before_it_was_indexed_is_refused(path: Path, part: str) -> None:
    store = FileAuditStore(path, fsync="never")
    fill(store, 3)
    _abandon(store)
    lines = store.paths[0].read_bytes().splitlines(keepends=True)
    old, new = {"decision": (b"REDACTED", b"ALLOWED!"), "stream": (b'StreamId":"s"', b'StreamId":"t"')}[part]
    store.paths[0].write_bytes(b"".join([*lines[:2], lines[2].replace(old, new)]))
    with pytest.raises(AuditStoreError, match="Line 3"):
        FileAuditStore(path)


def test_a_log_that_is_shorter_than_its_index_is_refused(path: Path) -> None:
    file = write(path, 3)[0]
    whole = file.read_bytes()
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    with pytest.raises(AuditStoreError, match="lines were cut off or altered"):
        FileAuditStore(path)
    file.unlink()
    with pytest.raises(AuditStoreError, match="lines were cut off or altered"):
        FileAuditStore(path)
    file.write_bytes(whole)
    write(path, 1)


def test_a_log_whose_last_line_was_altered_is_refused(path: Path) -> None:
    file = write(path, 3)[0]
    file.write_bytes(file.read_bytes()[:-20] + b"x" * 19 + b"\n")
    with pytest.raises(AuditStoreError, match="lines were cut off or altered"):
        FileAuditStore(path)


def test_a_missing_file_in_the_midst_is_refused(path: Path) -> None:
    paths = write(path, 4, limit_file_bytes=900)
    paths[1].unlink()
    path.with_name("audit.jsonl.index").unlink()
    with pytest.raises(AuditStoreError, match="is missing"):
        FileAuditStore(path)
    paths[0].unlink()
    with pytest.raises(AuditStoreError, match="Line 1 of the audit log"):
        FileAuditStore(path)


def test_a_damaged_index_is_refused_and_can_be_deleted(path: Path) -> None:
    write(path, 3)
    index = path.with_name("audit.jsonl.index")
    index.write_bytes(b"no database" * 100)
    with pytest.raises(AuditStoreError, match=r"SQLITE_NOTADB.*Delete it"):
        FileAuditStore(path)
    index.unlink()
    assert verify_audit_files(*write(path, 1)).event_count == 4


DIE = """
import os, sys
from tests.telemetry.test_audit_file import fill
from tramapy.telemetry import FileAuditStore
store = FileAuditStore(sys.argv[1], fsync=sys.argv[2], limit_file_bytes=4_000)
fill(store, 20)
print(20, flush=True)
real = os.write
def write(handle, data):
    real(handle, data[: int(sys.argv[3])])
    os.kill(os.getpid(), 9)
os.write = write
fill(store, 1)
"""


@pytest.mark.parametrize("fsync", ["always", "never"])
@pytest.mark.parametrize("written", [0, 1, 500, 10_000], ids=str)
def test_a_process_that_is_killed_in_a_write_loses_nothing_that_it_was_told_of(
    path: Path, fsync: str, written: int
) -> None:
    process = subprocess.run(
        [sys.executable, "-c", DIE, path, fsync, str(written)], capture_output=True, cwd=ROOT, check=False
    )
    assert process.returncode == -9
    with FileAuditStore(path) as store:
        fill(store, 1)
    found = verified(store)
    assert found.is_valid
    assert found.event_count == 20 + 1 + (written > 1_000)  # a whole line is kept, though nobody was told
    assert found.recovery_count == (0 < written < 1_000)


WRITE = """
import sys
from tests.telemetry.test_audit_file import context, ONE
from tramapy.telemetry import AuditLog, FileAuditStore
log = AuditLog(FileAuditStore(sys.argv[1], fsync="never", limit_file_bytes=20_000))
count = 0
while True:
    log.emit(context(f"s{count % 7}"), ONE)
    count += 1
    print(count, flush=True)
"""


@pytest.mark.parametrize("heard", [1, 700, 2_500], ids=str)
def test_a_process_that_is_killed_at_any_time_loses_nothing_that_it_was_told_of(
    path: Path, heard: int
) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITE, path], stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        for _ in range(heard):
            assert process.stdout.readline()
        process.kill()
        told = [heard, *map(int, process.stdout.read().split())][-1]
    with FileAuditStore(path, fsync="never") as store:
        fill(store, 1)
    found = verified(store)
    assert found.is_valid
    assert found.event_count >= told + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "."}, "names no file"),
        ({"path": "missing/audit.jsonl"}, "no directory"),
        ({"path": 5}, "path is of type int"),
        ({"clock": 5}, "clock is of type int"),
        ({"fsync": "sometimes"}, "fsync takes"),
        ({"fsync_interval_s": -1}, "fsync_interval_s"),
        ({"fsync_interval_s": float("nan")}, "fsync_interval_s"),
        ({"fsync_interval_s": "1"}, "fsync_interval_s"),
        ({"fsync_interval_s": True}, "fsync_interval_s"),
        ({"limit_file_bytes": 0}, "limit_file_bytes"),
        ({"limit_file_count": 0}, "limit_file_count"),
    ],
    ids=str,
)
def test_a_store_that_cannot_work_is_refused(path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FileAuditStore(**{"path": path, **arguments})
    assert not any(path.parent.iterdir())
