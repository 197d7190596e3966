"""OpenTelemetry's wire messages, or an `ImportError` that says how to get them."""

from __future__ import annotations

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
        ExportLogsServiceRequest,
        ExportLogsServiceResponse,
    )
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
        ExportMetricsServiceResponse,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
except ImportError:
    raise ImportError(
        "The OTLP receiver needs opentelemetry-proto. Install it with: pip install 'tramapy[otel]'"
    ) from None

__all__ = [
    "DecodeError",
    "ExportLogsServiceRequest",
    "ExportLogsServiceResponse",
    "ExportMetricsServiceRequest",
    "ExportMetricsServiceResponse",
    "ExportTraceServiceRequest",
    "ExportTraceServiceResponse",
]
