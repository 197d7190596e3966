"""Events of a stream that are alike but for one text: of such an event nothing but the text is read.

Most events of a stream repeat each other, byte for byte, around a text of a few characters. What was read of one of
them holds for all: the same fields, the same lane, and nothing else to inspect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tramapy.clients.codec import JsonEvent, JsonPiece, dumps, json_bytes
from tramapy.engine.native import Lane, NativeEvent, NativePiece
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.json_values import parse
from tramapy.wire.rest import is_opaque
from tramapy.wire.sse import SseEvent, sse_frame

__all__ = ["AlikeEvents"]

_raw_decode: Final[Callable[[str, int], tuple[object, int]]] = json.JSONDecoder().raw_decode

# random characters behind everything else, which make all events of a stream equally long
_PADDING: Final = "obfuscation"
_find_padding: Final = re.compile(r'"obfuscation"\s*:\s*"').search

_PROBE: Final = "probe"

# an event is taken apart in 20 µs: not often, where the events of a stream differ in more than a text
_MOST_LESSONS: Final = 8


class AlikeEvents:
    """What the events of one stream have in common, learned from those that were read whole."""

    __slots__ = ("_lessons", "_template")

    def __init__(self) -> None:
        self._template: _Template | None = None
        self._lessons = _MOST_LESSONS

    def read(self, event: SseEvent) -> NativeEvent | None:
        """Return the event, if it is like the one that was learned but for its text; None for any other."""
        template = self._template
        if template is None or event.name != template.name:
            return None
        return template.read(event.data)

    def learn(self, event: JsonEvent, sent: SseEvent) -> None:
        """Remember an event, if one text is all that it says, and goes out as it comes.

        Args:
            event: As it was read, before anybody wrote into it.
            sent: As it came.
        """
        if not self._lessons or len(event.pieces) != 1 or event.ends or event.opens is not None:
            return
        piece = event.pieces[0]
        if not isinstance(piece, JsonPiece) or piece.is_held or piece.is_repeat or event.unscanned:
            return
        self._lessons -= 1
        parts = _parts_of(event, piece, sent.data)
        if parts is not None:
            self._template = _Template(event, piece, sent.name, parts)


class _Parts(NamedTuple):
    """What stands around the text of an event.

    Args:
        before: Up to the quote before the text, that included.
        behind: From behind the quote after the text; where there is padding, up to the quote before that.
        end: From behind the quote after the padding; None where there is none.
    """

    before: str
    behind: str
    end: str | None


class _Template:
    """An event that others are like.

    Args:
        like: The event.
        piece: Its text.
        name: Its type.
        parts: What stands around the text.
    """

    __slots__ = (
        *("_before", "_behind", "_end", "_start", "before", "head", "is_empty_without", "lane", "like"),
        *("location", "name"),
    )

    def __init__(self, like: JsonEvent, piece: JsonPiece, name: str, parts: _Parts) -> None:
        self.like: NativeEvent = like
        self.lane: Lane | None = piece.lane
        self.location: DlpContentLocation = piece.location
        self.name: str = name
        self._before, self._behind, self._end = parts
        self._start = len(parts.before) - 1
        self.head: bytes = sse_frame(name, b"").removesuffix(b"\n\n")
        self.before: bytes = self.head + parts.before[:-1].encode()
        piece.owner[piece.key] = ""
        self.is_empty_without: bool = like.is_empty
        piece.owner[piece.key] = piece.text

    def read(self, data: bytes) -> NativeEvent | None:
        """Return an event that is like this one."""
        try:
            whole = data.decode()
            if not whole.startswith(self._before):
                return None
            text, end = _raw_decode(whole, self._start)
            behind = whole[end:]
            if self._end is None:
                is_alike = behind == self._behind
            else:
                is_alike = behind.startswith(self._behind) and self._is_padded(behind)
        except ValueError:
            return None
        # one without text says nothing, and may wait
        return _AlikeEvent(self, data, text, behind) if is_alike and isinstance(text, str) and text else None

    def _is_padded(self, behind: str) -> bool:
        padding, end = _raw_decode(behind, len(self._behind) - 1)
        return behind[end:] == self._end and is_opaque(padding)


class _AlikePiece(NativePiece):
    __slots__ = ("lane", "location", "text", "written")

    is_held: bool = False
    is_repeat: bool = False
    tool_name: str | None = None

    def __init__(self, template: _Template, text: str) -> None:
        self.text: str = text
        self.lane: Lane | None = template.lane
        self.location: DlpContentLocation = template.location
        self.written: str | None = None

    def write(self, text: str) -> None:
        """Put another text in its place."""
        self.written = text


class _AlikeEvent(NativeEvent):
    __slots__ = ("_behind", "_data", "_piece", "_template", "ends", "is_opening", "opens", "pieces")

    def __init__(self, template: _Template, data: bytes, text: str, behind: str) -> None:
        self._template = template
        self._data = data
        self._behind = behind
        self._piece = piece = _AlikePiece(template, text)
        self.pieces: list[NativePiece] = [piece]
        self.ends: list[Lane] = []
        self.opens: Lane | None = None
        self.is_opening: bool = False

    def frame(self) -> bytes:
        template, written = self._template, self._piece.written
        if written is None:
            return template.head + self._data + b"\n\n"
        if not written and template.is_empty_without:
            return b""
        return template.before + json_bytes(written) + self._behind.encode() + b"\n\n"

    def tail(self, lane: Lane, text: str) -> bytes:
        return self._template.like.tail(lane, text)


def _parts_of(event: JsonEvent, piece: JsonPiece, data: bytes) -> _Parts | None:
    """Return what stands around an event's text, if that is all that can differ; None where it is not clear."""
    if b"\n" in data:
        return None
    whole = data.decode()
    for match in re.finditer(re.escape(dumps(piece.key)) + r'\s*:\s*"', whole):
        _, end = _raw_decode(whole, match.end() - 1)
        parts = _parts_around(whole[: match.end()], whole[end:], is_padded=_PADDING in event.value)
        if parts is not None and _hold(parts, event, piece):
            return parts
    return None


def _parts_around(before: str, behind: str, *, is_padded: bool) -> _Parts | None:
    if not is_padded:
        return _Parts(before, behind, None)
    padding = _find_padding(behind)
    if padding is None:
        return None
    _, end = _raw_decode(behind, padding.end() - 1)
    return _Parts(before, behind[: padding.end()], behind[end:])


def _hold(parts: _Parts, event: JsonEvent, piece: JsonPiece) -> bool:
    """Tell whether another text between the parts makes the event with another text, and nothing else."""
    probe = f'{parts.before}{_PROBE}"{parts.behind}'
    value, text = event.value, piece.text
    padding = value.get(_PADDING)
    piece.owner[piece.key] = _PROBE
    if parts.end is not None:
        probe += f'{_PROBE}"{parts.end}'
        value[_PADDING] = _PROBE
    is_same = parse(probe.encode()) == value
    piece.owner[piece.key] = text
    if parts.end is not None:
        value[_PADDING] = padding
    return is_same
