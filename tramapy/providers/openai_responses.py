"""`OpenAIResponsesProvider` and `AsyncOpenAIResponsesProvider`: responses over the OpenAI SDK."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tramapy.bounded import DEFAULT_LIMIT_BYTES
from tramapy.errors import ConfigurationError
from tramapy.providers.constructor import explains_options
from tramapy.providers.http_provider import AsyncHttpProvider, Codec, HttpProvider, ProviderOptions
from tramapy.providers.openai_responses_codec import decode_response, encode_request
from tramapy.providers.openai_responses_stream import ResponsesAnswer
from tramapy.providers.openai_sdk import OPENAI
from tramapy.providers.sdk import AsyncSdkEndpoint, SdkEndpoint
from tramapy.values import described

if TYPE_CHECKING:
    import openai

__all__ = ["AsyncOpenAIResponsesProvider", "OpenAIResponsesProvider"]


class OpenAIResponsesProvider(HttpProvider):
    """Answers from `client.responses`, for `Tramapy`; OpenAI, Azure, and servers that speak the same.

    The client is left as it is: a derived one is used, with the SDK's own retries off. Every failure comes as
    a `ProviderError` of fixed words. A response is closed on every exit.

    Args:
        client: An `openai.OpenAI`, or a class derived from it; closing it stays with its owner.
        store: Whether OpenAI may keep the answer on its side; None leaves that to it, and it does. Each
            request has the whole history, so nothing here needs it.
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
        store: bool | None = False,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        codec = _codec(store)
        super().__init__(SdkEndpoint(OPENAI, client, "OpenAIResponsesProvider", _create), codec, options)


class AsyncOpenAIResponsesProvider(AsyncHttpProvider):
    """Answers from `client.responses`, for `AsyncTramapy`, on asyncio and trio.

    All else is as for `OpenAIResponsesProvider`. A stream must be closed by its user (`aclosing`); one that
    is only dropped is closed when the event loop finalizes it.

    Args:
        client: An `openai.AsyncOpenAI`, or a class derived from it; closing it stays with its owner.
        store: Whether OpenAI may keep the answer on its side; None leaves that to it, and it does.
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
        store: bool | None = False,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        codec = _codec(store)
        endpoint = AsyncSdkEndpoint(OPENAI, client, "AsyncOpenAIResponsesProvider", _create)
        super().__init__(endpoint, codec, options)


def _codec(store: bool | None) -> Codec:
    if store is not None and not isinstance(store, bool):
        raise ConfigurationError(f"store is {described(store)}; give True, False or None")
    return Codec(
        encode=functools.partial(encode_request, store=store),
        decode=decode_response,
        answer_in_parts=ResponsesAnswer,
    )


def _create(client: Any) -> Any:
    return client.responses.with_streaming_response.create
