"""Images of native messages: an address or a data URL as an `ImagePart`, and back."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from tramapy.messages import ImageDetail, ImagePart

__all__ = ["address_of", "image_at", "is_inline"]

_DETAILS: Final = {detail.value: detail for detail in ImageDetail}


def is_inline(url: str) -> bool:
    """Tell whether an address is a data URL with an image in base64: no text of it can be read."""
    head, comma, _ = url.partition(",")
    return bool(comma) and head.startswith("data:image/") and head.endswith(";base64") and len(head) <= 100


def image_at(url: str, detail: object = None) -> ImagePart:
    """Return the image at an address; the data of an inline one, where it can be read."""
    known = _DETAILS.get(detail, ImageDetail.AUTO) if isinstance(detail, str) else ImageDetail.AUTO
    if is_inline(url):
        head, _, encoded = url.partition(",")
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if data:
            mime_type = head.removeprefix("data:").removesuffix(";base64")
            return ImagePart(data=data, mime_type=mime_type, detail=known)
    return ImagePart(url=url, detail=known)


def address_of(image: ImagePart) -> str:
    """Return an image's address, or a data URL with it."""
    if image.data is None:
        return image.url or ""
    return f"data:{image.mime_type};base64,{base64.b64encode(image.data).decode('ascii')}"
