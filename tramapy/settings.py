"""What `Tramapy` and `AsyncTramapy` take, checked and assembled into a `Pipeline`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Required, TypedDict, TypeVar, cast

from tramapy.engine.arguments import checked_name, checked_seconds
from tramapy.engine.pipeline import HookChain, Pipeline, StreamDlp
from tramapy.engine.port import Port
from tramapy.engine.routing import BoundProvider, Routing
from tramapy.errors import ConfigurationError
from tramapy.hooks.clock import Clock, RandomSource
from tramapy.hooks.composite_dlp import CompositeDlpInterceptor
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import (
    ClassificationSource,
    DataClassification,
    DlpContentType,
    DlpInterceptor,
    DlpRedactionAuditEmitter,
    StreamingDlpInterceptor,
    ToolResultFilteringSettings,
)
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver, ObserverChain, refuse_async
from tramapy.hooks.operation import CompositeOperationInterceptor, OperationInterceptor
from tramapy.hooks.provider import Route
from tramapy.messages import ToolDefinition
from tramapy.resilience.breaker import CircuitBreaker, CircuitBreakerSettings
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicy, RetryPolicySettings
from tramapy.values import described, misspelled, uncallable

if TYPE_CHECKING:
    from tramapy.dlp.vault import Vault

__all__ = ["CallOptions", "PipelineSettings", "build_pipeline", "checked_clock", "options_error", "snapshot"]

T = TypeVar("T")

_LISTS = ("restore_for_tools", "interceptors", "event_observers", "content_observers", "diagnostic_observers")


class PipelineSettings(TypedDict, total=False):
    """The settings beside `providers`; each may be left out.

    Args:
        default_provider: The provider of every model that `models` does not name.
        models: Provider id by model.
        fallbacks: Further routes by the requested model, taken in order after retryable failures.
        interceptors: `OperationInterceptor`s, in order.
        request_dlp: Inspects all outgoing text, after the request interceptors. Where it makes placeholders, their
            values are put back into the answer.
        restore_for_tools: Tools in whose arguments the values are put back, too; by default none. The model says
            what these tools are called with, so a text that it reads may: name only those that may have the values.
        dlp: Inspects what models and tools say. It touches no other outgoing text.
        dlp_redaction_audit: Records redactions, before the sanitized text goes on; needs `dlp` or `request_dlp`.
        tool_result_filtering: How long tool results may be, where `dlp` is set.
        event_observers: `EngineEventObserver`s, in order.
        content_observers: `AttemptContentObserver`s, which see text after DLP.
        diagnostic_observers: Privileged `FailureDiagnosticObserver`s, which see original errors.
        retry: How often a route is tried again; by default 3 times.
        circuit_breaker: When a provider is shut off; by default never.
        token_budget: Limits on tokens.
        timeout_s: How long one attempt may take; by default 60. None for no limit.
        deadline_s: How long an operation may take, retries and waits included; of a stream, the time between
            its pieces that is the consumer's own does not count.
        stream_dlp: `auto`, or `buffer` to hold every stream until its response is whole.
        clock: Monotonic time and sleep.
        random: Jitter and generated correlation ids; a seeded `random.Random` repeats a run.
    """

    default_provider: str | None
    models: Mapping[str, str]
    fallbacks: Mapping[str, Sequence[Route]]
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


class CallOptions(TypedDict, total=False):
    """What one call may say beside its messages.

    Args:
        model: The model to ask for; it chooses the routes.
        provider: Go to this provider alone: retried, but no fallback.
        service_interface: Your name of the service, for contexts and events; by default `tramapy`.
        method_name: Your name of the call; by default `complete` or `stream`.
        correlation_id: Your id of the operation; by default generated.
        workflow_run_id: Your id of a longer run.
        data_classification: How sensitive the data is, for DLP.
        classification_source: Who says so.
        tools: The tools that the model may call.
        temperature: Sampling temperature.
        top_p: Nucleus sampling.
        max_output_tokens: Limit of the answer's length.
        instructions: Added to the system prompt, where the provider has a place for it.
        timeout_s: This call's limit per attempt.
        deadline_s: This call's limit as a whole.
    """

    model: Required[str]
    provider: str | None
    service_interface: str
    method_name: str
    correlation_id: str | None
    workflow_run_id: str | None
    data_classification: DataClassification | None
    classification_source: ClassificationSource | None
    tools: Iterable[ToolDefinition] | None
    temperature: float | None
    top_p: float | None
    max_output_tokens: int | None
    instructions: str | None
    timeout_s: float | None
    deadline_s: float | None


def snapshot(settings: PipelineSettings) -> PipelineSettings:
    """Copy what the caller could change or use up later: `derive` starts from what was given now.

    Raises:
        ConfigurationError: What should be a list or a mapping is none.
    """
    copied: dict[str, object] = dict(settings)
    copied |= {name: _listed(settings, name) for name in _LISTS if name in settings}
    if "models" in settings:
        copied["models"] = _mapping(settings, "models")
    if "fallbacks" in settings:
        copied["fallbacks"] = _fallbacks(settings)
    return cast("PipelineSettings", copied)


def checked_clock(clock: Clock) -> Clock:
    """Return a clock that has all three methods, or raise `ConfigurationError`."""
    _require_methods("clock", clock, "now_s", "sleep", "asleep")
    return clock


def options_error(options: Mapping[str, object]) -> ConfigurationError | None:
    """Say which of a call's options is unknown or missing; None where it was something else that failed."""
    known = CallOptions.__annotations__
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        return _unknown("option", unknown[0], known)
    if "model" not in options:
        return ConfigurationError("model is missing; name the model, for example model='gpt-4o'")
    return None


def build_pipeline(
    port: Port, clock: Clock, providers: Mapping[str, BoundProvider], settings: PipelineSettings
) -> Pipeline:
    """Check settings and make the pipeline of them.

    Raises:
        ConfigurationError: A setting is unknown or cannot work; the message names it and the remedy.
    """
    unknown = sorted(set(settings) - set(PipelineSettings.__annotations__))
    if unknown:
        raise _unknown("setting", unknown[0], PipelineSettings.__annotations__)
    random = _random_source(settings)
    return Pipeline(
        port=port,
        routing=_routing(providers, settings),
        hooks=HookChain.of(_interceptors(port, settings)),
        dlp=_dlp(port, settings, "dlp"),
        request_dlp=_dlp(port, settings, "request_dlp"),
        audit=_audit(port, settings),
        tool_results=_value(
            settings, "tool_result_filtering", ToolResultFilteringSettings, ToolResultFilteringSettings()
        ),
        observers=ObserverChain(_event_observers(settings)),
        content_observers=_plain_observers(
            settings, "content_observers", AttemptContentObserver, "on_attempt_request", "on_attempt_response"
        ),
        diagnostics=_plain_observers(
            settings, "diagnostic_observers", FailureDiagnosticObserver, "on_failure"
        ),
        retry=RetryPolicy(
            _value(settings, "retry", RetryPolicySettings, RetryPolicySettings()),
            (_system_random() if random is None else random).random,
        ),
        breaker=_breaker(clock, settings),
        token_budget=_optional(settings, "token_budget", TokenBudgetSettings),
        timeout_s=_seconds(settings, "timeout_s", 60.0),
        deadline_s=_seconds(settings, "deadline_s", None),
        stream_dlp=_stream_dlp(settings),
        new_id=_new_id(random),
        new_vault=_new_vault(settings, random),
        restore_for_tools=_restore_for_tools(settings),
    )


def _system_random() -> RandomSource:
    from random import SystemRandom  # for who gives no source of their own

    return SystemRandom()


def _random_source(settings: PipelineSettings) -> RandomSource | None:
    random = settings.get("random")
    if random is not None:
        _require_methods("random", random, "random", "getrandbits")
    return random


def _new_id(random: RandomSource | None) -> Callable[[], str]:
    if random is None:
        return lambda: os.urandom(16).hex()

    def draw() -> str:
        bits: object = random.getrandbits(128)
        if not isinstance(bits, int) or bits < 0:
            raise ConfigurationError(
                "random.getrandbits returned no whole number from 0; pass one like random.Random()"
            )
        return f"{bits:032x}"

    return draw


def _routing(providers: Mapping[str, BoundProvider], settings: PipelineSettings) -> Routing:
    return Routing(
        providers,
        default_provider=settings.get("default_provider"),
        models=_mapping(settings, "models"),
        fallbacks=_fallbacks(settings),
    )


def _fallbacks(settings: PipelineSettings) -> Mapping[str, Sequence[Route]]:
    fallbacks: dict[str, Sequence[Route]] = {}
    for model, routes in cast("Mapping[str, object]", _mapping(settings, "fallbacks")).items():
        if (
            isinstance(routes, str | bytes)
            or not isinstance(routes, Sequence)
            or not all(isinstance(route, Route) for route in cast("Sequence[object]", routes))
        ):
            raise ConfigurationError(
                f"fallbacks[{model!r}] takes a sequence of Route, for example [Route('backup', 'model-b')]"
            )
        fallbacks[model] = tuple(
            route
            if route.model is None
            else Route(route.provider_id, checked_name(f"fallbacks[{model!r}][{index}].model", route.model))
            for index, route in enumerate(cast("Sequence[Route]", routes))
        )
    return fallbacks


def _interceptors(port: Port, settings: PipelineSettings) -> tuple[OperationInterceptor, ...]:
    listed: tuple[OperationInterceptor, ...] = _listed(settings, "interceptors")
    for position, interceptor in enumerate(listed):
        where = f"interceptors[{position}]"
        if not isinstance(interceptor, OperationInterceptor):
            raise _misplaced(where, interceptor, OperationInterceptor)
        for hook in _unfolded(interceptor):
            _refuse_unless_async(port, where, hook, *_INTERCEPTED)
            wrong = (
                misspelled(hook, OperationInterceptor, *_INTERCEPTED)
                or uncallable(hook, "intercept_request", "context", "messages")
                or uncallable(hook, "intercept_response", "context", "response")
            )
            if wrong is not None:
                raise ConfigurationError(f"{where}: {wrong}")
    return listed


_INTERCEPTED = ("intercept_request", "intercept_response")


def _unfolded(hook: object) -> Iterable[object]:
    """Yield a hook and, where it is a composite, everything inside."""
    yield hook
    if isinstance(hook, CompositeOperationInterceptor | CompositeDlpInterceptor):
        for child in hook.interceptors:
            yield from _unfolded(child)


def _dlp(port: Port, settings: PipelineSettings, name: str) -> DlpInterceptor | None:
    dlp = settings.get(name)
    if dlp is None:
        return None
    if not isinstance(dlp, DlpInterceptor):
        raise _misplaced(name, dlp, DlpInterceptor)
    for hook in _unfolded(dlp):
        _refuse_unless_async(port, name, hook, "inspect")
        refuse_async(name, hook, "open_stream", "inspect_parts")
        wrong = (
            uncallable(hook, "inspect", "context", "text")
            or uncallable(hook, "inspect_parts", "context", "parts")
            or _unusable_stream(hook)
        )
        if wrong is not None:
            raise ConfigurationError(f"{name}: {wrong}")
        _refuse_idle(name, hook)
    if name == "dlp" and dlp.uses_placeholders:
        raise ConfigurationError(
            "dlp makes placeholders, which are for outgoing text; give it as request_dlp, or choose another action"
        )
    return dlp


def _unusable_stream(hook: object) -> str | None:
    """Say what to write where `open_stream` of a DLP interceptor cannot be called, or never is."""
    if isinstance(hook, StreamingDlpInterceptor):
        return uncallable(hook, "open_stream", "context")
    if hasattr(hook, "open_stream"):
        kind = type(hook).__name__
        return f"{kind}.open_stream is never called; derive {kind} from StreamingDlpInterceptor"
    return None


def _refuse_idle(name: str, hook: object) -> None:
    """Refuse rules of which none looks at any text of the setting: nobody would notice."""
    wanted = _INSPECTED_BY[name]
    enabled_for = getattr(hook, "enabled_for", None)
    if isinstance(enabled_for, frozenset) and enabled_for and not enabled_for & wanted:
        types = " or ".join(sorted(content_type.name for content_type in wanted))
        raise ConfigurationError(
            f"{name} has no rule that is enabled for {types}; write enabled_for=DlpContentType on the rules"
        )


_INSPECTED_BY = {
    "dlp": frozenset({DlpContentType.MODEL_OUTPUT, DlpContentType.TOOL_RESULT}),
    "request_dlp": frozenset({DlpContentType.MODEL_INPUT}),
}


def _new_vault(settings: PipelineSettings, random: RandomSource | None) -> Callable[[], Vault] | None:
    """Return what makes an operation's vault, where there is a use for one."""
    request_dlp = settings.get("request_dlp")
    if request_dlp is None or not request_dlp.uses_placeholders:
        return None
    # here and not above: only who uses placeholders pays for the import
    from tramapy.dlp.vault import Vault

    return functools.partial(Vault, random=random)


def _restore_for_tools(settings: PipelineSettings) -> frozenset[str]:
    names: tuple[str, ...] = _listed(settings, "restore_for_tools")
    tools = frozenset(checked_name(f"restore_for_tools[{place}]", name) for place, name in enumerate(names))
    request_dlp = settings.get("request_dlp")
    if tools and (request_dlp is None or not request_dlp.uses_placeholders):
        raise ConfigurationError(
            "restore_for_tools has nothing to restore; set a request_dlp that makes placeholders, or leave it out"
        )
    return tools


def _audit(port: Port, settings: PipelineSettings) -> DlpRedactionAuditEmitter | None:
    emitter = settings.get("dlp_redaction_audit")
    if emitter is not None:
        if not isinstance(emitter, DlpRedactionAuditEmitter):
            raise _misplaced("dlp_redaction_audit", emitter, DlpRedactionAuditEmitter)
        _refuse_unless_async(port, "dlp_redaction_audit", emitter, "emit")
        if port.can_await and emitter.may_block:
            raise ConfigurationError(
                f"dlp_redaction_audit: {type(emitter).__name__} waits for its store and would stop the event loop; "
                f"write AsyncAuditLog(...) around it"
            )
        if settings.get("dlp") is None and settings.get("request_dlp") is None:
            raise ConfigurationError(
                "dlp_redaction_audit has nothing to record; set dlp or request_dlp, or leave it out"
            )
    return emitter


def _event_observers(settings: PipelineSettings) -> tuple[EngineEventObserver, ...]:
    """Return the observers, which need not derive from our class; what has another place is told so."""
    listed: tuple[EngineEventObserver, ...] = _listed(settings, "event_observers")
    for position, observer in enumerate(listed):
        is_deaf = not any(hasattr(observer, name) for name in ("on_engine_event", "on_runtime_event"))
        if is_deaf and isinstance(observer, _OTHER_HOOKS):
            raise _misplaced(f"event_observers[{position}]", observer, EngineEventObserver)
    return listed


_OTHER_HOOKS = (
    OperationInterceptor,
    DlpInterceptor,
    AttemptContentObserver,
    FailureDiagnosticObserver,
    DlpRedactionAuditEmitter,
)


def _plain_observers(settings: PipelineSettings, name: str, kind: type[T], *methods: str) -> tuple[T, ...]:
    listed: tuple[T, ...] = _listed(settings, name)
    for position, observer in enumerate(listed):
        where = f"{name}[{position}]"
        if not isinstance(observer, kind):
            raise _misplaced(where, observer, kind)
        refuse_async(where, observer, *methods)
    return listed


def _breaker(clock: Clock, settings: PipelineSettings) -> CircuitBreaker:
    given = _optional(settings, "circuit_breaker", CircuitBreakerSettings)
    return CircuitBreaker(CircuitBreakerSettings(enabled=False) if given is None else given, clock.now_s)


def _stream_dlp(settings: PipelineSettings) -> StreamDlp:
    way = settings.get("stream_dlp", "auto")
    if not isinstance(cast("object", way), str) or way not in ("auto", "buffer"):
        raise ConfigurationError("stream_dlp takes 'auto' or 'buffer'")
    return way


def _seconds(settings: PipelineSettings, name: str, default: float | None) -> float | None:
    value = cast("float | None", settings.get(name, default))
    return None if value is None else checked_seconds(name, value)


def _refuse_unless_async(port: Port, where: str, hook: object, *methods: str) -> None:
    if port.can_await:
        return
    try:
        refuse_async(where, hook, *methods)
    except ConfigurationError as error:
        message = f"{error}, or use AsyncTramapy, or an async client under wrap"
    else:
        return
    raise ConfigurationError(message)


def _value(settings: PipelineSettings, name: str, kind: type[T], default: T) -> T:
    given = _optional(settings, name, kind)
    return default if given is None else given


def _optional(settings: PipelineSettings, name: str, kind: type[T]) -> T | None:
    value = settings.get(name)
    if value is not None and not isinstance(value, kind):
        raise _misplaced(name, value, kind)
    return value


def _listed(settings: PipelineSettings, name: str) -> tuple[Any, ...]:
    value = settings.get(name, ())
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ConfigurationError(f"{name} is {described(value)}; give a list, {name}=[...]")
    return tuple(cast("Iterable[object]", value))


def _mapping(settings: PipelineSettings, name: str) -> Mapping[str, Any]:
    value = settings.get(name, {})
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{name} is {described(value)}; give a mapping")
    return {
        checked_name(f"a key of {name}", key): item
        for key, item in cast("Mapping[str, object]", value).items()
    }


def _require_methods(name: str, value: object, *methods: str) -> None:
    if isinstance(value, type):
        raise ConfigurationError(f"{name} is {described(value)}; write {value.__name__}(...)")
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        raise ConfigurationError(
            f"{name} is {described(value)}, without {' and '.join(missing)}; give one with "
            f"{', '.join(methods)}, or leave it out"
        )


def _misplaced(where: str, given: object, kind: type[object]) -> ConfigurationError:
    # here and not above, as below: only who gives the wrong thing pays for the import
    from tramapy.misplaced import misplaced

    return misplaced(where, given, kind)


def _unknown(kind: str, name: object, known: Iterable[str]) -> ConfigurationError:
    from tramapy.remedies import unknown_name

    return ConfigurationError(unknown_name(kind, name, known))
