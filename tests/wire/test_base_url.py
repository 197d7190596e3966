"""A client's address that no call can be sent to is refused by all that take a client, and never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tramapy import ConfigurationError, Fallback, wrap
from tramapy.providers import (
    AnthropicMessagesProvider,
    AsyncOpenAIChatProvider,
    OpenAIChatProvider,
    OpenAIResponsesProvider,
)

PASSWORD = "pw-6610-canary"
HTTP = httpx2.Client(verify=False)  # certificates take 30 ms to load
ASYNC_HTTP = httpx2.AsyncClient(verify=False)


def chat(url: str) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-plainly-fake", base_url=url, http_client=HTTP)


def achat(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="sk-plainly-fake", base_url=url, http_client=ASYNC_HTTP)


def claude(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="sk-plainly-fake", base_url=url, http_client=HTTP)


TAKERS: dict[str, Callable[[str], Any]] = {
    "wrap": lambda url: wrap(chat(url)),
    "wrap an async": lambda url: wrap(achat(url)),
    "wrap Anthropic": lambda url: wrap(claude(url)),
    "a fallback": lambda url: wrap(chat("http://localhost/v1"), fallbacks={"m": [Fallback(chat(url))]}),
    "OpenAIChatProvider": lambda url: OpenAIChatProvider(chat(url)),
    "AsyncOpenAIChatProvider": lambda url: AsyncOpenAIChatProvider(achat(url)),
    "OpenAIResponsesProvider": lambda url: OpenAIResponsesProvider(chat(url)),
    "AnthropicMessagesProvider": lambda url: AnthropicMessagesProvider(claude(url)),
}
NO_HOST = "names no host; begin it with https://, or with http:// for a server of your own"


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (f"user:{PASSWORD}@localhost/v1", NO_HOST),
        ("localhost:8000/v1", NO_HOST),
        (f" https://user:{PASSWORD}@localhost/v1", NO_HOST),
        ("https:/localhost/v1", NO_HOST),
        (
            f"https://user:{PASSWORD}@localhost/v1/chat/completions",
            "ends with /chat/completions, which the client adds itself; leave it out",
        ),
        ("http://localhost/v1/messages/", "ends with /messages, which the client adds itself; leave it out"),
        (f"http://localhost/{PASSWORD}/v1/v1", "ends with /v1 twice; write it once"),
    ],
    ids=[
        "no scheme",
        "a port and no scheme",
        "a blank",
        "one slash",
        "a call",
        "a call's and a slash",
        "twice",
    ],
)
def test_an_address_without_use_is_refused_and_not_shown(
    take: Callable[[str], Any], url: str, complaint: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        take(url)
    assert str(refused.value).endswith(f" got a client whose base_url {complaint}")
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        f"http://user:{PASSWORD}@localhost:8000/v1/",
        "https://gateway.example/v1/responses-of-all/v1",
        "http://[::1]:8000/v1",
    ],
)
def test_any_other_address_is_taken(take: Callable[[str], Any], url: str) -> None:
    assert take(url) is not None
