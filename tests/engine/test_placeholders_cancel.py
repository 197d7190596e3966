"""Cancelled at each of its checkpoints, an operation with placeholders leaves a wiped vault and shows no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.lowlevel
import pytest

from tests.drivers import HELLO
from tests.engine.cancelling import Canceller
from tests.engine.checkpoints import World, cancel_everywhere
from tests.engine.doubles import down, retries
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    CompletedChunk,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    ModelRequest,
    ModelResponse,
)
from tramapy.dlp import Vault

DONE = CompletedChunk(ModelResponse())


class Slow(DlpInterceptor):
    """Makes a placeholder of each text, with a checkpoint before and one behind."""

    uses_placeholders = True

    def __init__(self, world: World) -> None:
        self._journal = world.journal
        self.vaults: list[Vault] = []

    async def inspect(self, context: DlpContext, text: str) -> DlpResult:  # type: ignore[override]  # an async hook
        self._journal.append("protect")
        await anyio.lowlevel.checkpoint()
        assert isinstance(context.vault, Vault)
        self.vaults.append(context.vault)
        placeholder = context.vault.protect("text", text)
        await anyio.lowlevel.checkpoint()
        return DlpResult(placeholder, [DlpRedaction("text", 1)])


class Vaults:
    """Makes worlds whose vaults it can look at when they are done."""

    def __init__(self, canceller: Canceller, settings: dict[str, Any]) -> None:
        self._canceller = canceller
        self._settings = settings
        self.slow: list[Slow] = []

    def world(self) -> World:
        self.assert_wiped()
        return World(self._canceller, hooks=self._hooks, **self._settings)

    def assert_wiped(self) -> None:
        vaults = [vault for slow in self.slow for vault in slow.vaults]
        assert all(vault.is_wiped and not len(vault) for vault in vaults)

    def _hooks(self, world: World) -> dict[str, Any]:
        slow = Slow(world)
        self.slow.append(slow)
        return {"request_dlp": slow, **({"dlp": self._incremental(world)} if "dlp" in self._settings else {})}

    def _incremental(self, world: World) -> HoldBack:
        world.streaming.append(HoldBack())
        return world.streaming[0]


def said(request: ModelRequest) -> str:
    return f"I heard {request.messages[0].content}"


SCENARIOS: dict[str, tuple[Callable[[World], Any], int, dict[str, Any]]] = {
    "success": (World.complete, 3, {"primary": [said]}),
    "retry": (World.complete, 6, {"primary": [down(), said], "retry": retries(1)}),
    "failure": (World.complete, 3, {"primary": [down()], "retry": retries(0)}),
    "stream": (World.stream, 4, {"primary": [said]}),
    "stream-inspected": (World.stream, 4, {"primary": [said], "dlp": None}),
    "stream-retry": (
        World.stream,
        7,
        {"primary": [["<", down()], ["a ", "<", DONE]], "retry": retries(1)},
    ),
    "stream-early-close": (World.leave_early, 4, {"primary": [said]}),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_at_each_checkpoint_the_vault_is_wiped(canceller: Canceller, name: str) -> None:
    operation, at_least, settings = SCENARIOS[name]
    vaults = Vaults(canceller, settings)

    async def main() -> int:
        return await cancel_everywhere(canceller, vaults.world, operation)

    assert canceller.run_plainly(main) >= at_least
    vaults.assert_wiped()
    assert any(slow.vaults for slow in vaults.slow)


def test_the_scenarios_restore(canceller: Canceller) -> None:
    for name in ("success", "stream", "stream-inspected"):
        operation, _, settings = SCENARIOS[name]
        world = Vaults(canceller, settings).world()

        async def main(operation: Any = operation, world: World = world) -> Any:
            return await operation(world)

        assert canceller.run_plainly(main) == f"I heard {HELLO[0].content}"
