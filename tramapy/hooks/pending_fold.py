"""`PendingFold`: what a composite returns once one of its children is `async def`."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

__all__ = ["PendingFold"]

T = TypeVar("T")


class PendingFold(Generic[T]):
    """The rest of a fold, awaitable; to close it closes the child's awaitable that it waits for, too.

    A coroutine alone would not do: one that is closed before it ran leaves the child's own behind, and Python
    warns of that as never awaited.

    Args:
        rest: The coroutine that awaits `pending` and goes on with the fold.
        pending: What the child returned.
    """

    __slots__ = ("_pending", "_rest")

    def __init__(self, rest: Coroutine[Any, Any, T], pending: Awaitable[object]) -> None:
        self._rest = rest
        self._pending = pending

    def __await__(self) -> Generator[Any, Any, T]:
        return self._rest.__await__()

    def close(self) -> None:
        """Give the fold up, before it was awaited."""
        self._rest.close()
        close = getattr(self._pending, "close", None)
        if callable(close):
            close()
