"""What a type checker must see of a wrapped client: the bare one's type. Never run: `make pyright` reads it."""

from __future__ import annotations

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic import Stream as AnthropicStream
from anthropic.lib.streaming import AsyncMessageStream, MessageStream
from anthropic.types import Message as AnthropicMessage
from anthropic.types import MessageParam, MessageTokensCount, RawMessageStreamEvent
from openai import AsyncAzureOpenAI, AsyncOpenAI, AsyncStream, AzureOpenAI, OpenAI, Stream
from openai.lib.streaming.chat import ChatCompletionStream
from openai.types import Completion, CreateEmbeddingResponse, ModerationCreateResponse
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageParam,
    ParsedChatCompletion,
)
from openai.types.responses import ParsedResponse, Response, ResponseStreamEvent
from pydantic import BaseModel

from tramapy import Fallback, RetryPolicySettings, wrap


class Shape(BaseModel):
    """What an answer is parsed to."""

    name: str


def types_stay(
    one: OpenAI,
    two: AsyncOpenAI,
    three: AzureOpenAI,
    four: AsyncAzureOpenAI,
    five: Anthropic,
    six: AsyncAnthropic,
) -> None:
    assert_type(wrap(one), OpenAI)
    assert_type(wrap(two), AsyncOpenAI)
    assert_type(wrap(three), AzureOpenAI)
    assert_type(wrap(four), AsyncAzureOpenAI)
    assert_type(wrap(five, strict=True, timeout_s=None), Anthropic)
    assert_type(wrap(six, fallbacks={"m": [Fallback(six, "n")]}, retry=RetryPolicySettings()), AsyncAnthropic)


def completions_stay(client: OpenAI) -> None:
    wrapped = wrap(client)
    answer = wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert_type(answer, ChatCompletion)


def mistakes_are_found(client: OpenAI) -> None:
    wrap(client, dlb=None)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    wrap("client")  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]


def calls_of_openai_stay(bare: OpenAI) -> None:
    """Every call has the type that the bare client's has."""
    client = wrap(bare)
    said: list[ChatCompletionMessageParam] = [{"role": "user", "content": "x"}]
    assert_type(
        client.chat.completions.create(model="m", messages=said, stream=True), Stream[ChatCompletionChunk]
    )
    assert_type(client.chat.completions.create(model="m", messages=said, stream=False), ChatCompletion)
    assert_type(
        client.chat.completions.parse(model="m", messages=said, response_format=Shape),
        ParsedChatCompletion[Shape],
    )
    with client.chat.completions.stream(model="m", messages=said) as stream:
        assert_type(stream, ChatCompletionStream[None])
    assert_type(client.responses.create(model="m", input="x"), Response)
    assert_type(client.responses.create(model="m", input="x", stream=True), Stream[ResponseStreamEvent])
    assert_type(client.responses.parse(model="m", input="x", text_format=Shape), ParsedResponse[Shape])
    assert_type(client.embeddings.create(model="m", input="x"), CreateEmbeddingResponse)
    assert_type(client.completions.create(model="m", prompt="x"), Completion)
    assert_type(client.moderations.create(input="x"), ModerationCreateResponse)
    assert_type(client.with_options(timeout=3), OpenAI)


async def calls_of_async_openai_stay(bare: AsyncOpenAI) -> None:
    client = wrap(bare)
    said: list[ChatCompletionMessageParam] = [{"role": "user", "content": "x"}]
    assert_type(await client.chat.completions.create(model="m", messages=said), ChatCompletion)
    stream = await client.chat.completions.create(model="m", messages=said, stream=True)
    assert_type(stream, AsyncStream[ChatCompletionChunk])
    async for chunk in stream:
        assert_type(chunk, ChatCompletionChunk)
    assert_type(await client.responses.create(model="m", input="x"), Response)
    assert_type(await client.embeddings.create(model="m", input="x"), CreateEmbeddingResponse)
    raw = await client.chat.completions.with_raw_response.create(model="m", messages=said)
    assert_type(raw.parse(), ChatCompletion)


def calls_of_anthropic_stay(bare: Anthropic) -> None:
    client = wrap(bare)
    said: list[MessageParam] = [{"role": "user", "content": "x"}]
    assert_type(client.messages.create(model="m", max_tokens=9, messages=said), AnthropicMessage)
    assert_type(
        client.messages.create(model="m", max_tokens=9, messages=said, stream=True),
        AnthropicStream[RawMessageStreamEvent],
    )
    with client.messages.stream(model="m", max_tokens=9, messages=said) as stream:
        assert_type(stream, MessageStream)
    assert_type(client.messages.count_tokens(model="m", messages=said), MessageTokensCount)


async def calls_of_async_anthropic_stay(bare: AsyncAnthropic) -> None:
    client = wrap(bare)
    said: list[MessageParam] = [{"role": "user", "content": "x"}]
    assert_type(await client.messages.create(model="m", max_tokens=9, messages=said), AnthropicMessage)
    async with client.messages.stream(model="m", max_tokens=9, messages=said) as stream:
        assert_type(stream, AsyncMessageStream)


def what_is_no_argument_of_a_call_is_found(client: OpenAI) -> None:
    wrap(client).embeddings.create(
        model="m",
        input="x",
        correlation_id="y",  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    )
