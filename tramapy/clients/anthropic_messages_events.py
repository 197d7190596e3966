"""The events of a streamed message as native events: what they say, and what of it goes out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_answer import content_in, only, stop_reason_for
from tramapy.clients.anthropic_messages_blocks import CHANGED_SIGNATURE, arguments_object
from tramapy.clients.codec import JsonEvent, JsonPiece, dumps, json_bytes
from tramapy.clients.rewriting import no_place, placed_calls
from tramapy.clients.splitting import split_like
from tramapy.engine.native import Lane, NativeEnd
from tramapy.messages import ModelResponse, ToolCall
from tramapy.wire.finish_reasons import messages_finish_reason
from tramapy.wire.json_values import mapping_of, text_of
from tramapy.wire.sse import SseEvent, sse_frame
from tramapy.wire.token_counts import messages_usage

__all__ = [
    "REFUSAL",
    "EndEvent",
    "LaneDelta",
    "MessageEvent",
    "OpenBlock",
    "SignedEvent",
    "StreamedMessage",
    "TextPiece",
]

REFUSAL: Final = ("refusal",)
"""The lane of a refusal's explanation."""


class TextPiece(JsonPiece):
    """A piece of a block of text: clients join the texts of all blocks of a message, whatever stands between them."""

    __slots__ = ()

    @property
    def run(self) -> Hashable | None:
        """The text of the message."""
        return "text"


class LaneDelta:
    """How a lane's text is written: a kind of delta, its field, and the block that it belongs to now."""

    __slots__ = ("index", "kind", "name")

    def __init__(self, kind: str, name: str, index: int) -> None:
        self.kind: str = kind
        self.name: str = name
        self.index: int = index


class OpenBlock:
    """A content block of a stream.

    Args:
        kind: Its type.
        lane: Of its text; None for one without.
        start: The event that opened it.
    """

    __slots__ = ("is_stopped", "kind", "lane", "lanes", "start", "tails", "thoughts")

    def __init__(self, kind: object, lane: Lane | None, start: MessageEvent) -> None:
        self.kind: object = kind
        self.lane: Lane | None = lane
        self.start: MessageEvent = start
        self.lanes: list[Lane] = [] if lane is None else [lane]
        # each text as it came, and where it stands
        self.thoughts: list[tuple[str, dict[str, object]]] = []
        self.tails: list[str] = []
        self.is_stopped: bool = False

    @property
    def content(self) -> dict[str, object]:
        """The block as it was opened."""
        return cast("dict[str, object]", self.start.value["content_block"])

    @property
    def is_rewritten(self) -> bool:
        """Whether thinking goes out with another text than it was signed with."""
        before = "".join([text for text, _ in self.thoughts])
        return before != "".join([*(str(owner["thinking"]) for _, owner in self.thoughts), *self.tails])


class StreamedMessage:
    """What a stream has said so far."""

    def __init__(self) -> None:
        self.head: Mapping[str, object] = {}
        self.usage: dict[str, object] = {}
        self.ends: list[MessageEvent] = []
        self.blocks: dict[int, OpenBlock] = {}
        self.deltas: dict[Lane, LaneDelta] = {}
        self.text_lanes: list[Lane] = []
        self.spoken: set[Lane | None] = set()
        self.has_refusal = False
        self.dropped: set[int] = set()
        self._texts: list[str] = []
        self._arguments: list[str] = []
        self._response = ModelResponse()

    def count(self, usage: object) -> None:
        """Take counts; later ones are running totals, and one that is missing leaves the earlier."""
        self.usage.update((name, value) for name, value in mapping_of(usage).items() if value is not None)

    def index_of(self, index: int) -> int:
        """Return a block's index among those that are not dropped."""
        return index - sum(dropped < index for dropped in self.dropped)

    def response(self, text_of_lane: Callable[[Lane], str]) -> ModelResponse:
        """Return what the stream said."""
        self._texts = [text_of_lane(lane) for lane in self.text_lanes]
        calls = [block for _, block in self._calls()]
        self._arguments = [text_of_lane(block.lane) for block in calls]
        thinking = self._first_thinking()
        self._response = ModelResponse(
            content="".join(self._texts),
            tool_calls=tuple(map(_call, calls, self._arguments)),
            refusal=text_of_lane(REFUSAL) if self.has_refusal else None,
            reasoning=None if thinking is None else text_of_lane(self.blocks[thinking].lane),
            usage=messages_usage(self.usage),
            model=text_of(self.head.get("model")),
            finish_reason=messages_finish_reason(self._stop_reason()),
            response_id=text_of(self.head.get("id")),
        )
        return self._response

    def lane_texts(self, response: ModelResponse) -> dict[Lane, str]:
        """Return the text of each lane that a response shows.

        Raises:
            InterceptorError: There is no lane for something.
            DlpInspectionError: Changed arguments are no JSON object.
        """
        self.dropped.clear()
        texts = dict(zip(self.text_lanes, self._divided(content_in(response)), strict=True))
        thinking = self._first_thinking()
        if thinking is not None:
            texts[self.blocks[thinking].lane] = response.reasoning or ""
            if self._response.reasoning and not response.reasoning:
                self.dropped.add(thinking)
        elif response.reasoning:
            raise no_place("reasoning")
        if self.has_refusal:
            texts[REFUSAL] = response.refusal or ""
        elif response.refusal:
            raise no_place("a refusal")
        self._add_calls(texts, response.tool_calls)
        for index, block in self.blocks.items():
            if block.lane not in self.spoken and texts.get(block.lane):
                self._write_start(index, texts.pop(block.lane))
        return texts

    def _write_start(self, index: int, text: str) -> None:
        """Write the text of a lane without deltas into the event that opened its block."""
        block = self.blocks[index]
        if block.kind == "tool_use":
            block.content["input"] = arguments_object(text)
        else:
            block.content[str(block.kind)] = text
        block.start.is_changed = True

    def _divided(self, content: str) -> list[str]:
        if not self.text_lanes:
            if content:
                raise no_place("text in a stream without a block of text")
            return []
        return split_like(self._texts, content)

    def _add_calls(self, texts: dict[Lane, str], calls: Sequence[ToolCall]) -> None:
        shown = self._response.tool_calls
        blocks = self._calls()
        placed = placed_calls(shown, calls)
        places = [place for place in placed if place is not None]
        if len(places) < len(placed):
            raise no_place("a further tool call in a stream")
        self.dropped.update(index for position, (index, _) in enumerate(blocks) if position not in places)
        for place, call in zip(places, calls, strict=True):
            is_same = call.arguments_json == shown[place].arguments_json
            texts[blocks[place][1].lane] = self._arguments[place] if is_same else call.arguments_json
        stop_reason = self._stop_reason()
        changed = stop_reason_for(stop_reason, has_calls=bool(calls) or not shown)
        if changed != stop_reason:
            self._write_stop_reason(changed)

    def _write_stop_reason(self, stop_reason: object) -> None:
        for event in self.ends:
            delta = event.value.get("delta")
            if isinstance(delta, dict) and "stop_reason" in delta:
                cast("dict[str, object]", delta)["stop_reason"] = stop_reason
                event.is_changed = True

    def _stop_reason(self) -> object:
        reasons = [mapping_of(event.value.get("delta")).get("stop_reason") for event in self.ends]
        return next((reason for reason in reversed(reasons) if reason is not None), None)

    def _first_thinking(self) -> int | None:
        return next((index for index, block in self.blocks.items() if block.kind == "thinking"), None)

    def _calls(self) -> list[tuple[int, OpenBlock]]:
        return [(index, block) for index, block in self.blocks.items() if block.kind == "tool_use"]


def _call(block: OpenBlock, arguments: str) -> ToolCall:
    content = block.content
    return ToolCall(
        id=cast("str", content["id"]),
        name=cast("str", content["name"]),
        arguments_json=arguments or dumps(content.get("input") or {}),
    )


class MessageEvent(JsonEvent):
    """An event of a streamed message.

    Args:
        event: As it came.
        value: Its data.
        message: What the stream has said.
        index: Of its block; None for one that is of no block.
    """

    __slots__ = ("_index", "_message", "piece_place")

    def __init__(
        self, event: SseEvent, value: dict[str, object], message: StreamedMessage, index: int | None
    ) -> None:
        super().__init__(event, value)
        self._message = message
        self._index = index
        self.piece_place: tuple[dict[str, object], str] | None = None
        """Where the text stands that is all that the event says."""

    @property
    def is_empty(self) -> bool:
        """Whether its text was held back, and nothing else is in it."""
        place = self.piece_place
        return place is not None and not place[0][place[1]]

    def frame(self) -> bytes:
        """Return it as bytes, under the index that its block has now."""
        if self._index is not None and self._message.dropped:
            if self._index in self._message.dropped:
                return b""
            self.value["index"] = self._message.index_of(self._index)
            self.is_changed: bool = True
        return super().frame()

    def tail(self, lane: Lane, text: str) -> bytes:
        """Return a delta with the rest of a lane; the explanation of a refusal stands in this event itself."""
        if lane == REFUSAL:
            details = cast(
                "dict[str, object]", cast("dict[str, object]", self.value["delta"])["stop_details"]
            )
            details["explanation"] = text
            self.is_changed = True
            return b""
        delta = self._message.deltas[lane]
        if delta.kind == "thinking_delta":
            self._message.blocks[delta.index].tails.append(text)
        value = {
            "type": "content_block_delta",
            "index": self._message.index_of(delta.index),
            "delta": {"type": delta.kind, delta.name: text},
        }
        return sse_frame("content_block_delta", json_bytes(value))


class TextStop(MessageEvent):
    """The end of a block of text; its lane may go on in the next block.

    Args:
        event: As it came.
        value: Its data.
        message: What the stream has said.
        index: Of its block.
    """

    __slots__ = ("pauses",)

    def __init__(
        self, event: SseEvent, value: dict[str, object], message: StreamedMessage, index: int
    ) -> None:
        super().__init__(event, value, message, index)
        self.pauses: Lane | None = None


class SignedEvent(MessageEvent):
    """An event with the signature of thinking, which holds for the text that was signed.

    Args:
        event: As it came.
        value: Its data.
        message: What the stream has said.
        index: Of its block.
        owner: Holds the signature.
    """

    __slots__ = ("_owner",)

    def __init__(
        self,
        event: SseEvent,
        value: dict[str, object],
        message: StreamedMessage,
        index: int,
        owner: dict[str, object],
    ) -> None:
        super().__init__(event, value, message, index)
        self._owner = owner

    def frame(self) -> bytes:
        """Return it as bytes, without the signature where the text is not what was signed."""
        block = self._message.blocks[cast("int", self._index)]
        if self._owner.get("signature") and block.is_rewritten:
            self._owner["signature"] = CHANGED_SIGNATURE
            self.is_changed = True
        return super().frame()


class EndEvent(MessageEvent, NativeEnd):
    """The end of the message."""

    __slots__ = ()

    @property
    def content_lanes(self) -> Sequence[Lane]:
        """The lanes of the blocks of text."""
        return self._message.text_lanes

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        """Return what the stream said."""
        return (self._message.response(text_of),)

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        """Return the text of each lane in a response; a tool call that is not in it any more goes."""
        return self._message.lane_texts(only(responses))
