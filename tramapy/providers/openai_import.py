"""The OpenAI SDK, or an `ImportError` that says how to get it."""

from __future__ import annotations

try:
    import openai
except ImportError:
    raise ImportError(
        "This provider needs the OpenAI SDK. Install it with: pip install 'tramapy[openai]'"
    ) from None

__all__ = ["openai"]
