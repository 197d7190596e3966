"""`Governor`: runs the requests of a wrapped client on plain threads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from tramapy.clients.governed import NO_OPTIONS, BaseGovernor, client_like, closed_error
from tramapy.clients.governed_frames import BaseFrames, close_reason, error_frame
from tramapy.clients.http_call import HttpCall
from tramapy.clients.http_messages import HttpRequest, HttpResponse, frame_stream
from tramapy.engine.dispatch import complete
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import Operation
from tramapy.engine.stream import EngineStream
from tramapy.runtime import run_sync
from tramapy.wire.http_library import HttpClient, HttpLibrary

__all__ = ["Governor", "governed_client"]


class Governor(BaseGovernor):
    """Runs requests on plain threads.

    Args:
        settings: How.
    """

    def send(
        self,
        request: HttpRequest,
        options: Mapping[str, object] = NO_OPTIONS,
        *,
        is_read_at_once: bool = False,
    ) -> HttpResponse:
        """Run a request and return its response, whole or as a stream.

        Args:
            request: What to send.
            options: Of the HTTP client's own method.
            is_read_at_once: Whether the caller reads the response as soon as it is there.

        Raises:
            TramapyError: As for `Tramapy.complete`, also of the vendor's class; but a provider's refusal is a response.
        """
        failure: BaseException
        started_s = time.perf_counter()
        call: HttpCall | None = None
        try:
            call, operation, is_stream = self._begin(request, request.read(), options)
            call.is_read_at_once = is_read_at_once
            if is_stream:
                return self._stream(call, operation, started_s)
            return self._whole(call, run_sync(complete(operation)), started_s)
        except NativeRejectionError as error:
            return self._rejected(error, cast("HttpCall", call), started_s)
        except BaseException as error:
            failure = self.outward(error, request)
        if call is not None and call.passed is not None:
            call.passed.close()
        del call, request, options
        try:
            raise failure
        finally:
            del failure

    def _stream(self, call: HttpCall, operation: Operation, started_s: float) -> HttpResponse:
        stream = EngineStream(operation)
        kind = frame_stream(self.settings.library, _Frames)
        first: bytes | None = None
        try:
            first = run_sync(stream.next_chunk())
        except NativeRejectionError as error:
            if not error.is_in_stream:
                raise
            return self._streamed(call, kind(self, call.request, None, error_frame(error)), started_s)
        return self._streamed(call, kind(self, call.request, stream, first), started_s)


class _Frames(BaseFrames):
    def __iter__(self) -> _Frames:
        return self

    def __next__(self) -> bytes:
        first = self._first
        if first is not None:
            self._first = None
            return first
        stream = self._stream
        if stream is None:
            raise StopIteration
        failure: BaseException
        try:
            frame = run_sync(stream.next_chunk())
        except NativeRejectionError as error:
            self._stream = None
            return error_frame(error)
        except BaseException as error:
            failure = self._governor.outward(error, self._request)
        else:
            if frame is None:
                self._stream = None
                raise StopIteration
            if self._is_closing:
                self.close()
                raise StopIteration
            return frame  # type: ignore[no-any-return]  # a cast would cost 0.1 µs a chunk
        self._stream = None
        try:
            raise failure
        finally:
            del failure

    def close(self) -> None:
        """Stop the stream, wherever it stands; where another thread reads it, with that one's next frame."""
        self._first = None
        stream = self._stream
        if stream is None:
            return
        if stream.is_being_read:
            self._is_closing = True
            return
        self._stream = None
        run_sync(stream.close(close_reason()))


def governed_client(source: HttpClient, library: HttpLibrary, governor: Governor) -> Any:
    """Return an HTTP client that sends through a governor.

    It is built like `source`, and closing it closes nothing: after that it only refuses to send.

    Args:
        source: The client that requests go through in the end; kept alive, and never closed.
        library: Its library.
        governor: Runs the requests.
    """

    def send(self: Any, request: HttpRequest, *, stream: bool = False, **options: object) -> HttpResponse:
        if self.is_closed or source.is_closed:
            raise closed_error()
        options["stream"] = True
        try:
            response = governor.send(request, options, is_read_at_once=not stream)
        finally:
            del request, options  # an error's frames hold no prompt of ours
        if not stream:
            response.read()
        return response

    return client_like(library.Client, library.BaseTransport, source, send, governor)
