"""Answers of calls without a format of their own: text, JSON under another type, bytes, and streams."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go
from tramapy import (
    ConfigurationError,
    DlpInspectionError,
    DlpRule,
    InterceptorError,
    ProviderError,
    ProviderTimeoutError,
    ResponseTooLargeError,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
)
from tramapy.clients.other_answer import OtherAnswer, is_json
from tramapy.errors import ProviderFailureCode
from tramapy.messages import ModelResponse
from tramapy.testing import FakeClock

pytestmark = SDK_LEAVES_GENERATORS

DLP = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(rules=[DlpRule(id="s", pattern="secret", replacement="[ß]")])
)
STREAM = {"content-type": "text/event-stream"}


def ask(use: Use) -> Any:
    """Ask for a thing, and get the response as it came."""
    return go(use.client.get("/things", cast_to=httpx2.Response))


def unscanned(use: Use) -> list[object]:
    return [each["reason_code"] for each in use.observer.attributes_of("tramai.content.unscanned")]


@pytest.mark.parametrize(
    ("content", "content_type", "seen"),
    [
        (b'{"note": "a secret", "id": "secret"}', None, b'{"note":"a [\xc3\x9f]","id":"secret"}'),
        (b'["a secret"]', "text/plain", b'["a [\xc3\x9f]"]'),
        (b"a secret", "text/plain", b"a [\xc3\x9f]"),
        (b"a secret", None, b"a [\xc3\x9f]"),
        (b"a secr\xe9, no secret", "text/csv; charset=ISO-8859-1", b"a secr\xe9, no [\xdf]"),
        (b"harmless", "text/html; charset=nobody-knows", b"harmless"),
        (b"harmless", "text/html; charset=base64", b"harmless"),
        ("a secret".encode("utf-16-le"), "text/plain; charset=utf-16-le", "a [ß]".encode("utf-16-le")),
        (b"12", "text/plain", b"12"),
        (b"a secret", "text/plain; charset=ascii", b"a [?]"),
        (b"a secret", "text/plain; charset=utf-16", b"a [\xc3\x9f]"),
        (b"a secret", "application/binary", b"a [\xc3\x9f]"),
        (b'{\n  "a": 1.10\n}\n', "application/binary", b'{\n  "a": 1.10\n}\n'),
        (b'{"a": 1}\r\n\n{"b": 2}', "text/plain", b'{"a": 1}\r\n\n{"b": 2}'),
        (b'{"a": 1, "a": 2}', "text/plain", b'{"a":2}'),
        (b"[" * 100_000, "text/plain", b"[" * 100_000),
        (b"", None, b""),
    ],
)
def test_text_and_json_are_inspected_whatever_their_type(
    content: bytes, content_type: str | None, seen: bytes
) -> None:
    async def step(use: Use) -> None:
        response = await ask(use)
        assert response.content == seen
        assert response.headers.get("content-type") == content_type
        assert unscanned(use) == []

    headers = {} if content_type is None else {"content-type": content_type}
    stream = httpx2.ByteStream(content)
    World("sync").use_stub([httpx2.Response(200, headers=headers, stream=stream)], step, dlp=DLP, strict=True)


@pytest.mark.parametrize(
    ("content", "charset", "seen"),
    [
        (b"\xff\xfe", "utf-8", b"\xff\xfe"),
        (b"s\0e\0", "utf-8", b"s\0e\0"),
        (b"a secret\0", "utf-8", b"a [\xc3\x9f]\0"),
        (b"caf\xe9, a secret", "utf-8", b"caf\xe9, a [\xc3\x9f]"),
        (b"a secret\xc3", "utf-16", b"a [\xc3\x9f]\xc3"),
        (b"a secret\xff", "ascii", b"a [\xc3\x9f]\xff"),
    ],
)
def test_what_is_no_text_as_a_whole_is_told_of_and_inspected(
    content: bytes, charset: str, seen: bytes
) -> None:
    async def step(use: Use) -> None:
        assert (await ask(use)).content == seen
        assert unscanned(use) == ["binary_answer"]

    headers = {"content-type": f"text/plain; charset={charset}"}
    answer = httpx2.Response(200, stream=httpx2.ByteStream(content), headers=headers)
    World("sync").use_stub([answer], step, dlp=DLP)


def test_a_file_that_passes_keeps_its_length() -> None:
    async def step(use: Use) -> None:
        files = [await ask(use) for _ in range(2)]
        assert [file.headers.get("content-length") for file in files] == ["2", None]

    packed = {"content-type": "application/binary", "content-encoding": "gzip"}
    answers = [
        httpx2.Response(200, content=b"\0a", headers={"content-type": "application/binary"}),
        httpx2.Response(200, content=gzip.compress(b"\0a"), headers=packed),
    ]
    World("sync").use_stub(answers, step)


def test_what_is_no_text_is_refused_where_it_must_be(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(DlpInspectionError, match="binary_answer"):
            await ask(use)

    body = httpx2.ByteStream(b"\xff")
    world.use_stub([httpx2.Response(200, stream=body)], step, strict=True)


def test_a_stream_that_nobody_asked_for_is_refused(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(ConfigurationError, match=r'allow=\{"things\.create"\}'):
            await go(use.client.post("/things", body={"a": "b"}, cast_to=object))

    answer = httpx2.Response(200, content=b"data: x\n\n", headers=STREAM)
    world.use_stub([answer], step)
    assert answer.is_closed


def test_a_stream_that_is_read_as_one_passes_and_is_told_of() -> None:
    async def step(use: Use) -> None:
        stream = use.client.get("/things", cast_to=object, stream=True, stream_cls=openai.Stream[object])
        assert stream.response.read() == b"data: x\n\n"
        assert unscanned(use) == ["binary_answer"]

    World("sync").use_stub([httpx2.Response(200, content=b"data: x\n\n", headers=STREAM)], step)


LINES = b'{"custom_id":"secret-1","note":"a \\u0073ecret"}\r\n\n{"id":"secret"}'


@pytest.mark.parametrize(
    "content_type", ["application/x-jsonl", "application/octet-stream", "text/plain; charset=x"]
)
def test_json_by_the_line_is_inspected(world: World, content_type: str) -> None:
    async def step(use: Use) -> None:
        response = await ask(use)
        assert response.text == '{"custom_id":"secret-1","note":"a [ß]"}\n{"id":"secret"}\n'
        assert response.headers["content-type"] == content_type.partition(";")[0]
        assert unscanned(use) == []

    answer = httpx2.Response(200, stream=httpx2.ByteStream(LINES), headers={"content-type": content_type})
    world.use_stub([answer], step, dlp=DLP, strict=True)
    assert answer.is_closed


def test_what_is_no_line_of_json_makes_a_text_of_all() -> None:
    assert is_json("application/problem+json")
    assert not is_json("application/x-jsonl")

    async def step(use: Use) -> None:
        assert (await ask(use)).text == '{"a": 1}\n\na [ß]\n'

    answer = httpx2.Response(
        200, content=b'{"a": 1}\n\na secret\n', headers={"content-type": "application/yaml"}
    )
    World("sync").use_stub([answer], step, dlp=DLP)


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self.given = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.given += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.given += 1
            yield piece

    def close(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("pieces", "read_count"),
    [((b"secret\xc3", b"\xc3", b"secret"), 2), ((b"secret\0", b"x"), 1), ((b"secret" * 20, b"more"), 1)],
    ids=["no UTF-8", "NUL", "long"],
)
def test_a_file_that_is_no_text_or_too_long_passes_as_it_comes(
    world: World, pieces: tuple[bytes, ...], read_count: int
) -> None:
    body = Pieces(*pieces)
    answer = httpx2.Response(200, stream=body, headers={"content-type": "application/octet-stream"})

    async def step(use: Use) -> None:
        manager = use.client.files.with_streaming_response.content("f")
        if world.is_async:
            async with manager as response:
                assert body.given == read_count
                assert b"".join([chunk async for chunk in response.iter_bytes()]) == b"".join(pieces)
        else:
            with manager as response:
                assert body.given == read_count
                assert b"".join(response.iter_bytes()) == b"".join(pieces)
        assert unscanned(use) == ["binary_answer"]

    world.use_stub([answer], step, dlp=DLP, limit_bytes=100)
    assert answer.is_closed


def test_a_text_of_any_length_passes_where_its_call_is_allowed(world: World) -> None:
    async def step(use: Use) -> None:
        assert (await go(use.client.files.content("f"))).text == "secret" * 20
        assert unscanned(use) == ["binary_answer"]
        with pytest.raises(ResponseTooLargeError):
            await ask(use)

    text = {"content-type": "text/plain"}
    answers = [httpx2.Response(200, content=b"secret" * 20, headers=text) for _ in range(2)]
    world.use_stub(answers, step, dlp=DLP, limit_bytes=100, allow={"files.content"})


def test_a_length_beside_chunks_says_nothing() -> None:
    async def step(use: Use) -> None:
        assert (await ask(use)).text == "a [ß]"

    headers = {"content-type": "text/plain", "content-length": "0", "transfer-encoding": "chunked"}
    World("sync").use_stub([httpx2.Response(200, stream=Pieces(b"a secret"), headers=headers)], step, dlp=DLP)


def test_an_interceptor_cannot_add_to_a_text_that_is_no_answer_of_a_model() -> None:
    answer = OtherAnswer(b"a", "text/plain")
    assert answer.body is None
    assert answer.rewritten(answer.responses, ["a"]) is answer
    with pytest.raises(InterceptorError):
        answer.rewritten([ModelResponse(content="more")], ["a"])


class Slow(Pieces):
    """A body that takes ten seconds a piece."""

    def __init__(self, use_clock: FakeClock, *pieces: bytes) -> None:
        super().__init__(*pieces)
        self.clock = use_clock

    def __iter__(self) -> Iterator[bytes]:
        for piece in super().__iter__():
            self.clock.advance(10)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in super().__aiter__():
            self.clock.advance(10)
            yield piece


def test_a_file_that_trickles_does_not_outlast_the_limit(world: World) -> None:
    body = Slow(world.clock, b"a", b"b", b"c")
    answer = httpx2.Response(200, stream=body, headers={"content-type": "application/octet-stream"})

    async def step(use: Use) -> None:
        with pytest.raises(ProviderTimeoutError):
            await ask(use)

    world.use_stub([answer], step, timeout_s=15, retry=RetryPolicySettings(provider_retries=0))
    assert answer.is_closed


class Lost(Pieces):
    """A body that ends in an error."""

    def __iter__(self) -> Iterator[bytes]:
        yield from super().__iter__()
        raise httpx2.ReadError("lost")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in super().__aiter__():
            yield piece
        raise httpx2.ReadError("lost")


def test_a_file_that_is_lost_on_the_way_fails(world: World) -> None:
    answer = httpx2.Response(200, stream=Lost(b"a"), headers={"content-type": "application/octet-stream"})

    async def step(use: Use) -> None:
        with pytest.raises(ProviderError) as caught:
            await ask(use)
        assert caught.value.failure_code is ProviderFailureCode.TRANSPORT_FAILED

    world.use_stub([answer], step, dlp=DLP, retry=RetryPolicySettings(provider_retries=0))
    assert answer.is_closed
