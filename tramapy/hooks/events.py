"""`EngineEventObserver`: hear what the engine does, without a word of text; and who may see text."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.errors import ConfigurationError
from tramapy.hooks.diagnostics import FailurePolicy, add_note_once, report_secondary_failure
from tramapy.hooks.event_model import AttributeValue, RuntimeEvent
from tramapy.messages import ModelRequest, ModelResponse
from tramapy.values import class_label, described, misspelled

__all__ = ["AttemptContentObserver", "EngineEventObserver", "ObserverChain"]

T = TypeVar("T")


class EngineEventObserver:
    """Hears every engine event. Plain methods only: they run on the hot path, between the engine's steps.

    What one raises is dropped and reported by type (fail-open), unless the event's own policy is FAIL_CLOSED;
    a cancellation always passes.

    Attributes:
        hears_chunks: Whether `on_stream_chunk` is called; read when a pipeline is made.
    """

    hears_chunks: bool = False

    def on_engine_event(self, name: str, attributes: Mapping[str, AttributeValue]) -> None:
        """Take an event by name; the usual method to write.

        Args:
            name: For example `tramai.circuit.opened`.
            attributes: Read-only; never text of a prompt, response or tool.
        """

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        """Take a typed event; by default it goes to `on_engine_event`."""
        self.on_engine_event(event.name, event.attributes())

    def on_stream_chunk(self, event: RuntimeEvent, gap_s: float) -> None:
        """Take note that the provider gave another piece of a stream; called for each after the first.

        Args:
            event: The attempt's `tramai.attempt.started`.
            gap_s: How long it came after the one before, without the time that the consumer took.
        """

    def provider_call_scope(self, event: RuntimeEvent) -> AbstractContextManager[object] | None:
        """Return a context to be entered around the provider call, for example one that makes a span current.

        It is entered around each step of a stream, and never stays open while the consumer has the turn. It is
        left without the provider's error, whose text was not inspected: `tramai.attempt.failed` tells the outcome.

        Args:
            event: The attempt's `tramai.attempt.started`.
        """
        return None


class AttemptContentObserver:
    """Sees the text of attempts, after DLP. Register it in `content_observers`; no event carries text.

    Plain methods; what one raises is dropped and reported by type.
    """

    def on_attempt_request(self, event: RuntimeEvent, request: ModelRequest) -> None:
        """Take what is about to be sent: after the request interceptors and `request_dlp`.

        Args:
            event: The attempt's `tramai.attempt.started`.
            request: The request as the provider gets it.
        """

    def on_attempt_response(self, event: RuntimeEvent, response: ModelResponse) -> None:
        """Take what is about to be handed on: after DLP and the response interceptors."""


class ObserverChain:
    """Observers in order, each isolated from the operation and from the others.

    Args:
        observers: Anything with `on_engine_event` or `on_runtime_event`.

    Attributes:
        notify: Hands one event to every observer, in order.
        is_heard: Whether anybody listens; otherwise events need not be made.
        has_scopes: Whether any observer gives a provider call scope.
        hears_chunks: Whether any observer takes note of the pieces of streams.

    Raises:
        ConfigurationError: One has neither method, or an `async def` one.
    """

    __slots__ = (
        "_chunk_sinks",
        "_scope_makers",
        "_sinks",
        "has_scopes",
        "hears_chunks",
        "is_heard",
        "notify",
    )

    def __init__(self, observers: Iterable[EngineEventObserver]) -> None:
        listed = tuple(observers)
        self._sinks = tuple(_sink(position, observer) for position, observer in enumerate(listed))
        self._scope_makers = tuple(
            observer.provider_call_scope
            for observer in listed
            if getattr(type(observer), "provider_call_scope", None)
            not in (None, EngineEventObserver.provider_call_scope)
        )
        self._chunk_sinks = tuple(
            observer.on_stream_chunk for position, observer in enumerate(listed) if _hears(position, observer)
        )
        self.hears_chunks: bool = bool(self._chunk_sinks)
        self.is_heard: bool = bool(self._sinks)
        self.notify: Callable[[RuntimeEvent], None] = _notifier(self._sinks)
        self.has_scopes: bool = bool(self._scope_makers)

    def notify_beside(self, event: RuntimeEvent, primary: BaseException) -> None:
        """Hand on an event while `primary` is in flight; a failure becomes a note on it, by type alone."""
        for sink in self._sinks:
            failure: Exception | None = None
            try:
                result = sink(event)
                if result is not None:
                    drop_awaitable(result)
            except Exception as error:  # nothing may replace the error in flight
                failure = error
            if failure is not None:
                report_secondary_failure("engine_event_observer", f"on_engine_event({event.name})", failure)
                note = f"An engine event observer raised {class_label(failure)} on {event.name}."
                add_note_once(primary, note)

    def notify_chunk(self, event: RuntimeEvent, gap_s: float) -> None:
        """Tell of a piece of a stream."""
        for sink in self._chunk_sinks:
            try:
                sink(event, gap_s)
            except Exception as error:  # fail-open; a cancellation is let through below
                failure = error
            else:
                continue
            rethrow_if_cancellation(failure)
            report_secondary_failure("engine_event_observer", "on_stream_chunk", failure)

    async def within_scope(self, event: RuntimeEvent, step: Callable[[], Awaitable[T]]) -> T:
        """Make one provider step inside the observers' contexts; they are left before its error goes on.

        They do not see that error, neither as an argument nor as the current exception: a tracer's span would
        record its text.
        """
        scope = _CallScope(self._scope_makers, event)
        scope.enter()
        try:
            result = await step()
        except BaseException as error:
            failure = error
        else:
            scope.leave()
            return result
        scope.leave()
        raise failure


def _notifier(sinks: tuple[Callable[[RuntimeEvent], object], ...]) -> Callable[[RuntimeEvent], None]:
    told = [_isolated(sink) for sink in sinks]
    if len(told) == 1:
        return told[0]

    def notify(event: RuntimeEvent) -> None:
        for tell in told:
            tell(event)

    return notify


def _isolated(sink: Callable[[RuntimeEvent], object]) -> Callable[[RuntimeEvent], None]:
    def tell(event: RuntimeEvent) -> None:
        try:
            result = sink(event)
            if result is not None:
                drop_awaitable(result)
        except Exception as error:  # fail-open; _contain lets cancellation through
            failure = error
        else:
            return
        _contain(event, failure)

    return tell


class _CallScope:
    """Observers' contexts, entered in order and left in reverse; their failures are isolated."""

    __slots__ = ("_entered", "_event", "_makers")

    def __init__(
        self,
        makers: tuple[Callable[[RuntimeEvent], AbstractContextManager[object] | None], ...],
        event: RuntimeEvent,
    ) -> None:
        self._makers = makers
        self._event = event
        self._entered: list[AbstractContextManager[object]] = []

    def enter(self) -> None:
        try:
            for maker in self._makers:
                failure: Exception | None = None
                try:
                    context = maker(self._event)
                    if context is not None:
                        context.__enter__()
                        self._entered.append(context)
                except Exception as error:  # fail-open
                    failure = error
                if failure is not None:
                    _contain_scope(failure)
        except BaseException:  # a cancellation escapes: what is open is left first
            self.leave()
            raise

    def leave(self) -> None:
        try:
            while self._entered:
                failure: Exception | None = None
                try:
                    self._entered.pop().__exit__(None, None, None)
                except Exception as error:  # fail-open
                    failure = error
                if failure is not None:
                    _contain_scope(failure)
        finally:
            if self._entered:  # a cancellation escapes, and the others are left all the same
                self.leave()


def refuse_async(where: str, hook: object, *names: str) -> None:
    """Raise `ConfigurationError` where one of a hook's methods is `async def` and cannot be."""
    for name in names:
        if inspect.iscoroutinefunction(getattr(hook, name, None)):
            raise ConfigurationError(
                f"{where}: {type(hook).__name__}.{name} is async; make it a plain method"
            )


def drop_awaitable(result: object) -> None:
    """Close a coroutine that a plain method gave back: nobody will await it, and an observer is told so."""
    close = getattr(result, "close", None)
    if inspect.isawaitable(result) and callable(close):
        close()
        raise TypeError("an observer's method returned an awaitable; observers are plain")


def _sink(position: int, observer: EngineEventObserver) -> Callable[[RuntimeEvent], object]:
    where = f"event_observers[{position}]"
    if isinstance(observer, type):
        raise ConfigurationError(f"{where} is the class {observer.__name__}; pass an instance of it")
    refuse_async(where, observer, "on_engine_event", "on_runtime_event", "provider_call_scope")
    # an observer written without our base class may have the untyped form alone
    wrong = misspelled(
        observer, EngineEventObserver, "on_engine_event", "on_runtime_event", "provider_call_scope"
    )
    if wrong is not None:
        raise ConfigurationError(f"{where}: {wrong}")
    typed: object = getattr(observer, "on_runtime_event", None)
    untyped: object = getattr(observer, "on_engine_event", None)
    if callable(typed):
        return typed
    if callable(untyped):
        return lambda event: untyped(event.name, event.attributes())
    raise ConfigurationError(
        f"{where} is {described(observer)}, without on_engine_event; write a class that derives from "
        f"EngineEventObserver, with a method on_engine_event(self, name, attributes)"
    )


def _hears(position: int, observer: EngineEventObserver) -> bool:
    # an observer that was written without our base class may have neither
    if getattr(observer, "hears_chunks", False) is not True:
        return False
    where = f"event_observers[{position}]"
    refuse_async(where, observer, "on_stream_chunk")
    if callable(getattr(observer, "on_stream_chunk", None)):
        return True
    raise ConfigurationError(
        f"{where}: {type(observer).__name__} has no on_stream_chunk; write it, or leave out hears_chunks"
    )


def _contain(event: RuntimeEvent, error: Exception) -> None:
    rethrow_if_cancellation(error)
    if event.definition.failure_policy is FailurePolicy.FAIL_CLOSED:
        raise error
    report_secondary_failure("engine_event_observer", f"on_engine_event({event.name})", error)


def _contain_scope(error: Exception) -> None:
    rethrow_if_cancellation(error)
    report_secondary_failure("engine_event_observer", "provider_call_scope", error)
