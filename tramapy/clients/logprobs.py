"""The probabilities of a text's tokens: they say the text again, and beside it what the model might have said.

An alternative is one token long, so what they say is looked at by rank: the most likely tokens of all places
joined, then the second, and so on. Where DLP would change any of it, the probabilities go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Final, cast

from tramapy.clients.codec import JsonEvent, dumps
from tramapy.clients.plans import each, numbers, shown
from tramapy.engine.native import Lane, NativePiece
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.json_values import mapping_of, text_of
from tramapy.wire.rest import SKIP, Plan

__all__ = ["LOGPROBS", "TOKENS", "LogprobsPiece", "spoken"]


class LogprobsPiece(NativePiece):
    """What probabilities in an event say beside its text.

    Args:
        event: Where they stand.
        text: What `spoken` gave.
        scope: The text that they are of.
        drop: Takes them out.
    """

    __slots__ = ("_drop", "_event", "_scope", "is_held", "is_repeat", "lane", "location", "text", "tool_name")

    def __init__(self, event: JsonEvent, text: str, scope: Hashable, drop: Callable[[], None]) -> None:
        self._event = event
        self._scope = scope
        self._drop = drop
        self.text: str = text
        self.location: DlpContentLocation = DlpContentLocation.MODEL_RESPONSE_CONTENT
        self.tool_name: str | None = None
        self.lane: Lane | None = None
        self.is_held: bool = False
        self.is_repeat: bool = False

    @property
    def scope(self) -> Hashable:
        """The text that they are of: its alternatives go on from event to event."""
        return ("logprobs", self._scope)

    def write(self, text: str) -> None:
        """Take them out, whatever the other text is."""
        self._drop()
        self._event.is_changed = True


def spoken(logprobs: object, text: str) -> str:
    """Return as a JSON array what probabilities say beside a text, each rank as a string; empty where that is nothing.

    Args:
        logprobs: Of chat (lists of tokens by kind), of a response (a list of tokens), or of a legacy completion.
        text: What they should be of.
    """
    if not logprobs:
        return ""
    ranks: dict[int, list[str]] = {}
    for token, others in _places_in(logprobs):
        for rank, said in enumerate((token, *others)):
            ranks.setdefault(rank, []).append(said)
    joined = ["".join(said) for said in ranks.values()]
    # the first is nearly always the text, and so is the second: the likeliest token was taken
    other = [one for one in joined if one and one != text]
    return dumps(other) if other else ""


def _places_in(logprobs: object) -> Iterator[tuple[str, list[str]]]:
    """Yield the token of each place, and its alternatives."""
    fields = mapping_of(logprobs)
    if "tokens" in fields:
        tokens, tops = _items_in(fields["tokens"]), _items_in(fields.get("top_logprobs"))
        for position, token in enumerate(tokens):
            named = tops[position] if position < len(tops) else None
            yield text_of(token) or "", [str(name) for name in mapping_of(named)]
        return
    lists = fields.values() if fields else (logprobs,)
    for item in (item for items in lists for item in _items_in(items)):
        place = mapping_of(item)
        others = [
            text_of(mapping_of(other).get("token")) or "" for other in _items_in(place.get("top_logprobs"))
        ]
        yield text_of(place.get("token")) or "", others


def _items_in(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _named(value: object) -> Plan:
    """Plan the alternatives of a legacy completion, whose names are the tokens."""
    items = cast("dict[str, object]", value).values() if isinstance(value, dict) else None
    return SKIP if items is not None and all(isinstance(item, (int, float)) for item in items) else None


def _counts(value: object) -> Plan:
    items = cast("list[object]", value) if isinstance(value, list) else None
    return (
        SKIP
        if items is not None and all(item is None or isinstance(item, (int, float)) for item in items)
        else None
    )


_ALTERNATIVE: Final[Mapping[str, Plan]] = {"token": shown, "logprob": numbers, "bytes": _counts}

TOKENS: Final = each({**_ALTERNATIVE, "top_logprobs": each(_ALTERNATIVE)})
"""For a list of tokens."""

LOGPROBS: Final[Mapping[str, Plan]] = {
    "content": TOKENS,
    "refusal": TOKENS,
    "tokens": each(shown),
    "token_logprobs": _counts,
    "text_offset": _counts,
    "top_logprobs": each(_named),
}
"""For the probabilities of a choice."""
