"""Beside the official instrumentations of the HTTP client and of the OpenAI SDK: parents right, nothing doubled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import openai
import pytest
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor
from opentelemetry.sdk.trace import ReadableSpan

from tests.drivers import HELLO
from tests.telemetry.recorded import Telemetry, attributes_of, is_child
from tramapy import AsyncTramapy, ModelResponse, RetryPolicySettings, TokenUsage, Tramapy
from tramapy.providers import AsyncOpenAIChatProvider, OpenAIChatProvider
from tramapy.testing import FakeClock, HttpRejection, ScriptedServer

# the instrumentation's own: it looks at the SDK's raw answer without awaiting what it asks of it
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'AsyncAPIResponse.parse' was never awaited",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)

ANSWER = ModelResponse(content="one two", usage=TokenUsage(input_tokens=11, output_tokens=7))
KEY = "plainly-fake-api-key"


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    telemetry = Telemetry(counts_usage=False)
    providers: dict[str, Any] = {
        "tracer_provider": telemetry.tracer_provider,
        "meter_provider": telemetry.meter_provider,
    }
    instrumentors = (HTTPX2ClientInstrumentor(), OpenAIInstrumentor())
    for instrumentor in instrumentors:
        instrumentor.instrument(**providers)
    yield telemetry
    for instrumentor in instrumentors:
        instrumentor.uninstrument()


def ask(world: str, kind: str, server: ScriptedServer, telemetry: Telemetry) -> None:
    settings: dict[str, Any] = {
        "clock": FakeClock(),
        "event_observers": [telemetry.observer],
        "retry": RetryPolicySettings(provider_retries=1, jitter_ratio=0.0, max_retry_after_s=1.0),
    }
    if world == "sync":
        with openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as client:
            facade = Tramapy({"openai": OpenAIChatProvider(client)}, **settings)
            if kind == "complete":
                facade.complete(HELLO, model="m")
            else:
                with facade.stream(HELLO, model="m") as stream:
                    list(stream)
        return

    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as client:
            facade = AsyncTramapy({"openai": AsyncOpenAIChatProvider(client)}, **settings)
            if kind == "complete":
                await facade.complete(HELLO, model="m")
            else:
                async with facade.stream(HELLO, model="m") as stream:
                    async for _ in stream:
                        pass

    anyio.run(main, backend=world)


def of_scope(telemetry: Telemetry, name: str) -> list[ReadableSpan]:
    return [
        span
        for span in telemetry.spans
        if span.instrumentation_scope is not None and name in span.instrumentation_scope.name
    ]


worlds = pytest.mark.parametrize("world", ["sync", "asyncio", "trio"])
kinds = pytest.mark.parametrize("kind", ["complete", "stream"])


@worlds
@kinds
def test_spans_nest_operation_attempt_sdk_and_http(telemetry: Telemetry, world: str, kind: str) -> None:
    with ScriptedServer([ANSWER]) as server:
        ask(world, kind, server, telemetry)
    operation, attempt = of_scope(telemetry, "tramapy")[::-1]
    [of_sdk] = of_scope(telemetry, "openai")
    [of_http] = of_scope(telemetry, "httpx")
    assert is_child(attempt, operation)
    assert is_child(of_sdk, attempt)
    assert of_http.context is not None
    assert operation.context is not None
    assert of_http.context.trace_id == operation.context.trace_id
    assert of_http.parent is not None
    assert is_child(of_http, of_sdk) or is_child(of_http, attempt)


@worlds
def test_each_attempt_has_the_http_span_of_its_own_try(telemetry: Telemetry, world: str) -> None:
    with ScriptedServer([HttpRejection(status=503), ANSWER]) as server:
        ask(world, "complete", server, telemetry)
    [operation] = telemetry.operations
    attempts = of_scope(telemetry, "tramapy")[:-1]
    of_sdk = of_scope(telemetry, "openai")
    of_http = of_scope(telemetry, "httpx")
    assert [is_child(attempt, operation) for attempt in attempts] == [True] * 2
    assert [is_child(span, attempt) for span, attempt in zip(of_sdk, attempts, strict=True)] == [True] * 2
    assert [
        is_child(span, of_sdk[number]) or is_child(span, attempts[number])
        for number, span in enumerate(of_http)
    ] == [True] * 2


def test_tokens_are_counted_once_where_the_sdks_instrumentation_counts_them(telemetry: Telemetry) -> None:
    with ScriptedServer([ANSWER]) as server:
        ask("sync", "complete", server, telemetry)
    with_tokens = [span for span in telemetry.spans if "gen_ai.usage.input_tokens" in attributes_of(span)]
    assert with_tokens == of_scope(telemetry, "openai")
    values = telemetry.points("gen_ai.client.token.usage").values()
    assert sorted(total for _, total in values) == [7, 11]


def test_after_uninstrument_only_our_spans_are_left() -> None:
    telemetry = Telemetry()
    instrumentor = HTTPX2ClientInstrumentor()
    for _ in range(3):
        instrumentor.instrument(tracer_provider=telemetry.tracer_provider)
        instrumentor.uninstrument()
    with ScriptedServer([ANSWER]) as server:
        ask("sync", "complete", server, telemetry)
    assert len(telemetry.spans) == 2
    [attempt] = telemetry.attempts
    assert attributes_of(attempt)["gen_ai.usage.input_tokens"] == 11
