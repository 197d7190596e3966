"""`OtlpRefusal`: why `OtlpReceiver` did not take what an exporter sent."""

from __future__ import annotations

import enum

__all__ = ["OtlpRefusal"]


class OtlpRefusal(enum.Enum):
    """What was wrong with a request, in a word and in a sentence with the remedy. None of them repeats the request."""

    GRPC = "grpc"
    """It speaks HTTP/2, as exporters over gRPC do."""

    JSON = "json"
    """Its body is JSON."""

    CONTENT_TYPE = "content_type"
    """Its body is of another type."""

    ENCODING = "encoding"
    """Its body is packed in another way than gzip."""

    PATH = "path"
    """It was sent to a path that is none of OTLP's."""

    LENGTH = "length"
    """It does not say how long its body is, as a chunked one does not."""

    TOO_LONG = "too_long"
    """Its body is longer than `limit_bytes`, as it came or unpacked."""

    MALFORMED = "malformed"
    """It is no HTTP request, or its body is not what it says."""

    @property
    def sentence(self) -> str:
        """What was refused, and what to do."""
        return _SENTENCES[self]


_SENTENCES = {
    OtlpRefusal.GRPC: "An export over gRPC was refused; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf.",
    OtlpRefusal.JSON: "An export as JSON was refused; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf.",
    OtlpRefusal.CONTENT_TYPE: (
        "A request that is not application/x-protobuf was refused; set "
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf."
    ),
    OtlpRefusal.ENCODING: (
        "An export in an unknown compression was refused; set OTEL_EXPORTER_OTLP_COMPRESSION to gzip or none."
    ),
    OtlpRefusal.PATH: (
        "A request to another path than /v1/traces, /v1/metrics and /v1/logs was refused; give exporters the "
        "endpoint in OTEL_EXPORTER_OTLP_ENDPOINT, or with /v1/traces behind it in "
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT."
    ),
    OtlpRefusal.LENGTH: "An export without a Content-Length was refused; send it in one piece.",
    OtlpRefusal.TOO_LONG: (
        "An export was too long and refused; set a smaller OTEL_BSP_MAX_EXPORT_BATCH_SIZE."
    ),
    OtlpRefusal.MALFORMED: (
        "A request that could not be read was refused; exporters speak plain HTTP here, without TLS."
    ),
}
