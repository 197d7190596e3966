"""`StructlogEventObserver`: engine events as lines of structlog."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tests.docs.pages import DOCS, ROOT, table_rows
from tests.drivers import HELLO, Driver
from tests.telemetry.log_rig import CANARY, Raising
from tramapy import (
    CATALOGUE,
    CircuitBreakerSettings,
    ConfigurationError,
    DlpInspectionError,
    ModelResponse,
    ProviderError,
    RetryPolicySettings,
    RuntimeEvent,
    RuntimeEventDefinition,
    Tramapy,
)
from tramapy.hooks import catalogue
from tramapy.hooks.event_model import RuntimeEventDomain
from tramapy.telemetry import StructlogEventObserver
from tramapy.telemetry.logs import DEFAULT_LEVELS
from tramapy.testing import ScriptedProvider, assert_no_canary

STARTED = {
    **{"correlation_id": "c", "service_interface": "s", "method_name": "m", "requested_model": "x"},
    "is_stream": False,
}


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def _configured(level: int = 0, **options: Any) -> io.StringIO:
    file = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file),
        **options,
    )
    return file


def _lines(file: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.getvalue().splitlines()]


def _names(file: io.StringIO) -> list[str]:
    return [line["event"].removeprefix("tramai.") for line in _lines(file)]


def test_every_event_is_a_line_with_its_attributes(driver: Driver) -> None:
    file = _configured()
    rig = driver.rig(["fine"], event_observers=[StructlogEventObserver()])
    rig.complete()
    assert [
        {name: value for name, value in line.items() if name not in ("event", "level")}
        for line in _lines(file)
    ] == [dict(event.attributes) for event in rig.observer.events]
    assert _names(file) == rig.names


def test_a_call_that_succeeds_is_one_line_at_level_info(driver: Driver) -> None:
    file = _configured(logging.INFO)
    driver.rig(["fine"], event_observers=[StructlogEventObserver()]).complete()
    (line,) = _lines(file)
    assert line["event"] == catalogue.ATTEMPT_COMPLETED.name
    assert line["level"] == "info"


def test_levels_follow_the_event_and_the_outcome(driver: Driver) -> None:
    file = _configured(logging.WARNING)
    rig = driver.rig(
        [ProviderError("down", retryable=True)] * 2,
        event_observers=[StructlogEventObserver()],
        retry=RetryPolicySettings(provider_retries=1, jitter_ratio=0.0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(ProviderError):
        rig.complete()
    assert [(line["event"].removeprefix("tramai."), line["level"]) for line in _lines(file)] == [
        ("retry.scheduled", "warning"),
        ("attempt.failed", "warning"),
        ("circuit.opened", "error"),
        ("attempt.failed", "warning"),
        ("operation.completed", "error"),
    ]


def test_every_event_has_a_level_and_the_page_says_which() -> None:
    assert list(DEFAULT_LEVELS) == [definition.name for definition in CATALOGUE]
    rows = table_rows(DOCS / "logging.md", "Event", "Level")
    assert [(row[0].strip("`"), row[1].strip("`").split("`")[0]) for row in rows] == list(
        DEFAULT_LEVELS.items()
    )


@pytest.mark.parametrize("outcome", ["success", "failed"])
def test_levels_can_be_chosen_or_switched_off(outcome: str) -> None:
    file = _configured()
    observer = StructlogEventObserver(
        levels={catalogue.OPERATION_COMPLETED.name: "critical", catalogue.OPERATION_STARTED.name: None}
    )
    observer.on_runtime_event(RuntimeEvent.of(catalogue.OPERATION_STARTED, STARTED))
    observer.on_runtime_event(
        RuntimeEvent.of(
            catalogue.OPERATION_COMPLETED,
            {"correlation_id": "c", "outcome": outcome, "attempt_count": 1, "duration_millis": 2},
        )
    )
    assert [(line["event"], line["level"]) for line in _lines(file)] == [
        (catalogue.OPERATION_COMPLETED.name, "critical")
    ]


def test_an_event_of_your_own_is_a_line_at_level_info() -> None:
    file = _configured()
    own = RuntimeEventDefinition(name="shop.sold", domain=RuntimeEventDomain.ENGINE)
    StructlogEventObserver().on_runtime_event(RuntimeEvent.of(own, {}))
    assert _lines(file) == [{"event": "shop.sold", "level": "info"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": "info"}, "levels is of type str; give a mapping"),
        ({"levels": {"tramai.circuit.opened": ["info"]}}, "is of type list; give one of debug"),
        ({"levels": {"tramai.nothing": "info"}}, "is no event"),
        ({"levels": {"tramai.circuit.opened": "loud"}}, "'loud'; give one of debug, info, warning, error"),
        ({"logger": logging.getLogger("shop")}, "one of the standard library"),
        ({"logger": logging.LoggerAdapter(logging.getLogger("shop"), {})}, "one of the standard library"),
        ({"logger": structlog.BoundLogger}, "logger is the class BoundLogger"),
        ({"logger": "shop"}, "of type str, which has no method bind"),
        ({"spans": object()}, "spans takes an OpenTelemetryEventObserver, not object"),
    ],
    ids=["levels", "level type", "event", "level", "logging", "adapter", "class", "name", "spans"],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        StructlogEventObserver(**options)


def test_a_logger_of_your_own_keeps_its_fields_and_its_configuration(driver: Driver) -> None:
    elsewhere = _configured()
    own = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(own), processors=[structlog.processors.JSONRenderer()]
    ).bind(tenant="a")
    driver.rig(["fine"], event_observers=[StructlogEventObserver(logger)]).complete()
    assert {line["tenant"] for line in _lines(own)} == {"a"}
    assert len(_lines(own)) == 5
    assert elsewhere.getvalue() == ""


@pytest.mark.parametrize("cache", [True, False])
def test_structlog_may_be_configured_late_and_anew(cache: bool) -> None:
    tramapy = Tramapy({"p": ScriptedProvider(["a"] * 3)}, event_observers=[StructlogEventObserver()])
    tramapy.complete(HELLO, model="m")
    first = _configured(logging.INFO, cache_logger_on_first_use=cache)
    tramapy.complete(HELLO, model="m")
    assert _names(first) == ["attempt.completed"]
    if not cache:
        second = _configured(logging.DEBUG)
        tramapy.complete(HELLO, model="m")
        assert len(_names(second)) == 5
    assert len(_names(first)) == 1


def test_lines_can_be_captured_in_tests() -> None:
    _configured()
    tramapy = Tramapy({"p": ScriptedProvider(["a"] * 2)}, event_observers=[StructlogEventObserver()])
    tramapy.complete(HELLO, model="m")
    with structlog.testing.capture_logs() as captured:
        tramapy.complete(HELLO, model="m")
    assert captured[-1]["event"] == catalogue.OPERATION_COMPLETED.name


def test_the_standard_library_judges_each_line_by_the_level_of_the_time() -> None:
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=logging.getLogger,  # structlog's own changes the class of loggers for good
    )
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger("tramapy.events")
    logger.addHandler(handler)
    tramapy = Tramapy({"p": ScriptedProvider(["a"] * 2)}, event_observers=[StructlogEventObserver()])
    try:
        logger.setLevel(logging.ERROR)
        tramapy.complete(HELLO, model="m")
        assert records == []
        logger.setLevel(logging.DEBUG)
        tramapy.complete(HELLO, model="m")
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(handler)
    assert len(records) == 5
    assert vars(records[0])["method_name"] == "complete"


def test_without_a_configuration_lines_go_to_the_standard_library(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    tramapy = Tramapy({"p": ScriptedProvider(["a"] * 2)}, event_observers=[StructlogEventObserver()])
    tramapy.complete(HELLO, model="m", correlation_id="c\n1")
    assert caplog.records == []
    with caplog.at_level(logging.INFO, logger="tramapy.events"):
        tramapy.complete(HELLO, model="m", correlation_id="c\n1")
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "event=tramai.attempt.completed correlation_id=c\\n1 provider_id=p attempt=0 effective_model=m"
    )
    assert (record.name, record.levelname) == ("tramapy.events", "INFO")
    assert capsys.readouterr() == ("", "")


def test_an_id_forges_no_line_of_the_standard_library(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tramapy.events")
    tramapy = Tramapy({"p": ScriptedProvider(["a"])}, event_observers=[StructlogEventObserver()])
    tramapy.complete(HELLO, model="m", correlation_id="c\r\n\x1b[2J\u202e\u2028\ud800é")
    (record,) = caplog.records
    assert r"correlation_id=c\r\n\x1b[2J\u202e\u2028\ud800é provider_id" in record.getMessage()


class Broken:
    """A logger that raises whatever it is asked."""

    def __init__(self) -> None:
        self.count = 0

    def bind(self, **fields: object) -> Broken:
        return self

    def info(self, event: str, **fields: object) -> None:
        self.count += 1
        raise RuntimeError(CANARY)

    debug = warning = error = critical = info


def test_spec_119_a_logger_that_raises_does_not_change_a_success(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    provider, logger = ScriptedProvider(["fine"]), Broken()
    rig = driver.rig(provider, event_observers=[StructlogEventObserver(logger)])
    assert rig.complete().content == "fine"
    assert len(provider.requests) == 1
    assert logger.count == len(rig.names)
    assert {record.name for record in caplog.records} == {"tramapy.secondary"}
    assert_no_canary(CANARY, caplog.text)


def test_spec_120_a_logger_that_raises_does_not_replace_the_providers_error(driver: Driver) -> None:
    rig = driver.rig(
        [ProviderError("down", retryable=False)], event_observers=[StructlogEventObserver(Broken())]
    )
    with pytest.raises(ProviderError, match="down"):
        rig.complete()


def test_a_logger_of_async_methods_is_reported(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    class Late(Broken):
        async def info(self, event: str, **fields: object) -> None:  # type: ignore[override]
            raise AssertionError

        debug = warning = error = critical = info  # type: ignore[assignment]

    assert driver.rig(["fine"], event_observers=[StructlogEventObserver(Late())]).complete().content == "fine"
    assert "error_type=TypeError" in caplog.text


def test_what_a_logger_returns_is_nobodys_business(driver: Driver) -> None:
    class Returning(Broken):
        def info(self, event: str, **fields: object) -> str:  # type: ignore[override]
            return event

        debug = warning = error = critical = info  # type: ignore[assignment]

    assert (
        driver.rig(["fine"], event_observers=[StructlogEventObserver(Returning())]).complete().content
        == "fine"
    )


@pytest.mark.parametrize(
    "answer",
    [
        CANARY,
        ModelResponse(content="a", reasoning=CANARY, model=f"{CANARY} is no name"),
        ProviderError(f"down {CANARY}", retryable=False),
        RuntimeError(CANARY),
        KeyboardInterrupt(CANARY),
    ],
    ids=["answer", "reasoning", "rejection", "error", "interrupt"],
)
@pytest.mark.parametrize("dlp", [None, Raising()], ids=["no dlp", "dlp rejects"])
def test_no_line_holds_text(driver: Driver, answer: Any, dlp: Any) -> None:
    if isinstance(answer, KeyboardInterrupt) and driver.name != "sync":
        pytest.skip("an interrupt ends an event loop")
    file = _configured()
    rig = driver.rig([answer], event_observers=[StructlogEventObserver()], dlp=dlp)
    with contextlib.suppress(ProviderError, DlpInspectionError, KeyboardInterrupt):
        rig.complete()
    assert _names(file)[-1] == "operation.completed"
    assert_no_canary(CANARY, file)


def test_importing_the_package_imports_no_extra() -> None:
    code = "import sys, tramapy.telemetry; print(*sorted(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8", cwd=ROOT
    )
    imported = set(result.stdout.split())
    assert imported.isdisjoint({"structlog", "opentelemetry", "tramapy.telemetry.logs"})
    code = "import sys, tramapy.telemetry as t; t.DlpLogFilter, t.DlpProcessor; print('structlog' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8", cwd=ROOT
    )
    assert result.stdout.strip() == "False"


def test_names_that_are_imported_late_are_listed_and_others_are_refused() -> None:
    import tramapy.telemetry

    assert dir(tramapy.telemetry) == sorted(tramapy.telemetry.__all__)
    for name in tramapy.telemetry.__all__:
        assert getattr(tramapy.telemetry, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tramapy.telemetry.nothing


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "structlog", None)
    monkeypatch.delitem(sys.modules, "tramapy.telemetry.structlog_import")
    with pytest.raises(ImportError, match=r"pip install 'tramapy\[structlog\]'"):
        __import__("tramapy.telemetry.structlog_import")


def test_a_processor_may_drop_a_line() -> None:
    def drop(_: object, __: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if line["event"] == catalogue.ATTEMPT_COMPLETED.name:
            raise structlog.DropEvent
        return line

    file = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(file),
        processors=[drop, structlog.processors.KeyValueRenderer(["event"])],
        wrapper_class=structlog.make_filtering_bound_logger("debug"),
    )
    Driver("sync").rig(["one"], event_observers=[StructlogEventObserver(logger)]).complete()
    assert catalogue.OPERATION_COMPLETED.name in file.getvalue()
    assert catalogue.ATTEMPT_COMPLETED.name not in file.getvalue()


def test_a_wrapper_class_of_ones_own_has_its_methods_called() -> None:
    class Own(structlog.make_filtering_bound_logger("debug")):  # type: ignore[misc]  # a class made at run time
        def info(self, event: str, **fields: object) -> object:
            return super().info(f"own {event}", **fields)

    file = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(file),
        processors=[structlog.processors.KeyValueRenderer(["event"])],
        wrapper_class=Own,
    )
    Driver("sync").rig(["one"], event_observers=[StructlogEventObserver(logger)]).complete(method_name="m")
    assert f"own {catalogue.ATTEMPT_COMPLETED.name}" in file.getvalue()
    assert "method_name='m'" in file.getvalue()
