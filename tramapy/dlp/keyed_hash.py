"""`KeyedHash`: what `DlpAction.HASH` writes for a text, the same for the same text and key."""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["KeyedHash"]

_LENGTH = 16


class KeyedHash:
    """Hashes texts.

    Args:
        key: The key of the HMAC.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __call__(self, text: str) -> str:
        """Return the head of the hash of a text in hexadecimal digits."""
        digest = hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return digest.hexdigest()[:_LENGTH]
