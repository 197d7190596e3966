"""What is kept of a provider's response beside its body."""

import httpx2

from tramapy.clients.http_messages import Head


def test_head_shows_no_header() -> None:
    head = Head.of(httpx2.Response(200, headers={"x-request-id": "r-1", "content-type": "text/plain"}))

    assert repr(head) == "Head(200)"
    assert head.headers == [(b"x-request-id", b"r-1")]


def test_head_says_what_the_body_is() -> None:
    head = Head.of(httpx2.Response(204, headers={"Content-Encoding": "gzip", "Content-Type": "a/b; c=d"}))

    assert head.content_type == "a/b; c=d"
    assert head.is_encoded
    assert head.is_success
    assert not Head.of(httpx2.Response(304)).is_success
