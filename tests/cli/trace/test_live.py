from __future__ import annotations

from tests.cli.trace.spans import attempt, export, operation
from tramapy.cli.trace.live import Live


def test_exports_that_wait_are_bounded_and_the_rest_is_counted() -> None:
    live = Live()
    for _ in range(20):
        live.take(export(attempt(), operation()))
    assert live.dropped_export_count == 4
    live.stop()
    assert len(list(live.operations())) == 16


def test_what_is_not_whole_comes_after_the_stop() -> None:
    live = Live()
    live.take(export(operation()))
    live.stop()
    assert [one.correlation_id for one in live.operations()] == ["c-1"]
