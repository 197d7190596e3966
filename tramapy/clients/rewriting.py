"""Messages, parts and calls that stand for places in native JSON: which are still there, which are new, in what order.

A codec shows native items as messages with an `Origin`, and gets another list back. `positions_of` says which of
them the messages stand for, `placed_parts` and `placed_calls` the same within a message, and `woven` gives the order
of the native list to write: what was never shown stays where it stood.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from tramapy.errors import InterceptorError
from tramapy.messages import ContentPart, Message, TextPart, ToolCall

__all__ = [
    "Origin",
    "PlacedPart",
    "Slot",
    "are_same",
    "no_place",
    "placed_calls",
    "placed_parts",
    "positions_of",
    "with_value_at",
    "woven",
]


class Origin:
    """What a message is known by: the request that showed it, and its position among the messages shown.

    Args:
        owner: Made for one request, and compared by identity: a message of another request is a new one.
        position: In the request's `messages`.
    """

    __slots__ = ("owner", "position")

    def __init__(self, owner: object, position: int) -> None:
        self.owner: object = owner
        self.position: int = position

    def __repr__(self) -> str:
        return f"Origin({self.position})"

    def __deepcopy__(self, memo: object) -> Origin:
        return self

    def __copy__(self) -> Origin:
        return self


def are_same(shown: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Tell whether the messages are those that were shown, in their order and unchanged."""
    return shown is messages or (
        len(shown) == len(messages)
        and all(
            message is before or (message.origin is before.origin and message == before)
            for before, message in zip(shown, messages, strict=True)
        )
    )


def positions_of(shown: Sequence[Message], messages: Sequence[Message], owner: object) -> list[int | None]:
    """Return for each message its position among those that were shown; None for a new one.

    A new one is also a message that changed its role or the call that it answers, and a second copy.
    """
    free = set(range(len(shown)))
    positions: list[int | None] = []
    for message in messages:
        origin = message.origin
        found: int | None = None
        if isinstance(origin, Origin) and origin.owner is owner and origin.position in free:
            before = shown[origin.position]
            if message.role is before.role and message.tool_call_id == before.tool_call_id:
                found = origin.position
                free.discard(found)
        positions.append(found)
    return positions


@dataclass(frozen=True, slots=True)
class Slot:
    """One item of a list to write: a native one, one of ours, or one of ours in a native form.

    Args:
        native: The position of the native item; None for a new one.
        ours: The position among ours; None for a native item that was not shown, and stays as it is.
    """

    native: int | None
    ours: int | None


def woven(native_count: int, shown: Collection[int], placed: Sequence[int | None]) -> Iterator[Slot]:
    """Yield the list to write.

    What was not shown stands before the next item that stood behind it, and before new ones at the end; what was
    shown and is not placed any more goes.

    Args:
        native_count: How many native items there are.
        shown: The positions of those that were shown; a set where there are many.
        placed: For each item of ours in order, the position of its native item, or None for a new one.
    """
    next_native = 0
    end = len(placed)
    while end and placed[end - 1] is None:
        end -= 1
    for ours, native in enumerate(placed[:end]):
        if native is not None:
            yield from _kept(next_native, native, shown)
            next_native = max(next_native, native + 1)
        yield Slot(native, ours)
    yield from _kept(next_native, native_count, shown)
    for ours in range(end, len(placed)):
        yield Slot(None, ours)


def _kept(start: int, end: int, shown: Collection[int]) -> Iterator[Slot]:
    return (Slot(native, None) for native in range(start, end) if native not in shown)


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part of a message as it is now.

    Args:
        part: The part.
        position: Of the part that was shown in its place, whose native form it takes; None for a new one.
        united: Positions of text parts behind it that are gone, their text being in this one or dropped: what
            else their native forms say (for example `cache_control`) moves here.
    """

    part: ContentPart
    position: int | None
    united: tuple[int, ...] = ()


def placed_parts(shown: Sequence[ContentPart], parts: Sequence[ContentPart]) -> list[PlacedPart]:
    """Return where the parts of a changed message stood before.

    Equal parts at both ends stay. Between them, images are known by identity, and text takes the place of text in
    order; so a run of text parts that DLP made one takes the place of the first.
    """
    positions = _positions(shown, parts)
    taken = set(positions)
    united: dict[int, list[int]] = {}
    holder: int | None = None
    for position, part in enumerate(shown):
        if not isinstance(part, TextPart):
            holder = None
        elif position in taken:
            holder = position
        elif holder is not None:
            united.setdefault(holder, []).append(position)
    return [
        PlacedPart(part, position, () if position is None else tuple(united.get(position, ())))
        for part, position in zip(parts, positions, strict=True)
    ]


def _positions(shown: Sequence[ContentPart], parts: Sequence[ContentPart]) -> list[int | None]:
    least = min(len(shown), len(parts))
    head = 0
    while head < least and shown[head] == parts[head]:
        head += 1
    tail = 0
    while tail < least - head and shown[-1 - tail] == parts[-1 - tail]:
        tail += 1
    end = len(shown) - tail
    middle = _middle_positions(shown, head, end, parts[head : len(parts) - tail])
    return [*range(head), *middle, *range(end, len(shown))]


def _middle_positions(
    shown: Sequence[ContentPart], start: int, end: int, parts: Sequence[ContentPart]
) -> Iterator[int | None]:
    by_id = {id(shown[position]): position for position in range(start, end)}
    staying = {id(part) for part in parts if not isinstance(part, TextPart)}
    at = start
    for part in parts:
        anchor = None if isinstance(part, TextPart) else by_id.get(id(part))
        if anchor is not None and anchor >= at:
            at = anchor
        elif isinstance(part, TextPart):
            # an image that is gone holds nothing up
            while at < end and not isinstance(shown[at], TextPart) and id(shown[at]) not in staying:
                at += 1
        if at < end and type(shown[at]) is type(part) and (anchor == at or id(shown[at]) not in staying):
            yield at
            at += 1
        else:
            yield None


def placed_calls(shown: Sequence[ToolCall], calls: Sequence[ToolCall]) -> list[int | None]:
    """Return for each tool call the position of the one that was shown with its id and name; None for a new one."""
    free: dict[tuple[str, str], list[int]] = {}
    for position in reversed(range(len(shown))):
        free.setdefault((shown[position].id, shown[position].name), []).append(position)
    return [positions.pop() if (positions := free.get((call.id, call.name))) else None for call in calls]


def no_place(what: str) -> InterceptorError:
    """Return the error for something that the vendor's format cannot hold; `what` is fixed words."""
    return InterceptorError(
        f"An interceptor gave {what}, which the format of this call has no place for; leave it out, or change "
        "what is there"
    )


def with_value_at(value: object, path: Sequence[str | int], changed: object) -> object:
    """Return a JSON value with another one at a place; only what is on the way is copied."""
    if not path:
        return changed
    first, others = path[0], path[1:]
    if isinstance(first, str):
        fields = dict(cast("dict[str, object]", value))
        fields[first] = with_value_at(fields.get(first), others, changed)
        return fields
    items = list(cast("list[object]", value))
    items[first] = with_value_at(items[first], others, changed)
    return items
