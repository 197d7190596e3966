"""The request of `/chat/completions`: its messages as ours, all other text as the rest, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from tramapy.clients.codec import WireRequest, merged_text, rest_text
from tramapy.clients.file_texts import FILE_DATA, ReadFiles, read_files
from tramapy.clients.message_drafts import text_message
from tramapy.clients.nesting import read_request
from tramapy.clients.openai_calls import FUNCTION_CALL, calls_plan, read_calls, written_calls
from tramapy.clients.openai_content import (
    content_plan,
    has_other_content,
    read_content,
    unscanned_of,
    written_content,
)
from tramapy.clients.plans import each, identifier, numbers, opaque, shown, word
from tramapy.clients.rewriting import Origin, are_same, no_place, positions_of, woven
from tramapy.messages import Message, MessageRole, ToolDefinition
from tramapy.wire.json_values import mapping_of, mappings_of, text_of
from tramapy.wire.rest import SKIP, Plan

__all__ = ["ChatRequest", "declared_tools"]

# compared with, since a type checker would want a cast behind `type(value) is dict`, which costs 60 ns
_OBJECT: Final[Any] = dict
_ARRAY: Final[Any] = list

_ROLES: Final = {
    "system": MessageRole.SYSTEM,
    "developer": MessageRole.SYSTEM,
    "user": MessageRole.USER,
    "assistant": MessageRole.ASSISTANT,
    "tool": MessageRole.TOOL,
    "function": MessageRole.TOOL,
}


class ChatRequest(WireRequest):
    """A request of `/chat/completions`.

    Messages are shown where their role is known; of their content the texts and images, and of an assistant's
    tool calls those of functions.
    """

    unscanned: tuple[str, ...]

    messages: tuple[Message, ...]

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body
        self._owner = object()
        self._places: Sequence[int] = ()
        self.model: str = text_of(body.get("model")) or ""
        self.is_stream: bool = body.get("stream") is True
        self.tools: tuple[ToolDefinition, ...] = declared_tools(body)
        self._files: ReadFiles | None = None
        plain = self._read_plain(body.get("messages"))
        self._is_plain = plain is not None
        if plain is not None:
            self.messages, self.unscanned = tuple(plain), ()
            return
        self.messages, self.unscanned = read_request(self._read)
        if FILE_DATA in self.unscanned:
            self._files = read_request(lambda: read_files(body, "messages"))
            if not self._files.has_others:
                self.unscanned = tuple(reason for reason in self.unscanned if reason != FILE_DATA)

    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        """Return the body to send; see `WireRequest`."""
        body = self._body
        if rest is not None and rest != self.rest:
            files = self._files
            shown_body = body if files is None else files.body
            merged = read_request(lambda: merged_text(shown_body, _REQUEST, rest))
            body = cast("Mapping[str, object]", merged if files is None else files.written(merged))
        if not are_same(self.messages, messages):
            body = {**body, "messages": self._written(body.get("messages"), messages)}
        if model != self.model:
            body = {**body, "model": model}
        return body

    def _read_plain(self, natives: Any) -> list[Message] | None:
        """Return messages of role and text alone; None where one is another."""
        if type(natives) is not _ARRAY:
            return None
        shown_messages: list[Message] = []
        owner = self._owner
        for native in natives:
            if type(native) is not _OBJECT or len(native) != 2:
                return None
            name: Any = native.get("role")
            content: Any = native.get("content")
            role = _ROLES.get(name) if type(name) is str else None
            if role is None or type(content) is not str:
                return None
            shown_messages.append(text_message(role, content, Origin(owner, len(shown_messages))))
        self._places = range(len(shown_messages))
        return shown_messages

    def _read(self) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        natives = self._body.get("messages")
        shown_messages: list[Message] = []
        unscanned: set[str] = set()
        tool_names: dict[str, str] = {}
        places: list[int] = []
        if isinstance(natives, list):
            for place, native in enumerate(cast("list[object]", natives)):
                item = mapping_of(native)
                role = _role_of(item)
                if role is None:
                    continue
                origin = Origin(self._owner, len(shown_messages))
                places.append(place)
                content = item.get("content")
                if len(item) == 2 and isinstance(content, str):
                    shown_messages.append(text_message(role, content, origin))
                    continue
                shown_messages.append(_shown(item, role, tool_names, origin))
                unscanned.update(unscanned_of(content))
                if item.get("audio"):
                    unscanned.add("audio")
        self._places = places
        return tuple(shown_messages), tuple(sorted(unscanned))

    def _rest_text(self) -> str:
        body = self._body if self._files is None else self._files.body
        if self._is_plain:
            # messages of role and text alone have no rest
            body = {name: value for name, value in body.items() if name != "messages"}
        return rest_text(body, _REQUEST)

    def _written(self, natives: object, messages: Sequence[Message]) -> list[object]:
        items = cast("list[object]", natives) if isinstance(natives, list) else []
        positions = positions_of(self.messages, messages, self._owner)
        places = [None if position is None else self._places[position] for position in positions]
        system_role = "developer" if any(_speaks_as_developer(item) for item in items) else "system"
        written: list[object] = []
        for slot in woven(len(items), set(self._places), places):
            if slot.ours is None:
                written.append(items[cast("int", slot.native)])
                continue
            message, position = messages[slot.ours], positions[slot.ours]
            if slot.native is None or position is None:
                written.append(_new_message(message, system_role))
            else:
                written.append(_rewritten(items[slot.native], self.messages[position], message))
        return written


def declared_tools(body: Mapping[str, object]) -> tuple[ToolDefinition, ...]:
    """Return the functions and other tools that a request declares by name."""
    if not body.get("tools") and not body.get("functions"):
        return ()
    found: list[ToolDefinition] = []
    functions = [mapping_of(tool.get("function")) for tool in mappings_of(body.get("tools"))]
    others = [mapping_of(tool.get("custom")) for tool in mappings_of(body.get("tools"))]
    for function in (*functions, *others, *mappings_of(body.get("functions"))):
        name = text_of(function.get("name"))
        if name:
            schema = mapping_of(function.get("parameters"))
            description = text_of(function.get("description")) or ""
            found.append(ToolDefinition(name=name, description=description, input_schema=schema))
    return tuple(found)


def _role_of(item: Mapping[str, object]) -> MessageRole | None:
    role = item.get("role")
    return _ROLES.get(role) if isinstance(role, str) else None


def _speaks_as_developer(item: object) -> bool:
    return mapping_of(item).get("role") == "developer"


def _shown(
    item: Mapping[str, object], role: MessageRole, tool_names: dict[str, str], origin: Origin
) -> Message:
    content = read_content(item.get("content"))
    if role is MessageRole.ASSISTANT:
        calls = read_calls(item.get("tool_calls")).calls
        tool_names.update((call.id, call.name) for call in calls)
        return Message(
            role=role,
            content=content.content,
            content_parts=content.parts,
            tool_calls=calls,
            origin=origin,
        )
    call_id = tool_name = None
    if role is MessageRole.TOOL:
        call_id = text_of(item.get("tool_call_id"))
        tool_name = text_of(item.get("name")) if call_id is None else tool_names.get(call_id)
    return Message(
        role=role,
        content=content.content,
        content_parts=content.parts,
        tool_call_id=call_id,
        tool_name=tool_name,
        origin=origin,
    )


def _rewritten(native: object, before: Message, after: Message) -> object:
    if after == before:
        return native
    item = dict(mapping_of(native))
    if has_other_content(before, after):
        item["content"] = written_content(item.get("content"), before, after)
    if after.tool_calls != before.tool_calls:
        _check_calls(after)
        item["tool_calls"] = written_calls(item.get("tool_calls"), before.tool_calls, after.tool_calls)
        if not item["tool_calls"]:
            # an empty array is refused
            del item["tool_calls"]
    return item


def _new_message(message: Message, system_role: str) -> dict[str, object]:
    _check_calls(message)
    role = system_role if message.role is MessageRole.SYSTEM else message.role.value
    item: dict[str, object] = {"role": role, "content": written_content(None, None, message)}
    if message.role is MessageRole.TOOL:
        if message.tool_call_id is None:
            raise no_place("a new TOOL message without tool_call_id")
        item["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        item["content"] = item["content"] or None
        item["tool_calls"] = written_calls(None, (), message.tool_calls)
    return item


def _check_calls(message: Message) -> None:
    if message.tool_calls and message.role is not MessageRole.ASSISTANT:
        raise no_place("tool_calls in a message that is no ASSISTANT message")


def _message_plan(value: object) -> Plan:
    item = mapping_of(value)
    role = _role_of(item)
    if role is None:
        return None
    if len(item) == 2 and isinstance(item.get("content"), str):
        return SKIP
    return _BY_ROLE.get(cast("str", item["role"]), _MESSAGE)


def _tool_plan(value: object) -> Plan:
    kind = mapping_of(value).get("type")
    return _TOOLS.get(kind) if isinstance(kind, str) else None


def _logit_bias(value: object) -> Plan:
    # its names are the numbers of tokens
    is_known = isinstance(value, dict) and all(map(_is_bias, cast("dict[str, object]", value).items()))
    return SKIP if is_known else None


def _is_bias(item: tuple[str, object]) -> bool:
    name, value = item
    return name.isascii() and name.isdigit() and isinstance(value, (int, float))


def _choice_plan(value: object) -> Plan:
    return word(value) if isinstance(value, str) else _CHOICE


_MESSAGE: Final[Mapping[str, Plan]] = {"role": opaque, "content": content_plan}
_BY_ROLE: Final[Mapping[str, Plan]] = {
    "assistant": {
        **_MESSAGE,
        "tool_calls": calls_plan,
        "function_call": FUNCTION_CALL,
        "audio": {"id": opaque},
    },
    "tool": {**_MESSAGE, "tool_call_id": opaque},
    "function": {**_MESSAGE, "name": identifier},
}
_NAMED: Final[Mapping[str, Plan]] = {"name": identifier}
_CHOICE: Final[Plan] = {"type": word, "function": _NAMED, "custom": _NAMED, **_NAMED, "mode": word}
_TOOLS: Final[Mapping[str, Plan]] = {
    "function": {"type": word, "function": _NAMED},
    "custom": {"type": word, "custom": _NAMED},
}
_REQUEST: Final[Plan] = {
    "model": shown,
    "messages": each(_message_plan),
    "stream_options": numbers,
    "tools": each(_tool_plan),
    "functions": each(_NAMED),
    "tool_choice": _choice_plan,
    "function_call": _choice_plan,
    "response_format": {"type": word, "json_schema": {"name": word}},
    "reasoning_effort": word,
    "verbosity": word,
    "service_tier": word,
    "modalities": each(word),
    "audio": {"voice": word, "format": opaque},
    "prediction": {"type": word},
    "logit_bias": _logit_bias,
    "seed": numbers,
    "max_tokens": numbers,
    "max_completion_tokens": numbers,
    "moderation": {"model": opaque},
    "web_search_options": {"search_context_size": word},
    "prompt_cache_retention": word,
    "prompt_cache_options": {"mode": word},
}
