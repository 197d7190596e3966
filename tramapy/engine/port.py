"""`Port`: the little that the engine needs of the world outside, so that one core serves threads and loops.

The async port awaits; the sync port never suspends, so that its caller can step the same coroutine to its end.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from tramapy.messages import ModelRequest

__all__ = ["Answer", "ChunkSource", "Port", "Signal"]

T = TypeVar("T")


class Signal(enum.Enum):
    """What a port answers where there is no value."""

    EXPIRED = "expired"
    """The limit passed before the step was done; the step was cancelled."""

    ENDED = "ended"
    """The stream has no more pieces."""


# Whether a provider's functions are sync or async is known to the port alone, which is built beside them.
Answer: TypeAlias = Callable[[ModelRequest], Any]
ChunkSource: TypeAlias = Any


class Port(Protocol):
    """Time, waiting and provider calls, as a coroutine each."""

    @property
    def can_await(self) -> bool:
        """Whether hooks may be `async def`."""
        ...

    def now_s(self) -> float:
        """Return the clock's time in seconds."""
        ...

    async def sleep_s(self, delay_s: float) -> None:
        """Wait; a cancellation ends it at once."""
        ...

    async def call(self, answer: Answer, request: ModelRequest, limit_s: float | None) -> object:
        """Call a provider and return what it returned, or `Signal.EXPIRED` after `limit_s` seconds.

        A port that cannot interrupt a call leaves the limit to the request's own `timeout_s`.
        """
        ...

    async def next_chunk(self, source: ChunkSource, limit_s: float | None) -> object:
        """Return the next piece, `Signal.ENDED`, or `Signal.EXPIRED`. Nothing stays open between calls."""
        ...

    async def close_source(self, source: ChunkSource, budget_s: float) -> bool:
        """Close a stream of a provider's, shielded from cancellation; False where `budget_s` was too short."""
        ...

    async def resolve(self, pending: Awaitable[T]) -> T:
        """Await what a hook returned.

        Raises:
            ConfigurationError: The port cannot await; the awaitable is closed.
        """
        ...

    def cancel_count(self) -> int:
        """Return how many cancellations the running task has been sent, where its loop counts them."""
        ...

    async def checkpoint(self, baseline: int | None, error: BaseException | None = None) -> None:
        """Raise a cancellation that came since `baseline` and was swallowed, or that is still to come.

        Without a baseline only one that a shield has held off is raised.
        """
        ...
