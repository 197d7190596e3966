"""Answers of calls without a format of their own: text, JSON under another type, bytes, and streams."""

from __future__ import annotations

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
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
)
from tramapy.clients.other_answer import OtherAnswer, is_json
from tramapy.messages import ModelResponse

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


@pytest.mark.parametrize("content", [b"\xff\xfe", b"s\0e\0"])
def test_what_is_no_text_passes_and_is_told_of(content: bytes) -> None:
    async def step(use: Use) -> None:
        assert (await ask(use)).content == content
        assert unscanned(use) == ["binary_answer"]

    World("sync").use_stub([httpx2.Response(200, stream=httpx2.ByteStream(content))], step, dlp=DLP)


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


def test_json_by_the_line_is_no_json() -> None:
    assert is_json("application/problem+json")
    assert not is_json("application/x-jsonl")

    async def step(use: Use) -> None:
        assert (await ask(use)).content == b"{}\n{}\n"
        assert unscanned(use) == ["binary_answer"]

    lines = {"content-type": "application/x-jsonl"}
    World("sync").use_stub([httpx2.Response(200, content=b"{}\n{}\n", headers=lines)], step)


def test_an_interceptor_cannot_add_to_a_text_that_is_no_answer_of_a_model() -> None:
    answer = OtherAnswer(b"a", "text/plain")
    assert answer.body is None
    assert answer.rewritten(answer.responses, ["a"]) is answer
    with pytest.raises(InterceptorError):
        answer.rewritten([ModelResponse(content="more")], ["a"])
