"""The chain of engine event observers: in order, isolated, fail-open but for what must escape."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.doubles import raising
from tramapy import ConfigurationError, EngineEventObserver, RuntimeEvent, RuntimeEventDefinition
from tramapy.hooks.diagnostics import FailurePolicy, report_secondary_failure
from tramapy.hooks.event_model import RuntimeEventDomain
from tramapy.hooks.events import ObserverChain
from tramapy.runtime import run_sync

OPEN = RuntimeEvent.of(RuntimeEventDefinition(name="acme.open", domain=RuntimeEventDomain.ENGINE), {})
CLOSED = RuntimeEvent.of(
    RuntimeEventDefinition(
        name="acme.closed", domain=RuntimeEventDomain.ENGINE, failure_policy=FailurePolicy.FAIL_CLOSED
    ),
    {},
)


class Failing(EngineEventObserver):
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.untyped = 0

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        raise self.error

    def on_engine_event(self, name, attributes) -> None:
        self.untyped += 1


class Untyped:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict]] = []

    def on_engine_event(self, name, attributes) -> None:
        self.heard.append((name, dict(attributes)))


def test_rt115_a_failing_typed_observer_is_contained_and_reported_by_five_identifiers(caplog) -> None:
    observer = Failing(ValueError("canary-text"))
    with caplog.at_level(logging.WARNING, logger="tramapy"):
        ObserverChain([observer]).notify(OPEN)
    assert observer.untyped == 0
    [record] = caplog.records
    assert record.name == "tramapy.secondary"
    assert record.getMessage() == (
        "secondary effect failed extension_point=engine_event_observer callback=on_engine_event(acme.open) "
        "error_type=ValueError failure_policy=FAIL_OPEN authority=NON_AUTHORITATIVE"
    )
    assert record.exc_info is None


def test_rt116_a_fail_closed_event_lets_the_same_error_through() -> None:
    error = ValueError("x")
    with pytest.raises(ValueError, match="x") as caught:
        ObserverChain([Failing(error)]).notify(CLOSED)
    assert caught.value is error


def test_rt117_the_untyped_form_is_contained_too() -> None:
    class Broken(EngineEventObserver):
        def on_engine_event(self, name, attributes) -> None:
            raise KeyError(name)

    after = Untyped()
    ObserverChain([Broken(), after]).notify(OPEN)
    assert after.heard == [("acme.open", {})]


@pytest.mark.parametrize("event", [OPEN, CLOSED], ids=["fail-open", "fail-closed"])
@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), concurrent.futures.CancelledError(), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_rt118_cancellation_escapes_unchanged(event: RuntimeEvent, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        ObserverChain([Failing(error)]).notify(event)
    assert caught.value is error


def test_rt121_an_observer_with_the_untyped_form_alone_hears_typed_events() -> None:
    observer = Untyped()
    ObserverChain([observer]).notify(OPEN)
    assert observer.heard == [("acme.open", {})]


def test_the_typed_default_routes_to_the_untyped_form() -> None:
    class Listening(EngineEventObserver):
        name = ""

        def on_engine_event(self, name, attributes) -> None:
            self.name = name

    observer = Listening()
    ObserverChain([observer]).notify(OPEN)
    assert observer.name == "acme.open"


def test_rt140_a_failure_beside_an_error_in_flight_becomes_a_note_by_type() -> None:
    primary = asyncio.CancelledError()
    ObserverChain([Failing(ValueError("canary-text"))]).notify_beside(OPEN, primary)
    assert primary.__notes__ == ["An engine event observer raised ValueError on acme.open."]


def test_a_plain_method_that_returns_a_coroutine_is_reported_and_the_coroutine_closed(caplog) -> None:
    async def later() -> None: ...

    class Sneaky(EngineEventObserver):
        def on_runtime_event(self, event: RuntimeEvent):
            return later()

    ObserverChain([Sneaky()]).notify(OPEN)
    assert "error_type=TypeError" in caplog.text


def test_a_value_that_an_observer_returns_is_ignored() -> None:
    class Chatty(EngineEventObserver):
        def on_runtime_event(self, event: RuntimeEvent):
            return "thanks"

    ObserverChain([Chatty()]).notify(OPEN)


def test_async_observers_and_strangers_are_refused_by_position() -> None:
    class Async(EngineEventObserver):
        async def on_engine_event(self, name, attributes) -> None: ...

    with pytest.raises(ConfigurationError, match=r"event_observers\[1\]: Async\.on_engine_event is async"):
        ObserverChain([Untyped(), Async()])
    with pytest.raises(ConfigurationError, match=r"\[0\] is of type object, without on_engine_event"):
        ObserverChain([object()])
    with pytest.raises(
        ConfigurationError, match=r"\[0\] is a bare function, .* on_engine_event\(self, name, attr"
    ):
        ObserverChain([print])


def within(chain: ObserverChain, step: Callable[[], object]) -> object:
    """Make a step inside a chain's scopes."""

    async def made() -> object:
        return step()

    return run_sync(chain.within_scope(OPEN, made))


def test_scopes_are_entered_in_order_left_in_reverse_and_cannot_swallow() -> None:
    steps: list[str] = []

    class Scoped(EngineEventObserver):
        def __init__(self, name: str) -> None:
            self.name = name

        @contextlib.contextmanager
        def provider_call_scope(self, event: RuntimeEvent):
            steps.append(f"+{self.name}")
            with contextlib.suppress(LookupError):
                yield
            steps.append(f"-{self.name}")

    chain = ObserverChain([Scoped("a"), Scoped("b"), EngineEventObserver()])
    assert chain.has_scopes
    with pytest.raises(LookupError):
        within(chain, raising(LookupError()))
    assert steps == ["+a", "+b", "-b", "-a"]


def test_a_failing_scope_is_isolated_on_the_way_in_and_out(caplog) -> None:
    class OnExit:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            raise ValueError("canary-text")

    class Scoped(EngineEventObserver):
        def __init__(self, make) -> None:
            self.make = make

        def provider_call_scope(self, event: RuntimeEvent):
            return self.make()

    def broken() -> None:
        raise ValueError("canary-text")

    chain = ObserverChain([Scoped(broken), Scoped(OnExit), Scoped(lambda: None)])
    assert within(chain, lambda: "ran") == "ran"
    assert caplog.text.count("callback=provider_call_scope error_type=ValueError") == 2
    assert "canary-text" not in caplog.text


def test_a_cancellation_out_of_a_scope_escapes() -> None:
    class Scoped(EngineEventObserver):
        def provider_call_scope(self, event: RuntimeEvent):
            raise concurrent.futures.CancelledError

    with pytest.raises(concurrent.futures.CancelledError):
        within(ObserverChain([Scoped()]), raising(AssertionError("the step must not run")))


def test_an_empty_chain_is_not_heard() -> None:
    chain = ObserverChain([])
    assert not chain.is_heard
    assert not chain.has_scopes


def test_a_log_handler_that_raises_does_not_break_the_report() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("disk full")

    logger, handler = logging.getLogger("tramapy.secondary"), Broken()
    logger.addHandler(handler)
    try:
        report_secondary_failure("engine_event_observer", "on_engine_event", ValueError())
    finally:
        logger.removeHandler(handler)


def test_the_same_note_is_not_added_again() -> None:
    """A provider may raise one instance each time."""
    primary = ValueError("primary")
    for _ in range(3):
        ObserverChain([Failing(ValueError()), Failing(KeyError())]).notify_beside(OPEN, primary)
    assert primary.__notes__ == [
        "An engine event observer raised ValueError on acme.open.",
        "An engine event observer raised KeyError on acme.open.",
    ]


class Mute:
    """Written without the base class, and without the method that it asks for."""

    hears_chunks = True

    def on_engine_event(self, name: str, attributes: object) -> None: ...


class Late(EngineEventObserver):
    hears_chunks = True

    async def on_stream_chunk(self, event: RuntimeEvent, gap_s: float) -> None: ...  # type: ignore[override]  # what is refused


@pytest.mark.parametrize(
    ("observer", "message"),
    [
        (Mute(), r"event_observers\[0\]: Mute has no on_stream_chunk; write it"),
        (Late(), r"event_observers\[0\]: Late.on_stream_chunk is async; make it a plain method"),
    ],
)
def test_an_observer_of_pieces_needs_a_plain_method(observer: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ObserverChain([observer])
