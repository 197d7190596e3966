"""`OpenAIChatProvider` and `AsyncOpenAIChatProvider`: chat completions over the OpenAI SDK."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import anyio

from tramapy.bounded import DEFAULT_LIMIT_BYTES, aread_bounded_bytes, read_bounded_bytes
from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode, ProviderTimeoutError
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability
from tramapy.messages import Chunk, ModelRequest, ModelResponse
from tramapy.providers.openai_chat_codec import decode_response, encode_request
from tramapy.providers.openai_chat_stream import ChatStreamDecoder
from tramapy.providers.openai_errors import FailureMapper
from tramapy.providers.openai_sdk import AsyncChatEndpoint, ChatEndpoint
from tramapy.values import described, shown
from tramapy.wire.http_library import abody_of
from tramapy.wire.json_values import parse_object

if TYPE_CHECKING:
    import openai

__all__ = ["AsyncOpenAIChatProvider", "OpenAIChatProvider"]

_CAPABILITIES: Final = frozenset(
    {ProviderCapability.VISION, ProviderCapability.STREAMING, ProviderCapability.TIMEOUT}
)

# how long the last bytes of a finished stream may take, so that its connection can serve again
_DRAIN_LIMIT_S: Final = 0.1

_ANSWER: Final = "The provider's answer"
_STREAM_CUT: Final = ProviderFailureCode.STREAM_CUT

_Step: TypeAlias = tuple[Chunk, ...] | ProviderError


class OpenAIChatProvider(Provider):
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

    capabilities: ClassVar[frozenset[ProviderCapability]] = _CAPABILITIES

    def __init__(
        self,
        client: openai.OpenAI,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        _check_options(limit_bytes, now_s, now_epoch_s)
        self._endpoint = ChatEndpoint(client)
        self._failures = FailureMapper(self._endpoint.library)
        self._limit_bytes = limit_bytes
        self._now_s = now_s
        self._now_epoch_s = now_epoch_s

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request.

        Raises:
            ProviderError: The attempt failed.
            ConfigurationError: The request cannot be put into this format.
        """
        answer = self._attempt(request)
        if isinstance(answer, ProviderError):
            # raised here, where no frame and no `except` holds what was sent or read
            raise answer
        return answer

    def stream(self, request: ModelRequest) -> Generator[Chunk, None, None]:
        """Answer one request in pieces; it is sent when the first one is asked for.

        Tool calls come whole, at the end. A stream that ends without a finish reason is an error.

        Raises:
            ProviderError: The attempt failed.
            ConfigurationError: The request cannot be put into this format.
        """
        with contextlib.closing(self._steps(request)) as steps:
            for step in steps:
                if isinstance(step, ProviderError):
                    raise step
                yield from step

    def _attempt(self, request: ModelRequest) -> ModelResponse | ProviderError:
        fields = encode_request(request, is_stream=False)
        timer = _StepTimer(self._now_s, request.timeout_s)
        try:
            with self._endpoint.open(fields, request.timeout_s) as response:
                data = read_bounded_bytes(
                    timer.watch(response.iter_bytes()), self._limit_bytes, source_name=_ANSWER
                )
            return decode_response(parse_object(data))
        except Exception as error:
            return self._failures.provider_error(error, self._now_epoch_s())

    def _steps(self, request: ModelRequest) -> Generator[_Step, None, None]:
        """Yield what each chunk of the body completes, and last a failure where there was one."""
        fields = encode_request(request, is_stream=True)
        timer = _StepTimer(self._now_s, request.timeout_s)
        decoder = ChatStreamDecoder(self._limit_bytes)
        try:
            with (
                self._endpoint.open(fields, request.timeout_s) as response,
                contextlib.closing(timer.watch(response.iter_bytes())) as chunks,
            ):
                for data in chunks:
                    ready = decoder.feed(data)
                    if ready:
                        yield ready
                        timer.restart()
                    if decoder.is_ended:
                        break
            last: _Step = decoder.finish()
        except Exception as error:
            last = self._failures.provider_error(error, self._now_epoch_s(), _STREAM_CUT)
        yield last


class AsyncOpenAIChatProvider(AsyncProvider):
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

    capabilities: ClassVar[frozenset[ProviderCapability]] = _CAPABILITIES

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        now_s: Callable[[], float] = time.monotonic,
        now_epoch_s: Callable[[], float] = time.time,
    ) -> None:
        _check_options(limit_bytes, now_s, now_epoch_s)
        self._endpoint = AsyncChatEndpoint(client)
        self._failures = FailureMapper(self._endpoint.library)
        self._limit_bytes = limit_bytes
        self._now_s = now_s
        self._now_epoch_s = now_epoch_s

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        """Do what `OpenAIChatProvider.complete` does."""
        answer = await self._attempt(request)
        if isinstance(answer, ProviderError):
            raise answer
        return answer

    async def astream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Do what `OpenAIChatProvider.stream` does."""
        async with contextlib.aclosing(self._steps(request)) as steps:
            async for step in steps:
                if isinstance(step, ProviderError):
                    raise step
                for chunk in step:
                    yield chunk

    async def _attempt(self, request: ModelRequest) -> ModelResponse | ProviderError:
        fields = encode_request(request, is_stream=False)
        timer = _StepTimer(self._now_s, request.timeout_s)
        try:
            async with self._endpoint.open(fields, request.timeout_s) as response:
                data = await aread_bounded_bytes(
                    timer.awatch(abody_of(response)), self._limit_bytes, source_name=_ANSWER
                )
            return decode_response(parse_object(data))
        except Exception as error:
            return self._failures.provider_error(error, self._now_epoch_s())

    async def _steps(self, request: ModelRequest) -> AsyncGenerator[_Step, None]:
        fields = encode_request(request, is_stream=True)
        timer = _StepTimer(self._now_s, request.timeout_s)
        decoder = ChatStreamDecoder(self._limit_bytes)
        try:
            async with (
                self._endpoint.open(fields, request.timeout_s) as response,
                contextlib.aclosing(timer.awatch(abody_of(response))) as chunks,
            ):
                async for data in chunks:
                    ready = decoder.feed(data)
                    if ready:
                        yield ready
                        timer.restart()
                    if decoder.is_ended:
                        await self._drain(chunks)
                        break
            last: _Step = decoder.finish()
        except Exception as error:
            last = self._failures.provider_error(error, self._now_epoch_s(), _STREAM_CUT)
        yield last

    async def _drain(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read the end of the body, for a connection serves again only after that; not for long."""
        with anyio.move_on_after(_DRAIN_LIMIT_S), contextlib.suppress(self._endpoint.library.RequestError):
            async for _ in chunks:
                pass


def _check_options(limit_bytes: object, *clocks: object) -> None:
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int):
        raise ConfigurationError(f"limit_bytes takes an int, not {type(limit_bytes).__name__}")
    if limit_bytes < 1:
        raise ConfigurationError(f"limit_bytes is {shown(limit_bytes)}; it must be at least 1")
    for name, clock in zip(("now_s", "now_epoch_s"), clocks, strict=True):
        if not callable(clock):
            raise ConfigurationError(
                f"{name} is {described(clock)}; give a function that returns seconds, or leave it out"
            )


class _StepTimer:
    """Bounds one step of an answer by `timeout_s`, against bodies that trickle: a transport's timeout is per read.

    The time between steps, while the consumer has the turn, does not count.
    """

    __slots__ = ("_now_s", "_started_s", "_timeout_s")

    def __init__(self, now_s: Callable[[], float], timeout_s: float | None) -> None:
        self._now_s = now_s
        self._timeout_s = timeout_s
        self._started_s = now_s()

    def restart(self) -> None:
        """Begin the next step."""
        self._started_s = self._now_s()

    def watch(self, chunks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
        """Give chunks while there is time.

        Raises:
            ProviderTimeoutError: One came too late.
        """
        with contextlib.closing(chunks):
            for chunk in chunks:
                self._check()
                yield chunk

    async def awatch(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Do what `watch` does."""
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                self._check()
                yield chunk

    def _check(self) -> None:
        if self._timeout_s is not None and self._now_s() - self._started_s > self._timeout_s:
            raise ProviderTimeoutError(
                f"The provider's answer took longer than timeout_s={self._timeout_s} to arrive."
            )
