"""The events of a stream of OpenAI responses: what each holds, and how it goes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from tramapy.clients.codec import JsonEvent, JsonPiece, dumps
from tramapy.clients.logprobs import TOKENS
from tramapy.clients.openai_responses_items import REASONING_KINDS, call_of, response_of
from tramapy.clients.openai_responses_plans import (
    ANNOTATION,
    RESPONSE,
    known,
    output_item_plan,
    output_part_plan,
)
from tramapy.clients.openai_responses_texts import content_of, reasoning_of, refusals_of
from tramapy.clients.plans import each, opaque, shown
from tramapy.clients.rewriting import no_place, placed_calls
from tramapy.engine.native import Lane, NativeEnd
from tramapy.messages import ModelResponse, ToolCall
from tramapy.wire.json_values import mapping_of, text_of
from tramapy.wire.rest import Plan
from tramapy.wire.sse import SseEvent, sse_frame

__all__ = [
    "DELTAS",
    "DONES",
    "OTHER_DELTA",
    "PLANS",
    "SHELL_STREAMS",
    "ResponsesEnd",
    "ResponsesEvent",
    "ShownPiece",
    "StreamState",
    "TextLane",
    "TextPiece",
    "is_other_text",
]

TextLane: TypeAlias = tuple[str, int, int]
"""The kind of a text, the index of its item in the output, and the index of its part within the item."""

SHELL_STREAMS: Final = ("stdout", "stderr")

_SHELL_DELTA: Final = "response.shell_call_output_content.delta"

DELTAS: Final[Mapping[str, tuple[str, str | None]]] = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning", "content_index"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.function_call_arguments.delta": ("arguments", None),
    "response.custom_tool_call_input.delta": ("input", None),
    "response.mcp_call_arguments.delta": ("mcp", None),
    "response.code_interpreter_call_code.delta": ("code", None),
    "response.shell_call_command.delta": ("command", "command_index"),
    "response.audio.transcript.delta": ("transcript", None),
}
"""The events with a piece of a text: the kind of the text, and the name of its index within the item."""

DONES: Final[Mapping[str, tuple[str, str | None, str]]] = {
    "response.output_text.done": ("text", "content_index", "text"),
    "response.refusal.done": ("refusal", "content_index", "refusal"),
    "response.reasoning_text.done": ("reasoning", "content_index", "text"),
    "response.reasoning_summary_text.done": ("summary", "summary_index", "text"),
    "response.function_call_arguments.done": ("arguments", None, "arguments"),
    "response.custom_tool_call_input.done": ("input", None, "input"),
    "response.mcp_call_arguments.done": ("mcp", None, "arguments"),
    "response.code_interpreter_call_code.done": ("code", None, "code"),
    "response.shell_call_command.done": ("command", "command_index", "command"),
    "response.audio.transcript.done": ("transcript", None, ""),
}
"""The events that end a text; the third is the name of the whole text."""

OTHER_DELTA: Final = ".delta"
"""Names the plan for a piece of a text whose event is not known."""

# by kind of text; whole answers are inspected likewise
_RUNS: Final[Mapping[str, str]] = {
    "text": "text",
    "refusal": "refusal",
    **dict.fromkeys(REASONING_KINDS, "reasoning"),
}

_DELTA_NAMES: Final = {kind: (name, index_name) for name, (kind, index_name) in DELTAS.items()}

_EVENT: Final = known(
    "type",
    "sequence_number",
    "item_id",
    "output_index",
    "content_index",
    "summary_index",
    "command_index",
    "annotation_index",
    "obfuscation",
)
_UNKNOWN: Final[Plan] = {name: plan for name, plan in _EVENT.items() if name != "type"}
_DELTA: Final = {**_EVENT, "delta": shown, "logprobs": TOKENS}
_ITEM: Final = {**_EVENT, "item": output_item_plan}
_PART: Final = {**_EVENT, "part": output_part_plan}
_RESPONSE: Final = {**_EVENT, "response": RESPONSE}
_STATUS_EVENTS: Final = tuple(
    f"response.{name}"
    for name in (
        "audio.done",
        "code_interpreter_call.completed",
        "code_interpreter_call.in_progress",
        "code_interpreter_call.interpreting",
        "compaction.compacting",
        "file_search_call.completed",
        "file_search_call.in_progress",
        "file_search_call.searching",
        "image_generation_call.completed",
        "image_generation_call.generating",
        "image_generation_call.in_progress",
        "mcp_call.completed",
        "mcp_call.failed",
        "mcp_call.in_progress",
        "mcp_list_tools.completed",
        "mcp_list_tools.failed",
        "mcp_list_tools.in_progress",
        "web_search_call.completed",
        "web_search_call.in_progress",
        "web_search_call.searching",
    )
)

PLANS: Final[Mapping[str, Plan]] = {
    **dict.fromkeys(DELTAS, _DELTA),
    **{
        name: {**_EVENT, "logprobs": TOKENS, **({key: shown} if key else {})}
        for name, (_, _, key) in DONES.items()
    },
    **dict.fromkeys(_STATUS_EVENTS, _EVENT),
    **dict.fromkeys(
        (
            "response.created",
            "response.queued",
            "response.in_progress",
            "response.completed",
            "response.incomplete",
            "response.failed",
            "response.cancelled",
        ),
        _RESPONSE,
    ),
    "keepalive": _EVENT,
    "response.shell_call_command.added": {**_EVENT, "command": shown},
    "response.output_item.added": _ITEM,
    "response.output_item.done": _ITEM,
    "response.content_part.added": _PART,
    "response.content_part.done": _PART,
    "response.reasoning_summary_part.added": _PART,
    "response.reasoning_summary_part.done": _PART,
    "response.output_text.annotation.added": {**_EVENT, "annotation": ANNOTATION},
    "response.audio.delta": {**_EVENT, "delta": opaque},
    "response.image_generation_call.partial_image": {
        **_EVENT,
        **known(
            "partial_image_b64",
            "partial_image_index",
            "size",
            words=("background", "output_format", "quality"),
        ),
    },
    _SHELL_DELTA: {**_EVENT, "delta": {"stdout": shown, "stderr": shown}},
    "response.shell_call_output_content.done": {**_EVENT, "output": each(known(outcome=known("type")))},
    OTHER_DELTA: {**_EVENT, "delta": shown},
    "": _UNKNOWN,
}
"""Plans for what an event says beside the texts that are pieces; the last for one that is not known."""

_is_other_delta: Final = re.compile(r"[a-z_.]{1,80}\.delta\Z").match


def is_other_text(event: Mapping[str, object], kind: str) -> bool:
    """Tell whether an event that is not known has a piece of a text, as the known ones have."""
    return kind not in PLANS and isinstance(event.get("delta"), str) and bool(_is_other_delta(kind))


class StreamState:
    """What the events so far said: which texts there are, and which tools are called."""

    def __init__(self) -> None:
        self.lanes: dict[TextLane, None] = {}
        """The texts of which a piece came, in order."""

        self.names: dict[int, str] = {}
        """The names of tools, by the index of the call in the output."""

        self.calls: dict[int, Mapping[str, object]] = {}
        """The calls of functions, by their index in the output."""

        self.dropped: set[int] = set()
        """The calls that an interceptor took away, by their index."""

        self._addresses: dict[TextLane, dict[str, object]] = {}
        self._indexes: dict[str, int] = {}

    def announce(self, lane: TextLane, event: Mapping[str, object]) -> None:
        """Note that pieces of a text may be sent; the event says how they name it."""
        if lane not in self._addresses:
            names = ("item_id", "output_index", "content_index", "summary_index", "command_index")
            self._addresses[lane] = {name: event[name] for name in names if event.get(name) is not None}

    def note_item(self, item: Mapping[str, object], index: int) -> int:
        """Note an item, and return its index in the output: where it was seen first."""
        item_id = text_of(item.get("id"))
        if item_id is not None:
            index = self._indexes.setdefault(item_id, index)
        name = text_of(item.get("name"))
        if name is not None:
            self.names[index] = name
        if item.get("type") == "function_call":
            self.calls[index] = item
        return index

    def lanes_of(self, index: int) -> list[Lane]:
        """Return the texts of an item."""
        return [lane for lane in self.lanes if lane[1] == index]

    def delta(self, lane: TextLane, text: str, event: Mapping[str, object]) -> bytes:
        """Return an event with a piece of a text, to go out before another event.

        It has the number before that one's, which nothing else can have that comes later; so a client that asks
        for the events after the last number that it saw misses none. Nothing where the text was not announced:
        then the event itself says all of it.
        """
        address = self._addresses.get(lane)
        if address is None:
            return b""
        number = event.get("sequence_number")
        kind = lane[0]
        name = _DELTA_NAMES[kind][0] if kind in _DELTA_NAMES else kind
        value: dict[str, object] = {"type": _SHELL_DELTA if kind in SHELL_STREAMS else name}
        value.update(address)
        value["delta"] = {kind: text} if kind in SHELL_STREAMS else text
        if kind == "text":
            value["logprobs"] = []
        if isinstance(number, int):
            value["sequence_number"] = max(number - 1, 0)
        return sse_frame(cast("str", value["type"]), dumps(value).encode("utf-8", "surrogatepass"))


class _LanePiece(JsonPiece):
    """A piece of one of the texts that clients join to one, whatever stands between them."""

    __slots__ = ()

    @property
    def run(self) -> Hashable | None:
        """What the texts are joined to."""
        return _RUNS.get(cast("TextLane", self.lane)[0])


class TextPiece(_LanePiece):
    """A text whose tokens may stand beside it; these go where the text is another."""

    __slots__ = ()

    def write(self, text: str) -> None:
        """Put another text in its place."""
        if text != self.owner[self.key] and self.owner.get("logprobs"):
            self.owner["logprobs"] = []
        super().write(text)


class ShownPiece(_LanePiece):
    """A text that is whole at once: it is a lane by this piece, and is written by the repeat behind it."""

    __slots__ = ()

    def write(self, text: str) -> None:
        """Leave it to the repeat."""


class ResponsesEvent(JsonEvent):
    """One event of a stream."""

    __slots__ = ("_state", "delta_owners", "output_index", "unscanned")

    def __init__(self, event: SseEvent, value: dict[str, object], state: StreamState) -> None:
        super().__init__(event, value)
        self._state = state
        self.output_index: int = -1
        # the objects of the pieces of text, in an event that says nothing else
        self.delta_owners: Sequence[Mapping[str, object]] = ()
        self.unscanned: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether an event with a piece of text has none any more."""
        return bool(self.delta_owners) and not any(
            owner.get(name) for owner in self.delta_owners for name in ("delta", *SHELL_STREAMS)
        )

    def frame(self) -> bytes:
        """Return it as it goes out; nothing for one of a call that is gone."""
        return b"" if self.output_index in self._state.dropped else super().frame()

    def tail(self, lane: Lane, text: str) -> bytes:
        """Return an event with the rest of a text."""
        return self._state.delta(cast("TextLane", lane), text, self.value)


class ResponsesEnd(ResponsesEvent, NativeEnd):
    """The event that says how the response ended."""

    __slots__ = ("_call_indexes", "_calls", "_texts")

    def __init__(self, event: SseEvent, value: dict[str, object], state: StreamState) -> None:
        super().__init__(event, value, state)
        self._texts: dict[TextLane, str] = {}
        self._calls: list[ToolCall] = []
        self._call_indexes: list[int] = []

    def frame(self) -> bytes:
        """Return it as it goes out, without the calls that are gone."""
        dropped = self._state.dropped
        response = self.value.get("response")
        if dropped and isinstance(response, dict):
            fields = cast("dict[str, object]", response)
            items = cast("list[dict[str, object]]", fields.get("output") or [])
            fields["output"] = [
                item
                for position, item in enumerate(items)
                if self._state.note_item(item, position) not in dropped
            ]
            self.is_changed = True
        return super().frame()

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        """Return what the stream said, as one response."""
        self._texts = {lane: text_of(lane) for lane in sorted(self._state.lanes, key=lambda lane: lane[1:])}
        self._call_indexes = sorted(self._state.calls)
        self._calls = [
            call_of(self._state.calls[index], self._texts.get(("arguments", index, 0), ""))
            for index in self._call_indexes
        ]
        response = response_of(
            mapping_of(self.value.get("response")),
            texts=self._of("text"),
            refusals=self._of("refusal"),
            reasoning=self._of(*REASONING_KINDS),
            tool_calls=self._calls,
        )
        return (response,)

    @property
    def refusal_lanes(self) -> Sequence[Lane]:
        """The lanes that the refusal is joined of."""
        return [lane for lane in self._texts if lane[0] == "refusal"]

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        """Return the texts of a response; a call that it lacks goes out of the stream."""
        (response,) = responses
        texts: dict[Lane, str] = {}
        self._place(("text",), content_of(response, self._of("text")), texts)
        self._place(("refusal",), refusals_of(response, self._of("refusal")), texts)
        self._place(REASONING_KINDS, reasoning_of(response, self._of(*REASONING_KINDS)), texts)
        kept: set[int] = set()
        placed = placed_calls(self._calls, response.tool_calls)
        for call, position in zip(response.tool_calls, placed, strict=True):
            if position is None:
                raise no_place("a further tool call in a stream")
            index = self._call_indexes[position]
            kept.add(index)
            texts["arguments", index, 0] = call.arguments_json
        self._state.dropped = set(self._call_indexes) - kept
        return texts

    def _of(self, *kinds: str) -> list[str]:
        return [text for lane, text in self._texts.items() if lane[0] in kinds]

    def _place(self, kinds: Sequence[str], changed: Sequence[str | None], texts: dict[Lane, str]) -> None:
        lanes = [lane for lane in self._texts if lane[0] in kinds]
        if len(changed) > len(lanes):
            raise no_place("text or a refusal in a stream without any")
        texts.update((lane, text or "") for lane, text in zip(lanes, changed, strict=True))
