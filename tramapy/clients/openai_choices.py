"""Streams of choices, as `/chat/completions` and `/completions` have them: what both formats share."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from tramapy.clients.codec import JsonEvent, JsonPiece, RestPiece, StreamDecoder, json_bytes, rest_text
from tramapy.clients.nesting import read_answer
from tramapy.clients.refusals import raise_error_event
from tramapy.engine.native import Lane, NativeEnd, NativeEvent
from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import NO_USAGE, FinishReason, ModelResponse, TokenUsage
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, parse_object, text_of
from tramapy.wire.rest import Plan
from tramapy.wire.sse import SseEvent, sse_frame
from tramapy.wire.token_counts import chat_usage

__all__ = ["Choice", "ChoiceDecoder", "ChoiceEvent", "ChoiceFormat", "ChoiceLane", "is_usual_head"]

_END_MARK: Final = b"[DONE]"
_NO_EVENT: Final = SseEvent(name="", data=b"")

# what every event repeats; an event that is added says it too
_HEAD: Final[tuple[str, ...]] = ("id", "object", "created", "model", "service_tier", "system_fingerprint")

_USUAL: Final = frozenset((*_HEAD, "obfuscation"))
_FINISH_REASONS: Final = ("stop", "length", "tool_calls")
_TIERS: Final = (None, "default")


class ChoiceLane(NamedTuple):
    """One text of one choice.

    Args:
        kind: Which.
        choice: The choice's index.
        number: Of the call, among those of the choice.
        wire_index: The call's index as the provider gave it; None where it gave none.
    """

    kind: str
    choice: int
    number: int = 0
    wire_index: int | None = None


class Choice:
    """What has come of a choice.

    Args:
        index: As the provider gave it.
    """

    __slots__ = ("_latest", "calls", "finish_reason", "index", "lanes")

    def __init__(self, index: int) -> None:
        self.index = index
        self._latest: dict[tuple[str, int | None], Call] = {}
        self.lanes: dict[ChoiceLane, None] = {}
        self.calls: list[Call] = []
        self.finish_reason: FinishReason | None = None

    def lane(self, kind: str) -> ChoiceLane:
        """Return the lane of a text that a choice has once."""
        lane = ChoiceLane(kind, self.index)
        self.lanes[lane] = None
        return lane

    def call(self, kind: str, index: int | None, call_id: str | None) -> Call:
        """Return the call that a part goes on with, or a new one.

        A part without an index goes on with the last call unless it has an id; one with the index of a call
        that has another id begins a new call, because some compatible servers give all calls the index 0.
        """
        known = self._latest.get((kind, index)) if index is not None or not call_id else None
        if known is not None and (not call_id or known.id in ("", call_id)):
            known.id = known.id or call_id or ""
            return known
        call = Call(ChoiceLane(kind, self.index, len(self.calls), index), call_id or "")
        self.calls.append(call)
        self.lanes[call.lane] = None
        self._latest[kind, index] = self._latest[kind, None] = call
        return call


class Call:
    """A call as it comes in: an opening part with id and name, then pieces of the arguments."""

    __slots__ = ("id", "is_told", "lane", "name")

    def __init__(self, lane: ChoiceLane, call_id: str) -> None:
        self.lane = lane
        self.id = call_id
        self.name = ""
        self.is_told = False


class ChoiceFormat(abc.ABC):
    """What tells the two formats apart."""

    plan: Plan
    """The places of an event that are no rest."""

    @abc.abstractmethod
    def is_usual(self, native: Mapping[str, object]) -> bool:
        """Tell whether a choice of an event says what most say, and nothing that the plan does not cover."""

    @abc.abstractmethod
    def take(self, event: ChoiceEvent, choice: Choice, native: dict[str, object]) -> None:
        """Add the pieces of one choice of an event.

        Raises:
            ProviderError: It cannot be understood.
        """

    @abc.abstractmethod
    def tail(self, lane: ChoiceLane, text: str) -> dict[str, object]:
        """Return a choice that says the rest of a lane."""

    @abc.abstractmethod
    def response(self, choice: Choice, text_of_lane: Callable[[Lane], str]) -> ModelResponse:
        """Return what a choice said; its usage, model and id are added."""

    @abc.abstractmethod
    def lane_texts(self, choice: Choice, response: ModelResponse) -> Mapping[Lane, str]:
        """Return the texts of a choice's lanes in a response.

        Raises:
            InterceptorError: It says what there is no lane for.
        """


class ChoiceEvent(JsonEvent):
    """An event with choices."""

    __slots__ = ("_format", "unscanned")

    def __init__(self, event: SseEvent, value: dict[str, object], format_: ChoiceFormat) -> None:
        super().__init__(event, value)
        self._format = format_
        self.unscanned: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said but what every event says."""
        return not any(_says(item) for name, item in self.value.items() if name not in _USUAL)

    def add(
        self,
        lane: ChoiceLane,
        choice: dict[str, object],
        owner: dict[str, object],
        key: str,
        text: str,
        location: DlpContentLocation,
    ) -> None:
        """Add a piece that is released as it comes."""
        self.pieces.append(_ChoicePiece(self, owner, key, text, location, lane, choice))

    def add_held(
        self, call: Call, choice: dict[str, object], owner: dict[str, object], key: str, text: str
    ) -> None:
        """Add a piece of a call, which is released as a whole; the call's first event opens it."""
        if not call.is_told:
            call.is_told = True
            self.opens = call.lane
        if text:
            location = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
            piece = _ChoicePiece(self, owner, key, text, location, call.lane, choice)
            piece.is_held = True
            piece.tool_name = call.name or None
            self.pieces.append(piece)

    def tail(self, lane: Lane, text: str) -> bytes:
        """Return an event with the rest of a lane."""
        value = {name: self.value[name] for name in _HEAD if name in self.value}
        value["choices"] = [self._format.tail(cast("ChoiceLane", lane), text)]
        return sse_frame("", json_bytes(value))


def _says(value: object) -> bool:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return any(_says(item) for name, item in fields.items() if name not in ("index", "logprobs"))
    if isinstance(value, list):
        return any(map(_says, cast("list[object]", value)))
    return value is not None and value != ""


class _ChoicePiece(JsonPiece):
    """A text of a choice; the probabilities of its tokens say it again, so they go where it is changed."""

    __slots__ = ("_choice",)

    def __init__(
        self,
        event: ChoiceEvent,
        owner: dict[str, object],
        key: str,
        text: str,
        location: DlpContentLocation,
        lane: ChoiceLane,
        choice: dict[str, object],
    ) -> None:
        super().__init__(event, owner, key, text, location, lane)
        self._choice = choice

    def write(self, text: str) -> None:
        super().write(text)
        if self._choice.get("logprobs"):
            self._choice["logprobs"] = None


class _ChoiceEnd(ChoiceEvent, NativeEnd):
    """The end mark, or the last event of a stream that has none."""

    __slots__ = ("_decoder", "_last")

    def __init__(self, decoder: ChoiceDecoder, event: SseEvent, last: ChoiceEvent | None) -> None:
        super().__init__(event, decoder.head, decoder.format)
        self._decoder = decoder
        self._last = last
        if last is not None:
            self.pieces = last.pieces
            self.ends = last.ends
            self.opens = last.opens
            self.unscanned = last.unscanned

    def frame(self) -> bytes:
        if self._last is not None:
            return self._last.frame()
        return sse_frame(self._event.name, self._event.data) if self._event.data else b""

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        return self._decoder.responses(text_of)

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        texts: dict[Lane, str] = {}
        for choice, response in zip(self._decoder.in_order(), responses, strict=False):
            texts.update(self._decoder.format.lane_texts(choice, response))
        return texts


class ChoiceDecoder(StreamDecoder):
    """Reads one stream of choices.

    A choice ends with its finish reason. Some servers give one with every event; so an event with a finish
    reason waits for the one behind it, and where that goes on with the choice, it is no end.

    Args:
        format_: The format.
        limit_bytes: How much the events may hold in all.
    """

    def __init__(self, format_: ChoiceFormat, limit_bytes: int) -> None:
        self.format = format_
        self.head: dict[str, object] = {}
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        self._choices: dict[int, Choice] = {}
        self._usage: TokenUsage = NO_USAGE
        self._held: ChoiceEvent | None = None

    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        """Take an event; see `StreamDecoder`."""
        if self.is_ended:
            return ()
        self._count(event)
        if event.data.startswith(_END_MARK):
            self.is_ended = True
            return (*self._let_go(), _ChoiceEnd(self, event, None))
        value = cast("dict[str, object]", parse_object(event.data))
        raise_error_event(event, value)
        if value.get("id"):
            self.head = value
        parts = _parts_of(value)
        taken = read_answer(lambda: [self._take(event, part) for part in parts])
        if len(taken) > 1:
            for part in taken:
                part.is_changed = True
        return [ready for part in taken for ready in self._follow(part)]

    def finish(self) -> NativeEnd:
        """Take the end of the body; see `StreamDecoder`."""
        choices = self._choices.values()
        if not choices or any(choice.finish_reason is None for choice in choices):
            raise ProviderError(
                "The provider's stream ended before the answer did.",
                retryable=True,
                failure_code=ProviderFailureCode.STREAM_CUT,
            )
        self.is_ended = True
        held, self._held = self._held, None
        return _ChoiceEnd(self, _NO_EVENT, held)

    def in_order(self) -> list[Choice]:
        """Return the choices by their index."""
        return [self._choices[index] for index in sorted(self._choices)]

    def responses(self, text_of_lane: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        """Return what the stream said; see `NativeEnd`."""
        model, response_id = text_of(self.head.get("model")), text_of(self.head.get("id"))
        said = [self.format.response(choice, text_of_lane) for choice in self.in_order()] or [ModelResponse()]
        return tuple(
            response.replace(
                usage=NO_USAGE if position else self._usage, model=model, response_id=response_id
            )
            for position, response in enumerate(said)
        )

    def _follow(self, event: ChoiceEvent) -> tuple[ChoiceEvent, ...]:
        """Return the event that waited and this one, unless it has to wait itself."""
        held = self._held
        if held is not None:
            lanes = [*(piece.lane for piece in event.pieces), event.opens]
            goes_on = {lane.choice for lane in lanes if isinstance(lane, ChoiceLane)}
            held.ends = [lane for lane in held.ends if cast("ChoiceLane", lane).choice not in goes_on]
        ready = self._let_go()
        if event.ends:
            self._held = event
            return ready
        return (*ready, event)

    def _let_go(self) -> tuple[ChoiceEvent, ...]:
        held, self._held = self._held, None
        return () if held is None else (held,)

    def _count(self, event: SseEvent) -> None:
        self._read_bytes += len(event.data)
        if self._read_bytes > self._limit_bytes:
            raise ResponseTooLargeError(
                f"The provider's stream has {self._read_bytes:_} bytes or more; the limit is "
                f"{self._limit_bytes:_}. Raise limit_bytes, or ask for less.",
                limit_bytes=self._limit_bytes,
                read_bytes=self._read_bytes,
            )

    def _take(self, event: SseEvent, value: dict[str, object]) -> ChoiceEvent:
        taken = ChoiceEvent(event, value, self.format)
        is_opening = True
        natives = _natives(value.get("choices"))
        for native in natives:
            choice = self._choice_of(native)
            self.format.take(taken, choice, native)
            if native.get("finish_reason") is not None:
                is_opening = False
                choice.finish_reason = chat_finish_reason(native["finish_reason"])
                taken.ends.extend(choice.lanes)
        # some servers send running counts
        if mapping_of(value.get("usage")):
            is_opening = False
            self._usage = chat_usage(value["usage"])
        is_usual = _is_usual_head(value) and all(map(self.format.is_usual, natives))
        rest = "" if is_usual else rest_text(value, self.format.plan)
        if rest:
            taken.pieces.append(
                RestPiece(taken, self.format.plan, rest, DlpContentLocation.MODEL_RESPONSE_CONTENT)
            )
        taken.is_opening = is_opening and not taken.pieces and taken.opens is None
        return taken

    def _choice_of(self, native: Mapping[str, object]) -> Choice:
        index = count_of(native.get("index", 0))
        if index is None:
            raise invalid_answer("has a choice with an unreadable index")
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(index)
        return choice


def _is_usual_head(value: Mapping[str, object]) -> bool:
    """Tell whether a plan would find nothing beside the choices; it takes three times as long to tell itself."""
    for name, item in value.items():
        is_covered = item is None or name == "choices" or name in _USUAL
        if not is_covered or (isinstance(item, (dict, list)) and name != "choices"):
            return False
    return value.get("service_tier") in _TIERS


def is_usual_head(name: str, item: object) -> bool:
    """Tell whether a field of a choice, beside its text, is one that the plan covers."""
    if name == "index":
        return not isinstance(item, (dict, list))
    if name == "logprobs":
        return item is None or isinstance(item, dict)
    return item is None or (name == "finish_reason" and item in _FINISH_REASONS)


def _parts_of(value: dict[str, object]) -> list[dict[str, object]]:
    """Return an event as several, where calls of more than one choice may begin: each waits for its own end."""
    native = value.get("choices")
    if not isinstance(native, list) or len(cast("list[object]", native)) < 2:
        return [value]
    choices = _natives(value["choices"])
    with_calls = [choice for choice in choices if _may_open(mapping_of(choice.get("delta")))]
    if len(with_calls) < 2:
        return [value]
    head = {name: value[name] for name in _HEAD if name in value}
    return [{**(head if position else value), "choices": [choice]} for position, choice in enumerate(choices)]


def _may_open(delta: Mapping[str, object]) -> bool:
    return bool(delta.get("tool_calls") or delta.get("function_call"))


def _natives(choices: object) -> list[dict[str, object]]:
    if choices is None:
        return []
    if not isinstance(choices, list) or not all(
        isinstance(choice, dict) for choice in cast("list[object]", choices)
    ):
        raise invalid_answer("has choices that are no objects")
    return cast("list[dict[str, object]]", choices)
