"""The files of an audit log: their names, and how they are opened."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import IO, Final

from tramapy.errors import ConfigurationError
from tramapy.telemetry.audit_store import AuditStoreError

__all__ = ["AuditFiles", "log_files", "private_file"]

_TORN: Final = re.compile(r"\.[0-9]{6,}\.[0-9a-f]{16}\.torn\Z")
_SQLITE: Final = b"SQLite format 3\0"
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)


class AuditFiles:
    """Names and opens the files of a log.

    Args:
        path: As the user wrote it; the files have a number before its suffix.
        is_durable: Whether the disk must have the name of a new file before it is used.

    Raises:
        ConfigurationError: It has no name, or no directory.
    """

    def __init__(self, path: Path, *, is_durable: bool) -> None:
        if not path.name:
            raise ConfigurationError("path names no file; for example 'var/audit.jsonl'")
        if not path.parent.is_dir():
            raise ConfigurationError(f"path is in {str(path.parent)!r}, which is no directory; make it first")
        self._is_durable = is_durable
        self._directory = path.parent
        self._stem = path.stem
        self._suffix = path.suffix or ".jsonl"
        self._pattern = re.compile(re.escape(self._stem) + r"\.([0-9]{6,})" + re.escape(self._suffix))

    @property
    def index_path(self) -> Path:
        """Where the index is."""
        return self._directory / f"{self._stem}{self._suffix}.index"

    def path(self, number: int) -> Path:
        """Return the path of a file."""
        return self._directory / f"{self._stem}.{number:06}{self._suffix}"

    def torn_path(self, number: int, digest: str) -> Path:
        """Return where the torn bytes at the end of a file are kept."""
        return self._directory / f"{self._stem}.{number:06}.{digest[:16]}.torn"

    def numbers(self) -> list[int]:
        """Return the numbers of the files that are there, in order."""
        matches = (self._pattern.fullmatch(name) for name in os.listdir(self._directory))
        return sorted(int(match[1]) for match in matches if match is not None)

    def open(self, number: int) -> int:
        """Open a file to add to it, made where it is not there, for its owner alone.

        Raises:
            AuditStoreError: It cannot be opened.
        """
        try:
            file = os.open(self.path(number), os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
            try:
                if self._is_durable:
                    _sync_directory(self._directory)
            except OSError:
                os.close(file)
                raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
        else:
            return file
        raise AuditStoreError(f"The audit file {str(self.path(number))!r} cannot be opened ({reason})")


def log_files(path: Path) -> list[Path]:
    """Return the files with lines that a path stands for, oldest first.

    They are the path itself where it is one; all files of the log that was given this path, where only they are
    there; and none for the log's index, and for torn bytes.

    Raises:
        OSError: Its directory cannot be read.
    """
    if _TORN.search(path.name) is not None or _is_index(path):
        return []
    if path.name and not path.exists() and path.parent.is_dir():
        files = AuditFiles(path, is_durable=False)
        return [files.path(number) for number in files.numbers()] or [path]
    return [path]


def _is_index(path: Path) -> bool:
    if path.suffix != ".index" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def private_file(path: Path) -> IO[bytes]:
    """Make a file that its owner alone may read, empty where it was there."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600), "wb")


def _sync_directory(directory: Path) -> None:
    """Have the disk keep the names of new files, where the system can."""
    with contextlib.suppress(PermissionError):  # Windows opens no directories
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
