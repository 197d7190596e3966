"""Content blocks of `/v1/messages` as parts and calls, and back; and what of them cannot be inspected."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_plan import is_inline_image, is_text, is_url_image
from tramapy.clients.codec import dumps
from tramapy.clients.rewriting import PlacedPart, no_place, placed_parts
from tramapy.clients.splitting import split_like
from tramapy.errors import DlpInspectionError
from tramapy.messages import ContentPart, ImagePart, Message, TextPart, ToolCall

__all__ = [
    "CHANGED_SIGNATURE",
    "Block",
    "add_unscanned",
    "arguments_object",
    "call_block",
    "call_of",
    "joined_fields",
    "part_block",
    "part_of",
    "parts_of",
    "require_no_images",
    "text_block",
    "written_parts",
]

Block = Mapping[str, object]

CHANGED_SIGNATURE: Final = "changed-by-tramapy"
"""Stands in the place of a signature whose text DLP or an interceptor changed: the provider would refuse the block.
A request that brings such a block back goes out without it."""


def part_of(block: Block) -> ContentPart | None:
    """Return a block as a part of a message; None for one that is not shown."""
    if is_text(block):
        return TextPart(cast("str", block["text"]))
    if block.get("type") != "image":
        return None
    if is_inline_image(block):
        source = cast("dict[str, str]", block["source"])
        data = _decoded(source["data"])
        return ImagePart(data=data, mime_type=source["media_type"]) if data else None
    if is_url_image(block):
        return ImagePart(url=cast("dict[str, str]", block["source"])["url"])
    return None


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""


def call_of(block: Block) -> ToolCall:
    """Return a block that `is_call` as a tool call."""
    return ToolCall(
        id=cast("str", block["id"]), name=cast("str", block["name"]), arguments_json=dumps(block["input"])
    )


def arguments_object(arguments_json: str) -> dict[str, object]:
    """Return the arguments of a call as the object that this format has in their place.

    Raises:
        DlpInspectionError: They are none.
    """
    if not arguments_json or arguments_json.isspace():
        return {}
    try:
        value: object = json.loads(arguments_json)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DlpInspectionError(
            "The arguments of a tool call are no JSON object after interceptors and DLP, and this format has no "
            "place for other text; the call was withheld. An inspection must keep quotes and commas"
        )
    return cast("dict[str, object]", value)


def call_block(call: ToolCall) -> dict[str, object]:
    """Return a new call as a block."""
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": arguments_object(call.arguments_json),
    }


def text_block(text: str) -> dict[str, object]:
    """Return a new text as a block."""
    return {"type": "text", "text": text}


def part_block(part: ContentPart) -> dict[str, object]:
    """Return a new part as a block."""
    if isinstance(part, TextPart):
        return text_block(part.text)
    return {"type": "image", "source": _source_of(part)}


def _source_of(image: ImagePart) -> dict[str, object]:
    if image.data is None:
        return {"type": "url", "url": image.url}
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "base64", "media_type": image.mime_type, "data": data}


def parts_of(message: Message) -> tuple[ContentPart, ...]:
    """Return the content of a message as parts."""
    if message.content_parts is not None:
        return message.content_parts
    return (TextPart(message.content),) if message.content else ()


def written_parts(
    shown: Sequence[ContentPart], natives: Sequence[Block], parts: Sequence[ContentPart]
) -> list[tuple[int | None, Block]]:
    """Return the blocks of changed parts, each with the position of the part whose native form it takes.

    Args:
        shown: The parts as they were.
        natives: Their blocks.
        parts: The parts as they are.
    """
    written: list[tuple[int | None, Block]] = []
    for placed in placed_parts(shown, parts):
        if placed.position is None:
            written.append((None, part_block(placed.part)))
        elif isinstance(placed.part, TextPart):
            written.extend(_written_text(shown, natives, placed, placed.part.text, placed.position))
        else:
            written.append((placed.position, _written_image(shown, natives, placed.part, placed.position)))
    return written


def _written_text(
    shown: Sequence[ContentPart], natives: Sequence[Block], placed: PlacedPart, text: str, position: int
) -> list[tuple[int | None, Block]]:
    """Return what one text is in the blocks that it was joined from; what an emptied one says moves forward."""
    places = (position, *placed.united)
    texts = [cast("TextPart", shown[place]).text for place in places]
    written: list[tuple[int | None, Block]] = []
    for place, before, piece in zip(places, texts, split_like(texts, text), strict=True):
        native = natives[place]
        if piece:
            written.append((place, native if piece == before else {**native, "text": piece}))
        elif written:
            holder, block = written[-1]
            written[-1] = holder, joined_fields(block, native)
    return written


def joined_fields(block: Block, gone: Block) -> Block:
    """Return a text block with what another says beside its text, for example its citations."""
    added = {name: value for name, value in gone.items() if block.get(name) is None}
    citations, more = block.get("citations"), gone.get("citations")
    if isinstance(citations, list) and isinstance(more, list):
        added["citations"] = [*cast("list[object]", citations), *cast("list[object]", more)]
    return {**block, **added} if added else block


def _written_image(
    shown: Sequence[ContentPart], natives: Sequence[Block], image: ImagePart, position: int
) -> Block:
    native = natives[position]
    return native if image == shown[position] else {**native, "source": _source_of(image)}


def require_no_images(parts: Sequence[ContentPart], where: str) -> None:
    """Refuse images where this format has none.

    Raises:
        InterceptorError: There is one.
    """
    if any(isinstance(part, ImagePart) for part in parts):
        raise no_place(f"an image in {where}")


_UNSCANNED_NAMES: Final = {
    "file_id": "file_id",
    "encrypted_content": "encrypted",
    "encrypted_stdout": "encrypted",
}


def add_unscanned(value: object, words: set[str]) -> None:
    """Add why parts of a block that is not shown cannot be inspected."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            add_unscanned(item, words)
        return
    if not isinstance(value, dict):
        return
    block = cast("dict[str, object]", value)
    kind = block.get("type")
    if kind == "redacted_thinking":
        words.add("encrypted")
    elif kind == "document":
        _add_source(block.get("source"), words)
    elif kind == "image" and part_of(block) is None:
        words.add("image")
    for name, item in block.items():
        if isinstance(item, (dict, list)):
            add_unscanned(cast("object", item), words)
        elif item and name in _UNSCANNED_NAMES:
            words.add(_UNSCANNED_NAMES[name])


def _add_source(source: object, words: set[str]) -> None:
    if isinstance(source, dict):
        kind = cast("dict[str, object]", source).get("type")
        if kind in ("base64", "url"):
            words.add("document_data" if kind == "base64" else "document_url")
