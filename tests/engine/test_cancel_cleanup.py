"""Behaviours 3, 15, 16, 19, 22, 23 and 26 of cancellation: what is done on the way out, and by whom."""

from __future__ import annotations

import ast
import concurrent.futures
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import tramapy
from tests.drivers import HELLO, Driver, Rig, text_of
from tests.engine.cancelling import Cancel, Canceller, Outcome
from tests.engine.doubles import Scripted, Words, breaker_of
from tests.engine.stream_doubles import HoldBack, Opens, Source, terminal_events
from tramapy import (
    Chunk,
    CircuitBreakerSettings,
    CompletedChunk,
    DlpContext,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    ModelResponse,
    ProviderError,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a91c2"


class Consumer:
    """Reads a stream until the caller cancels at a step that does so; `chunks` has what came."""

    def __init__(self, canceller: Canceller) -> None:
        self._canceller = canceller
        self.cancel: Cancel = lambda: None
        self.chunks: list[Chunk] = []
        self.elapsed_s = math.nan

    async def cancel_here(self, *_: Any) -> Any:
        self.cancel()
        await anyio.sleep_forever()

    def run(self, rig: Rig) -> Outcome:
        async def body(cancel: Cancel) -> None:
            self.cancel = cancel
            async with rig.tramapy.stream(HELLO, model="m") as stream:
                async for chunk in stream:
                    self.chunks.append(chunk)

        async def main() -> Outcome:
            started_s = anyio.current_time()
            outcome = await self._canceller.within(body)
            self.elapsed_s = anyio.current_time() - started_s
            return outcome

        outcome: Outcome = self._canceller.run_plainly(main)
        return outcome


def test_cancel_03_closing_is_shielded_and_done_whole(canceller: Canceller) -> None:
    consumer = Consumer(canceller)
    closed: list[int] = []

    async def close() -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        closed.append(1)

    source = Source("one ", consumer.cancel_here, on_close=close)
    rig = canceller.driver.rig({"p": Opens(lambda: source)})
    assert consumer.run(rig).is_cancelled
    assert closed == [1]


def test_cancel_15_a_close_that_hangs_has_a_budget(
    canceller: Canceller, caplog: pytest.LogCaptureFixture
) -> None:
    consumer = Consumer(canceller)
    source = Source("one ", consumer.cancel_here, on_close=anyio.sleep_forever)
    rig = canceller.driver.rig(
        {"p": Opens(lambda: source)}, circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    outcome = consumer.run(rig)
    assert outcome.is_cancelled
    assert isinstance(outcome.raised, canceller.error_type)
    assert outcome.cancelling == (1 if canceller.is_native else outcome.cancelling)
    assert consumer.elapsed_s == pytest.approx(1.0)
    assert "extension_point=provider_stream callback=close error_type=TimeoutError" in caplog.text
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_cancel_15_the_budget_holds_for_a_consumer_who_leaves(
    async_driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    canceller = Canceller(async_driver.name, "scope")
    source = Source("one ", "two", on_close=anyio.sleep_forever)
    rig = async_driver.rig({"p": Opens(lambda: source)})

    async def body(_: Cancel) -> float:
        started_s = anyio.current_time()
        stream = rig.tramapy.stream(HELLO, model="m")
        await anext(stream)
        await stream.aclose()
        return anyio.current_time() - started_s

    assert canceller.run(body).value == pytest.approx(1.0)
    assert "error_type=TimeoutError" in caplog.text
    assert terminal_events(rig.names) == ["attempt.cancelled"]


def test_cancel_15_a_second_native_cancel_ends_the_close_at_once() -> None:
    """Nothing can shield from `task.cancel()`; the call still ends once, and as cancelled."""
    canceller = Canceller("asyncio", "task")
    consumer = Consumer(canceller)
    source = Source("one ", consumer.cancel_here, on_close=consumer.cancel_here)
    rig = canceller.driver.rig({"p": Opens(lambda: source)})
    outcome = consumer.run(rig)
    assert outcome.is_cancelled
    assert outcome.cancelling == 2
    assert consumer.elapsed_s == 0.0
    assert terminal_events(rig.names) == ["attempt.cancelled"]
    assert rig.names.count("operation.completed") == 1


@pytest.mark.parametrize(
    "error", [ValueError(CANARY), RuntimeError(CANARY)], ids=["ValueError", "RuntimeError"]
)
def test_cancel_16_a_failing_close_is_a_note_on_the_cancellation(
    canceller: Canceller, error: Exception
) -> None:
    consumer = Consumer(canceller)

    async def fail() -> None:
        raise error

    source = Source("one ", consumer.cancel_here, on_close=fail)
    outcome = consumer.run(canceller.driver.rig({"p": Opens(lambda: source)}))
    assert outcome.is_cancelled
    assert outcome.raised is not None
    assert outcome.raised.__notes__ == [f"Closing the provider's stream raised {type(error).__name__}."]
    assert_no_canary(CANARY, outcome.raised)


def test_cancel_16_a_close_that_raises_its_own_exit_does_not_undo_the_cancellation(
    canceller: Canceller,
) -> None:
    class Strange(BaseException):
        pass

    consumer = Consumer(canceller)

    async def fail() -> None:
        raise Strange

    source = Source("one ", consumer.cancel_here, on_close=fail)
    outcome = consumer.run(canceller.driver.rig({"p": Opens(lambda: source)}))
    assert outcome.is_cancelled


def test_cancel_22_a_whole_response_whose_close_was_cancelled_is_not_released() -> None:
    """Its pieces are ready by then; a consumer that goes on all the same gets none of them."""
    canceller = Canceller("asyncio", "task")
    consumer = Consumer(canceller)
    source = Source("one ", "two", CompletedChunk(ModelResponse()), on_close=consumer.cancel_here)
    rig = canceller.driver.rig({"p": Opens(lambda: source)}, dlp=Words())

    async def body(cancel: Cancel) -> list[Chunk]:
        consumer.cancel = cancel
        stream = rig.tramapy.stream(HELLO, model="m")
        with pytest.raises(canceller.error_type):
            await anext(stream)
        return [chunk async for chunk in stream]

    assert canceller.run(body).value == []
    assert terminal_events(rig.names) == ["attempt.cancelled"]


def test_an_exit_out_of_a_close_replaces_an_error(driver: Driver) -> None:
    class Strange(BaseException):
        pass

    def fail() -> None:
        raise Strange

    source = Source("one ", ProviderError("no"), on_close=fail)
    rig = driver.rig({"p": Opens(lambda: source)})
    with pytest.raises(Strange):
        rig.stream()
    assert terminal_events(rig.names) == ["attempt.failed"]
    assert rig.names.count("operation.completed") == 1


def test_a_cancellation_out_of_a_close_is_one(driver: Driver) -> None:
    def fail() -> None:
        raise concurrent.futures.CancelledError

    source = Source("one ", ProviderError("no"), on_close=fail)
    rig = driver.rig({"p": Opens(lambda: source)})
    with pytest.raises(concurrent.futures.CancelledError):
        rig.stream()
    assert terminal_events(rig.names) == ["attempt.cancelled"]


def test_cancel_19_the_engine_has_no_generators_and_starts_no_tasks() -> None:
    """So nothing can stay open over a yield, and nothing runs on its own (behaviours 23 and 26)."""
    root = Path(tramapy.__file__).parent
    found = []
    for path in [*sorted((root / "engine").glob("*.py")), root / "runtime.py", root / "client.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AsyncFunctionDef) and any(
                isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node)
            ):
                found.append(f"{path.name}: async generator {node.name}")
            if isinstance(node, ast.Attribute | ast.Name):
                name = node.attr if isinstance(node, ast.Attribute) else node.id
                if name in {
                    "create_task",
                    "ensure_future",
                    "create_task_group",
                    "open_nursery",
                    "gather",
                    "start_soon",
                }:
                    found.append(f"{path.name}: {name}")
    assert found == []


def test_cancel_22_a_piece_whose_record_is_being_written_is_not_released(canceller: Canceller) -> None:
    consumer = Consumer(canceller)

    class Audit(DlpRedactionAuditEmitter):
        async def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
            await consumer.cancel_here()

    dlp = HoldBack({CANARY: "[C]"})
    provider = ScriptedProvider([["see ", CANARY, " now"]])
    rig = canceller.driver.rig(provider, dlp=dlp, dlp_redaction_audit=Audit())
    assert consumer.run(rig).is_cancelled
    assert text_of(consumer.chunks) == "see "
    assert (dlp.open_count, dlp.aborted_count, provider.open_stream_count) == (0, 1, 0)
    assert "dlp.redacted" not in rig.names
    assert_no_canary(CANARY, consumer.chunks, rig.observer.events)


def test_cancel_22_a_held_tail_is_dropped(canceller: Canceller) -> None:
    consumer = Consumer(canceller)
    dlp = HoldBack({CANARY: "[C]"})
    source = Source("see cana", consumer.cancel_here)
    rig = canceller.driver.rig({"p": Opens(lambda: source)}, dlp=dlp)
    assert consumer.run(rig).is_cancelled
    assert text_of(consumer.chunks) == "see "
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)


def test_cancel_22_what_was_buffered_is_not_released(canceller: Canceller) -> None:
    consumer = Consumer(canceller)
    rig = canceller.driver.rig(["see this"], dlp=Scripted(lambda *_: consumer.cancel_here()))
    assert consumer.run(rig).is_cancelled
    assert consumer.chunks == []
