"""What is kept of a provider's response beside its body."""

import httpx2

from tramapy.clients.http_messages import Head


def test_head_shows_no_header() -> None:
    head = Head.of(httpx2.Response(200, headers={"x-request-id": "r-1", "content-type": "text/plain"}))

    assert repr(head) == "Head(200)"
    assert head.headers == [(b"x-request-id", b"r-1")]
