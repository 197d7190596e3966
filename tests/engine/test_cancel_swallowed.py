"""Behaviour 27 of cancellation: a hook that swallows one is found out, and nothing of ours is mistaken for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from tests.engine.cancelling import Cancel, Canceller
from tests.engine.doubles import (
    OnRequest,
    OnResponse,
    Scripted,
    Words,
)
from tests.engine.stream_doubles import Opens, Source
from tests.engine.test_cancellation import call, kinds
from tramapy import (
    CompletedChunk,
    DlpContext,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    ModelResponse,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a91c2"


class Swallowing:
    """A hook that is cancelled while it waits, and goes on as if it was not."""

    def __init__(self, ends: str) -> None:
        self.cancel: Cancel = lambda: None
        self._ends = ends

    async def swallow(self, value: Any) -> Any:
        self.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException:
            if self._ends == "raises":
                raise ValueError(CANARY) from None
        return value


PLACES: dict[str, Callable[[Callable[[Any], Awaitable[Any]]], dict[str, Any]]] = {
    "request-interceptor": lambda hook: {"interceptors": [OnRequest(hook)]},
    "response-interceptor": lambda hook: {"interceptors": [OnResponse(hook)]},
    "dlp": lambda hook: {"dlp": Scripted(lambda context, text: hook(DlpResult(text)))},
    "audit": lambda hook: {"dlp": Words({"one": "[S]"}), "dlp_redaction_audit": Emits(hook)},
}


class Emits(DlpRedactionAuditEmitter):
    def __init__(self, hook: Callable[[Any], Awaitable[Any]]) -> None:
        self._hook = hook

    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> Awaitable[None]:
        return self._hook(None)


@kinds
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ends", ["returns", "raises"])
def test_cancel_27_a_cancellation_that_a_hook_swallowed_is_raised(
    canceller: Canceller, kind: str, place: str, ends: str
) -> None:
    swallowing = Swallowing(ends)
    provider = ScriptedProvider([ModelResponse(content="one two")])
    rig = canceller.driver.rig(provider, **PLACES[place](swallowing.swallow))

    async def body(cancel: Cancel) -> Any:
        swallowing.cancel = cancel
        return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.is_cancelled
    assert isinstance(outcome.raised, canceller.error_type)
    assert len(provider.requests) == (0 if place == "request-interceptor" else 1)
    assert provider.open_stream_count == 0
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "cancelled"
    assert_no_canary(CANARY, outcome.raised)


def test_cancel_27_a_cancellation_that_is_still_to_come_does_not_hit_the_cleanup() -> None:
    """A native one is delivered once: in the hook's place, and not in the close that follows."""
    canceller = Canceller("asyncio", "task")
    closed: list[int] = []

    async def close() -> None:
        await anyio.lowlevel.checkpoint()
        closed.append(1)

    async def body(cancel: Cancel) -> Any:
        async def hook(response: Any) -> Any:
            cancel()
            return response

        source = Source("one", CompletedChunk(ModelResponse()), on_close=close)
        rig = canceller.driver.rig({"p": Opens(lambda: source)}, interceptors=[OnResponse(hook)])
        return await call(rig, "stream")

    assert canceller.run(body).is_cancelled
    assert closed == [1]


@kinds
def test_cancel_27_a_cleanup_under_a_cancelled_task_may_still_call(kind: str) -> None:
    """Then the count is above 0 before the call, and says nothing about it."""
    canceller = Canceller("asyncio", "task")
    rig = canceller.driver.rig(["one"], interceptors=[OnRequest(_pass), OnResponse(_pass)])

    async def body(cancel: Cancel) -> Any:
        cancel()
        try:
            await anyio.sleep_forever()
        except BaseException:
            return await call(rig, kind)

    outcome = canceller.run(body)
    assert outcome.raised is None
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "success"


async def _pass(value: Any) -> Any:
    await anyio.lowlevel.checkpoint()
    return value


def test_cancel_10_a_trio_limit_inside_a_hook_stays_inside() -> None:
    async def impatient(messages: Any) -> Any:
        with trio.move_on_after(1.0):
            await trio.sleep_forever()
        return messages

    canceller = Canceller("trio", "scope")
    rig = canceller.driver.rig(["one"], interceptors=[OnRequest(impatient)])

    async def body(_: Cancel) -> Any:
        return await call(rig, "complete")

    assert canceller.run(body).value.content == "one"
