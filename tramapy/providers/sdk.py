"""A vendor's SDK as the providers use it: which versions, without its retries, with bounded rejections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import Any, Protocol, cast

from tramapy.errors import ConfigurationError
from tramapy.providers.sdk_failures import SdkErrors, refused_call
from tramapy.remedies import sdk_client_name
from tramapy.values import described
from tramapy.wire.base_url import require_base_url
from tramapy.wire.http_library import (
    AsyncHttpClient,
    AsyncHttpResponse,
    HttpClient,
    HttpLibrary,
    HttpResponse,
    abound_rejections,
    bound_rejections,
    library_of,
)

__all__ = ["AsyncSdkEndpoint", "Sdk", "SdkEndpoint", "require_supported_sdk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """What the providers know of an SDK.

    Args:
        title: Its vendor's name.
        extra: The extra of tramapy that installs it.
        version: The installed version.
        oldest: The oldest version that works, as major and minor.
        client: Its client's class.
        async_client: Its async client's class.
        errors: Its error classes.
    """

    title: str
    extra: str
    version: str
    oldest: tuple[int, int]
    client: type[Any]
    async_client: type[Any]
    errors: SdkErrors


class _Answer(Protocol):
    @property
    def http_response(self) -> HttpResponse: ...


class _AsyncAnswer(Protocol):
    @property
    def http_response(self) -> AsyncHttpResponse: ...


class SdkEndpoint:
    """One method of a client's resources, one HTTP request a call, its body unread.

    Args:
        sdk: The client's SDK.
        client: A client of `sdk`, or of a class derived from its; it is left as it is.
        owner: The provider's name, for what is wrong with `client`.
        create: Gives the method, with its streaming response, of a client like `client`.

    Raises:
        ConfigurationError: The SDK is too old, or `client` is something else.
    """

    def __init__(self, sdk: Sdk, client: object, owner: str, create: Callable[[Any], Any]) -> None:
        require_supported_sdk(sdk)
        source = cast("HttpClient", _http_client_of(sdk, client, sdk.client, owner))
        self.library: HttpLibrary = library_of(source)
        self.errors: SdkErrors = sdk.errors
        derived = cast("Any", client).with_options(max_retries=0, http_client=bound_rejections(source))
        self._timeout: object = derived.timeout
        # typed by hand: the SDKs' overloads take no fields from a mapping
        self._create = cast("Callable[..., AbstractContextManager[_Answer]]", create(derived))

    @contextmanager
    def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> Generator[HttpResponse, None, None]:
        """Send a request and give its response; it is closed on every exit.

        Raises:
            ProviderError: The SDK refuses the call, for example because it has no credentials.
        """
        timeout = self._timeout if timeout_s is None else timeout_s
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(self._create(**fields, timeout=timeout))
            except TypeError as error:
                raise refused_call(error) from None
            yield answer.http_response


class AsyncSdkEndpoint:
    """Does what `SdkEndpoint` does, with an async client, on asyncio or trio."""

    def __init__(self, sdk: Sdk, client: object, owner: str, create: Callable[[Any], Any]) -> None:
        require_supported_sdk(sdk)
        source = cast("AsyncHttpClient", _http_client_of(sdk, client, sdk.async_client, owner))
        self.library: HttpLibrary = library_of(source)
        self.errors: SdkErrors = sdk.errors
        derived = cast("Any", client).with_options(max_retries=0, http_client=abound_rejections(source))
        self._timeout: object = derived.timeout
        self._create = cast("Callable[..., AbstractAsyncContextManager[_AsyncAnswer]]", create(derived))

    @asynccontextmanager
    async def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> AsyncGenerator[AsyncHttpResponse, None]:
        """Send a request and give its response; it is closed on every exit."""
        timeout = self._timeout if timeout_s is None else timeout_s
        async with AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(self._create(**fields, timeout=timeout))
            except TypeError as error:
                raise refused_call(error) from None
            yield answer.http_response


def require_supported_sdk(sdk: Sdk) -> None:
    """Check the SDK's version.

    Raises:
        ConfigurationError: It is older than the oldest that works.
    """
    major, _, rest = sdk.version.partition(".")
    minor = rest.partition(".")[0]
    if major.isdecimal() and minor.isdecimal() and (int(major), int(minor)) >= sdk.oldest:
        return
    raise ConfigurationError(
        f"The installed {sdk.title} SDK is {sdk.version}; the provider needs {sdk.oldest[0]}.{sdk.oldest[1]} "
        f"or newer. Upgrade it with: pip install --upgrade 'tramapy[{sdk.extra}]'"
    )


def _http_client_of(sdk: Sdk, client: object, kind: type[Any], owner: str) -> object:
    """Return the HTTP client under an SDK client: the one internal of an SDK that is touched."""
    if not isinstance(client, kind):
        wanted = f"{sdk.extra}.{kind.__name__}"
        raise ConfigurationError(
            f"{owner} takes an {wanted} client; client is {described(client)}: {_remedy(client, kind, owner)}"
        )
    found: object = getattr(client, "_client", None)
    if found is None:
        raise ConfigurationError(
            f"The installed {sdk.title} SDK, {sdk.version}, keeps its HTTP client elsewhere than the "
            "versions that are known. Install one that is, and report this."
        )
    require_base_url(owner, cast("Any", client).base_url)
    return found


def _remedy(client: object, kind: type[Any], owner: str) -> str:
    """Say what to write for what is no client of the kind that a provider takes."""
    name = sdk_client_name(client)
    if name == kind.__name__:
        return f"write {owner}({name}(...))"
    if name is None:
        return f"make one, {owner}({kind.__name__}(...))"
    plain_owner = owner.removeprefix("Async")
    if name.removeprefix("Async") != kind.__name__.removeprefix("Async"):
        plain_owner = "AnthropicMessagesProvider" if name.endswith("Anthropic") else "OpenAIChatProvider"
    return f"use {'Async' if name.startswith('Async') else ''}{plain_owner}"
