"""The HTTP client under a wrapped client: each request that it is given is an operation of the engine's.

What the vendor's SDK sees is an HTTP client like any other: it sends, and gives a response, a stream, a rejection in
the vendor's own format, or an error. Retries, fallbacks and DLP have happened before.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from tramapy.cancellation import is_cancellation
from tramapy.clients.call_options import current_options
from tramapy.clients.client_errors import VendorErrors, vendor_error
from tramapy.clients.codec import WireAnswer, json_bytes
from tramapy.clients.exact_body import exact_object
from tramapy.clients.http_call import HttpCall, PassedAnswer
from tramapy.clients.http_messages import (
    Head,
    HttpRequest,
    HttpResponse,
    aframe_stream,
    frame_stream,
    streamed_response,
    whole_response,
    with_content,
)
from tramapy.clients.other_answer import LinesAnswer, OtherAnswer
from tramapy.clients.stream_usage import lacks_usage
from tramapy.clients.surfaces import Surface, Surfaces
from tramapy.engine.dispatch import complete
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import CancelReason, Operation
from tramapy.engine.pipeline import Pipeline
from tramapy.engine.stream import EngineStream
from tramapy.errors import ConfigurationError
from tramapy.runtime import detached, run_sync
from tramapy.wire.http_library import AsyncHttpClient, HttpClient, HttpLibrary
from tramapy.wire.json_values import mapping_of, parse
from tramapy.wire.sse import sse_frame

__all__ = ["AsyncGovernor", "Governor", "GovernorSettings", "agoverned_client", "governed_client"]

_logger: Final = logging.getLogger("tramapy.clients")

_RETRY_HEADER: Final = "x-stainless-retry-count"

# the types of events that an SDK knows as errors
_ERROR_EVENTS: Final = ("error", "response.failed")

# an address whose call is remembered: without what a client asks for, or Azure's version alone
_is_remembered: Final = re.compile(rb"[^?]{1,256}(?:\?api-version=[\w.-]{1,32})?\Z").match

_REMEMBERED_TARGETS: Final = 256

_NO_OPTIONS: Final[Mapping[str, object]] = MappingProxyType({})

_NO_HEAD: Final = Head(status=200, headers=[], extensions={}, history=[])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GovernorSettings:
    """How requests are governed.

    Args:
        pipeline: What runs them; its routes lead to the exchanges.
        library: The HTTP library.
        surfaces: The vendor's calls.
        errors: The vendor's error classes; None where they are not known.
        service_interface: What the client is called in contexts and events.
        base_url: Where the client sends to; None where any host is the client's.
        allow: What passes without being read: names of calls, and hosts.
        is_strict: Whether nothing passes that cannot be inspected.
    """

    pipeline: Pipeline
    library: HttpLibrary
    surfaces: Surfaces
    errors: VendorErrors | None
    service_interface: str
    base_url: Any
    allow: frozenset[str]
    is_strict: bool


class _Target(NamedTuple):
    """What an address asks for.

    Args:
        surface: The call.
        is_allowed: Whether it was allowed by name.
        is_stream: Whether it asks for a stream by itself, without a body that says so.
    """

    surface: Surface
    is_allowed: bool
    is_stream: bool


class _BaseGovernor:
    """What both forms share: what a request is, and what the client gets in the end."""

    def __init__(self, settings: GovernorSettings) -> None:
        self.settings: GovernorSettings = settings
        base_url = settings.base_url
        self._origin = None if base_url is None else _origin(base_url)
        self._base_path: str = "" if base_url is None else base_url.path
        self._targets: dict[tuple[str, str, bytes, bytes], _Target] = {}
        self._may_retry = False
        self._has_warned = False

    def _begin(
        self, request: HttpRequest, content: bytes, options: Mapping[str, object]
    ) -> tuple[HttpCall, Operation, bool]:
        """Read a request whose body is there, and make the operation of it.

        Raises:
            ConfigurationError: It cannot be governed.
        """
        settings = self.settings
        if self._may_retry:
            self._warn_of_retries(request)
        surface, is_allowed, is_stream = self._target_of(request)
        exact_body = exact_object(content) if content else {}
        body = _body_of(content) if exact_body is None else exact_body
        unscanned: tuple[str, ...] = ()
        if body is None:
            if not is_allowed:
                raise _not_allowed(surface, "its body is no JSON (a file, for example)")
            is_stream = False
            unscanned = ("request_body",)
        elif body.get("stream") is True or is_stream:
            is_stream = surface.can_stream
            if not is_stream:
                if not is_allowed:
                    raise _not_allowed(surface, "it answers with a stream of a format that is not known")
                unscanned = ("answer_stream",)
        wire = None if body is None else surface.codec.request(body)
        call = HttpCall(
            request,
            surface,
            wire,
            options=options,
            exact_body=exact_body,
            unscanned=unscanned,
            is_strict=settings.is_strict,
            is_allowed=is_allowed,
        )
        arguments: dict[str, Any] = {
            "service_interface": settings.service_interface,
            "method_name": surface.name,
        }
        options_here = current_options()
        if options_here:
            arguments.update(options_here)
        if wire is not None and wire.tools:
            arguments["tools"] = wire.tools
        operation = Operation(
            settings.pipeline,
            call.messages,
            is_stream=is_stream,
            model=call.model,
            native=call,
            **arguments,
        )
        if operation.budget is not None and is_stream and surface.has_usage_option:
            call.adds_usage = body is not None and lacks_usage(body)
        return call, operation, is_stream

    def _target_of(self, request: HttpRequest) -> _Target:
        url = request.url
        address = (request.method, url.scheme, url.netloc, url.raw_path)
        target = self._targets.get(address)
        if target is None:
            target = self._new_target(request.method, url)
            if _is_remembered(address[3]):
                if len(self._targets) >= _REMEMBERED_TARGETS:
                    self._targets.clear()
                self._targets[address] = target
        return target

    def _new_target(self, method: str, url: Any) -> _Target:
        settings = self.settings
        if self._origin is not None and _origin(url) != self._origin and url.host not in settings.allow:
            raise ConfigurationError(
                f"A wrapped client sends to {settings.base_url.host}, not to {url.host}: who is behind it is "
                f'not known. Use a client with that base_url, or wrap with allow={{"{url.host}"}}'
            )
        surface = settings.surfaces.find(method, url.path, self._base_path)
        is_stream = bool(url.query) and url.params.get("stream") == "true"
        return _Target(surface, surface.name in settings.allow, is_stream)

    def _warn_of_retries(self, request: HttpRequest) -> None:
        if self._has_warned or request.headers.get(_RETRY_HEADER, "0") == "0":
            return
        self._has_warned = True
        _logger.warning(
            "%s retries by itself, on top of tramapy's own retries; leave max_retries of the wrapped client at 0",
            self.settings.service_interface,
        )

    def _whole(self, call: HttpCall, answer: object, started_s: float) -> HttpResponse:
        """Return a whole answer as a response."""
        if call.untouched is answer:
            return with_content(call.response, call.content)
        wire = cast("WireAnswer", answer)
        if isinstance(wire, PassedAnswer):
            return wire.response
        return whole_response(
            self.settings.library,
            cast("Head", call.head),
            wire.content if isinstance(wire, (LinesAnswer, OtherAnswer)) else json_bytes(wire.body),
            call.request,
            content_type=call.answer_type.encode(),
            elapsed_s=time.perf_counter() - started_s,
        )

    def _rejected(self, error: NativeRejectionError, call: HttpCall, started_s: float) -> HttpResponse:
        """Return a refusal as a response, of which the SDK makes its own error."""
        self._may_retry = True
        head = call.head or _NO_HEAD
        known = head._replace(
            status=error.status_code or 500, headers=list(error.headers) or head.headers, extensions={}
        )
        return whole_response(
            self.settings.library,
            known,
            error.body.encode("utf-8", "replace"),
            call.request,
            content_type=b"application/json" if _is_json(error.body) else b"text/plain; charset=utf-8",
            elapsed_s=time.perf_counter() - started_s,
        )

    def _streamed(self, call: HttpCall, body: object, started_s: float) -> HttpResponse:
        head = call.head or _NO_HEAD
        elapsed_s = time.perf_counter() - started_s
        return streamed_response(self.settings.library, head, body, call.request, elapsed_s=elapsed_s)

    def outward(self, error: BaseException, request: HttpRequest) -> BaseException:
        """Return the error to raise to the SDK: without frames, and of a class that it lets through."""
        settings = self.settings
        self._may_retry = True
        return vendor_error(detached(error), settings.errors, settings.library, request)


class Governor(_BaseGovernor):
    """Runs requests on plain threads.

    Args:
        settings: How.
    """

    def send(
        self,
        request: HttpRequest,
        options: Mapping[str, object] = _NO_OPTIONS,
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
            return self._streamed(call, kind(self, call.request, None, _error_frame(error)), started_s)
        return self._streamed(call, kind(self, call.request, stream, first), started_s)


class AsyncGovernor(_BaseGovernor):
    """Does what `Governor` does, on asyncio and trio."""

    async def send(
        self,
        request: HttpRequest,
        options: Mapping[str, object] = _NO_OPTIONS,
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
            return self._streamed(call, kind(self, call.request, None, _error_frame(error)), started_s)
        return self._streamed(call, kind(self, call.request, stream, first), started_s)


class _BaseFrames:
    """The body of a governed stream; the first frame was pulled before.

    Args:
        governor: Makes errors.
        request: What was asked, for errors.
        stream: The engine's side; None where there is nothing after the first frame.
        first: The first frame; None where there is none at all.
    """

    _stream: EngineStream | None
    _first: bytes | None

    def __init__(
        self,
        governor: _BaseGovernor,
        request: HttpRequest,
        stream: EngineStream | None,
        first: bytes | None,
    ) -> None:
        self._governor = governor
        self._request = request
        self._stream = None if first is None else stream
        self._first = first
        # set by who closes it while another reads it: that one does it then
        self._is_closing = False

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.abandon()


class _Frames(_BaseFrames):
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
            return _error_frame(error)
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
        run_sync(stream.close(_reason()))


class _AsyncFrames(_BaseFrames):
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
            return _error_frame(error)
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
        await stream.close(_reason())


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
            raise _closed()
        options["stream"] = True
        try:
            response = governor.send(request, options, is_read_at_once=not stream)
        finally:
            del request, options  # an error's frames hold no prompt of ours
        if not stream:
            response.read()
        return response

    return _client_like(library.Client, library.BaseTransport, source, send, governor)


def agoverned_client(source: AsyncHttpClient, library: HttpLibrary, governor: AsyncGovernor) -> Any:
    """Do what `governed_client` does, for an async client."""

    async def send(
        self: Any, request: HttpRequest, *, stream: bool = False, **options: object
    ) -> HttpResponse:
        if self.is_closed or source.is_closed:
            raise _closed()
        options["stream"] = True
        try:
            response = await governor.send(request, options, is_read_at_once=not stream)
        finally:
            del request, options
        if not stream:
            await response.aread()
        return response

    return _client_like(library.AsyncClient, library.AsyncBaseTransport, source, send, governor)


def _client_like(
    base: type[Any],
    transport: type[Any],
    source: HttpClient | AsyncHttpClient,
    send: Callable[..., HttpResponse | Awaitable[HttpResponse]],
    governor: _BaseGovernor,
) -> object:
    # a class made here, because SDKs ask isinstance and the base depends on the library; the transport is
    # never used, but without one the constructor would load certificates for 30 ms
    methods = {
        "build_request": staticmethod(source.build_request),
        "send": send,
        "tramapy_governor": governor,
        "tramapy_source": source,
    }
    return type("GovernedHttpClient", (base,), methods)(
        transport=transport(), timeout=source.timeout, trust_env=False
    )


def _closed() -> RuntimeError:
    # the library's own words and class: an SDK makes of it what it makes of a client that was closed
    return RuntimeError("Cannot send a request, as the client has been closed.")


def _not_allowed(surface: Surface, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{surface.name} cannot be governed: {why}. Use the client that is not wrapped, or wrap with "
        f'allow={{"{surface.name}"}} to let it pass uninspected'
    )


def _body_of(content: bytes) -> Mapping[str, object] | None:
    """Return the JSON object that a request's body is; None for any other."""
    parsed: object = None
    try:
        parsed = parse(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", parsed) if isinstance(parsed, dict) else None


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _reason() -> CancelReason:
    """Say why a stream is closed: with a cancellation on its way, that is why."""
    error = sys.exc_info()[1]
    return (
        "cancelled"
        if error is not None and not isinstance(error, GeneratorExit) and is_cancellation(error)
        else "closed"
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _error_frame(error: NativeRejectionError) -> bytes:
    """Return what a provider said in its stream as an event, of which the SDK makes its own error."""
    body = error.body
    value: object = (
        json.loads(body) if _is_json(body) else {"error": {"message": body, "type": "error"}, "type": "error"}
    )
    fields = mapping_of(value)
    kind = fields.get("type")
    if not fields.get("error") and kind not in _ERROR_EVENTS:
        # told by the event's name alone: an SDK would take it for a piece of the answer, or pass over it
        value = {"type": "error", "error": value}
    name = kind if isinstance(kind, str) and kind in _ERROR_EVENTS else "error"
    return sse_frame(name, json_bytes(value))
