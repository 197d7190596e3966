"""What each wire format gives: its requests, answers and streams as the engine's native values, and back as JSON."""

from __future__ import annotations

import abc
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from tramapy.clients.nesting import read_request
from tramapy.clients.usual_answer import UsualAnswer
from tramapy.engine.native import Lane, NativeAnswer, NativeEnd, NativeEvent, NativePiece, NativeRequest
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import Message, ToolDefinition
from tramapy.wire.json_values import finite_json, mapping_of, parse_object
from tramapy.wire.rest import Plan, merged, rest_of
from tramapy.wire.sse import SseEvent, sse_frame

__all__ = [
    "Codec",
    "JsonEvent",
    "JsonPiece",
    "RestPiece",
    "StreamDecoder",
    "WireAnswer",
    "WireRequest",
    "dumps",
    "encoder",
    "event_object",
    "json_bytes",
    "merged_text",
    "rest_text",
]


class WireRequest(NativeRequest):
    """A request that is JSON."""

    model: str
    """The model that it names; empty where the format has none."""

    is_stream: bool = False

    tools: tuple[ToolDefinition, ...] = ()
    """The tools that it declares, by name: events may name these."""

    _rest: str | None = None

    @property
    def rest(self) -> str:
        """All other text; see `NativeRequest`."""
        if self._rest is None:
            self._rest = read_request(self._rest_text)
        return self._rest

    @abc.abstractmethod
    def _rest_text(self) -> str:
        """Return what a plan does not cover of the body, as JSON."""

    @abc.abstractmethod
    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        """Return the body to send; the body that came stays as it is.

        Args:
            messages: After interceptors and DLP: some changed, some gone, some new, in a new order.
            model: The route's model.
            rest: The request's `rest`, inspected; None where it stays.

        Raises:
            InterceptorError: The format has no place for a message.
            DlpInspectionError: The rest lost its shape.
        """


class WireAnswer(NativeAnswer):
    """An answer that is JSON."""

    usual: UsualAnswer | None = None
    """What it is, where it is a usual one."""

    @property
    @abc.abstractmethod
    def body(self) -> object:
        """The JSON value as it goes to the client."""


class StreamDecoder(abc.ABC):
    """Turns the events of one stream into native ones."""

    is_ended: bool = False
    """Whether the `NativeEnd` was given; what follows it is not read."""

    hides_usage: bool = False
    """Whether the client did not ask for the tokens that the stream tells."""

    @abc.abstractmethod
    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        """Take an event of the vendor's.

        Raises:
            NativeRejectionError: It says that the provider failed.
            ProviderError: It cannot be understood.
        """

    @abc.abstractmethod
    def finish(self) -> NativeEnd:
        """Take the end of the body, where no `NativeEnd` was given yet.

        Raises:
            ProviderError: The stream lacks what ends it (`STREAM_CUT`).
        """


class Codec(Protocol):
    """A wire format, without state."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request; what is wrong about it is left for the provider to say."""
        ...

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer.

        Raises:
            NativeRejectionError: It is an error in spite of a good status.
            ProviderError: It cannot be understood.
        """
        ...

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Start to read a stream that may hold so much text in all."""
        ...


def encoder(make: Callable[..., Any] | None) -> Callable[[object, int], Iterable[str]]:
    """Return what writes JSON in pieces; kept, for `json` makes an encoder for each value, in 2 µs.

    Args:
        make: The standard library's own in C, where it has one.
    """
    # what was JSON holds itself nowhere; what is no number is refused, to be written in another way
    plain = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
    if make is None:
        return lambda value, _: (plain.encode(value),)
    encode: Callable[[object, int], Iterable[str]] = make(
        None, plain.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
    )
    return encode


_encode: Final = encoder(getattr(json.encoder, "c_make_encoder", None))


# what tells the event of one text from that of another, in any of the formats
_SCOPE: Final = ("type", "item_id", "index", "output_index", "content_index", "summary_index")


def dumps(value: object) -> str:
    """Write JSON as the vendors' clients do: compact, and characters as themselves."""
    try:
        return "".join(_encode(value, 0))
    except ValueError:  # a number beyond every float
        return finite_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def json_bytes(value: object) -> bytes:
    """Write JSON as it goes over the wire; where half a character is in a text, with escapes, as it came."""
    try:
        return dumps(value).encode()
    except UnicodeEncodeError:
        return finite_json(json.dumps(value, separators=(",", ":"))).encode()


def event_object(event: SseEvent) -> tuple[SseEvent, dict[str, object]]:
    """Return an event and the object that its data is; written anew where the data says more than the object.

    Raises:
        ProviderError: It is no JSON object.
    """
    try:
        text = event.data.decode()
        value, end = _decode_once(text)
        if end == len(text) and isinstance(value, dict):
            return event, cast("dict[str, object]", value)
    except (ValueError, RecursionError):
        pass  # a name that stands in it twice, blanks before it, or no JSON
    parsed = parse_object(event.data)
    return SseEvent(event.name, json_bytes(parsed)), parsed


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object each of whose names stood there once."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError
    return value


_decode_once: Final[Callable[[str], tuple[object, int]]] = json.JSONDecoder(
    object_pairs_hook=_once
).raw_decode


def rest_text(value: object, plan: Plan) -> str:
    """Return `rest_of` as JSON; empty where there is nothing."""
    rest = rest_of(value, plan)
    return "" if rest is None else dumps(rest)


def merged_text(value: object, plan: Plan, rest: str) -> object:
    """Do what `merged` does, with the rest as JSON.

    Raises:
        DlpInspectionError: It is no JSON any more, or of another shape.
    """
    if not rest:
        return merged(value, plan, None)
    parsed: object = None
    try:
        parsed = json.loads(rest)
    except (ValueError, RecursionError):
        is_json = False
    else:
        is_json = True
    if not is_json:
        raise DlpInspectionError(
            "Inspected JSON is no JSON any more; the text was withheld. An inspection must keep quotes and commas, "
            "or look at the strings alone"
        )
    return merged(value, plan, parsed)


class JsonPiece(NativePiece):
    """A text in an object of an event."""

    __slots__ = ("_event", "is_held", "is_repeat", "key", "lane", "location", "owner", "text", "tool_name")

    def __init__(
        self,
        event: JsonEvent,
        owner: dict[str, object],
        key: str,
        text: str,
        location: DlpContentLocation,
        lane: Lane | None,
        *,
        tool_name: str | None = None,
        is_held: bool = False,
        is_repeat: bool = False,
    ) -> None:
        self._event = event
        self.owner: dict[str, object] = owner
        self.key: str = key
        self.text: str = text
        self.location: DlpContentLocation = location
        self.lane: Lane | None = lane
        self.tool_name: str | None = tool_name
        self.is_held: bool = is_held
        self.is_repeat: bool = is_repeat

    def write(self, text: str) -> None:
        """Put another text in its place."""
        self.owner[self.key] = text
        self._event.is_changed = True


class RestPiece(NativePiece):
    """What a plan does not cover of an event, as JSON; it is merged into the event's own objects."""

    __slots__ = ("_event", "_plan", "is_held", "is_repeat", "lane", "location", "text", "tool_name")

    def __init__(self, event: JsonEvent, plan: Plan, text: str, location: DlpContentLocation) -> None:
        self._event = event
        self._plan = plan
        self.text: str = text
        self.location: DlpContentLocation = location
        self.tool_name: str | None = None
        self.lane: Lane | None = None
        self.is_held: bool = False
        self.is_repeat: bool = False

    @property
    def scope(self) -> Hashable:
        """The event's type, and what it is about."""
        value = self._event.value
        choices = value.get("choices")
        natives = cast("list[object]", choices) if isinstance(choices, list) else []
        indexes = [_id_of(mapping_of(native).get("index")) for native in natives]
        return (*(_id_of(value.get(name)) for name in _SCOPE), *indexes)

    def write(self, text: str) -> None:
        """Merge another rest; pieces that write into the same objects still do.

        Raises:
            DlpInspectionError: It is no JSON any more, or of another shape.
        """
        _graft(self._event.value, merged_text(self._event.value, self._plan, text))
        self._event.is_changed = True


def _id_of(value: object) -> str | int | None:
    return value if isinstance(value, (str, int)) else None


def _graft(value: object, changed: object) -> object:
    """Return `changed`, with the objects and arrays of `value` kept where both have one."""
    if isinstance(value, dict) and isinstance(changed, dict):
        known, items = cast("dict[str, object]", value), cast("dict[str, object]", changed)
        for name in known.keys() - items.keys():
            del known[name]  # it was inspected, and is called otherwise now
        for name, item in items.items():
            known[name] = _graft(known.get(name), item)
        return known
    if not isinstance(value, list) or not isinstance(changed, list):
        return changed
    before, after = cast("list[object]", value), cast("list[object]", changed)
    if len(before) != len(after):
        return after
    before[:] = [_graft(*pair) for pair in zip(before, after, strict=True)]
    return before


class JsonEvent(NativeEvent):
    """An event whose data is a JSON object; one that nobody wrote in goes out as it came. A format adds `tail`.

    Args:
        event: As it came.
        value: Its data, parsed; pieces write into it.
    """

    __slots__ = (
        *("_event", "ends", "is_changed", "is_opening", "is_strict", "names", "opens", "pieces"),
        *("unscanned", "value"),
    )

    def __init__(self, event: SseEvent, value: dict[str, object]) -> None:
        self._event = event
        self.value = value
        self.pieces: list[NativePiece] = []
        self.ends: list[Lane] = []
        self.opens: Lane | None = None
        self.is_opening = False
        self.is_changed = False
        self.names: Sequence[str] = ()
        self.unscanned: Sequence[str] = ()
        self.is_strict = False

    @property
    def is_empty(self) -> bool:
        """Whether a changed event says nothing any more; a format overrides it."""
        return False

    def frame(self) -> bytes:
        """Return it as bytes of a stream; nothing where all that it said is held back."""
        if not self.is_changed:
            return sse_frame(self._event.name, self._event.data)
        if self.is_empty:
            return b""
        return sse_frame(self._event.name, json_bytes(self.value))
