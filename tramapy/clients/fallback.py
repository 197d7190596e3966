"""`Fallback`: another client of the same vendor's, that is asked where the wrapped one fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tramapy.clients.http_call import HttpCall
from tramapy.clients.http_messages import HttpResponse, Original
from tramapy.clients.sdk import SdkClient
from tramapy.errors import ConfigurationError
from tramapy.keywords import explains_names

__all__ = ["AsyncFallbackSender", "Fallback", "FallbackSender"]


@explains_names
@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """A further route of a wrapped client.

    Args:
        client: A client of the same SDK, for threads or for event loops like the wrapped one; it keeps its own key,
            URL, timeouts and headers.
        model: The model's name there; by default the requested one.
        provider_id: What it is called in events, and for the circuit breaker; by default the vendor and the host.
    """

    client: Any
    model: str | None = None
    provider_id: str | None = None

    def __repr__(self) -> str:
        return f"Fallback({type(self.client).__name__}, {self.model!r}, {self.provider_id!r})"


class FallbackSender:
    """Sends a call of another client's as one of this client's.

    Args:
        sdk: The client.
    """

    def __init__(self, sdk: SdkClient) -> None:
        self._sdk = sdk
        self._build = sdk.request_builder()

    def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        """Send it."""
        request, options = self._build(call, _required(body))
        if timeout_s is not None:
            request = Original.of(request).again(self._sdk.library, timeout_s=timeout_s)
        return self._sdk.source.send(request, stream=True, **options)


class AsyncFallbackSender:
    """The async form of `FallbackSender`."""

    def __init__(self, sdk: SdkClient) -> None:
        self._sdk = sdk
        self._build = sdk.arequest_builder()

    async def __call__(
        self, call: HttpCall, body: Mapping[str, object] | None, timeout_s: float | None
    ) -> HttpResponse:
        """Send it."""
        request, options = await self._build(call, _required(body))
        if timeout_s is not None:
            request = Original.of(request).again(self._sdk.library, timeout_s=timeout_s)
        return await self._sdk.source.send(request, stream=True, **options)


def _required(body: Mapping[str, object] | None) -> Mapping[str, object]:
    if body is None:
        raise ConfigurationError("A call whose body cannot be read has no fallback")
    return body
