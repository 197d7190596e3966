"""Which identifiers name a payload or a secret."""

from __future__ import annotations

import re

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

SENSITIVE = frozenset(
    {
        "prompt", "prompts", "system_prompt", "user_prompt", "request_body", "response_body", "payload",
        "messages",
        "completion", "completion_text", "model_response", "response_text", "model_output",
        "tool_arguments", "tool_args",
        "tool_input", "tool_output", "tool_result", "arguments", "api_key", "apikey", "secret", "secrets",
        "password",
        "passwords", "passwd", "passphrase", "token", "access_token", "refresh_token", "id_token",
        "auth_token",
        "bearer_token", "bearer", "authorization", "cookie", "cookies", "credential", "credentials",
        "private_key",
        "secret_key", "client_secret", "session_token",
    }
)  # fmt: skip
"""Compared with the whole identifier, in lower case, humps and underscores made equal."""

# A qualifier in front leaves these a secret: `db_password`. It does not for `token` (`next_token`,
# `page_token`).
_SUFFIXES = (
    "_password", "_passwd", "_passphrase", "_api_key", "_apikey", "_secret", "_access_token",
    "_refresh_token",
    "_auth_token", "_bearer_token", "_private_key", "_secret_key", "_credentials", "_system_prompt",
    "_user_prompt",
)  # fmt: skip
_HARMLESS_PREFIXES = (
    "max_", "num_", "n_", "total_", "has_", "is_", "remaining_", "no_", "min_", "use_", "conf_", "attr_",
    "key_",
    "service_", "error_", "header_", "field_", "requires_", "need_", "needs_", "invalid_", "missing_",
    "should_", "can_",
)  # fmt: skip
METADATA = frozenset(
    {
        "count", "len", "length", "size", "bytes", "id", "ids", "hash", "digest", "fingerprint", "name",
        "type", "kind",
        "version", "limit", "budget", "ms", "url_host", "status", "status_code", "code", "model", "role",
        "shape",
        "dtype", "expiry", "expires_at", "expires_in", "exp", "state", "level", "index", "key_id",
        "hexdigest",
        "total", "usage", "created", "created_at", "updated_at", "pos", "lineno", "line", "column", "uuid",
        "enabled", "scope", "scopes",
        "__class__", "__name__", "__qualname__", "__module__",
    }
)  # fmt: skip
"""Attributes and keys that say something about a value without showing it."""

HOLDERS: dict[str, frozenset[str]] = {
    "document": frozenset({"content", "page_content", "text"}), "doc": frozenset({"page_content"}),
    "request": frozenset({"body", "headers", "cookies", "data"}), "req": frozenset({"body", "headers"}),
    "response": frozenset({"text", "content", "body"}), "resp": frozenset({"text", "content", "body"}),
    "message": frozenset({"content"}), "msg": frozenset({"content"}),
}  # fmt: skip
"""Attributes that are a payload on these holders only."""


def normal(identifier: str) -> str:
    """Return an identifier in lower case with underscores between its words."""
    return _HUMP.sub("_", identifier).lower().strip("_")


def is_sensitive(identifier: str, added: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> bool:
    """Tell whether an identifier names a payload or a secret."""
    word = normal(identifier)
    if word in removed:
        return False
    if word in SENSITIVE or word in added:
        return True
    return word.endswith(_SUFFIXES) and not word.startswith(_HARMLESS_PREFIXES)


def is_metadata(identifier: str) -> bool:
    """Tell whether an attribute or key says something about a value without showing it."""
    word = normal(identifier) or identifier
    return word in METADATA or identifier in METADATA or word.rpartition("_")[2] in METADATA
