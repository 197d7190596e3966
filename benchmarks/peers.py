"""The same job through LiteLLM's Router, in an environment of its own: `make bench-peers`."""

from __future__ import annotations

import asyncio
import os

from benchmarks.attempt import MESSAGES, Looped, _asyncio_pause, governed
from benchmarks.measure import abest_us, row
from tramapy import AsyncTramapy

CALLS = 50


async def _measure() -> dict[str, float]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks the network for prices
    import litellm

    router = litellm.Router(
        model_list=[
            {
                "model_name": "m",
                "litellm_params": {"model": "gpt-4o", "api_key": "none", "mock_response": "x"},
            }
        ]
    )
    facade = AsyncTramapy({"p": Looped(_asyncio_pause)}, **governed())
    prompt = [{"role": "user", "content": "a plain question"}]

    async def routed(calls: int) -> None:
        for _ in range(calls):
            await router.acompletion(model="m", messages=prompt)

    async def tramapy(calls: int) -> None:
        for _ in range(calls):
            await facade.complete(MESSAGES, model="m")

    return await abest_us({"litellm": routed, "tramapy": tramapy}, CALLS, rounds=10)


def main() -> None:
    """Print both figures and their ratio."""
    figures = asyncio.run(_measure())
    print(row("litellm.Router.acompletion(mock_response=...)", figures["litellm"], "us"))
    print(row("tramapy, attempt with all hooks", figures["tramapy"], "us"))
    ratio = figures["litellm"] / figures["tramapy"]
    print(f"  {ratio:.0f} x cheaper; bar 25 x: {'met' if ratio >= 25 else 'MISSED'}")


if __name__ == "__main__":
    main()
