"""`AnthropicMessagesProvider` and `AsyncAnthropicMessagesProvider`: messages over the Anthropic SDK."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tramapy.bounded import DEFAULT_LIMIT_BYTES
from tramapy.errors import ConfigurationError
from tramapy.providers.anthropic_messages_codec import decode_response, encode_request
from tramapy.providers.anthropic_messages_stream import MessagesAnswer
from tramapy.providers.anthropic_sdk import ANTHROPIC
from tramapy.providers.constructor import explains_options
from tramapy.providers.http_provider import AsyncHttpProvider, Codec, HttpProvider, ProviderOptions
from tramapy.providers.sdk import AsyncSdkEndpoint, SdkEndpoint
from tramapy.values import described, shown

if TYPE_CHECKING:
    import anthropic

__all__ = ["DEFAULT_MAX_OUTPUT_TOKENS", "AnthropicMessagesProvider", "AsyncAnthropicMessagesProvider"]

DEFAULT_MAX_OUTPUT_TOKENS: Final = 4096
"""What every model takes; this format has no request without a limit."""

# the format has them, and the SDK no longer
_WITHOUT_PARAMETER: Final = ("temperature", "top_p")


class AnthropicMessagesProvider(HttpProvider):
    """Answers from `client.messages`, for `Tramapy`; Anthropic, and servers that speak the same.

    The client is left as it is: a derived one is used, with the SDK's own retries off. Every failure comes as
    a `ProviderError` of fixed words. A response is closed on every exit.

    Args:
        client: An `anthropic.Anthropic`, or a class derived from it; closing it stays with its owner.
        default_max_output_tokens: Sent where a request has no `max_output_tokens`.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.

    Raises:
        ConfigurationError: The SDK is too old, or an argument cannot work.
    """

    @explains_options
    def __init__(
        self,
        client: anthropic.Anthropic,
        *,
        default_max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        codec = _codec(default_max_output_tokens)
        super().__init__(SdkEndpoint(ANTHROPIC, client, "AnthropicMessagesProvider", _create), codec, options)


class AsyncAnthropicMessagesProvider(AsyncHttpProvider):
    """Answers from `client.messages`, for `AsyncTramapy`, on asyncio and trio.

    All else is as for `AnthropicMessagesProvider`. A stream must be closed by its user (`aclosing`); one that
    is only dropped is closed when the event loop finalizes it.

    Args:
        client: An `anthropic.AsyncAnthropic`, or a class derived from it; closing it stays with its owner.
        default_max_output_tokens: Sent where a request has no `max_output_tokens`.
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.

    Raises:
        ConfigurationError: The SDK is too old, or an argument cannot work.
    """

    @explains_options
    def __init__(
        self,
        client: anthropic.AsyncAnthropic,
        *,
        default_max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        options = ProviderOptions(limit_bytes=limit_bytes, now_s=now_s, now_epoch_s=now_epoch_s)
        codec = _codec(default_max_output_tokens)
        endpoint = AsyncSdkEndpoint(ANTHROPIC, client, "AsyncAnthropicMessagesProvider", _create)
        super().__init__(endpoint, codec, options)


def _codec(default_max_output_tokens: int) -> Codec:
    if isinstance(default_max_output_tokens, bool) or not isinstance(default_max_output_tokens, int):
        raise ConfigurationError(
            f"default_max_output_tokens is {described(default_max_output_tokens)}; give an int"
        )
    if default_max_output_tokens < 1:
        raise ConfigurationError(
            f"default_max_output_tokens is {shown(default_max_output_tokens)}; it must be at least 1"
        )
    return Codec(
        encode=functools.partial(encode_request, default_max_output_tokens=default_max_output_tokens),
        decode=decode_response,
        answer_in_parts=MessagesAnswer,
    )


def _create(client: Any) -> Any:
    create = client.messages.with_streaming_response.create

    def send(*, timeout: object, **fields: object) -> object:
        extra = {name: fields.pop(name) for name in _WITHOUT_PARAMETER if name in fields}
        return create(**fields, timeout=timeout, extra_body=extra or None)

    return send
