"""`RotatedFile`: whole lines appended to a file of bounded length, whose older parts are kept beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

__all__ = ["RotatedFile"]

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class RotatedFile:
    """Appends; not safe to share between threads.

    Args:
        path: The file.
        limit_bytes: How long it may get; a single line that is longer stands in a file of its own.
        backup_count: How many older files are kept.

    Attributes:
        line_count: How many lines were written so far, those before a failure included.
    """

    def __init__(self, path: Path, *, limit_bytes: int, backup_count: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._backup_count = backup_count
        self._descriptor: int | None = None
        self._size_bytes = 0
        self.line_count: int = 0

    def open(self) -> None:
        """Open the file where it is not open. A last line without its end, as a crash leaves it, gets one.

        Raises:
            OSError: It cannot be opened, or is no regular file: a pipe would block, and a device not rotate.
        """
        if self._descriptor is not None:
            return
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "it is no regular file")
        self._descriptor = os.open(self._path, _FLAGS, 0o600)
        self._size_bytes = os.fstat(self._descriptor).st_size
        if self._size_bytes and not self._ends_whole():
            self._size_bytes += os.write(self._descriptor, b"\n")

    def append(self, lines: list[bytes]) -> None:
        """Write lines, each with its end, in as few steps as the limit lets.

        Raises:
            OSError: Some were not written. The file is closed, and the next call opens it again.
        """
        try:
            batch: list[bytes] = []
            length = 0
            for line in lines:
                if batch and self._is_full(length + len(line)):
                    self._append(batch)
                    batch, length = [], 0
                batch.append(line)
                length += len(line)
            if batch:
                self._append(batch)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, if it is open."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _append(self, batch: list[bytes]) -> None:
        data = b"".join(batch)
        self.open()
        if self._size_bytes and self._is_full(len(data)):
            self.close()
            self._rotate()
            self.open()
        self._write(data)

    def _is_full(self, more_bytes: int) -> bool:
        return self._size_bytes + more_bytes > self._limit_bytes

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None  # noqa: S101  # open() is called before
        done = 0
        while done < len(data):
            count = os.write(self._descriptor, memoryview(data)[done:])
            self._size_bytes += count
            self.line_count += data.count(b"\n", done, done + count)
            done += count

    def _rotate(self) -> None:
        if self._backup_count == 0:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._backup_count - 1, 0, -1):
            older = self._backup(number)
            if older.exists():
                older.replace(self._backup(number + 1))
        self._path.replace(self._backup(1))

    def _backup(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _ends_whole(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
