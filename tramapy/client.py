"""`Tramapy` and `AsyncTramapy`: the pipeline as a library, for threads and for event loops."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from types import TracebackType
from typing import ClassVar, Generic, Never, NoReturn, Self, TypeVar, Unpack, cast

from tramapy.cancellation import is_cancellation
from tramapy.engine.arguments import checked_name
from tramapy.engine.dispatch import complete
from tramapy.engine.operation import CancelReason, Operation
from tramapy.engine.pipeline import Pipeline
from tramapy.engine.port import Port
from tramapy.engine.routing import BoundProvider
from tramapy.engine.stream import EngineStream
from tramapy.errors import ConfigurationError
from tramapy.hooks.clock import Clock
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability
from tramapy.keywords import requires
from tramapy.messages import Chunk, Message, ModelResponse
from tramapy.runtime import AsyncPort, SyncPort, SystemClock, detached, run_sync
from tramapy.settings import (
    CallOptions,
    PipelineSettings,
    build_pipeline,
    checked_clock,
    options_error,
    snapshot,
)

__all__ = ["AsyncChunkStream", "AsyncTramapy", "ChunkStream", "Tramapy", "pipeline_of"]

P = TypeVar("P", Provider, AsyncProvider)
S = TypeVar("S")

_logger = logging.getLogger("tramapy.client")


class _Facade(Generic[P]):
    """What both facades share: settings that make a pipeline, once."""

    _pipeline: Pipeline
    _providers: Mapping[str, P]
    _settings: PipelineSettings

    @requires("providers", "give a mapping, for example {'openai': OpenAIChatProvider(OpenAI())}")
    def __init__(
        self, providers: Mapping[str, P], *unnamed: Never, **settings: Unpack[PipelineSettings]
    ) -> None:
        """Build the pipeline.

        Args:
            providers: Provider by the id that `models`, `fallbacks` and events name it with.
            *unnamed: Refused: settings have names.
            **settings: All may be left out: `dlp` (what comes back), `request_dlp` (what goes out), `interceptors`,
                `event_observers`, `fallbacks`, `retry`, `circuit_breaker`, `timeout_s` and more;
                `help(PipelineSettings)` has them all.

        Raises:
            ConfigurationError: A setting cannot work; the message names it and the remedy.
        """
        if unnamed or not isinstance(providers, Mapping):
            raise _refused(type(self), providers, unnamed)
        given = settings.get("clock")
        clock = SystemClock() if given is None else checked_clock(given)
        self._providers = dict(providers)
        self._settings = settings = snapshot(settings)
        bound = {
            (name := checked_name("a key of providers", provider_id)): self._bind(name, provider)
            for provider_id, provider in self._providers.items()
        }
        self._pipeline = build_pipeline(self._port(clock), clock, bound, settings)

    def derive(self, *unnamed: Never, **changes: Unpack[PipelineSettings]) -> Self:
        """Make a copy with other settings. It shares the breaker's state, unless it changes the breaker.

        Args:
            *unnamed: Refused: settings have names.
            **changes: See `PipelineSettings`; what is not named stays.
        """
        if unnamed:
            raise ConfigurationError("derive takes nothing without a name; write for example dlp=...")
        derived = type(self)(self._providers, **cast("PipelineSettings", {**self._settings, **changes}))
        if not {"circuit_breaker", "clock"} & changes.keys():
            derived._pipeline = dataclasses.replace(derived._pipeline, breaker=self._pipeline.breaker)
        return derived

    @classmethod
    def _port(cls, clock: Clock) -> Port:
        raise TypeError("use Tramapy or AsyncTramapy")

    def _bind(self, provider_id: str, provider: P) -> BoundProvider:
        raise TypeError("use Tramapy or AsyncTramapy")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(providers=[{', '.join(map(repr, self._providers))}])"


class Tramapy(_Facade[Provider]):
    """The pipeline on plain threads. One object serves all threads; it holds nothing that needs closing.

    Example::

        tramapy = Tramapy({"openai": OpenAIChatProvider(OpenAI())}, dlp=RuleBasedDlpInterceptor.with_default_rules())
        print(tramapy.complete([Message.user("Hello?")], model="gpt-4o").content)
    """

    def complete(
        self, messages: Iterable[Message], *unnamed: Never, **options: Unpack[CallOptions]
    ) -> ModelResponse:
        """Answer `messages`.

        Args:
            messages: The conversation so far; copied now.
            *unnamed: Refused: options have names.
            **options: See `CallOptions`; `model` is required.

        Raises:
            ProviderError: The last attempt's failure, when retries and routes are used up.
            CircuitBreakerOpenError: Every route's breaker is open.
            DlpInspectionError: DLP refused the answer or a tool result, or could not do its work.
            InterceptorError: An interceptor failed.
            TokenBudgetExceededError: A hard token limit was passed.
            DeadlineExceededError: `deadline_s` passed.
            ConfigurationError: An option cannot work, or there is no provider for the model.
        """
        failure: BaseException
        try:
            if unnamed:
                _refuse_unnamed()
            return run_sync(complete(Operation(self._pipeline, messages, is_stream=False, **options)))
        except BaseException as error:
            failure = _explained(error, options)
        del messages, unnamed, options
        try:
            raise failure
        finally:
            del failure  # or the frame and the error keep each other alive

    def stream(
        self, messages: Iterable[Message], *unnamed: Never, **options: Unpack[CallOptions]
    ) -> ChunkStream:
        """Answer `messages` in pieces; use it as a context manager and iterate over it.

        Nothing is sent before the first piece is asked for. Errors are raised by the iteration; they are those
        of `complete`.
        """
        failure: BaseException
        try:
            if unnamed:
                _refuse_unnamed()
            return ChunkStream(EngineStream(Operation(self._pipeline, messages, is_stream=True, **options)))
        except BaseException as error:
            failure = _explained(error, options)
        del messages, unnamed, options
        try:
            raise failure
        finally:
            del failure

    @classmethod
    def _port(cls, clock: Clock) -> Port:
        return SyncPort(clock)

    def _bind(self, provider_id: str, provider: Provider) -> BoundProvider:
        if not isinstance(provider, Provider):
            raise _wrong_provider(provider_id, provider, Provider, "Tramapy")
        _check_capabilities(provider_id, provider)
        for name in ("complete", "stream"):
            method: object = getattr(provider, name)
            if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
                raise ConfigurationError(
                    f"providers[{provider_id!r}]: {type(provider).__name__}.{name} is async; make it a plain "
                    f"method, or derive an AsyncProvider and use AsyncTramapy"
                )
        if ProviderCapability.TIMEOUT not in provider.capabilities:
            # a default limit that cannot hold is no news; one that somebody asked for is
            asked = [name for name in ("timeout_s", "deadline_s") if self._settings.get(name) is not None]
            _logger.log(
                logging.WARNING if asked else logging.DEBUG,
                "Provider %r does not declare ProviderCapability.TIMEOUT: a call of it in a thread ends when "
                "it ends, and %s cannot end it. Use AsyncTramapy, or a provider that declares it",
                provider_id,
                " and ".join(asked) or "timeout_s",
            )
        return BoundProvider(
            provider_id=provider_id,
            answer=provider.complete,
            open_stream=provider.stream,
            can_stream=ProviderCapability.STREAMING in provider.capabilities
            and type(provider).stream is not Provider.stream,
            sees_images=ProviderCapability.VISION in provider.capabilities,
        )


class AsyncTramapy(_Facade[AsyncProvider]):
    """The pipeline on asyncio or trio, whichever runs; it holds nothing that needs closing.

    Example::

        tramapy = AsyncTramapy({"openai": AsyncOpenAIChatProvider(AsyncOpenAI())})
        answer = await tramapy.complete([Message.user("Hello?")], model="gpt-4o")
    """

    async def complete(
        self, messages: Iterable[Message], *unnamed: Never, **options: Unpack[CallOptions]
    ) -> ModelResponse:
        """Answer `messages`; see `Tramapy.complete`. A cancellation passes through unchanged."""
        failure: BaseException
        try:
            if unnamed:
                _refuse_unnamed()
            return await complete(Operation(self._pipeline, messages, is_stream=False, **options))
        except BaseException as error:
            failure = _explained(error, options)
        del messages, unnamed, options
        try:
            raise failure
        finally:
            del failure

    def stream(
        self, messages: Iterable[Message], *unnamed: Never, **options: Unpack[CallOptions]
    ) -> AsyncChunkStream:
        """Answer `messages` in pieces: `async with` and `async for`; see `Tramapy.stream`."""
        failure: BaseException
        try:
            if unnamed:
                _refuse_unnamed()
            return AsyncChunkStream(
                EngineStream(Operation(self._pipeline, messages, is_stream=True, **options))
            )
        except BaseException as error:
            failure = _explained(error, options)
        del messages, unnamed, options
        try:
            raise failure
        finally:
            del failure

    @classmethod
    def _port(cls, clock: Clock) -> Port:
        return AsyncPort(clock)

    def _bind(self, provider_id: str, provider: AsyncProvider) -> BoundProvider:
        if not isinstance(provider, AsyncProvider):
            raise _wrong_provider(provider_id, provider, AsyncProvider, "AsyncTramapy")
        _check_capabilities(provider_id, provider)
        return BoundProvider(
            provider_id=provider_id,
            answer=provider.acomplete,
            open_stream=provider.astream,
            can_stream=ProviderCapability.STREAMING in provider.capabilities
            and type(provider).astream is not AsyncProvider.astream,
            sees_images=ProviderCapability.VISION in provider.capabilities,
        )


class _Stream:
    """What both streams share: the engine's step machine and the warning for one that was dropped."""

    _how_to_use: ClassVar[str]

    def __init__(self, engine_stream: EngineStream) -> None:
        self._engine_stream = engine_stream

    @property
    def response(self) -> ModelResponse | None:
        """The whole response, once the stream is complete."""
        return self._engine_stream.response

    def _is_left_to_reader(self, error: BaseException | None) -> bool:
        """Whether a block that an error leaves finds another reader in the stream: that one ends it.

        To refuse here, as `close` does, would put a `RuntimeError` in the place of a cancellation.
        """
        return error is not None and self._engine_stream.is_being_read

    def __del__(self) -> None:
        engine_stream = getattr(self, "_engine_stream", None)
        if engine_stream is not None and engine_stream.abandon():
            warnings.warn(
                f"{type(self).__name__} was dropped before its end; {self._how_to_use}",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )


def _refuses(remedy: str, *methods: str) -> Callable[[type[S]], type[S]]:
    """Make the other facade's way to use a stream fail in words that say what to write.

    The methods are set, not written: a type checker still sees that there are none.
    """

    def refuse(stream: object) -> NoReturn:
        raise TypeError(f"{type(stream).__name__}: {remedy}")

    def refusing(stream_class: type[S]) -> type[S]:
        for method in methods:
            setattr(stream_class, method, refuse)
        return stream_class

    return refusing


@_refuses(
    "it comes from Tramapy; write plain `with` and `for`, without `async`",
    *("__aenter__", "__aexit__", "__aiter__"),
)
class ChunkStream(_Stream):
    """A streamed answer: `with t.stream(...) as chunks: for chunk in chunks: ...`."""

    _how_to_use = "use it in a `with` block, or call close()"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if not self._is_left_to_reader(error):
            self._close(_reason(error))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        failure: BaseException
        try:
            chunk: Chunk | None = run_sync(self._engine_stream.next_chunk())
        except BaseException as error:
            failure = detached(error)
        else:
            if chunk is None:
                raise StopIteration
            return chunk
        try:
            raise failure
        finally:
            del failure

    def close(self) -> None:
        """Stop here; does nothing to a stream at its end."""
        self._close("closed")

    def _close(self, reason: CancelReason) -> None:
        failure: BaseException
        try:
            run_sync(self._engine_stream.close(reason))
        except BaseException as error:
            failure = detached(error)
        else:
            return
        try:
            raise failure
        finally:
            del failure


@_refuses(
    "it comes from AsyncTramapy; write `async with` and `async for`", "__enter__", "__exit__", "__iter__"
)
class AsyncChunkStream(_Stream):
    """A streamed answer: `async with t.stream(...) as chunks: async for chunk in chunks: ...`."""

    _how_to_use = "use it in an `async with` block, or await aclose()"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if not self._is_left_to_reader(error):
            await self._close(_reason(error))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        failure: BaseException
        try:
            chunk: Chunk | None = await self._engine_stream.next_chunk()
        except BaseException as error:
            failure = detached(error)
        else:
            if chunk is None:
                raise StopAsyncIteration
            return chunk
        try:
            raise failure
        finally:
            del failure

    async def aclose(self) -> None:
        """Stop here; does nothing to a stream at its end."""
        await self._close("closed")

    async def _close(self, reason: CancelReason) -> None:
        failure: BaseException
        try:
            await self._engine_stream.close(reason)
        except BaseException as error:
            failure = detached(error)
        else:
            return
        try:
            raise failure
        finally:
            del failure


def pipeline_of(facade: Tramapy | AsyncTramapy) -> Pipeline:
    """Return a facade's pipeline, for a wrapped client that shares it."""
    return facade._pipeline  # pyright: ignore[reportPrivateUsage] # no name that a user should see


def _refuse_unnamed() -> NoReturn:
    raise ConfigurationError(
        "A call takes messages alone without a name; name all that follows, for example model='gpt-4o'"
    )


def _explained(error: BaseException, options: CallOptions) -> BaseException:
    """Return the error to raise for a failed call; Python's own for a wrong keyword names no remedy."""
    wrong = options_error(options) if isinstance(error, TypeError) else None
    return detached(error) if wrong is None else wrong


def _reason(error: BaseException | None) -> CancelReason:
    return "cancelled" if error is not None and is_cancellation(error) else "closed"


def _check_capabilities(provider_id: str, provider: Provider | AsyncProvider) -> None:
    given: object = provider.capabilities
    if isinstance(given, Set) and all(
        isinstance(each, ProviderCapability) for each in cast("Set[object]", given)
    ):
        return
    raise ConfigurationError(
        f"providers[{provider_id!r}]: {type(provider).__name__}.capabilities is no set of ProviderCapability; "
        f"write for example frozenset({{ProviderCapability.STREAMING}})"
    )


def _refused(facade: type[object], providers: object, unnamed: tuple[object, ...]) -> ConfigurationError:
    # here and not above, as below: only who gives the wrong thing pays for the import
    from tramapy.misplaced import refused_providers

    return refused_providers(facade.__name__, providers, unnamed)


def _wrong_provider(
    provider_id: str, provider: object, kind: type[object], facade: str
) -> ConfigurationError:
    from tramapy.misplaced import wrong_provider

    return wrong_provider(provider_id, provider, kind, facade)
