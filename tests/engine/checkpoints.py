"""Cancel an operation at its k-th checkpoint, and look whether anything was left behind."""

from __future__ import annotations

import asyncio
import dataclasses
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from typing import Any

import anyio.lowlevel
import trio

from tests.drivers import HELLO, Rig
from tests.engine.cancelling import Cancel, Canceller, Outcome
from tests.engine.stream_doubles import HoldBack, ScopeLog
from tramapy import (
    Chunk,
    CircuitBreakerSettings,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    Message,
    ModelRequest,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
)
from tramapy.resilience.breaker import Admission, BreakerState, CircuitBreaker, Permit
from tramapy.testing import FakeClock, ScriptedProvider

Operation = Callable[["World"], Coroutine[Any, Any, Any]]


@types.coroutine
def stepping(coroutine: Coroutine[Any, Any, Any], at: Callable[[int], object]) -> Generator[Any, Any, Any]:
    """Run a coroutine, calling `at(k)` at its k-th suspension, before its event loop hears of it."""
    count = 0
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            trap = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            return stop.value
        count += 1
        at(count)
        value, error = None, None
        try:
            value = yield trap
        except BaseException as caught:
            error = caught


class World:
    """A facade in which every step is written down, and everything that opens is counted.

    Args:
        canceller: How the caller cancels.
        primary: The answers of provider `p`.
        backup: The answers of provider `q`, the fallback.
        is_probe: Whether the operation is the probe of a half-open circuit.
        **settings: Further settings; those of `hooks` are made for this world.
    """

    def __init__(
        self,
        canceller: Canceller,
        *,
        primary: Sequence[Any],
        backup: Sequence[Any] = (),
        is_probe: bool = False,
        hooks: Callable[[World], dict[str, Any]] = lambda _: {},
        **settings: Any,
    ) -> None:
        self.journal: list[str] = []
        self.chunks: list[Chunk] = []
        self.scopes = ScopeLog()
        self.is_closing = False
        self.streaming: list[HoldBack] = []
        self.providers = {"p": SlowlyClosed(self, primary), "q": SlowlyClosed(self, backup)}
        clock = JournallingClock(self.journal)
        self.rig: Rig = canceller.driver.rig(
            self.providers,
            default_provider="p",
            **({"clock": clock, "event_observers": [self.scopes]} | settings | hooks(self)),
        )
        self.breaker = CountingBreaker(CircuitBreakerSettings(failure_threshold=1), clock.now_s)
        pipeline = dataclasses.replace(self.rig.tramapy._pipeline, breaker=self.breaker)
        self.rig.tramapy._pipeline = pipeline
        self.is_probe = is_probe
        if is_probe:
            permit = self.breaker.admit("p")
            assert isinstance(permit, Permit)
            self.breaker.fail(permit)
            clock.advance(30.0)

    async def complete(self) -> Any:
        return (await self.rig.tramapy.complete(HELLO, model="m")).content

    async def stream(self) -> Any:
        async with self.rig.tramapy.stream(HELLO, model="m") as stream:
            async for chunk in stream:
                self.chunks.append(chunk)
        return stream.response.content

    async def stream_without_with(self) -> Any:
        stream = self.rig.tramapy.stream(HELLO, model="m")
        async for chunk in stream:
            self.chunks.append(chunk)
        return stream.response.content

    async def leave_early(self) -> Any:
        async with self.rig.tramapy.stream(HELLO, model="m") as stream:
            async for chunk in stream:
                self.chunks.append(chunk)
                break
        return self.chunks[0]

    def assert_nothing_left(self) -> None:
        """Check what must hold after any end."""
        names = self.rig.observer.events
        started = [event.attributes["attempt"] for event in names if event.name == "tramai.attempt.started"]
        ended = [
            event.attributes["attempt"]
            for event in names
            if event.name in {f"tramai.attempt.{end}" for end in ("completed", "failed", "cancelled")}
        ]
        assert ended == started, "one end for each attempt that started"
        assert self.rig.names.count("operation.started") == 1
        assert self.rig.names.count("operation.completed") == 1
        assert self.rig.names[-1] == "operation.completed"
        assert all(permit.is_settled for permit in self.breaker.permits), "permits in == permits out"
        assert sum(provider.open_stream_count for provider in self.providers.values()) == 0
        assert sum(dlp.open_count for dlp in self.streaming) == 0
        assert self.scopes.depth == 0

    def assert_probe_is_free(self) -> None:
        """Check that a cancelled probe shuts nobody out."""
        assert self.breaker.state("p") is BreakerState.HALF_OPEN
        assert isinstance(self.breaker.admit("p"), Permit)


async def cancel_everywhere(canceller: Canceller, make: Callable[[], World], operation: Operation) -> int:
    """Cancel at the first checkpoint, at the second, and so on, until the operation ends before that.

    Returns:
        How many checkpoints there are.
    """
    plain = await _run(canceller, make(), operation, at=0)
    k = 0
    while True:
        k += 1
        world = make()
        tasks_before = _task_count(canceller.backend)
        run = await _run(canceller, world, operation, at=k)
        assert _task_count(canceller.backend) == tasks_before, "no task is left"
        world.assert_nothing_left()
        if run.started_count is None:
            assert _ending(run.outcome) == _ending(plain.outcome)
            return k - 1
        assert len(world.journal) == run.started_count, "nothing starts after the cancellation"
        _check_end(canceller, world, run, plain)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    outcome: Outcome
    started_count: int | None
    """How many steps had started when it was cancelled; None where it was not."""
    was_closing: bool


async def _run(canceller: Canceller, world: World, operation: Operation, *, at: int) -> _Run:
    seen: list[tuple[int, bool]] = []

    async def body(cancel: Cancel) -> Any:
        def look(count: int) -> None:
            if count == at:
                seen.append((len(world.journal), world.is_closing))
                cancel()

        return await stepping(operation(world), look)

    outcome = await canceller.within(body)
    started_count, was_closing = seen[0] if seen else (None, False)
    return _Run(outcome, started_count, was_closing)


def _check_end(canceller: Canceller, world: World, run: _Run, plain: _Run) -> None:
    outcome = run.outcome
    if not outcome.is_cancelled:
        # A shield holds a scope's cancellation off; what was decided before it then stands.
        assert run.was_closing
        assert _ending(outcome) == _ending(plain.outcome)
        return
    assert type(outcome.raised) is canceller.error_type, "unchanged: no group, no error of ours"
    assert outcome.raised.__cause__ is None
    if canceller.is_native:
        assert outcome.cancelling == 1, "as the caller left it"
    (completed,) = world.rig.attributes_of("operation.completed")
    assert completed["outcome"] == "cancelled" or run.was_closing
    if world.is_probe and "circuit.opened" not in world.rig.names and not run.was_closing:
        world.assert_probe_is_free()


def _ending(outcome: Outcome) -> tuple[object, object]:
    return type(outcome.raised), outcome.value


def _task_count(backend: str) -> int:
    if backend == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


class CountingBreaker(CircuitBreaker):
    """Keeps every permit that it gave."""

    def __init__(self, settings: CircuitBreakerSettings, now_s: Callable[[], float]) -> None:
        super().__init__(settings, now_s)
        self.permits: list[Permit] = []

    def admit(self, provider_id: str) -> Admission:
        admission = super().admit(provider_id)
        if isinstance(admission, Permit):
            self.permits.append(admission)
        return admission


class JournallingClock(FakeClock):
    def __init__(self, journal: list[str]) -> None:
        super().__init__()
        self._journal = journal

    async def asleep(self, delay_s: float) -> None:
        self._journal.append("sleep")
        await super().asleep(delay_s)


class SlowlyClosed(ScriptedProvider):
    """Passes a checkpoint when its streams are closed, as a connection does."""

    def __init__(self, world: World, answers: Sequence[Any]) -> None:
        super().__init__(answers)
        self._world = world

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        self._world.journal.append("call")
        return await super().acomplete(request)

    def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self._world.journal.append("open")
        return _SlowlyClosedStream(self._world, super().astream(request))


class _SlowlyClosedStream(AsyncIterator[Chunk]):
    def __init__(self, world: World, stream: Any) -> None:
        self._world = world
        self._stream = stream

    async def __anext__(self) -> Chunk:
        chunk: Chunk = await self._stream.__anext__()
        return chunk

    async def aclose(self) -> None:
        self._world.is_closing = True
        try:
            await anyio.lowlevel.checkpoint()
        finally:
            await self._stream.aclose()
            self._world.is_closing = False


class Waits(OperationInterceptor, DlpInterceptor, DlpRedactionAuditEmitter):
    """Every kind of hook, `async def`, with a checkpoint in it; `fails` names one that raises."""

    def __init__(self, world: World, fails: str | None = None, error: Exception | None = None) -> None:
        self._journal = world.journal
        self._fails = fails
        self._error = error

    async def intercept_request(  # type: ignore[override]  # an async hook
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        await self._step("request")
        return [message.replace(content=message.content + "!") for message in messages]

    async def intercept_response(  # type: ignore[override]  # an async hook
        self, context: OperationCallContext, response: ModelResponse
    ) -> ModelResponse:
        await self._step("response")
        return response.replace(content=response.content + "!")

    async def inspect(self, context: DlpContext, text: str) -> DlpResult:  # type: ignore[override]  # an async hook
        await self._step("inspect")
        count = text.count("secret")
        return DlpResult(text.replace("secret", "[S]"), [DlpRedaction("word", count)] if count else ())

    async def emit(  # type: ignore[override]  # an async hook
        self, context: DlpContext, redactions: Sequence[DlpRedaction]
    ) -> None:
        await self._step("emit")

    async def _step(self, name: str) -> None:
        self._journal.append(name)
        await anyio.lowlevel.checkpoint()
        if name == self._fails and self._error is not None:
            raise self._error
