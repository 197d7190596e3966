"""`ScriptedProvider`: what each kind of answer gives, sync and async, and what is recorded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing

import anyio
import pytest

from tramapy import RetryPolicySettings, Tramapy
from tramapy.errors import ConfigurationError, ProviderError
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability
from tramapy.messages import (
    Chunk,
    CompletedChunk,
    ImagePart,
    Message,
    ModelRequest,
    ModelResponse,
    TextChunk,
    TextPart,
    ToolCall,
    ToolCallChunk,
)
from tramapy.testing import ProviderAnswer, ScriptedProvider, split_every

CALL = ToolCall(id="c1", name="search", arguments_json="{}")


def request(text: str = "hello") -> ModelRequest:
    return ModelRequest(model="m", messages=(Message.user(text),))


def _complete(provider: ScriptedProvider) -> ModelResponse:
    return provider.complete(request())


def _acomplete(provider: ScriptedProvider) -> ModelResponse:
    return anyio.run(provider.acomplete, request())


def _stream(provider: ScriptedProvider) -> list[Chunk]:
    return list(provider.stream(request()))


def _astream(provider: ScriptedProvider) -> list[Chunk]:
    async def main() -> list[Chunk]:
        return [chunk async for chunk in provider.astream(request())]

    return anyio.run(main)


both_completes = pytest.mark.parametrize("complete", [_complete, _acomplete], ids=["sync", "async"])
both_streams = pytest.mark.parametrize("stream", [_stream, _astream], ids=["sync", "async"])
Complete = Callable[[ScriptedProvider], ModelResponse]
Stream = Callable[[ScriptedProvider], list[Chunk]]

RESPONSE = ModelResponse(content="a b", tool_calls=(CALL,), refusal="no")

whole_answers = pytest.mark.parametrize(
    ("answer", "response"),
    [
        pytest.param("a b", ModelResponse(content="a b"), id="text"),
        pytest.param(RESPONSE, RESPONSE, id="response"),
        pytest.param(
            lambda request: request.messages[0].content, ModelResponse(content="hello"), id="callable"
        ),
        pytest.param(
            ["a ", TextChunk("b"), ToolCallChunk(CALL)],
            ModelResponse(content="a b", tool_calls=(CALL,)),
            id="script",
        ),
        pytest.param(["x", CompletedChunk(RESPONSE)], RESPONSE, id="script-with-its-end"),
    ],
)


@both_completes
@whole_answers
def test_complete_gives_the_answer(
    complete: Complete, answer: ProviderAnswer, response: ModelResponse
) -> None:
    assert complete(ScriptedProvider([answer])) == response


@both_streams
@pytest.mark.parametrize(
    ("answer", "chunks"),
    [
        pytest.param(
            "a b",
            [TextChunk("a "), TextChunk("b"), CompletedChunk(ModelResponse(content="a b"))],
            id="text",
        ),
        pytest.param("", [CompletedChunk(ModelResponse())], id="empty"),
        pytest.param(
            RESPONSE,
            [TextChunk("a "), TextChunk("b"), ToolCallChunk(CALL), CompletedChunk(RESPONSE)],
            id="response",
        ),
        pytest.param(["a", ToolCallChunk(CALL)], [TextChunk("a"), ToolCallChunk(CALL)], id="script-as-it-is"),
    ],
)
def test_stream_gives_the_answer_in_pieces(
    stream: Stream, answer: ProviderAnswer, chunks: list[Chunk]
) -> None:
    assert stream(ScriptedProvider([answer])) == chunks


@both_completes
def test_text_reports_no_usage(complete: Complete) -> None:
    usage = complete(ScriptedProvider(["a b"])).usage
    assert (usage.input_tokens, usage.output_tokens) == (None, None)


@both_streams
def test_stream_falls_into_pieces_as_told(stream: Stream) -> None:
    chunks = stream(ScriptedProvider(["abc"], split=split_every(1)))

    assert chunks[:-1] == [TextChunk("a"), TextChunk("b"), TextChunk("c")]


@both_streams
def test_text_of_a_multimodal_response_is_streamed(stream: Stream) -> None:
    parts = (TextPart("a"), ImagePart(url="http://127.0.0.1/i.png"), TextPart("b"))

    assert stream(ScriptedProvider([ModelResponse(content_parts=parts)]))[0] == TextChunk("ab")


@both_completes
@pytest.mark.parametrize(
    "answer",
    [ProviderError("down"), ["half", ProviderError("down")], lambda request: ProviderError("down")],
    ids=["error", "script", "callable"],
)
def test_complete_raises_an_error_of_the_script(complete: Complete, answer: ProviderAnswer) -> None:
    with pytest.raises(ProviderError, match="down"):
        complete(ScriptedProvider([answer]))


@both_completes
def test_complete_raises_an_error_class(complete: Complete) -> None:
    with pytest.raises(asyncio.CancelledError):
        complete(ScriptedProvider([asyncio.CancelledError]))


@both_streams
@pytest.mark.parametrize(
    "answer", [KeyError, KeyError("x"), ["half", KeyError]], ids=["class", "error", "later"]
)
def test_stream_raises_an_error_and_is_closed(stream: Stream, answer: ProviderAnswer) -> None:
    provider = ScriptedProvider([answer])

    with pytest.raises(KeyError):
        stream(provider)
    assert provider.open_stream_count == 0


@both_streams
def test_stream_of_a_failing_callable_is_closed(stream: Stream) -> None:
    def fail(request: ModelRequest) -> str:
        raise KeyError("x")

    provider = ScriptedProvider([fail])

    with pytest.raises(KeyError):
        stream(provider)
    assert provider.open_stream_count == 0


async def _later(request: ModelRequest) -> str:
    await anyio.lowlevel.checkpoint()
    return request.messages[0].content


@pytest.mark.anyio
async def test_async_callable_is_awaited() -> None:
    provider = ScriptedProvider([_later], repeat_last=True)

    assert (await provider.acomplete(request("hi"))).content == "hi"
    assert await anext(provider.astream(request("hi"))) == TextChunk("hi")


@pytest.mark.parametrize("answer", [_complete, _stream], ids=["complete", "stream"])
def test_async_callable_is_refused_by_the_sync_methods(answer: Callable[[ScriptedProvider], object]) -> None:
    with pytest.raises(TypeError, match="this answer is an async callable"):
        answer(ScriptedProvider([_later]))


def test_awaitable_that_is_no_coroutine_is_refused_too() -> None:
    class Pending:
        def __await__(self) -> object:
            return iter(())

    with pytest.raises(TypeError, match="this answer is an async callable"):
        ScriptedProvider([lambda request: Pending()]).complete(request())  # type: ignore[list-item]


@pytest.mark.parametrize("call", [_complete, _acomplete, _stream, _astream], ids=lambda call: call.__name__)
def test_running_out_of_answers_names_the_count(call: Callable[[ScriptedProvider], object]) -> None:
    provider = ScriptedProvider(["only"])
    call(provider)

    with pytest.raises(AssertionError, match="has 1 answer and got request 2; add an answer"):
        call(provider)
    assert (len(provider.requests), provider.open_stream_count) == (2, 0)


def test_running_out_of_answers_is_told_through_the_engine() -> None:
    facade = Tramapy({"p": ScriptedProvider()}, retry=RetryPolicySettings(provider_retries=2))
    with pytest.raises(
        ConfigurationError, match=r"^ScriptedProvider has 0 answers and got request 1; add an answer"
    ):
        facade.complete([Message.user("x")], model="m")


def test_last_answer_repeats_where_told() -> None:
    provider = ScriptedProvider(["first", "last"], repeat_last=True)

    assert [provider.complete(request()).content for _ in range(4)] == ["first", "last", "last", "last"]


def test_nothing_to_repeat_is_refused() -> None:
    with pytest.raises(ValueError, match="repeat_last needs at least one answer"):
        ScriptedProvider(repeat_last=True)


def test_requests_are_recorded_in_order() -> None:
    provider = ScriptedProvider(["x"], repeat_last=True)

    provider.complete(request("one"))
    provider.stream(request("two"))

    assert [item.messages[0].content for item in provider.requests] == ["one", "two"]


def test_stream_is_open_until_its_end() -> None:
    provider = ScriptedProvider(["a b"])
    stream = provider.stream(request())

    counts = [provider.open_stream_count for _ in stream]

    assert (counts, provider.open_stream_count) == ([1, 1, 1], 0)


def test_closed_stream_gives_nothing_more() -> None:
    provider = ScriptedProvider(["a b"])
    stream = provider.stream(request())
    next(stream)

    stream.close()  # type: ignore[attr-defined]
    stream.close()  # type: ignore[attr-defined]

    assert (list(stream), provider.open_stream_count) == ([], 0)


@pytest.mark.anyio
async def test_closed_async_stream_gives_nothing_more() -> None:
    provider = ScriptedProvider(["a b"])
    async with aclosing(provider.astream(request())) as stream:  # type: ignore[type-var]
        await anext(stream)
        assert provider.open_stream_count == 1

    assert ([chunk async for chunk in stream], provider.open_stream_count) == ([], 0)


@pytest.mark.anyio
async def test_async_methods_notice_a_cancellation() -> None:
    provider = ScriptedProvider(["a b"], repeat_last=True)
    stream = provider.astream(request())

    for step in (lambda: provider.acomplete(request()), lambda: anext(stream)):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await step()
        assert scope.cancelled_caught


def test_threads_get_each_answer_once() -> None:
    provider = ScriptedProvider([str(number) for number in range(400)])
    seen: list[str] = []

    def ask() -> None:
        for _ in range(100):
            seen.append(provider.complete(request()).content)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(seen, key=int) == [str(number) for number in range(400)]


def test_it_serves_both_worlds_and_claims_what_the_base_claims() -> None:
    provider = ScriptedProvider()

    assert isinstance(provider, Provider)
    assert isinstance(provider, AsyncProvider)
    assert provider.capabilities == {ProviderCapability.VISION, ProviderCapability.STREAMING}


def test_repr_shows_no_text() -> None:
    provider = ScriptedProvider(["secret"])
    provider.complete(request("secret"))

    assert repr(provider) == "ScriptedProvider(<1 answers>, <1 requests>)"
