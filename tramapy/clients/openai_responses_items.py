"""The items of OpenAI responses, and where their texts stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ModelResponse, TextPart, ToolCall
from tramapy.wire.finish_reasons import responses_finish_reason
from tramapy.wire.json_values import invalid_answer, mapping_of, text_of
from tramapy.wire.token_counts import responses_usage

__all__ = [
    "CALL_KINDS",
    "ITEM_TEXTS",
    "LOCATIONS",
    "OUTPUT_KINDS",
    "PART_KINDS",
    "REASONING_KINDS",
    "REASONING_SEPARATOR",
    "TEXT_KEYS",
    "ItemSlot",
    "call_of",
    "output_items",
    "part_slot",
    "response_of",
    "slots_of",
    "text_key",
]

REASONING_SEPARATOR: Final = "\n\n"
"""Stands between the texts of an answer's reasoning, where they are shown as one."""

LOCATIONS: Final[Mapping[str, DlpContentLocation]] = {
    "refusal": DlpContentLocation.MODEL_RESPONSE_REFUSAL,
    "reasoning": DlpContentLocation.MODEL_RESPONSE_REASONING,
    "summary": DlpContentLocation.MODEL_RESPONSE_REASONING,
    "arguments": DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
    "input": DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
    "mcp": DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
}
"""Where a text of each kind stands; one that is not here is content."""

REASONING_KINDS: Final = ("summary", "reasoning")

CALL_KINDS: Final = frozenset({"function_call", "custom_tool_call"})
"""The calls that the caller's own tools answer: a stream shows nothing of one before all of it was inspected.

One that the provider makes itself (`mcp_call`) is shown at once, since events about it follow; its arguments wait.
"""

OUTPUT_KINDS: Final[Mapping[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""The kind of item that answers a call."""

TEXT_KEYS: Final[Mapping[object, str]] = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
}
"""The parts of a message that are text, and its name."""

PART_KINDS: Final[Mapping[object, tuple[str, str]]] = {
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning", "text"),
    "summary_text": ("summary", "text"),
}
"""The parts of an answer's items that are text: the kind of the text, and its name."""

ITEM_TEXTS: Final[Mapping[object, tuple[str, str]]] = {
    "function_call": ("arguments", "arguments"),
    "custom_tool_call": ("input", "input"),
    "mcp_call": ("mcp", "arguments"),
    "code_interpreter_call": ("code", "code"),
}
"""The items that have one text: its kind, and its name."""

_NO_ITEMS: Final = "has output that is no list of items"
_NO_TEXT: Final = "has content that is no text"


def text_key(part: object) -> str | None:
    """Return the name of the text of a part of a message; None for a part that is no text."""
    if not isinstance(part, dict):
        return None
    fields = cast("dict[str, object]", part)
    kind = fields.get("type")
    key = TEXT_KEYS.get(kind) if isinstance(kind, str) else None
    return key if key is not None and isinstance(fields.get(key), str) else None


@dataclass(frozen=True, slots=True)
class ItemSlot:
    """A text of an item.

    Args:
        kind: Of the text; a lane of a stream is one kind of one item at one index.
        index: Of the part within the item; 0 where the item has one text.
        owner: The object that holds it.
        key: Its name there.
        text: The text, not empty.
        field: The name of the item's list of parts that the owner stands in; empty where the owner is the item.
    """

    kind: str
    index: int
    owner: dict[str, object]
    key: str
    text: str
    field: str = ""


def output_items(value: object) -> list[dict[str, object]]:
    """Return the items of an answer.

    Raises:
        ProviderError: It is no list of objects.
    """
    if not isinstance(value, list):
        raise invalid_answer(_NO_ITEMS)
    for item in cast("list[object]", value):
        if not isinstance(item, dict):
            raise invalid_answer(_NO_ITEMS)
    return cast("list[dict[str, object]]", value)


def slots_of(item: dict[str, object]) -> Iterator[ItemSlot]:
    """Yield the texts of an item that are shown by themselves, empty ones left out.

    Raises:
        ProviderError: One of them is no text.
    """
    kind = item.get("type")
    if kind == "message":
        yield from _part_slots(item, "content")
    elif kind == "reasoning":
        yield from _part_slots(item, "summary")
        yield from _part_slots(item, "content")
    elif isinstance(kind, str) and kind in ITEM_TEXTS:
        slot_kind, key = ITEM_TEXTS[kind]
        slot = _slot(slot_kind, 0, item, key)
        if slot is not None:
            yield slot


def part_slot(part: dict[str, object], index: int, field: str = "") -> ItemSlot | None:
    """Return the text of a part of an answer's item; None where there is none.

    Raises:
        ProviderError: It should be a text, and is none.
    """
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in PART_KINDS:
        return None
    slot_kind, key = PART_KINDS[kind]
    return _slot(slot_kind, index, part, key, field)


def _part_slots(item: dict[str, object], field: str) -> Iterator[ItemSlot]:
    parts = item.get(field)
    if parts is None:
        return
    if not isinstance(parts, list):
        raise invalid_answer(_NO_TEXT)
    for index, part in enumerate(cast("list[object]", parts)):
        if not isinstance(part, dict):
            raise invalid_answer(_NO_TEXT)
        slot = part_slot(cast("dict[str, object]", part), index, field)
        if slot is not None:
            yield slot


def _slot(kind: str, index: int, owner: dict[str, object], key: str, field: str = "") -> ItemSlot | None:
    text = owner.get(key)
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise invalid_answer(_NO_TEXT)
    return ItemSlot(kind, index, owner, key, text, field)


def call_of(item: Mapping[str, object], arguments: str) -> ToolCall:
    """Return the call that an item proposes.

    Raises:
        ProviderError: It has no name.
    """
    name = text_of(item.get("name"))
    if not name:
        raise invalid_answer("has a tool call without a name")
    call_id = text_of(item.get("call_id")) or text_of(item.get("id")) or ""
    return ToolCall(id=call_id, name=name, arguments_json=arguments)


def response_of(
    body: Mapping[str, object],
    *,
    texts: Sequence[str],
    refusals: Sequence[str],
    reasoning: Sequence[str],
    tool_calls: Sequence[ToolCall],
) -> ModelResponse:
    """Return what interceptors see of an answer.

    Args:
        body: The answer, with its ids, status and usage.
        texts: Each text of its messages; one is its content, several are its parts.
        refusals: Each refusal.
        reasoning: Each text of its reasoning.
        tool_calls: The calls of functions.
    """
    reason = mapping_of(body.get("incomplete_details")).get("reason")
    return ModelResponse(
        content=texts[0] if len(texts) == 1 else "",
        content_parts=tuple(map(TextPart, texts)) if len(texts) > 1 else None,
        tool_calls=tuple(tool_calls),
        refusal="".join(refusals) if refusals else None,
        reasoning=REASONING_SEPARATOR.join(reasoning) if reasoning else None,
        usage=responses_usage(body.get("usage")),
        model=text_of(body.get("model")),
        finish_reason=responses_finish_reason(body.get("status"), reason, has_tool_calls=bool(tool_calls)),
        response_id=text_of(body.get("id")),
    )
