"""Cancelled at each checkpoint of each scenario, on every event loop: as many spans end as begin."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from tests.engine.cancelling import Canceller, canceller
from tests.engine.checkpoints import World, cancel_everywhere
from tests.engine.test_cancel_everywhere import SCENARIOS
from tramapy.telemetry import OpenTelemetryEventObserver

__all__ = ["canceller"]


class Counting(SpanProcessor):
    """Counts spans."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.ended_count = 0

    def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
        self.open.add(id(span))

    def on_end(self, span: ReadableSpan) -> None:
        self.ended_count += 1
        self.open.discard(id(span))


class TracedWorld(World):
    """A world that OpenTelemetry hears of."""

    def __init__(self, canceller: Canceller, **settings: Any) -> None:
        self.counting = Counting()
        provider = TracerProvider()
        provider.add_span_processor(self.counting)
        self.otel = OpenTelemetryEventObserver(tracer_provider=provider)
        super().__init__(canceller, event_observers=[self.otel], **settings)

    def assert_nothing_left(self) -> None:
        super().assert_nothing_left()
        names = self.rig.names
        started = names.count("operation.started") + names.count("attempt.started")
        assert self.counting.ended_count == started > 0
        assert self.otel.open_operation_count == 0
        assert trace.get_current_span() is trace.INVALID_SPAN, "no span stays current"


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", SCENARIOS)
def test_o02_o03_spans_started_are_spans_ended_at_each_checkpoint(
    canceller: Canceller, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = SCENARIOS[name]

    async def main() -> int:
        return await cancel_everywhere(
            canceller, lambda: TracedWorld(canceller, **chosen.settings), chosen.operation
        )

    count: int = canceller.run_plainly(main)
    assert count >= chosen.at_least
    assert "detach" not in caplog.text
