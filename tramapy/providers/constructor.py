"""`explains_options`: what a provider does not take is answered with where it belongs: its client, or each call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Final, ParamSpec

from tramapy.errors import ConfigurationError
from tramapy.remedies import unknown_name
from tramapy.settings import CallOptions

__all__ = ["explains_options"]

_P = ParamSpec("_P")

# fmt: off
_OF_CLIENT: Final = frozenset({
    "api_key", "api_version", "auth_token", "azure_endpoint", "base_url", "default_headers", "default_query",
    "http_client", "max_retries", "organization", "project", "timeout",
})
# fmt: on
_OF_CALL: Final = {**{name: name for name in CallOptions.__annotations__}, "max_tokens": "max_output_tokens"}


def explains_options(init: Callable[_P, None]) -> Callable[_P, None]:
    """Make the constructor of a provider refuse other options than its own; its frame then holds no key."""
    parameters = list(inspect.signature(init).parameters)
    known = [name for name in parameters if name not in ("self", "client")]

    @functools.wraps(init)
    def explained(*unnamed: _P.args, **named: _P.kwargs) -> None:
        wrong = _wrong_option(type(unnamed[0]).__name__, list(named), known)
        if wrong is None and not unnamed[1:] and "client" not in named:
            wrong = "client is missing; give a client of the vendor's SDK"
        if wrong is None:
            init(*unnamed, **named)
            return
        del unnamed, named
        raise ConfigurationError(wrong)

    return explained


def _wrong_option(kind: str, given: list[str], known: list[str]) -> str | None:
    for name in given:
        if name in known or name == "client":
            continue
        if name in _OF_CLIENT:
            return f"{kind} takes no {name}; give it to the client, {kind}(Client({name}=...))"
        if name in _OF_CALL:
            own = _OF_CALL[name]
            return f"{kind} takes no {name}; name it in each call, complete(messages, {own}=...)"
        return unknown_name("option", name, known, of=kind)
    return None
