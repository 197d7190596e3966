"""`HttpCall`: one request of a client's under the engine, and what is known of its answer beside the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tramapy.clients.codec import WireAnswer, WireRequest
from tramapy.clients.http_messages import Head, HttpRequest, HttpResponse, Original
from tramapy.clients.surfaces import Surface
from tramapy.engine.native import NativeRequest
from tramapy.hooks.catalogue import NO_MODEL
from tramapy.messages import Message, ModelResponse

__all__ = ["JSON_TYPE", "HttpCall", "PassedAnswer", "is_empty"]

JSON_TYPE: Final = "application/json"

_NO_CONTENT: Final = 204


class HttpCall(NativeRequest):
    """A request as it came, read by its surface's codec, and what is known of its answer.

    Args:
        request: As the client wanted to send it.
        surface: Which call it is.
        wire: Its body, read; None for one that cannot be read, and passes as it is.
        options: What the client gave `send` beside the request.
        exact_body: The body as the object that was read, where its bytes say nothing else; else None.
        unscanned: Why it cannot be inspected, beside what its body says.
        is_strict: Whether what cannot be inspected must not pass.
        is_allowed: Whether it was allowed by name, so that what cannot be inspected passes.
    """

    answer_type: str = JSON_TYPE
    """The content type of what the client gets."""

    response: HttpResponse | None = None
    """The last response as it came; its body was taken, or goes to the client as it comes."""

    passed: HttpResponse | None = None

    is_sent: bool = False
    """Whether the very request that came was sent; whatever sent it may have written into it."""

    is_read_at_once: bool = False
    """Whether the client reads the whole answer before anybody else sees it."""

    untouched: WireAnswer | None = None
    """The last answer, where nobody could read more into it than was inspected."""

    exact_answer: WireAnswer | None = None
    """The last answer, where its bytes say nothing else; it goes on as it came if nobody changes it."""

    content: bytes = b""
    """The body of what is untouched or exact."""

    adds_usage: bool = False
    """Whether a budget counts the tokens of its stream, for which the client did not ask."""

    def __init__(
        self,
        request: HttpRequest,
        surface: Surface,
        wire: WireRequest | None,
        *,
        options: Mapping[str, object],
        exact_body: Mapping[str, object] | None = None,
        unscanned: tuple[str, ...] = (),
        is_strict: bool = False,
        is_allowed: bool = False,
    ) -> None:
        self.request: HttpRequest = request
        self.original: Original = Original.of(request)
        self.surface: Surface = surface
        self.wire: WireRequest | None = wire
        self.options: Mapping[str, object] = options
        self.exact_body: Mapping[str, object] | None = exact_body
        self.messages: tuple[Message, ...] = () if wire is None else wire.messages
        self.unscanned: tuple[str, ...] = unscanned if wire is None else (*unscanned, *wire.unscanned)
        self.is_strict: bool = is_strict
        self.is_allowed: bool = is_allowed
        self.is_known: bool = wire is not None and surface.is_known
        """Whether an answer is read by a format of its own, whatever type it has."""

    @property
    def rest(self) -> str:
        """All text of the body that no message shows."""
        return "" if self.wire is None else self.wire.rest

    @property
    def head(self) -> Head | None:
        """The head of the last response; the redirects before it are shown if the client itself was redirected."""
        head = None if self.response is None else Head.of(self.response)
        return head._replace(history=[]) if head and head.history and self.answered is self.request else head

    @property
    def answered(self) -> HttpRequest:
        """The request that was answered: after a redirect not the one that came; a fallback's is not shown."""
        response = self.response
        if response is None or not response.history or response.history[0].url != self.request.url:
            return self.request
        return response.request

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return NO_MODEL if self.wire is None or not self.wire.model else self.wire.model


def is_empty(response: HttpResponse, method: str) -> bool:
    """Tell whether the response to a request with this method says that it has no body."""
    if response.status_code == _NO_CONTENT or method == "HEAD":
        return True
    # beside chunks, a length says nothing
    return response.headers.get("content-length") == "0" and "transfer-encoding" not in response.headers


class PassedAnswer(WireAnswer):
    """An answer that is neither JSON nor text: it goes to the client as it comes, unread."""

    def __init__(self, response: HttpResponse, method: str, *, is_strict: bool) -> None:
        self.response: HttpResponse = response
        self.is_strict: bool = is_strict
        self.responses: tuple[ModelResponse, ...] = (ModelResponse(content=""),)
        self.unscanned: tuple[str, ...] = () if is_empty(response, method) else ("binary_answer",)

    @property
    def body(self) -> object:
        """Nothing: it was not read."""
        return None

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> PassedAnswer:
        """Return the answer itself: there is nothing to write into."""
        return self
