"""OpenTelemetry's API, or an `ImportError` that says how to get it."""

from __future__ import annotations

try:
    from opentelemetry import context, metrics, trace
except ImportError:
    raise ImportError(
        "This observer needs the OpenTelemetry API. Install it with: pip install 'tramapy[otel]'"
    ) from None

__all__ = ["context", "metrics", "trace"]
