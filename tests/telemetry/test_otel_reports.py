"""Public reports of tracing that went wrong elsewhere, as tests of ours: O1 to O14 of the research."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import json
import logging
import threading
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.drivers import HELLO, Driver
from tests.engine.doubles import Words, down, retries
from tests.telemetry.recorded import Telemetry, attributes_of, is_child
from tests.telemetry.test_otel_spans import USED, attempt_started, completed, started
from tramapy import (
    CATALOGUE,
    CompletedChunk,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    Message,
    ModelResponse,
    ProviderError,
    RuntimeEvent,
    TextChunk,
    TokenBudgetSettings,
    TokenUsage,
    Tramapy,
)
from tramapy.telemetry import OpenTelemetryEventObserver
from tramapy.telemetry.metric_names import ALL_METRICS
from tramapy.telemetry.otel_state import OpenAttempt
from tramapy.testing import ScriptedProvider
from tramapy.values import MOST

DONE = CompletedChunk(ModelResponse(usage=TokenUsage(input_tokens=3, output_tokens=2)))


def test_o01_a_stream_that_is_closed_in_another_task_leaves_no_span_current(
    async_driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry()
    rig = async_driver.rig([["one ", "two", DONE]], event_observers=[telemetry.observer])
    current: list[trace.Span] = []

    async def main() -> None:
        stream = rig.tramapy.stream(HELLO, model="m")
        await anext(stream)
        current.append(trace.get_current_span())
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
        current.append(trace.get_current_span())

    async_driver.run(main)
    assert current == [trace.INVALID_SPAN] * 2
    assert "detach" not in caplog.text
    assert len(telemetry.attempts) == len(telemetry.operations) == 1


def test_o01_a_call_that_is_closed_in_another_context_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = Telemetry()

    async def hang(_: object) -> Any:
        await asyncio.Event().wait()

    facade = Driver("asyncio").rig([hang], event_observers=[telemetry.observer]).tramapy

    async def main() -> None:
        call = facade.complete(HELLO, model="m")
        contextvars.Context().run(call.send, None)
        contextvars.Context().run(call.close)

    asyncio.run(main())
    assert "detach" not in caplog.text
    [operation] = telemetry.operations
    assert attributes_of(operation)["tramapy.outcome"] == "cancelled"


def test_o01_a_scope_that_is_left_in_another_context_restores_nothing_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inside = context.set_value("key", "inside")
    scope = OpenAttempt(attempt_started(), trace.INVALID_SPAN, inside, "chat", "p")
    contextvars.Context().run(scope.__enter__)
    copied = contextvars.copy_context()
    copied.run(scope.__exit__)
    assert caplog.text == ""
    with scope:
        assert context.get_current() is inside
    assert context.get_value("key") is None


@pytest.mark.parametrize("way", ["complete", "stream"])
def test_o02_a_cancelled_call_ends_its_spans(async_driver: Driver, way: str) -> None:
    telemetry = Telemetry()

    async def hang(_: object) -> Any:
        await anyio.sleep_forever()

    rig = async_driver.rig([hang], event_observers=[telemetry.observer])

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    async def consume() -> None:
        if way == "complete":
            await rig.tramapy.complete(HELLO, model="m")
        else:
            async with rig.tramapy.stream(HELLO, model="m") as stream:
                await anext(stream)

    async_driver.run(main)
    assert len(telemetry.attempts) == len(telemetry.operations) == 1
    assert telemetry.observer.open_operation_count == 0


def test_o03_a_cancelled_operation_is_no_success_in_span_and_metric(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig([KeyboardInterrupt()], event_observers=[telemetry.observer])
    with pytest.raises(KeyboardInterrupt):
        rig.complete()
    for name in ("gen_ai.client.operation.duration", "tramapy.operation.duration", "tramapy.attempts"):
        assert [dict(tags)["tramapy.outcome"] for tags in telemetry.points(name)] == ["cancelled"]
    assert {attributes_of(span)["tramapy.outcome"] for span in telemetry.spans} == {"cancelled"}


@pytest.mark.parametrize(
    ("ends", "outcome", "has_tokens"),
    [
        ("full", "success", True),
        ("break", "closed", False),
        ("close", "closed", False),
        ("drop", "abandoned", False),
        ("error", "failed", False),
        ("cancel", "cancelled", False),
    ],
)
def test_o04_a_stream_has_one_span_however_it_ends(ends: str, outcome: str, has_tokens: bool) -> None:
    telemetry = Telemetry()
    last = {"error": ProviderError("no"), "cancel": KeyboardInterrupt()}.get(ends, DONE)
    facade = Driver("sync").rig([["one ", "two", last]], event_observers=[telemetry.observer]).tramapy
    stream = facade.stream(HELLO, model="m")
    if ends in ("full", "error", "cancel"):
        try:
            list(stream)
        except (ProviderError, KeyboardInterrupt):
            assert ends != "full"
    elif ends == "break":
        with stream:
            next(stream)
    elif ends == "close":
        next(stream)
        stream.close()
    else:
        next(stream)
        with pytest.warns(ResourceWarning):  # noqa: PT031
            del stream
            gc.collect()
        telemetry.observer.settle()
    [attempt], [operation] = telemetry.attempts, telemetry.operations
    assert attributes_of(attempt)["tramapy.outcome"] == attributes_of(operation)["tramapy.outcome"] == outcome
    assert ("gen_ai.usage.input_tokens" in attributes_of(attempt)) is has_tokens


def test_o05_content_is_off_on_every_path_unless_asked_for(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
    telemetry = Telemetry()
    settings = {"event_observers": [telemetry.observer], "content_observers": [telemetry.observer]}
    rig = driver.rig([down(), "canary-answer-17", "canary-answer-17"], retry=retries(1), **settings)
    rig.complete([Message.user("canary-prompt-17")])
    rig.stream([Message.user("canary-prompt-17")])
    assert "canary" not in json.dumps(telemetry.everything())


def test_o06_tokens_are_on_attempts_alone_and_instrumentations_beneath_are_asked_to_be_silent(
    driver: Driver,
) -> None:
    telemetry = Telemetry()
    suppressed: list[object] = []

    def answer(_: object) -> ModelResponse:
        suppressed.append(context.get_value("suppress_language_model_instrumentation"))
        return USED

    driver.rig([answer], event_observers=[telemetry.observer]).complete()
    [attempt], [operation] = telemetry.attempts, telemetry.operations
    assert attributes_of(attempt)["gen_ai.usage.input_tokens"] == 12
    assert not [key for key in attributes_of(operation) if "token" in key]
    assert suppressed == [True]
    assert context.get_value("suppress_language_model_instrumentation") is None


def test_o07_no_id_of_a_user_or_an_operation_is_a_tag(driver: Driver) -> None:
    telemetry = Telemetry(compat_metrics=True)
    rig = driver.rig([USED], event_observers=[telemetry.observer])
    rig.complete(correlation_id="user-of-nobody-else", workflow_run_id="run-of-nobody-else")
    assert "of-nobody-else" in json.dumps(telemetry.everything()[:-1]), "on spans"
    assert "of-nobody-else" not in str(telemetry.everything()[-1]), "and in no metric"
    allowed = {tag for metric in ALL_METRICS for tag in metric.tags}
    assert not allowed & {"tramapy.correlation_id", "tramapy.workflow_run_id"}


def test_o08_nothing_is_none_and_every_span_can_be_encoded(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig(
        [down(), ModelResponse(content="secret")],
        retry=retries(1),
        dlp=Words({"secret": "[S]"}),
        event_observers=[telemetry.observer],
    )
    rig.complete()
    for span in telemetry.spans:
        for attributes in (attributes_of(span), *(event.attributes or {} for event in span.events)):
            assert None not in attributes.values()
    assert encode_spans(telemetry.spans).ByteSize() > 0


def test_o08_ids_that_no_exporter_can_write_lose_no_batch(driver: Driver) -> None:
    lone = "a\udc80"  # as a server decodes a header that is no UTF-8
    telemetry = Telemetry(compat_metrics=True, known_models=[lone])
    rig = driver.rig(
        {lone: ScriptedProvider([down(), ModelResponse(content="secret", model=lone)])},
        retry=retries(1),
        dlp=Words({"secret": "[S]"}),
        event_observers=[telemetry.observer],
    )
    rig.complete(model=lone, **dict.fromkeys(("service_interface", "method_name", "correlation_id"), lone))
    assert [span.name for span in telemetry.spans] == ["chat a?", "chat a?", "tramapy a?.a?"]
    assert encode_spans(telemetry.spans).SerializeToString().count(b"a?") > 10
    assert lone not in str(telemetry.points("tramapy.attempts")) + str(
        telemetry.points("tramapy.circuit.state")
    )


class Counts(DlpInterceptor):
    """Says that it replaced as often as an event can tell."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult("[S]", [DlpRedaction("r", MOST)])


def test_o08_numbers_of_a_provider_that_no_exporter_can_write_lose_no_batch(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    most = TokenUsage(input_tokens=MOST, output_tokens=MOST)
    telemetry = Telemetry(compat_metrics=True)
    rig = driver.rig(
        [down(status_code=2**70), ModelResponse(content="secret", usage=most)] * 2,
        retry=retries(1),
        dlp=Counts(),
        event_observers=[telemetry.observer],
        token_budget=TokenBudgetSettings(soft_max_tokens_per_operation=1),
    )
    rig.complete()
    rig.complete()
    for event in rig.observer.events:
        RuntimeEvent.of(CATALOGUE.get(event.name), event.attributes)
    assert "status_code" not in rig.attributes_of("attempt.failed")[0]
    assert set(telemetry.points("tramapy.dlp.redactions").values()) == {MOST}
    assert set(telemetry.points("tramai.operation.input_tokens").values()) == {MOST}
    assert encode_spans(telemetry.spans).ByteSize() > 0
    assert encode_metrics(telemetry.metrics_data()).ByteSize() > 0
    assert caplog.records == []


class Slow(SpanExporter):
    """An exporter that is none of the SDK's own."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def test_o09_a_synchronous_processor_is_warned_of_once(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TracerProvider()
    observer = OpenTelemetryEventObserver(tracer_provider=provider)
    provider.add_span_processor(SimpleSpanProcessor(Slow()))
    rig = driver.rig(["one", "two"], event_observers=[observer])
    rig.complete()
    rig.complete()
    assert [record.name for record in caplog.records] == ["tramapy.telemetry"]
    assert "BatchSpanProcessor" in caplog.text


def test_o09_processors_that_do_not_wait_are_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    class Shaped:
        _active_span_processor = "of another SDK"

    for processor in (BatchSpanProcessor(Slow()), SimpleSpanProcessor(InMemorySpanExporter())):
        provider = TracerProvider()
        provider.add_span_processor(processor)
        OpenTelemetryEventObserver(tracer_provider=provider).on_runtime_event(started())
        provider.shutdown()
    from tramapy.telemetry.otel_processors import has_synchronous_export

    shaped = Shaped()
    assert not has_synchronous_export(shaped)
    shaped._active_span_processor = type("Other", (), {"_span_processors": "text"})()
    assert not has_synchronous_export(shaped)
    assert caplog.text == ""


class Stuck(SpanExporter):
    """Exports nothing until it is let go."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_go = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.is_asked.set()
        self.may_go.wait()
        return SpanExportResult.SUCCESS


def test_o10_shutdown_ends_within_its_bound_beside_an_exporter_that_hangs() -> None:
    exporter = Stuck()
    provider = TracerProvider(shutdown_on_exit=False)
    processor = BatchSpanProcessor(exporter, schedule_delay_millis=1)
    provider.add_span_processor(processor)
    observer = OpenTelemetryEventObserver(tracer_provider=provider)
    Driver("sync").rig(["one"], event_observers=[observer]).complete()
    assert exporter.is_asked.wait(30)
    observer.settle()
    processor._batch_processor.shutdown(timeout_millis=1)
    exporter.may_go.set()


def test_o10_settling_never_waits_for_another_thread_that_settles() -> None:
    telemetry = Telemetry()
    observer = telemetry.observer
    with concurrent.futures.ThreadPoolExecutor(1) as pool, observer._settling:
        pool.submit(observer.settle).result(timeout=30)


def test_o11_a_processor_sees_text_that_dlp_has_cleaned_from_the_start(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    telemetry = Telemetry()
    seen: list[str] = []

    class Looks(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            seen.append(span.to_json() or "")

    telemetry.tracer_provider.add_span_processor(Looks())
    words = Words({"canary-11": "[S]"})
    driver.rig(
        ["canary-11"],
        dlp=words,
        request_dlp=words,
        event_observers=[telemetry.observer],
        content_observers=[telemetry.observer],
    ).complete([Message.user("canary-11")])
    assert "[S]" in "".join(seen)
    assert "canary-11" not in "".join(seen)


def test_o12_the_ids_of_an_attempt_are_told_in_any_thread() -> None:
    telemetry = Telemetry()
    told: list[trace.SpanContext | None] = []
    provider = ScriptedProvider(["one"])

    class Looks(OpenTelemetryEventObserver):
        def on_runtime_event(self, event: RuntimeEvent) -> None:
            if event.name == "tramai.attempt.completed":
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    told.append(pool.submit(telemetry.observer.span_context_of, event).result())

    facade = Tramapy({"p": provider}, event_observers=[Looks(), telemetry.observer])
    facade.complete(HELLO, model="m")
    [attempt] = telemetry.attempts
    assert told == [attempt.context]


def test_o13_after_an_error_in_a_pool_thread_the_ids_are_still_those_of_the_caller() -> None:
    telemetry = Telemetry()
    tracer = telemetry.tracer_provider.get_tracer("application")
    facade = Tramapy({"p": ScriptedProvider([ValueError()])}, event_observers=[telemetry.observer])
    ids: list[int] = []

    def work() -> None:
        with tracer.start_as_current_span("request"):
            try:
                facade.complete(HELLO, model="m")
            except ProviderError:
                ids.append(trace.get_current_span().get_span_context().span_id)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    [request] = [span for span in telemetry.spans if span.name == "request"]
    [operation] = telemetry.operations
    assert request.context is not None
    assert ids == [request.context.span_id]
    assert is_child(operation, request)


def test_o14_the_sdks_own_batch_thread_serves_every_event_loop(driver: Driver) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    observer = OpenTelemetryEventObserver(tracer_provider=provider)
    driver.rig(["one two"], event_observers=[observer]).stream()
    provider.force_flush()
    assert len(exporter.get_finished_spans()) == 2
    provider.shutdown()


class Broken(SpanProcessor):
    """Fails at one end of a span."""

    def __init__(self, at: str, error: BaseException) -> None:
        self._at = at
        self._error = error

    def on_start(self, span: Any, parent_context: context.Context | None = None) -> None:
        if self._at == "start":
            raise self._error

    def on_end(self, span: ReadableSpan) -> None:
        if self._at == "end":
            raise self._error


@pytest.mark.parametrize("at", ["start", "end"])
def test_rt119_a_processor_that_fails_costs_nothing_but_a_count_and_one_line(
    driver: Driver, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry()
    telemetry.tracer_provider.add_span_processor(Broken(at, ValueError("canary-7f3a91c2")))
    rig = driver.rig([down(), "one", "two"], retry=retries(1), event_observers=[telemetry.observer])
    assert rig.complete().content == "one"
    assert rig.complete().content == "two"
    assert telemetry.observer.open_operation_count == 0
    # one for each span, and metrics are whole
    assert telemetry.points("tramapy.events.dropped") == {(("tramapy.drop_reason", "failed"),): 5}
    durations = telemetry.points("gen_ai.client.operation.duration")
    assert sorted(count for count, _ in durations.values()) == [1, 2]
    assert len(caplog.records) == 1
    assert "error_type=ValueError" in caplog.text
    assert "canary" not in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_rt120_the_providers_own_failure_is_what_is_raised(driver: Driver) -> None:
    telemetry = Telemetry()
    telemetry.tracer_provider.add_span_processor(Broken("end", ValueError()))
    rig = driver.rig([ProviderError("the provider's")], event_observers=[telemetry.observer])
    with pytest.raises(ProviderError, match="the provider's"):
        rig.complete()


def test_rt118_a_cancellation_out_of_opentelemetry_escapes() -> None:
    telemetry = Telemetry()
    telemetry.tracer_provider.add_span_processor(Broken("end", concurrent.futures.CancelledError()))
    telemetry.observer.on_runtime_event(started())
    with pytest.raises(concurrent.futures.CancelledError):
        telemetry.observer.on_runtime_event(completed())
    assert telemetry.observer.open_operation_count == 0


def test_a_failure_while_settling_is_counted_and_the_rest_is_settled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    telemetry = Telemetry()
    telemetry.tracer_provider.add_span_processor(Broken("end", ValueError()))
    caplog.set_level(logging.WARNING)
    rig = Driver("sync").rig([[TextChunk("one "), "two"]], event_observers=[telemetry.observer])
    stream = rig.tramapy.stream(HELLO, model="m")
    next(stream)
    with pytest.warns(ResourceWarning):  # noqa: PT031
        del stream
        gc.collect()
    telemetry.observer.settle()
    assert len(telemetry.spans) == 2
    assert telemetry.points("tramapy.events.dropped") == {(("tramapy.drop_reason", "failed"),): 2}


def test_the_status_of_a_parent_that_is_not_ours_is_left_alone(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig([ProviderError("no")], event_observers=[telemetry.observer])
    with (
        telemetry.tracer_provider.get_tracer("a").start_as_current_span("request"),
        pytest.raises(ProviderError),
    ):
        rig.complete()
    [request] = [span for span in telemetry.spans if span.name == "request"]
    assert request.status.status_code is StatusCode.UNSET
