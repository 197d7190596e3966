"""`Exchange`: one HTTP client as a provider of the engine, on plain threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping
from typing import Any, NoReturn, Protocol

from tramapy.bounded import read_bounded_bytes, read_error_preview
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
from tramapy.clients.http_messages import BodyKind, HttpResponse, body_kind, frame_stream
from tramapy.clients.other_answer import is_unknown
from tramapy.clients.peeked import Peek, PeekedBody
from tramapy.engine.native import NativeEvent
from tramapy.engine.routing import BoundProvider
from tramapy.messages import ModelRequest
from tramapy.wire.http_library import REJECTION_LIMIT_BYTES, HttpLibrary, body_of
from tramapy.wire.step_timer import StepTimer

__all__ = ["Exchange", "Sender", "SourceSender"]


class Sender(Protocol):
    """Sends a call with another body, and gives the response unread."""

    def __call__(self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None) -> Any:
        """Send it; a body of None is the call's own."""
        ...


class SourceSender:
    """Sends the client's own request through the client's own HTTP client, or a transport.

    Args:
        library: The HTTP library.
        send: Sends a request, with what the client gave beside it.
    """

    def __init__(self, library: HttpLibrary, send: Callable[..., HttpResponse]) -> None:
        self._library = library
        self._send = send

    def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        """Send the request."""
        return self._send(own_request(self._library, call, body, timeout_s), **call.options)


class Exchange(BaseExchange):
    """One HTTP client, on plain threads.

    Args:
        send: Sends a call.
        library: The HTTP library.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.
    """

    def __init__(
        self,
        send: Sender,
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

    def answer(self, request: ModelRequest) -> WireAnswer:
        """Send a call and read its answer.

        Raises:
            NativeRejectionError: The provider refused it.
            ProviderError: It failed otherwise.
        """
        call, body = outgoing(request)
        timer = None if request.timeout_s is None else self._timer(request)
        response = call.response = self._open(call, body, request.timeout_s)
        kind = body_kind(response)
        is_success = 200 <= response.status_code <= 299
        if is_success and not call.is_known:
            if passes(call, response, kind.content_type):
                return passed(call, response)
            if is_unknown(kind.content_type):
                return self._peeked(call, response, kind, timer)
        try:
            if not is_success:
                self._refuse(response)
            require_whole(call, kind.content_type)
            chunks = body_of(response, is_encoded=kind.is_encoded)
            if timer is not None:
                chunks = timer.watch(chunks)
            data = read_bounded_bytes(chunks, self._limit_bytes, source_name=ANSWER)
        except Exception as error:
            failure = self._failure(error, TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, data)
        finally:
            if not response.is_closed:
                response.close()
        raise failure from None

    def _peeked(
        self, call: HttpCall, response: HttpResponse, kind: BodyKind, timer: StepTimer | None
    ) -> WireAnswer:
        """Read an answer that is a text of no known type; any other passes."""
        peek = Peek(self._limit_bytes)
        chunks = body_of(response, is_encoded=kind.is_encoded)
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(response.close)
                for chunk in chunks:
                    if timer is not None:
                        timer.check()
                    if not peek.goes_on(chunk):
                        stack.pop_all()
                        body = frame_stream(self._library, PeekedBody)(peek, chunks, response)
                        return self._passing(call, kind, body)
        except Exception as error:
            failure = self._failure(error, TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, peek.content)
        raise failure from None

    def stream(self, request: ModelRequest) -> Generator[NativeEvent, None, None]:
        """Send a call, and give the events of its answer; it is sent when the first one is asked for.

        Raises:
            NativeRejectionError: The provider refused it, or failed in the stream.
            ProviderError: It failed otherwise.
        """
        call, body = outgoing(request)
        timer = self._timer(request)
        reader = EventReader(call, self._limit_bytes)
        response = call.response = self._open(call, body, request.timeout_s)
        try:
            if not 200 <= response.status_code <= 299:
                self._refuse(response)
            kind = body_kind(response)
            body_chunks = body_of(response, is_encoded=kind.is_encoded)
            if not may_be_event_stream(kind.content_type):
                self._no_stream(response, read_bounded_bytes(body_chunks, self._limit_bytes))
            with contextlib.closing(timer.watch(body_chunks)) as chunks:
                for chunk in chunks:
                    for event in reader.feed(chunk):
                        yield event
                        timer.restart()
                    if reader.is_ended:
                        return
            yield from reader.finish()
        except Exception as error:
            failure = self._failure(error, STREAM_CUT)
        else:
            return
        finally:
            response.close()
        raise failure from None

    def _open(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        try:
            return self._send(call, body, timeout_s)
        except Exception as error:
            failure = self._failure(error, CONNECTION_FAILED)
        raise failure from None

    def _refuse(self, response: HttpResponse) -> NoReturn:
        try:
            text = read_error_preview(response, REJECTION_LIMIT_BYTES)
        except self._library.RequestError:
            text = ""  # the status stands even where the rest is lost
        raise self._rejection(response, text)
