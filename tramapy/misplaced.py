"""What belongs elsewhere than where it was given: hooks, settings and vendors' clients, and what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration
from tramapy.errors import ConfigurationError
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import DlpInterceptor, DlpRedactionAuditEmitter, ToolResultFilteringSettings
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver
from tramapy.hooks.operation import OperationInterceptor
from tramapy.hooks.provider import AsyncProvider, Provider
from tramapy.remedies import instance_of, sdk_client_name, unnamed_message
from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.values import described

__all__ = ["misplaced", "refused_providers", "wrong_provider"]

_EXAMPLES: Final[Mapping[type[object], str]] = {
    RetryPolicySettings: "RetryPolicySettings(provider_retries=2)",
    CircuitBreakerSettings: "CircuitBreakerSettings(failure_threshold=5)",
    TokenBudgetSettings: "TokenBudgetSettings(hard_max_tokens_per_operation=10_000)",
    ToolResultFilteringSettings: "ToolResultFilteringSettings(default_max_aggregate_text_length=50_000)",
}

_PLACES: Final[tuple[tuple[tuple[type[object], ...], str], ...]] = (
    ((DlpInterceptor,), "dlp=... or request_dlp=..."),
    ((OperationInterceptor,), "interceptors=[...]"),
    ((EngineEventObserver,), "event_observers=[...]"),
    ((AttemptContentObserver,), "content_observers=[...]"),
    ((FailureDiagnosticObserver,), "diagnostic_observers=[...]"),
    ((DlpRedactionAuditEmitter,), "dlp_redaction_audit=..."),
    ((Provider, AsyncProvider), "providers={...}"),
)


def misplaced(where: str, given: object, kind: type[object]) -> ConfigurationError:
    """Refuse what is no hook and no settings of a kind, and say what to write."""
    return ConfigurationError(f"{where} is {described(given)}; {_remedy(given, kind)}")


def _remedy(given: object, kind: type[object]) -> str:
    if kind is CircuitBreakerSettings and given is False:
        return "to switch it off, give CircuitBreakerSettings(enabled=False)"
    if kind in _EXAMPLES:
        return f"give {_EXAMPLES[kind]}"
    made = instance_of(given, kind)
    if made is not None:
        return made
    for kinds, place in _PLACES:
        if isinstance(given, kinds):
            return f"give it as {place}"
    if kind is DlpRedactionAuditEmitter:
        return f"give AuditLog(FileAuditStore(path)) of tramapy.telemetry, or derive a class from {kind.__name__}"
    return _for_dlp(given) if kind is DlpInterceptor else f"derive a class from {kind.__name__}"


def _for_dlp(given: object) -> str:
    """Say what to write in place of what is no interceptor: often it is only what one is made of."""
    listed = cast("Sequence[object]", given) if isinstance(given, (list, tuple)) else (given,)
    if isinstance(given, RuleBasedDlpConfiguration):
        return "write RuleBasedDlpInterceptor(...) around it"
    if any(isinstance(each, DlpRule) for each in listed):
        return "write RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[...])), with the rules in it"
    if any(isinstance(each, DlpInterceptor) for each in listed):
        return "it takes one; write CompositeDlpInterceptor([...]) around several"
    own = (
        "a class that derives from DlpInterceptor, with a method inspect(self, context, text) that returns "
        "a DlpResult"
    )
    if any(inspect.isroutine(each) for each in listed):
        return f"write {own}"
    return (
        f"write RuleBasedDlpInterceptor.with_default_rules() for the rules that come with tramapy, or {own}"
    )


def refused_providers(facade: str, providers: object, unnamed: tuple[object, ...]) -> ConfigurationError:
    """Refuse providers that are no mapping, or settings beside them that have no name."""
    if unnamed:
        return ConfigurationError(unnamed_message(f"{facade} takes providers"))
    example = "provider" if sdk_client_name(providers) is None else f"{_provider_for(providers)}(client)"
    return ConfigurationError(
        f"providers is {described(providers)}; give a mapping, for example {{'openai': {example}}}"
    )


def wrong_provider(provider_id: str, provider: object, kind: type[object], facade: str) -> ConfigurationError:
    """Refuse what is no provider of the facade's kind, and say what to write."""
    what = f"providers[{provider_id!r}] is {described(provider)}"
    if sdk_client_name(provider) is not None:
        return ConfigurationError(f"{what}; {_around_client(provider, facade)}")
    if isinstance(provider, Provider | AsyncProvider):
        remedy = f"use {'AsyncTramapy' if facade == 'Tramapy' else 'Tramapy'}"
        if facade == "AsyncTramapy":
            remedy += ", or adapt it with tramapy.providers.ThreadedProvider"
    else:
        own = f"derive it from {kind.__name__}, or take one of tramapy.providers"
        remedy = instance_of(provider, kind) or own
    return ConfigurationError(f"{what}; {facade} takes {kind.__name__}: {remedy}")


def _around_client(client: object, facade: str) -> str:
    """Say what to write for a client of an SDK, which is no provider by itself."""
    name = sdk_client_name(client) or ""
    made = f"{name}(...)" if isinstance(client, type) else "client"
    keep = f"keep the client and use tramapy.wrap({made})"
    if name.startswith("Async") == (facade == "AsyncTramapy"):
        return f"write {_provider_for(client)}({made}) of tramapy.providers, or {keep}"
    other = "Tramapy" if facade == "AsyncTramapy" else "AsyncTramapy"
    return f"use {other} with {_provider_for(client)}({made}) of tramapy.providers, or {keep}"


def _provider_for(client: object) -> str:
    """Return which of `tramapy.providers` goes around a client of an SDK."""
    name = sdk_client_name(client) or ""
    wait = "Async" if name.startswith("Async") else ""
    return f"{wait}{'AnthropicMessagesProvider' if name.endswith('Anthropic') else 'OpenAIChatProvider'}"
