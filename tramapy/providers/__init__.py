"""Adapters from vendors' clients to `Provider` and `AsyncProvider`, and from one of these to the other."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tramapy.providers.openai_chat import AsyncOpenAIChatProvider, OpenAIChatProvider
    from tramapy.providers.threaded import ThreadedProvider

__all__ = ["AsyncOpenAIChatProvider", "OpenAIChatProvider", "ThreadedProvider"]


def __getattr__(name: str) -> object:
    """Import an adapter when it is first asked for, because most need their vendor's SDK."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name = "threaded" if name == "ThreadedProvider" else "openai_chat"
    return getattr(importlib.import_module(f"tramapy.providers.{module_name}"), name)
