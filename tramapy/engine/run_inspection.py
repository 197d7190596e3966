"""The inspection of a run: several texts that a reader may see as one, and each by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from tramapy.engine.inspection import inspect_text
from tramapy.engine.operation import Attempt
from tramapy.engine.seams import split_at_seams
from tramapy.hooks.composite_dlp import CompositeDlpInterceptor
from tramapy.hooks.dlp import DlpContext, DlpInterceptor, DlpResult, InspectedParts
from tramapy.values import close_unawaited, exact_text

__all__ = ["inspect_run"]


async def inspect_run(
    attempt: Attempt, dlp: DlpInterceptor, context: DlpContext, texts: Sequence[str]
) -> str:
    """Return the texts of one run as one, inspected together and each by itself.

    What ends a part is whole, and is hidden where the next one goes on with a letter or a digit: a rule takes both
    for one word that it does not know.

    Raises:
        DlpInspectionError: As `inspect_text` does.
    """
    return "".join(await _inspected(attempt, dlp, context, [*filter(None, texts)]))


async def _inspected(
    attempt: Attempt, dlp: DlpInterceptor, context: DlpContext, parts: Sequence[str]
) -> Sequence[str]:
    """Return the parts; those between which something was replaced are one."""
    text = "".join(parts)
    if len(parts) <= 1:
        return [await inspect_text(attempt, dlp, context, text)]
    if isinstance(dlp, CompositeDlpInterceptor) and type(dlp).inspect is CompositeDlpInterceptor.inspect:
        for interceptor in dlp.interceptors:
            parts = await _inspected(attempt, interceptor, context, [*filter(None, parts)])
        return parts
    together = _Together(dlp, parts)
    changed = await inspect_text(attempt, together, context, text)
    if together.texts is not None:
        return together.texts
    pieces = parts if changed == text else split_at_seams(changed, parts)
    if len(pieces) == 1:
        return pieces
    return [await inspect_text(attempt, dlp, context, piece) for piece in pieces]


class _Together(DlpInterceptor):
    """Inspects parts, where an interceptor can do that; else what they are joined to.

    Args:
        dlp: The interceptor.
        parts: None of them is empty.
    """

    def __init__(self, dlp: DlpInterceptor, parts: Sequence[str]) -> None:
        self._dlp = dlp
        self._parts = parts
        self.texts: Sequence[str] | None = None
        """What became of the parts; None where only the joined text was inspected."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult | Awaitable[DlpResult]:
        """Inspect the parts."""
        inspected = self._dlp.inspect_parts(context, self._parts)
        if inspected is None:
            return self._dlp.inspect(context, text)
        self.texts = _listed(inspected)
        return DlpResult("".join(self.texts), inspected.redactions)


def _listed(inspected: object) -> Sequence[str]:
    """Return the texts, read once: what is lazy says them once, and what says other things twice is not believed."""
    if not isinstance(inspected, InspectedParts):
        close_unawaited(inspected)
        raise TypeError(f"inspect_parts returns InspectedParts or None, not {type(inspected).__name__}")
    if isinstance(inspected.texts, str):
        raise TypeError("InspectedParts.texts takes a list of str, not a str")
    return [*map(exact_text, inspected.texts)]
