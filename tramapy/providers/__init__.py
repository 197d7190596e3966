"""Adapters from vendors' clients to `Provider` and `AsyncProvider`, and from one of these to the other."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tramapy.providers.anthropic_messages import (
        AnthropicMessagesProvider,
        AsyncAnthropicMessagesProvider,
    )
    from tramapy.providers.openai_chat import AsyncOpenAIChatProvider, OpenAIChatProvider
    from tramapy.providers.openai_responses import AsyncOpenAIResponsesProvider, OpenAIResponsesProvider
    from tramapy.providers.threaded import ThreadedProvider

__all__ = [
    "AnthropicMessagesProvider",
    "AsyncAnthropicMessagesProvider",
    "AsyncOpenAIChatProvider",
    "AsyncOpenAIResponsesProvider",
    "OpenAIChatProvider",
    "OpenAIResponsesProvider",
    "ThreadedProvider",
]

_MODULES = {
    "AnthropicMessagesProvider": "anthropic_messages",
    "AsyncAnthropicMessagesProvider": "anthropic_messages",
    "AsyncOpenAIChatProvider": "openai_chat",
    "AsyncOpenAIResponsesProvider": "openai_responses",
    "OpenAIChatProvider": "openai_chat",
    "OpenAIResponsesProvider": "openai_responses",
    "ThreadedProvider": "threaded",
}


def __getattr__(name: str) -> object:
    """Import an adapter when it is first asked for, because most need their vendor's SDK."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"tramapy.providers.{_MODULES[name]}"), name)
