"""One call of a provider over HTTP, plain and streamed: what all vendors' providers share."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeAlias

import anyio

from tramapy.bounded import aread_bounded_bytes, read_bounded_bytes
from tramapy.errors import ConfigurationError, ProviderError, ProviderFailureCode
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability
from tramapy.messages import Chunk, ModelRequest, ModelResponse
from tramapy.providers.sdk_failures import FailureMapper, SdkErrors
from tramapy.providers.stream_decoder import AnswerInParts, StreamDecoder
from tramapy.values import described, shown
from tramapy.wire.http_library import AsyncHttpResponse, HttpLibrary, HttpResponse, abody_of
from tramapy.wire.json_values import parse_object
from tramapy.wire.step_timer import StepTimer

__all__ = ["AsyncEndpoint", "AsyncHttpProvider", "Codec", "Endpoint", "HttpProvider", "ProviderOptions"]

_CAPABILITIES: Final = frozenset(
    {ProviderCapability.VISION, ProviderCapability.STREAMING, ProviderCapability.TIMEOUT}
)

# how long the last bytes of a finished stream may take, so that its connection can serve again
_DRAIN_LIMIT_S: Final = 0.1

_ANSWER: Final = "The provider's answer"
_STREAM_CUT: Final = ProviderFailureCode.STREAM_CUT

_Step: TypeAlias = tuple[Chunk, ...] | ProviderError


class EncodeRequest(Protocol):
    """Writes a request."""

    def __call__(self, request: ModelRequest, *, is_stream: bool) -> Mapping[str, object]:
        """Return its JSON fields.

        Raises:
            ConfigurationError: It cannot be put into this format.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """One wire format.

    Args:
        encode: Writes a request.
        decode: Reads a plain answer; raises `ProviderError`.
        answer_in_parts: Makes what takes the events of a streamed one.
    """

    encode: EncodeRequest
    decode: Callable[[Mapping[str, object]], ModelResponse]
    answer_in_parts: Callable[[], AnswerInParts]


class Endpoint(Protocol):
    """Where requests go."""

    library: HttpLibrary
    errors: SdkErrors

    def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> AbstractContextManager[HttpResponse]:
        """Send a request and give its response, its body unread; it is closed on every exit."""
        ...


class AsyncEndpoint(Protocol):
    """The async form of `Endpoint`."""

    library: HttpLibrary
    errors: SdkErrors

    def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> AbstractAsyncContextManager[AsyncHttpResponse]:
        """Send a request and give its response, its body unread; it is closed on every exit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """What every provider over HTTP can be told.

    Args:
        limit_bytes: How long an answer may be, decompressed; a stream all in all.
        now_s: Monotonic time, to hold an answer against the request's `timeout_s`.
        now_epoch_s: Wall time, for a `Retry-After` that is a date.

    Raises:
        ConfigurationError: One of them cannot work.
    """

    limit_bytes: int
    now_s: Callable[[], float]
    now_epoch_s: Callable[[], float]

    def __post_init__(self) -> None:
        if isinstance(self.limit_bytes, bool) or not isinstance(self.limit_bytes, int):
            raise ConfigurationError(f"limit_bytes takes an int, not {type(self.limit_bytes).__name__}")
        if self.limit_bytes < 1:
            raise ConfigurationError(f"limit_bytes is {shown(self.limit_bytes)}; it must be at least 1")
        for name, clock in (("now_s", self.now_s), ("now_epoch_s", self.now_epoch_s)):
            if not callable(clock):
                raise ConfigurationError(
                    f"{name} is {described(clock)}; give a function that returns seconds, or leave it out"
                )


class HttpProvider(Provider):
    """Answers from an endpoint, for `Tramapy`.

    Every failure comes as a `ProviderError` of fixed words. A response is closed on every exit.

    Args:
        endpoint: Where requests go.
        codec: The endpoint's wire format.
        options: Limits and clocks.
    """

    capabilities: ClassVar[frozenset[ProviderCapability]] = _CAPABILITIES

    def __init__(self, endpoint: Endpoint, codec: Codec, options: ProviderOptions) -> None:
        self._endpoint = endpoint
        self._codec = codec
        self._options = options
        self._failures = FailureMapper(endpoint.library, endpoint.errors)

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

        Tool calls come whole, at the end. A stream that ends before its answer does is an error.

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
        fields = self._codec.encode(request, is_stream=False)
        timer = StepTimer(self._options.now_s, request.timeout_s)
        try:
            with self._endpoint.open(fields, request.timeout_s) as response:
                data = read_bounded_bytes(
                    timer.watch(response.iter_bytes()), self._options.limit_bytes, source_name=_ANSWER
                )
            return self._codec.decode(parse_object(data))
        except Exception as error:
            return self._failures.provider_error(error, self._options.now_epoch_s())

    def _steps(self, request: ModelRequest) -> Generator[_Step, None, None]:
        """Yield what each chunk of the body completes, and last a failure where there was one."""
        fields = self._codec.encode(request, is_stream=True)
        timer = StepTimer(self._options.now_s, request.timeout_s)
        decoder = StreamDecoder(self._codec.answer_in_parts(), self._options.limit_bytes)
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
            last = self._failures.provider_error(error, self._options.now_epoch_s(), _STREAM_CUT)
        yield last


class AsyncHttpProvider(AsyncProvider):
    """Answers from an endpoint, for `AsyncTramapy`, on asyncio and trio.

    All else is as for `HttpProvider`. A stream must be closed by its user (`aclosing`); one that is only
    dropped is closed when the event loop finalizes it.

    Args:
        endpoint: Where requests go.
        codec: The endpoint's wire format.
        options: Limits and clocks.
    """

    capabilities: ClassVar[frozenset[ProviderCapability]] = _CAPABILITIES

    def __init__(self, endpoint: AsyncEndpoint, codec: Codec, options: ProviderOptions) -> None:
        self._endpoint = endpoint
        self._codec = codec
        self._options = options
        self._failures = FailureMapper(endpoint.library, endpoint.errors)

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        """Do what `HttpProvider.complete` does."""
        answer = await self._attempt(request)
        if isinstance(answer, ProviderError):
            raise answer
        return answer

    async def astream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Do what `HttpProvider.stream` does."""
        async with contextlib.aclosing(self._steps(request)) as steps:
            async for step in steps:
                if isinstance(step, ProviderError):
                    raise step
                for chunk in step:
                    yield chunk

    async def _attempt(self, request: ModelRequest) -> ModelResponse | ProviderError:
        fields = self._codec.encode(request, is_stream=False)
        timer = StepTimer(self._options.now_s, request.timeout_s)
        try:
            async with self._endpoint.open(fields, request.timeout_s) as response:
                data = await aread_bounded_bytes(
                    timer.awatch(abody_of(response)), self._options.limit_bytes, source_name=_ANSWER
                )
            return self._codec.decode(parse_object(data))
        except Exception as error:
            return self._failures.provider_error(error, self._options.now_epoch_s())

    async def _steps(self, request: ModelRequest) -> AsyncGenerator[_Step, None]:
        fields = self._codec.encode(request, is_stream=True)
        timer = StepTimer(self._options.now_s, request.timeout_s)
        decoder = StreamDecoder(self._codec.answer_in_parts(), self._options.limit_bytes)
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
            last = self._failures.provider_error(error, self._options.now_epoch_s(), _STREAM_CUT)
        yield last

    async def _drain(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read the end of the body, for a connection serves again only after that; not for long."""
        with anyio.move_on_after(_DRAIN_LIMIT_S), contextlib.suppress(self._endpoint.library.RequestError):
            async for _ in chunks:
                pass
