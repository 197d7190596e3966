"""Ids of attempts and spans on log lines: carried, and never those of somebody else."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import structlog
from opentelemetry import trace

from tests.drivers import HELLO, Driver
from tramapy import (
    CATALOGUE,
    AsyncTramapy,
    ConfigurationError,
    EngineEventObserver,
    ProviderError,
    RuntimeEvent,
)
from tramapy.hooks import catalogue
from tramapy.telemetry import (
    AttemptContextObserver,
    StructlogEventObserver,
    TraceIdsProcessor,
    attempt_fields,
)
from tramapy.telemetry.span_fields import SpanFields
from tramapy.testing import ScriptedProvider

OTHER = {"event": "mine"}


@dataclass(frozen=True)
class Ids:
    trace_id: int
    span_id: int


class Spans(EngineEventObserver):
    """Keeps spans as an observer of a tracer does: the trace is the operation's number, spans are counted."""

    def __init__(self) -> None:
        self.trace_count = self.span_count = 0
        self.open: dict[tuple[object, object], Ids] = {}

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        key = event.attribute("correlation_id"), event.attribute("attempt")
        if event.definition is catalogue.OPERATION_STARTED:
            self.trace_count += 1
        if event.definition in (catalogue.OPERATION_STARTED, catalogue.ATTEMPT_STARTED):
            self.span_count += 1
            self.open[key] = Ids(self.trace_count, self.span_count)
        elif event.name.rpartition(".")[2] in ("completed", "failed", "cancelled"):
            self.open.pop(key, None)

    def span_context_of(self, event: RuntimeEvent) -> Ids | None:
        correlation_id = event.attribute("correlation_id")
        own = self.open.get((correlation_id, event.attribute("attempt")))
        return own or self.open.get((correlation_id, None))


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def _captured() -> tuple[Any, list[Any]]:
    capturing = structlog.testing.LogCapture()
    return structlog.wrap_logger(None, processors=[TraceIdsProcessor(), capturing]), capturing.entries


def _ids(trace_id: int, span_id: int) -> dict[str, str]:
    return {"trace_id": f"{trace_id:032x}", "span_id": f"{span_id:016x}"}


def _span_ids(line: Any) -> dict[str, str]:
    return {name: line[name] for name in ("trace_id", "span_id") if name in line}


def _current(ids: Ids) -> Any:
    """Return a context in which a span of OpenTelemetry is current."""
    context = trace.SpanContext(ids.trace_id, ids.span_id, is_remote=False)
    return trace.use_span(trace.NonRecordingSpan(context))


def test_events_carry_the_ids_of_their_spans(driver: Driver) -> None:
    logger, lines = _captured()
    spans = Spans()
    rig = driver.rig(
        [ProviderError("down", retryable=True), "fine"],
        event_observers=[spans, StructlogEventObserver(logger, spans=spans)],
    )
    rig.complete()
    assert [(line["event"].removeprefix("tramai."), _span_ids(line)) for line in lines] == [
        ("operation.started", _ids(1, 1)),
        ("route.selected", _ids(1, 1)),
        ("attempt.started", _ids(1, 2)),
        ("retry.scheduled", _ids(1, 2)),
        ("attempt.failed", _ids(1, 2)),
        ("route.selected", _ids(1, 1)),
        ("attempt.started", _ids(1, 3)),
        ("attempt.completed", _ids(1, 3)),
        ("operation.completed", _ids(1, 1)),
    ]


def test_without_spans_events_carry_the_span_that_their_operation_began_in(driver: Driver) -> None:
    logger, lines = _captured()
    rig = driver.rig(["fine"], event_observers=[StructlogEventObserver(logger)])
    with _current(Ids(7, 8)):
        rig.complete()
    assert {tuple(_span_ids(line).items()) for line in lines} == {tuple(_ids(7, 8).items())}


def test_without_opentelemetry_lines_carry_the_engines_ids(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    logger, lines = _captured()
    provider = ScriptedProvider([lambda request: logger.info("mine") or "fine"])
    rig = driver.rig(provider, event_observers=[AttemptContextObserver(), StructlogEventObserver(logger)])
    rig.complete(correlation_id="c-1")
    (mine,) = [line for line in lines if line["event"] == "mine"]
    assert mine == {
        **{"event": "mine", "log_level": "info"},
        **{"correlation_id": "c-1", "provider_id": "p", "attempt": 0},
    }
    assert all(_span_ids(line) == {} for line in lines)
    logger.info("after")
    assert lines[-1] == {"event": "after", "log_level": "info"}


def test_lines_of_a_provider_call_carry_its_attempt(driver: Driver) -> None:
    logger, lines = _captured()
    spans = Spans()
    answer = [lambda request: logger.info("mine") or "fine"]
    rig = driver.rig(ScriptedProvider(answer), event_observers=[spans, AttemptContextObserver(spans=spans)])
    with _current(Ids(9, 9)):
        rig.complete(correlation_id="c-1")
        logger.info("outside")
    assert lines == [
        {
            **{"event": "mine", "log_level": "info"},
            **{"correlation_id": "c-1", "provider_id": "p", "attempt": 0},
            **_ids(1, 2),
        },
        {"event": "outside", "log_level": "info", **_ids(9, 9)},
    ]


def test_a_streams_consumer_is_outside_of_the_attempt(driver: Driver) -> None:
    rig = driver.rig(["some text"], event_observers=[AttemptContextObserver()])
    if driver.name == "sync":
        with rig.tramapy.stream(HELLO, model="m") as chunks:
            assert not any(attempt_fields() for _ in chunks)
        return

    async def main() -> None:
        async with rig.tramapy.stream(HELLO, model="m") as chunks:
            async for _ in chunks:
                assert attempt_fields() == {}

    driver.run(main)


def test_o12_ids_that_a_logger_carries_reach_threads_and_tasks(driver: Driver) -> None:
    logger, lines = _captured()

    def ask(request: Any) -> str:
        carrying = logger.bind(**attempt_fields())
        with ThreadPoolExecutor(1) as pool:
            pool.submit(logger.info, "without").result()
            pool.submit(carrying.info, "with").result()
        return "fine"

    spans = Spans()
    rig = driver.rig(ScriptedProvider([ask]), event_observers=[spans, AttemptContextObserver(spans=spans)])
    rig.complete(correlation_id="c-1")
    assert [(line["event"], _span_ids(line)) for line in lines] == [("without", {}), ("with", _ids(1, 2))]
    assert lines[1]["correlation_id"] == "c-1"


def test_o12_ids_of_an_event_do_not_depend_on_the_thread_that_hears_it() -> None:
    logger, lines = _captured()
    spans = Spans()
    observer = StructlogEventObserver(logger, spans=spans)

    def tell(name: str, **attributes: Any) -> None:
        definition = CATALOGUE.get(f"tramai.{name}")
        filler: dict[type, Any] = {str: "x", int: 0, bool: False}
        required = {
            key.name: filler[key.value_type] for key in definition.allowed if key.name in definition.required
        }
        event = RuntimeEvent.of(definition, {**required, "correlation_id": "c", **attributes})

        def hear() -> None:
            spans.on_runtime_event(event)
            observer.on_runtime_event(event)

        thread = threading.Thread(target=hear)
        thread.start()
        thread.join()

    tell("operation.started")
    tell("attempt.started", attempt=4)
    with _current(Ids(9, 9)):
        tell("attempt.completed", attempt=4)
        tell("operation.completed")
        tell("operation.completed")
    assert list(map(_span_ids, lines)) == [_ids(1, 1), _ids(1, 2), _ids(1, 2), _ids(1, 1), {}]


def test_o13_ids_are_whole_in_an_except_block_of_a_pool_thread(driver: Driver) -> None:
    logger, lines = _captured()

    def ask(request: Any) -> str:
        carrying = logger.bind(**attempt_fields())

        def work() -> None:
            try:
                raise ValueError("x")
            except ValueError:
                carrying.error("failed")
                logger.error("failed")

        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result()
        return "fine"

    spans = Spans()
    rig = driver.rig(ScriptedProvider([ask]), event_observers=[spans, AttemptContextObserver(spans=spans)])
    rig.complete()
    assert list(map(_span_ids, lines)) == [_ids(1, 2), {}]


def test_two_operations_with_one_correlation_id_are_told_apart(async_driver: Driver) -> None:
    logger, lines = _captured()
    ids = {"a": Ids(1, 1), "b": Ids(2, 2)}

    async def ask(request: Any) -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        return "fine"

    tramapy = AsyncTramapy(
        {"p": ScriptedProvider([ask, ask])}, event_observers=[StructlogEventObserver(logger)]
    )

    async def operation(method_name: str) -> None:
        with _current(ids[method_name]):
            await tramapy.complete(HELLO, model="m", correlation_id="same", method_name=method_name)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operation, "a")
            tasks.start_soon(operation, "b")

    async_driver.run(main)
    by_trace = {line["trace_id"]: 0 for line in lines}
    for line in lines:
        by_trace[line["trace_id"]] += 1
        if "method_name" in line:
            assert line["trace_id"] == f"{ids[line['method_name']].trace_id:032x}"
    assert list(by_trace.values()) == [5, 5]


@pytest.mark.parametrize("ids", [Ids(0, 0), Ids(1, 0), Ids(0, 1)], ids=repr)
def test_ids_of_zeros_are_never_shown(ids: Ids) -> None:
    with _current(ids):
        assert TraceIdsProcessor()(None, "info", dict(OTHER)) == OTHER


def test_ids_that_a_line_carries_stay() -> None:
    carried = {"event": "mine", "trace_id": "t"}
    with _current(Ids(1, 2)):
        assert TraceIdsProcessor()(None, "info", dict(carried)) == carried
        assert TraceIdsProcessor()(None, "info", {"event": "mine", "attempt": 0}) == {
            "event": "mine",
            "attempt": 0,
        }


def test_an_engine_event_takes_no_ids_from_where_it_is_heard() -> None:
    line = {"event": catalogue.ATTEMPT_CANCELLED.name, "correlation_id": "c"}
    with _current(Ids(1, 2)):
        assert TraceIdsProcessor()(None, "info", dict(line)) == line
        assert _span_ids(TraceIdsProcessor()(None, "info", {"event": {"no": "text"}})) == _ids(1, 2)


def test_the_current_span_can_be_left_aside() -> None:
    with _current(Ids(1, 2)):
        assert TraceIdsProcessor(is_ambient=False)(None, "info", dict(OTHER)) == OTHER


def test_spans_need_their_method() -> None:
    spans: Any = object()
    with pytest.raises(ConfigurationError, match="not object, which has no span_context_of"):
        AttemptContextObserver(spans=spans)


def test_operations_that_never_end_are_forgotten_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tramapy.telemetry.span_fields._OPEN_OPERATION_COUNT", 2)

    class Same:
        def span_context_of(self, event: RuntimeEvent) -> Ids | None:
            return Ids(1, 1) if event.definition is catalogue.OPERATION_STARTED else None

    spans = SpanFields(Same())

    def started(correlation_id: str) -> RuntimeEvent:
        return RuntimeEvent.of(
            catalogue.OPERATION_STARTED,
            {
                **{"correlation_id": correlation_id, "service_interface": "s", "method_name": "m"},
                **{"requested_model": "x", "is_stream": False},
            },
        )

    def later(correlation_id: str) -> RuntimeEvent:
        return RuntimeEvent.of(
            catalogue.CIRCUIT_OPENED, {"correlation_id": correlation_id, "provider_id": "p"}
        )

    for correlation_id in ("a", "b", "b"):
        spans.fields_of(started(correlation_id))
    assert spans.fields_of(later("a")) == {}
    assert spans.fields_of(later("b")) == _ids(1, 1)
    assert spans.known_fields_of(later("a")) == {}
    operation = spans._table.find(later("b"))
    assert operation is not None
    for _ in range(2):
        spans._table.remove(operation)
    assert spans.fields_of(later("b")) == _ids(1, 1)


def test_an_attempt_without_a_span_carries_its_operations() -> None:
    class Few:
        def span_context_of(self, event: RuntimeEvent) -> Ids | None:
            return Ids(1, 1) if event.definition is catalogue.OPERATION_STARTED else None

    logger, lines = _captured()
    spans = Few()
    Driver("sync").rig(["fine"], event_observers=[StructlogEventObserver(logger, spans=spans)]).complete()
    assert all(_span_ids(line) == _ids(1, 1) for line in lines)


def test_a_scope_that_is_left_in_another_context_restores_nothing() -> None:
    event = RuntimeEvent.of(
        catalogue.ATTEMPT_STARTED,
        {
            **{"correlation_id": "c", "provider_id": "p", "attempt": 0},
            **{"effective_model": "m", "is_stream": True},
        },
    )
    scope = AttemptContextObserver().provider_call_scope(event)
    assert scope is not None
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert attempt_fields() == {}
    with scope:
        assert attempt_fields() == {"correlation_id": "c", "provider_id": "p", "attempt": 0}
    assert attempt_fields() == {}
