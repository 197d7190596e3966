"""`AsyncGovernor`: runs the requests of a wrapped client on asyncio and trio."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from tramapy.clients.governed import NO_OPTIONS, BaseGovernor, client_like, closed_error
from tramapy.clients.governed_frames import BaseFrames, close_reason, error_frame
from tramapy.clients.http_call import HttpCall
from tramapy.clients.http_messages import HttpRequest, HttpResponse, aframe_stream
from tramapy.engine.dispatch import complete
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import Operation
from tramapy.engine.stream import EngineStream
from tramapy.wire.http_library import AsyncHttpClient, HttpLibrary

__all__ = ["AsyncGovernor", "agoverned_client"]


class AsyncGovernor(BaseGovernor):
    """Does what `Governor` does, on asyncio and trio."""

    async def send(
        self,
        request: HttpRequest,
        options: Mapping[str, object] = NO_OPTIONS,
        *,
        is_read_at_once: bool = False,
    ) -> HttpResponse:
        """Do what `Governor.send` does; a cancellation passes through unchanged."""
        failure: BaseException
        started_s = time.perf_counter()
        call: HttpCall | None = None
        try:
            call, operation, is_stream = self._begin(request, await request.aread(), options)
            call.is_read_at_once = is_read_at_once
            if is_stream:
                return await self._stream(call, operation, started_s)
            return self._whole(call, await complete(operation), started_s)
        except NativeRejectionError as error:
            return self._rejected(error, cast("HttpCall", call), started_s)
        except BaseException as error:
            failure = self.outward(error, request)
        try:
            if call is not None and call.passed is not None:
                await call.passed.aclose()
            del call, request, options
            raise failure
        finally:
            del failure

    async def _stream(self, call: HttpCall, operation: Operation, started_s: float) -> HttpResponse:
        stream = EngineStream(operation)
        kind = aframe_stream(self.settings.library, _AsyncFrames)
        first: bytes | None = None
        try:
            first = await stream.next_chunk()
        except NativeRejectionError as error:
            if not error.is_in_stream:
                raise
            return self._streamed(call, kind(self, call.request, None, error_frame(error)), started_s)
        return self._streamed(call, kind(self, call.request, stream, first), started_s)


class _AsyncFrames(BaseFrames):
    def __aiter__(self) -> _AsyncFrames:
        return self

    async def __anext__(self) -> bytes:
        first = self._first
        if first is not None:
            self._first = None
            return first
        stream = self._stream
        if stream is None:
            raise StopAsyncIteration
        failure: BaseException
        try:
            frame = await stream.next_chunk()
        except NativeRejectionError as error:
            self._stream = None
            return error_frame(error)
        except BaseException as error:
            failure = self._governor.outward(error, self._request)
        else:
            if frame is None:
                self._stream = None
                raise StopAsyncIteration
            if self._is_closing:
                await self.aclose()
                raise StopAsyncIteration
            return frame  # type: ignore[no-any-return]  # a cast would cost 0.1 µs a chunk
        self._stream = None
        try:
            raise failure
        finally:
            del failure

    async def aclose(self) -> None:
        """Stop the stream, wherever it stands; where another task reads it, with that one's next frame."""
        self._first = None
        stream = self._stream
        if stream is None:
            return
        if stream.is_being_read:
            self._is_closing = True
            return
        self._stream = None
        await stream.close(close_reason())


def agoverned_client(source: AsyncHttpClient, library: HttpLibrary, governor: AsyncGovernor) -> Any:
    """Do what `governed_client` does, for an async client."""

    async def send(
        self: Any, request: HttpRequest, *, stream: bool = False, **options: object
    ) -> HttpResponse:
        if self.is_closed or source.is_closed:
            raise closed_error()
        options["stream"] = True
        try:
            response = await governor.send(request, options, is_read_at_once=not stream)
        finally:
            del request, options
        if not stream:
            await response.aread()
        return response

    return client_like(library.AsyncClient, library.AsyncBaseTransport, source, send, governor)
