"""The items of OpenAI responses that messages of ours become: new ones, and native ones with other texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tramapy.clients.images import address_of
from tramapy.clients.openai_responses_items import CALL_KINDS, text_key
from tramapy.clients.rewriting import PlacedPart, no_place, placed_calls, placed_parts, woven
from tramapy.clients.splitting import split_like
from tramapy.messages import ContentPart, Message, MessageRole, TextPart, ToolCall
from tramapy.wire.json_values import mapping_of

__all__ = ["function_call", "items_of", "new_text", "rewritten_items"]


def items_of(message: Message, output_kinds: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield the items for a message that is new.

    Args:
        message: The message.
        output_kinds: By the id of a call, the kind of item that answers it.

    Raises:
        InterceptorError: The format has no place for it.
    """
    role = message.role
    if role is MessageRole.TOOL:
        _refuse_calls(message)
        call_id = message.tool_call_id
        if call_id is None:
            raise no_place("a tool's result without a tool_call_id")
        kind = output_kinds.get(call_id, "function_call_output")
        yield {"type": kind, "call_id": call_id, "output": _new_content(message)}
        return
    if role is not MessageRole.ASSISTANT:
        _refuse_calls(message)
    if role is not MessageRole.ASSISTANT or _says_something(message) or not message.tool_calls:
        yield {"role": role.value, "content": _new_content(message)}
    yield from map(function_call, message.tool_calls)


def rewritten_items(
    native: dict[str, object], shown: Message, message: Message
) -> Iterator[dict[str, object]]:
    """Yield a native item with a message's texts in the place of those that were shown, and what was added to it.

    Raises:
        InterceptorError: The format has no place for it.
    """
    kind = native.get("type")
    if kind in CALL_KINDS:
        yield from _rewritten_calls(native, shown, message)
        return
    if message.role is not MessageRole.ASSISTANT:
        _refuse_calls(message)
    yield native if _has_same_content(shown, message) else _rewritten(native, shown, message)
    yield from map(function_call, message.tool_calls)


def function_call(call: ToolCall) -> dict[str, object]:
    """Return the item for a call that is new."""
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments_json,
    }


def new_text(text: str) -> dict[str, object]:
    """Return a new text of the assistant's."""
    return {"type": "output_text", "text": text, "annotations": []}


def _refuse_calls(message: Message) -> None:
    if message.tool_calls:
        raise no_place("tool calls in a message that is not the assistant's")


def _says_something(message: Message) -> bool:
    return bool(message.content) or bool(message.content_parts)


def _has_same_content(shown: Message, message: Message) -> bool:
    return message.content == shown.content and message.content_parts == shown.content_parts


def _parts_of(message: Message) -> Sequence[ContentPart]:
    if message.content_parts is not None:
        return message.content_parts
    return (TextPart(message.content),) if message.content else ()


def _new_content(message: Message) -> str | list[object]:
    if message.content_parts is None:
        return message.content
    return [_new_part(part, message.role) for part in message.content_parts]


def _new_part(part: ContentPart, role: MessageRole) -> dict[str, object]:
    if isinstance(part, TextPart):
        return (
            new_text(part.text)
            if role is MessageRole.ASSISTANT
            else {"type": "input_text", "text": part.text}
        )
    if role is MessageRole.ASSISTANT:
        raise no_place("an image in a message of the assistant's")
    return {"type": "input_image", "image_url": address_of(part), "detail": part.detail.value}


def _rewritten_calls(
    native: dict[str, object], shown: Message, message: Message
) -> Iterator[dict[str, object]]:
    key = "arguments" if native.get("type") == "function_call" else "input"
    if _says_something(message):
        yield {"role": "assistant", "content": _new_content(message)}
    positions = placed_calls(shown.tool_calls, message.tool_calls)
    for call, position in zip(message.tool_calls, positions, strict=True):
        yield function_call(call) if position is None else {**native, key: call.arguments_json}


def _rewritten(native: dict[str, object], shown: Message, message: Message) -> dict[str, object]:
    key = "output" if message.role is MessageRole.TOOL else "content"
    content = native[key]
    kind = native.get("type")
    if kind == "shell_call_output":
        return {**native, key: _shell_output(cast("list[dict[str, object]]", content), message)}
    if kind in ("local_shell_call_output", "apply_patch_call_output"):
        return {**native, key: _joined(message)}
    if isinstance(content, str):
        return {**native, key: _new_content(message)}
    return {**native, key: _parts(cast("list[object]", content), shown, message)}


def _joined(message: Message) -> str:
    """Return a message's text where there is no place for parts."""
    texts: list[str] = []
    for part in _parts_of(message):
        if not isinstance(part, TextPart):
            raise no_place("an image in the output of a built-in tool")
        texts.append(part.text)
    return "".join(texts)


def _shell_output(output: list[dict[str, object]], message: Message) -> list[dict[str, object]]:
    places = [
        (position, stream)
        for position, entry in enumerate(output)
        for stream in ("stdout", "stderr")
        if entry[stream]
    ]
    changed = [dict(entry) for entry in output]
    text = _joined(message)
    if not places:
        if text:
            raise no_place("text in an output that had none")
        return changed
    texts = split_like([cast("str", output[position][stream]) for position, stream in places], text)
    for (position, stream), part in zip(places, texts, strict=True):
        changed[position][stream] = part
    return changed


def _parts(content: list[object], shown: Message, message: Message) -> list[object]:
    """Return a list of native parts with the parts of a message in the place of those that were shown."""
    natives = [
        position
        for position, part in enumerate(content)
        if text_key(part) is not None
        or (mapping_of(part).get("type") == "input_image" and _has_address(part))
    ]
    before = shown.content_parts or ()
    placed = placed_parts(before, _parts_of(message))
    parts: list[object] = []
    places = [None if part.position is None else natives[part.position] for part in placed]
    for slot in woven(len(content), set(natives), places):
        if slot.ours is None:
            parts.append(content[cast("int", slot.native)])
        elif slot.native is None:
            parts.append(_new_part(placed[slot.ours].part, message.role))
        else:
            place = placed[slot.ours]
            united = [content[natives[position]] for position in place.united]
            parts.append(_written(content[slot.native], before[cast("int", place.position)], place, united))
    return parts


def _has_address(part: object) -> bool:
    url = mapping_of(part).get("image_url")
    return isinstance(url, str) and bool(url)


def _written(
    native: object, before: ContentPart, placed: PlacedPart, united: Sequence[object]
) -> dict[str, object]:
    fields = cast("dict[str, object]", native)
    part = placed.part
    if not isinstance(part, TextPart):
        # the address of one that stays was inspected in the rest, and may have changed there
        if part == before:
            return fields
        return {**fields, "image_url": address_of(part), "detail": part.detail.value}
    key = cast("str", text_key(native))
    if fields[key] == part.text and not united:
        return fields
    # what else the parts say that are gone (a mark for the prompt cache) goes with their text
    changed: dict[str, object] = {}
    for other in reversed(united):
        changed.update(cast("dict[str, object]", other))
    changed.pop("refusal", None)
    changed.update(fields)
    changed[key] = part.text
    changed.pop("logprobs", None)
    return changed
