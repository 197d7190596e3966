"""`FileAuditStore`: audit events as lines of JSON in files that are only ever added to."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, Self, get_args

from tramapy.errors import ConfigurationError
from tramapy.forks import renew_after_fork
from tramapy.telemetry.audit_event import SealedEvent
from tramapy.telemetry.audit_files import AuditFiles
from tramapy.telemetry.audit_index import AuditIndex, LogPosition
from tramapy.telemetry.audit_line import LineHead, event_line, line_hash
from tramapy.telemetry.audit_recovery import recovered
from tramapy.telemetry.audit_store import AuditHead, AuditStore, AuditStoreError, Links, check_count
from tramapy.values import described

__all__ = ["FileAuditStore", "FsyncPolicy"]

FsyncPolicy = Literal["always", "interval", "never"]
"""When an append waits until the disk has it."""

_INDEX_FAILURE: Final = "The index of the audit log failed"

_COMMIT_EVENT_COUNT: Final = 1_000
"""How many events a crash leaves to be indexed again at the next opening."""


class FileAuditStore(AuditStore):
    """Keeps events in files: `audit.jsonl` becomes `audit.000001.jsonl`, then `audit.000002.jsonl`.

    Beside them stands `audit.jsonl.index`, with the head of each stream; it also locks the log, so that a second store
    on it is refused, in this process or another. Opening moves bytes of a line that a crash left unfinished into
    a file of their own, and notes that in the log.

    Args:
        path: Where; the number of the file comes before the suffix. The directory must exist.
        fsync: `always`: an append returns when the disk has it; threads that wait share one call. `interval`: the
            first append after `fsync_interval_s` does so, and `close`. `never`: the operating system decides.
        fsync_interval_s: The seconds of `interval`.
        limit_file_bytes: A file that would grow over this is ended, and the next begun.
        limit_file_count: The most files; a full log refuses events until old ones are moved away. By default
            there is no limit.
        clock: Seconds, for `interval`.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
        AuditStoreError: Another store has the log, or the files do not continue as the index says.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fsync: FsyncPolicy = "always",
        fsync_interval_s: float = 1.0,
        limit_file_bytes: int = 64 * 1024 * 1024,
        limit_file_count: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        _check(fsync, fsync_interval_s, limit_file_bytes, limit_file_count)
        if not callable(clock):
            raise ConfigurationError(f"clock is {described(clock)}; give a function such as time.monotonic")
        if not isinstance(path, (str, Path)):
            raise ConfigurationError(f"path is {described(path)}; give a str or a Path")
        is_durable = fsync != "never"
        self._files = AuditFiles(Path(path), is_durable=is_durable)
        self._fsync: FsyncPolicy = fsync
        self._fsync_interval_s = fsync_interval_s
        self._limit_file_bytes = limit_file_bytes
        self._limit_file_count = limit_file_count
        self._clock = clock
        self._renew()
        renew_after_fork(self, type(self)._renew)
        self._process_id = os.getpid()
        self._failure: str | None = None
        self._sync_failure: str | None = None
        self._index = AuditIndex(self._files.index_path, is_durable=is_durable)
        try:
            self._position: LogPosition = recovered(self._files, self._index, is_durable=is_durable)
            self._file: int = self._files.open(self._position.file_number)
        except BaseException:
            self._index.close()
            raise
        self._is_open = True
        self._uncommitted_count = 0
        self._written_bytes = self._synced_bytes = 0
        self._synced_at_s = clock()

    def _renew(self) -> None:
        """Take new locks, in a forked child, which is refused and must not wait for that."""
        self._lock = threading.Lock()  # of what is written; never wanted by who has the next
        self._sync_lock = threading.Lock()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are there, oldest first."""
        return tuple(self._files.path(number) for number in self._files.numbers())

    @property
    def head(self) -> str | None:
        """The hash of the last line. Keep it elsewhere: `verify_audit_files(head=...)` then finds a cut."""
        return self._position.line_hash

    def append(self, stream_id: str, links: Links) -> None:
        """Write the next events of a stream, and wait for the disk as `fsync` says."""
        with self._lock:
            self._check_usable()
            self._failure = _INDEX_FAILURE  # a failed statement may have undone the heads before it
            head = self._index.head(stream_id)
            self._failure = None
            self._write_events(stream_id, links(head))
            ticket_bytes = self._written_bytes
        if self._fsync != "never":
            self._sync(ticket_bytes, is_due=self._fsync == "always")

    def close(self) -> None:
        """Wait for the disk unless `fsync` is `never`, and let another store have the log. May be called again."""
        with self._lock:
            if not self._is_open or os.getpid() != self._process_id:
                return
            self._is_open = False
            try:
                if self._failure is None and self._sync_failure is None:
                    self._commit()
            finally:
                with self._sync_lock:
                    file, self._file = self._file, -1  # a number that is closed may soon be another file's
                    os.close(file)
                self._index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_usable(self) -> None:
        if not self._is_open:
            raise AuditStoreError("The audit store is closed; open another")
        if os.getpid() != self._process_id:
            raise AuditStoreError(
                "The audit store was opened before a fork; open one in each process, by its own path"
            )
        failure = self._failure or self._sync_failure
        if failure is not None:
            raise AuditStoreError(f"{failure}; close the audit store and open it again")
        status = os.fstat(self._file)
        if status.st_size != self._position.offset_bytes or status.st_nlink == 0:
            raise AuditStoreError("Something else changed the file of the audit store; verify the log")

    def _write_events(self, stream_id: str, links: Sequence[SealedEvent]) -> None:
        head = LineHead(self._position.line_number, self._position.line_hash)
        data = bytearray()
        for link in links:
            line = event_line(head, link)
            head = LineHead(head.line_number + 1, line_hash(line))
            data += line + b"\n"
        if self._position.offset_bytes and self._position.offset_bytes + len(data) > self._limit_file_bytes:
            self._begin_file()
        # stands until all is done, so that an exception at any point, also one of a signal, ends all appending
        self._failure = "An append was interrupted"
        self._write(data)
        last = links[-1].event
        self._index.set_head(stream_id, AuditHead(last.sequence_number, last.event_hash))
        self._position = LogPosition(
            self._position.file_number,
            self._position.offset_bytes + len(data),
            head.line_number,
            head.line_hash,
        )
        self._written_bytes += len(data)
        self._uncommitted_count += len(links)
        self._failure = None
        if self._uncommitted_count >= _COMMIT_EVENT_COUNT:
            self._commit()

    def _write(self, data: bytearray) -> None:
        failure = ""
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            failure = _reason(error)
        if failure:
            # nobody was told of these events: a part of them is no record
            with contextlib.suppress(OSError):  # then it stays unusable, and the next opening moves them out
                os.ftruncate(self._file, self._position.offset_bytes)
                self._failure = None
            raise AuditStoreError(f"The audit log cannot be written ({failure})")

    def _begin_file(self) -> None:
        if self._limit_file_count is not None and len(self._files.numbers()) >= self._limit_file_count:
            raise AuditStoreError(
                f"The audit log is full at {self._limit_file_count} files; move old ones away, or raise "
                "limit_file_count"
            )
        self._commit()
        number = self._position.file_number + 1
        file = self._files.open(number)
        with self._sync_lock:
            old, self._file = self._file, file
            os.close(old)
        self._position = LogPosition(number, 0, self._position.line_number, self._position.line_hash)
        self._commit()  # so that the file before may be moved away

    def _commit(self) -> None:
        """Keep the heads, after the lines that they are of."""
        if self._fsync != "never":
            self._sync(self._written_bytes, is_due=True)
        self._failure = _INDEX_FAILURE
        self._index.commit(self._position)
        self._failure = None
        self._uncommitted_count = 0

    def _sync(self, ticket_bytes: int, *, is_due: bool) -> None:
        """Wait until the disk has the first bytes that this store wrote; another thread may have done it."""
        with self._sync_lock:
            if self._sync_failure is not None:
                raise AuditStoreError(f"{self._sync_failure}; close the audit store and open it again")
            if self._synced_bytes >= ticket_bytes:
                return
            now_s = self._clock()
            if not is_due and now_s - self._synced_at_s < self._fsync_interval_s:
                return
            written_bytes = self._written_bytes
            try:
                os.fsync(self._file)
            except OSError as error:
                # the kernel may have dropped the pages: to try again would be told that all is well
                self._sync_failure = f"The disk did not take the audit log ({_reason(error)})"
            if self._sync_failure is not None:
                raise AuditStoreError(f"{self._sync_failure}; close the audit store and open it again")
            self._synced_bytes = written_bytes
            self._synced_at_s = now_s


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _check(
    fsync: object, fsync_interval_s: object, limit_file_bytes: object, limit_file_count: object
) -> None:
    if fsync not in get_args(FsyncPolicy):
        raise ConfigurationError("fsync takes 'always', 'interval' or 'never'")
    is_number = isinstance(fsync_interval_s, int | float) and not isinstance(fsync_interval_s, bool)
    if not is_number or not 0 <= fsync_interval_s < float("inf"):  # type: ignore[operator]
        raise ConfigurationError("fsync_interval_s takes a number of seconds, at least 0")
    check_count("limit_file_bytes", limit_file_bytes)
    if limit_file_count is not None:
        check_count("limit_file_count", limit_file_count)
