"""`provider_call_scope`: around the provider's own steps and nobody else's, and never in their way."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.drivers import HELLO, Driver, Rig, text_of
from tests.engine.doubles import OnRequest, OnResponse, Words, down, retries
from tests.engine.stream_doubles import DONE, Opens, ScopeLog, Source, Steps
from tramapy import EngineEventObserver, ProviderError, RuntimeEvent
from tramapy.testing import ScriptedProvider

CURRENT: contextvars.ContextVar[str] = contextvars.ContextVar("CURRENT", default="outside")


class Span(EngineEventObserver):
    """Makes its name current for the provider, as a tracer does; `log` has the order of what happened."""

    def __init__(self, name: str = "span", log: list[str] | None = None) -> None:
        self._name = name
        self.log: list[str] = [] if log is None else log

    def provider_call_scope(self, event: RuntimeEvent) -> AbstractContextManager[object]:
        assert event.name == "tramai.attempt.started"
        return self._scope()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        token = CURRENT.set(self._name)
        self.log.append(f"enter {self._name}")
        try:
            yield
        finally:
            self.log.append(f"leave {self._name}")
            CURRENT.reset(token)


class Broken(EngineEventObserver):
    """Fails at one place of its scope."""

    def __init__(self, at: str, error: BaseException) -> None:
        self._at = at
        self._error = error

    def provider_call_scope(self, event: RuntimeEvent) -> Broken:
        self._fail("make")
        return self

    def __enter__(self) -> None:
        self._fail("enter")

    def __exit__(self, *_: object) -> None:
        self._fail("exit")

    def _fail(self, place: str) -> None:
        if self._at == place:
            raise self._error


class Swallows(EngineEventObserver):
    """Says of every error that it is handled."""

    def provider_call_scope(self, event: RuntimeEvent) -> Swallows:
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> bool:
        return True


def run(rig: Rig, kind: str) -> Any:
    return rig.complete() if kind == "complete" else rig.stream()


kinds = pytest.mark.parametrize("kind", ["complete", "stream"])


def seen_by(note: Callable[[], None]) -> Callable[[object], str]:
    def answer(_: object) -> str:
        note()
        return "one two"

    return answer


@kinds
def test_what_a_scope_makes_current_is_seen_by_the_provider_alone(driver: Driver, kind: str) -> None:
    seen: dict[str, str] = {}

    def note(who: str) -> Callable[..., Any]:
        def keep(value: Any = None) -> Any:
            seen[who] = CURRENT.get()
            return value

        return keep

    rig = driver.rig(
        [seen_by(note("provider"))],
        event_observers=[Span()],
        interceptors=[OnRequest(note("request")), OnResponse(note("response"))],
        dlp=Words(),
    )
    run(rig, kind)
    assert seen == {"provider": "span", "request": "outside", "response": "outside"}


def test_a_scope_is_entered_around_each_step_of_a_stream(driver: Driver) -> None:
    seen: list[str] = []
    look = lambda: seen.append(CURRENT.get())  # noqa: E731  # the same step three times
    span = Span()
    rig = driver.rig({"p": Steps([look, "one ", look, "two", look, DONE])}, event_observers=[span])
    consumer: list[str] = []

    async def main() -> None:
        async for _ in rig.tramapy.stream(HELLO, model="m"):
            consumer.append(CURRENT.get())

    if driver.is_async:
        driver.run(main)
    else:
        for _ in rig.tramapy.stream(HELLO, model="m"):
            consumer.append(CURRENT.get())
    assert seen == ["span"] * 3
    assert consumer == ["outside"] * 3
    assert span.log == ["enter span", "leave span"] * 4, "once to open, and once for each piece"


def test_a_scope_covers_the_opening_of_a_source(driver: Driver) -> None:
    seen: list[str] = []

    def open_source() -> Source:
        seen.append(CURRENT.get())
        return Source("one", DONE)

    driver.rig({"p": Opens(open_source)}, event_observers=[Span()]).stream()
    assert seen == ["span"]


@kinds
def test_scopes_nest_in_the_order_of_the_observers(driver: Driver, kind: str) -> None:
    log: list[str] = []
    rig = driver.rig(["one"], event_observers=[Span("a", log), Span("b", log)])
    run(rig, kind)
    assert log[:4] == ["enter a", "enter b", "leave b", "leave a"]


@kinds
def test_each_attempt_has_its_own_scope(driver: Driver, kind: str) -> None:
    scopes = ScopeLog()
    rig = driver.rig([down(), "one"], retry=retries(1), event_observers=[scopes])
    run(rig, kind)
    assert scopes.entered_count >= 2
    assert scopes.depth == 0


@kinds
@pytest.mark.parametrize("at", ["make", "enter", "exit"])
def test_a_failing_scope_is_isolated(
    driver: Driver, kind: str, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    span = Span()
    rig = driver.rig(["one"], event_observers=[Broken(at, ValueError("canary-7f3a91c2")), span])
    run(rig, kind)
    assert span.log, "the next observer's scope is entered all the same"
    assert "callback=provider_call_scope error_type=ValueError" in caplog.text
    assert "canary" not in caplog.text
    assert rig.names[-2:] == ["attempt.completed", "operation.completed"]


@kinds
def test_a_scope_cannot_swallow_the_providers_error(driver: Driver, kind: str) -> None:
    rig = driver.rig([ProviderError("no")], event_observers=[Swallows()])
    with pytest.raises(ProviderError, match="no"):
        run(rig, kind)


@kinds
def test_an_observer_may_have_no_scope_to_give(driver: Driver, kind: str) -> None:
    class NoScope(EngineEventObserver):
        def provider_call_scope(self, event: RuntimeEvent) -> None:
            return None

    span = Span()
    run(driver.rig(["one"], event_observers=[NoScope(), span]), kind)
    assert span.log[:2] == ["enter span", "leave span"]


@kinds
@pytest.mark.parametrize("at", ["make", "enter", "exit"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, concurrent.futures.CancelledError])
def test_a_cancellation_in_one_scope_leaves_the_others(
    driver: Driver, kind: str, at: str, error: type[BaseException]
) -> None:
    before, after = ScopeLog(), ScopeLog()
    provider = ScriptedProvider(["one"])
    rig = driver.rig(provider, event_observers=[before, Broken(at, error()), after])
    with pytest.raises(error):
        run(rig, kind)
    assert provider.open_stream_count == 0, "also one that was opened just before"
    assert before.entered_count == 1
    assert before.depth == after.depth == 0
    assert rig.names[-2:] == ["attempt.cancelled", "operation.completed"]


@pytest.mark.parametrize("leave_after", [1, 2])
def test_a_scope_is_left_before_the_consumer_may_leave(driver: Driver, leave_after: int) -> None:
    scopes = ScopeLog()
    rig = driver.rig(["one two three"], event_observers=[scopes])
    assert text_of(rig.stream(take=leave_after)) in ("one ", "one two ")
    assert scopes.depth == 0


class Names(EngineEventObserver):
    """Makes the operation's id current."""

    @contextmanager
    def _scope(self, name: str) -> Iterator[None]:
        token = CURRENT.set(name)
        try:
            yield
        finally:
            CURRENT.reset(token)

    def provider_call_scope(self, event: RuntimeEvent) -> AbstractContextManager[object]:
        return self._scope(str(event.attributes()["correlation_id"]))


@pytest.mark.parametrize("ends", ["at-its-end", "by-an-error", "by-leaving", "by-an-interrupt"])
def test_cancel_29_nothing_is_current_after_the_end(driver: Driver, ends: str) -> None:
    seen: list[str] = []
    last = {"by-an-error": ProviderError("no"), "by-an-interrupt": KeyboardInterrupt()}.get(ends, DONE)
    provider = Steps(["one ", lambda: seen.append(CURRENT.get()), "two", last])
    rig = driver.rig({"p": provider}, event_observers=[Names()])
    after: list[str] = []

    async def main() -> None:
        try:
            async with rig.tramapy.stream(HELLO, model="m", correlation_id="c-1") as stream:
                async for _ in stream:
                    if seen and ends == "by-leaving":
                        break
        finally:
            after.append(CURRENT.get())

    def on_thread() -> None:
        try:
            with rig.tramapy.stream(HELLO, model="m", correlation_id="c-1") as stream:
                for _ in stream:
                    if seen and ends == "by-leaving":
                        break
        finally:
            after.append(CURRENT.get())

    fails = {"by-an-error": ProviderError, "by-an-interrupt": KeyboardInterrupt}.get(ends)
    with contextlib.nullcontext() if fails is None else pytest.raises(fails):
        driver.run(main) if driver.is_async else on_thread()
    assert seen == ["c-1"]
    assert after == ["outside"]


def test_cancel_29_interleaved_streams_do_not_see_each_others(driver: Driver) -> None:
    seen: list[str] = []
    look = lambda: seen.append(CURRENT.get())  # noqa: E731  # the same step four times
    steps = [look, "one ", look, "two", DONE]
    rig = driver.rig({"p": Steps(steps, steps)}, event_observers=[Names()])

    async def main() -> None:
        streams = [rig.tramapy.stream(HELLO, model="m", correlation_id=f"c-{number}") for number in range(2)]
        for _ in range(3):
            for stream in streams:
                await anext(stream)

    if driver.is_async:
        driver.run(main)
    else:
        streams = [rig.tramapy.stream(HELLO, model="m", correlation_id=f"c-{number}") for number in range(2)]
        for _ in range(3):
            for stream in streams:
                next(stream)
    assert seen == ["c-0", "c-1", "c-0", "c-1"]
