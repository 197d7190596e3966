"""No observer and no log handler runs while an error with text in it is the current exception.

`logger.exception`, a crash reporter and a tracer's span take what `sys.exc_info` gives, with its chain and its
frames; none of them asks whether that was inspected.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.drivers import HELLO, Driver, Rig
from tests.engine.doubles import FailingLedger, OnRequest, OnResponse, Scripted, Words, down, raising, retries
from tests.engine.stream_doubles import Opens, Source
from tramapy import (
    AttemptContentObserver,
    CircuitBreakerSettings,
    DlpInspectionError,
    EngineEventObserver,
    FailureDiagnosticObserver,
    ModelResponse,
    ProviderError,
    RuntimeEvent,
    StreamingDlpInterceptor,
    TextChunk,
    TokenBudgetSettings,
    TokenUsage,
    Tramapy,
    TramapyError,
)

TEXT = "the secret of the answer"


class Onlooker(EngineEventObserver):
    """Notes where it finds a current exception: on an event, and on each side of a scope."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.found: list[tuple[str, BaseException]] = []

    def look(self, where: str) -> None:
        self.heard.append(where)
        error = sys.exc_info()[1]
        if error is not None:
            self.found.append((where, error))

    def on_engine_event(self, name: str, attributes: Mapping[str, object]) -> None:
        self.look(name)

    @contextmanager
    def provider_call_scope(self, event: RuntimeEvent) -> Iterator[None]:
        self.look("scope")
        try:
            yield
        except BaseException as error:
            self.found.append(("scope", error))
            raise
        finally:
            self.look("scope")


class Listener(logging.Handler):
    """Does the same with log lines."""

    def __init__(self, onlooker: Onlooker) -> None:
        super().__init__()
        self._onlooker = onlooker

    def emit(self, record: logging.LogRecord) -> None:
        self._onlooker.look(record.name)


class BrokenStream(StreamingDlpInterceptor):
    """A stream of DLP's that fails at one of its steps, and whenever it is aborted."""

    redactions = ()

    def __init__(self, at: str) -> None:
        self._at = at

    def inspect(self, context: object, text: str) -> Any:
        raise ValueError(text)

    def open_stream(self, context: object) -> Any:
        self._fail("open_stream")
        return self

    def feed(self, text: str) -> str:
        self._fail("feed")
        return text

    def finish(self) -> str:
        self._fail("finish")
        return ""

    def abort(self) -> None:
        raise ValueError(TEXT)

    def _fail(self, step: str) -> None:
        if self._at == step:
            raise ValueError(TEXT)


class BrokenObserver(EngineEventObserver):
    """Fails at everything that it is told, beside others."""

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        raise ValueError(TEXT)

    def provider_call_scope(self, event: RuntimeEvent) -> Any:
        raise ValueError(TEXT)


class BrokenContentObserver(AttemptContentObserver):
    on_attempt_request = on_attempt_response = raising(ValueError(TEXT))


class BrokenDiagnostics(FailureDiagnosticObserver):
    on_failure = raising(ValueError(TEXT))


async def fail_late(context: object, text: str) -> Any:
    raise ValueError(text)


WORTH = ModelResponse(content=TEXT, usage=TokenUsage(input_tokens=5, output_tokens=6))
PATHS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "provider-defect": ([ValueError(TEXT)], {}),
    "provider-error": ([ProviderError(TEXT)], {"dlp": Words()}),
    "provider-down": (
        [down()] * 2,
        {"circuit_breaker": CircuitBreakerSettings(failure_threshold=1), "retry": retries(1)},
    ),
    "dlp-fails": ([TEXT], {"dlp": Scripted(raising(ValueError(TEXT)))}),
    "dlp-rejects": ([TEXT], {"dlp": Scripted(raising(DlpInspectionError("no")))}),
    "dlp-gives-nothing": ([TEXT], {"dlp": Scripted(lambda context, text: None)}),
    "dlp-fails-late": ([TEXT], {"dlp": Scripted(fail_late)}),
    "dlp-stream-does-not-open": ([TEXT], {"dlp": BrokenStream("open_stream")}),
    "dlp-stream-does-not-feed": ([TEXT], {"dlp": BrokenStream("feed")}),
    "dlp-stream-does-not-finish": ([TEXT], {"dlp": BrokenStream("finish")}),
    "audit-fails": ([TEXT], {"dlp": Words(), "dlp_redaction_audit": FailingLedger()}),
    "request-hook-fails": ([TEXT], {"interceptors": [OnRequest(raising(ValueError(TEXT)))]}),
    "response-hook-fails": ([TEXT], {"interceptors": [OnResponse(raising(ValueError(TEXT)))]}),
    "over-the-budget": ([WORTH], {"token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=3)}),
    "observers-fail": (
        [ValueError(TEXT)],
        {
            "event_observers": [BrokenObserver()],
            "content_observers": [BrokenContentObserver()],
            "diagnostic_observers": [BrokenDiagnostics()],
        },
    ),
    "interrupted": ([KeyboardInterrupt(TEXT)], {}),
}


@pytest.fixture
def onlooker() -> Iterator[Onlooker]:
    found = Onlooker()
    listener = Listener(found)
    logger = logging.getLogger("tramapy")
    logger.addHandler(listener)
    yield found
    logger.removeHandler(listener)


def rig_of(driver: Driver, onlooker: Onlooker, answers: Any, settings: dict[str, Any]) -> Rig:
    """Build a rig whose last observer looks; those before it may fail."""
    observers = [*settings.get("event_observers", ()), onlooker]
    return driver.rig(answers, **{**settings, "event_observers": observers})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_nobody_hears_of_a_failure_while_it_is_the_current_exception(
    driver: Driver, onlooker: Onlooker, entry: str, path: str
) -> None:
    answers, settings = PATHS[path]
    rig = rig_of(driver, onlooker, answers, settings)
    call: Callable[..., Any] = getattr(rig, entry)
    with contextlib.suppress(TramapyError, KeyboardInterrupt):
        call()
    assert onlooker.heard[0] in ("tramai.operation.started", "tramapy.secondary")
    assert onlooker.heard[-1] == "tramai.operation.completed"
    assert onlooker.found == []


@pytest.mark.parametrize("take", [None, 1], ids=["at-an-error", "left-early"])
def test_a_stream_that_does_not_close_is_reported_outside_its_handler(
    driver: Driver, onlooker: Onlooker, take: int | None
) -> None:
    source = Source(TextChunk(TEXT), ValueError(TEXT), on_close=raising(ValueError(TEXT)))
    rig = rig_of(driver, onlooker, {"p": Opens(lambda: source)}, {})
    with contextlib.suppress(ProviderError):
        rig.stream(take=take)
    assert "tramapy.secondary" in onlooker.heard
    assert onlooker.found == []


def test_a_dropped_stream_is_reported_outside_its_handler(onlooker: Onlooker) -> None:
    source = Source(TextChunk(TEXT), on_close=raising(ValueError(TEXT)))
    tramapy = Tramapy({"p": Opens(lambda: source)}, event_observers=[onlooker], dlp=BrokenStream("never"))
    stream = tramapy.stream(HELLO, model="m")
    next(stream)
    with pytest.warns(ResourceWarning):
        del stream
    assert onlooker.heard.count("tramapy.secondary") == 2
    assert onlooker.found == []


def test_the_onlooker_finds_what_is_there(onlooker: Onlooker) -> None:
    """The control of the tests above."""
    try:
        raise LookupError(TEXT)
    except LookupError:
        onlooker.look("here")
    assert [where for where, _ in onlooker.found] == ["here"]
