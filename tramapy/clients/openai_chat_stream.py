"""The stream of `/chat/completions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from tramapy.clients.openai_calls import arguments_of
from tramapy.clients.openai_chat_answer import ANSWER_HEAD, CHOICE_HEAD, MESSAGE, REASONING_NAMES
from tramapy.clients.openai_choice_events import (
    Call,
    CallPart,
    Choice,
    ChoiceEvent,
    ChoiceFormat,
    ChoiceLane,
    is_usual_choice,
)
from tramapy.clients.openai_content import content_plan, part_plan, text_in
from tramapy.clients.plans import each, identifier, opaque, shown, word
from tramapy.clients.rewriting import no_place
from tramapy.engine.native import Lane
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import FinishReason, ImagePart, ModelResponse, TextPart, ToolCall
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, text_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = ["CHAT_STREAM"]

_LOCATIONS: Final = {
    "content": DlpContentLocation.MODEL_RESPONSE_CONTENT,
    "refusal": DlpContentLocation.MODEL_RESPONSE_REFUSAL,
    "reasoning_content": DlpContentLocation.MODEL_RESPONSE_REASONING,
    "reasoning": DlpContentLocation.MODEL_RESPONSE_REASONING,
}


# a name that comes in pieces is inspected with each of them
_LONGEST_NAME: Final = 1_000


def _call_plan(value: object) -> Plan:
    return _CUSTOM if isinstance(mapping_of(value).get("custom"), dict) else _FUNCTION


_CALL: Final[Mapping[str, Plan]] = {"id": opaque, "type": word, "index": opaque}
_CUSTOM: Final[Plan] = {**_CALL, "custom": {"name": identifier, "input": shown}}
_FUNCTION: Final[Plan] = {**_CALL, "function": {"name": identifier, "arguments": SKIP}}
_calls_plan: Final = each(_call_plan)


# the texts of `reasoning_details`, each with the type of part that holds it
_DETAILS: Final[Mapping[str, str]] = {"text": "reasoning.text", "summary": "reasoning.summary"}


def _is_thinking(part: object) -> bool:
    fields = mapping_of(part)
    return fields.get("type") == "thinking" and isinstance(fields.get("thinking"), list)


def _content_plan(value: object) -> Plan:
    return _CONTENT_PARTS if isinstance(value, list) else content_plan(value)


def _part_plan(part: object) -> Plan:
    return _THINKING if _is_thinking(part) else part_plan(part)


def _thought_plan(thought: object) -> Plan:
    return {"type": word, "text": shown} if text_in(mapping_of(thought)) else None


_CONTENT_PARTS: Final[Plan] = {EACH: _part_plan}
_THINKING: Final[Plan] = {"type": word, "thinking": each(_thought_plan)}
_details_plan: Final = each(dict.fromkeys(_DETAILS, shown))

_DELTA: Final[Mapping[str, Plan]] = {
    **MESSAGE,
    "content": _content_plan,
    "reasoning_details": _details_plan,
    "tool_calls": _calls_plan,
}
_PLAN: Final[Mapping[str, Plan]] = {
    **ANSWER_HEAD,
    "choices": each({**CHOICE_HEAD, "delta": _DELTA}),
}


class _ChatFormat(ChoiceFormat):
    plan: Plan = _PLAN

    def is_usual(self, native: Mapping[str, object]) -> bool:
        delta = native.get("delta")
        if not isinstance(delta, dict) or not _is_usual_delta(cast("dict[str, object]", delta)):
            return False
        return is_usual_choice(native, "delta")

    def take(self, event: ChoiceEvent, choice: Choice, native: dict[str, object]) -> None:
        delta = native.get("delta")
        if delta is None:
            return
        if not isinstance(delta, dict):
            raise invalid_answer("has a delta that is no object")
        fields = cast("dict[str, object]", delta)
        for kind, item in fields.items():
            location = _LOCATIONS.get(kind)
            if location is not None:
                if not isinstance(item, str):
                    _take_odd_text(event, choice, native, kind, item)
                elif item:
                    event.add(choice.lane(kind), native, fields, kind, item, location)
            elif kind == "reasoning_details" and isinstance(item, list):
                _take_details(event, choice, native, cast("list[object]", item))
            elif kind == "tool_calls" and item:
                _take_calls(event, choice, native, fields)
            elif kind == "function_call":
                _take_function_call(event, choice, native, item)
            elif kind == "audio":
                _take_audio(event, choice, native, item)

    def tail(self, lane: ChoiceLane, text: str) -> dict[str, object]:
        return {
            "index": lane.choice,
            "delta": _tail_delta(lane, text),
            "logprobs": None,
            "finish_reason": None,
        }

    def response(self, choice: Choice, text_of_lane: Callable[[Lane], str]) -> ModelResponse:
        refusal = ChoiceLane("refusal", choice.index)
        reasoning = _reasoning_lane(choice)
        return ModelResponse(
            content=text_of_lane(ChoiceLane("content", choice.index)),
            refusal=text_of_lane(refusal) if refusal in choice.lanes else None,
            reasoning=None if reasoning is None else text_of_lane(reasoning),
            tool_calls=tuple(
                ToolCall(id=call.id, name=call.name, arguments_json=text_of_lane(call.lane))
                for call in choice.calls
                if call.lane.kind == "call"
            ),
            finish_reason=choice.finish_reason or FinishReason.OTHER,
        )

    def lane_texts(self, choice: Choice, response: ModelResponse) -> Mapping[Lane, str]:
        texts: dict[Lane, str] = {}
        reasoning = _reasoning_lane(choice)
        for lane, text in (
            (ChoiceLane("content", choice.index), _whole_content(response)),
            (ChoiceLane("refusal", choice.index), response.refusal),
            (reasoning or ChoiceLane("", choice.index), response.reasoning),
        ):
            if text or lane in choice.lanes:
                texts[lane] = text or ""
        if reasoning is None and response.reasoning:
            raise no_place("a reasoning, where the model gave none")
        calls = [call for call in choice.calls if call.lane.kind == "call"]
        gone = {call.lane.number for call in calls}
        left = iter(calls)
        for said in response.tool_calls:
            kept = next((call for call in left if (call.id, call.name) == (said.id, said.name)), None)
            if kept is None:
                raise no_place("other tool calls than the model made, or in another order, in a stream")
            gone.remove(kept.lane.number)
            texts[kept.lane] = said.arguments_json
        choice.gone = sorted(gone)
        return texts


def _is_usual_delta(delta: Mapping[str, object]) -> bool:
    for name, item in delta.items():
        if name not in _USUAL_TEXTS or not (item is None or isinstance(item, str)):
            return False
    return delta.get("role") in (None, "assistant")


_USUAL_TEXTS: Final = frozenset(("role", "content", "refusal"))

CHAT_STREAM: Final = _ChatFormat()
"""Reads the events of a chat completion."""


def _take_odd_text(
    event: ChoiceEvent, choice: Choice, native: dict[str, object], kind: str, value: object
) -> None:
    """Take content that a server gives as parts; other content and refusals must be text."""
    if value is None:
        return
    if kind == "refusal":
        raise invalid_answer("has a refusal that is no text")
    if kind != "content":
        return
    if not isinstance(value, list):
        raise invalid_answer("has content that is no text")
    for part in cast("list[object]", value):
        text = text_in(mapping_of(part))
        if text:
            owner = cast("dict[str, object]", part)
            event.add(choice.lane("content"), native, owner, "text", text, _LOCATIONS["content"])
        elif _is_thinking(part):
            _take_thinking(event, choice, native, cast("dict[str, list[object]]", part)["thinking"])


def _take_thinking(
    event: ChoiceEvent, choice: Choice, native: dict[str, object], thoughts: list[object]
) -> None:
    """Take the reasoning that a server gives as a part of the content."""
    for thought in thoughts:
        text = text_in(mapping_of(thought))
        if text:
            owner = cast("dict[str, object]", thought)
            event.add(choice.lane("thinking"), native, owner, "text", text, _LOCATIONS["reasoning"])


def _take_details(
    event: ChoiceEvent, choice: Choice, native: dict[str, object], details: list[object]
) -> None:
    """Take the reasoning that a server gives again as a list of its parts."""
    for detail in details:
        for name in _DETAILS:
            text = mapping_of(detail).get(name)
            if isinstance(text, str) and text:
                owner = cast("dict[str, object]", detail)
                lane = choice.part_lane(name, count_of(owner.get("index")))
                event.add(lane, native, owner, name, text, _LOCATIONS["reasoning"])


def _take_calls(
    event: ChoiceEvent, choice: Choice, native: dict[str, object], delta: dict[str, object]
) -> None:
    parts = delta["tool_calls"]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in cast("list[object]", parts)):
        raise invalid_answer("has a tool call that is no object")
    for part in cast("list[dict[str, object]]", parts):
        is_custom = isinstance(part.get("custom"), dict)
        body = part.get("custom" if is_custom else "function")
        if not isinstance(body, dict):
            continue
        owner = cast("dict[str, object]", body)
        call = choice.call(
            "custom" if is_custom else "call", count_of(part.get("index")), text_of(part.get("id"))
        )
        event.call_parts.append(CallPart(choice, call, delta, part))
        _take_name(event, call, owner)
        text = (text_of(owner.get("input")) or "") if is_custom else arguments_of(owner)
        event.add_held(call, native, owner, "input" if is_custom else "arguments", text)


def _take_name(event: ChoiceEvent, call: Call, owner: Mapping[str, object]) -> None:
    name = text_of(owner.get("name"))
    if name:
        call.name += name
        if len(call.name) > _LONGEST_NAME:
            raise invalid_answer("calls a tool whose name has no end")
        event.names = (*event.names, call.name)


def _take_function_call(event: ChoiceEvent, choice: Choice, native: dict[str, object], body: object) -> None:
    if not isinstance(body, dict):
        return
    owner = cast("dict[str, object]", body)
    call = choice.call("function_call", None, None)
    _take_name(event, call, owner)
    event.add_held(call, native, owner, "arguments", text_of(owner.get("arguments")) or "")


def _take_audio(event: ChoiceEvent, choice: Choice, native: dict[str, object], body: object) -> None:
    if not isinstance(body, dict):
        return
    owner = cast("dict[str, object]", body)
    transcript = text_of(owner.get("transcript"))
    if transcript:
        event.add(choice.lane("transcript"), native, owner, "transcript", transcript, _LOCATIONS["content"])
    if owner.get("data"):
        event.unscanned = ("audio",)


def _tail_delta(lane: ChoiceLane, text: str) -> dict[str, object]:
    if lane.kind == "transcript":
        return {"audio": {"transcript": text}}
    if lane.kind == "function_call":
        return {"function_call": {"arguments": text}}
    if lane.kind == "thinking":
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
    if lane.kind in _DETAILS:
        detail = {"type": _DETAILS[lane.kind], lane.kind: text}
        return {"reasoning_details": [_indexed(lane, detail)]}
    if lane.kind not in ("call", "custom"):
        return {lane.kind: text}
    body = {"function": {"arguments": text}} if lane.kind == "call" else {"custom": {"input": text}}
    # no id: what adds up the deltas would take it for a second half
    return {"tool_calls": [_indexed(lane, body)]}


def _indexed(lane: ChoiceLane, item: Mapping[str, object]) -> Mapping[str, object]:
    return item if lane.wire_index is None else {"index": lane.wire_index, **item}


def _reasoning_lane(choice: Choice) -> ChoiceLane | None:
    lanes = (ChoiceLane(name, choice.index) for name in REASONING_NAMES)
    return next((lane for lane in lanes if lane in choice.lanes), None)


def _whole_content(response: ModelResponse) -> str:
    if response.content_parts is None:
        return response.content
    if any(isinstance(part, ImagePart) for part in response.content_parts):
        raise no_place("an image, in a stream")
    return "".join(part.text for part in response.content_parts if isinstance(part, TextPart))
