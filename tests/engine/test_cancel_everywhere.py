"""Behaviour 30 of cancellation: at each checkpoint of each scenario, and nothing is left behind.

With it behaviours 1 (unchanged), 2 (nothing follows), 4 (every way out cleans up) and 6 (a probe's place is free).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.engine.cancelling import Canceller
from tests.engine.checkpoints import Operation, Waits, World, cancel_everywhere
from tests.engine.doubles import Words, down, retries
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    CompletedChunk,
    DlpInspectionError,
    ModelResponse,
    ProviderError,
    Route,
    TokenBudgetSettings,
    ToolCall,
    ToolCallChunk,
)

CALL = ToolCall(id="c1", name="search", arguments_json='{"q": "secret"}')
DONE = CompletedChunk(ModelResponse())
FALLBACK: dict[str, Any] = {"fallbacks": {"m": [Route("q")]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A world to cancel in, and the fewest checkpoints that it must have to prove anything."""

    operation: Operation
    at_least: int
    settings: dict[str, Any]


def scenario(operation: Operation, at_least: int, **settings: Any) -> Scenario:
    return Scenario(operation=operation, at_least=at_least, settings=settings)


def all_hooks(fails: str | None = None, error: Exception | None = None) -> Callable[[World], dict[str, Any]]:
    def make(world: World) -> dict[str, Any]:
        hook = Waits(world, fails, error)
        return {"interceptors": [hook], "dlp": hook, "request_dlp": hook, "dlp_redaction_audit": hook}

    return make


def incremental(world: World) -> dict[str, Any]:
    """Hold back, and write each record with a checkpoint in between."""
    world.streaming.append(HoldBack())
    return {"dlp": world.streaming[0], "dlp_redaction_audit": Waits(world)}


def both(name: str, at_least: int, **settings: Any) -> dict[str, Scenario]:
    """Make a scenario for a whole answer and one for a stream."""
    return {
        name: scenario(World.complete, at_least, **settings),
        f"stream-{name}": scenario(World.stream, at_least, **settings),
    }


SCENARIOS: dict[str, Scenario] = {
    **both("success", 1, primary=["one two"]),
    **both("retry", 3, primary=[down(), down(), "one two"], retry=retries(2)),
    **both("fallback", 2, primary=[down()], backup=["one two"], retry=retries(0), **FALLBACK),
    **both("exhausted", 3, primary=[down(), down()], retry=retries(1)),
    **both("permanent-failure", 1, primary=[ProviderError("no")]),
    **both("probe", 1, primary=["one two"], is_probe=True),
    **both("failing-probe", 2, primary=[down()], backup=["one"], retry=retries(0), is_probe=True, **FALLBACK),
    **both("async-hooks", 6, primary=["one secret"], hooks=all_hooks()),
    **both("async-hooks-retry", 9, primary=[down(), "one secret"], retry=retries(1), hooks=all_hooks()),
    **both("async-hooks-probe", 6, primary=["one secret"], hooks=all_hooks(), is_probe=True),
    **both("dlp-block", 2, primary=["one"], hooks=all_hooks("inspect", DlpInspectionError("refused"))),
    **both("request-failure", 1, primary=["one"], hooks=all_hooks("request", ValueError("no"))),
    **both("response-failure", 4, primary=["one"], hooks=all_hooks("response", ValueError("no"))),
    **both("audit-failure", 4, primary=["one secret"], hooks=all_hooks("emit", OSError("no"))),
    **both("budget", 1, primary=["one"], token_budget=TokenBudgetSettings(hard_max_tokens_per_attempt=1)),
    "stream-incremental": scenario(
        World.stream, 6, primary=[["a sec", "ret b ", "secret", DONE]], hooks=incremental
    ),
    "stream-incremental-retry": scenario(
        World.stream,
        7,
        primary=[["sec", down()], ["a sec", "ret", DONE]],
        retry=retries(1),
        hooks=incremental,
    ),
    "stream-incremental-failure": scenario(World.stream, 3, primary=[["a sec", down()]], hooks=incremental),
    "stream-buffered": scenario(World.stream, 4, primary=[["a sec", "ret", DONE]], dlp=Words()),
    "stream-buffered-retry": scenario(
        World.stream, 7, primary=[["a ", down()], ["b ", "c", DONE]], retry=retries(1), dlp=Words()
    ),
    "stream-tool-call": scenario(
        World.stream, 4, primary=[["a ", ToolCallChunk(CALL), DONE]], hooks=incremental
    ),
    "stream-cut": scenario(World.stream, 3, primary=[["a ", "b"]]),
    "stream-without-with": scenario(World.stream_without_with, 4, primary=["one two three"]),
    "stream-early-close": scenario(World.leave_early, 2, primary=["one two three"]),
    "stream-early-close-incremental": scenario(
        World.leave_early, 2, primary=[["one sec", "ret"]], hooks=incremental
    ),
    "stream-early-close-probe": scenario(World.leave_early, 2, primary=["one two"], is_probe=True),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", SCENARIOS)
def test_cancel_30_at_each_checkpoint_nothing_is_left_behind(canceller: Canceller, name: str) -> None:
    chosen = SCENARIOS[name]

    async def main() -> int:
        return await cancel_everywhere(
            canceller, lambda: World(canceller, **chosen.settings), chosen.operation
        )

    count = canceller.run_plainly(main)
    assert count >= chosen.at_least, "the scenario has too few checkpoints to prove anything"
