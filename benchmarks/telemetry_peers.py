"""What an instrumentation of the OpenAI SDK adds to a call, in an environment of its own: `make bench-peers`.

The SDK talks to a transport in memory, first bare and wrapped by tramapy with its default rules of DLP, then
instrumented: not every instrumentation can be taken off.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

import httpx2
import openai
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.measure import abest_us, row
from benchmarks.yardstick import shown_scale
from tramapy import RuleBasedDlpInterceptor, wrap

CALLS = 30
MODULES = {
    "genai-openai": "opentelemetry.instrumentation.genai.openai",
    "OpenLLMetry": "opentelemetry.instrumentation.openai",
}
ANSWER = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "a plain answer"},
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    }
).encode()


class Nowhere(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def client() -> openai.AsyncOpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        stream = httpx2.ByteStream(ANSWER)
        return httpx2.Response(200, stream=stream, headers={"content-type": "application/json"})

    http_client: Any = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return openai.AsyncOpenAI(
        base_url="http://provider.test/v1", api_key="plainly-fake", http_client=http_client
    )


async def _call(asked: openai.AsyncOpenAI, calls: int) -> None:
    for _ in range(calls):
        await asked.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "a plain question"}]
        )


async def _measure(module: str) -> dict[str, float]:
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    meter_provider = MeterProvider(metric_readers=[InMemoryMetricReader()])
    asked = client()
    wrapped = wrap(asked, dlp=RuleBasedDlpInterceptor.with_default_rules())
    bare = await abest_us(
        {"bare": lambda calls: _call(asked, calls), "wrap": lambda calls: _call(wrapped, calls)},
        CALLS,
        rounds=30,
    )
    importlib.import_module(module).OpenAIInstrumentor().instrument(
        tracer_provider=tracer_provider, meter_provider=meter_provider
    )
    traced = await abest_us({"traced": lambda calls: _call(asked, calls)}, CALLS, rounds=30)
    return bare | traced


def main() -> None:
    """Print what the instrumentation that is installed here adds."""
    name = sys.argv[1]
    shown_scale()
    figures = asyncio.run(_measure(MODULES[name]))
    print(row("openai, chat completion, bare", figures["bare"], "us"))
    print(row("tramapy.wrap with default rules adds", figures["wrap"] - figures["bare"], "us"))
    print(row(f"{name} adds", figures["traced"] - figures["bare"], "us"))


if __name__ == "__main__":
    main()
