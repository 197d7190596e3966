"""The vendors' clients as `wrap` uses them: the only file that touches what is internal to an SDK."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NoReturn, cast

from tramapy.client import AsyncTramapy, Tramapy
from tramapy.clients.client_errors import VendorErrors, made_theirs
from tramapy.clients.http_call import HttpCall
from tramapy.clients.http_messages import HttpRequest, Original
from tramapy.clients.remembered import remembered
from tramapy.errors import ConfigurationError, TramapyError
from tramapy.hooks.provider import AsyncProvider, Provider
from tramapy.remedies import sdk_client_name
from tramapy.runtime import detached
from tramapy.values import described
from tramapy.wire.base_url import require_base_url
from tramapy.wire.http_library import HttpLibrary, library_of

__all__ = ["SdkClient", "sdk_client", "unwrapped", "vendor_errors"]

# what of the original request's headers goes with it to another provider: nothing that could hold a key
_FORWARDED_HEADERS: Final = frozenset({"anthropic-beta", "openai-beta", "idempotency-key"})

# and of its query: there, too, clients have keys
_FORWARDED_PARAMS: Final = frozenset({"beta"})

_OLDEST_MAJORS: Final = {"openai": 2, "anthropic": 0}

# since these the SDKs let errors of their own base class through as they are
_PASSING: Final = {"openai": (2, 31), "anthropic": (0, 98)}

# resources with websockets, and what they may lie under
_SOCKET_OWNERS: Final = ("beta", "realtime", "responses", "live", "translations", "sideband", "forks")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SdkClient:
    """A vendor's client, checked.

    Args:
        vendor: `openai` or `anthropic`.
        client: The client.
        source: The HTTP client under it.
        library: The library that this is of.
        is_async: Whether it is for event loops.
        errors: The vendor's error classes.
        lets_ours_through: Whether the SDK raises an error as it is that is its own, too; else it makes another of it.
    """

    vendor: str
    client: Any
    source: Any
    library: HttpLibrary
    is_async: bool
    errors: VendorErrors
    lets_ours_through: bool

    @property
    def base_url(self) -> Any:
        """Where it sends to."""
        return self.client.base_url

    @property
    def max_retries(self) -> int:
        """How often it would try again by itself."""
        return cast("int", self.client.max_retries)

    @property
    def name(self) -> str:
        """What it is called in events."""
        return type(self.client).__name__

    @property
    def default_id(self) -> str:
        """What its provider is called where no name is given."""
        return "azure" if "Azure" in self.name else self.vendor

    def derived(self, http_client: object, allow: frozenset[str]) -> Any:
        """Return a client like this one that sends through another HTTP client, without retries of its own.

        Copies of it (`with_options`) stay governed; a websocket is refused, since it would pass by.

        Args:
            http_client: What to send through.
            allow: The websockets that are wanted all the same, by name, such as `realtime.connect`.
        """
        kind = _kind_of(self.client)
        derived = _copied(self.client, http_client)
        if self.vendor == "openai":
            derived.__class__ = _guarded_client(kind, allow, self.errors.base)
        # the other SDK's class stays: it asks for the very class where credentials are inherited
        _guard_copies(derived, self.errors, is_disguising=not self.lets_ours_through)
        return derived

    def request_builder(
        self,
    ) -> Callable[[HttpCall, Mapping[str, object]], tuple[HttpRequest, dict[str, object]]]:
        """Return what makes a request of this client out of a call of another one's, with this one's key and URL."""
        client = self._capturing()

        def build(call: HttpCall, body: Mapping[str, object]) -> tuple[HttpRequest, dict[str, object]]:
            try:
                client.post(call.surface.path, cast_to=object, body=body, options=_forwarded(call.original))
            except _CapturedRequest as error:
                return error.request, error.options
            raise _unknown_internals(self)

        return build

    def arequest_builder(self) -> Callable[..., Any]:
        """Do what `request_builder` does, with an async client."""
        client = self._capturing()

        async def build(call: HttpCall, body: Mapping[str, object]) -> tuple[HttpRequest, dict[str, object]]:
            try:
                await client.post(
                    call.surface.path, cast_to=object, body=body, options=_forwarded(call.original)
                )
            except _CapturedRequest as error:
                return error.request, error.options
            raise _unknown_internals(self)

        return build

    def _capturing(self) -> Any:
        return _copied(self.client, _capturing_client(self))


def sdk_client(client: object, where: str = "wrap") -> SdkClient:
    """Check a client and return what is known of it.

    Args:
        client: Of the vendor's SDK.
        where: Who asks, for messages.

    Raises:
        ConfigurationError: It is none, it signs bodies, or its SDK is of a version that does not work.
    """
    if inspect.ismodule(client) or isinstance(client, type):
        raise _no_instance(client, where)
    for vendor, title in (("openai", "OpenAI"), ("anthropic", "Anthropic")):
        module: Any = sys.modules.get(vendor)
        if module is None or not isinstance(
            client, (getattr(module, title), getattr(module, f"Async{title}"))
        ):
            continue
        _refuse_signing(client, where)
        _require_version(vendor, module)
        require_base_url(where, cast("Any", client).base_url)
        return _checked(vendor, module, client, is_async=isinstance(client, getattr(module, f"Async{title}")))
    _refuse_signing(client, where)
    raise ConfigurationError(f"{where} {_TAKES}; what it got is {described(client)}: {_remedy(client)}")


_TAKES: Final = "takes a client of the OpenAI or the Anthropic SDK, sync or async"


def _no_instance(given: object, where: str) -> ConfigurationError:
    """Refuse a class or a module: it is often the client's, which is not made yet."""
    module: str = getattr(given, "__name__", "")
    title = {"openai": "OpenAI", "anthropic": "Anthropic"}.get(module)
    if inspect.ismodule(given) and title is not None:
        remedy = f"make a client of it, for example {module}.{title}()"
    elif sdk_client_name(given) is not None:
        remedy = f"make a client of it, for example {module}()"
    else:
        remedy = "make one, for example OpenAI()"
    return ConfigurationError(f"{where} {_TAKES}, and got {described(given)}; {remedy}")


def _remedy(given: object) -> str:
    """Say what to do with an object that is no client."""
    if isinstance(given, Tramapy | AsyncTramapy):
        return "give it beside the client, wrap(client, tramapy=...)"
    if isinstance(given, Provider | AsyncProvider):
        return "give the client itself, or use Tramapy({'openai': provider})"
    owner = getattr(given, "__self__", given)
    if type(owner).__module__.startswith(("openai.", "anthropic.")):
        return "give the client that it belongs to"
    if any(hasattr(given, name) for name in ("send", "handle_request", "handle_async_request")):
        return "for other libraries that are built on httpx use GovernedTransport"
    return "make one, for example OpenAI()"


def unwrapped(client: Any, source: object, max_retries: int) -> Any:
    """Return a copy of a derived client that sends through its source again."""
    kind = _unguarded(_kind_of(client))
    copied = _copied(client, source, max_retries)
    copied.__class__ = kind
    return copied


def _copied(client: Any, http_client: object, max_retries: int = 0) -> Any:
    """Return a copy of a client that sends through another HTTP client.

    Raises:
        ConfigurationError: It is of a class of the caller's, whose copies cannot be made.
    """
    kind = _unguarded(_kind_of(client))
    copied: Any = None
    with contextlib.suppress(TypeError):
        copied = kind.copy(client, http_client=http_client, max_retries=max_retries)
    if copied is None:
        raise ConfigurationError(
            f"{kind.__name__} cannot be copied, which its with_options does, too: its __init__ must take what that of "
            "the SDK's own client takes"
        )
    # the one option that the SDKs' own copies lose
    copied._strict_response_validation = getattr(client, "_strict_response_validation", False)
    return copied


def vendor_errors(vendor: str) -> VendorErrors | None:
    """Return a vendor's error classes; None where its SDK is not imported."""
    module = sys.modules.get(vendor)
    return None if module is None else _errors_of(vendor, module)


class _CapturedRequest(Exception):  # noqa: N818 # it is no error
    """What an SDK wanted to send."""

    request: HttpRequest
    options: dict[str, object]


def _capturing_client(sdk: SdkClient) -> object:
    """Return an HTTP client that sends nothing, and hands what it should send to who asked for it."""
    library, source = sdk.library, sdk.source
    captured_class = _captured_class(sdk.errors.base)

    def send(request: HttpRequest, *, stream: bool, **options: object) -> object:
        del stream
        captured = captured_class("a request was captured")
        captured.request, captured.options = request, options
        raise captured

    async def asend(request: HttpRequest, *, stream: bool, **options: object) -> object:
        return send(request, stream=stream, **options)

    base = library.AsyncClient if sdk.is_async else library.Client
    transport = library.AsyncBaseTransport if sdk.is_async else library.BaseTransport
    methods = {
        "build_request": staticmethod(source.build_request),
        "send": staticmethod(asend if sdk.is_async else send),
    }
    return type("CapturingHttpClient", (base,), methods)(
        transport=transport(), timeout=source.timeout, trust_env=False
    )


@remembered
def _captured_class(base: type[Exception]) -> type[_CapturedRequest]:
    # the vendor's own base class, too: its SDK lets that through as it is
    return type("CapturedRequest", (_CapturedRequest, base), {})


def _forwarded(original: Original) -> dict[str, object]:
    params = {name: value for name, value in original.url.params.items() if name in _FORWARDED_PARAMS}
    headers: dict[str, str] = {}
    for raw_name, value in original.headers:
        name = raw_name.decode("latin-1").lower()
        if name in _FORWARDED_HEADERS:
            headers[name] = value.decode("latin-1")
    return {"params": params, "headers": headers}


def _checked(vendor: str, module: Any, client: Any, *, is_async: bool) -> SdkClient:
    source: object = getattr(client, "_client", None)
    if source is None:
        raise ConfigurationError(
            f"The installed {vendor} SDK, {module.__version__}, keeps its HTTP client elsewhere than the versions "
            "that are known. Install one that is, and report this."
        )
    return SdkClient(
        vendor=vendor,
        client=client,
        source=source,
        library=library_of(source),
        is_async=is_async,
        errors=_errors_of(vendor, module),
        lets_ours_through=_version_of(module) >= _PASSING[vendor],
    )


def _errors_of(vendor: str, module: Any) -> VendorErrors:
    base = module.OpenAIError if vendor == "openai" else module.AnthropicError
    return VendorErrors(base=base, connection=module.APIConnectionError, timeout=module.APITimeoutError)


def _version_of(module: ModuleType) -> tuple[int, ...]:
    version: str = module.__version__
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


def _require_version(vendor: str, module: ModuleType) -> None:
    if _version_of(module) < (_OLDEST_MAJORS[vendor],):
        raise ConfigurationError(
            f"The installed {vendor} SDK is {module.__version__}; wrap needs {_OLDEST_MAJORS[vendor]}.0 or "
            f"newer: older ones make others of all errors. Upgrade it with: pip install --upgrade 'tramapy[{vendor}]'"
        )


def _refuse_signing(client: object, where: str) -> None:
    """Refuse a client whose requests are signed, or made for another API, after their body is known."""
    is_signing = getattr(client, "_provider", None) is not None or any(
        kind.__module__.startswith(("anthropic.lib.", "openai.lib.bedrock")) for kind in type(client).__mro__
    )
    if is_signing:
        raise ConfigurationError(
            f"{where} cannot govern {type(client).__name__}: it signs or rewrites what it sends for a cloud of its "
            "own. Use the vendor's plain client, or a provider with Tramapy"
        )


def _unknown_internals(sdk: SdkClient) -> ConfigurationError:
    return ConfigurationError(
        f"The {sdk.vendor} SDK sent a fallback's request elsewhere than the versions that are known. Install one "
        "that is, and report this."
    )


def _kind_of(value: object) -> Any:
    return type(value)


def _unguarded(kind: type[object]) -> Any:
    return kind.__dict__.get("_tramapy_unguarded", kind)


@remembered
def _guarded_client(kind: type[Any], allow: frozenset[str], error: type[Exception]) -> type[Any]:
    """Return a client's class whose websockets are refused."""
    return _guarded_class(kind, "", allow, error)


def _guarded_class(kind: type[Any], path: str, allow: frozenset[str], error: type[Exception]) -> type[Any]:
    namespace: dict[str, object] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "_tramapy_unguarded": kind,
    }
    for name in _SOCKET_OWNERS:
        found = getattr(kind, name, None)
        if isinstance(found, (property, functools.cached_property)):
            namespace[name] = _guarded_resource(kind, name, allow, f"{path}{name}.", error)
    if hasattr(kind, "connect") and f"{path}connect" not in allow:
        namespace["connect"] = _refusing(f"{path}connect", error)
    return type(kind.__name__, (kind,), namespace)


def _guarded_resource(
    kind: type[Any], name: str, allow: frozenset[str], path: str, error: type[Exception]
) -> property:
    def get(owner: Any) -> Any:
        resource: Any = inspect.getattr_static(kind, name).__get__(owner, kind)
        own_kind = _kind_of(resource)
        resource.__class__ = _guarded_resource_class(own_kind, path, allow, error)
        return resource

    return property(get)


@remembered
def _guarded_resource_class(
    kind: type[Any], path: str, allow: frozenset[str], error: type[Exception]
) -> type[Any]:
    return kind if "_tramapy_unguarded" in kind.__dict__ else _guarded_class(kind, path, allow, error)


def _refusing(name: str, error: type[Exception]) -> Callable[..., NoReturn]:
    def connect(*_args: object, **_options: object) -> NoReturn:
        raise _refusal(
            f"{name} opens a websocket, which passes by wrap: nothing of it would be governed. "
            f'Use the client that is not wrapped, or wrap with allow={{"{name}"}}',
            error,
        )

    return connect


def _refusal(message: str, error: type[Exception]) -> TramapyError:
    """Return the error for a call of a wrapped client that is refused: of ours, and the vendor's base class."""
    return made_theirs(ConfigurationError(message), error)


def _guard_copies(client: Any, errors: VendorErrors, *, is_disguising: bool) -> None:
    """Let copies of a client be governed like it.

    Args:
        client: The client.
        errors: The vendor's error classes.
        is_disguising: Whether its SDK makes a connection error of each error of ours.
    """
    kind = _unguarded(_kind_of(client))

    # a client and its resources are a circle anyway
    def copy(**changes: Any) -> Any:
        _check_http_client(client, changes, errors.base)
        copied: Any = kind.copy(client, **changes)
        _guard_copies(copied, errors, is_disguising=is_disguising)
        return copied

    client.copy = client.with_options = copy
    if is_disguising:
        client.request = _undisguising(functools.partial(kind.request, client), errors.connection)


def _undisguising(request: Callable[..., Any], disguise: type[Exception]) -> Callable[..., Any]:
    """Return an older SDK's method `request`, which raises our errors as they are."""

    def ask(*arguments: Any, **options: Any) -> Any:
        try:
            return request(*arguments, **options)
        except disguise as error:
            ours = _ours_in(error)
        raise ours

    async def aask(*arguments: Any, **options: Any) -> Any:
        try:
            return await request(*arguments, **options)
        except disguise as error:
            ours = _ours_in(error)
        raise ours

    return aask if inspect.iscoroutinefunction(request) else ask


def _ours_in(error: Exception) -> Exception:
    """Return the error of ours that an SDK has put another before."""
    cause = error.__cause__
    if not isinstance(cause, TramapyError):
        return error
    return cast("Exception", detached(cause))


def _check_http_client(client: Any, changes: Mapping[str, object], error: type[Exception]) -> None:
    given = changes.get("http_client")
    if given is not None and given is not client._client:
        raise _refusal(
            "A wrapped client keeps its HTTP client: another one would not be governed. Make a client with that "
            "http_client, and wrap it",
            error,
        )
