"""Images of native messages."""

import pytest

from tramapy.clients.images import address_of, image_at, is_inline
from tramapy.messages import ImageDetail, ImagePart

PIXEL = ImagePart(data=b"\x89PNG", mime_type="image/png", detail=ImageDetail.LOW)


def test_an_inline_image_is_data_and_goes_back() -> None:
    address = address_of(PIXEL)
    assert address == "data:image/png;base64,iVBORw=="
    assert image_at(address, "low") == PIXEL


@pytest.mark.parametrize(
    "url",
    [
        "https://images.example/a.png",
        "data:image/png;base64,",
        "data:image/png;base64,%",
        "data:image/png;base64,\u00e9",
        "data:text/plain;base64,aGk=",
        "data:image/svg+xml,<svg/>",
        "",
    ],
)
def test_what_is_no_inline_image_is_an_address(url: str) -> None:
    image = image_at(url, 5)
    assert (image.url, image.detail) == (url, ImageDetail.AUTO)
    assert address_of(image) == url


def test_only_an_image_in_base64_is_inline() -> None:
    assert is_inline("data:image/png;base64,")
    assert not is_inline("data:image/png;base64")
    assert not is_inline("data:image/png;note=" + "a" * 100 + ";base64,")
    assert not is_inline("https://images.example/a;base64,b")
    assert image_at("https://images.example/a", "odd").detail is ImageDetail.AUTO
