"""One facade serves any number of threads or tasks: no event, permit, sleep or redaction is lost."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from tests.drivers import Driver, Rig
from tests.engine.checkpoints import CountingBreaker
from tests.engine.doubles import Ledger, down, retries
from tests.engine.stream_doubles import HoldBack, terminal_events
from tramapy import CircuitBreakerSettings, DlpRedaction, Message, ModelRequest, ProviderError
from tramapy.testing import ScriptedProvider

WORKER_COUNT = 16
EACH = 50
TOTAL = WORKER_COUNT * EACH

KINDS = ("complete", "stream", "leave", "fail", "retry")


class Answers:
    """Answers by what was asked: fails for good, fails once, or gives a text with one secret in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def __call__(self, request: ModelRequest) -> Any:
        asked = request.messages[0].content
        kind = asked.partition(" ")[0]
        if kind == "fail":
            return ProviderError("no")
        with self._lock:
            is_first = asked not in self._seen
            self._seen.add(asked)
        return down() if kind == "retry" and is_first else "the secret is out"


def kind_of(number: int) -> str:
    return KINDS[number % len(KINDS)]


def run_on_thread(rig: Rig, number: int) -> None:
    kind = kind_of(number)
    messages = [Message.user(f"{kind} {number}")]
    options: dict[str, Any] = {"model": "m", "correlation_id": f"c-{number}"}
    if kind in ("complete", "retry"):
        assert rig.tramapy.complete(messages, **options).content == "the [S] is out"
    elif kind == "fail":
        with pytest.raises(ProviderError):
            rig.tramapy.complete(messages, **options)
    else:
        with rig.tramapy.stream(messages, **options) as stream:
            for chunk in stream:
                if kind == "leave":
                    assert chunk.text == "the "
                    break


async def run_on_loop(rig: Rig, number: int) -> None:
    kind = kind_of(number)
    messages = [Message.user(f"{kind} {number}")]
    options: dict[str, Any] = {"model": "m", "correlation_id": f"c-{number}"}
    if kind in ("complete", "retry"):
        assert (await rig.tramapy.complete(messages, **options)).content == "the [S] is out"
    elif kind == "fail":
        with pytest.raises(ProviderError):
            await rig.tramapy.complete(messages, **options)
    else:
        async with rig.tramapy.stream(messages, **options) as stream:
            async for chunk in stream:
                if kind == "leave":
                    assert chunk.text == "the "
                    break


def run_all(driver: Driver, rig: Rig) -> None:
    """Run every operation, by workers that start at the same moment."""
    if driver.is_async:

        async def work(worker: int) -> None:
            for number in range(worker * EACH, (worker + 1) * EACH):
                await run_on_loop(rig, number)

        async def main() -> None:
            async with anyio.create_task_group() as tasks:
                for worker in range(WORKER_COUNT):
                    tasks.start_soon(work, worker)

        driver.run(main)
        return
    barrier = threading.Barrier(WORKER_COUNT)

    def work_on_thread(worker: int) -> None:
        barrier.wait(30.0)
        for number in range(worker * EACH, (worker + 1) * EACH):
            run_on_thread(rig, number)

    with ThreadPoolExecutor(WORKER_COUNT) as pool:
        for done in [pool.submit(work_on_thread, worker) for worker in range(WORKER_COUNT)]:
            done.result()


@pytest.mark.unmeasured
def test_one_facade_shared_by_many_loses_nothing(driver: Driver) -> None:
    provider = ScriptedProvider([Answers()], repeat_last=True)
    dlp, ledger = HoldBack(), Ledger()
    rig = driver.rig(provider, dlp=dlp, dlp_redaction_audit=ledger, retry=retries(1))
    breaker = CountingBreaker(CircuitBreakerSettings(failure_threshold=3), rig.clock.now_s)
    rig.tramapy._pipeline = dataclasses.replace(rig.tramapy._pipeline, breaker=breaker)

    run_all(driver, rig)

    by_operation: dict[object, list[str]] = {f"c-{number}": [] for number in range(TOTAL)}
    for event in rig.observer.events:
        by_operation[event.attributes["correlation_id"]].append(event.name.removeprefix("tramai."))
    for number in range(TOTAL):
        names, kind = by_operation[f"c-{number}"], kind_of(number)
        assert names[0] == "operation.started"
        assert names[-1] == "operation.completed"
        assert Counter(names)["operation.completed"] == 1
        assert (
            terminal_events(names)
            == {
                "complete": ["attempt.completed"],
                "stream": ["attempt.completed"],
                "leave": ["attempt.cancelled"],
                "fail": ["attempt.failed"],
                "retry": ["attempt.failed", "attempt.completed"],
            }[kind]
        )
    per_kind = TOTAL // len(KINDS)
    assert rig.clock.sleeps == (0.05,) * per_kind
    assert len(provider.requests) == TOTAL + per_kind
    assert len(breaker.permits) == TOTAL
    assert all(permit.is_settled for permit in breaker.permits)
    assert (provider.open_stream_count, dlp.open_count) == (0, 0)
    redacted = 3 * per_kind
    assert [found for _, found in ledger.records] == [(DlpRedaction("word-0", 1),)] * redacted
    assert rig.names.count("dlp.redacted") == redacted
