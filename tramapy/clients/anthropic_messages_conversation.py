"""The messages of one request of `/v1/messages`: which native blocks each of them shows, and how it is written back.

Every turn is one message, but a turn of the user's with tool results is several: one TOOL message for each result,
and a USER message for what stands between. A block that is not shown (a document, thinking, a search of the
provider's) belongs to the message of its turn: it goes where that goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_blocks import (
    CHANGED_SIGNATURE,
    Block,
    add_unscanned,
    call_of,
    part_of,
)
from tramapy.clients.anthropic_messages_plan import ROLES, is_call, is_result
from tramapy.clients.anthropic_messages_writing import SYSTEM, Place, Placed, Writing
from tramapy.clients.message_drafts import text_message
from tramapy.clients.rewriting import Origin
from tramapy.messages import ContentPart, Message, MessageRole, ToolCall
from tramapy.wire.json_values import mapping_of

__all__ = ["Conversation"]

_ROLES: Final = {
    "user": MessageRole.USER,
    "assistant": MessageRole.ASSISTANT,
    "system": MessageRole.SYSTEM,
}


class Conversation:
    """Reads the messages of a request.

    Args:
        params: The request's body.
        owner: Of the origins of its messages.
        messages: Those that were read before; its own are appended.
        unscanned: Words for what cannot be inspected are added.
    """

    def __init__(
        self, params: Mapping[str, object], owner: object, messages: list[Message], unscanned: set[str]
    ) -> None:
        self.params = params
        self.has_changed_thinking: bool = False
        self._owner = owner
        self._messages = messages
        self._unscanned = unscanned
        self._first = len(messages)
        self._places: list[Place] = []
        self._hidden_turns: list[int] = []
        self._tool_names: dict[str, str] = {}
        system = params.get("system")
        if isinstance(system, (str, list)) and system:
            self._read_content(SYSTEM, MessageRole.SYSTEM, cast("str | list[object]", system))
        turns = params.get("messages")
        for position, turn in enumerate(cast("list[object]", turns) if isinstance(turns, list) else ()):
            self._read_turn(position, turn)
        if params.get("container"):
            unscanned.add("container")
        self.end: int = len(messages)

    def _read_turn(self, position: int, turn: object) -> None:
        fields = mapping_of(turn)
        role, content = fields.get("role"), fields.get("content")
        if not isinstance(role, str) or role not in ROLES or not isinstance(content, (str, list)):
            self._hidden_turns.append(position)
            add_unscanned(turn, self._unscanned)
            return
        self._read_content(position, _ROLES[role], cast("str | list[object]", content))

    def _read_content(self, turn: int, role: MessageRole, content: str | list[object]) -> None:
        if isinstance(content, str):
            self._show(Place(turn, 0, 0, text_message(role, content, self._origin())))
            return
        blocks = [mapping_of(block) for block in content]
        start = 0
        if role is MessageRole.USER:
            for position, block in enumerate(blocks):
                if is_result(block):
                    self._read_blocks(turn, role, blocks, (start, position))
                    self._read_result(turn, position, block)
                    start = position + 1
        if start < len(blocks) or not blocks:
            self._read_blocks(turn, role, blocks, (start, len(blocks)))

    def _read_blocks(
        self, turn: int, role: MessageRole, blocks: Sequence[Block], span: tuple[int, int]
    ) -> None:
        start, end = span
        if start == end and blocks:
            return
        owned = blocks[start:end]
        parts: list[ContentPart] = []
        part_positions: list[int] = []
        calls: list[ToolCall] = []
        call_positions: list[int] = []
        for position, block in enumerate(owned):
            part = part_of(block)
            if part is not None:
                parts.append(part)
                part_positions.append(position)
            elif role is MessageRole.ASSISTANT and is_call(block):
                calls.append(call_of(block))
                call_positions.append(position)
            else:
                self._take_hidden(block)
        for call in calls:
            self._tool_names[call.id] = call.name
        message = Message(
            role=role, content_parts=tuple(parts), tool_calls=tuple(calls), origin=self._origin()
        )
        self._show(Place(turn, start, end, message, tuple(part_positions), tuple(call_positions)))

    def _read_result(self, turn: int, position: int, block: Block) -> None:
        content = block.get("content", "")
        tool_call_id = cast("str", block["tool_use_id"])
        parts: tuple[ContentPart, ...] | None = None
        positions: tuple[int, ...] = ()
        if not isinstance(content, str):
            blocks = [mapping_of(item) for item in cast("list[object]", content)]
            shown = [(part_of(item), place) for place, item in enumerate(blocks)]
            parts = tuple([part for part, _ in shown if part is not None])
            positions = tuple([place for part, place in shown if part is not None])
            for part, place in shown:
                if part is None:
                    add_unscanned(blocks[place], self._unscanned)
        message = Message(
            role=MessageRole.TOOL,
            content=content if isinstance(content, str) else "",
            content_parts=parts,
            tool_call_id=tool_call_id,
            tool_name=self._tool_names.get(tool_call_id),
            origin=self._origin(),
        )
        self._show(Place(turn, position, position + 1, message, positions))

    def _take_hidden(self, block: Block) -> None:
        if block.get("type") == "thinking" and block.get("signature") == CHANGED_SIGNATURE:
            self.has_changed_thinking = True
        add_unscanned(block, self._unscanned)

    def _origin(self) -> Origin:
        return Origin(self._owner, len(self._messages))

    def _show(self, place: Place) -> None:
        self._places.append(place)
        self._messages.append(place.message)

    def written(self, params: Mapping[str, object], placed: Placed) -> Mapping[str, object]:
        """Return the request with these messages.

        Args:
            params: The body to write into, of the same shape as the one that was read; it stays as it is.
            placed: In their order.

        Raises:
            InterceptorError: The format has no place for something.
            DlpInspectionError: Changed arguments are no JSON object.
        """
        return Writing(self._places, self._hidden_turns, self._first, self.params, params).written(placed)
