"""A stream of OpenAI responses: typed events, each text of which comes in pieces and then about two times whole."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, cast

from tramapy.clients.codec import JsonPiece, RestPiece, StreamDecoder, event_object, rest_text
from tramapy.clients.logprobs import LogprobsPiece, spoken
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_responses_events import (
    DELTAS,
    DONES,
    OTHER_DELTA,
    PLANS,
    SHELL_STREAMS,
    ResponsesEnd,
    ResponsesEvent,
    ShownPiece,
    StreamState,
    TextLane,
    TextPiece,
    is_other_text,
)
from tramapy.clients.openai_responses_items import (
    CALL_KINDS,
    ITEM_TEXTS,
    LOCATIONS,
    PART_KINDS,
    output_items,
    part_slot,
    slots_of,
)
from tramapy.clients.refusals import native_rejection
from tramapy.engine.native import NativeEnd, NativeEvent
from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.json_values import invalid_answer, mapping_of
from tramapy.wire.rejection import rejection_in
from tramapy.wire.rest import is_opaque
from tramapy.wire.sse import SseEvent

__all__ = ["ResponsesStreamDecoder"]

_CONTENT: Final = DlpContentLocation.MODEL_RESPONSE_CONTENT
_ARGUMENTS: Final = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
_END_MARK: Final = b"[DONE]"
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.cancelled"})
_FAILED: Final = "response.failed"
_SNAPSHOTS: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
_QUIET_ITEMS: Final = frozenset({"message", "reasoning"})

_PARTS: Final[Mapping[str, str]] = {
    "response.content_part.added": "content_index",
    "response.content_part.done": "content_index",
    "response.reasoning_summary_part.added": "summary_index",
    "response.reasoning_summary_part.done": "summary_index",
}

# what the event of a piece of text has beside the text
_PIECE_NAMES: Final = frozenset(
    {
        "type",
        "sequence_number",
        "item_id",
        "output_index",
        "content_index",
        "summary_index",
        "command_index",
        "delta",
        "logprobs",
        "obfuscation",
    }
)


_NUMBER_NAMES: Final = tuple(name for name in _PIECE_NAMES if name.endswith(("_index", "_number")))
_NUMBERS: Final[frozenset[type[object]]] = frozenset({int, type(None)})


class ResponsesStreamDecoder(StreamDecoder):
    """Reads one stream.

    Args:
        limit_bytes: How much text it may hold.
        is_lookup: Whether it tells again what became of a response: that it failed is no failure then.
    """

    def __init__(self, limit_bytes: int, *, is_lookup: bool = False) -> None:
        self._limit_bytes = limit_bytes
        self._is_lookup = is_lookup
        self._length = 0
        self._state = StreamState()

    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        """Take an event of the vendor's; see `StreamDecoder`."""
        if self.is_ended:
            return ()
        if event.data.startswith(_END_MARK):
            raise _cut()
        event, value = event_object(event)
        kind = value.get("type")
        if value.get("error") or kind in (_FAILED, "error") or event.name == "error":
            self._refuse_error(event, value)
        return (read_answer(lambda: self._taken(event, value)),)

    def finish(self) -> NativeEnd:
        """Take the end of the body; a stream of this format always says how it ends."""
        raise _cut()

    def _refuse_error(self, event: SseEvent, value: dict[str, object]) -> None:
        kind = value.get("type")
        if kind == _FAILED and not self._is_lookup:
            rejection = rejection_in(mapping_of(value.get("response")), is_error=True)
        else:
            rejection = rejection_in(value, is_error=kind == "error" or event.name == "error")
        if rejection is not None:
            text = event.data.decode("utf-8", "replace")
            raise native_rejection(rejection, "with an error in the stream", text, is_in_stream=True)

    def _taken(self, event: SseEvent, value: dict[str, object]) -> NativeEvent:
        kind = value.get("type")
        if not isinstance(kind, str):
            kind = ""
        if kind in _ENDS or kind == _FAILED:
            self.is_ended = True
            return self._end(event, value)
        taken = ResponsesEvent(event, value, self._state)
        if kind in DELTAS:
            self._take_delta(taken, value, kind)
            if taken.pieces and _is_plain(value):
                return taken
        elif kind in DONES:
            self._take_done(taken, value, kind)
        elif kind in _SNAPSHOTS:
            self._take_snapshot(taken, value)
        elif kind == "response.output_item.added":
            self._take_added_item(taken, value)
        elif kind == "response.output_item.done":
            self._take_done_item(taken, value)
        elif kind in _PARTS:
            self._take_part(taken, value, _PARTS[kind], is_done=kind.endswith(".done"))
        elif kind == "response.shell_call_output_content.delta":
            self._take_shell_output(taken, value)
        elif kind == "response.shell_call_output_content.done":
            self._end_shell_output(taken, value)
        elif kind == "response.shell_call_command.added":
            lane = self._lane(taken, value, "command", "command_index")
            self._state.announce(lane, value)
            self._add_piece(taken, lane, value, "command")
        elif kind == "keepalive":
            taken.is_opening = True
        elif kind == "response.audio.delta":
            taken.unscanned = ("output_audio",)
        elif is_other_text(value, kind):
            taken.delta_owners = [value]
            lane = _other_lane(value, kind)
            self._state.announce(lane, value)
            self._add_piece(taken, lane, value, "delta")
        elif kind.endswith(".done"):
            lane = _other_lane(value, f"{kind.removesuffix('.done')}.delta")
            taken.ends.extend([lane] if lane in self._state.lanes else [])
        self._add_rest(taken, value, kind)
        return taken

    def _add_rest(self, event: ResponsesEvent, value: dict[str, object], kind: str) -> None:
        plan = PLANS.get(kind) or PLANS[OTHER_DELTA if is_other_text(value, kind) else ""]
        if not event.pieces and "logprobs" in value:
            # tokens go with the text that they are of; without one they are inspected
            plan = PLANS[""]
        rest = rest_text(value, plan)
        if rest:
            # what a snapshot says beside its output is the request's own
            event.is_opening = event.is_opening and kind in _SNAPSHOTS
            event.pieces.append(RestPiece(event, plan, rest, _CONTENT))

    def _take_delta(self, event: ResponsesEvent, value: dict[str, object], kind: str) -> None:
        text_kind, index_name = DELTAS[kind]
        event.delta_owners = [value]
        lane = self._lane(event, value, text_kind, index_name)
        self._state.announce(lane, value)
        self._add_piece(event, lane, value, "delta")

    def _take_done(self, event: ResponsesEvent, value: dict[str, object], kind: str) -> None:
        text_kind, index_name, key = DONES[kind]
        lane = self._lane(event, value, text_kind, index_name)
        if key:
            self._add_whole(event, lane, value, key)
        event.ends.append(lane)

    def _take_snapshot(self, event: ResponsesEvent, value: dict[str, object]) -> None:
        event.is_opening = True
        response = mapping_of(value.get("response"))
        for position, item in enumerate(output_items(response.get("output") or [])):
            index = self._noted(event, item, position)
            for slot in slots_of(item):
                event.is_opening = False
                lane = (slot.kind, index, slot.index)
                if lane in self._state.lanes:
                    self._add_whole(event, lane, slot.owner, slot.key)
                else:
                    self._add_piece(event, lane, slot.owner, slot.key)

    def _take_added_item(self, event: ResponsesEvent, value: dict[str, object]) -> None:
        item = value.get("item")
        if item is None:
            return
        item = _object(item)
        index = self._noted(event, item, _index(value, "output_index"))
        event.output_index = index
        kind = item.get("type")
        if isinstance(kind, str) and kind in ITEM_TEXTS:
            lane = (ITEM_TEXTS[kind][0], index, 0)
            self._state.announce(lane, {"item_id": item.get("id"), "output_index": index})
            if kind in CALL_KINDS:
                event.opens = lane
        for slot in slots_of(item):
            self._add_piece(event, (slot.kind, index, slot.index), slot.owner, slot.key)
        event.is_opening = not event.pieces and isinstance(kind, str) and kind in _QUIET_ITEMS

    def _take_done_item(self, event: ResponsesEvent, value: dict[str, object]) -> None:
        item = _object(value.get("item"))
        index = self._noted(event, item, _index(value, "output_index"))
        event.output_index = index
        for slot in slots_of(item):
            self._add_whole(event, (slot.kind, index, slot.index), slot.owner, slot.key)
        event.ends.extend(self._state.lanes_of(index))
        if item.get("encrypted_content"):
            event.unscanned = ("encrypted_content",)

    def _take_part(
        self, event: ResponsesEvent, value: dict[str, object], index_name: str, *, is_done: bool
    ) -> None:
        part = _object(value.get("part"))
        event.output_index = index = _index(value, "output_index")
        slot = part_slot(part, _index(value, index_name))
        event.is_opening = slot is None and not is_done
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in PART_KINDS:
            return
        lane = (PART_KINDS[kind][0], index, _index(value, index_name))
        if is_done:
            if slot is not None:
                self._add_whole(event, lane, slot.owner, slot.key)
            event.ends.append(lane)
            return
        self._state.announce(lane, value)
        if slot is not None:
            self._add_piece(event, lane, slot.owner, slot.key)

    def _take_shell_output(self, event: ResponsesEvent, value: dict[str, object]) -> None:
        delta = _object(value.get("delta"))
        event.delta_owners = [delta]
        for stream in SHELL_STREAMS:
            lane = self._lane(event, value, stream, "command_index")
            self._state.announce(lane, value)
            self._add_piece(event, lane, delta, stream)

    def _end_shell_output(self, event: ResponsesEvent, value: dict[str, object]) -> None:
        event.ends.extend(self._lane(event, value, stream, "command_index") for stream in SHELL_STREAMS)

    def _end(self, event: SseEvent, value: dict[str, object]) -> ResponsesEnd:
        response = _object(value.get("response"))
        end = ResponsesEnd(event, value, self._state)
        for position, item in enumerate(output_items(response.get("output") or [])):
            index = self._noted(end, item, position)
            for slot in slots_of(item):
                self._add_whole(end, (slot.kind, index, slot.index), slot.owner, slot.key)
            if item.get("encrypted_content"):
                end.unscanned = ("encrypted_content",)
        self._add_rest(end, value, "response.completed")
        return end

    def _noted(self, event: ResponsesEvent, item: Mapping[str, object], index: int) -> int:
        """Note an item and the name of the tool that it calls, and return its index in the output."""
        name = item.get("name")
        if isinstance(name, str) and item.get("type") == "function_call":
            event.names = (*event.names, name)
        return self._state.note_item(item, index)

    def _lane(
        self, event: ResponsesEvent, value: dict[str, object], kind: str, index_name: str | None
    ) -> TextLane:
        if kind == "transcript":
            return (kind, -1, 0)
        event.output_index = index = _index(value, "output_index")
        return (kind, index, 0 if index_name is None else _index(value, index_name))

    def _add_piece(self, event: ResponsesEvent, lane: TextLane, owner: dict[str, object], key: str) -> None:
        """Add a piece of a lane's text."""
        text = _text(owner, key)
        if text:
            self._hold(text)
            self._state.lanes.setdefault(lane)
            event.pieces.append(self._piece(TextPiece, event, lane, owner, key, text))
            _add_logprobs(event, lane, owner, text)

    def _add_whole(self, event: ResponsesEvent, lane: TextLane, owner: dict[str, object], key: str) -> None:
        """Add the whole text of a lane; where no piece of it came, this is what the lane says, too."""
        text = _text(owner, key)
        if not text:
            return
        if lane not in self._state.lanes:
            self._hold(text)
            self._state.lanes[lane] = None
            event.pieces.append(self._piece(ShownPiece, event, lane, owner, key, text))
            event.ends.append(lane)
        repeat = self._piece(TextPiece, event, lane, owner, key, text)
        repeat.is_repeat = True
        event.pieces.append(repeat)
        _add_logprobs(event, (*lane, event.value.get("type")), owner, text)

    def _piece(
        self,
        kind: type[JsonPiece],
        event: ResponsesEvent,
        lane: TextLane,
        owner: dict[str, object],
        key: str,
        text: str,
    ) -> JsonPiece:
        location = LOCATIONS.get(lane[0], _CONTENT)
        is_held = location is _ARGUMENTS
        name = self._state.names.get(lane[1]) if is_held else None
        return kind(event, owner, key, text, location, lane, tool_name=name, is_held=is_held)

    def _hold(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._limit_bytes:
            raise ResponseTooLargeError(
                f"The provider's stream holds {self._length:_} characters of text or more; the limit is "
                f"{self._limit_bytes:_} bytes. Raise limit_bytes, or ask for less.",
                limit_bytes=self._limit_bytes,
                read_bytes=self._length,
            )


def _add_logprobs(event: ResponsesEvent, scope: Hashable, owner: dict[str, object], text: str) -> None:
    """Add what the probabilities of a text say beside it."""
    said = spoken(owner.get("logprobs"), text)
    if said:
        event.pieces.append(LogprobsPiece(event, said, scope, lambda: owner.update(logprobs=[])))


def _is_plain(value: Mapping[str, object]) -> bool:
    """Tell whether the event of a piece of text says nothing else."""
    return (
        value.keys() <= _PIECE_NAMES
        and not value.get("logprobs")
        and is_opaque(value.get("item_id"))
        and is_opaque(value.get("obfuscation"))
        and _NUMBERS.issuperset(map(type, map(value.get, _NUMBER_NAMES)))
    )


def _cut() -> ProviderError:
    return ProviderError(
        "The provider's stream ended before it said how; the answer is incomplete.",
        retryable=True,
        failure_code=ProviderFailureCode.STREAM_CUT,
    )


def _other_lane(value: Mapping[str, object], kind: str) -> TextLane:
    """Return the lane of a text whose events are not known, by the indexes that most have."""
    names = ("content_index", "summary_index", "command_index")
    index = value.get("output_index")
    part = next((value[name] for name in names if isinstance(value.get(name), int)), 0)
    return (kind, index if isinstance(index, int) else -1, cast("int", part))


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise invalid_answer("has an event without its object")
    return cast("dict[str, object]", value)


def _index(value: Mapping[str, object], name: str) -> int:
    index = value.get(name)
    if not isinstance(index, int):
        raise invalid_answer("has an event without its index")
    return index


def _text(owner: Mapping[str, object], key: str) -> str | None:
    text = owner.get(key)
    if text is not None and not isinstance(text, str):
        raise invalid_answer("has an event whose text is no text")
    return text
