"""Hooks that the engine's tests share: each does one thing and remembers what it saw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tests.drivers import HELLO, Driver, Rig
from tramapy import (
    AttemptContentObserver,
    DlpContentLocation,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    EngineEventObserver,
    FailureDiagnostic,
    FailureDiagnosticObserver,
    Message,
    ModelRequest,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    ProviderError,
    RetryPolicySettings,
)
from tramapy.resilience.breaker import CircuitBreaker
from tramapy.runtime import run_sync

Journal = list[str]


def down(**fields: Any) -> ProviderError:
    """Make a failure that is retried, falls back and counts."""
    return ProviderError("down", retryable=True, **fields)


def retries(count: int, **settings: Any) -> RetryPolicySettings:
    """Allow `count` retries a route, without jitter unless asked for."""
    return RetryPolicySettings(provider_retries=count, **{"jitter_ratio": 0.0, **settings})


def breaker_of(rig: Rig) -> CircuitBreaker:
    """Return the breaker of a facade."""
    return rig.tramapy._pipeline.breaker


class FixedRandom:
    """A random source that always says the same."""

    def __init__(self, sample: float) -> None:
        self.sample = sample

    def random(self) -> float:
        return self.sample

    def getrandbits(self, k: int, /) -> int:
        return 7


class Words(DlpInterceptor):
    """Replaces words, one rule each, with honest evidence.

    `seen` has each inspection as (location, text), `contexts` its context.
    """

    def __init__(
        self, replacements: Mapping[str, str] | None = None, *, journal: Journal | None = None
    ) -> None:
        self._replacements = {"secret": "[S]"} if replacements is None else replacements
        self._journal = journal
        self.seen: list[tuple[DlpContentLocation, str]] = []
        self.contexts: list[DlpContext] = []

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.seen.append((context.content_location, text))
        self.contexts.append(context)
        if self._journal is not None:
            self._journal.append(f"inspect {context.content_location.name}")
        found = []
        for word, replacement in self._replacements.items():
            count = text.count(word)
            if count:
                found.append(DlpRedaction("".join(filter(str.isalnum, word.lower())), count))
                text = text.replace(word, replacement)
        return DlpResult(text, found)

    @property
    def texts(self) -> list[str]:
        """What was inspected, in order."""
        return [text for _, text in self.seen]


class Scripted(DlpInterceptor):
    """Does what a function says; what that raises or returns comes out as it is."""

    def __init__(self, script: Callable[[DlpContext, str], Any]) -> None:
        self._script = script

    def inspect(self, context: DlpContext, text: str) -> Any:
        return self._script(context, text)


class Ledger(DlpRedactionAuditEmitter):
    """Keeps every record."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal
        self.records: list[tuple[DlpContext, tuple[DlpRedaction, ...]]] = []

    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        self.records.append((context, tuple(redactions)))
        if self._journal is not None:
            self._journal.append(f"audit {context.content_location.name}")


class AsyncLedger(Ledger):
    """Does the same, awaited."""

    async def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        Ledger.emit(self, context, redactions)


class FailingLedger(DlpRedactionAuditEmitter):
    """Cannot write."""

    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        raise OSError("the disk is full of secret")


class OnRequest(OperationInterceptor):
    """Passes messages through a function; `contexts` and `inputs` have what it was given."""

    def __init__(self, change: Callable[[Sequence[Message]], Any] = lambda messages: messages) -> None:
        self._change = change
        self.contexts: list[OperationCallContext] = []
        self.inputs: list[Sequence[Message]] = []

    def intercept_request(self, context: OperationCallContext, messages: Sequence[Message]) -> Any:
        self.contexts.append(context)
        self.inputs.append(messages)
        return self._change(messages)


class OnResponse(OperationInterceptor):
    """Passes responses through a function; `inputs` has what it was given."""

    def __init__(self, change: Callable[[ModelResponse], Any] = lambda response: response) -> None:
        self._change = change
        self.contexts: list[OperationCallContext] = []
        self.inputs: list[ModelResponse] = []

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> Any:
        self.contexts.append(context)
        self.inputs.append(response)
        return self._change(response)


class Journalling(EngineEventObserver):
    """Writes each event's name into a journal that other hooks write to, too."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def on_engine_event(self, name: str, attributes: Mapping[str, object]) -> None:
        self._journal.append(name.removeprefix("tramai."))


class Onlooker(AttemptContentObserver):
    """Keeps the content of attempts."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.responses: list[ModelResponse] = []

    def on_attempt_request(self, event: object, request: ModelRequest) -> None:
        self.requests.append(request)

    def on_attempt_response(self, event: object, response: ModelResponse) -> None:
        self.responses.append(response)


class Diagnostics(FailureDiagnosticObserver):
    """Keeps original failures."""

    def __init__(self) -> None:
        self.found: list[FailureDiagnostic] = []

    def on_failure(self, diagnostic: FailureDiagnostic) -> None:
        self.found.append(diagnostic)


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises `error`, whatever it is given."""

    def fail(*_: object) -> Any:
        raise error

    return fail


def answering(
    driver: Driver, script: Callable[[ModelRequest], Awaitable[Any]]
) -> Callable[[ModelRequest], Any]:
    """Return a provider's answer that may make calls of its own with `call_inside`; one script for every world."""
    if driver.is_async:
        return script
    return lambda request: run_sync(script(request))  # type: ignore[arg-type]  # it is always a coroutine


async def call_inside(rig: Rig, messages: Sequence[Message] = HELLO, **options: Any) -> ModelResponse:
    """Complete another operation while one is under way."""
    pending = rig.tramapy.complete(messages, **{"model": "m", **options})
    return await pending if rig.driver.is_async else pending
