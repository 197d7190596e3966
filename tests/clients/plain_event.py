"""An event of no format: for what the events of all formats share."""

from __future__ import annotations

from tramapy.clients.codec import JsonEvent
from tramapy.engine.native import Lane


class PlainEvent(JsonEvent):
    """Ends no lane."""

    __slots__ = ()

    def tail(self, lane: Lane, text: str) -> bytes:
        raise AssertionError(f"{lane!r} has no tail here")
