"""`GovernedTransport`: the same seam for any library that is built on httpx or httpx2, below its client."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Never, Self, Unpack

from tramapy.clients.assembly import Assembly, WrapSettings
from tramapy.clients.exchange_async import AsyncExchange, AsyncSourceSender
from tramapy.clients.exchange_sync import Exchange, SourceSender
from tramapy.clients.governed import GovernorSettings
from tramapy.clients.governed_async import AsyncGovernor
from tramapy.clients.governed_sync import Governor
from tramapy.clients.http_messages import HttpRequest, HttpResponse
from tramapy.clients.sdk import vendor_errors
from tramapy.clients.vendors import surfaces_of
from tramapy.errors import ConfigurationError
from tramapy.remedies import refuse_unnamed, sdk_client_name
from tramapy.values import described
from tramapy.wire.http_library import HttpLibrary, library_of

__all__ = ["AsyncGovernedTransport", "GovernedTransport"]


class GovernedTransport:
    """A transport around another: `httpx.Client(transport=GovernedTransport(httpx.HTTPTransport()))`.

    Every request of the client is taken for one of the vendor's API, whatever its host. A library above that
    retries by itself does so on top; a redirect is a request of its own.

    Args:
        inner: The transport that sends; closed with this one.
        *unnamed: Refused: settings have names.
        vendor: Whose wire formats are spoken: `openai` or `anthropic`.
        **settings: See `WrapSettings`; fallbacks have no place here.

    Raises:
        ConfigurationError: A setting cannot work.
    """

    def __init__(
        self, inner: Any, *unnamed: Never, vendor: str = "openai", **settings: Unpack[WrapSettings]
    ) -> None:
        refuse_unnamed("a governed transport takes the inner one", unnamed)
        send = _sending(inner, "handle_request")
        library = library_of(inner)
        assembly = _assembly(settings, is_async=False)
        sender = SourceSender(library, send)
        exchange = Exchange(
            sender,
            library,
            limit_bytes=assembly.limit_bytes,
            now_s=assembly.now_s(),
            now_epoch_s=time.time,
        )
        self._inner = inner
        self._governor = Governor(_governing(library, assembly, vendor, type(self).__name__, exchange))

    def handle_request(self, request: HttpRequest) -> HttpResponse:
        """Run a request; what is raised is of the vendor's error class, too, where its SDK is imported."""
        return self._governor.send(request)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._inner.__exit__(error_type, error, traceback)


class AsyncGovernedTransport:
    """Does what `GovernedTransport` does, for async clients, on asyncio and trio."""

    def __init__(
        self, inner: Any, *unnamed: Never, vendor: str = "openai", **settings: Unpack[WrapSettings]
    ) -> None:
        refuse_unnamed("a governed transport takes the inner one", unnamed)
        send = _sending(inner, "handle_async_request")
        library = library_of(inner)
        assembly = _assembly(settings, is_async=True)
        sender = AsyncSourceSender(library, send)
        exchange = AsyncExchange(
            sender,
            library,
            limit_bytes=assembly.limit_bytes,
            now_s=assembly.now_s(),
            now_epoch_s=time.time,
        )
        self._inner = inner
        self._governor = AsyncGovernor(_governing(library, assembly, vendor, type(self).__name__, exchange))

    async def handle_async_request(self, request: HttpRequest) -> HttpResponse:
        """Do what `GovernedTransport.handle_request` does."""
        return await self._governor.send(request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._inner.__aexit__(error_type, error, traceback)


def _sending(inner: Any, name: str) -> Any:
    """Return the method that sends, of a transport and of nothing else."""
    handle = getattr(inner, name, None)
    if handle is None or isinstance(inner, type):
        raise ConfigurationError(f"inner is {described(inner)}; {_remedy(inner, name)}")
    return handle


def _remedy(inner: object, name: str) -> str:
    is_async = name == "handle_async_request"
    if sdk_client_name(inner) is not None:
        return "for a client of an SDK use tramapy.wrap(client)"
    if isinstance(inner, type):
        return f"write {inner.__name__}(...)"
    if hasattr(inner, "handle_request" if is_async else "handle_async_request"):
        return f"it has no {name}: use {'GovernedTransport' if is_async else 'AsyncGovernedTransport'}"
    kind, client = ("AsyncHTTPTransport", "AsyncClient") if is_async else ("HTTPTransport", "Client")
    governed = "AsyncGovernedTransport" if is_async else "GovernedTransport"
    return f"give a transport, for example httpx.{client}(transport={governed}(httpx.{kind}()))"


def _assembly(settings: WrapSettings, *, is_async: bool) -> Assembly:
    assembly = Assembly.of(settings, is_async=is_async)
    if assembly.fallbacks:
        raise ConfigurationError("fallbacks has no place in a transport, which knows no clients; use wrap")
    return assembly


def _governing(
    library: HttpLibrary, assembly: Assembly, vendor: str, name: str, exchange: Exchange | AsyncExchange
) -> GovernorSettings:
    surfaces = surfaces_of(vendor)
    primary_id = assembly.provider_id or vendor
    return GovernorSettings(
        pipeline=assembly.pipeline({primary_id: exchange.bound(primary_id)}, primary_id, {}, max_retries=0),
        library=library,
        surfaces=surfaces,
        errors=vendor_errors(vendor),
        service_interface=name,
        base_url=None,
        allow=assembly.allow,
        is_strict=assembly.is_strict,
    )
