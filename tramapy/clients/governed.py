"""The HTTP client under a wrapped client: each request that it is given is an operation of the engine's.

What the vendor's SDK sees is an HTTP client like any other: it sends, and gives a response, a stream, a rejection in
the vendor's own format, or an error. Retries, fallbacks and DLP have happened before.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from tramapy.clients.call_options import current_options
from tramapy.clients.client_errors import VendorErrors, vendor_error
from tramapy.clients.codec import WireAnswer, json_bytes
from tramapy.clients.exact_body import exact_object
from tramapy.clients.http_call import HttpCall, PassedAnswer
from tramapy.clients.http_messages import (
    Head,
    HttpRequest,
    HttpResponse,
    streamed_response,
    whole_response,
    with_content,
)
from tramapy.clients.other_answer import LinesAnswer, OtherAnswer
from tramapy.clients.stream_usage import lacks_usage
from tramapy.clients.surfaces import Surface, Surfaces
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import Operation
from tramapy.engine.pipeline import Pipeline
from tramapy.errors import ConfigurationError
from tramapy.runtime import detached
from tramapy.wire.http_library import AsyncHttpClient, HttpClient, HttpLibrary
from tramapy.wire.json_values import is_json_text, parse

__all__ = ["NO_OPTIONS", "BaseGovernor", "GovernorSettings", "client_like", "closed_error"]

_logger: Final = logging.getLogger("tramapy.clients")

_RETRY_HEADER: Final = "x-stainless-retry-count"

# an address whose call is remembered: without what a client asks for, or Azure's version alone
_is_remembered: Final = re.compile(rb"[^?]{1,256}(?:\?api-version=[\w.-]{1,32})?\Z").match

_REMEMBERED_TARGETS: Final = 256

NO_OPTIONS: Final[Mapping[str, object]] = MappingProxyType({})
"""What a client gave its method beside the request, where that is nothing."""

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


class BaseGovernor:
    """What both forms share: what a request is, and what the client gets in the end.

    Args:
        settings: How requests are governed.
    """

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
        if not surface.may_fall_back:
            operation.routes = operation.routes[:1]
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
            _content_of(call, wire),
            call.answered,
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
            call.answered,
            content_type=b"application/json" if is_json_text(error.body) else b"text/plain; charset=utf-8",
            elapsed_s=time.perf_counter() - started_s,
        )

    def _streamed(self, call: HttpCall, body: object, started_s: float) -> HttpResponse:
        head = call.head or _NO_HEAD
        elapsed_s = time.perf_counter() - started_s
        return streamed_response(self.settings.library, head, body, call.answered, elapsed_s=elapsed_s)

    def outward(self, error: BaseException, request: HttpRequest) -> BaseException:
        """Return the error to raise to the SDK: without frames, and of a class that it lets through."""
        settings = self.settings
        self._may_retry = True
        return vendor_error(detached(error), settings.errors, settings.library, request)


def client_like(
    base: type[Any],
    transport: type[Any],
    source: HttpClient | AsyncHttpClient,
    send: Callable[..., HttpResponse | Awaitable[HttpResponse]],
    governor: BaseGovernor,
) -> object:
    """Return an HTTP client like `source` that sends through a governor; see `governed_client`."""
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


def closed_error() -> RuntimeError:
    """Return the error for a client that was closed."""
    # the library's own words and class: an SDK makes of it what it makes of a client that was closed
    return RuntimeError("Cannot send a request, as the client has been closed.")


def _content_of(call: HttpCall, answer: WireAnswer) -> bytes:
    if answer is call.exact_answer:
        return call.content
    return answer.content if isinstance(answer, (LinesAnswer, OtherAnswer)) else json_bytes(answer.body)


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
