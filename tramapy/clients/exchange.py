"""One HTTP client as a provider of the engine: what its two forms share of sending a call and reading its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, cast

from tramapy.clients.codec import WireAnswer, json_bytes
from tramapy.clients.http_call import JSON_TYPE, HttpCall, PassedAnswer, is_empty
from tramapy.clients.http_messages import (
    BodyKind,
    Head,
    HttpRequest,
    HttpResponse,
    is_answer_to,
    streamed_response,
)
from tramapy.clients.other_answer import EVENT_STREAM, is_event_stream, is_json, is_text
from tramapy.clients.stream_usage import asking_usage
from tramapy.clients.whole_answer import whole_answer
from tramapy.engine.native import NativeRejectionError
from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode
from tramapy.hooks.catalogue import NO_MODEL
from tramapy.messages import ModelRequest
from tramapy.wire.http_library import HttpLibrary, headers_beside_body
from tramapy.wire.json_values import invalid_answer, mapping_of
from tramapy.wire.rejection import Rejection, rejection_error, rejection_in, rejection_under
from tramapy.wire.step_timer import StepTimer
from tramapy.wire.transport_failure import transport_failure

__all__ = [
    "ANSWER",
    "CONNECTION_FAILED",
    "STREAM_CUT",
    "TRANSPORT_FAILED",
    "BaseExchange",
    "may_be_event_stream",
    "outgoing",
    "own_request",
    "passed",
    "passes",
    "require_whole",
]

ANSWER: Final = "The provider's answer"

CONNECTION_FAILED: Final = ProviderFailureCode.CONNECTION_FAILED
TRANSPORT_FAILED: Final = ProviderFailureCode.TRANSPORT_FAILED
STREAM_CUT: Final = ProviderFailureCode.STREAM_CUT


class BaseExchange:
    """What both forms share: what is made of a head and the bytes behind it.

    Args:
        library: The HTTP library.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.
    """

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
        answer = whole_answer(call, kind.content_type, data)
        usual = answer.usual
        if (
            usual is not None
            and call.is_read_at_once
            and kind.content_type == JSON_TYPE
            and not kind.is_encoded
            and is_answer_to(self._library, response, call.request)
            and usual.is_all_of(data)
        ):
            call.untouched, call.content = answer, data
        return answer

    def _passing(self, call: HttpCall, kind: BodyKind, body: object) -> PassedAnswer:
        """Return an answer whose body goes on as it comes."""
        whole: HttpResponse = call.response
        head, content_type = cast("Head", call.head), kind.content_type.encode()
        if not kind.is_encoded and "transfer-encoding" not in whole.headers:
            lengths = [item for item in whole.headers.raw if item[0].lower() == b"content-length"]
            head = head._replace(headers=[*head.headers, *lengths])
        response = streamed_response(self._library, head, body, call.answered, content_type=content_type)
        return passed(call, response)

    def _no_stream(self, response: HttpResponse, data: bytes) -> NoReturn:
        """Raise what a plain body means where a stream was asked for."""
        text = data.decode("utf-8", "replace")
        rejection = rejection_in(_parsed(text))
        if rejection is not None:
            raise self._native(rejection, text, response)
        raise invalid_answer("is no stream, where one was asked for")


def outgoing(request: ModelRequest) -> tuple[HttpCall, Mapping[str, object] | None]:
    """Return the call that a request of the engine's is, and its body as it may go out; None for the call's own."""
    sent: Any = request.native
    call: HttpCall = sent.request
    wire = call.wire
    if wire is None:
        return call, None
    model = wire.model if request.model == NO_MODEL else request.model
    body = wire.encoded(request.messages, model, sent.rest)
    return call, asking_usage(body) if call.adds_usage else body


def own_request(
    library: HttpLibrary, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
) -> HttpRequest:
    """Return the request to send: the very one that came, where it says all and was not sent before."""
    # nobody changed what was read, and the bytes that came say nothing else
    is_own = body is None or body is call.exact_body
    if is_own and timeout_s is None and not call.is_sent:
        call.is_sent = True
        return call.request
    return call.original.again(library, None if is_own else json_bytes(body), timeout_s)


def passes(call: HttpCall, response: HttpResponse, content_type: str) -> bool:
    """Tell whether an answer of no known format goes on unread: there is none, or it is neither JSON nor text."""
    if is_empty(response, call.request.method):
        return True
    if is_json(content_type):
        return False
    # without a body, a client asks for a stream by its path alone
    return call.is_allowed or (
        not call.request.content if is_event_stream(content_type) else not is_text(content_type)
    )


def passed(call: HttpCall, response: HttpResponse) -> PassedAnswer:
    """Return the answer of which nothing is read."""
    call.passed = response
    return PassedAnswer(response, call.request.method, is_strict=call.is_strict)


def require_whole(call: HttpCall, content_type: str) -> None:
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


def may_be_event_stream(content_type: str) -> bool:
    """Tell whether what was asked for as a stream may be one: servers and mocks leave its type out, or say text."""
    kind = content_type.lower()
    return not kind or kind.startswith((EVENT_STREAM, "text/plain"))


def _parsed(text: str) -> Mapping[str, object]:
    """Return an object; empty where there is none."""
    try:
        return mapping_of(json.loads(text))
    except (ValueError, RecursionError):
        return {}
