"""What cannot be governed or inspected: refused, or passed where it was allowed by name."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go, items_of
from tramapy import ConfigurationError, DlpInspectionError, InterceptorError, Message, OperationInterceptor
from tramapy.testing import RawBody

pytestmark = SDK_LEAVES_GENERATORS

OLD_API = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")

FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 2,
    "created_at": 1,
    "filename": "f",
    "purpose": "user_data",
}
MP3 = {"content-type": "audio/mpeg"}


def upload(client: Any) -> Any:
    return client.files.create(file=b"xx", purpose="user_data")


def unscanned(use: Use) -> list[object]:
    return [each["reason_code"] for each in use.observer.attributes_of("tramai.content.unscanned")]


def test_an_upload_is_refused_and_the_message_says_how_to_allow_it(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(
            ConfigurationError, match=r"files\.create .*allow=\{\"files\.create\"\}"
        ) as caught:
            await go(upload(use.client))
        assert isinstance(caught.value, openai.OpenAIError)
        assert use.server.requests == ()

    world.use([], step)


def test_an_upload_that_is_allowed_passes_and_is_told_of(world: World) -> None:
    async def step(use: Use) -> None:
        assert (await go(upload(use.client))).id == "file-1"
        assert unscanned(use) == ["request_body"]

    sent = world.use_stub([httpx2.Response(200, json=FILE)], step, allow={"files.create"}, timeout_s=9.0)
    assert sent[0].headers["content-type"].startswith("multipart/form-data")
    assert b"xx" in sent[0].content
    assert sent[0].extensions["timeout"] == {"connect": 5.0, "read": 9.0, "write": 9.0, "pool": 9.0}


def test_a_body_that_is_no_object_is_refused(world: World) -> None:
    async def step(use: Use) -> None:
        for body in ([1, 2], "text"):
            with pytest.raises(ConfigurationError, match="no JSON"):
                await go(use.client.post("/things", cast_to=object, body=body))

    world.use([], step)


def test_strict_refuses_even_what_is_allowed(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(DlpInspectionError, match="request_body"):
            await go(upload(use.client))
        assert use.server.requests == ()

    world.use([], step, allow={"files.create"}, strict=True)


@OLD_API
def test_a_stream_of_an_unknown_format_is_refused(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(ConfigurationError, match=r"threads\.runs\.create"):
            await go(use.client.beta.threads.runs.create(thread_id="t_1", assistant_id="a", stream=True))

    world.use([], step)


@OLD_API
def test_a_stream_that_is_allowed_passes(world: World) -> None:
    frames = b'event: thread.created\ndata: {"id":"t_1","object":"thread","created_at":1}\n\ndata: [DONE]\n\n'

    async def step(use: Use) -> None:
        stream = await go(use.client.beta.threads.runs.create(thread_id="t_1", assistant_id="a", stream=True))
        assert [event.event for event in await items_of(stream)] == ["thread.created"]
        assert unscanned(use) == ["answer_stream", "binary_answer"]

    answer = httpx2.Response(200, content=frames, headers={"content-type": "text/event-stream"})
    world.use_stub([answer], step, allow={"beta.threads.runs.create"})


def test_a_binary_answer_passes_and_is_told_of(world: World) -> None:
    async def step(use: Use) -> None:
        speech = await go(use.client.audio.speech.create(model="m", voice="v", input="x"))
        assert speech.content == b"\x00\x01"
        assert unscanned(use) == ["binary_answer"]
        manager = use.client.audio.speech.with_streaming_response.create(model="m", voice="v", input="x")
        if world.is_async:
            async with manager as response:
                assert [chunk async for chunk in response.iter_bytes()] == [b"\x00\x01"]
        else:
            with manager as response:
                assert list(response.iter_bytes()) == [b"\x00\x01"]

    world.use_stub([httpx2.Response(200, content=b"\x00\x01", headers=MP3) for _ in range(2)], step)


def test_strict_refuses_a_binary_answer_and_closes_it(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(DlpInspectionError, match="binary_answer"):
            await go(use.client.audio.speech.create(model="m", voice="v", input="x"))

    answer = httpx2.Response(200, stream=Endless(), headers=MP3)
    world.use_stub([answer], step, strict=True)
    assert answer.is_closed


class Endless(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that nobody may read."""

    async def aclose(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (204, {}),
        (200, {"content-length": "0"}),
        (200, {"content-length": "0", "content-type": "application/json"}),
    ],
    ids=["204", "empty", "empty JSON"],
)
def test_an_empty_answer_is_nothing_unscanned(world: World, status: int, headers: dict[str, str]) -> None:
    async def step(use: Use) -> None:
        await go(use.client.delete("/things/1", cast_to=type(None)))
        assert unscanned(use) == []

    world.use_stub([httpx2.Response(status, headers=headers)], step, strict=True)


def test_the_type_of_json_may_be_in_capitals(world: World) -> None:
    async def step(use: Use) -> None:
        await go(use.client.models.retrieve("m"))
        assert unscanned(use) == []

    body = b'{"id":"m","object":"model","created":1,"owned_by":"x"}'
    world.use_stub([httpx2.Response(200, content=body, headers={"content-type": "Application/JSON"})], step)


def test_a_call_without_a_body_is_sent_without_one(world: World) -> None:
    async def step(use: Use) -> None:
        assert (await go(use.client.models.retrieve("m"))).id == "m"
        assert use.observer.attributes_of("tramai.operation.started")[0]["method_name"] == "models.retrieve"

    body = {"id": "m", "object": "model", "created": 1, "owned_by": "x"}
    sent = world.use_stub([httpx2.Response(200, json=body)], step)
    assert (sent[0].method, sent[0].content) == ("GET", b"")


def test_another_host_is_refused_unless_allowed(world: World) -> None:
    async def step(use: Use) -> None:
        elsewhere = use.server.base_url.replace("127.0.0.1", "localhost")
        with pytest.raises(ConfigurationError, match=r"allow=\{\"localhost\"\}"):
            await go(use.client.post(f"{elsewhere}/moderations", cast_to=object, body={}))
        assert use.server.requests == ()

    world.use([], step)


def test_a_host_that_is_allowed_is_governed(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(openai.NotFoundError):
            await go(use.client.post("http://localhost/v1/moderations", cast_to=object, body={}))
        assert (
            use.observer.attributes_of("tramai.operation.started")[0]["method_name"] == "moderations.create"
        )

    world.use_stub([httpx2.Response(404)], step, allow=["localhost"])


@pytest.mark.usefixtures("simple")
class TestOpaqueContent:
    """By the small codec, which calls some content opaque."""

    def test_it_passes_and_is_told_of(self, world: World) -> None:
        async def step(use: Use) -> None:
            await use.ask(extra_body={"previous_response_id": "r"})
            await use.stream()
            assert unscanned(use) == ["previous_response_id", "opaque", "opaque"]

        world.use([opaque(), opaque_stream()], step)

    def test_strict_refuses_it(self, world: World) -> None:
        async def step(use: Use) -> None:
            with pytest.raises(DlpInspectionError, match="previous_response_id"):
                await use.ask(extra_body={"previous_response_id": "r"})
            with pytest.raises(DlpInspectionError, match="opaque"):
                await use.ask()
            with pytest.raises(DlpInspectionError, match="opaque"):
                await use.stream()
            assert len(use.server.requests) == 2

        world.use([opaque(), opaque_stream()], step, strict=True)

    def test_what_a_format_has_no_place_for_is_the_interceptor_s_fault(self, world: World) -> None:
        class Adding(OperationInterceptor):
            def intercept_request(self, context: Any, messages: Any) -> Any:
                return [*messages, Message.tool("x", tool_call_id="1")]

        async def step(use: Use) -> None:
            with pytest.raises(InterceptorError, match="no place"):
                await use.ask()
            assert use.server.requests == ()

        world.use([], step, interceptors=[Adding()])


def opaque() -> RawBody:
    choice = {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}
    return RawBody(body={"id": "c", "choices": [choice], "opaque": True})


def opaque_stream() -> RawBody:
    body = (
        b'data: {"id":"c","opaque":true,"choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'
    )
    return RawBody(body=body, headers={"content-type": "text/event-stream"})
