"""Server-sent events from bytes, with a limit on what one event may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tramapy.errors import ResponseTooLargeError

__all__ = ["SseDecoder", "SseEvent", "sse_frame"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_is_name = re.compile(r"[A-Za-z_.]{1,64}\Z").match


class SseEvent(NamedTuple):
    """One event.

    Args:
        name: Its type; empty where it has none.
        data: Its data lines, joined by newlines, still encoded.
    """

    name: str
    data: bytes

    def __repr__(self) -> str:
        return f"SseEvent(name={self.name!r}, <{len(self.data)} bytes>)"


def sse_frame(name: str, data: bytes) -> bytes:
    """Return an event as bytes of a stream; data of several lines becomes a line each.

    A name that is no word of a format may be any text, and is left out.
    """
    head = f"event: {name}\n".encode() if _is_name(name) else b""
    return head + b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"


class SseDecoder:
    """Turns chunks of a body into events, however the body is cut.

    Lines end in LF, CR or CRLF; comments and other fields are skipped. An event that the body's end leaves
    unfinished is dropped, as the standard says.

    Args:
        limit_bytes: How much one event may hold, its unfinished lines included.

    Source: WHATWG HTML, "Server-sent events", section 9.2.6.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_has_data",
        "_held_bytes",
        "_is_first_line",
        "_limit_bytes",
        "_line",
        "_name",
    )

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._line = bytearray()
        self._data: bytes | bytearray = b""
        self._has_data = False
        self._name = b""
        self._held_bytes = 0
        self._after_cr = False
        self._is_first_line = True

    def single(self, chunk: bytes) -> SseEvent | None:
        """Return the event that a chunk is, as most servers send them; any other is not taken: `feed` it."""
        end = len(chunk) - 2
        if self._held_bytes or self._has_data or self._name or self._after_cr or end > self._limit_bytes:
            return None
        if not chunk.endswith(b"\n\n") or b"\r" in chunk:
            return None
        name, start = "", 0
        if chunk.startswith(b"event: "):
            start = chunk.find(b"\n") + 1
            name = chunk[7 : start - 1].decode("utf-8", "replace")
        if not chunk.startswith(b"data: ", start) or chunk.find(b"\n", start) != end:
            return None
        self._is_first_line = False
        return SseEvent(name, chunk[start + 6 : end])

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Take a chunk and yield the events that it completes.

        Raises:
            ResponseTooLargeError: One event holds more than the limit.
        """
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        for piece in chunk.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            self._held_bytes += len(line)
            if self._held_bytes > self._limit_bytes:
                raise self._too_large()
            if len(line) == len(piece):
                self._line += line  # it goes on in the next chunk
                return
            if self._line:
                line = bytes(self._line + line)
                self._line.clear()
            if self._is_first_line:
                self._is_first_line = False
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if line:
                self._take_line(line)
                continue
            event = self._event() if self._has_data else None
            self._name = self._data = b""
            self._has_data = False
            self._held_bytes = 0
            if event is not None:
                yield event

    def _event(self) -> SseEvent:
        name = self._name.decode("utf-8", "replace") if self._name else ""
        return SseEvent(name, bytes(self._data))

    def _too_large(self) -> ResponseTooLargeError:
        return ResponseTooLargeError(
            f"An event of the provider's stream has {self._held_bytes:_} bytes or more; the limit is "
            f"{self._limit_bytes:_}. Ask for less, or raise limit_bytes.",
            limit_bytes=self._limit_bytes,
            read_bytes=self._held_bytes,
        )

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            if self._has_data:
                if type(self._data) is bytes:
                    self._data = bytearray(self._data)
                self._data += b"\n" + value
            else:
                self._data = value  # nearly always the only line
                self._has_data = True
        elif name == b"event":
            self._name = value
        else:
            # what is dropped holds no memory, so a flood of comments is the body limit's business
            self._held_bytes -= len(line)
