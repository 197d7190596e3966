"""A vendor's own request and answer under the engine: what a wrapped client sends and reads stays in its format.

The engine sees the messages and the answers in them as its own values, runs the same steps on these, and has the
changes written back. All other text of the format comes beside them, so that nothing passes uninspected.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import Message, ModelResponse

__all__ = [
    "Lane",
    "NativeAnswer",
    "NativeEnd",
    "NativeEvent",
    "NativePiece",
    "NativeRejectionError",
    "NativeRequest",
    "NativeSent",
    "NativeText",
]

Lane: TypeAlias = Hashable
"""Names one text that comes in pieces: for example the content of the second choice."""


class NativeText(NamedTuple):
    """One text of an answer that none of its `responses` shows, and where it stands."""

    text: str
    location: DlpContentLocation
    tool_name: str | None = None


class NativeRequest(abc.ABC):
    """A request in a vendor's format."""

    messages: tuple[Message, ...]
    """What request interceptors see; each knows its place through its `origin`."""

    unscanned: tuple[str, ...] = ()
    """Why parts of it cannot be inspected, each as a fixed word: for example `previous_response_id`."""

    is_strict: bool = False
    """Whether what cannot be inspected must not pass."""

    @property
    @abc.abstractmethod
    def rest(self) -> str:
        """All other text (descriptions of tools, metadata, what is not known), as JSON; empty where there is none.

        Asked for only where somebody inspects it.
        """


class NativeSent(NamedTuple):
    """What a provider gets as `ModelRequest.native`: the request, and its `rest` as it may be sent.

    Args:
        request: The request.
        rest: Its rest, inspected; None where it goes out as it is.
    """

    request: NativeRequest
    rest: str | None = None

    def __repr__(self) -> str:
        rest = "no rest" if self.rest is None else f"<{len(self.rest)} characters>"
        return f"NativeSent(<{len(self.request.messages)} messages>, {rest})"


class NativeAnswer(abc.ABC):
    """A whole answer in a vendor's format, as a provider returns it in the place of a `ModelResponse`."""

    responses: tuple[ModelResponse, ...]
    """One for each choice, at least one; the usage stands on the first."""

    content_texts: Sequence[str] = ()
    """What the content of the first response is joined of, where it is several texts."""

    refusal_texts: Sequence[str] = ()
    """What its refusal is joined of, likewise."""

    texts: tuple[NativeText, ...] = ()
    """All text that no response shows; what is JSON begins like JSON."""

    names: tuple[str, ...] = ()
    """The names of called tools that no response shows."""

    unscanned: tuple[str, ...] = ()
    """As for a request."""

    is_strict: bool = False
    """As for a request."""

    @abc.abstractmethod
    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> NativeAnswer:
        """Return the answer with these in the place of its own; what is the same object was not changed.

        Raises:
            InterceptorError: A response says what the format has no place for.
            DlpInspectionError: A text was JSON and is none any more.
        """


class NativePiece(abc.ABC):
    """One text within an event of a stream."""

    __slots__ = ()

    text: str
    location: DlpContentLocation
    tool_name: str | None

    lane: Lane | None
    """The text that this is a piece of; None for one that is whole by itself."""

    is_held: bool
    """Whether its lane is released as a whole: the arguments of a tool call."""

    is_repeat: bool
    """Whether this is the whole text of its lane once more."""

    @property
    def run(self) -> Hashable | None:
        """Names what the lane is a text of, where readers join several; None for a text of its own.

        Texts of one run that follow one another are inspected as one, whatever comes between them.
        """
        return None

    @property
    def scope(self) -> Hashable:
        """For JSON of which nobody knows what it is: what tells it from that of other events; None for a known text.

        Strings at the same place of pieces with the same scope may be one text.
        """
        return None

    @abc.abstractmethod
    def write(self, text: str) -> None:
        """Put another text in its place; it may be empty."""


class NativeEvent(abc.ABC):
    """One event of a vendor's stream."""

    __slots__ = ()

    is_last: bool = False
    """Whether it is the `NativeEnd`; asked of each event, where `isinstance` would take 0.4 µs."""

    pieces: list[NativePiece]
    """Its texts, in order."""

    opens: Lane | None
    """A lane with `is_held` pieces that begins here: the event itself waits for the lane's end."""

    ends: list[Lane]
    """The lanes whose text is complete, this event's own pieces included."""

    pauses: Lane | None = None
    """A lane that may go on, but of which a part is complete, such as a block: what ends it is whole.

    Where the lane is inspected as a whole, its parts are, too, each by itself."""

    names: Sequence[str] = ()
    """The names of called tools that it says: refused where DLP would change them, since nothing can stand there."""

    is_opening: bool
    """Whether it says nothing yet, so that it can wait: until something is released, a failure can be retried."""

    unscanned: Sequence[str] = ()
    """As for a request."""

    is_strict: bool = False
    """As for a request."""

    @abc.abstractmethod
    def frame(self) -> bytes:
        """Return it as it goes out, with what was written; empty where nothing is left to say."""

    @abc.abstractmethod
    def tail(self, lane: Lane, text: str) -> bytes:
        """Return an event that carries the rest of a lane's text, to go out before this one."""


class NativeEnd(NativeEvent):
    """The last event of a stream, given once; every lane that is still open ends with it."""

    __slots__ = ()

    is_last: bool = True

    @property
    def content_lanes(self) -> Sequence[Lane]:
        """The lanes that the content of the first response is joined of, where these can pause."""
        return ()

    @property
    def refusal_lanes(self) -> Sequence[Lane]:
        """The lanes that its refusal is joined of, where these are several."""
        return ()

    @abc.abstractmethod
    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        """Return what the stream said, one for each choice; the usage stands on the first.

        Args:
            text_of: Gives the text of a lane as it was released; empty for one without pieces.
        """

    @abc.abstractmethod
    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        """Return the text of each lane in these, for a stream that waited for a response interceptor.

        Args:
            responses: Those that `responses` gave, or others that interceptors put in their place.

        Raises:
            InterceptorError: One says what the stream has no lane for, for example a further tool call.
        """


class NativeRejectionError(ProviderError):
    """A provider refused, and said so in its own format: the client's library makes its own error of it.

    Args:
        message: As for every `ProviderError`, in fixed words.
        body: What it said, as text; the engine passes it through DLP.
        headers: Of the response, without those about the body; values never reach an event.
        is_in_stream: Whether it came as an event, after a good status.
        retryable: As for `ProviderError`, like all that follows.
    """

    def __init__(
        self,
        message: str,
        *,
        body: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
        is_in_stream: bool = False,
        retryable: bool = False,
        status_code: int | None = None,
        retry_after_s: float | None = None,
        failure_code: ProviderFailureCode = ProviderFailureCode.HTTP_REJECTED,
        counts_on_breaker: bool | None = None,
    ) -> None:
        super().__init__(
            message,
            retryable=retryable,
            status_code=status_code,
            retry_after_s=retry_after_s,
            failure_code=failure_code,
            counts_on_breaker=counts_on_breaker,
        )
        self.body = body
        self.headers: tuple[tuple[bytes, bytes], ...] = tuple(headers)
        self.is_in_stream = is_in_stream

    def reworded(self, message: str, body: str) -> NativeRejectionError:
        """Return a copy in other words."""
        return NativeRejectionError(
            message,
            body=body,
            headers=self.headers,
            is_in_stream=self.is_in_stream,
            retryable=self.retryable,
            status_code=self.status_code,
            retry_after_s=self.retry_after_s,
            failure_code=self.failure_code,
            counts_on_breaker=self.counts_on_breaker,
        )
