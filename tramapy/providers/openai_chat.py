"""`OpenAIChatProvider` and `AsyncOpenAIChatProvider`: chat completions over the OpenAI SDK."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tramapy.bounded import DEFAULT_LIMIT_BYTES
from tramapy.providers.constructor import explains_options
from tramapy.providers.http_provider import AsyncHttpProvider, Codec, HttpProvider, ProviderOptions
from tramapy.providers.openai_chat_codec import decode_response, encode_request
from tramapy.providers.openai_chat_stream import ChatAnswer
from tramapy.providers.openai_sdk import OPENAI
from tramapy.providers.sdk import AsyncSdkEndpoint, SdkEndpoint

if TYPE_CHECKING:
    import openai

__all__ = ["AsyncOpenAIChatProvider", "OpenAIChatProvider"]

_CODEC: Final = Codec(encode=encode_request, decode=decode_response, answer_in_parts=ChatAnswer)


class OpenAIChatProvider(HttpProvider):
    """Answers from `client.chat.completions`, for `Tramapy`; OpenAI, Azure, and servers that speak the same.

    The client is left as it is: a derived one is used, with the SDK's own retries off. Every failure comes as
    a `ProviderError` of fixed words. A response is closed on every exit.

    Args:
        client: An `openai.OpenAI`, or a class derived from it; closing it stays with its owner.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.

    Raises:
        ConfigurationError: The SDK is older than 2, or an argument cannot work.
    """

    @explains_options
    def __init__(
        self,
        client: openai.OpenAI,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        super().__init__(SdkEndpoint(OPENAI, client, "OpenAIChatProvider", _create), _CODEC, options)


class AsyncOpenAIChatProvider(AsyncHttpProvider):
    """Answers from `client.chat.completions`, for `AsyncTramapy`, on asyncio and trio.

    All else is as for `OpenAIChatProvider`. A stream must be closed by its user (`aclosing`); one that is
    only dropped is closed when the event loop finalizes it.

    Args:
        client: An `openai.AsyncOpenAI`, or a class derived from it; closing it stays with its owner.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.

    Raises:
        ConfigurationError: The SDK is older than 2, or an argument cannot work.
    """

    @explains_options
    def __init__(
        self,
        client: openai.AsyncOpenAI,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        endpoint = AsyncSdkEndpoint(OPENAI, client, "AsyncOpenAIChatProvider", _create)
        super().__init__(endpoint, _CODEC, options)


def _create(client: Any) -> Any:
    return client.chat.completions.with_streaming_response.create
