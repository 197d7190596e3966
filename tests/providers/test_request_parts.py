"""What requests have in common: images by their data, and JSON that can be sent."""

from __future__ import annotations

import pytest

from tramapy.errors import ConfigurationError
from tramapy.messages import ImagePart
from tramapy.providers.request_parts import image_source, json_object_of


@pytest.mark.parametrize(
    ("image", "source"),
    [
        (ImagePart(data=b"\x00\xff", mime_type="image/png"), ("image/png", "AP8=")),
        (ImagePart(url="data:image/png;base64,AP8="), ("image/png", "AP8=")),
        (ImagePart(url="DATA:image/png;charset=x;BASE64,AP8%3D"), ("image/png", "AP8=")),
        (ImagePart(url="data:image/svg+xml,%3Csvg/%3E"), ("image/svg+xml", "PHN2Zy8+")),
        (ImagePart(url="https://127.0.0.1/data:x"), None),
        (ImagePart(url="data.png"), None),
    ],
    ids=["data", "data-url", "quoted", "percent", "address", "no-scheme"],
)
def test_inline_image_is_read(image: ImagePart, source: tuple[str, str] | None) -> None:
    assert image_source(image) == source


@pytest.mark.parametrize("url", ["data:", "data:image/png;base64", "data:,x", "data:;base64,AP8="])
def test_data_url_that_cannot_be_read_is_the_callers_mistake(url: str) -> None:
    with pytest.raises(ConfigurationError, match="data URL without a MIME type or a comma"):
        image_source(ImagePart(url=url))


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}'])
def test_what_cannot_be_sent_as_an_object_is_none(text: str) -> None:
    assert json_object_of(text) is None


def test_object_is_read() -> None:
    assert json_object_of('{"a": ["ä", 1]}') == {"a": ["ä", 1]}
