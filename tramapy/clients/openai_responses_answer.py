"""An answer of OpenAI responses: its output as one response, and a changed one written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from tramapy.clients.codec import WireAnswer, merged_text, rest_text
from tramapy.clients.logprobs import spoken
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_responses_forms import function_call, new_text
from tramapy.clients.openai_responses_items import (
    LOCATIONS,
    REASONING_KINDS,
    ItemSlot,
    call_of,
    output_items,
    response_of,
    slots_of,
)
from tramapy.clients.openai_responses_plans import RESPONSE
from tramapy.clients.openai_responses_texts import content_of, reasoning_of, refusals_of
from tramapy.clients.rewriting import no_place, placed_calls, woven
from tramapy.engine.native import NativeText
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ModelResponse, ToolCall
from tramapy.wire.json_values import text_of

__all__ = ["ResponsesAnswer"]

_CONTENT: Final = DlpContentLocation.MODEL_RESPONSE_CONTENT
_COUNT: Final = "response.input_tokens"


@dataclass(frozen=True, slots=True)
class _Place:
    """A text of the output: the position of its item, and where it stands there."""

    position: int
    slot: ItemSlot


class ResponsesAnswer(WireAnswer):
    """A response, created or looked up, a compacted conversation, or a count of tokens.

    Raises:
        ProviderError: It cannot be understood.
    """

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body
        self._places: list[_Place] = []
        self._probable: list[_Place] = []
        self._calls: list[ToolCall] = []
        self._call_positions: list[int] = []
        if body.get("output") is None and body.get("object") == _COUNT:
            self._output: list[dict[str, object]] = []
        else:
            self._output = output_items(body.get("output"))
        self._read_output()
        self._rest = read_answer(lambda: rest_text(body, RESPONSE))
        self.responses: tuple[ModelResponse, ...] = (self._response(),)
        self.refusal_texts: Sequence[str] = _texts_of(self._of("refusal"))
        self.texts: tuple[NativeText, ...] = tuple(self._texts())

    @property
    def body(self) -> object:
        """The JSON value as it goes to the client."""
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> ResponsesAnswer:
        """Return the answer with these in the place of its own; see `NativeAnswer`."""
        (response,) = responses
        has_same_texts = all(text == own.text for text, own in zip(texts, self.texts, strict=True))
        if response is self.responses[0] and has_same_texts:
            return self
        body = self._body
        if self._rest and texts[-1] != self._rest:
            rest = texts[-1]
            body = cast("Mapping[str, object]", read_answer(lambda: merged_text(body, RESPONSE, rest)))
        if body.get("output") is None:
            if response.content or response.content_parts or response.refusal or response.tool_calls:
                raise no_place("an answer to a count of tokens")
        else:
            items = output_items(body["output"])
            body = {**body, "output": self._rewritten_output(items, response, texts)}
        return ResponsesAnswer(body)

    def _read_output(self) -> None:
        for position, item in enumerate(self._output):
            slots = list(slots_of(item))
            self._places.extend(_Place(position, slot) for slot in slots)
            if item.get("type") == "function_call":
                self._calls.append(call_of(item, slots[0].text if slots else ""))
                self._call_positions.append(position)
        if any(item.get("encrypted_content") for item in self._output):
            self.unscanned: tuple[str, ...] = ("encrypted_content",)

    def _response(self) -> ModelResponse:
        return response_of(
            self._body,
            texts=[place.slot.text for place in self._of("text")],
            refusals=_texts_of(self._of("refusal")),
            reasoning=[place.slot.text for place in self._of(*REASONING_KINDS)],
            tool_calls=self._calls,
        )

    def _texts(self) -> list[NativeText]:
        texts = [
            NativeText(
                place.slot.text,
                LOCATIONS.get(place.slot.kind, _CONTENT),
                text_of(self._output[place.position].get("name")),
            )
            for place in self._of("input", "mcp", "code")
        ]
        for place in self._places:
            said = spoken(place.slot.owner.get("logprobs"), place.slot.text)
            if said and place.slot.field:
                self._probable.append(place)
                texts.append(NativeText(said, _CONTENT))
        return [*texts, NativeText(self._rest, _CONTENT)] if self._rest else texts

    def _of(self, *kinds: str) -> list[_Place]:
        return [place for place in self._places if place.slot.kind in kinds]

    def _rewritten_output(
        self, output: list[dict[str, object]], response: ModelResponse, texts: Sequence[str]
    ) -> list[object]:
        own = self._of("input", "mcp", "code")
        changes: dict[int, str | None] = {id(place): text for place, text in zip(own, texts, strict=False)}
        items: list[object] = list(output)
        probable = zip(self._probable, self.texts[len(own) :], texts[len(own) :], strict=False)
        for place, before, after in probable:
            if after != before.text:
                _drop_logprobs(items, place)
        if response is self.responses[0]:
            self._write(items, changes)
            return items
        content, refusals = self._of("text"), self._of("refusal")
        reasoning = self._of(*REASONING_KINDS)
        new_content = self._take(content, content_of(response, _texts_of(content)), changes)
        new_refusal = self._take(refusals, refusals_of(response, _texts_of(refusals)), changes)
        self._take(reasoning, reasoning_of(response, _texts_of(reasoning)), changes)
        self._write(items, changes)
        items = self._with_calls(items, response.tool_calls)
        added = [new_text(text) for text in new_content]
        added.extend({"type": "refusal", "refusal": text} for text in new_refusal)
        if added:
            items.append(self._message(added))
        return items

    @staticmethod
    def _take(places: list[_Place], texts: Sequence[str | None], changes: dict[int, str | None]) -> list[str]:
        """Note what is written into places; return what has none."""
        changes.update((id(place), text) for place, text in zip(places, texts, strict=False))
        return [text for text in texts[len(places) :] if text is not None]

    def _write(self, items: list[object], changes: Mapping[int, str | None]) -> None:
        for place in reversed(self._places):
            text = changes.get(id(place), place.slot.text)
            if text != place.slot.text:
                item = dict(cast("Mapping[str, object]", items[place.position]))
                _write_slot(item, place.slot, text)
                items[place.position] = item

    def _with_calls(self, items: list[object], calls: Sequence[ToolCall]) -> list[object]:
        placed = placed_calls(self._calls, calls)
        places = [None if position is None else self._call_positions[position] for position in placed]
        written: list[object] = []
        for slot in woven(len(items), set(self._call_positions), places):
            if slot.ours is None:
                written.append(items[cast("int", slot.native)])
                continue
            call = calls[slot.ours]
            if slot.native is None:
                written.append({**function_call(call), "id": f"fc_{call.id}", "status": "completed"})
                continue
            native = cast("Mapping[str, object]", items[slot.native])
            is_same = (native.get("arguments") or "") == call.arguments_json
            written.append(native if is_same else {**native, "arguments": call.arguments_json})
        return written

    def _message(self, parts: list[dict[str, object]]) -> dict[str, object]:
        return {
            "id": f"msg_{text_of(self._body.get('id')) or 'new'}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": parts,
        }


def _drop_logprobs(items: list[object], place: _Place) -> None:
    """Put a copy of an item in its place, without the probabilities of one of its texts."""
    item = cast("Mapping[str, object]", items[place.position])
    parts = list(cast("list[object]", item[place.slot.field]))
    parts[place.slot.index] = {**cast("Mapping[str, object]", parts[place.slot.index]), "logprobs": []}
    items[place.position] = {**item, place.slot.field: parts}


def _texts_of(places: Sequence[_Place]) -> list[str]:
    return [place.slot.text for place in places]


def _write_slot(item: dict[str, object], slot: ItemSlot, text: str | None) -> None:
    """Write a text into a copy of its item; None takes its part away."""
    if not slot.field:
        item[slot.key] = text
        return
    parts = list(cast("list[object]", item[slot.field]))
    item[slot.field] = parts
    if text is None:
        del parts[slot.index]
        return
    part = {**cast("Mapping[str, object]", parts[slot.index]), slot.key: text}
    if part.get("logprobs"):
        part["logprobs"] = []
    parts[slot.index] = part
