"""`AsyncExchange`: one HTTP client as a provider of the engine, on asyncio and trio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn, Protocol

import anyio

from tramapy.bounded import aread_bounded_bytes, aread_error_preview
from tramapy.clients.codec import WireAnswer
from tramapy.clients.event_reader import EventReader
from tramapy.clients.exchange import (
    ANSWER,
    CONNECTION_FAILED,
    STREAM_CUT,
    TRANSPORT_FAILED,
    BaseExchange,
    may_be_event_stream,
    outgoing,
    own_request,
    passed,
    passes,
    require_whole,
)
from tramapy.clients.http_call import HttpCall
from tramapy.clients.http_messages import BodyKind, HttpResponse, aframe_stream, body_kind
from tramapy.clients.other_answer import is_unknown
from tramapy.clients.peeked import AsyncPeekedBody, Peek
from tramapy.engine.native import NativeEnd, NativeEvent
from tramapy.engine.routing import BoundProvider
from tramapy.messages import ModelRequest
from tramapy.wire.http_library import REJECTION_LIMIT_BYTES, HttpLibrary, abody_of
from tramapy.wire.step_timer import StepTimer

__all__ = ["AsyncExchange", "AsyncSender", "AsyncSourceSender"]

# how long the last bytes of a finished stream may take, so that its connection can serve again
_DRAIN_LIMIT_S: Final = 0.1


class AsyncSender(Protocol):
    """The async form of `Sender`."""

    def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> Awaitable[Any]:
        """Send it; a body of None is the call's own."""
        ...


class AsyncSourceSender:
    """The async form of `SourceSender`."""

    def __init__(self, library: HttpLibrary, send: Callable[..., Awaitable[HttpResponse]]) -> None:
        self._library = library
        self._send = send

    async def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        """Send the request."""
        return await self._send(own_request(self._library, call, body, timeout_s), **call.options)


class AsyncExchange(BaseExchange):
    """Does what `Exchange` does, on asyncio and trio."""

    def __init__(
        self,
        send: AsyncSender,
        library: HttpLibrary,
        *,
        limit_bytes: int,
        now_s: Callable[[], float],
        now_epoch_s: Callable[[], float],
    ) -> None:
        super().__init__(library, limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        self._send = send

    def bound(self, provider_id: str) -> BoundProvider:
        """Return it as the engine calls it."""
        return BoundProvider(
            provider_id=provider_id,
            answer=self.answer,
            open_stream=self.stream,
            can_stream=True,
            sees_images=True,
        )

    async def answer(self, request: ModelRequest) -> WireAnswer:
        """Do what `Exchange.answer` does."""
        call, body = outgoing(request)
        timer = None if request.timeout_s is None else self._timer(request)
        response = call.response = await self._open(call, body, request.timeout_s)
        kind = body_kind(response)
        is_success = 200 <= response.status_code <= 299
        if is_success and not call.is_known:
            if passes(call, response, kind.content_type):
                return passed(call, response)
            if is_unknown(kind.content_type):
                return await self._peeked(call, response, kind, timer)
        try:
            if not is_success:
                await self._refuse(response)
            require_whole(call, kind.content_type)
            chunks = abody_of(response, is_encoded=kind.is_encoded)
            if timer is not None:
                chunks = timer.awatch(chunks)
            data = await aread_bounded_bytes(chunks, self._limit_bytes, source_name=ANSWER)
        except Exception as error:
            failure = self._failure(error, TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, data)
        finally:
            if not response.is_closed:
                await response.aclose()
        raise failure from None

    async def _peeked(
        self, call: HttpCall, response: HttpResponse, kind: BodyKind, timer: StepTimer | None
    ) -> WireAnswer:
        """Do what `Exchange._peeked` does."""
        peek = Peek(self._limit_bytes)
        chunks = abody_of(response, is_encoded=kind.is_encoded)
        try:
            async with contextlib.AsyncExitStack() as stack:
                stack.push_async_callback(response.aclose)
                stack.push_async_callback(chunks.aclose)
                async for chunk in chunks:
                    if timer is not None:
                        timer.check()
                    if not peek.goes_on(chunk):
                        stack.pop_all()
                        body = aframe_stream(self._library, AsyncPeekedBody)(peek, chunks, response)
                        return self._passing(call, kind, body)
        except Exception as error:
            failure = self._failure(error, TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, peek.content)
        raise failure from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[NativeEvent, None]:
        """Do what `Exchange.stream` does."""
        call, body = outgoing(request)
        timer = self._timer(request)
        reader = EventReader(call, self._limit_bytes)
        response = call.response = await self._open(call, body, request.timeout_s)
        try:
            if not 200 <= response.status_code <= 299:
                await self._refuse(response)
            kind = body_kind(response)
            body_chunks = abody_of(response, is_encoded=kind.is_encoded)
            if not may_be_event_stream(kind.content_type):
                self._no_stream(response, await aread_bounded_bytes(body_chunks, self._limit_bytes))
            async with contextlib.aclosing(timer.awatch(body_chunks)) as chunks:
                async for chunk in chunks:
                    for event in reader.feed(chunk):
                        if isinstance(event, NativeEnd):
                            await self._drain(chunks)
                        yield event
                        timer.restart()
                    if reader.is_ended:
                        return
            for event in reader.finish():
                yield event
        except Exception as error:
            failure = self._failure(error, STREAM_CUT)
        else:
            return
        finally:
            await response.aclose()
        raise failure from None

    async def _open(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        try:
            return await self._send(call, body, timeout_s)
        except Exception as error:
            failure = self._failure(error, CONNECTION_FAILED)
        raise failure from None

    async def _refuse(self, response: HttpResponse) -> NoReturn:
        try:
            text = await aread_error_preview(abody_of(response), REJECTION_LIMIT_BYTES)
        except self._library.RequestError:
            text = ""
        raise self._rejection(response, text)

    async def _drain(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read the end of the body, for a connection serves again only after that; not for long."""
        with anyio.move_on_after(_DRAIN_LIMIT_S), contextlib.suppress(self._library.RequestError):
            async for _ in chunks:
                pass
