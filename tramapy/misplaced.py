"""What belongs elsewhere than where it was given: hooks, settings and vendors' clients, and what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.errors import ConfigurationError
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import DlpInterceptor, DlpRedactionAuditEmitter, ToolResultFilteringSettings
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver
from tramapy.hooks.operation import OperationInterceptor
from tramapy.hooks.provider import AsyncProvider, Provider
from tramapy.remedies import instance_of, sdk_client_name
from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.values import described

__all__ = ["EXAMPLES", "dlp_remedy", "misplaced", "provider_example", "remedy_for", "wrong_provider"]

EXAMPLES: Final[Mapping[type[object], str]] = {
    RetryPolicySettings: "RetryPolicySettings(provider_retries=2)",
    CircuitBreakerSettings: "CircuitBreakerSettings(failure_threshold=5)",
    TokenBudgetSettings: "TokenBudgetSettings(hard_max_tokens_per_operation=10_000)",
    ToolResultFilteringSettings: "ToolResultFilteringSettings(default_max_aggregate_text_length=50_000)",
}
"""What a settings object looks like, by its class."""

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
    """Refuse what is no hook of a kind."""
    remedy = remedy_for(given, kind, f"derive a class from {kind.__name__}")
    return ConfigurationError(f"{where} is {described(given)}; {remedy}")


def remedy_for(given: object, kind: type[object], otherwise: str) -> str:
    """Say what to do with what is no `kind`: make an object of it, or give it in the place that is its own."""
    made = instance_of(given, kind)
    if made is not None:
        return made
    for kinds, place in _PLACES:
        if isinstance(given, kinds):
            return f"give it as {place}"
    return otherwise


def dlp_remedy(given: object) -> str:
    """Say what to write in place of what is no interceptor: often it is only what one is made of."""
    # here and not above: only who gives the wrong thing pays for the import
    from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration

    made = remedy_for(given, DlpInterceptor, "")
    if made:
        return made
    is_function = inspect.isroutine(given)
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
    if is_function:
        return f"write {own}"
    return (
        f"write RuleBasedDlpInterceptor.with_default_rules() for the rules that come with tramapy, or {own}"
    )


def wrong_provider(provider_id: str, provider: object, kind: type[object], facade: str) -> str:
    """Say what to do with what is no provider of the facade's kind."""
    what = f"providers[{provider_id!r}] is {described(provider)}"
    if sdk_client_name(provider) is not None:
        return f"{what}; {_around_client(provider, facade)}"
    if isinstance(provider, Provider | AsyncProvider):
        remedy = f"use {'AsyncTramapy' if facade == 'Tramapy' else 'Tramapy'}"
        if facade == "AsyncTramapy":
            remedy += ", or adapt it with tramapy.providers.ThreadedProvider"
    else:
        remedy = instance_of(provider, kind) or (
            f"derive it from {kind.__name__}, or take one of tramapy.providers"
        )
    return f"{what}; {facade} takes {kind.__name__}: {remedy}"


def _around_client(client: object, facade: str) -> str:
    """Say what to write for a client of an SDK, which is no provider by itself."""
    name = sdk_client_name(client) or ""
    made = f"{name}(...)" if isinstance(client, type) else "client"
    keep = f"keep the client and use tramapy.wrap({made})"
    if name.startswith("Async") == (facade == "AsyncTramapy"):
        return f"write {_provider_for(client)}({made}) of tramapy.providers, or {keep}"
    other = "Tramapy" if facade == "AsyncTramapy" else "AsyncTramapy"
    return f"use {other} with {_provider_for(client)}({made}) of tramapy.providers, or {keep}"


def provider_example(given: object) -> str:
    """Return what to write as a value of `providers`."""
    return "provider" if sdk_client_name(given) is None else f"{_provider_for(given)}(client)"


def _provider_for(client: object) -> str:
    """Return which of `tramapy.providers` goes around a client of an SDK."""
    name = sdk_client_name(client) or ""
    wait = "Async" if name.startswith("Async") else ""
    return f"{wait}{'AnthropicMessagesProvider' if name.endswith('Anthropic') else 'OpenAIChatProvider'}"
