"""The Anthropic SDK, or an `ImportError` that says how to get it."""

from __future__ import annotations

try:
    import anthropic
except ImportError:
    raise ImportError(
        "This provider needs the Anthropic SDK. Install it with: pip install 'tramapy[anthropic]'"
    ) from None

__all__ = ["anthropic"]
