"""Changed messages of a request of `/v1/messages`, written back into its turns and their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from tramapy.clients.anthropic_messages_blocks import (
    CHANGED_SIGNATURE,
    Block,
    arguments_object,
    call_block,
    part_block,
    parts_of,
    require_no_images,
    text_block,
    written_parts,
)
from tramapy.clients.rewriting import no_place, placed_calls, woven
from tramapy.messages import ContentPart, Message, MessageRole, TextPart, ToolCall
from tramapy.wire.json_values import mapping_of

__all__ = ["SYSTEM", "Place", "Placed", "Writing"]

SYSTEM: Final = -1
"""Stands for the system prompt where a turn is named."""

Placed = Sequence[tuple[int | None, Message]]
"""Messages, each with its position among those that were shown."""


class Place(NamedTuple):
    """Where a message stands.

    Args:
        turn: Its turn's position, or `SYSTEM`.
        start: Of its blocks in the turn's content; for a result, of the one block.
        end: Behind its last block.
        message: What was shown.
        parts: The positions of its parts' blocks, counted from `start`, or within the result's content.
        calls: The positions of its tool calls' blocks, counted from `start`.
    """

    turn: int
    start: int
    end: int
    message: Message
    parts: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()


class Writing:
    """Writes one request.

    Args:
        places: Of the messages that were shown.
        hidden_turns: The positions of the turns that were not.
        first: The position of the first message among those of all requests.
        before: The body that was read.
        params: The body to write into, of the same shape.
    """

    def __init__(
        self,
        places: Sequence[Place],
        hidden_turns: Sequence[int],
        first: int,
        before: Mapping[str, object],
        params: Mapping[str, object],
    ) -> None:
        self._places = places
        self._hidden_turns = [*hidden_turns]
        self._first = first
        self._params = params
        turns, turns_before = params.get("messages"), before.get("messages")
        self._natives = cast("list[object]", turns) if isinstance(turns, list) else []
        self._before = cast("list[object]", turns_before) if isinstance(turns_before, list) else []
        self._turns: list[object] = []
        self._open: _OpenTurn | None = None

    def written(self, placed: Placed) -> Mapping[str, object]:
        """Return the body with these messages, in their order."""
        system: list[str | list[Block]] = []
        for position, message in placed:
            place = None if position is None else self._places[position - self._first]
            content = _new_content(message) if place is None else self._content(place, message)
            if (place is None and message.role is MessageRole.SYSTEM) or (
                place is not None and place.turn == SYSTEM
            ):
                system.append(content)
            elif place is None:
                self._add_new(message, content)
            else:
                self._add(place, content)
        self._close()
        self._turns.extend(self._natives[turn] for turn in self._hidden_turns)
        return self._whole(system)

    def _whole(self, system: Sequence[str | list[Block]]) -> Mapping[str, object]:
        params = dict(self._params)
        has_system = any(place.turn == SYSTEM for place in self._places)
        content = system[0] if len(system) == 1 else [block for part in system for block in _as_blocks(part)]
        if content:
            if not has_system and params.get("system"):
                raise no_place("a SYSTEM message beside a system prompt that cannot be read")
            params["system"] = content
        elif has_system:
            del params["system"]
        if self._turns or isinstance(params.get("messages"), list):
            params["messages"] = self._turns
        return params

    def _add(self, place: Place, content: str | list[Block]) -> None:
        opened = self._open
        if opened is None or opened.turn != place.turn or place.start < opened.end:
            self._close()
            while self._hidden_turns and self._hidden_turns[0] < place.turn:
                self._turns.append(self._natives[self._hidden_turns.pop(0)])
            opened = self._open = _OpenTurn(place.turn, cast("Block", self._natives[place.turn]))
        opened.contents.append(content)
        opened.end = place.end
        opened.is_result = place.message.role is MessageRole.TOOL

    def _add_new(self, message: Message, content: str | list[Block]) -> None:
        """Add a turn; but the result of one of several calls must stand with the others."""
        is_result = message.role is MessageRole.TOOL
        if not (is_result and self._open is not None and self._open.is_result):
            self._close()
            role = "assistant" if message.role is MessageRole.ASSISTANT else "user"
            self._open = _OpenTurn(None, {"role": role})
        self._open.contents.append(content)
        self._open.is_result = is_result

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        content = opened.content()
        if opened.turn is not None and content == opened.native.get("content"):
            self._turns.append(opened.native)
        elif opened.turn is None or content:
            self._turns.append({**opened.native, "content": content})

    def _content(self, place: Place, message: Message) -> str | list[Block]:
        """Return what a message is in its turn: a plain string, or blocks."""
        content = self._native_content(place)
        is_same = message is place.message or message == place.message
        if isinstance(content, str):
            if is_same:
                return content
            is_plain = message.content_parts is None and not message.tool_calls
            return message.content if is_plain else _new_content(message)
        blocks = content[place.start : place.end]
        if place.message.role is MessageRole.TOOL:
            return [cast("Block", blocks[0]) if is_same else _written_result(place, blocks[0], message)]
        gone = self._gone(place, blocks)
        if is_same:
            return [cast("Block", block) for position, block in enumerate(blocks) if position not in gone]
        return [*_written_blocks(place, blocks, message, gone)]

    def _native_content(self, place: Place) -> str | list[object]:
        owner = self._params if place.turn == SYSTEM else mapping_of(self._natives[place.turn])
        return cast("str | list[object]", owner["system" if place.turn == SYSTEM else "content"])

    def _gone(self, place: Place, blocks: Sequence[object]) -> set[int]:
        """Return the thinking that the provider would refuse, because its text is not what was signed."""
        if place.message.role is not MessageRole.ASSISTANT:
            return set()
        before = cast("list[object]", mapping_of(self._before[place.turn])["content"])[place.start :]
        return {
            position
            for position, block in enumerate(map(mapping_of, blocks))
            if block.get("type") == "thinking" and _is_refused(block, mapping_of(before[position]))
        }


class _OpenTurn:
    """A turn that is written.

    Args:
        turn: The position of its native form; None for a new one.
        native: Its native form, or its role.
    """

    def __init__(self, turn: int | None, native: Block) -> None:
        self.turn = turn
        self.native = native
        self.contents: list[str | list[Block]] = []
        self.end = 0
        self.is_result = False

    def content(self) -> str | list[Block]:
        if len(self.contents) == 1:
            return self.contents[0]
        return [block for content in self.contents for block in _as_blocks(content)]


def _as_blocks(content: str | list[Block]) -> list[Block]:
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return content


def _is_refused(block: Block, before: Block) -> bool:
    signature = block.get("signature")
    is_changed = block.get("thinking") != before.get("thinking")
    return signature == CHANGED_SIGNATURE or (bool(signature) and is_changed)


def _new_content(message: Message) -> str | list[Block]:
    """Return the content of a new message, in the simplest form.

    Raises:
        InterceptorError: This format has no such message.
    """
    _check(message, parts_of(message))
    if message.role is MessageRole.TOOL:
        if message.tool_call_id is None:
            raise no_place("a TOOL message without tool_call_id")
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        return [{**result, "content": _plain_content(message)}]
    if message.tool_calls:
        return [*map(part_block, parts_of(message)), *map(call_block, message.tool_calls)]
    return _plain_content(message)


def _plain_content(message: Message) -> str | list[Block]:
    parts = message.content_parts
    return message.content if parts is None else [*map(part_block, parts)]


def _check(message: Message, new_parts: Sequence[ContentPart]) -> None:
    if message.tool_calls and message.role is not MessageRole.ASSISTANT:
        raise no_place(f"tool_calls in a {message.role.name} message")
    if message.tool_call_id is not None and message.role is not MessageRole.TOOL:
        raise no_place(f"a tool_call_id in a {message.role.name} message")
    if message.role in (MessageRole.SYSTEM, MessageRole.ASSISTANT):
        require_no_images(new_parts, f"a {message.role.name} message")


def _written_result(place: Place, native: object, message: Message) -> Block:
    _check(message, ())
    block = mapping_of(native)
    content = block.get("content", "")
    if isinstance(content, str):
        return {**block, "content": _plain_content(message)}
    blocks = cast("list[object]", content)
    return {**block, "content": [*_written_blocks(place, blocks, message, set())]}


def _written_blocks(
    place: Place, blocks: Sequence[object], message: Message, gone: set[int]
) -> Iterator[Block]:
    """Yield the blocks of a changed message: those that are not shown stay where they stand."""
    shown, parts = place.message, parts_of(message)
    _check(message, _new_images(shown, parts))
    positions: list[int | None] = []
    ours: list[Block] = []
    natives = [mapping_of(blocks[position]) for position in place.parts]
    for position, block in written_parts(shown.content_parts or (), natives, parts):
        positions.append(None if position is None else place.parts[position])
        ours.append(block)
    placed = placed_calls(shown.tool_calls, message.tool_calls)
    for position, call in zip(placed, message.tool_calls, strict=True):
        positions.append(None if position is None else place.calls[position])
        if position is None:
            ours.append(call_block(call))
        else:
            native = mapping_of(blocks[place.calls[position]])
            ours.append(_written_call(shown.tool_calls[position], native, call))
    for slot in woven(len(blocks), {*place.parts, *place.calls}, positions):
        if slot.ours is not None:
            yield ours[slot.ours]
        elif slot.native is not None and slot.native not in gone:
            yield cast("Block", blocks[slot.native])


def _new_images(shown: Message, parts: Sequence[ContentPart]) -> list[ContentPart]:
    before = {id(part) for part in shown.content_parts or ()}
    return [part for part in parts if not isinstance(part, TextPart) and id(part) not in before]


def _written_call(before: ToolCall, block: Block, call: ToolCall) -> Block:
    if call.arguments_json == before.arguments_json:
        return block
    return {**block, "input": arguments_object(call.arguments_json)}
