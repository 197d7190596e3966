"""Text parts of a multimodal body, as runs: adjacent parts are one text, since a secret may straddle them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from tramapy.messages import ContentPart, TextPart

__all__ = ["inspect_text_runs", "map_text_runs", "split_runs", "text_runs"]


def text_runs(parts: Sequence[ContentPart]) -> list[str]:
    """Return the text of each run, in order."""
    return [*map("".join, split_runs(parts))]


def split_runs(parts: Sequence[ContentPart]) -> list[tuple[str, ...]]:
    """Return the texts of which each run is joined, in order."""
    return [
        tuple(part.text for part in run if isinstance(part, TextPart))
        for is_text, run in groupby(parts, key=_is_text)
        if is_text
    ]


async def map_text_runs(
    parts: Sequence[ContentPart], change: Callable[[str], Awaitable[str]]
) -> tuple[ContentPart, ...]:
    """Return `parts` with each run passed through `change`.

    An unchanged run keeps its parts, a changed one becomes a single part, an emptied one goes. Everything else
    stays where it is. The very same tuple comes back where nothing changed.
    """
    return await _mapped(parts, lambda texts: change("".join(texts)))


async def inspect_text_runs(
    parts: Sequence[ContentPart], inspect: Callable[[Sequence[str]], Awaitable[str]]
) -> tuple[ContentPart, ...]:
    """Do what `map_text_runs` does, and let `inspect` see of what texts each run is joined."""
    return await _mapped(parts, inspect)


async def _mapped(
    parts: Sequence[ContentPart], change: Callable[[Sequence[str]], Awaitable[str]]
) -> tuple[ContentPart, ...]:
    mapped: list[ContentPart] = []
    is_changed = False
    for is_text, run in groupby(parts, key=_is_text):
        listed = tuple(run)
        if not is_text:
            mapped.extend(listed)
            continue
        texts = [part.text for part in listed if isinstance(part, TextPart)]
        text = "".join(texts)
        changed = await change(texts) if text else text
        if changed == text and text:
            mapped.extend(listed)
            continue
        is_changed = True
        if changed:
            mapped.append(TextPart(changed))
    return tuple(mapped) if is_changed else tuple(parts)


def _is_text(part: ContentPart) -> bool:
    return isinstance(part, TextPart)
