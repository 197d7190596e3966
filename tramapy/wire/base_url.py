"""`require_base_url`: a client's address that no call can be sent to is refused where the client is given."""

from __future__ import annotations

from typing import Any, Final

from tramapy.errors import ConfigurationError

__all__ = ["require_base_url"]

_CALLS: Final = ("/chat/completions", "/completions", "/embeddings", "/v1/responses", "/v1/messages")


def require_base_url(owner: str, url: Any) -> None:
    """Check the base URL of a vendor's client; no word of it gets into a message, since it may hold a password.

    Args:
        owner: Who got the client, for the message.
        url: As the client's HTTP library has it.

    Raises:
        ConfigurationError: It names no host, or has a path that the client adds to each call itself.
    """
    if not url.host:
        raise ConfigurationError(
            f"{owner} got a client whose base_url names no host; begin it with https://, or with http:// for a "
            "server of your own"
        )
    path: str = url.path.rstrip("/")
    for call in _CALLS:
        if path.endswith(call):
            added = call.removeprefix("/v1")
            raise ConfigurationError(
                f"{owner} got a client whose base_url ends with {added}, which the client adds itself; leave it out"
            )
    if path.endswith("/v1/v1"):
        raise ConfigurationError(f"{owner} got a client whose base_url ends with /v1 twice; write it once")
