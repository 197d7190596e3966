"""From settings to what governs: the pipeline of a wrapped client or transport, and the exchanges under it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict, cast

from tramapy.bounded import DEFAULT_LIMIT_BYTES
from tramapy.client import AsyncTramapy, Tramapy, pipeline_of
from tramapy.clients.fallback import Fallback
from tramapy.engine.arguments import checked_name
from tramapy.engine.pipeline import Pipeline, StreamDlp
from tramapy.engine.routing import BoundProvider, Routing
from tramapy.errors import ConfigurationError
from tramapy.hooks.clock import Clock, RandomSource
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import DlpInterceptor, DlpRedactionAuditEmitter, ToolResultFilteringSettings
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver
from tramapy.hooks.operation import OperationInterceptor
from tramapy.hooks.provider import Route
from tramapy.remedies import unknown_name
from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.runtime import AsyncPort, SyncPort, SystemClock
from tramapy.settings import PipelineSettings, build_pipeline, checked_clock, snapshot
from tramapy.values import described, shown

__all__ = ["Assembly", "WrapSettings"]

_OWN: Final = ("tramapy", "fallbacks", "provider_id", "limit_bytes", "allow", "strict")

_NOT_HERE: Final = frozenset({"models", "default_provider"})


class WrapSettings(TypedDict, total=False):
    """The settings of a wrapped client; each may be left out.

    Args:
        tramapy: A `Tramapy`, or for async clients an `AsyncTramapy`, whose pipeline and breaker are used; then the
            settings that make a pipeline are its own.
        fallbacks: Further clients by the requested model, taken in order after retryable failures.
        provider_id: What the client is called in events, and for the circuit breaker; by default its vendor.
        limit_bytes: How long an answer may be, decompressed; by default 16 MiB.
        allow: What passes without being governed: calls by name, such as `files.create`, and hosts.
        strict: Whether what cannot be inspected is refused; by default it passes, and an event says so.
        interceptors: As for `Tramapy`, like all that follows.
        request_dlp: Inspects all outgoing text.
        restore_for_tools: Tools in whose arguments placeholders become values again.
        dlp: Inspects what models and tools say.
        dlp_redaction_audit: Records redactions.
        tool_result_filtering: How long tool results may be.
        event_observers: See what happens.
        content_observers: See text after DLP.
        diagnostic_observers: See original errors.
        retry: How often a route is tried again; by default the client's own `max_retries`.
        circuit_breaker: When a provider is shut off.
        token_budget: Limits on tokens.
        timeout_s: How long one attempt may take; by default the client's own timeouts hold alone.
        deadline_s: How long a call may take, retries and waits included.
        stream_dlp: `auto`, or `buffer` to hold every stream until it is whole.
        clock: Monotonic time and sleep.
        random: Jitter and generated correlation ids.
    """

    tramapy: Tramapy | AsyncTramapy
    fallbacks: Mapping[str, Sequence[Fallback]]
    provider_id: str | None
    limit_bytes: int
    allow: Iterable[str]
    strict: bool
    interceptors: Iterable[OperationInterceptor]
    request_dlp: DlpInterceptor | None
    restore_for_tools: Iterable[str]
    dlp: DlpInterceptor | None
    dlp_redaction_audit: DlpRedactionAuditEmitter | None
    tool_result_filtering: ToolResultFilteringSettings
    event_observers: Iterable[EngineEventObserver]
    content_observers: Iterable[AttemptContentObserver]
    diagnostic_observers: Iterable[FailureDiagnosticObserver]
    retry: RetryPolicySettings
    circuit_breaker: CircuitBreakerSettings | None
    token_budget: TokenBudgetSettings | None
    timeout_s: float | None
    deadline_s: float | None
    stream_dlp: StreamDlp
    clock: Clock | None
    random: RandomSource | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Assembly:
    """Settings, checked as far as that can be done without a client.

    Args:
        given: All that was given, copied.
        facade: The facade to share, where there is one.
        fallbacks: Routes by model.
        provider_id: The given id.
        limit_bytes: The limit of an answer.
        allow: Names of calls, and hosts.
        is_strict: Whether what cannot be inspected is refused.
        pipeline_settings: Those that make a pipeline.
        is_async: Whether it is for event loops.
    """

    given: Mapping[str, object]
    facade: Tramapy | AsyncTramapy | None
    fallbacks: Mapping[str, tuple[Fallback, ...]]
    provider_id: str | None
    limit_bytes: int
    allow: frozenset[str]
    is_strict: bool
    pipeline_settings: PipelineSettings
    is_async: bool

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, is_async: bool) -> Assembly:
        """Check settings.

        Raises:
            ConfigurationError: One is unknown, or cannot work.
        """
        _check_names(settings)
        facade = _facade(settings.get("tramapy"), is_async=is_async)
        own = {name: settings[name] for name in settings if name not in _OWN}
        if facade is not None and own:
            raise ConfigurationError(
                f"{sorted(own)[0]} stands beside tramapy, which has a pipeline already; "
                f"use tramapy.derive({sorted(own)[0]}=...)"
            )
        copied = snapshot(cast("PipelineSettings", own))
        fallbacks = _fallbacks(settings.get("fallbacks", {}))
        allow = _allow(settings.get("allow", ()))
        checked: dict[str, object] = {**copied, "fallbacks": fallbacks, "allow": allow}
        provider_id = settings.get("provider_id")
        return cls(
            given={name: checked.get(name, value) for name, value in settings.items()},
            facade=facade,
            fallbacks=fallbacks,
            provider_id=None if provider_id is None else checked_name("provider_id", provider_id),
            limit_bytes=_limit_bytes(settings.get("limit_bytes", DEFAULT_LIMIT_BYTES)),
            allow=allow,
            is_strict=_flag("strict", settings.get("strict", False)),
            pipeline_settings=cast("PipelineSettings", {"timeout_s": None, **copied}),
            is_async=is_async,
        )

    def now_s(self) -> Callable[[], float]:
        """Return the clock that attempts run on."""
        if self.facade is not None:
            return pipeline_of(self.facade).port.now_s
        clock = self.pipeline_settings.get("clock")
        return time.monotonic if clock is None else checked_clock(clock).now_s

    def pipeline(
        self,
        bound: Mapping[str, BoundProvider],
        primary_id: str,
        routes: Mapping[str, Sequence[Route]],
        *,
        max_retries: int,
    ) -> Pipeline:
        """Build the pipeline.

        Args:
            bound: The exchanges, by provider id.
            primary_id: The id of the client's own.
            routes: Further routes by model.
            max_retries: How often a route is tried again where no setting says.
        """
        if self.facade is not None:
            routing = Routing(bound, default_provider=primary_id, models={}, fallbacks=routes)
            pipeline = dataclasses.replace(pipeline_of(self.facade), routing=routing)
        else:
            given = self.pipeline_settings.get("clock")
            clock = SystemClock() if given is None else checked_clock(given)
            settings = cast(
                "PipelineSettings",
                {**self.pipeline_settings, "default_provider": primary_id, "fallbacks": routes},
            )
            port = AsyncPort(clock) if self.is_async else SyncPort(clock)
            pipeline = build_pipeline(port, clock, bound, settings)
        return dataclasses.replace(pipeline, retry=pipeline.retry.with_default(max_retries))


def _check_names(settings: Mapping[str, object]) -> None:
    known = WrapSettings.__annotations__
    for name in sorted(settings):
        if name in _NOT_HERE:
            raise ConfigurationError(
                f"{name} has no place in a wrapped client, which is the provider of every model; "
                "use fallbacks={'model': [Fallback(client)]}"
            )
        if name not in known:
            raise ConfigurationError(unknown_name("setting", name, known))


def _facade(given: object, *, is_async: bool) -> Tramapy | AsyncTramapy | None:
    if given is None:
        return None
    wanted: type[Tramapy] | type[AsyncTramapy] = AsyncTramapy if is_async else Tramapy
    if not isinstance(given, wanted):
        raise ConfigurationError(
            f"tramapy is {described(given)}; {'an async' if is_async else 'a sync'} client takes "
            f"{'an AsyncTramapy' if is_async else 'a Tramapy'}"
        )
    return given


def _fallbacks(given: object) -> Mapping[str, tuple[Fallback, ...]]:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"fallbacks is {described(given)}; give a mapping of lists of Fallback")
    checked: dict[str, tuple[Fallback, ...]] = {}
    for model, routes in cast("Mapping[str, object]", given).items():
        name = checked_name("a key of fallbacks", model)
        if not isinstance(routes, Sequence) or not all(
            isinstance(route, Fallback) for route in cast("Sequence[object]", routes)
        ):
            raise ConfigurationError(
                f"fallbacks[{name!r}] takes a sequence of Fallback, for example [Fallback(other_client)]"
            )
        checked[name] = tuple(cast("Sequence[Fallback]", routes))
    return checked


def _allow(given: object) -> frozenset[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(f"allow is {described(given)}; give a set of names of calls")
    names = [checked_name("allow", cast("str", name)) for name in cast("Iterable[object]", given)]
    # the vendors' beta calls have the same paths
    return frozenset((*names, *(name.removeprefix("beta.") for name in names)))


def _limit_bytes(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise ConfigurationError(f"limit_bytes is {described(given)}; give an int")
    if given < 1:
        raise ConfigurationError(f"limit_bytes is {shown(given)}; it must be at least 1")
    return given


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise ConfigurationError(f"{name} is {described(given)}; give True or False")
    return given
