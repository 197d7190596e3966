"""Through a collector that others wrote: our spans and metrics go into rotel, and out of it into our receiver.

`make test-peers` runs it in an environment of its own. rotel decodes what the exporters send, over HTTP and over
gRPC, and encodes it anew; what arrives is what it understood. All of it is on loopback.
"""

from __future__ import annotations

import contextlib
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import rotel
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tramapy import Message, ModelResponse, ProviderError, TokenUsage, Tramapy
from tramapy.telemetry import OpenTelemetryEventObserver, OtlpReceiver
from tramapy.testing import FakeClock, ScriptedProvider

_PATIENCE_S = 60.0
_METRICS = {
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "tramapy.operation.duration",
    "tramapy.attempts",
    "tramapy.retries",
    "tramapy.circuit.state",
    "tramapy.export.queue",
}


def main() -> None:
    """Send over both protocols and compare what arrives; exits with 1 at the first difference."""
    for protocol in ("http", "grpc"):
        arrived: queue.Queue[Any] = queue.Queue()
        with (
            OtlpReceiver(on_traces=arrived.put, on_metrics=arrived.put) as receiver,
            _rotel(receiver.endpoint) as ports,
        ):
            _send(protocol, ports[protocol])
            spans, metrics = _collect(arrived)
        _check(protocol, spans, metrics)
        print(f"rotel over {protocol}: {len(spans)} spans and {len(metrics)} metrics arrived whole")


@contextlib.contextmanager
def _rotel(endpoint: str) -> Iterator[dict[str, int]]:
    ports = {"http": _free_port(), "grpc": _free_port()}
    agent = pathlib.Path(rotel.__file__).parent / "rotel-agent"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(str(agent), "start", "--exporter", "otlp", "--otlp-exporter-protocol", "http"),
            *("--otlp-exporter-endpoint", endpoint),
            *("--otlp-http-endpoint", f"127.0.0.1:{ports['http']}"),
            *("--otlp-grpc-endpoint", f"127.0.0.1:{ports['grpc']}"),
            *("--pid-file", f"{folder}/pid", "--log-file", f"{folder}/log"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for port in ports.values():
                _wait_for(port, process)
            yield ports
        finally:
            process.terminate()
            process.wait(_PATIENCE_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline_s:
                sys.exit("rotel did not start")
            time.sleep(0.05)
        else:
            return


def _send(protocol: str, port: int) -> None:
    endpoint = f"http://127.0.0.1:{port}"
    span_exporter: Any
    metric_exporter: Any
    if protocol == "http":
        span_exporter = OTLPSpanExporter(f"{endpoint}/v1/traces", compression=Compression.Gzip)
        metric_exporter = OTLPMetricExporter(f"{endpoint}/v1/metrics", compression=Compression.Gzip)
    else:
        span_exporter = GrpcSpanExporter(endpoint, insecure=True)
        metric_exporter = GrpcMetricExporter(endpoint, insecure=True)
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(BatchSpanProcessor(span_exporter))
    reader = PeriodicExportingMetricReader(metric_exporter, export_interval_millis=3_600_000)
    meter_provider = MeterProvider([reader], shutdown_on_exit=False)
    observer = OpenTelemetryEventObserver(tracer_provider=tracer_provider, meter_provider=meter_provider)
    answer = ModelResponse(content="Fine.", usage=TokenUsage(input_tokens=12, output_tokens=5))
    provider = ScriptedProvider([ProviderError("503", retryable=True, status_code=503), answer])
    tramapy = Tramapy({"p": provider}, event_observers=[observer], clock=FakeClock())
    tramapy.complete([Message.user("?")], model="m", service_interface="Support", method_name="answer")
    tracer_provider.shutdown()
    meter_provider.shutdown()


def _collect(arrived: queue.Queue[Any]) -> tuple[list[Any], dict[str, Any]]:
    spans: list[Any] = []
    metrics: dict[str, Any] = {}
    while len(spans) < 3 or not metrics:
        try:
            message = arrived.get(timeout=_PATIENCE_S)
        except queue.Empty:
            sys.exit(f"only {len(spans)} spans and {len(metrics)} metrics arrived")
        for resource in getattr(message, "resource_spans", ()):
            for scope in resource.scope_spans:
                spans.extend(scope.spans)
        for resource in getattr(message, "resource_metrics", ()):
            for scope in resource.scope_metrics:
                metrics.update((metric.name, metric) for metric in scope.metrics)
    return spans, metrics


def _check(protocol: str, spans: list[Any], metrics: dict[str, Any]) -> None:
    [operation] = [span for span in spans if span.name == "tramapy Support.answer"]
    failed, good = sorted((span for span in spans if span.name == "chat m"), key=_attempt)
    values = {item.key: item.value for item in good.attributes}
    facts = {
        "parents": {failed.parent_span_id, good.parent_span_id} == {operation.span_id},
        "status": (failed.status.code, good.status.code) == (2, 0),
        "events": [event.name for event in failed.events] == ["tramai.retry.scheduled"],
        "tokens": values["gen_ai.usage.input_tokens"].int_value == 12,
        "finish reasons": values["gen_ai.response.finish_reasons"].array_value.values[0].string_value
        == "stop",
        "metrics": set(metrics) == _METRICS,
        "durations": sum(
            point.count for point in metrics["gen_ai.client.operation.duration"].histogram.data_points
        )
        == 2,
    }
    wrong = [name for name, holds in facts.items() if not holds]
    if wrong:
        sys.exit(f"rotel over {protocol} understood something else: {', '.join(wrong)}")


def _attempt(span: Any) -> int:
    return next(int(item.value.int_value) for item in span.attributes if item.key == "tramapy.attempt")


if __name__ == "__main__":
    main()
