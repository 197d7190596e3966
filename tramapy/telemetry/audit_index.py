"""The heads of the streams of an audit log, on disk: there are as many as there were operations.

It can be made again from the files. While it is open it also locks the log against other processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tramapy.telemetry.audit_store import FIRST, AuditHead, AuditStoreError

__all__ = ["START", "AuditIndex", "LogPosition"]

_CACHE_KIB: Final = 4096
_making: Final = threading.Lock()

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS heads (stream BLOB PRIMARY KEY, sequence INTEGER, hash TEXT) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS position (file INTEGER, offset INTEGER, line INTEGER, hash TEXT)",
)


@dataclass(frozen=True, slots=True)
class LogPosition:
    """How far a log is known: the file, the bytes of it, and the last line.

    Args:
        file_number: The file, from 1.
        offset_bytes: Where the last line ends.
        line_number: Its number over all files; 0 where there is none.
        line_hash: Its hash.
    """

    file_number: int
    offset_bytes: int
    line_number: int
    line_hash: str | None


START: Final = LogPosition(1, 0, 0, None)
"""The position in an empty log."""


class AuditIndex:
    """The head of each stream, and how far the log is indexed. Only what is committed outlives the process.

    Args:
        path: The file of the index.
        is_durable: Whether a commit waits for the disk.

    Raises:
        AuditStoreError: Another store has the log, or the file cannot be used.
    """

    def __init__(self, path: Path, *, is_durable: bool) -> None:
        self._path = path
        _make_private(path)
        with self._named_errors():
            # no statement of ours waits for another process, and the store's lock keeps threads apart
            self._database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            with self._named_errors():
                self._prepare(is_durable=is_durable)
        except AuditStoreError:
            self._database.close()
            raise

    def _prepare(self, *, is_durable: bool) -> None:
        self._database.execute("PRAGMA locking_mode=EXCLUSIVE")  # a commit keeps the lock
        self._database.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'OFF'}")
        self._database.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._database.execute("BEGIN EXCLUSIVE")
        for table in _TABLES:
            self._database.execute(table)

    def position(self) -> LogPosition:
        """Return how far the log was indexed at the last commit."""
        with self._named_errors():
            row = self._database.execute("SELECT file, offset, line, hash FROM position").fetchone()
        return START if row is None else LogPosition(*row)

    def head(self, stream_id: str) -> AuditHead:
        """Return the last event of a stream."""
        with self._named_errors():
            row = self._database.execute(
                "SELECT sequence, hash FROM heads WHERE stream = ?", (_key(stream_id),)
            ).fetchone()
        return FIRST if row is None else AuditHead(*row)

    def set_head(self, stream_id: str, head: AuditHead) -> None:
        """Note the last event of a stream."""
        with self._named_errors():
            self._database.execute(
                "INSERT OR REPLACE INTO heads VALUES (?, ?, ?)",
                (_key(stream_id), head.sequence_number, head.event_hash),
            )

    def commit(self, position: LogPosition) -> None:
        """Keep all heads so far, which are those at `position`."""
        with self._named_errors():
            self._database.execute("DELETE FROM position")
            self._database.execute(
                "INSERT INTO position VALUES (?, ?, ?, ?)",
                (position.file_number, position.offset_bytes, position.line_number, position.line_hash),
            )
            self._database.execute("COMMIT")
            self._database.execute("BEGIN EXCLUSIVE")

    def close(self) -> None:
        """Forget what was not committed, and give the log free."""
        self._database.close()

    @contextlib.contextmanager
    def _named_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the kind of error, without its variant
            name = getattr(error, "sqlite_errorname", type(error).__name__)
        else:
            return
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise AuditStoreError(
                f"Another store has the audit log of {str(self._path)!r} open. Give each process a path of its own."
            )
        is_damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        remedy = "Delete it: it is made again from the log." if is_damaged else "Make room, or mend the disk."
        raise AuditStoreError(
            f"The index {str(self._path)!r} of an audit log cannot be used ({name}). {remedy}"
        )


def _make_private(path: Path) -> None:
    """Make the file for its owner alone, as those of the log are; SQLite would let everybody read it.

    Only one that is missing is opened: closing any descriptor of a file gives up the locks of this whole process
    on it, another store's included.
    """
    with _making, contextlib.suppress(OSError):  # what is wrong with the place, SQLite says
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _key(stream_id: str) -> bytes:
    return hashlib.sha256(stream_id.encode()).digest()
