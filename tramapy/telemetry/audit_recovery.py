"""What opening an audit log does: index the lines since the last commit, and deal with a torn one.

A crash in the midst of a write leaves bytes without a line's end. Nobody was told that those events are recorded,
and no text was handed on for them, so they are no records; but to drop bytes of an audit log in silence would be
what a forger does. So they are moved into a file beside it, and the log gets a line, chained like any other,
that says how many they were and what their hash is.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from tramapy.telemetry.audit_event import AuditEvent
from tramapy.telemetry.audit_files import AuditFiles, private_file
from tramapy.telemetry.audit_index import START, AuditIndex, LogPosition
from tramapy.telemetry.audit_line import (
    LIMIT_LINE_BYTES,
    AuditLine,
    AuditRecovery,
    LineHead,
    line_hash,
    parse_line,
    raw_lines,
    recovery_line,
)
from tramapy.telemetry.audit_store import AuditHead, AuditStoreError
from tramapy.telemetry.audit_verify import event_problems

__all__ = ["recovered"]

_BLOCK_BYTES: Final = 64 * 1024

_logger = logging.getLogger("tramapy.audit")


def recovered(files: AuditFiles, index: AuditIndex, *, is_durable: bool) -> LogPosition:
    """Bring an index up to its log, and return where the log ends.

    Args:
        files: The log.
        index: Its index, which may be new.
        is_durable: Whether to wait until the disk has what is written.

    Raises:
        AuditStoreError: The log is not the one that was indexed, or its lines do not continue each other.
    """
    position = index.position()
    numbers = [number for number in files.numbers() if number >= position.file_number]
    if position == START and numbers:
        position = LogPosition(numbers[0], 0, 0, None)
    if position != START and numbers[:1] != [position.file_number]:
        raise _gone(files.path(position.file_number))
    if numbers != list(range(position.file_number, position.file_number + len(numbers))):
        raise AuditStoreError(f"A file of the audit log after {str(files.path(numbers[0]))!r} is missing")
    for number in numbers:
        if number != position.file_number:
            position = LogPosition(number, 0, position.line_number, position.line_hash)
        with files.path(number).open("r+b") as file:
            position = _indexed(files.path(number), file, index, position)
            if file.seek(0, os.SEEK_END) > position.offset_bytes:
                if number != numbers[-1]:
                    raise AuditStoreError(
                        f"The audit file {str(files.path(number))!r} ends inside of a line, and is not the last"
                    )
                position = _without_torn_line(files, file, position, is_durable=is_durable)
    index.commit(position)
    return position


def _indexed(path: Path, file: IO[bytes], index: AuditIndex, position: LogPosition) -> LogPosition:
    """Index the whole lines of a file from a position on."""
    _check_indexed_part(path, file, position)
    end_bytes = _end_of_lines(file, position.offset_bytes)
    file.seek(position.offset_bytes)
    for raw in raw_lines(file):
        if position.offset_bytes == end_bytes:
            break
        line = None if raw.is_too_long else parse_line(raw.data[:-1])
        if line is None or not _continues(line, index, position):
            raise AuditStoreError(
                f"Line {position.line_number + 1} of the audit log, in {str(path)!r}, does not continue it. Verify "
                "the log, and begin another under another name."
            )
        if line.event is not None:
            index.set_head(line.event.audit_stream_id, _head(line.event))
        position = LogPosition(
            position.file_number,
            position.offset_bytes + len(raw.data),
            line.line_number,
            line_hash(raw.data[:-1]),
        )
    return position


def _check_indexed_part(path: Path, file: IO[bytes], position: LogPosition) -> None:
    """Check that the last line that was indexed is still there."""
    if not position.offset_bytes:
        return
    start_bytes = max(0, position.offset_bytes - LIMIT_LINE_BYTES)
    file.seek(start_bytes)
    data = file.read(position.offset_bytes - start_bytes)
    last = data[:-1].rpartition(b"\n")[2]
    if len(data) != position.offset_bytes - start_bytes or line_hash(last) != position.line_hash:
        raise _gone(path)


def _gone(path: Path) -> AuditStoreError:
    return AuditStoreError(
        f"The audit log is not what its index says at {str(path)!r}: lines were cut off or altered. Keep files and "
        "index as evidence, and begin another log under another name. Only where fsync='never' was set and the "
        "machine lost power: verify the log, and delete the index to go on from what is there."
    )


def _end_of_lines(file: IO[bytes], start_bytes: int) -> int:
    """Return where the last whole line ends."""
    end_bytes = file.seek(0, os.SEEK_END)
    while end_bytes > start_bytes:
        block_bytes = min(_BLOCK_BYTES, end_bytes - start_bytes)
        file.seek(end_bytes - block_bytes)
        found = file.read(block_bytes).rfind(b"\n")
        end_bytes -= block_bytes
        if found >= 0:
            return end_bytes + found + 1
    return start_bytes


def _continues(line: AuditLine, index: AuditIndex, position: LogPosition) -> bool:
    if not line.is_canonical or LineHead(line.line_number - 1, line.previous_line_hash) != LineHead(
        position.line_number, position.line_hash
    ):
        return False
    if line.event is None:
        return True
    return not any(event_problems(line.event, index.head(line.event.audit_stream_id), line.body))


def _head(event: AuditEvent) -> AuditHead:
    return AuditHead(event.sequence_number, event.event_hash)


def _without_torn_line(
    files: AuditFiles, file: IO[bytes], position: LogPosition, *, is_durable: bool
) -> LogPosition:
    """Move what stands behind the last line out of the log, and note it there."""
    file.seek(position.offset_bytes)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a file opened as bytes
    count = file.tell() - position.offset_bytes
    torn_path = files.torn_path(position.file_number, digest)
    file.seek(position.offset_bytes)
    with private_file(torn_path) as torn:
        shutil.copyfileobj(file, torn)
        torn.flush()
        if is_durable:
            os.fsync(torn.fileno())
    recovery = AuditRecovery(datetime.now(UTC).isoformat().replace("+00:00", "Z"), count, digest)
    line = recovery_line(LineHead(position.line_number, position.line_hash), recovery)
    # over the torn bytes and then cut: a crash between the two leaves a torn line again, and nothing lost
    file.seek(position.offset_bytes)
    file.write(line + b"\n")
    file.flush()
    file.truncate(position.offset_bytes + len(line) + 1)
    if is_durable:
        os.fsync(file.fileno())
    _logger.warning(
        "%s bytes of an unfinished line were moved out of the audit log into %s", count, torn_path
    )
    return LogPosition(
        position.file_number,
        position.offset_bytes + len(line) + 1,
        position.line_number + 1,
        line_hash(line),
    )
