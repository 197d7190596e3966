"""One HTTP client as a provider, without an engine around it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from tests.clients.simple_codec import SimpleCodec, SimpleDecoder, SimpleEnd
from tests.clients.worlds import World
from tramapy.clients.codec import Codec
from tramapy.clients.exchange_async import AsyncExchange
from tramapy.clients.exchange_sync import Exchange
from tramapy.clients.http_call import HttpCall, PassedAnswer
from tramapy.clients.openai_chat import ChatCodec
from tramapy.clients.surfaces import Surface
from tramapy.engine.native import NativeEnd, NativeEvent, NativeRejectionError, NativeSent
from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.messages import ModelRequest
from tramapy.wire.sse import SseEvent

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'


class Lenient(SimpleCodec):
    """Takes the end of a body for the end of a stream."""

    def stream(self, limit_bytes: int) -> Any:
        class Decoder(SimpleDecoder):
            def finish(self) -> NativeEnd:
                return SimpleEnd(SseEvent(name="", data=b"the end"))

        return Decoder()


class Chunks(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body in pieces; a piece may be an error."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def events_of(
    world: World,
    body: Chunks,
    codec: Codec | None = None,
    content_type: str = "text/event-stream",
    *,
    is_strict: bool = False,
) -> list[NativeEvent]:
    """Take a stream to its very end, as no engine does."""
    headers = {"content-type": content_type} if content_type else {}
    response = httpx2.Response(200, headers=headers, stream=body)
    surface = Surface(
        name="x.create", path="/x", codec=codec or SimpleCodec(), is_known=True, can_stream=True
    )
    call = HttpCall(
        httpx2.Request("POST", "https://example.com"), surface, None, options={}, is_strict=is_strict
    )
    request = ModelRequest(model="m", messages=(), native=NativeSent(call, ""))
    options: dict[str, Any] = {"limit_bytes": 1000, "now_s": time.monotonic, "now_epoch_s": time.time}

    async def asend(*_arguments: object) -> Any:
        return response

    async def main() -> list[NativeEvent]:
        if world.is_async:
            return [event async for event in AsyncExchange(asend, httpx2, **options).stream(request)]
        return list(Exchange(lambda *_arguments: response, httpx2, **options).stream(request))

    events: list[NativeEvent] = world.run(main)
    assert body.is_closed
    return events


def test_a_stream_ends_with_its_last_event_whatever_follows(world: World) -> None:
    events = events_of(world, Chunks(TEXT, b"data: [DONE]\n\n" + TEXT, b": and more\n\n", TEXT))
    assert [type(event).__name__ for event in events] == ["SimpleEvent", "SimpleEnd"]


@pytest.mark.parametrize("content_type", ["", "text/plain; charset=utf-8", "Text/Event-Stream"])
def test_a_stream_may_leave_its_type_out(world: World, content_type: str) -> None:
    events = events_of(world, Chunks(TEXT, b"data: [DONE]\n\n"), content_type=content_type)
    assert len(events) == 2


@pytest.mark.parametrize("content_type", ["application/json", "text/html"])
def test_another_type_is_no_stream(world: World, content_type: str) -> None:
    with pytest.raises(ProviderError, match="no stream") as caught:
        events_of(world, Chunks(TEXT), content_type=content_type)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_a_connection_that_is_lost_behind_the_end_does_no_harm(world: World) -> None:
    events = events_of(world, Chunks(TEXT, b"data: [DONE]\n\n", httpx2.ReadError("lost")))
    assert len(events) == 2


def test_a_format_may_take_the_body_s_end_for_the_stream_s(world: World) -> None:
    events = events_of(world, Chunks(TEXT), Lenient())
    assert events[-1].frame() == b"data: the end\n\n"


@pytest.mark.parametrize("is_strict", [False, True])
def test_an_end_without_a_mark_is_as_strict_as_any_event(world: World, is_strict: bool) -> None:
    audio = b'data: {"choices":[{"delta":{"audio":{"data":"AAAA"}},"finish_reason":"stop"}]}\n\n'
    end = events_of(world, Chunks(TEXT, audio), ChatCodec(), is_strict=is_strict)[-1]
    assert (end.unscanned, end.is_strict) == (("audio",), is_strict)


@pytest.mark.parametrize("is_early", [False, True])
def test_a_body_that_is_cut_is_an_error(world: World, is_early: bool) -> None:
    body = Chunks(TEXT, httpx2.ReadError("lost")) if is_early else Chunks(TEXT)
    with pytest.raises(ProviderError) as caught:
        events_of(world, body)
    assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT


@pytest.mark.parametrize("last", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r\n"])
def test_the_last_event_may_lack_its_empty_line(world: World, last: bytes) -> None:
    assert len(events_of(world, Chunks(TEXT, last))) == 2


def test_an_error_that_lacks_its_empty_line_is_that_error(world: World) -> None:
    error = b'data: {"error":{"message":"no","type":"server_error"}}'
    with pytest.raises(NativeRejectionError):
        events_of(world, Chunks(TEXT, error), ChatCodec())


@pytest.mark.parametrize("last", [b"data: {", b"dat", b"event: message_stop\n"])
def test_half_an_event_is_cut(world: World, last: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        events_of(world, Chunks(TEXT, last))
    assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT


def test_an_answer_that_passed_has_no_json() -> None:
    response = httpx2.Response(200, content=b"x")
    answer = PassedAnswer(response, "GET", is_strict=False)
    assert answer.body is None
    assert answer.rewritten(answer.responses, ()) is answer
