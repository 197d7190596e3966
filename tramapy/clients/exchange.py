"""One HTTP client as a provider of the engine: a call's body out, the answer's body in, in the vendor's format."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from typing import Any, Final, NoReturn, Protocol, cast

import anyio

from tramapy.bounded import (
    aread_bounded_bytes,
    aread_error_preview,
    read_bounded_bytes,
    read_error_preview,
)
from tramapy.clients.codec import StreamDecoder, WireAnswer, json_bytes
from tramapy.clients.http_call import JSON_TYPE, HttpCall, PassedAnswer, is_empty
from tramapy.clients.http_messages import (
    BodyKind,
    Head,
    HttpRequest,
    HttpResponse,
    aframe_stream,
    body_kind,
    frame_stream,
    is_answer_to,
    request_with,
    streamed_response,
)
from tramapy.clients.other_answer import (
    EVENT_STREAM,
    LinesAnswer,
    OtherAnswer,
    is_event_stream,
    is_json,
    is_text,
    is_unknown,
)
from tramapy.clients.peeked import AsyncPeekedBody, Peek, PeekedBody
from tramapy.clients.stream_usage import asking_usage
from tramapy.engine.native import NativeEnd, NativeEvent, NativeRejectionError
from tramapy.engine.routing import BoundProvider
from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode
from tramapy.hooks.catalogue import NO_MODEL
from tramapy.messages import ModelRequest
from tramapy.wire.http_library import (
    REJECTION_LIMIT_BYTES,
    HttpLibrary,
    abody_of,
    body_of,
    headers_beside_body,
)
from tramapy.wire.json_values import invalid_answer, mapping_of, parse
from tramapy.wire.rejection import Rejection, rejection_error, rejection_in, rejection_under
from tramapy.wire.sse import SseDecoder
from tramapy.wire.step_timer import StepTimer
from tramapy.wire.transport_failure import transport_failure

__all__ = [
    "AsyncExchange",
    "AsyncSender",
    "AsyncSourceSender",
    "Exchange",
    "Sender",
    "SourceSender",
]

_ANSWER: Final = "The provider's answer"

# how long the last bytes of a finished stream may take, so that its connection can serve again
_DRAIN_LIMIT_S: Final = 0.1

_CONNECTION_FAILED: Final = ProviderFailureCode.CONNECTION_FAILED
_TRANSPORT_FAILED: Final = ProviderFailureCode.TRANSPORT_FAILED
_STREAM_CUT: Final = ProviderFailureCode.STREAM_CUT


class Sender(Protocol):
    """Sends a call with another body, and gives the response unread."""

    def __call__(self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None) -> Any:
        """Send it; a body of None is the call's own."""
        ...


class AsyncSender(Protocol):
    """The async form of `Sender`."""

    def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> Awaitable[Any]:
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
        request = call.request
        if timeout_s is not None or not (body is None or body is call.exact_body):
            request = _own_request(self._library, call, body, timeout_s)
        return self._send(request, **call.options)


class AsyncSourceSender:
    """The async form of `SourceSender`."""

    def __init__(self, library: HttpLibrary, send: Callable[..., Awaitable[HttpResponse]]) -> None:
        self._library = library
        self._send = send

    async def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        """Send the request."""
        request = call.request
        if timeout_s is not None or not (body is None or body is call.exact_body):
            request = _own_request(self._library, call, body, timeout_s)
        return await self._send(request, **call.options)


class _BaseExchange:
    """What both forms share: what goes out, and what is made of a head and the bytes behind it."""

    def __init__(
        self,
        library: HttpLibrary,
        *,
        limit_bytes: int,
        now_s: Callable[[], float],
        now_epoch_s: Callable[[], float],
    ) -> None:
        self._library = library
        self._limit_bytes = limit_bytes
        self._now_s = now_s
        self._now_epoch_s = now_epoch_s

    def _timer(self, request: ModelRequest) -> StepTimer:
        return StepTimer(self._now_s, request.timeout_s)

    def _failure(self, error: Exception, code: ProviderFailureCode) -> Exception:
        """Return what to raise for what was caught."""
        failure = transport_failure(self._library, error, code)
        return error if failure is None or isinstance(error, ProviderError) else failure

    def _rejection(self, response: HttpResponse, text: str) -> NativeRejectionError:
        """Return the error for a bad status."""
        rejection = rejection_under(response.status_code, _parsed(text), response.headers)
        return self._native(rejection, text, response)

    def _native(self, rejection: Rejection, text: str, response: HttpResponse) -> NativeRejectionError:
        error = rejection_error(f"HTTP {rejection.status}", rejection, self._now_epoch_s())
        return NativeRejectionError(
            str(error),
            body=text,
            headers=headers_beside_body(response),
            retryable=error.retryable,
            status_code=error.status_code,
            retry_after_s=error.retry_after_s,
            failure_code=error.failure_code,
            counts_on_breaker=error.counts_on_breaker,
        )

    def _answer(self, call: HttpCall, response: HttpResponse, kind: BodyKind, data: bytes) -> WireAnswer:
        """Read a whole answer."""
        content_type = kind.content_type
        if call.is_known or is_json(content_type):
            call.answer_type = JSON_TYPE
            answer = call.surface.codec.answer(_json(data))
        else:
            answer = _other_answer(call, content_type, data)
        if call.is_strict:
            answer.is_strict = True
        usual = answer.usual
        if (
            usual is not None
            and call.is_read_at_once
            and content_type == JSON_TYPE
            and not kind.is_encoded
            and is_answer_to(self._library, response, call.request)
            and usual.is_all_of(data)
        ):
            call.untouched, call.content = answer, data
        return answer

    def _passing(
        self, call: HttpCall, response: HttpResponse, content_type: str, body: object
    ) -> HttpResponse:
        """Return a response with a body that goes on as it comes."""
        head, kind = Head.of(response), content_type.encode()
        return streamed_response(self._library, head, body, call.request, content_type=kind)

    def _no_stream(self, response: HttpResponse, data: bytes) -> NoReturn:
        """Raise what a plain body means where a stream was asked for."""
        text = data.decode("utf-8", "replace")
        rejection = rejection_in(_parsed(text))
        if rejection is not None:
            raise self._native(rejection, text, response)
        raise invalid_answer("is no stream, where one was asked for")


class Exchange(_BaseExchange):
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
        call, body = _outgoing(request)
        timer = None if request.timeout_s is None else self._timer(request)
        response = call.response = self._open(call, body, request.timeout_s)
        kind = body_kind(response)
        is_success = 200 <= response.status_code <= 299
        if is_success and not call.is_known:
            if _passes(call, response, kind.content_type):
                return _passed(call, response)
            if is_unknown(kind.content_type):
                return self._peeked(call, response, kind)
        try:
            if not is_success:
                self._refuse(response)
            _require_whole(call, kind.content_type)
            chunks = body_of(response, is_encoded=kind.is_encoded)
            if timer is not None:
                chunks = timer.watch(chunks)
            data = read_bounded_bytes(chunks, self._limit_bytes, source_name=_ANSWER)
        except Exception as error:
            failure = self._failure(error, _TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, data)
        finally:
            if not response.is_closed:
                response.close()
        raise failure from None

    def _peeked(self, call: HttpCall, response: HttpResponse, kind: BodyKind) -> WireAnswer:
        """Read an answer that is a text of no known type; any other passes."""
        peek = Peek(self._limit_bytes)
        chunks = body_of(response, is_encoded=kind.is_encoded)
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(response.close)
                for chunk in chunks:
                    if not peek.goes_on(chunk):
                        stack.pop_all()
                        body = frame_stream(self._library, PeekedBody)(peek, chunks, response)
                        return _passed(call, self._passing(call, response, kind.content_type, body))
        except Exception as error:
            failure = self._failure(error, _TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, peek.content)
        raise failure from None

    def stream(self, request: ModelRequest) -> Generator[NativeEvent, None, None]:
        """Send a call, and give the events of its answer; it is sent when the first one is asked for.

        Raises:
            NativeRejectionError: The provider refused it, or failed in the stream.
            ProviderError: It failed otherwise.
        """
        call, body = _outgoing(request)
        timer = self._timer(request)
        reader = _EventReader(call, self._limit_bytes)
        response = call.response = self._open(call, body, request.timeout_s)
        try:
            if not 200 <= response.status_code <= 299:
                self._refuse(response)
            kind = body_kind(response)
            body_chunks = body_of(response, is_encoded=kind.is_encoded)
            if not _may_be_event_stream(kind.content_type):
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
            failure = self._failure(error, _STREAM_CUT)
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
            failure = self._failure(error, _CONNECTION_FAILED)
        raise failure from None

    def _refuse(self, response: HttpResponse) -> NoReturn:
        try:
            text = read_error_preview(response, REJECTION_LIMIT_BYTES)
        except self._library.RequestError:
            text = ""  # the status stands even where the rest is lost
        raise self._rejection(response, text)


class AsyncExchange(_BaseExchange):
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
        call, body = _outgoing(request)
        timer = None if request.timeout_s is None else self._timer(request)
        response = call.response = await self._open(call, body, request.timeout_s)
        kind = body_kind(response)
        is_success = 200 <= response.status_code <= 299
        if is_success and not call.is_known:
            if _passes(call, response, kind.content_type):
                return _passed(call, response)
            if is_unknown(kind.content_type):
                return await self._peeked(call, response, kind)
        try:
            if not is_success:
                await self._refuse(response)
            _require_whole(call, kind.content_type)
            chunks = abody_of(response, is_encoded=kind.is_encoded)
            if timer is not None:
                chunks = timer.awatch(chunks)
            data = await aread_bounded_bytes(chunks, self._limit_bytes, source_name=_ANSWER)
        except Exception as error:
            failure = self._failure(error, _TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, data)
        finally:
            if not response.is_closed:
                await response.aclose()
        raise failure from None

    async def _peeked(self, call: HttpCall, response: HttpResponse, kind: BodyKind) -> WireAnswer:
        """Do what `Exchange._peeked` does."""
        peek = Peek(self._limit_bytes)
        chunks = abody_of(response, is_encoded=kind.is_encoded)
        try:
            async with contextlib.AsyncExitStack() as stack:
                stack.push_async_callback(response.aclose)
                async for chunk in chunks:
                    if not peek.goes_on(chunk):
                        stack.pop_all()
                        body = aframe_stream(self._library, AsyncPeekedBody)(peek, chunks, response)
                        return _passed(call, self._passing(call, response, kind.content_type, body))
        except Exception as error:
            failure = self._failure(error, _TRANSPORT_FAILED)
        else:
            return self._answer(call, response, kind, peek.content)
        raise failure from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[NativeEvent, None]:
        """Do what `Exchange.stream` does."""
        call, body = _outgoing(request)
        timer = self._timer(request)
        reader = _EventReader(call, self._limit_bytes)
        response = call.response = await self._open(call, body, request.timeout_s)
        try:
            if not 200 <= response.status_code <= 299:
                await self._refuse(response)
            kind = body_kind(response)
            body_chunks = abody_of(response, is_encoded=kind.is_encoded)
            if not _may_be_event_stream(kind.content_type):
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
            failure = self._failure(error, _STREAM_CUT)
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
            failure = self._failure(error, _CONNECTION_FAILED)
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


class _EventReader:
    """Turns a body's chunks into native events."""

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


def _outgoing(request: ModelRequest) -> tuple[HttpCall, Mapping[str, object] | None]:
    sent: Any = request.native
    call: HttpCall = sent.request
    wire = call.wire
    if wire is None:
        return call, None
    model = wire.model if request.model == NO_MODEL else request.model
    body = wire.encoded(request.messages, model, sent.rest)
    return call, asking_usage(body) if call.adds_usage else body


def _own_request(
    library: HttpLibrary, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
) -> HttpRequest:
    """Return the request to send, where it is not the very one that came."""
    # nobody changed what was read, and the bytes that came say nothing else
    content = None if body is None or body is call.exact_body else json_bytes(body)
    return request_with(library, call.request, content, timeout_s)


def _passes(call: HttpCall, response: HttpResponse, content_type: str) -> bool:
    """Tell whether an answer of no known format goes on unread: there is none, or it is neither JSON nor text."""
    if is_empty(response, call.request.method):
        return True
    if is_json(content_type):
        return False
    # without a body, a client asks for a stream by its path alone
    return call.is_allowed or (
        not call.request.content if is_event_stream(content_type) else not is_text(content_type)
    )


def _passed(call: HttpCall, response: HttpResponse) -> PassedAnswer:
    call.passed = response
    return PassedAnswer(response, call.request.method, is_strict=call.is_strict)


def _require_whole(call: HttpCall, content_type: str) -> None:
    """Refuse a stream that nobody asked for.

    Raises:
        ProviderError: The call has a format, and it is another.
        ConfigurationError: The stream's format is not known.
    """
    if not is_event_stream(content_type):
        return
    if call.is_known:
        raise invalid_answer("is a stream, where none was asked for")
    name = call.surface.name
    raise ConfigurationError(
        f"{name} cannot be governed: it was answered with a stream of a format that is not known. Use the client "
        f'that is not wrapped, or wrap with allow={{"{name}"}} to let it pass uninspected'
    )


def _may_be_event_stream(content_type: str) -> bool:
    """Tell whether what was asked for as a stream may be one: servers and mocks leave its type out, or say text."""
    kind = content_type.lower()
    return not kind or kind.startswith((EVENT_STREAM, "text/plain"))


def _other_answer(call: HttpCall, content_type: str, data: bytes) -> WireAnswer:
    """Read an answer of no known format whose type is not JSON's."""
    codec = call.surface.codec
    value = _structure(data)
    lines = _lines(data) if value is None else None
    # JSON is written anew, in UTF-8 whatever it came in
    has_own_charset = value is None and lines is None
    call.answer_type = content_type if has_own_charset else content_type.partition(";")[0]
    if lines is not None:
        return LinesAnswer(codec.answer(lines))
    return OtherAnswer(data, content_type) if value is None else codec.answer(value)


def _json(data: bytes) -> object:
    parsed: object = None
    try:
        parsed = parse(data)
    except (ValueError, RecursionError):
        is_json = False
    else:
        is_json = True
    if not is_json:
        raise invalid_answer("is no JSON")
    return parsed


def _structure(data: bytes) -> object | None:
    """Return the JSON object or array that a body is, whatever its type says; None for anything else."""
    try:
        value = parse(data)
    except (ValueError, RecursionError):
        return None
    return cast("object", value) if isinstance(value, (dict, list)) else None


def _lines(data: bytes) -> list[object] | None:
    """Return the objects and arrays that the lines of a body are; None where it is another text."""
    values: list[object] = []
    for line in data.splitlines():
        if line.strip():
            value = _structure(line)
            if value is None:
                return None
            values.append(value)
    return values or None


def _parsed(text: str) -> Mapping[str, object]:
    """Return an object; empty where there is none."""
    try:
        return mapping_of(json.loads(text))
    except (ValueError, RecursionError):
        return {}
