"""What the wire formats' requests have in common."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import cast

from tramapy.errors import ConfigurationError
from tramapy.messages import ImagePart, Message, MessageRole

__all__ = [
    "data_url",
    "image_source",
    "json_object_of",
    "require_images_where_they_may_be",
    "require_tool_call_ids",
    "without_none",
]


def require_tool_call_ids(messages: Iterable[Message]) -> None:
    """Check that each TOOL message says which call it answers.

    Raises:
        ConfigurationError: One does not.
    """
    for position, message in enumerate(messages):
        if message.role is MessageRole.TOOL and message.tool_call_id is None:
            raise ConfigurationError(
                f"messages[{position}] is a TOOL message without tool_call_id; say which call it answers"
            )


def require_images_where_they_may_be(messages: Iterable[Message]) -> None:
    """Check that images stand in USER and TOOL messages alone.

    Raises:
        ConfigurationError: One stands elsewhere.
    """
    for position, message in enumerate(messages):
        if message.has_image and message.role not in (MessageRole.USER, MessageRole.TOOL):
            raise ConfigurationError(
                f"messages[{position}] is of role {message.role.name} and has an image; this provider takes "
                "images in USER and TOOL messages. Move it."
            )


def data_url(image: ImagePart) -> str | None:
    """Return an image's address; one that is inline gets a data URL."""
    if image.data is None:
        return image.url
    return f"data:{image.mime_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def image_source(image: ImagePart) -> tuple[str, str] | None:
    """Return the MIME type and the base64 text of an image that is inline, or has a data URL; else None.

    Raises:
        ConfigurationError: The data URL cannot be read.
    """
    if image.data is not None:
        return image.mime_type or "", base64.b64encode(image.data).decode("ascii")
    scheme, _, rest = (image.url or "").partition(":")
    if scheme.lower() != "data":
        return None
    kind, comma, content = rest.partition(",")
    mime_type, *parameters = kind.split(";")
    if not comma or not mime_type:
        raise ConfigurationError(
            "An ImagePart has a data URL without a MIME type or a comma; give data= instead"
        )
    data = urllib.parse.unquote_to_bytes(content)
    is_base64 = "base64" in (parameter.strip().lower() for parameter in parameters)
    return mime_type, (data if is_base64 else base64.b64encode(data)).decode("ascii", "replace")


def json_object_of(text: str) -> Mapping[str, object] | None:
    """Return the JSON object that a text is and that can be sent as one; None where it is none.

    NaN, infinities, numbers beyond every float, lone surrogates and endless nesting cannot be sent.
    """
    try:
        value: object = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def without_none(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that are not None: what is None is left to the provider."""
    return {name: value for name, value in fields.items() if value is not None}
