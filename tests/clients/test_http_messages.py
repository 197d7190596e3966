"""What is kept of a provider's response beside its body."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from typing import Any

import httpx2
import pytest

from tramapy.clients.http_messages import Head, Original, body_kind, whole_response

LIBRARIES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
HEAD = Head.of(httpx2.Response(200, headers={"x-request-id": "r-1"}))


def whole(name: str) -> tuple[Any, Any]:
    """Return a library, and a response of its own with a body."""
    library = importlib.import_module(name)
    request = library.Request("POST", "http://provider.test/v1")
    return library, whole_response(library, HEAD, b'{"a":1}', request, elapsed_s=0.5)


def test_head_shows_no_header() -> None:
    head = Head.of(httpx2.Response(200, headers={"x-request-id": "r-1", "content-type": "text/plain"}))

    assert repr(head) == "Head(200)"
    assert head.headers == [(b"x-request-id", b"r-1")]


def test_original_shows_nothing() -> None:
    original = Original.of(httpx2.Request("POST", "http://provider.test/secret", headers={"x": "secret"}))

    assert repr(original) == "Original(POST)"


def test_head_says_what_the_body_is() -> None:
    response = httpx2.Response(204, headers={"Content-Encoding": "gzip", "Content-Type": "a/b; c=d"})
    assert body_kind(response) == ("a/b; c=d", True)
    assert body_kind(httpx2.Response(304)) == ("", False)


@pytest.mark.parametrize("name", LIBRARIES)
def test_whole_response_is_read_as_any_other(name: str) -> None:
    library, response = whole(name)
    with pytest.raises(library.ResponseNotRead):
        _ = response.content
    assert isinstance(response, library.Response)
    assert response.read() == response.read() == response.content == b'{"a":1}'
    assert type(response) is library.Response
    assert (response.is_closed, response.is_stream_consumed, response.num_bytes_downloaded) == (True, True, 7)
    assert response.json() == {"a": 1}
    assert response.headers["content-length"] == "7"
    assert pickle.loads(pickle.dumps(response)).content == b'{"a":1}'


@pytest.mark.anyio
@pytest.mark.parametrize("name", LIBRARIES)
async def test_whole_response_is_read_on_event_loops(name: str) -> None:
    library, response = whole(name)
    assert await response.aread() == response.content == b'{"a":1}'
    assert type(response) is library.Response


@pytest.mark.parametrize("name", LIBRARIES)
def test_whole_response_can_be_streamed(name: str) -> None:
    library, response = whole(name)
    assert list(response.iter_bytes()) == [b'{"a":1}']
    with pytest.raises(library.StreamConsumed):
        response.read()


@pytest.mark.parametrize("name", LIBRARIES)
def test_whole_response_that_was_closed_is_not_read(name: str) -> None:
    library, response = whole(name)
    response.close()
    with pytest.raises(library.StreamClosed):
        response.read()


def test_whole_response_of_a_library_with_other_internals_is_its_own() -> None:
    class Other(httpx2.Response):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.__dict__.pop("_content", None)

    class Library:
        Response = Other
        ByteStream = httpx2.ByteStream

    library: Any = Library
    response = whole_response(library, HEAD, b"x", httpx2.Request("GET", "http://a.test"), elapsed_s=0.5)
    assert type(response) is Other
    assert response.read() == b"x"
