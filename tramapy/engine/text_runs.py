"""Text parts of a multimodal body, as runs: adjacent parts are one text, since a secret may straddle them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from tramapy.engine.seams import split_at_seams
from tramapy.messages import ContentPart, TextPart

__all__ = ["inspect_run", "inspect_text_runs", "map_text_runs", "text_runs"]


def text_runs(parts: Sequence[ContentPart]) -> list[str]:
    """Return the text of each run, in order."""
    return [
        "".join(part.text for part in run if isinstance(part, TextPart))
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
    return await _mapped(parts, change, is_inspection=False)


async def inspect_text_runs(
    parts: Sequence[ContentPart], inspect: Callable[[str], Awaitable[str]]
) -> tuple[ContentPart, ...]:
    """Do what `map_text_runs` does, and inspect each part by itself, too.

    What ends a part is whole, and is hidden where the next one goes on with a letter or a digit: a rule takes both
    for one word that it does not know.
    """
    return await _mapped(parts, inspect, is_inspection=True)


async def inspect_run(texts: Sequence[str], inspect: Callable[[str], Awaitable[str]]) -> str:
    """Return the texts of one run as one, inspected together and each by itself."""
    text = "".join(texts)
    changed = await inspect(text)
    parts = [*filter(None, texts)]
    if len(parts) <= 1:
        return changed
    pieces = parts if changed == text else split_at_seams(changed, parts)
    return "".join([await inspect(piece) for piece in pieces]) if len(pieces) > 1 else changed


async def _mapped(
    parts: Sequence[ContentPart], change: Callable[[str], Awaitable[str]], *, is_inspection: bool
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
        changed = text
        if text:
            changed = await inspect_run(texts, change) if is_inspection else await change(text)
        if changed == text and text:
            mapped.extend(listed)
            continue
        is_changed = True
        if changed:
            mapped.append(TextPart(changed))
    return tuple(mapped) if is_changed else tuple(parts)


def _is_text(part: ContentPart) -> bool:
    return isinstance(part, TextPart)
