"""What an attempt costs with its spans and metrics, beside the same attempt without them.

The SDK has a batch processor and a reader that nobody waits for; exported is to nowhere. CPU of all threads counts:
the exporter's work is the program's, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import tenacity
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from benchmarks.attempt import MESSAGES, Looped, _asyncio_pause, governed
from benchmarks.measure import abest_us, row
from tramapy import AsyncTramapy, ModelRequest, ModelResponse, TokenUsage
from tramapy.telemetry import OpenTelemetryEventObserver

CALLS = 100
ANSWER = ModelResponse(
    content="a plain answer", model="m", usage=TokenUsage(input_tokens=12, output_tokens=5)
)


class Counted(Looped):
    """Answers with its token counts, as real providers do."""

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        await self._pause()
        return ANSWER


class Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def observer(sampler: Any) -> OpenTelemetryEventObserver:
    tracer_provider = TracerProvider(sampler=sampler)
    tracer_provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    meter_provider = MeterProvider(metric_readers=[InMemoryMetricReader()])
    return OpenTelemetryEventObserver(
        tracer_provider=tracer_provider, meter_provider=meter_provider, known_models=["m"]
    )


async def figures() -> dict[str, float]:
    provider = Counted(_asyncio_pause)
    observers: dict[str, list[Any]] = {
        "governed": governed()["event_observers"],
        "sampled": [observer(ALWAYS_ON)],
        "unsampled": [observer(ALWAYS_OFF)],
    }
    retrying = tenacity.retry(stop=tenacity.stop_after_attempt(3))(provider.acomplete)
    candidates: dict[str, Any] = {"bare": _bare(provider.acomplete), "tenacity": _bare(retrying)}
    for name, listed in observers.items():
        candidates[name] = _facade(
            AsyncTramapy({"p": provider}, **(governed() | {"event_observers": listed}))
        )
    return await abest_us(candidates, CALLS)


def _bare(call: Callable[[ModelRequest], Awaitable[ModelResponse]]) -> Any:
    request = ModelRequest(model="m", messages=MESSAGES)

    async def run(calls: int) -> None:
        for _ in range(calls):
            await call(request)

    return run


def _facade(facade: AsyncTramapy) -> Any:
    async def run(calls: int) -> None:
        for _ in range(calls):
            await facade.complete(MESSAGES, model="m")

    return run


def main() -> None:
    """Print what an attempt costs above the bare call."""
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    print(
        "Telemetry: CPU of an attempt above the bare call (bars are for a machine where tenacity costs 24.5 us)"
    )
    found = asyncio.run(figures())
    bare = found["bare"]
    scale = (found["tenacity"] - bare) / 24.5
    print(row("tenacity alone", found["tenacity"] - bare, "us"))
    print(row("governed, no tracing", found["governed"] - bare, "us"))
    print(
        row(
            "governed, spans and metrics, batch exporter",
            found["sampled"] - bare,
            "us",
            round(110 * scale, 1),
        )
    )
    print(row("governed, sampled out, metrics kept", found["unsampled"] - bare, "us", round(60 * scale, 1)))


if __name__ == "__main__":
    main()
