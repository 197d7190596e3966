"""Events of a stream of choices: their texts as lanes, and what is written into them."""

from __future__ import annotations

import abc
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from tramapy.clients.codec import JsonEvent, JsonPiece, RestPiece, json_bytes
from tramapy.clients.logprobs import LogprobsPiece, spoken
from tramapy.clients.plans import numbers
from tramapy.engine.native import Lane
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import FinishReason, ModelResponse
from tramapy.wire.rest import SKIP, Plan, is_opaque
from tramapy.wire.sse import SseEvent, sse_frame

__all__ = [
    "HEAD",
    "USUAL",
    "Call",
    "CallPart",
    "Choice",
    "ChoiceEvent",
    "ChoiceFormat",
    "ChoiceLane",
    "is_usual_choice",
    "is_usual_head",
]

HEAD: Final[tuple[str, ...]] = ("id", "object", "created", "model", "service_tier", "system_fingerprint")
"""What every event repeats; an event that is added says it too."""

USUAL: Final = frozenset((*HEAD, "obfuscation"))
"""Fields without text."""

_USUAL_HEAD: Final = frozenset((*USUAL, "usage", "choices"))
_USUAL_CHOICE: Final = frozenset(("index", "finish_reason", "logprobs"))
_FINISH_REASONS: Final = (None, "stop", "length", "tool_calls")
_TIERS: Final = (None, "default")


class ChoiceLane(NamedTuple):
    """One text of one choice.

    Args:
        kind: Which.
        choice: The choice's index.
        number: Of the call, among those of the choice.
        wire_index: The index of the call, or of the part of the reasoning, as the provider gave it; None where it
            gave none.
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

    __slots__ = ("_latest", "_texts", "calls", "finish_reason", "gone", "index", "lanes")

    def __init__(self, index: int) -> None:
        self.index: int = index
        self._latest: dict[tuple[str, int | None], Call] = {}
        self._texts: dict[str, ChoiceLane] = {}
        self.lanes: dict[ChoiceLane, None] = {}
        self.calls: list[Call] = []
        self.gone: Sequence[int] = ()
        """The numbers of the calls that an interceptor took away, in order."""
        self.finish_reason: FinishReason | None = None

    def lane(self, kind: str) -> ChoiceLane:
        """Return the lane of a text that a choice has once."""
        lane = self._texts.get(kind)
        if lane is None:
            lane = self._texts[kind] = ChoiceLane(kind, self.index)
            self.lanes[lane] = None
        return lane

    def part_lane(self, kind: str, wire_index: int | None) -> ChoiceLane:
        """Return the lane of a text that a choice has once for each index."""
        lane = ChoiceLane(kind, self.index, 0, wire_index)
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
        self.lane: ChoiceLane = lane
        self.id: str = call_id
        self.name: str = ""
        self.is_told: bool = False


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


class CallPart(NamedTuple):
    """A part of a call in an event.

    Args:
        choice: Whose call it is.
        call: The call.
        delta: Where the part stands, under `tool_calls`.
        native: The part.
    """

    choice: Choice
    call: Call
    delta: dict[str, object]
    native: dict[str, object]


class ChoiceEvent(JsonEvent):
    """An event with choices."""

    __slots__ = ("_format", "call_parts")

    def __init__(self, event: SseEvent, value: dict[str, object], format_: ChoiceFormat) -> None:
        super().__init__(event, value)
        self._format = format_
        self.call_parts: list[CallPart] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said but what every event says."""
        return not any(_says(item) for name, item in self.value.items() if name not in USUAL)

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

    def add_logprobs(self, choice: Choice, native: dict[str, object], text: str) -> None:
        """Add what the probabilities of a text say beside it."""
        said = spoken(native.get("logprobs"), text)
        if said:
            self.pieces.append(LogprobsPiece(self, said, choice.index, lambda: _drop_logprobs(native)))

    def add_rest(self, text: str) -> None:
        """Add what the plan does not cover."""
        self.pieces.append(
            _ChoiceRest(self, self._format.plan, text, DlpContentLocation.MODEL_RESPONSE_CONTENT)
        )

    def add_held(
        self, call: Call, choice: dict[str, object], owner: dict[str, object], key: str, text: str
    ) -> None:
        """Add a piece of a call, which is released as a whole; the call's first event opens it."""
        if not call.is_told:
            call.is_told = True
            self.opens: Lane | None = call.lane
        if text:
            location = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
            piece = _ChoicePiece(self, owner, key, text, location, call.lane, choice)
            piece.is_held = True
            piece.tool_name = call.name or None
            self.pieces.append(piece)

    def frame(self) -> bytes:
        """Return it as it goes out, without the calls that are gone."""
        parts, self.call_parts = self.call_parts, []
        if any(part.choice.gone for part in parts):
            for part in parts:
                _keep_or_drop(part)
            self.is_changed = True
        return super().frame()

    def tail(self, lane: Lane, text: str) -> bytes:
        """Return an event with the rest of a lane."""
        value = {name: self.value[name] for name in HEAD if name in self.value}
        value["choices"] = [self._format.tail(cast("ChoiceLane", lane), text)]
        return sse_frame("", json_bytes(value))


def _keep_or_drop(part: CallPart) -> None:
    """Take a part of a call that is gone out of its event; the calls after it move up."""
    gone, number = part.choice.gone, part.call.lane.number
    before = bisect_left(gone, number)
    if before < len(gone) and gone[before] == number:
        kept = [each for each in cast("list[object]", part.delta["tool_calls"]) if each is not part.native]
        part.delta["tool_calls"] = kept
        if not kept:
            del part.delta["tool_calls"]
        return
    index = part.native.get("index")
    if isinstance(index, int):
        part.native["index"] = index - before


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
        _drop_logprobs(self._choice)


class _ChoiceRest(RestPiece):
    """The rest of an event; the probabilities may say that again too."""

    __slots__ = ()

    def write(self, text: str) -> None:
        super().write(text)
        for choice in cast("list[dict[str, object]]", self._event.value.get("choices") or ()):
            _drop_logprobs(choice)


def _drop_logprobs(choice: dict[str, object]) -> None:
    # any other value is a rest, and was inspected as such
    if isinstance(choice.get("logprobs"), dict):
        choice["logprobs"] = None


def is_usual_head(value: Mapping[str, object]) -> bool:
    """Tell whether a plan would find nothing beside the choices; it takes three times as long to tell itself."""
    usage = value.get("usage")
    if not value.keys() <= _USUAL_HEAD or not (usage is None or numbers(usage) is SKIP):
        return False
    items = [*value.values()]
    kinds = [*map(type, items)]
    # no other array than the choices, and no other object than the usage
    return (
        kinds.count(list) == (type(value.get("choices")) is list)
        and kinds.count(dict) == (type(usage) is dict)
        and value.get("service_tier") in _TIERS
        and all(map(is_opaque, [item for item in items if type(item) is str]))
    )


def is_usual_choice(native: Mapping[str, object], text_name: str) -> bool:
    """Tell whether all fields of a choice, beside the one with its text, are such as the plan covers."""
    names = native.keys() - _USUAL_CHOICE
    return (
        len(names) == 1
        and text_name in names
        and native.get("finish_reason") in _FINISH_REASONS
        and native.get("logprobs") is None
        and is_opaque(native.get("index"))
    )
