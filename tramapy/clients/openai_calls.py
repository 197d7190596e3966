"""The tool calls of an OpenAI chat message: those of functions are shown, the input of others is text beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from tramapy.clients.codec import dumps
from tramapy.clients.plans import identifier, opaque, shown, word
from tramapy.clients.rewriting import placed_calls, woven
from tramapy.messages import ToolCall
from tramapy.wire.json_values import mapping_of, text_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = [
    "FUNCTION_CALL",
    "ShownCalls",
    "answer_calls_plan",
    "arguments_of",
    "calls_plan",
    "read_calls",
    "written_calls",
]


class ShownCalls(NamedTuple):
    """The calls that are shown, and where each stands in the native array."""

    calls: tuple[ToolCall, ...] = ()
    positions: tuple[int, ...] = ()


_NO_CALLS: Final = ShownCalls()


def read_calls(value: object) -> ShownCalls:
    """Return the calls of functions."""
    if not isinstance(value, list) or not value:
        return _NO_CALLS
    calls: list[ToolCall] = []
    positions: list[int] = []
    for position, item in enumerate(cast("list[object]", value)):
        call = mapping_of(item)
        function = mapping_of(call.get("function"))
        name = text_of(function.get("name"))
        if name is not None:
            call_id = text_of(call.get("id")) or ""
            calls.append(ToolCall(id=call_id, name=name, arguments_json=arguments_of(function)))
            positions.append(position)
    return ShownCalls(tuple(calls), tuple(positions))


def arguments_of(function: Mapping[str, object]) -> str:
    """Return the arguments of a call as JSON text; some servers give the value itself."""
    value = function.get("arguments")
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


def calls_plan(value: object) -> Plan:
    """Plan the calls of a message in a request."""
    return _CALLS if isinstance(value, list) else None


def answer_calls_plan(value: object) -> Plan:
    """Plan the calls of a message in an answer, where the input of other calls is a text by itself."""
    return _ANSWER_CALLS if isinstance(value, list) else None


def _call_plan(item: object) -> Plan:
    return _SHOWN if _is_shown(item) else _HIDDEN


def _answer_call_plan(item: object) -> Plan:
    return _SHOWN if _is_shown(item) else _ANSWER_HIDDEN


def _is_shown(item: object) -> bool:
    return isinstance(mapping_of(mapping_of(item).get("function")).get("name"), str)


_FUNCTION: Final[Mapping[str, Plan]] = {"name": identifier, "arguments": SKIP}
_SHOWN: Final[Plan] = {"id": opaque, "type": word, "index": opaque, "function": _FUNCTION}
# arguments that are not shown are text, whatever they are
_HIDDEN: Final[Mapping[str, Plan]] = {
    "id": opaque,
    "type": word,
    "index": opaque,
    "function": {"name": identifier},
    "custom": {"name": identifier},
}

FUNCTION_CALL: Final[Mapping[str, Plan]] = {"name": identifier}
"""For the one call that messages had before tool calls."""

_ANSWER_HIDDEN: Final[Plan] = {**_HIDDEN, "custom": {"name": identifier, "input": shown}}
_CALLS: Final[Plan] = {EACH: _call_plan}
_ANSWER_CALLS: Final[Plan] = {EACH: _answer_call_plan}


def written_calls(native: object, before: Sequence[ToolCall], after: Sequence[ToolCall]) -> list[object]:
    """Return the native array with the calls as they are now; those that were never shown stay."""
    items = cast("list[object]", native) if isinstance(native, list) else []
    positions = read_calls(items).positions
    places = placed_calls(before, after)
    natives = [None if place is None else positions[place] for place in places]
    written: list[object] = []
    for slot in woven(len(items), set(positions), natives):
        if slot.ours is None:
            written.append(items[cast("int", slot.native)])
        elif slot.native is None:
            written.append(_new_call(after[slot.ours]))
        else:
            written.append(_rewritten_call(items[slot.native], after[slot.ours]))
    return written


def _rewritten_call(native: object, call: ToolCall) -> object:
    item = mapping_of(native)
    function = mapping_of(item["function"])
    if arguments_of(function) == call.arguments_json:
        return native
    return {**item, "function": {**function, "arguments": call.arguments_json}}


def _new_call(call: ToolCall) -> dict[str, object]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_json},
    }
