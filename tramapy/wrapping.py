"""`wrap`: the client that you have, with every call of it governed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Never, TypeVar, Unpack, cast

from tramapy.bounded import DEFAULT_LIMIT_BYTES
from tramapy.clients.assembly import Assembly, WrapSettings
from tramapy.clients.exchange_async import AsyncExchange, AsyncSourceSender
from tramapy.clients.exchange_sync import Exchange, SourceSender
from tramapy.clients.fallback import AsyncFallbackSender, FallbackSender
from tramapy.clients.governed import GovernorSettings
from tramapy.clients.governed_async import AsyncGovernor, agoverned_client
from tramapy.clients.governed_sync import Governor, governed_client
from tramapy.clients.sdk import SdkClient, sdk_client, unwrapped
from tramapy.clients.vendors import surfaces_of
from tramapy.engine.pipeline import Pipeline
from tramapy.engine.routing import BoundProvider
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import ToolResultFilteringSettings
from tramapy.hooks.provider import Route
from tramapy.remedies import refuse_unnamed

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI

__all__ = ["WrapSettings", "wrap"]

C = TypeVar("C", bound="OpenAI | AsyncOpenAI | Anthropic | AsyncAnthropic")

_WRAPPED = "tramapy_wrapped"

# what a fallback must not lose, and what is as good as none: it runs in the pipeline of the client whose fallback it is
_GUARDS: Final[Mapping[str, object]] = {
    "request_dlp": None,
    "dlp": None,
    "dlp_redaction_audit": None,
    "interceptors": (),
    "tramapy": None,
    "strict": False,
    "stream_dlp": "auto",
    "tool_result_filtering": ToolResultFilteringSettings(),
    "limit_bytes": DEFAULT_LIMIT_BYTES,
    "token_budget": None,
}


def wrap(client: C, *unnamed: Never, **settings: Unpack[WrapSettings]) -> C:
    """Return a client of the same type, every call of which is governed; the given one stays as it is.

    It uses the same connections, key, headers and timeouts. Retries are tramapy's alone. A client that is wrapped
    already takes further settings over those that it has; with none, it is returned itself.

    Example::

        client = wrap(OpenAI(), dlp=RuleBasedDlpInterceptor.with_default_rules())

    Args:
        client: An OpenAI or Anthropic client, sync or async, Azure included.
        *unnamed: Refused: settings have names.
        **settings: All may be left out: `dlp` (what comes back), `request_dlp` (what goes out), `interceptors`,
            `event_observers`, `fallbacks`, `retry`, `circuit_breaker`, `timeout_s` and more; `help(WrapSettings)` has
            them all.

    Raises:
        ConfigurationError: The client cannot be governed, or a setting cannot work.
    """
    refuse_unnamed("wrap takes the client", unnamed)
    record = _record_of(client)
    if record is None:
        plain: Any = client
        sdk = sdk_client(plain)
        return cast("C", _build(sdk, Assembly.of(settings, is_async=sdk.is_async), sdk.max_retries))
    given = Assembly.of({**record.assembly.given, **settings}, is_async=record.assembly.is_async)
    if given.given == record.assembly.given:
        return client
    plain = unwrapped(client, record.source, record.max_retries)
    keeps_breaker = not {"circuit_breaker", "clock", "tramapy"} & settings.keys()
    made = _build(
        sdk_client(plain), given, record.max_retries, breaker_of=record.pipeline if keeps_breaker else None
    )
    return cast("C", made)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Wrapped:
    """How a client was wrapped: what stands on its HTTP client."""

    assembly: Assembly
    source: Any
    max_retries: int
    pipeline: Pipeline


def _record_of(client: object) -> _Wrapped | None:
    record: object = getattr(getattr(client, "_client", None), _WRAPPED, None)
    return record if isinstance(record, _Wrapped) else None


def _build(sdk: SdkClient, assembly: Assembly, max_retries: int, breaker_of: Pipeline | None = None) -> Any:
    if assembly.allow:
        # here and not above: few allow anything
        from tramapy.clients.call_names import require_call_names

        require_call_names(sdk.client, assembly.allow)
    primary_id = assembly.provider_id or sdk.default_id
    bound: dict[str, BoundProvider] = {
        primary_id: _exchange(sdk, assembly, is_fallback=False).bound(primary_id)
    }
    routes = _routes(sdk, assembly, bound)
    pipeline = assembly.pipeline(bound, primary_id, routes, max_retries=max_retries)
    if breaker_of is not None:
        pipeline = dataclasses.replace(pipeline, breaker=breaker_of.breaker)
    governing = GovernorSettings(
        pipeline=pipeline,
        library=sdk.library,
        surfaces=surfaces_of(sdk.vendor),
        errors=sdk.errors,
        service_interface=sdk.name,
        base_url=sdk.base_url,
        allow=assembly.allow,
        is_strict=assembly.is_strict,
    )
    if sdk.is_async:
        http_client = agoverned_client(sdk.source, sdk.library, AsyncGovernor(governing))
    else:
        http_client = governed_client(sdk.source, sdk.library, Governor(governing))
    record = _Wrapped(assembly=assembly, source=sdk.source, max_retries=max_retries, pipeline=pipeline)
    setattr(http_client, _WRAPPED, record)
    return sdk.derived(http_client, assembly.allow)


def _exchange(sdk: SdkClient, assembly: Assembly, *, is_fallback: bool) -> Exchange | AsyncExchange:
    library, now_s = sdk.library, assembly.now_s()
    if sdk.is_async:
        asend = AsyncFallbackSender(sdk) if is_fallback else AsyncSourceSender(library, sdk.source.send)
        return AsyncExchange(
            asend, library, limit_bytes=assembly.limit_bytes, now_s=now_s, now_epoch_s=time.time
        )
    send = FallbackSender(sdk) if is_fallback else SourceSender(library, sdk.source.send)
    return Exchange(send, library, limit_bytes=assembly.limit_bytes, now_s=now_s, now_epoch_s=time.time)


def _routes(sdk: SdkClient, assembly: Assembly, bound: dict[str, BoundProvider]) -> Mapping[str, list[Route]]:
    """Bind the clients of the fallbacks, each once, and return the routes to them."""
    ids: dict[int, str] = {}
    routes: dict[str, list[Route]] = {}
    for model, fallbacks in assembly.fallbacks.items():
        routes[model] = []
        for place, fallback in enumerate(fallbacks):
            where = f"fallbacks[{model!r}][{place}]"
            client = fallback.client
            provider_id = ids.get(id(client)) if fallback.provider_id is None else fallback.provider_id
            if provider_id is None or ids.get(id(client)) != provider_id:
                record = _record_of(client)
                if record is not None:
                    _check_guards(where, record.assembly, assembly)
                    client = unwrapped(client, record.source, record.max_retries)
                other = sdk_client(client, where)
                _check_alike(sdk, other, where)
                provider_id = _free_id(provider_id, other, bound, where)
                ids[id(fallback.client)] = provider_id
                bound[provider_id] = _exchange(other, assembly, is_fallback=True).bound(provider_id)
            routes[model].append(Route(provider_id, fallback.model))
    return routes


def _check_alike(sdk: SdkClient, other: SdkClient, where: str) -> None:
    if other.vendor != sdk.vendor or other.is_async != sdk.is_async:
        raise ConfigurationError(
            f"{where} is of type {other.name}; a fallback of {sdk.name} is of the same SDK, and "
            f"{'async' if sdk.is_async else 'sync'}, too. For other vendors use Tramapy with providers"
        )


def _check_guards(where: str, own: Assembly, outer: Assembly) -> None:
    """Refuse a wrapped client with guards of its own, which would not be asked: its text would go out without them."""
    for name, default in _GUARDS.items():
        guard = own.given.get(name, default)
        if guard not in (default, outer.given.get(name, default)):
            raise ConfigurationError(
                f"{where} is a wrapped client with its own {name}, which would not be used here; give the client "
                f"that it was made of, and {name}=... to the wrap that has the fallbacks"
            )


def _free_id(given: str | None, other: SdkClient, bound: Mapping[str, BoundProvider], where: str) -> str:
    if given is not None:
        if given in bound:
            raise ConfigurationError(f"{where} has the provider_id {given!r}, which another client has")
        return given
    base = f"{other.vendor}@{other.base_url.host}"
    free, number = base, 1
    while free in bound:
        number += 1
        free = f"{base}#{number}"
    return free
