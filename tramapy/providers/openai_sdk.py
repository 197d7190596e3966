"""The OpenAI SDK as the providers use it: which versions, without its retries, with bounded rejections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Final, Protocol, cast

from tramapy.errors import ConfigurationError
from tramapy.providers.openai_import import openai
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

__all__ = ["AsyncChatEndpoint", "ChatEndpoint", "require_supported_sdk"]

_OLDEST_MAJOR: Final = 2


class _Answer(Protocol):
    @property
    def http_response(self) -> HttpResponse: ...


class _AsyncAnswer(Protocol):
    @property
    def http_response(self) -> AsyncHttpResponse: ...


class ChatEndpoint:
    """`chat.completions.create` of one client, one HTTP request a call, its body unread.

    Args:
        client: An `openai.OpenAI`, or a class derived from it; it is left as it is.

    Raises:
        ConfigurationError: The SDK is too old, or `client` is something else.
    """

    def __init__(self, client: openai.OpenAI) -> None:
        require_supported_sdk(openai.__version__)
        if not isinstance(client, openai.OpenAI):
            raise _wrong_client("OpenAIChatProvider", "openai.OpenAI", client)
        source = cast("HttpClient", _http_client_of(client))
        self.library: HttpLibrary = library_of(source)
        derived = client.with_options(max_retries=0, http_client=cast("Any", bound_rejections(source)))
        # typed by hand: the SDK's overloads take no fields from a mapping
        self._create = cast(
            "Callable[..., AbstractContextManager[_Answer]]",
            derived.chat.completions.with_streaming_response.create,
        )

    @contextmanager
    def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> Generator[HttpResponse, None, None]:
        """Send a request and give its response; it is closed on every exit."""
        with self._create(**fields, **_timeout(timeout_s)) as answer:
            yield answer.http_response


class AsyncChatEndpoint:
    """Does what `ChatEndpoint` does, with an `openai.AsyncOpenAI`, on asyncio or trio."""

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        require_supported_sdk(openai.__version__)
        if not isinstance(client, openai.AsyncOpenAI):
            raise _wrong_client("AsyncOpenAIChatProvider", "openai.AsyncOpenAI", client)
        source = cast("AsyncHttpClient", _http_client_of(client))
        self.library: HttpLibrary = library_of(source)
        derived = client.with_options(max_retries=0, http_client=cast("Any", abound_rejections(source)))
        self._create = cast(
            "Callable[..., AbstractAsyncContextManager[_AsyncAnswer]]",
            derived.chat.completions.with_streaming_response.create,
        )

    @asynccontextmanager
    async def open(
        self, fields: Mapping[str, object], timeout_s: float | None
    ) -> AsyncGenerator[AsyncHttpResponse, None]:
        """Send a request and give its response; it is closed on every exit."""
        async with self._create(**fields, **_timeout(timeout_s)) as answer:
            yield answer.http_response


def require_supported_sdk(version: str) -> None:
    """Check the SDK's version.

    Raises:
        ConfigurationError: It is older than 2, which wraps every error and has other internals.
    """
    major = version.partition(".")[0]
    if not major.isdecimal() or int(major) < _OLDEST_MAJOR:
        raise ConfigurationError(
            f"The installed OpenAI SDK is {version}; the provider needs 2.0 or newer. "
            'Upgrade it: pip install --upgrade "tramapy[openai]"'
        )


def _http_client_of(client: object) -> object:
    """Return the HTTP client under an SDK client: the one internal of the SDK that is touched."""
    found: object = getattr(client, "_client", None)
    if found is None:
        raise ConfigurationError(
            f"The installed OpenAI SDK, {openai.__version__}, keeps its HTTP client elsewhere than the "
            "versions that are known. Install one that is, and report this."
        )
    return found


def _wrong_client(provider: str, wanted: str, given: object) -> ConfigurationError:
    return ConfigurationError(f"{provider} takes an {wanted} client, not {type(given).__name__}")


def _timeout(timeout_s: float | None) -> dict[str, float]:
    """Return the SDK's option; without one, the client's own timeout holds."""
    return {} if timeout_s is None else {"timeout": timeout_s}
