"""Metrics: what is counted, under which tags, and how many series there can be."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN_CONTEXT

from tests.drivers import HELLO, Driver
from tests.engine.doubles import Words, down, retries
from tests.telemetry.recorded import Telemetry
from tests.telemetry.test_otel_spans import USED, Rejects, attempt_failed, attempt_started, completed, started
from tramapy import (
    CATALOGUE,
    CircuitBreakerSettings,
    DlpContext,
    DlpInspectionError,
    DlpResult,
    Message,
    ProviderError,
    Route,
    RuntimeEvent,
    TextChunk,
    ToolResultFilteringSettings,
    Tramapy,
    TramapyError,
)
from tramapy.hooks.catalogue import COMPAT_METRICS
from tramapy.hooks.event_model import RuntimeAttributeCardinality
from tramapy.telemetry import OpenTelemetryEventObserver
from tramapy.telemetry.metric_names import ALL_METRICS
from tramapy.telemetry.otel import TelemetryLimits
from tramapy.telemetry.otel_series import ChunkTimes, PendingMeasurements
from tramapy.testing import FakeClock, ScriptedProvider


def tags(**values: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((f"tramapy.{key}", value) for key, value in values.items()))


def test_an_attempt_is_measured_under_the_names_of_the_conventions(driver: Driver) -> None:
    telemetry = Telemetry(known_models=["m"])
    driver.rig([USED], event_observers=[telemetry.observer]).complete()
    who = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "p",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "_OTHER",
    }
    assert telemetry.points("gen_ai.client.operation.duration") == {
        tuple(sorted((who | {"tramapy.outcome": "success"}).items())): (1, 0.0)
    }
    assert telemetry.points("gen_ai.client.token.usage") == {
        tuple(sorted((who | {"gen_ai.token.type": "input"}).items())): (1, 12),
        tuple(sorted((who | {"gen_ai.token.type": "output"}).items())): (1, 5),
    }
    assert telemetry.points("tramapy.operation.duration") == {
        tags(service_interface="tramapy", method_name="complete", outcome="success"): (1, 0.0)
    }
    assert telemetry.points("gen_ai.client.operation.time_to_first_chunk") == {}


def test_a_stream_is_measured_to_its_first_piece(driver: Driver) -> None:
    telemetry = Telemetry()
    driver.rig(["one two"], event_observers=[telemetry.observer]).stream()
    [(count, _)] = telemetry.points("gen_ai.client.operation.time_to_first_chunk").values()
    assert count == 1


PER_CHUNK = "gen_ai.client.operation.time_per_output_chunk"


def test_the_time_per_piece_is_measured_where_it_is_asked_for(driver: Driver) -> None:
    for asked, count in ((True, 2), (False, 0)):
        telemetry = Telemetry(measures_chunks=asked)
        driver.rig(["one two three"], event_observers=[telemetry.observer]).stream()
        assert sum(each for each, _ in telemetry.points(PER_CHUNK).values()) == count


def test_times_of_pieces_are_bounded_and_a_collection_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = Telemetry(measures_chunks=True)
    monkeypatch.setattr(telemetry.observer._metrics, "_chunk_times", ChunkTimes(limit=3))
    rig = Driver("sync").rig(["a b c"] * 3, event_observers=[telemetry.observer])
    rig.stream()
    rig.stream()
    assert [count for count, _ in telemetry.points(PER_CHUNK).values()] == [3]
    assert telemetry.points("tramapy.events.dropped") == {tags(drop_reason="chunk_times"): 1}
    rig.stream()
    assert [count for count, _ in telemetry.points(PER_CHUNK).values()] == [5]


def test_pieces_of_an_attempt_whose_end_is_not_heard_keep_no_room() -> None:
    limits = TelemetryLimits(open_operation_count=1)
    telemetry = Telemetry(measures_chunks=True, limits=limits)
    rig = Driver("sync").rig(["a b c"] * 3, event_observers=[telemetry.observer])
    opened = [rig.tramapy.stream(HELLO, model="m") for _ in range(2)]
    for stream in opened:
        assert [next(stream), next(stream)]
    assert telemetry.observer._metrics._chunk_times._count == 1
    for stream in opened:
        stream.close()


def test_a_piece_of_an_unknown_operation_is_nobodys() -> None:
    telemetry = Telemetry(measures_chunks=True)
    event = RuntimeEvent.of(
        CATALOGUE.get("tramai.circuit.opened"), {"correlation_id": "c", "provider_id": "p"}
    )
    telemetry.observer.on_stream_chunk(event, 1.0)
    assert telemetry.points(PER_CHUNK) == {}


class Slow(Words):
    """Takes a quarter of a second a text; `clock` is set by the test."""

    clock: FakeClock

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.clock.advance(0.25)
        return super().inspect(context, text)


def test_the_time_of_dlp_is_measured(driver: Driver) -> None:
    telemetry, slow = Telemetry(), Slow()
    rig = driver.rig(["one"], dlp=slow, event_observers=[telemetry.observer])
    slow.clock = rig.clock
    rig.complete()
    assert telemetry.points("tramapy.dlp.duration") == {tags(provider_id="p"): (1, 0.25)}
    [attempt] = telemetry.attempts
    assert (attempt.attributes or {})["tramapy.dlp_micros"] == 250_000


def test_what_waits_for_export_is_told() -> None:
    telemetry = Telemetry()
    batch = BatchSpanProcessor(InMemorySpanExporter(), schedule_delay_millis=1e9)
    rig = Driver("sync").rig(["one", "two"], event_observers=[telemetry.observer])
    rig.complete()
    assert telemetry.points("tramapy.export.queue") == {tags(queue="values"): 2}
    telemetry.tracer_provider.add_span_processor(batch)
    rig.complete()
    waiting = {tags(queue="values"): 2, tags(queue="spans"): 2}
    assert telemetry.points("tramapy.export.queue") == waiting
    telemetry.tracer_provider.force_flush()
    assert telemetry.points("tramapy.export.queue") == {tags(queue="values"): 0, tags(queue="spans"): 0}


def test_tokens_are_left_to_the_instrumentation_beneath_where_it_counts_them(driver: Driver) -> None:
    telemetry = Telemetry(counts_usage=False)
    driver.rig([USED], event_observers=[telemetry.observer]).complete()
    assert telemetry.points("gen_ai.client.token.usage") == {}
    [attempt] = telemetry.attempts
    assert not [key for key in attempt.attributes or {} if key.startswith("gen_ai.usage")]


def test_retries_fallbacks_and_the_circuit_are_counted(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig(
        {"p": ScriptedProvider([down(), down(), "p again"]), "q": ScriptedProvider(["q"] * 2)},
        default_provider="p",
        fallbacks={"m": [Route("q")]},
        retry=retries(1),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1, open_duration_s=30.0),
        event_observers=[telemetry.observer],
    )
    rig.complete()
    assert telemetry.points("tramapy.circuit.state") == {
        tags(provider_id=provider_id, circuit_state=state): int(state == current)
        for provider_id, current in (("p", "open"), ("q", "closed"))
        for state in ("closed", "half_open", "open")
    }
    rig.complete()
    rig.clock.advance(31.0)
    rig.complete()
    assert telemetry.points("tramapy.attempts") == {
        tags(provider_id="p", outcome="failed"): 2,
        tags(provider_id="p", outcome="success"): 1,
        tags(provider_id="q", outcome="success"): 2,
    }
    assert telemetry.points("tramapy.retries") == {tags(provider_id="p", delay_source="backoff"): 1}
    assert telemetry.points("tramapy.fallbacks") == {tags(provider_id="q"): 2}
    assert telemetry.points("tramapy.circuit.rejected") == {tags(provider_id="p"): 1}
    assert telemetry.points("tramapy.circuit.transitions") == {
        tags(provider_id="p", circuit_state=state): 1 for state in ("closed", "half_open", "open")
    }
    assert telemetry.points("tramapy.circuit.state")[tags(provider_id="p", circuit_state="closed")] == 1


def test_redactions_are_counted_by_rule_and_rejections_by_reason(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig(
        ["secret and secret"], dlp=Words({"secret": "[S]"}), event_observers=[telemetry.observer]
    )
    rig.complete()
    [(key, count)] = telemetry.points("tramapy.dlp.redactions").items()
    assert {name for name, _ in key} == {
        "tramapy.rule_id",
        "tramapy.content_type",
        "tramapy.content_location",
    }
    assert count == 2
    rig = driver.rig(["one"], dlp=Rejects(), event_observers=[telemetry.observer])
    with pytest.raises(DlpInspectionError):
        rig.complete()
    assert telemetry.points("tramapy.dlp.rejections") == {
        tags(
            reason_code="rejected", content_type="model_output", content_location="model_response_content"
        ): 1
    }


def test_a_tool_result_that_is_too_long_is_a_rejection(driver: Driver) -> None:
    telemetry = Telemetry(compat_metrics=True)
    rig = driver.rig(
        ["one"],
        dlp=Words(),
        tool_result_filtering=ToolResultFilteringSettings(default_max_aggregate_text_length=1),
        event_observers=[telemetry.observer],
    )
    with pytest.raises(TramapyError):
        rig.complete([Message.tool("far too long", tool_call_id="c1", tool_name="t")])
    [key] = telemetry.points("tramapy.dlp.rejections")
    assert [name for name, _ in key] == ["tramapy.reason_code"]
    assert list(telemetry.points("tramai.dlp.tool_result_rejected").values()) == [1]


def test_rt170_compat_counts_each_event_by_its_name_and_each_attempt(driver: Driver) -> None:
    telemetry = Telemetry(compat_metrics=True)
    rig = driver.rig([down(), USED], retry=retries(1), event_observers=[telemetry.observer])
    rig.complete(service_interface="Support", method_name="answer")
    assert telemetry.points("tramai.engine.events") == {
        (("tramai.event.name", f"tramai.{name}"),): rig.names.count(name) for name in rig.names
    }
    base = (
        ("gen_ai.system", "p"),
        ("tramai.operation.interface", "Support"),
        ("tramai.operation.method", "answer"),
    )
    assert telemetry.points("tramai.operation.attempts") == {
        (*base, ("tramai.outcome", "failed")): 1,
        (*base, ("tramai.outcome", "success")): 1,
    }
    assert telemetry.points("tramai.operation.input_tokens") == {base: 12}
    assert telemetry.points("tramai.operation.output_tokens") == {base: 5}
    assert telemetry.points("tramai.operation.input_tokens.per_attempt") == {base: (1, 12)}
    assert telemetry.points("tramai.operation.output_tokens.per_attempt") == {base: (1, 5)}
    assert sum(count for count, _ in telemetry.points("tramai.operation.duration").values()) == 2
    [first, _] = telemetry.attempts
    assert [event.name for event in first.events] == ["tramai.retry.scheduled"]


def test_every_metric_is_one_that_is_declared_with_its_tags(driver: Driver) -> None:
    telemetry = Telemetry(compat_metrics=True, measures_chunks=True)
    everything(driver, telemetry)
    declared = {metric.name: set(metric.tags) for metric in ALL_METRICS}
    compatible = {metric.name for metric in COMPAT_METRICS}
    found = telemetry.series_counts()
    assert set(found) == {*declared, *compatible}
    for name in set(found) & set(declared):
        for point in telemetry.points(name):
            assert {key for key, _ in point} <= declared[name]


def everything(driver: Driver, telemetry: Telemetry) -> None:
    """Feed every metric."""
    slow = Slow()
    inspecting = driver.rig(
        ["a secret", "one"],
        dlp=slow,
        tool_result_filtering=ToolResultFilteringSettings(default_max_aggregate_text_length=1),
        event_observers=[telemetry.observer],
    )
    slow.clock = inspecting.clock
    inspecting.complete()
    with pytest.raises(TramapyError):
        inspecting.complete([Message.tool("far too long", tool_call_id="c1", tool_name="t")])
    rig = driver.rig(
        {
            "p": ScriptedProvider([down(), down()]),
            "q": ScriptedProvider([USED, [TextChunk("one "), TextChunk("two ")]]),
        },
        default_provider="p",
        fallbacks={"m": [Route("q")]},
        retry=retries(1),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        event_observers=[telemetry.observer],
    )
    rig.complete()
    with pytest.raises(ProviderError):
        rig.stream()
    telemetry.observer.on_runtime_event(attempt_failed("nobody's"))


def test_tags_that_stand_for_catalogue_keys_are_of_low_cardinality() -> None:
    own = {"outcome", "circuit_state", "drop_reason", "queue"}
    for metric in ALL_METRICS:
        for tag in metric.tags:
            key = tag.removeprefix("tramapy.")
            if key != tag and key not in own:
                assert CATALOGUE.keys[key].cardinality is RuntimeAttributeCardinality.LOW, tag


def test_ten_thousand_operations_with_distinct_everything_keep_to_the_bound_of_series() -> None:
    limit = 50
    telemetry = Telemetry(compat_metrics=True, limits=TelemetryLimits(series_count=limit))
    tell = telemetry.observer.on_runtime_event
    for number in range(10_000):
        tell(started(f"c-{number}"))
        tell(
            RuntimeEvent.of(
                CATALOGUE.get("tramai.route.selected"),
                {"correlation_id": f"c-{number}", "provider_id": f"p-{number}", "attempt": 0},
            )
        )
        tell(attempt_started(f"c-{number}"))
        tell(
            attempt_failed(
                f"c-{number}",
                effective_model=f"m-{number}",
                error_type=f"Error{number}",
                failure_code=f"code-{number}",
                status_code=number,
                provider_id=f"p-{number}",
            )
        )
        tell(completed(f"c-{number}", outcome="failed", failure_kind="provider", error_type=f"Error{number}"))
        for name in ("dlp.inspection_failed", "dlp.tool_result_rejected"):
            tell(unbounded(f"tramai.{name}", number))
    counts = telemetry.series_counts()
    assert counts.keys() >= {"gen_ai.client.operation.duration", "tramapy.circuit.state"}
    assert max(counts.values()) <= limit + 1
    assert sum(counts.values()) <= 300
    assert telemetry.points("gen_ai.client.operation.duration")[(("otel.metric.overflow", True),)][0] > 9_000
    assert telemetry.observer.open_operation_count == 0


def unbounded(name: str, number: int) -> RuntimeEvent:
    definition = CATALOGUE.get(name)
    values: dict[str, Any] = {
        key.name: f"{key.name}-{number}" if key.value_type is str else number for key in definition.allowed
    }
    return RuntimeEvent.of(definition, values)


def test_models_and_errors_of_their_own_make_no_series_at_all() -> None:
    telemetry = Telemetry(known_models=["known"])
    for number in range(200):
        error = type(f"Custom{number}Error", (ValueError,), {})(f"text {number}")
        rig = Driver("sync").rig([error], event_observers=[telemetry.observer])
        with pytest.raises(ProviderError):
            rig.complete(model=f"model-{number}")
    assert len(telemetry.points("gen_ai.client.operation.duration")) == 1
    assert max(telemetry.series_counts().values()) <= 3


def test_a_long_tag_is_cut() -> None:
    telemetry = Telemetry()
    Driver("sync").rig(["one"], event_observers=[telemetry.observer]).complete(method_name="m" * 1_000)
    [key] = telemetry.points("tramapy.operation.duration")
    assert len(dict(key)["tramapy.method_name"]) == 128


def test_providers_that_tags_show_alike_are_one_series() -> None:
    telemetry = Telemetry(compat_metrics=True)
    down_twice = {"circuit_breaker": CircuitBreakerSettings(failure_threshold=1), "retry": retries(0)}
    for last in "ab":
        rig = Driver("sync").rig(
            {"p" * 200 + last: ScriptedProvider(["one", down(), "two"])},
            event_observers=[telemetry.observer],
            **down_twice,
        )
        for _ in range(3):
            with contextlib.suppress(TramapyError):
                rig.complete()
    shown = "p" * 128
    assert telemetry.points("tramapy.attempts") == {
        tags(provider_id=shown, outcome="success"): 2,
        tags(provider_id=shown, outcome="failed"): 2,
    }
    assert telemetry.points("tramapy.circuit.state") == {
        tags(provider_id=shown, circuit_state=state): int(state == "open")
        for state in ("closed", "half_open", "open")
    }
    assert sum(count for count, _ in telemetry.points("gen_ai.client.operation.duration").values()) == 4


def test_counts_of_many_threads_add_up() -> None:
    telemetry = Telemetry()
    facade = Tramapy(
        {"p": ScriptedProvider(["one"] * 400)}, event_observers=[telemetry.observer], retry=retries(0)
    )

    def work() -> None:
        for _ in range(50):
            facade.complete(HELLO, model="m")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(telemetry.points("tramapy.attempts").values()) == [400]
    assert [count for count, _ in telemetry.points("tramapy.operation.duration").values()] == [400]
    assert len(telemetry.spans) == 800


def test_values_that_nobody_collects_are_bounded_and_none_is_lost() -> None:
    reader = InMemoryMetricReader()
    histogram = MeterProvider([reader]).get_meter("m").create_histogram("h")
    pending = PendingMeasurements(limit=3)
    for _ in range(5):
        pending.add(lambda tags, amount: [(histogram, amount, tags)], {}, 1.0, INVALID_SPAN_CONTEXT)
    assert len(pending) == 3
    pending.record_all()
    data = reader.get_metrics_data()
    assert data is not None
    [point] = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
    assert isinstance(point, HistogramDataPoint)
    assert point.count == 5


def test_two_readers_each_get_every_value() -> None:
    readers = [InMemoryMetricReader(), InMemoryMetricReader()]
    observer = OpenTelemetryEventObserver(meter_provider=MeterProvider(metric_readers=readers))
    Driver("sync").rig(["one"], event_observers=[observer]).complete()
    for reader in readers:
        data = reader.get_metrics_data()
        assert data is not None
        names = {
            metric.name
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }
        assert "gen_ai.client.operation.duration" in names


def test_an_exemplar_names_the_attempts_own_span() -> None:
    telemetry = Telemetry()
    Driver("sync").rig([USED], event_observers=[telemetry.observer]).complete()
    data = telemetry._reader.get_metrics_data()
    assert data is not None
    found = [
        exemplar.span_id
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "gen_ai.client.operation.duration"
        for point in metric.data.data_points
        for exemplar in point.exemplars
    ]
    [attempt] = telemetry.attempts
    assert attempt.context is not None
    assert found == [attempt.context.span_id]


def test_a_collection_that_was_slower_than_another_finds_nothing_left() -> None:
    class Emptied(deque[Any]):
        def __len__(self) -> int:
            return 1

    pending = PendingMeasurements()
    pending._queue = Emptied()
    pending.record_all()
    assert list(pending._queue) == []
