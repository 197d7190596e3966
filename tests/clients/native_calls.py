"""A codec under the real engine, with a provider that is a script: what the vendor gets, and what the caller reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from tramapy import ModelRequest, Provider, Tramapy
from tramapy.clients.codec import Codec, WireAnswer
from tramapy.engine.dispatch import complete_native
from tramapy.engine.native import NativeSent
from tramapy.engine.operation import Operation
from tramapy.engine.stream import EngineStream
from tramapy.runtime import run_sync
from tramapy.wire.sse import SseDecoder, SseEvent

LIMIT_BYTES = 1_000_000


def sse_events(body: bytes) -> list[SseEvent]:
    """Take a body of a stream apart."""
    return [*SseDecoder(LIMIT_BYTES).feed(body)]


def sse_event(value: Mapping[str, Any]) -> SseEvent:
    """Return an event that is named by its type."""
    return SseEvent(name=str(value["type"]), data=json.dumps(value).encode())


def sse_values(body: bytes) -> list[dict[str, Any]]:
    """Return the data of each event of a stream."""
    return [json.loads(event.data) for event in sse_events(body)]


class NativeProvider(Provider):
    """Answers every call with the same answer or stream; `sent` has the bodies that it got."""

    def __init__(self, codec: Codec, answer: object = None, events: Iterable[SseEvent] = ()) -> None:
        self._codec = codec
        self._answer = answer
        self._events = [*events]
        self.sent: list[Mapping[str, object]] = []

    def complete(self, request: ModelRequest) -> Any:
        self._send(request)
        return self._codec.answer(self._answer)

    def stream(self, request: ModelRequest) -> Iterator[Any]:
        self._send(request)
        decoder = self._codec.stream(LIMIT_BYTES)
        for event in self._events:
            yield from decoder.feed(event)
        if not decoder.is_ended:
            yield decoder.finish()

    def _send(self, request: ModelRequest) -> None:
        native = cast("NativeSent", request.native)
        wire: Any = native.request
        self.sent.append(wire.encoded(request.messages, request.model, native.rest))


class NativeCall:
    """One call of a wrapped client, without the client."""

    def __init__(
        self, codec: Codec, provider: NativeProvider, request: Mapping[str, object], **settings: Any
    ) -> None:
        self._codec = codec
        self._request = request
        self._tramapy = Tramapy({"p": provider}, **settings)

    def answer(self) -> Any:
        answer = run_sync(complete_native(self._operation(is_stream=False)))
        return cast("WireAnswer", answer).body

    def stream(self) -> bytes:
        stream = EngineStream(self._operation(is_stream=True))

        async def read() -> bytes:
            body = b""
            while (frame := await stream.next_chunk()) is not None:
                body += frame
            return body

        return run_sync(read())

    def _operation(self, *, is_stream: bool) -> Operation:
        request = self._codec.request(self._request)
        pipeline: Any = getattr(self._tramapy, "_pipeline")  # noqa: B009  # private, and read by tests alone
        return Operation(
            pipeline, (), is_stream=is_stream, model=request.model, native=request, tools=request.tools
        )
