"""Does a tracer provider export on the thread that ends a span? Told by names alone: the SDK is no requirement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

__all__ = ["has_synchronous_export"]

_SYNCHRONOUS: Final = "SimpleSpanProcessor"
# tests use it with a synchronous processor, and it waits for nobody
_HARMLESS: Final = "InMemorySpanExporter"


def has_synchronous_export(provider: object) -> bool:
    """Whether a processor of the SDK's provider is a `SimpleSpanProcessor` that waits for its exporter."""
    processor: object = getattr(provider, "_active_span_processor", None)
    processors: object = getattr(processor, "_span_processors", ())
    if not isinstance(processors, tuple):
        return False
    return any(map(_is_synchronous, cast("Iterable[object]", processors)))


def _is_synchronous(processor: object) -> bool:
    names = {cls.__name__ for cls in type(processor).__mro__}
    exporter: object = getattr(processor, "span_exporter", None)
    return _SYNCHRONOUS in names and type(exporter).__name__ != _HARMLESS
