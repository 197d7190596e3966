"""`Provider` and `AsyncProvider`: the way to a model, and `Route`: which one to go."""

from __future__ import annotations

import abc
import enum
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import ClassVar

from tramapy.keywords import explains_names
from tramapy.messages import Chunk, ModelRequest, ModelResponse

__all__ = ["AsyncProvider", "Provider", "ProviderCapability", "Route"]


class ProviderCapability(enum.Enum):
    """What a provider can do beyond a plain answer."""

    VISION = "vision"
    STREAMING = "streaming"
    TIMEOUT = "timeout"
    """It hands `ModelRequest.timeout_s` to its transport, so that a sync call ends in time too."""


class Provider(abc.ABC):
    """A model behind plain calls, for `Tramapy`.

    It raises `ProviderError` or a subclass, with `retryable` and the like set and no response body in its
    message; anything else that it raises counts as a defect: not retried, shown by its type alone.
    """

    capabilities: ClassVar[frozenset[ProviderCapability]] = frozenset(
        {ProviderCapability.VISION, ProviderCapability.STREAMING}
    )

    @abc.abstractmethod
    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request."""

    def stream(self, request: ModelRequest) -> Iterator[Chunk]:
        """Answer one request in pieces, ending with exactly one `CompletedChunk`.

        An iterator with a `close` method is closed on every exit. Its text chunks joined are the completed
        response's content.
        """
        raise self._cannot_stream()

    def _cannot_stream(self) -> TypeError:
        return TypeError(f"{type(self).__name__} has no stream method; override it or use complete")


class AsyncProvider(abc.ABC):
    """A model behind awaitable calls, for `AsyncTramapy`; the errors are those of `Provider`."""

    capabilities: ClassVar[frozenset[ProviderCapability]] = frozenset(
        {ProviderCapability.VISION, ProviderCapability.STREAMING}
    )

    @abc.abstractmethod
    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request."""

    def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer one request in pieces, ending with exactly one `CompletedChunk`.

        An iterator with an `aclose` method is closed on every exit.
        """
        raise self._cannot_astream()

    def _cannot_astream(self) -> TypeError:
        return TypeError(f"{type(self).__name__} has no astream method; override it or use acomplete")


@explains_names
@dataclass(frozen=True, slots=True)
class Route:
    """One way to answer: a provider, and the model to ask it for.

    Args:
        provider_id: A key of `providers`.
        model: The model's name there; by default the requested one.
    """

    provider_id: str
    model: str | None = None
