"""Strings of a stream that nobody knows: what stands at the same place of event after event may be one text.

Whether a client joins them is not known, so nothing is held back: a string is inspected behind what stood there
before. Where a match lies across, the beginning is out; the string says what DLP made of the rest.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any, Final, cast

from tramapy.engine.inspection import audited, scan_text
from tramapy.engine.native import NativePiece
from tramapy.engine.operation import Attempt
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpInterceptor

__all__ = ["SplitTexts"]

# how much of what stood at a place is looked at again
_CONTEXT: Final = 1_000

# so many places have a memory; a stream with more is no stream of texts
_MOST_PLACES: Final = 10_000


class _Said:
    """What stood at a place so far.

    Args:
        text: The first string.
    """

    __slots__ = ("is_constant", "last", "text")

    def __init__(self, text: str) -> None:
        self.text: str = text[-_CONTEXT:]
        self.last: str = text
        self.is_constant: bool = True

    def add(self, text: str, last: str) -> None:
        self.text = (self.text + text)[-_CONTEXT:]
        self.last = last


class SplitTexts:
    """Remembers the strings of one stream by their place."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[Hashable, _Said] = {}

    async def inspected(self, attempt: Attempt, dlp: DlpInterceptor, piece: NativePiece, text: str) -> str:
        """Return the JSON of a piece that was inspected by itself, with its strings inspected in their place.

        Raises:
            DlpInspectionError: An inspection failed, or there are too many places.
        """
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            return text  # it will not be written either
        scope, is_changed = piece.scope, False
        for path, owner, key in _strings_in(value):
            before = owner[key]
            after = await self._inspected_string(attempt, dlp, piece, (scope, path), before)
            if after != before:
                owner[key] = after
                is_changed = True
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if is_changed else text

    async def _inspected_string(
        self, attempt: Attempt, dlp: DlpInterceptor, piece: NativePiece, place: Hashable, string: str
    ) -> str:
        said = self._places.get(place)
        if said is None:
            if len(self._places) == _MOST_PLACES:
                raise DlpInspectionError(
                    f"A stream has text in more than {_MOST_PLACES:_} places that are not known; the rest was withheld"
                )
            self._places[place] = _Said(string)
            return string
        if said.is_constant and string == said.last:
            said.add(string, string)
            return string  # what is the same in each event is no text in pieces
        said.is_constant = False
        after = await _behind(attempt, dlp, piece, said.text, string)
        said.add(after, string)
        return after


async def _behind(attempt: Attempt, dlp: DlpInterceptor, piece: NativePiece, said: str, string: str) -> str:
    """Return what DLP makes of a string behind what was said."""
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, piece.location, piece.tool_name)
    result = await scan_text(attempt, dlp, context, said + string)
    if result.sanitized_text == said + string:
        return string
    # what was said is cut at its beginning, where more may seem to be found
    again = (await scan_text(attempt, dlp, context, said)).sanitized_text
    after = result.sanitized_text[_common_length(again, result.sanitized_text) :]
    if after != string:
        await audited(attempt, context, result.redactions)
    return after


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(one), len(other)))


def _strings_in(value: object) -> Iterator[tuple[tuple[Hashable, ...], Any, Hashable]]:
    """Yield each string of a JSON value: its path, the object or array that holds it, and where."""
    left: list[tuple[tuple[Hashable, ...], object]] = [((), value)]
    while left:
        path, owner = left.pop()
        items: list[tuple[Hashable, object]] = []
        if isinstance(owner, dict):
            items = list(cast("dict[Hashable, object]", owner).items())
        elif isinstance(owner, list):
            items = list(enumerate(cast("list[object]", owner)))
        for key, item in items:
            if isinstance(item, str):
                yield (*path, key), owner, key
            elif isinstance(item, (dict, list)):
                left.append(((*path, key), cast("object", item)))
