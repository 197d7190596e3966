"""Every metric of `OpenTelemetryEventObserver`: its name, its kind, and the only tags that it may carry."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

__all__ = ["ALL_METRICS", "MetricKind", "TelemetryMetric"]


class MetricKind(enum.Enum):
    """What kind of instrument a metric is."""

    HISTOGRAM = "histogram"
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryMetric:
    """One metric, as the observer declares it.

    Args:
        name: Its OpenTelemetry name.
        unit: Its unit, in UCUM.
        kind: Its instrument.
        description: One sentence for the reference table.
        tags: The attributes that it may carry, in order; all of them take few values.
        buckets: The bounds of a histogram.
    """

    name: str
    unit: str
    kind: MetricKind
    description: str
    tags: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def prometheus_name(self) -> str:
        """What the name becomes in Prometheus, by the rules of OTLP ingestion; a histogram's without `_bucket`."""
        parts = [self.name.replace(".", "_")]
        if self.unit == "s":
            parts.append("seconds")
        if self.kind is MetricKind.COUNTER:
            parts.append("total")
        return "_".join(parts)


_OPERATION = "gen_ai.operation.name"
_PROVIDER = "gen_ai.provider.name"
_MODEL = "gen_ai.request.model"
_RESPONSE_MODEL = "gen_ai.response.model"
_ERROR_TYPE = "error.type"
_OUTCOME = "tramapy.outcome"
_PROVIDER_ID = "tramapy.provider_id"

# the first and the last are the conventions' own
_SECONDS: Final = tuple(0.01 * 2**step for step in range(14))
_SHORT_SECONDS: Final = tuple(0.00001 * 4**step for step in range(10))
_TOKENS: Final = tuple(float(4**step) for step in range(14))

ATTEMPT_DURATION: Final = TelemetryMetric(
    name="gen_ai.client.operation.duration",
    unit="s",
    kind=MetricKind.HISTOGRAM,
    description="How long an attempt took",
    tags=(_OPERATION, _PROVIDER, _MODEL, _RESPONSE_MODEL, _ERROR_TYPE, _OUTCOME),
    buckets=_SECONDS,
)
TOKEN_USAGE: Final = TelemetryMetric(
    name="gen_ai.client.token.usage",
    unit="{token}",
    kind=MetricKind.HISTOGRAM,
    description="Tokens that an attempt used",
    tags=(_OPERATION, _PROVIDER, _MODEL, _RESPONSE_MODEL, "gen_ai.token.type"),
    buckets=_TOKENS,
)
TIME_TO_FIRST_CHUNK: Final = TelemetryMetric(
    name="gen_ai.client.operation.time_to_first_chunk",
    unit="s",
    kind=MetricKind.HISTOGRAM,
    description="From the start of a streamed attempt to the provider's first piece",
    tags=(_OPERATION, _PROVIDER, _MODEL, _RESPONSE_MODEL),
    buckets=_SECONDS,
)
TIME_PER_CHUNK: Final = TelemetryMetric(
    name="gen_ai.client.operation.time_per_output_chunk",
    unit="s",
    kind=MetricKind.HISTOGRAM,
    description="From a piece of a stream to the next; with `measures_chunks`",
    tags=(_OPERATION, _PROVIDER, _MODEL, _RESPONSE_MODEL),
    buckets=_SECONDS,
)
OPERATION_DURATION: Final = TelemetryMetric(
    name="tramapy.operation.duration",
    unit="s",
    kind=MetricKind.HISTOGRAM,
    description="How long an operation took, its retries and fallbacks included",
    tags=("tramapy.service_interface", "tramapy.method_name", _OUTCOME, _ERROR_TYPE),
    buckets=_SECONDS,
)
ATTEMPTS: Final = TelemetryMetric(
    name="tramapy.attempts",
    unit="{attempt}",
    kind=MetricKind.COUNTER,
    description="Attempts by how they ended",
    tags=(_PROVIDER_ID, _OUTCOME),
)
RETRIES: Final = TelemetryMetric(
    name="tramapy.retries",
    unit="{retry}",
    kind=MetricKind.COUNTER,
    description="Retries that were scheduled",
    tags=(_PROVIDER_ID, "tramapy.delay_source"),
)
FALLBACKS: Final = TelemetryMetric(
    name="tramapy.fallbacks",
    unit="{attempt}",
    kind=MetricKind.COUNTER,
    description="Attempts that went to a fallback route",
    tags=(_PROVIDER_ID,),
)
CIRCUIT_STATE: Final = TelemetryMetric(
    name="tramapy.circuit.state",
    unit="{state}",
    kind=MetricKind.GAUGE,
    description="1 for the state that a provider's breaker is in, 0 for the others",
    tags=(_PROVIDER_ID, "tramapy.circuit_state"),
)
CIRCUIT_TRANSITIONS: Final = TelemetryMetric(
    name="tramapy.circuit.transitions",
    unit="{transition}",
    kind=MetricKind.COUNTER,
    description="How often a breaker went into a state",
    tags=(_PROVIDER_ID, "tramapy.circuit_state"),
)
CIRCUIT_REJECTED: Final = TelemetryMetric(
    name="tramapy.circuit.rejected",
    unit="{rejection}",
    kind=MetricKind.COUNTER,
    description="Routes that were passed over because their breaker was open",
    tags=(_PROVIDER_ID,),
)
DLP_REDACTIONS: Final = TelemetryMetric(
    name="tramapy.dlp.redactions",
    unit="{replacement}",
    kind=MetricKind.COUNTER,
    description="Matches that DLP replaced",
    tags=("tramapy.rule_id", "tramapy.content_type", "tramapy.content_location"),
)
DLP_REJECTIONS: Final = TelemetryMetric(
    name="tramapy.dlp.rejections",
    unit="{rejection}",
    kind=MetricKind.COUNTER,
    description="Texts and tool results that DLP did not let pass",
    tags=("tramapy.reason_code", "tramapy.content_type", "tramapy.content_location"),
)
DLP_DURATION: Final = TelemetryMetric(
    name="tramapy.dlp.duration",
    unit="s",
    kind=MetricKind.HISTOGRAM,
    description="How long DLP took in an attempt, where it took 10 µs or more",
    tags=(_PROVIDER_ID,),
    buckets=_SHORT_SECONDS,
)
EXPORT_QUEUE: Final = TelemetryMetric(
    name="tramapy.export.queue",
    unit="{item}",
    kind=MetricKind.GAUGE,
    description="What waits: spans for their exporters, values for the collection that reads this",
    tags=("tramapy.queue",),
)
EVENTS_DROPPED: Final = TelemetryMetric(
    name="tramapy.events.dropped",
    unit="{event}",
    kind=MetricKind.COUNTER,
    description="Events that are on no span, or whose operation was given up",
    tags=("tramapy.drop_reason",),
)

ALL_METRICS: Final = (
    *(ATTEMPT_DURATION, TOKEN_USAGE, TIME_TO_FIRST_CHUNK, TIME_PER_CHUNK, OPERATION_DURATION),
    *(ATTEMPTS, RETRIES, FALLBACKS, CIRCUIT_STATE, CIRCUIT_TRANSITIONS, CIRCUIT_REJECTED),
    *(DLP_REDACTIONS, DLP_REJECTIONS, DLP_DURATION, EXPORT_QUEUE, EVENTS_DROPPED),
)
"""Every metric, in the order of the reference table; `compat_metrics` adds those of TramAI."""
