"""`JsonlEventObserver`: every engine event as a line of JSON in a file, for `tramapy trace` and for `jq`."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from tramapy.errors import ConfigurationError
from tramapy.hooks.event_model import (
    AttributeValue,
    RuntimeEvent,
    RuntimeEventDefinition,
    RuntimeEventSensitivity,
)
from tramapy.hooks.events import EngineEventObserver
from tramapy.telemetry.jsonl_file import RotatedFile
from tramapy.telemetry.line_queue import LineQueue
from tramapy.values import described

__all__ = ["JsonlEventObserver"]

_MAX_LENGTH: Final = 256
_MAX_DEFINITION_COUNT: Final = 1_000
_SENSITIVE: Final = RuntimeEventSensitivity.SENSITIVE


class JsonlEventObserver(EngineEventObserver):
    r"""Hears engine events and appends each to a file: `{"at_s": …, "name": …, "attributes": {…}}\n`.

    The hot path puts an event into a buffer and goes on; a thread of its own writes. Where the buffer is full, or
    the file cannot be written, events are dropped and counted. Leave it (it is a context manager), or call
    `close`; what is buffered when the program ends is written then.

    Args:
        path: The file, created with mode 0600 where it is missing.
        limit_bytes: How long the file may get. One line more, and it becomes `<path>.1`.
        backup_count: How many older files are kept, `<path>.1` being the newest.
        buffer_event_count: How many events may wait.
        now_epoch_s: Where the time of an event comes from.

    Raises:
        ConfigurationError: An argument cannot work, or the file cannot be opened; the message says which.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limit_bytes: int = 64 * 1024 * 1024,
        backup_count: int = 1,
        buffer_event_count: int = 10_000,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        for name, value, minimum in (
            ("limit_bytes", limit_bytes, 4096),
            ("backup_count", backup_count, 0),
            ("buffer_event_count", buffer_event_count, 1),
        ):
            if type(value) is not int or value < minimum:
                raise ConfigurationError(f"JsonlEventObserver: {name} takes an int of at least {minimum}")
        if not isinstance(path, (str, os.PathLike)):
            raise ConfigurationError(f"JsonlEventObserver: path is {described(path)}; give a str or a Path")
        if not callable(now_epoch_s):
            raise ConfigurationError(
                f"JsonlEventObserver: now_epoch_s is {described(now_epoch_s)}; give a function such as time.time"
            )
        self._now_epoch_s = now_epoch_s
        file = RotatedFile(Path(path), limit_bytes=limit_bytes, backup_count=backup_count)
        try:
            file.open()
        except OSError as error:
            raise ConfigurationError(
                f"JsonlEventObserver cannot open {os.fspath(path)!r}: {error.strerror}. Make its directory, or "
                "give another path."
            ) from None
        self._queue: LineQueue[tuple[float, RuntimeEvent]] = LineQueue(
            file, _Encoder().line, capacity=buffer_event_count
        )
        # whoever forgets to close it leaves no thread behind; the end of the program is the queue's own affair
        weakref.finalize(self, self._queue.stop).atexit = False

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Take a typed event."""
        self._queue.put((self._now_epoch_s(), event))

    @property
    def dropped_count(self) -> int:
        """How many events were not written: too many at once, a file that failed, or after `close`."""
        return self._queue.dropped_count

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until what was heard so far is written; returns whether it was within `timeout_s`."""
        return self._queue.flush(timeout_s)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Write what is buffered and close the file; returns whether it was within `timeout_s`.

        Events that come later are dropped and counted.
        """
        return self._queue.close(timeout_s)

    def __enter__(self) -> JsonlEventObserver:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Encoder:
    """Makes lines; used by the queue's thread alone."""

    def __init__(self) -> None:
        # ASCII, so that a lone surrogate of a caller's id is no reason to lose the line
        self._encode = json.JSONEncoder(separators=(",", ":")).encode
        self._shapes: dict[int, _Shape] = {}

    def line(self, heard: tuple[float, RuntimeEvent]) -> bytes:
        at_s, event = heard
        shape = self._shapes.get(id(event.definition)) or self._look_up(event.definition)
        attributes = event.to_dict()
        for name in shape.hidden:
            attributes.pop(name, None)
        text = self._encode(attributes)
        if len(text) > _MAX_LENGTH:  # only then may one of the texts be
            text = self._encode({name: _cut(value) for name, value in attributes.items()})
        return f'{{"at_s":{at_s:.6f},{shape.name},"attributes":{text}}}\n'.encode("ascii")

    def _look_up(self, definition: RuntimeEventDefinition) -> _Shape:
        is_all = definition.sensitivity is _SENSITIVE
        shape = _Shape(
            definition,
            f'"name":{self._encode(definition.name)}',
            tuple(key.name for key in definition.allowed if is_all or key.sensitivity is _SENSITIVE),
        )
        if len(self._shapes) < _MAX_DEFINITION_COUNT:
            self._shapes[id(definition)] = shape
        return shape


@dataclass(frozen=True, slots=True)
class _Shape:
    """What all lines of a definition share. It keeps the definition, whose id stands for it.

    Args:
        definition: The definition.
        name: The member `name`, as JSON.
        hidden: The attributes that are not written.
    """

    definition: RuntimeEventDefinition
    name: str
    hidden: tuple[str, ...]


def _cut(value: AttributeValue) -> AttributeValue:
    return value[:_MAX_LENGTH] if isinstance(value, str) else value
