"""Streams of `/v1/messages`, event by event.

A text that the provider cuts into several blocks (for its citations) is one lane over all of them: the end of a
block of text waits until the next event says whether another one follows. A text behind another block is a lane of its
own, and of the same run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_blocks import add_unscanned
from tramapy.clients.anthropic_messages_events import (
    REFUSAL,
    EndEvent,
    LaneDelta,
    MessageEvent,
    OpenBlock,
    SignedEvent,
    StreamedMessage,
    TextPiece,
    TextStop,
)
from tramapy.clients.anthropic_messages_plan import EVENTS, other_texts
from tramapy.clients.codec import JsonPiece, RestPiece, StreamDecoder, event_object, rest_text
from tramapy.clients.nesting import read_answer
from tramapy.clients.refusals import native_rejection
from tramapy.engine.native import Lane, NativeEnd, NativeEvent
from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, text_of
from tramapy.wire.rejection import rejection_in
from tramapy.wire.sse import SseEvent

__all__ = ["MessagesStream"]

_CONTENT: Final = DlpContentLocation.MODEL_RESPONSE_CONTENT
_REASONING: Final = DlpContentLocation.MODEL_RESPONSE_REASONING
_ARGUMENTS: Final = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS

# by kind of delta: its field, where its text stands, and the kinds of blocks that have it
_DELTAS: Final[Mapping[object, tuple[str, DlpContentLocation, frozenset[str]]]] = {
    "text_delta": ("text", _CONTENT, frozenset(("text",))),
    "thinking_delta": ("thinking", _REASONING, frozenset(("thinking",))),
    "input_json_delta": (
        "partial_json",
        _ARGUMENTS,
        frozenset(("tool_use", "server_tool_use", "mcp_tool_use")),
    ),
}
# an event's name is sent on as it came: another may be any text
_is_word: Final = re.compile(r"[a-z_]{0,64}\Z").match

_CALLS: Final = _DELTAS["input_json_delta"][2]


class MessagesStream(StreamDecoder):
    """Reads one stream.

    Args:
        limit_bytes: How much data it may hold in all.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        self._message = StreamedMessage()
        # the end of a block of text, what came twice, and the lane that ends with it unless another such block follows
        self._waiting: tuple[TextStop, list[MessageEvent], Lane] | None = None

    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        """Take an event."""
        self._read_bytes += len(event.data)
        if self._read_bytes > self._limit_bytes:
            raise ResponseTooLargeError(
                f"The provider's stream has {self._read_bytes:_} bytes or more; the limit is "
                f"{self._limit_bytes:_}. Raise limit_bytes, or ask for less.",
                limit_bytes=self._limit_bytes,
                read_bytes=self._read_bytes,
            )
        if self.is_ended or not event.data:
            return ()
        return read_answer(lambda: self._take(event))

    def finish(self) -> NativeEnd:
        """Take the end of the body: it came too early, or `feed` gave the end."""
        raise ProviderError(
            "The provider's stream ended before the answer did.",
            retryable=True,
            failure_code=ProviderFailureCode.STREAM_CUT,
        )

    def _take(self, event: SseEvent) -> Sequence[NativeEvent]:
        if event.name not in EVENTS and not _is_word(event.name):
            event = SseEvent(name="", data=event.data)
        event, value = event_object(event)
        kind = value.get("type")
        kind = kind if isinstance(kind, str) else event.name
        if kind == "content_block_delta" and self._waiting is None and event.name != "error":
            return (self._delta(event, value),)
        self._refuse_error(event, value, kind)
        if kind == "content_block_stop":
            return self._stop(event, value)
        taken = self._take_kind(kind, event, value)
        if kind == "ping":
            return (taken,)
        return (*self._no_longer_waiting(value, kind), taken)

    def _refuse_error(self, event: SseEvent, value: Mapping[str, object], kind: str) -> None:
        is_error = "error" in (kind, event.name)
        rejection = rejection_in(value, is_error=is_error)
        if rejection is not None:
            text = event.data.decode("utf-8", "replace")
            raise native_rejection(rejection, "with an error in the stream", text, is_in_stream=True)

    def _take_kind(self, kind: str, event: SseEvent, value: dict[str, object]) -> MessageEvent:
        if kind == "content_block_start":
            return self._start(event, value)
        if kind == "content_block_delta":
            return self._delta(event, value)
        if kind == "message_stop":
            self.is_ended = True
            return self._with_rest(EndEvent(event, value, self._message, None), kind)
        taken = MessageEvent(event, value, self._message, None)
        if kind == "message_start":
            self._message.head = _object(value, "message")
            self._message.count(self._message.head.get("usage"))
        elif kind == "message_delta":
            self._take_end(taken)
        taken.is_opening = not self._with_rest(taken, kind).pieces and kind in ("message_start", "ping")
        return taken

    def _take_end(self, event: MessageEvent) -> None:
        message = self._message
        message.ends.append(event)
        message.count(event.value.get("usage"))
        details = mapping_of(event.value.get("delta")).get("stop_details")
        if not isinstance(details, dict):
            return
        owner = cast("dict[str, object]", details)
        text = owner.get("explanation")
        if isinstance(text, str):
            location = DlpContentLocation.MODEL_RESPONSE_REFUSAL
            event.pieces.append(
                JsonPiece(event, owner, "explanation", text, location, REFUSAL, is_repeat=message.has_refusal)
            )
            event.ends.append(REFUSAL)
            message.has_refusal = True

    def _start(self, event: SseEvent, value: dict[str, object]) -> MessageEvent:
        index = _index(value)
        block = _object(value, "content_block")
        if index in self._message.blocks:
            raise invalid_answer("opens a content block twice")
        kind = block.get("type")
        if kind == "thinking" and block.get("signature"):
            started: MessageEvent = SignedEvent(event, value, self._message, index, block)
        else:
            started = MessageEvent(event, value, self._message, index)
        lane: Lane | None = None
        if kind == "text":
            lane = self._text_lane(index)
        elif kind == "thinking":
            lane = self._lane("thinking_delta", "thinking", index)
        elif isinstance(kind, str) and kind in _CALLS:
            lane = started.opens = self._lane("input_json_delta", "partial_json", index)
            started.names = [name] if isinstance(name := block.get("name"), str) else ()
        self._message.blocks[index] = opened = OpenBlock(kind, lane, started)
        if kind in ("text", "thinking"):
            self._take_first_text(started, opened, str(kind))
        elif kind == "tool_use":
            _check_call(block)
        else:
            words: set[str] = set()
            add_unscanned(block, words)
            started.unscanned = tuple(sorted(words))
        self._with_rest(started, "content_block_start")
        started.is_opening = not started.pieces and kind in ("text", "thinking")
        return started

    def _text_lane(self, index: int) -> Lane:
        """Return the lane of a block of text: that of the block before, where it is text too."""
        message = self._message
        if self._waiting is not None:
            lane = self._waiting[-1]
            message.deltas[lane].index = index
            return lane
        lane = self._lane("text_delta", "text", index)
        message.text_lanes.append(lane)
        return lane

    def _lane(self, kind: str, name: str, index: int) -> Lane:
        lane = (kind, index)
        self._message.deltas[lane] = LaneDelta(kind, name, index)
        return lane

    def _take_first_text(self, event: MessageEvent, block: OpenBlock, name: str) -> None:
        content = block.content
        text = content.get(name, "")
        if not isinstance(text, str):
            raise invalid_answer("has content that is no text")
        if text:
            location = _CONTENT if name == "text" else _REASONING
            kind = TextPiece if name == "text" else JsonPiece
            event.pieces.append(kind(event, content, name, text, location, block.lane))
            self._message.spoken.add(block.lane)
            if name == "thinking":
                block.thoughts.append((text, content))

    def _delta(self, event: SseEvent, value: dict[str, object]) -> MessageEvent:
        index = _index(value)
        block = self._message.blocks.get(index)
        if block is None:
            raise invalid_answer("has a delta of a content block that was not opened")
        delta = _object(value, "delta")
        kind = delta.get("type")
        known = _DELTAS.get(kind) if isinstance(kind, str) else None
        if known is None:
            return self._other_delta(event, value, index, delta)
        name, location, block_kinds = known
        text = delta.get(name)
        if not isinstance(text, str):
            raise invalid_answer("has content that is no text")
        taken = MessageEvent(event, value, self._message, index)
        lane = block.lane
        piece_kind = JsonPiece
        if block.kind not in block_kinds:
            lane = self._foreign_lane(block, cast("str", kind), name, index)
        elif name == "text":
            piece_kind = TextPiece
        is_held = lane is block.lane and name == "partial_json"
        tool_name = text_of(block.content.get("name")) if is_held else None
        taken.pieces.append(
            piece_kind(taken, delta, name, text, location, lane, tool_name=tool_name, is_held=is_held)
        )
        self._message.spoken.add(lane)
        if is_held and not text:
            taken.opens = lane  # it says nothing, and must not overtake the event that opens the block
        if name == "thinking":
            block.thoughts.append((text, delta))
        if len(value) == 3 and len(delta) == 2 and value.get("type") == "content_block_delta":
            taken.piece_place = (delta, name)
            return taken
        return self._with_rest(taken, "content_block_delta")

    def _foreign_lane(self, block: OpenBlock, kind: str, name: str, index: int) -> Lane:
        """Return the lane of deltas that a block of this type should not have."""
        lane = (kind, name, index)
        if lane not in block.lanes:
            self._message.deltas[lane] = LaneDelta(kind, name, index)
            block.lanes.append(lane)
        return lane

    def _other_delta(
        self, event: SseEvent, value: dict[str, object], index: int, delta: dict[str, object]
    ) -> MessageEvent:
        block = self._message.blocks[index]
        if delta.get("type") == "signature_delta":
            taken: MessageEvent = SignedEvent(event, value, self._message, index, delta)
            if block.kind == "thinking":
                taken.ends.extend(block.lanes)
        else:
            taken = MessageEvent(event, value, self._message, index)
            kind, names = text_of(delta.get("type")) or "", other_texts(delta)
            for name in names:
                lane = self._foreign_lane(block, kind, name, index)
                text = cast("str", delta[name])
                taken.pieces.append(JsonPiece(taken, delta, name, text, _CONTENT, lane))
            if len(names) == 1 and len(value) == 3 and len(delta) == 2:
                taken.piece_place = (delta, names[0])
        return self._with_rest(taken, "content_block_delta")

    def _stop(self, event: SseEvent, value: dict[str, object]) -> Sequence[NativeEvent]:
        index = _index(value)
        block = self._message.blocks.get(index)
        if block is not None and block.is_stopped:
            return self._stop_again(event, value, index)
        before = self._no_longer_waiting(value, "content_block_stop")
        if block is not None:
            block.is_stopped = True
        if block is not None and block.kind == "text":
            stop = TextStop(event, value, self._message, index)
            self._with_rest(stop, "content_block_stop")
            stop.ends.extend(block.lanes[1:])
            self._waiting = (stop, [], block.lanes[0])
            return before
        stopped = self._with_rest(MessageEvent(event, value, self._message, index), "content_block_stop")
        if block is not None:
            stopped.ends.extend(block.lanes)
        return (*before, stopped)

    def _stop_again(self, event: SseEvent, value: dict[str, object], index: int) -> Sequence[NativeEvent]:
        """Take the end of a block that ended before, and whose lane may have gone on in the next block."""
        stopped = self._with_rest(MessageEvent(event, value, self._message, index), "content_block_stop")
        if self._waiting is None:
            return (stopped,)
        self._waiting[1].append(stopped)
        return ()

    def _no_longer_waiting(self, value: Mapping[str, object], kind: str) -> tuple[MessageEvent, ...]:
        """Return the end of a block of text that waited, now that it is known what follows."""
        if self._waiting is None:
            return ()
        (stopped, again, lane), self._waiting = self._waiting, None
        goes_on = (
            kind == "content_block_start" and mapping_of(value.get("content_block")).get("type") == "text"
        )
        if goes_on:
            stopped.pauses = lane
        else:
            stopped.ends.append(lane)
        return (stopped, *again)

    def _with_rest(self, event: MessageEvent, kind: str) -> MessageEvent:
        plan = EVENTS.get(kind)
        rest = rest_text(event.value, plan)
        if rest:
            event.pieces.append(RestPiece(event, plan, rest, _CONTENT))
        return event


def _index(value: Mapping[str, object]) -> int:
    index = count_of(value.get("index"))
    if index is None:
        raise invalid_answer("has a content block without an index")
    return index


def _object(value: Mapping[str, object], name: str) -> dict[str, object]:
    item = value.get(name)
    if not isinstance(item, dict):
        raise invalid_answer("has an event without what it is about")
    return cast("dict[str, object]", item)


def _check_call(block: Mapping[str, object]) -> None:
    is_named = isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
    if not is_named or not isinstance(block.get("input") or {}, dict):
        raise invalid_answer("has a tool call without an id, a name or an input")
