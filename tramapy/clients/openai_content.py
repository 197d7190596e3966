"""The content of an OpenAI chat message: a string, or parts, of which texts and images are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from tramapy.clients.file_texts import FILE_DATA, file_data_plan
from tramapy.clients.images import address_of, image_at, is_inline
from tramapy.clients.plans import each, opaque, shown, word
from tramapy.clients.rewriting import PlacedPart, placed_parts, woven
from tramapy.messages import ContentPart, ImageDetail, ImagePart, Message, ModelResponse, TextPart
from tramapy.wire.json_values import mapping_of, mappings_of, text_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = [
    "ShownContent",
    "content_plan",
    "has_other_content",
    "image_list_plan",
    "part_plan",
    "read_content",
    "text_in",
    "unscanned_of",
    "written_content",
]

# what a part may say beside its text
_CACHE: Final[Mapping[str, Plan]] = {
    "cache_control": {"type": word},
    "prompt_cache_breakpoint": {"mode": word},
}


class ShownContent(NamedTuple):
    """What of a native content is shown.

    Args:
        content: Its text, where it is a string.
        parts: Its texts and images, where it is an array.
        positions: Where each part stands in the array.
    """

    content: str = ""
    parts: tuple[ContentPart, ...] | None = None
    positions: tuple[int, ...] = ()


def read_content(value: object) -> ShownContent:
    """Return what is shown of a content; nothing of one that is neither text nor parts."""
    if isinstance(value, str):
        return ShownContent(value)
    if not isinstance(value, list):
        return ShownContent()
    parts: list[ContentPart] = []
    positions: list[int] = []
    for position, item in enumerate(cast("list[object]", value)):
        part = _part_of(item)
        if part is not None:
            parts.append(part)
            positions.append(position)
    return ShownContent("", tuple(parts), tuple(positions))


def _part_of(item: object) -> ContentPart | None:
    part = mapping_of(item)
    text = text_in(part)
    if text:
        return TextPart(text)
    url = _url_in(part)
    if url is None:
        return None
    return image_at(url, mapping_of(part["image_url"]).get("detail"))


def text_in(part: Mapping[str, object]) -> str | None:
    """Return the text of a part that is shown as one."""
    # an empty text is nothing that a rule or an interceptor could change
    text = part.get("text")
    if not isinstance(text, str) or part.get("type") not in ("text", "input_text", "output_text"):
        return None
    return text


def _url_in(part: Mapping[str, object]) -> str | None:
    if part.get("type") != "image_url":
        return None
    return text_of(mapping_of(part.get("image_url")).get("url"))


def content_plan(value: object) -> Plan:
    """Plan a content: its texts and images are shown."""
    if isinstance(value, str):
        return SKIP
    return _PARTS if isinstance(value, list) else None


def part_plan(item: object) -> Plan:
    """Plan a part of a content."""
    part = mapping_of(item)
    if text_in(part):
        return SKIP if len(part) == 2 else _TEXT
    kind = part.get("type")
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _address(value: object) -> Plan:
    # the address of an image is text that leaves, its data is none
    return SKIP if isinstance(value, str) and is_inline(value) else None


_TEXT: Final[Plan] = {"type": word, "text": shown, **_CACHE}
_KINDS: Final[Mapping[str, Plan]] = {
    "text": {"type": word, **_CACHE},
    "image_url": {"type": word, "image_url": {"url": _address, "detail": word}, **_CACHE},
    "input_audio": {"type": word, "input_audio": {"data": opaque, "format": opaque}, **_CACHE},
    "file": {"type": word, "file": {FILE_DATA: file_data_plan, "file_id": opaque}, **_CACHE},
    "refusal": {"type": word, **_CACHE},
}
_PARTS: Final[Plan] = {EACH: part_plan}

image_list_plan: Final = each(part_plan)
"""For the images that some servers give beside the content."""


def unscanned_of(content: object) -> list[str]:
    """Return why parts of a content cannot be inspected."""
    found: list[str] = []
    for part in mappings_of(content):
        if part.get("type") == "input_audio":
            found.append("input_audio")
        elif part.get("type") == "file":
            file = mapping_of(part.get("file"))
            found.extend(name for name in ("file_data", "file_id") if file.get(name))
        elif _is_encoded(_url_in(part) or ""):
            found.append("data_url")
    return found


def _is_encoded(url: str) -> bool:
    # what is not encoded is read like any address
    return url.startswith("data:") and ";base64," in url[:200] and not is_inline(url)


def has_other_content(before: Message | ModelResponse, after: Message | ModelResponse) -> bool:
    """Tell whether the content changed."""
    return after.content_parts != before.content_parts or (
        after.content_parts is None and after.content != before.content
    )


def written_content(
    native: object, before: Message | ModelResponse | None, after: Message | ModelResponse
) -> object:
    """Return the native content with what a message or response says now.

    Args:
        native: As it is: a string stays one, and parts that are not shown stay where they are.
        before: What was shown of it; None for a new one.
        after: What it says now.
    """
    if before is None or before.content_parts is None or not isinstance(native, list):
        if after.content_parts is None:
            return after.content
        return [_new_part(part) for part in after.content_parts]
    items = cast("list[object]", native)
    parts = after.content_parts
    if parts is None:
        parts = (TextPart(after.content),) if after.content else ()
    positions = read_content(items).positions
    placed = placed_parts(before.content_parts, parts)
    natives = [None if place.position is None else positions[place.position] for place in placed]
    written: list[object] = []
    for slot in woven(len(items), set(positions), natives):
        if slot.ours is None:
            written.append(items[cast("int", slot.native)])
            continue
        place = placed[slot.ours]
        if slot.native is None or place.position is None:
            written.append(_new_part(place.part))
        else:
            united = [items[positions[position]] for position in place.united]
            written.append(
                _rewritten_part(items[slot.native], before.content_parts[place.position], place, united)
            )
    return written


def _rewritten_part(native: object, before: ContentPart, place: PlacedPart, united: list[object]) -> object:
    part = place.part
    if part == before and not united:
        return native
    written = dict(mapping_of(native))
    for gone in united:
        for name, value in mapping_of(gone).items():
            written.setdefault(name, value)
    if isinstance(part, TextPart):
        written["text"] = part.text
    else:
        kept = {name: value for name, value in mapping_of(written["image_url"]).items() if name != "detail"}
        written["image_url"] = {**kept, **_image_of(part)}
    return written


def _new_part(part: ContentPart) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": _image_of(part)}


def _image_of(image: ImagePart) -> dict[str, object]:
    fields: dict[str, object] = {"url": address_of(image)}
    if image.detail is not ImageDetail.AUTO:
        fields["detail"] = image.detail.value
    return fields
