"""`EventReader`: the chunks of a streamed body as the engine's native events."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, cast

from tramapy.clients.codec import StreamDecoder
from tramapy.clients.http_call import HttpCall
from tramapy.engine.native import NativeEvent
from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.wire.sse import SseDecoder

__all__ = ["EventReader"]


class EventReader:
    """Turns a body's chunks into native events.

    Args:
        call: Whose answer it is.
        limit_bytes: How long the body may be.
    """

    __slots__ = ("_decoder", "_events", "_is_strict")

    def __init__(self, call: HttpCall, limit_bytes: int) -> None:
        self._events = SseDecoder(limit_bytes)
        self._decoder: StreamDecoder = call.surface.codec.stream(limit_bytes)
        self._decoder.hides_usage = call.adds_usage
        self._is_strict = call.is_strict

    @property
    def is_ended(self) -> bool:
        """Whether the last event was given."""
        return self._decoder.is_ended

    def feed(self, chunk: bytes) -> Iterable[NativeEvent]:
        """Give the events that a chunk completes."""
        event = self._events.single(chunk)
        if event is None:
            return self._each(chunk)
        natives = self._decoder.feed(event)
        return map(self._marked, natives) if self._is_strict else natives

    def _each(self, chunk: bytes) -> Generator[NativeEvent, None, None]:
        for event in self._events.feed(chunk):
            for native in self._decoder.feed(event):
                yield self._marked(native)
            if self._decoder.is_ended:
                return

    def finish(self) -> Generator[NativeEvent, None, None]:
        """Give the last events of a body that is at its end."""
        try:
            # servers leave out the empty line behind the last event
            yield from self.feed(b"\n\n")
        except ProviderError as error:
            if error.failure_code is not ProviderFailureCode.INVALID_RESPONSE:
                raise
        # what is unfinished otherwise was cut off, too
        if not self._decoder.is_ended:
            yield self._marked(self._decoder.finish())

    def _marked(self, native: NativeEvent) -> NativeEvent:
        if self._is_strict and native.unscanned:
            cast("Any", native).is_strict = True
        return native
