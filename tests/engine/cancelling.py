"""Four ways in which a caller cancels, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
import trio

from tests.drivers import Driver
from tests.engine.virtual_time import run_virtually

Cancel = Callable[[], object]
Body = Callable[[Cancel], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a cancelled call ended.

    Args:
        is_cancelled: Whether the caller's scope or task counts as cancelled.
        raised: What came out of the body.
        value: What it returned.
        cancelling: asyncio's count of cancellations when it ended; 0 on trio.
    """

    is_cancelled: bool
    raised: BaseException | None
    value: Any
    cancelling: int


class Canceller:
    """A caller on an event loop that cancels its own call: by a scope, or by the task."""

    def __init__(self, backend: str, by: str) -> None:
        self.backend = backend
        self._by = by

    @property
    def driver(self) -> Driver:
        """The world to make a facade for."""
        return Driver(self.backend)

    @property
    def is_native(self) -> bool:
        """Whether asyncio's own `task.cancel()` is used, which comes once and passes every shield."""
        return self._by == "task"

    @property
    def error_type(self) -> type[BaseException]:
        """The cancellation of this event loop."""
        return asyncio.CancelledError if self.backend == "asyncio" else trio.Cancelled

    def run_plainly(self, main: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async function on this event loop, uncancelled; what it raises comes out."""
        return run_virtually(self.backend, main)

    def run(self, body: Body) -> Outcome:
        """Run `body(cancel)` on a loop whose time jumps."""
        outcome: Outcome = run_virtually(self.backend, lambda: self.within(body))
        return outcome

    async def within(self, body: Body) -> Outcome:
        """Run `body(cancel)` on the loop that runs."""
        if self.is_native:
            return await _by_task(body)
        scope: Any = trio.CancelScope() if self._by == "trio-scope" else anyio.CancelScope()
        raised: BaseException | None = None
        value: Any = None
        count = 0
        try:
            with scope:
                try:
                    value = await body(scope.cancel)
                except BaseException as error:
                    raised = error
                    raise
                finally:
                    count = 0 if self.backend == "trio" else _current_task().cancelling()
        except Exception:
            assert raised is not None, "the scope itself failed"
        if self.backend == "asyncio":
            assert _current_task().cancelling() == 0, "the scope has taken its cancellations back"
        return Outcome(is_cancelled=scope.cancelled_caught, raised=raised, value=value, cancelling=count)


async def _by_task(body: Body) -> Outcome:
    raised: list[BaseException] = []

    async def run() -> Any:
        try:
            return await body(_current_task().cancel)
        except BaseException as error:
            raised.append(error)
            raise

    task = asyncio.ensure_future(run())
    await asyncio.wait([task])
    is_cancelled = task.cancelled()
    return Outcome(
        is_cancelled=is_cancelled,
        raised=raised[0] if raised else None,
        value=None if is_cancelled or task.exception() is not None else task.result(),
        cancelling=task.cancelling(),
    )


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


CANCELLERS = [("asyncio", "scope"), ("asyncio", "task"), ("trio", "scope"), ("trio", "trio-scope")]


@pytest.fixture(params=CANCELLERS, ids=["-".join(each) for each in CANCELLERS])
def canceller(request: pytest.FixtureRequest) -> Canceller:
    """Every way in which a caller may cancel."""
    return Canceller(*request.param)
