"""Text as OpenTelemetry takes it: not long, and in characters that every exporter can write."""

from __future__ import annotations

__all__ = ["exportable"]


def exportable(text: str, max_length: int) -> str:
    """Return text cut to a length, with `?` for each lone surrogate.

    The exporters of OTLP encode a batch as a whole: one surrogate in the name of a span loses all of its spans. Ids
    out of HTTP headers may hold some.
    """
    cut = text[:max_length]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")
