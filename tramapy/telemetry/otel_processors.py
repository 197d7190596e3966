"""What a tracer provider does on the caller's thread. Told by names alone: the SDK is no requirement."""

from __future__ import annotations

from collections import deque
from typing import Final, cast

__all__ = ["drops_children", "has_synchronous_export", "queued_span_count"]

_SYNCHRONOUS: Final = "SimpleSpanProcessor"
# tests use it with a synchronous processor, and it waits for nobody
_HARMLESS: Final = "InMemorySpanExporter"
_NEVER: Final = "AlwaysOffSampler"


def has_synchronous_export(provider: object) -> bool:
    """Whether a processor of the SDK's provider is a `SimpleSpanProcessor` that waits for its exporter."""
    return any(map(_is_synchronous, _processors(provider)))


def drops_children(provider: object) -> bool:
    """Whether the sampler of the SDK's provider drops each child of a span that it dropped."""
    describe: object = getattr(getattr(provider, "sampler", None), "get_description", None)
    description: object = describe() if callable(describe) else None
    return isinstance(description, str) and (
        description == _NEVER
        or (
            description.startswith("ParentBased{")
            and description.endswith(f",localParentNotSampled:{_NEVER}}}")
        )
    )


def queued_span_count(provider: object) -> int | None:
    """Return how many spans wait in the batch processors of the SDK's provider; None where none can be seen."""
    queues: list[object] = [
        getattr(getattr(processor, "_batch_processor", None), "_queue", None)
        for processor in _processors(provider)
    ]
    counts = [len(cast("deque[object]", queue)) for queue in queues if isinstance(queue, deque)]
    return sum(counts) if counts else None


def _processors(provider: object) -> tuple[object, ...]:
    processor: object = getattr(provider, "_active_span_processor", None)
    processors: object = getattr(processor, "_span_processors", ())
    return cast("tuple[object, ...]", processors) if isinstance(processors, tuple) else ()


def _is_synchronous(processor: object) -> bool:
    names = {cls.__name__ for cls in type(processor).__mro__}
    exporter: object = getattr(processor, "span_exporter", None)
    return _SYNCHRONOUS in names and type(exporter).__name__ != _HARMLESS
