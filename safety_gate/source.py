"""From a path to text: read once, bounded, decoded by its own declaration."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_ATTEMPTS = 3
# Not every system has all of them: Windows needs O_BINARY and has no O_NONBLOCK.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))


class SourceError(Exception):
    """A file that cannot be read as source."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_source(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """Read a regular file.

    Raises:
        SourceError: It is a link, no regular file, larger than the limit, unreadable, or changes while it is
        read.
    """
    for _ in range(_ATTEMPTS):
        data = _read_once(path, limit_bytes)
        if data is not None:
            return data
    raise SourceError("The file changed while it was read. Run the gate again when nothing writes to it.")


def _read_once(path: str | os.PathLike[str], limit_bytes: int) -> bytes | None:
    # Without a file object, which took a third of the time of a run over 6,725 remembered files.
    try:
        handle = os.open(path, _FLAGS)
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise SourceError("This is no regular file.")
            data = _content(handle, min(before.st_size, limit_bytes) + 1)
            after = os.fstat(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SourceError("The file is a symbolic link. Name its target, or exclude it.") from None
        raise SourceError(f"The file cannot be read: {error.strerror or 'input error'}.") from None
    if len(data) > limit_bytes:
        raise SourceError(f"The file has more than {limit_bytes} bytes. Raise max-file-bytes or exclude it.")
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(
        data
    ) == after.st_size
    return data if is_same else None


def _content(handle: int, limit_bytes: int) -> bytes:
    """Read up to the end or the limit. One more byte than a file has is asked for, so that its end is seen."""
    data = os.read(handle, limit_bytes)
    while len(data) < limit_bytes and (more := os.read(handle, limit_bytes - len(data))):
        data += more
    return data


def decode(data: bytes) -> str:
    """Decode source by byte order mark, cookie, or UTF-8.

    Raises:
        SourceError: With the line of the first bad byte.
    """
    if b"\0" in data:
        raise SourceError(
            "The file holds a NUL byte, so it is no Python source.", _line_of(data, data.index(b"\0"))
        )
    has_mark = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if has_mark else data
    encoding = _encoding(body)
    try:
        normal = codecs.lookup(encoding).name
        if has_mark and normal != "utf-8":
            raise SourceError("The file has a UTF-8 byte order mark and declares another encoding.", 1)
        return body.decode(normal)
    except UnicodeDecodeError as error:
        raise SourceError(f"Byte {error.start} is not {encoding}. Declare the encoding or convert the file.",
                          _line_of(body, error.start)) from None  # fmt: skip
    except (LookupError, UnicodeError, ValueError):
        raise SourceError(f"The declared encoding {encoding!r} is unknown.", _cookie_line(body)) from None


def split_lines(text: str) -> list[str]:
    """Split at line ends only; a form feed is no line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _encoding(body: bytes) -> str:
    for line in body.split(b"\n", 2)[:2]:
        match = _COOKIE.match(line.rstrip(b"\r"))
        if match:
            return match.group(1).decode("ascii", "replace")
        if not _BLANK.match(line.rstrip(b"\r")):
            break
    return "utf-8"


def _cookie_line(body: bytes) -> int:
    return 1 if _COOKIE.match(body.split(b"\n", 1)[0]) else 2


def _line_of(data: bytes, offset: int) -> int:
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1
