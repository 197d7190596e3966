"""A request of OpenAI responses: its instructions and items as messages, and changed ones written back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from tramapy.clients.codec import WireRequest, merged_text, rest_text
from tramapy.clients.file_texts import FILE_DATA, ReadFiles, read_files
from tramapy.clients.images import image_at
from tramapy.clients.nesting import read_request
from tramapy.clients.openai_responses_forms import items_of, rewritten_items
from tramapy.clients.openai_responses_items import CALL_KINDS, OUTPUT_KINDS, text_key
from tramapy.clients.openai_responses_plans import IDS, INPUT_ITEMS, SETTINGS, known, part_plan
from tramapy.clients.plans import credential, each, identifier, numbers, opaque, shown, word
from tramapy.clients.rewriting import Origin, are_same, no_place, positions_of, woven
from tramapy.messages import ContentPart, Message, MessageRole, TextPart, ToolCall, ToolDefinition
from tramapy.wire.json_values import mapping_of, mappings_of, text_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = ["ResponsesRequest"]

_ROLES: Final[Mapping[object, MessageRole]] = {
    "system": MessageRole.SYSTEM,
    "developer": MessageRole.SYSTEM,
    "user": MessageRole.USER,
    "assistant": MessageRole.ASSISTANT,
}

_TEXT_OUTPUTS: Final = frozenset({"local_shell_call_output", "apply_patch_call_output"})
_MESSAGE: Final = {**IDS, "role": opaque, "phase": word, "content": shown}
_MESSAGE_OF_PARTS: Final = {**_MESSAGE, "content": each(part_plan)}
_CALL: Final = {**IDS, "async": opaque, "name": identifier}
_CALLS: Final = {"arguments": {**_CALL, "arguments": shown}, "input": {**_CALL, "input": shown}}
_OUTPUT: Final = {**IDS, "output": shown}
_OUTPUT_OF_PARTS: Final = {**IDS, "output": each(part_plan)}
_SHELL_OUTPUT: Final = {**IDS, "output": each({"stdout": shown, "stderr": shown, "outcome": known("type")})}
_SHELL_STREAMS: Final = ("stdout", "stderr")

_TOOL: Final = known("type", "strict", "defer_loading", vector_store_ids=each(opaque))
_MCP_TOOL: Final = known("type", "defer_loading", authorization=credential, headers={EACH: credential})


def _tool(tool: object) -> Plan:
    """Plan for a tool: what it authorizes itself with has to reach its server as it is."""
    return _MCP_TOOL if mapping_of(tool).get("type") == "mcp" else _TOOL


def _conversation(value: object) -> Plan:
    return opaque if isinstance(value, str) else known("id")


_FIELDS: Final[Mapping[str, Plan]] = {
    **SETTINGS,
    "stream": numbers,
    "include": each(opaque),
    "stream_options": known("include_obfuscation", "include_usage"),
    "conversation": _conversation,
    "tools": each(_tool),
    "context_management": each(known("type", "compact_threshold")),
}


@dataclass(frozen=True, slots=True)
class _Lead:
    """The text of `instructions`, or an `input` that is a text: a message without an item."""

    role: str
    text: str

    def item(self) -> dict[str, object]:
        return {"role": self.role, "content": self.text}


_Native: TypeAlias = "_Lead | object"


class ResponsesRequest(WireRequest):
    """A request to create a response, to count its tokens or to compact a conversation."""

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body
        self._owner = object()
        self._shown: list[Message] = []
        # for each message shown, the position of its native
        self._places: list[int] = []
        self._item_plans: dict[str, Plan] = {}
        self._tool_names: dict[str, str] = {}
        self._output_kinds: dict[str, str] = {}
        self._reasons: dict[str, None] = {}
        self.model: str = text_of(body.get("model")) or ""
        self.is_stream: bool = body.get("stream") is True
        read_request(self._read)
        self.messages: tuple[Message, ...] = tuple(self._shown)
        self._files: ReadFiles | None = None
        if FILE_DATA in self._reasons:
            self._files = read_request(lambda: read_files(body, "input"))
            if not self._files.has_others:
                del self._reasons[FILE_DATA]
        self.unscanned: tuple[str, ...] = tuple(self._reasons)
        self.tools: tuple[ToolDefinition, ...] = tuple(_definitions(body.get("tools")))

    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        """Return the body to send; see `WireRequest`."""
        body = self._body
        if rest is not None and rest != self.rest:
            files = self._files
            shown_body = body if files is None else files.body
            merged = read_request(lambda: merged_text(shown_body, self._plan, rest))
            body = cast("Mapping[str, object]", merged if files is None else files.written(merged))
        if not are_same(self.messages, messages):
            body = self._with_messages(body, messages)
        return body if model == self.model else {**body, "model": model}

    def _read(self) -> None:
        body = self._body
        self._note(body)
        instructions, given = body.get("instructions"), body.get("input")
        is_text = isinstance(instructions, str)
        plan: dict[str, Plan] = {**_FIELDS, "instructions": SKIP if is_text else None}
        if isinstance(instructions, str) and instructions:
            self._show(0, MessageRole.SYSTEM, instructions)
        if isinstance(given, str):
            plan["input"] = SKIP
            self._show(len(self._lead(body)) - 1, MessageRole.USER, given)
        elif isinstance(given, list):
            first = len(self._lead(body))
            for position, item in enumerate(cast("list[object]", given)):
                self._item_plans[str(position)] = self._read_item(first + position, item)
            plan["input"] = self._item_plans
        self._plan = plan

    def _rest_text(self) -> str:
        return rest_text(self._body if self._files is None else self._files.body, self._plan)

    @staticmethod
    def _lead(body: Mapping[str, object]) -> list[_Native]:
        """Return what stands before the items of the input."""
        instructions, given = body.get("instructions"), body.get("input")
        lead: list[_Native] = []
        if isinstance(instructions, str) and instructions:
            lead.append(_Lead("system", instructions))
        if isinstance(given, str):
            lead.append(_Lead("user", given))
        return lead

    def _show(
        self,
        place: int,
        role: MessageRole,
        content: str = "",
        parts: tuple[ContentPart, ...] | None = None,
        *,
        calls: tuple[ToolCall, ...] = (),
    ) -> None:
        message = Message(
            role=role,
            content=content,
            content_parts=parts,
            tool_calls=calls,
            origin=Origin(self._owner, len(self._shown)),
        )
        self._shown.append(message)
        self._places.append(place)

    def _show_result(
        self,
        place: int,
        item: Mapping[str, object],
        content: str = "",
        parts: tuple[ContentPart, ...] | None = None,
    ) -> None:
        call_id = text_of(item.get("call_id"))
        message = Message(
            role=MessageRole.TOOL,
            content=content,
            content_parts=parts,
            tool_call_id=call_id,
            tool_name=text_of(item.get("name")) or self._tool_names.get(call_id or ""),
            origin=Origin(self._owner, len(self._shown)),
        )
        self._shown.append(message)
        self._places.append(place)

    def _note(self, body: Mapping[str, object]) -> None:
        """Note what the server holds, and nobody sees here."""
        for name in ("previous_response_id", "conversation", "prompt", "background"):
            if body.get(name):
                self._reasons[name] = None
        for tool in mappings_of(body.get("tools")):
            if tool.get("type") == "mcp" and (tool.get("authorization") or tool.get("headers")):
                self._reasons["mcp_authorization"] = None

    def _read_item(self, place: int, item: object) -> Plan:
        """Show an item where it is a message, a call or its output; return the plan for the rest of it."""
        if not isinstance(item, dict):
            return None
        fields = cast("dict[str, object]", item)
        kind = fields.get("type")
        if kind is None:
            kind = "message" if "role" in fields else "item_reference" if fields.keys() == {"id"} else None
        if not isinstance(kind, str):
            return None
        if kind == "message":
            return self._read_message(place, fields)
        if kind in CALL_KINDS:
            return self._read_call(place, fields, kind)
        if kind in OUTPUT_KINDS.values():
            return self._read_output(place, fields, fields.get("output"))
        if kind in _TEXT_OUTPUTS and isinstance(fields.get("output"), str):
            return self._read_output(place, fields, fields["output"])
        if kind == "shell_call_output":
            return self._read_shell_output(place, fields)
        self._note_item(kind, fields)
        return INPUT_ITEMS.get(kind)

    def _read_message(self, place: int, item: dict[str, object]) -> Plan:
        role, content = item.get("role"), item.get("content")
        ours = _ROLES.get(role) if isinstance(role, str) else None
        if ours is None:
            return None
        if isinstance(content, str):
            self._show(place, ours, content)
            return _MESSAGE
        if not isinstance(content, list):
            return None
        self._show(place, ours, parts=self._parts(cast("list[object]", content)))
        return _MESSAGE_OF_PARTS

    def _read_call(self, place: int, item: dict[str, object], kind: str) -> Plan:
        call_id, name = item.get("call_id"), item.get("name")
        text_name = "arguments" if kind == "function_call" else "input"
        text = item.get(text_name)
        if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(text, str):
            return None
        self._tool_names[call_id] = name
        self._output_kinds[call_id] = OUTPUT_KINDS[kind]
        call = ToolCall(id=call_id, name=name, arguments_json=text)
        self._show(place, MessageRole.ASSISTANT, calls=(call,))
        return _CALLS[text_name]

    def _read_output(self, place: int, item: dict[str, object], output: object) -> Plan:
        if isinstance(output, str):
            self._show_result(place, item, output)
            return _OUTPUT
        if isinstance(output, list):
            self._show_result(place, item, parts=self._parts(cast("list[object]", output)))
            return _OUTPUT_OF_PARTS
        return None

    def _read_shell_output(self, place: int, item: dict[str, object]) -> Plan:
        output = item.get("output")
        if not isinstance(output, list):
            return None
        texts: list[str] = []
        for entry in cast("list[object]", output):
            for stream in _SHELL_STREAMS:
                text = mapping_of(entry).get(stream)
                if not isinstance(text, str):
                    return None
                texts.append(text)
        parts = tuple(TextPart(text) for text in texts if text)
        self._show_result(place, item, parts=parts)
        return _SHELL_OUTPUT

    def _parts(self, content: list[object]) -> tuple[ContentPart, ...]:
        parts: list[ContentPart] = []
        for part in content:
            key = text_key(part)
            fields = mapping_of(part)
            if key is not None:
                parts.append(TextPart(cast("str", fields[key])))
            elif fields:
                url = text_of(fields.get("image_url"))
                if fields.get("type") == "input_image" and url:
                    parts.append(image_at(url, fields.get("detail")))
                self._note_part(fields)
        return tuple(parts)

    def _note_part(self, part: Mapping[str, object]) -> None:
        for name in ("file_id", "file_data", "file_url", "input_audio"):
            if part.get(name):
                self._reasons[name] = None

    def _note_item(self, kind: str, item: dict[str, object]) -> None:
        if kind == "item_reference":
            self._reasons["item_reference"] = None
        elif item.get("encrypted_content"):
            self._reasons["encrypted_content"] = None
        elif kind == "computer_call_output":
            self._note_part(mapping_of(item.get("output")))

    def _with_messages(self, body: Mapping[str, object], messages: Sequence[Message]) -> Mapping[str, object]:
        given = body.get("input")
        if given is not None and not isinstance(given, (str, list)):
            raise no_place("a message beside an input that is no list")
        natives = self._lead(body)
        if isinstance(given, list):
            natives.extend(cast("list[object]", given))
        positions = self._positions(messages)
        placed = [None if position is None else self._places[position] for position in positions]
        written: list[_Native] = []
        for slot in woven(len(natives), self._shown_or_gone(natives, placed), placed):
            native = None if slot.native is None else natives[slot.native]
            if slot.ours is None:
                written.append(native)
            else:
                written.extend(self._items(native, positions[slot.ours], messages[slot.ours]))
        return _with_natives(body, written)

    def _positions(self, messages: Sequence[Message]) -> list[int | None]:
        """Return what the messages stand for; another result of the same call takes the place of the first."""
        positions = positions_of(self.messages, messages, self._owner)
        taken = set(positions)
        free: dict[str | None, int] = {
            shown.tool_call_id: position
            for position, shown in enumerate(self.messages)
            if shown.role is MessageRole.TOOL and shown.tool_call_id is not None and position not in taken
        }
        return [
            free.pop(message.tool_call_id, None)
            if position is None and message.role is MessageRole.TOOL
            else position
            for position, message in zip(positions, messages, strict=True)
        ]

    def _items(self, native: _Native, position: int | None, message: Message) -> Iterator[_Native]:
        if position is None:
            yield from items_of(message, self._output_kinds)
            return
        shown = self.messages[position]
        if message == shown:
            yield native
        elif isinstance(native, _Lead):
            if message.content_parts is None and not message.tool_calls:
                yield _Lead(native.role, message.content)
            else:
                yield from items_of(message, self._output_kinds)
        else:
            yield from rewritten_items(cast("dict[str, object]", native), shown, message)

    def _shown_or_gone(self, natives: Sequence[_Native], placed: Sequence[int | None]) -> set[int]:
        """Return the natives that do not stay by themselves.

        These are all that were shown, and of the others those that the format refuses alone: reasoning of which
        all that followed is gone, and calls whose output is gone.
        """
        shown = set(self._places)
        gone = shown.difference(placed)
        gone_calls = {
            message.tool_call_id
            for place, message in zip(self._places, self.messages, strict=True)
            if place in gone and message.role is MessageRole.TOOL
        }
        assistant = {
            place
            for place, message in zip(self._places, self.messages, strict=True)
            if message.role is MessageRole.ASSISTANT
        }
        loose: set[int] = set()
        for place, native in enumerate(natives):
            if place in shown or not isinstance(native, dict):
                continue
            fields = cast("dict[str, object]", native)
            if fields.get("type") == "reasoning":
                if _has_lost_all(natives, place, assistant, gone):
                    loose.add(place)
            elif isinstance(fields.get("call_id"), str) and fields["call_id"] in gone_calls:
                loose.add(place)
        return shown | loose


def _has_lost_all(natives: Sequence[_Native], place: int, assistant: set[int], gone: set[int]) -> bool:
    """Tell whether reasoning was followed by the assistant's items, and all of these are gone."""
    follower = place + 1
    while follower < len(natives) and mapping_of(natives[follower]).get("type") == "reasoning":
        follower += 1
    first = follower
    while follower in assistant:
        if follower not in gone:
            return False
        follower += 1
    return follower > first


def _with_natives(body: Mapping[str, object], written: list[_Native]) -> Mapping[str, object]:
    changed = dict(body)
    instructions = _take_instructions(written)
    if instructions is not None:
        changed["instructions"] = instructions.text
    elif body.get("instructions") and isinstance(body["instructions"], str):
        del changed["instructions"]
    only = written[0] if len(written) == 1 else None
    if isinstance(only, _Lead) and only.role == "user":
        changed["input"] = only.text
    elif written or "input" in body:
        changed["input"] = [native.item() if isinstance(native, _Lead) else native for native in written]
    return changed


def _take_instructions(written: list[_Native]) -> _Lead | None:
    """Take the instructions out of what is written, where nothing but other instructions precedes them."""
    for position, native in enumerate(written):
        if isinstance(native, _Lead):
            if native.role == "system":
                del written[position]
                return native
            return None
        if mapping_of(native).get("role") not in ("system", "developer"):
            return None
    return None


def _definitions(tools: object) -> Iterator[ToolDefinition]:
    for tool in mappings_of(tools):
        name = text_of(tool.get("name"))
        if tool.get("type") == "namespace":
            yield from _definitions(tool.get("tools"))
        elif name:
            parameters = tool.get("parameters")
            schema = cast("dict[str, object]", parameters) if isinstance(parameters, dict) else {}
            yield ToolDefinition(
                name=name, description=text_of(tool.get("description")) or "", input_schema=schema
            )
