"""What a type checker must see of a wrapped client: checked by pyright and mypy, never run."""

from __future__ import annotations

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI
from openai.types.chat import ChatCompletion

from tramapy import Fallback, RetryPolicySettings, wrap


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
