"""Cancelled at each checkpoint, and a thousand at a time: nothing is left open, and nothing is lost."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import httpx2
import openai
import pytest
import trio

from tests.clients.every_call import CHAT, MESSAGES, STREAMS, Call, EveryCallServer
from tests.clients.worlds import API_KEY, SDK_LEAVES_GENERATORS, World, open_count
from tests.engine.cancelling import CANCELLERS, Cancel, Canceller, Outcome
from tests.engine.checkpoints import CountingBreaker, stepping
from tests.engine.stream_doubles import ScopeLog
from tramapy import (
    CircuitBreakerSettings,
    DlpRule,
    OperationInterceptor,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    wrap,
)
from tramapy.clients.http_call import HttpCall
from tramapy.engine.operation import Operation
from tramapy.engine.stream import EngineStream
from tramapy.testing import (
    BeginBody,
    EndBody,
    Exchange,
    FakeClock,
    Gate,
    HttpRejection,
    PassGate,
    RecordingObserver,
    SendBytes,
    Step,
)

pytestmark = SDK_LEAVES_GENERATORS

TEXT = "one two three 123-45-6789 four five six"
DLP = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(rules=[DlpRule(id="ssn", pattern=r"\d{3}-\d{2}-\d{4}", replacement="[SSN]")])
)


class Waiting(OperationInterceptor):
    """Passes a checkpoint on either side."""

    async def intercept_request(self, context: Any, messages: Any) -> Any:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        return messages


class Governed:
    """A wrapped client in which every permit is kept, and every scope counted."""

    def __init__(self, bare: Any, **settings: Any) -> None:
        self.observer = RecordingObserver()
        self.scopes = ScopeLog()
        clock = FakeClock()
        settings = {"event_observers": [self.observer, self.scopes], "clock": clock, **settings}
        self.client = wrap(bare, **settings)
        self.breaker = CountingBreaker(CircuitBreakerSettings(failure_threshold=1), clock.now_s)
        governor = self.client._client.tramapy_governor
        pipeline = dataclasses.replace(governor.settings.pipeline, breaker=self.breaker)
        governor.settings = dataclasses.replace(governor.settings, pipeline=pipeline)

    def assert_all_ended(self) -> None:
        """Check that what began has ended, once, and that every permit is back."""
        by_id: dict[Any, list[str]] = collections.defaultdict(list)
        for event in self.observer.events:
            by_id[event.attributes["correlation_id"]].append(event.name.removeprefix("tramai."))
        for names in by_id.values():
            assert names.count("operation.started") == names.count("operation.completed") == 1
            assert names[-1] == "operation.completed"
            ends = [names.count(f"attempt.{end}") for end in ("completed", "failed", "cancelled")]
            assert sum(ends) == names.count("attempt.started")
        assert all(permit.is_settled for permit in self.breaker.permits)
        assert self.scopes.depth == 0


def _task_count(backend: str) -> int:
    if backend == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


async def _settled(backend: str, tasks_before: int | None) -> None:
    """Let the loop close the generators that the SDK leaves to it, wrapped or not; check that then no task is left.

    Where `tasks_before` is None the loop may have started what it keeps for itself.
    """
    gc.collect(1)
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
    if tasks_before is not None:
        assert _task_count(backend) == tasks_before, "no task is left"


async def _whole(client: Any, call: Call) -> str:
    return await call.ask(client)


async def _streamed(client: Any, call: Call) -> str:
    stream = await call.start(client, "hello", stream=True)
    async with stream:
        return call.text_of([item async for item in stream])


async def _left_early(client: Any, call: Call) -> str:
    stream = await call.start(client, "hello", stream=True)
    async with stream:
        async for item in stream:
            if call.text_of([item]):
                break
    return ""


async def _left_to_itself(client: Any, call: Call) -> str:
    return await call.stream(client)


class PieceByPiece:
    """A stream whose events go out one by one: one more each time that the client waits."""

    def __init__(self) -> None:
        self.gates = [Gate() for _ in range(40)]
        self._left = iter(self.gates)

    def release_one(self) -> None:
        gate = next(self._left, None)
        if gate is not None:
            gate.release()

    def steps(self, exchange: Exchange) -> Iterator[Step]:
        yield BeginBody(headers={"content-type": "text/event-stream"})
        for gate, frame in zip(self.gates, exchange.frames(TEXT), strict=False):
            yield PassGate(gate)
            yield SendBytes(frame.data)
        yield EndBody()


BUSY = HttpRejection(status=503)

SCENARIOS: dict[str, tuple[Callable[[Any, Call], Any], Sequence[Any], dict[str, Any], str]] = {
    "whole": (_whole, [TEXT], {"dlp": DLP}, "one two three [SSN] four five six"),
    "stream": (_streamed, [PieceByPiece], {}, TEXT),
    "stream with hooks": (
        _streamed,
        [PieceByPiece],
        {"dlp": DLP, "interceptors": [Waiting()]},
        "one two three [SSN] four five six",
    ),
    "stream after a retry": (_streamed, [BUSY, PieceByPiece], {}, TEXT),
    "stream left early": (_left_early, [PieceByPiece], {}, ""),
    "stream without with": (_left_to_itself, [PieceByPiece], {}, TEXT),
}

PAIRS = [
    *((name, CHAT) for name in SCENARIOS),
    *(("stream", call) for call in STREAMS if call is not CHAT),
    ("stream after a retry", MESSAGES),
]
CASES = [
    pytest.param(name, call, way, id=f"{name}-{call}-{'-'.join(way)}")
    for name, call in PAIRS
    for way in CANCELLERS
    # how the caller cancels is seen with one call
    if way in (("asyncio", "task"), ("trio", "scope")) or (name, call) == ("stream", CHAT)
]


@pytest.mark.unmeasured
@pytest.mark.parametrize(("name", "call", "way"), CASES)
def test_nothing_is_left_of_what_is_cancelled_anywhere(name: str, call: Call, way: tuple[str, str]) -> None:
    canceller = Canceller(*way)
    operation, answers, settings, expected = SCENARIOS[name]
    world = World(canceller.backend, call.vendor)
    script = {"answers": list(answers)}

    def answer(request: Any) -> Any:
        left = script["answers"]
        return left.pop(0) if len(left) > 1 else left[0]

    async def once(bare: Any, at: int) -> tuple[Outcome, bool]:
        pieces = PieceByPiece()
        script["answers"] = [pieces if answer is PieceByPiece else answer for answer in answers]
        governed = Governed(bare, retry=RetryPolicySettings(provider_retries=1), **settings)
        was_cancelled: list[int] = []

        async def body(cancel: Cancel) -> Any:
            def look(count: int) -> None:
                pieces.release_one()
                if count == at:
                    was_cancelled.append(count)
                    cancel()

            return await stepping(operation(governed.client, call), look)

        tasks_before = _task_count(canceller.backend)
        outcome = await canceller.within(body)
        await _settled(canceller.backend, tasks_before if at else None)
        governed.assert_all_ended()
        assert open_count(bare) == 0, "no connection is in use"
        return outcome, bool(was_cancelled)

    async def main() -> None:
        with EveryCallServer([answer], repeat_last=True) as server:
            bare = world.bare(world.url(server))
            outcome, _ = await once(bare, at=0)
            assert (outcome.raised, outcome.value) == (None, expected)
            at, is_reached = 0, True
            while is_reached:
                at += 1
                try:
                    outcome, is_reached = await once(bare, at)
                except BaseException as error:
                    error.add_note(f"cancelled at checkpoint {at}")
                    await bare.close()
                    raise
                if outcome.raised is not None:
                    assert type(outcome.raised) is canceller.error_type
                else:
                    assert outcome.value == expected
            assert at > (4 if operation is _whole else 6), "too few checkpoints to prove anything"
            await bare.close()
            server.wait_for_no_connection()

    world.run(main)


STREAM_COUNT = 1000
PIECES = [f"piece{number} " for number in range(6)]


class Source(httpx2.AsyncBaseTransport):
    """Answers every request with a stream that stands still in its middle until all have come so far."""

    def __init__(self) -> None:
        self.begun_count = 0
        self.closed_count = 0
        self.produced_count = 0
        self.taken_count = 0
        self.most_ahead = 0
        self.all_there = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=_Pieces(self, request.read())
        )


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, source: Source, body: bytes) -> None:
        self._source = source
        self._fails = b"to fail" in body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        source = self._source
        source.begun_count += 1
        for number, piece in enumerate(PIECES):
            if number == len(PIECES) // 2:
                if source.begun_count == STREAM_COUNT:
                    source.all_there.set()
                await source.all_there.wait()
                if self._fails:
                    raise httpx2.ReadError("gone")
            source.produced_count += 1
            source.most_ahead = max(source.most_ahead, source.produced_count - source.taken_count)
            choice = f'{{"index":0,"delta":{{"content":"{piece}"}},"finish_reason":null}}'
            yield f'data: {{"id":"c","object":"x","created":1,"model":"m","choices":[{choice}]}}\n\n'.encode()
            await asyncio.sleep(0)
        choice = '{"index":0,"delta":{},"finish_reason":"stop"}'
        yield f'data: {{"id":"c","object":"x","created":1,"model":"m","choices":[{choice}]}}\n\n'.encode()
        yield b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        self._source.closed_count += 1


@contextlib.contextmanager
def _nothing_stays_alive() -> Iterator[None]:
    """Check that what is made within is gone at the end; what was there before is not looked through."""
    gc.collect()
    gc.freeze()
    try:
        yield
        gc.collect()
        assert not [each for each in gc.get_objects() if type(each) in (HttpCall, Operation, EngineStream)]
    finally:
        gc.unfreeze()


@pytest.mark.unmeasured
def test_a_thousand_streams_at_a_time_lose_nothing() -> None:
    """A quarter each is read to its end, left early, cut by the provider, and cancelled."""
    ends: collections.Counter[str] = collections.Counter()

    async def one(number: int, client: Any, source: Source) -> None:
        kind = ("read", "left", "to fail", "cancelled")[number % 4]
        stream = await CHAT.start(client, kind, stream=True)
        taken = 0
        try:
            async with stream:
                async for item in stream:
                    taken += bool(CHAT.text_of([item]))
                    source.taken_count += bool(CHAT.text_of([item]))
                    if taken == len(PIECES) // 2 + 2 and kind == "left":
                        break
                    if taken == len(PIECES) // 2 + 2 and kind == "cancelled":
                        asyncio.current_task().cancel()  # type: ignore[union-attr]
        except openai.APIConnectionError:
            assert kind == "to fail"
            ends["to fail"] += 1
        except asyncio.CancelledError:
            assert kind == "cancelled"
            ends["cancelled"] += 1
            raise
        else:
            assert taken == (len(PIECES) if kind == "read" else len(PIECES) // 2 + 2)
            ends[kind] += 1

    async def main() -> None:
        source = Source()
        bare = openai.AsyncOpenAI(
            api_key=API_KEY, http_client=httpx2.AsyncClient(transport=source), max_retries=0
        )
        governed = Governed(bare)
        tasks = [asyncio.create_task(one(number, governed.client, source)) for number in range(STREAM_COUNT)]
        await asyncio.gather(*tasks, return_exceptions=True)
        quarter = STREAM_COUNT // 4
        assert ends == dict.fromkeys(("read", "left", "to fail", "cancelled"), quarter)
        assert source.begun_count == source.closed_count == STREAM_COUNT
        governed.assert_all_ended()
        names = collections.Counter(governed.observer.names)
        assert names["tramai.operation.completed"] == names["tramai.attempt.started"] == STREAM_COUNT
        assert names["tramai.attempt.completed"] == names["tramai.attempt.failed"] == quarter
        assert names["tramai.attempt.cancelled"] == 2 * quarter
        assert len(governed.breaker.permits) == STREAM_COUNT
        # a stream is pulled, never read ahead of its reader by more than what is about to be told
        assert source.most_ahead <= 4 * STREAM_COUNT
        del tasks
        await bare.close()

    with _nothing_stays_alive():
        asyncio.run(main())
