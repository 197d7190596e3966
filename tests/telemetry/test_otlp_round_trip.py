"""Over a real wire: the SDK's exporters, HTTP and gRPC, gzipped, into receivers on loopback; and bad collectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.drivers import Driver
from tests.engine.doubles import down, retries
from tests.telemetry.test_otel_spans import USED
from tramapy.telemetry import OpenTelemetryEventObserver, OtlpReceiver


class Received:
    """What came over the wire."""

    def __init__(self) -> None:
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []

    @property
    def spans(self) -> dict[str, list[Span]]:
        found: dict[str, list[Span]] = {}
        for request in self.traces:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    assert (scope.scope.name, scope.schema_url) == (
                        "tramapy",
                        "https://opentelemetry.io/schemas/1.44.0",
                    )
                    for span in scope.spans:
                        found.setdefault(span.name, []).append(span)
        return found

    @property
    def metric_values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for request in self.metrics:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        kind = metric.WhichOneof("data")
                        points = getattr(metric, kind).data_points
                        found[metric.name] = (
                            kind,
                            sum(point.count if kind == "histogram" else point.as_int for point in points),
                        )
        return found


class GrpcTraces(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, received: Received) -> None:
        self._received = received

    def Export(  # noqa: N802  # the service's name
        self, request: ExportTraceServiceRequest, context: object
    ) -> ExportTraceServiceResponse:
        self._received.traces.append(request)
        return ExportTraceServiceResponse()


class GrpcMetrics(metrics_service_pb2_grpc.MetricsServiceServicer):
    def __init__(self, received: Received) -> None:
        self._received = received

    def Export(  # noqa: N802  # the service's name
        self, request: ExportMetricsServiceRequest, context: object
    ) -> ExportMetricsServiceResponse:
        self._received.metrics.append(request)
        return ExportMetricsServiceResponse()


@pytest.fixture(params=["http", "http-gzip", "grpc", "grpc-gzip"])
def wire(request: pytest.FixtureRequest) -> Iterator[tuple[Received, Any, Any]]:
    """A receiver, and exporters of spans and metrics that reach it."""
    received = Received()
    protocol, _, packing = request.param.partition("-")
    if protocol == "http":
        compression = Compression.Gzip if packing else Compression.NoCompression
        with OtlpReceiver(on_traces=received.traces.append, on_metrics=received.metrics.append) as receiver:
            yield (
                received,
                OTLPSpanExporter(f"{receiver.endpoint}/v1/traces", compression=compression),
                OTLPMetricExporter(f"{receiver.endpoint}/v1/metrics", compression=compression),
            )
        return
    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(GrpcTraces(received), server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(GrpcMetrics(received), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    chosen: Any = grpc.Compression.Gzip if packing else grpc.Compression.NoCompression
    endpoint = f"http://127.0.0.1:{port}"
    yield (
        received,
        GrpcSpanExporter(endpoint, insecure=True, compression=chosen),
        GrpcMetricExporter(endpoint, insecure=True, compression=chosen),
    )
    server.stop(None).wait()


def test_spans_and_metrics_arrive_whole(wire: tuple[Received, Any, Any]) -> None:
    received, span_exporter, metric_exporter = wire
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(BatchSpanProcessor(span_exporter))
    reader = PeriodicExportingMetricReader(metric_exporter, export_interval_millis=3_600_000)
    meter_provider = MeterProvider([reader], shutdown_on_exit=False)
    observer = OpenTelemetryEventObserver(tracer_provider=tracer_provider, meter_provider=meter_provider)
    rig = Driver("sync").rig([down(), USED], retry=retries(1), event_observers=[observer])
    rig.complete(service_interface="Support", method_name="answer", correlation_id="c-1")
    tracer_provider.shutdown()
    meter_provider.shutdown()

    [operation] = received.spans["tramapy Support.answer"]
    failed, good = received.spans["chat m"]
    assert (operation.kind, failed.kind) == (Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_CLIENT)
    assert failed.parent_span_id == good.parent_span_id == operation.span_id
    assert failed.status.code == 2
    assert [event.name for event in failed.events] == ["tramai.retry.scheduled"]
    values = {item.key: item.value for item in good.attributes}
    assert values["gen_ai.usage.input_tokens"].int_value == 12
    assert values["gen_ai.response.finish_reasons"].array_value.values[0].string_value == "stop"
    assert {item.key: item.value.string_value for item in operation.attributes}[
        "tramapy.correlation_id"
    ] == "c-1"
    assert received.metric_values == {
        "gen_ai.client.operation.duration": ("histogram", 2),
        "gen_ai.client.token.usage": ("histogram", 2),
        "tramapy.operation.duration": ("histogram", 1),
        "tramapy.attempts": ("sum", 2),
        "tramapy.retries": ("sum", 1),
        "tramapy.circuit.state": ("gauge", 1),
        "tramapy.export.queue": ("gauge", 3),  # two attempts and the operation, before they were collected
    }


def drops_counted(reader: InMemoryMetricReader) -> int:
    """Return how many spans the SDK says that its queue was too full for."""
    data = reader.get_metrics_data()
    assert data is not None
    return sum(
        point.value
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "otel.sdk.processor.span.processed"
        for point in metric.data.data_points
        if (point.attributes or {}).get("error.type") == "queue_full"
    )


class Hanging:
    """An exporter whose collector answers nothing until it is let go."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_go = threading.Event()

    def export(self, spans: object) -> None:
        self.is_asked.set()
        self.may_go.wait()

    def shutdown(self) -> None:
        self.may_go.set()


def test_a_collector_that_hangs_costs_only_counted_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "true")
    reader, exporter = InMemoryMetricReader(), Hanging()
    meter_provider = MeterProvider([reader], shutdown_on_exit=False)
    tracer_provider = TracerProvider(shutdown_on_exit=False, meter_provider=meter_provider)
    hanging: Any = exporter
    processor = BatchSpanProcessor(
        hanging, max_queue_size=4, max_export_batch_size=2, meter_provider=meter_provider
    )
    tracer_provider.add_span_processor(processor)
    observer = OpenTelemetryEventObserver(tracer_provider=tracer_provider, meter_provider=meter_provider)
    rig = Driver("sync").rig(["one"] * 21, event_observers=[observer])
    rig.complete()
    assert exporter.is_asked.wait(30)
    for _ in range(20):
        assert rig.complete().content == "one"
    assert drops_counted(reader) == 36, "of 40 spans four wait"
    assert observer.open_operation_count == 0
    processor._batch_processor.shutdown(timeout_millis=1)


@pytest.mark.parametrize("collector", ["dead", "failing"])
def test_a_collector_that_is_gone_or_refuses_costs_the_caller_nothing(
    collector: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(message: object) -> None:
        raise OSError

    receiver = OtlpReceiver(on_traces=refuse)
    endpoint = f"{receiver.endpoint}/v1/traces"
    if collector == "dead":
        receiver.close()
    else:
        receiver.start()
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    # a timeout too short for a second try
    tracer_provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=0.5)))
    observer = OpenTelemetryEventObserver(tracer_provider=tracer_provider)
    rig = Driver("sync").rig(["one"], event_observers=[observer])
    assert rig.complete().content == "one"
    tracer_provider.shutdown()
    assert observer.open_operation_count == 0
    assert [record for record in caplog.records if record.name.startswith("opentelemetry.exporter")]
    if collector == "failing":
        receiver.close()
