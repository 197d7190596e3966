"""What an attempt costs with its spans and metrics, beside the same attempt without them.

The SDK has a batch processor that exports to nowhere, and a reader. What the observer leaves to the collection is
measured apart: it is CPU, too, but of the reader's thread. Peers' instrumentations: `benchmarks.telemetry_peers`.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import tenacity
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from benchmarks.attempt import MESSAGES, Looped, _asyncio_pause, governed
from benchmarks.measure import abest_us, row
from tramapy import AsyncTramapy, ModelRequest, ModelResponse, TokenUsage
from tramapy.telemetry import JsonlEventObserver, OpenTelemetryEventObserver

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


def observed(sampler: Sampler) -> tuple[OpenTelemetryEventObserver, InMemoryMetricReader]:
    tracer_provider = TracerProvider(sampler=sampler)
    tracer_provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    reader = InMemoryMetricReader()
    made = OpenTelemetryEventObserver(
        tracer_provider=tracer_provider,
        meter_provider=MeterProvider(metric_readers=[reader]),
        known_models=["m"],
    )
    return made, reader


async def figures(dump: JsonlEventObserver) -> dict[str, float]:
    provider = Counted(_asyncio_pause)
    retrying = tenacity.retry(stop=tenacity.stop_after_attempt(3))(provider.acomplete)
    sampled, reader = observed(ALWAYS_ON)
    unsampled, other_reader = observed(ALWAYS_OFF)

    def facade(observers: list[Any]) -> Any:
        return _facade(AsyncTramapy({"p": provider}, **(governed() | {"event_observers": observers})))

    candidates = {
        "bare": _bare(provider.acomplete),
        "tenacity": _bare(retrying),
        "governed": facade(governed()["event_observers"]),
        "sampled": facade([sampled]),
        # the attempts of the candidate before it: a cost for each of them
        "collected": _collection(reader),
        "unsampled": facade([unsampled]),
        "collected unsampled": _collection(other_reader),
        "dump": _flushed(facade([dump]), dump),
    }
    found = await abest_us(candidates, CALLS)
    return found | {"written": await _beside_us(candidates["dump"])}


def _flushed(run: Any, dump: JsonlEventObserver) -> Any:
    """Write what a round left before the next one begins, so that no event is dropped."""

    async def run_and_flush(calls: int) -> None:
        await run(calls)
        dump.flush()

    return run_and_flush


async def _beside_us(run: Any) -> float:
    """Return the best CPU time per call of all threads but this one."""
    samples: list[float] = []
    for _ in range(20):
        all_s, own_s = time.process_time(), time.thread_time()
        await run(CALLS)
        samples.append((time.process_time() - all_s - (time.thread_time() - own_s)) / CALLS * 1e6)
    return min(samples)


def _collection(reader: InMemoryMetricReader) -> Any:
    async def run(calls: int) -> None:
        reader.get_metrics_data()

    return run


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
    with tempfile.TemporaryDirectory() as directory:
        with JsonlEventObserver(Path(directory) / "events.jsonl") as dump:
            found = asyncio.run(figures(dump))
        if dump.dropped_count:
            raise RuntimeError("events were dropped, so the figure of the dump is none")
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
    print(row("  and later, on the thread that collects", found["collected"], "us"))
    print(row("governed, sampled out, metrics kept", found["unsampled"] - bare, "us", round(60 * scale, 1)))
    print(row("  and later, on the thread that collects", found["collected unsampled"], "us"))
    print(row("governed, every event to a file of JSON lines", found["dump"] - bare, "us"))
    print(row("  and later, on the thread that writes", found["written"], "us"))


if __name__ == "__main__":
    main()
