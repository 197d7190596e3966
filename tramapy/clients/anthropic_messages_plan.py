"""Which places of `/v1/messages` are known: shown as messages or responses, or no text. All else is inspected as it is.

A plan skips a place only where its value has the type that it should have: an object where an id was due is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

from tramapy.clients.plans import credential, each, numbers, opaque, shown, word
from tramapy.wire.json_values import mapping_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = [
    "ANSWER",
    "BATCH",
    "BATCH_ANSWER",
    "COUNT_ANSWER",
    "EVENTS",
    "REQUEST",
    "SERVER_CALLS",
    "is_call",
    "is_inline_image",
    "is_result",
    "is_text",
    "is_url_image",
    "other_texts",
]

Block: TypeAlias = Mapping[str, object]

ROLES: Final = frozenset(("user", "assistant", "system"))

# what a block or a part of one says that it is; any other word is inspected
_TYPES: Final = frozenset(
    (
        "advisor_result",
        "advisor_tool_result",
        "bash_code_execution_output",
        "bash_code_execution_result",
        "bash_code_execution_tool_result",
        "bash_code_execution_tool_result_error",
        "browser_state",
        "char_location",
        "code_execution_output",
        "code_execution_result",
        "code_execution_tool_result",
        "code_execution_tool_result_error",
        "compaction",
        "container_upload",
        "content_block_location",
        "document",
        "encrypted_code_execution_result",
        "fallback",
        "image",
        "mcp_tool_listing",
        "mcp_tool_result",
        "page_location",
        "search_result",
        "search_result_location",
        "text",
        "text_editor_code_execution_create_result",
        "text_editor_code_execution_str_replace_result",
        "text_editor_code_execution_tool_result",
        "text_editor_code_execution_tool_result_error",
        "text_editor_code_execution_view_result",
        "tool_reference",
        "tool_search_tool_result",
        "tool_search_tool_result_error",
        "tool_search_tool_search_result",
        "web_fetch_result",
        "web_fetch_tool_result",
        "web_fetch_tool_result_error",
        "web_search_result",
        "web_search_result_location",
        "web_search_tool_result",
        "web_search_tool_result_error",
    )
)


def _shown_object(value: object) -> Plan:
    return SKIP if isinstance(value, dict) else None


def _text_or_each(plan: Plan) -> Callable[[object], Plan]:
    planned: Mapping[str, Plan] = {EACH: plan}
    return lambda value: SKIP if isinstance(value, str) else planned if isinstance(value, list) else None


_CACHE: Final[Plan] = {"type": opaque, "ttl": opaque}
_CALLER: Final[Plan] = {"type": opaque, "tool_id": opaque}

_CITATION: Final[Plan] = {
    "type": word,
    "encrypted_index": opaque,
    "file_id": opaque,
}


def is_text(block: Block) -> bool:
    """Tell whether a block's text is shown."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def is_call(block: Block) -> bool:
    """Tell whether a block is shown as a tool call."""
    return (
        block.get("type") == "tool_use"
        and isinstance(block.get("id"), str)
        and isinstance(block.get("name"), str)
        and isinstance(block.get("input"), dict)
    )


def is_result(block: Block) -> bool:
    """Tell whether a block is shown as the result of a tool."""
    return (
        block.get("type") == "tool_result"
        and isinstance(block.get("tool_use_id"), str)
        and isinstance(block.get("content", ""), (str, list))
    )


def is_inline_image(block: Block) -> bool:
    """Tell whether a block is an image with its data."""
    source = mapping_of(block.get("source"))
    return (
        block.get("type") == "image"
        and source.get("type") == "base64"
        and isinstance(source.get("media_type"), str)
        and bool(source["media_type"])
        and isinstance(source.get("data"), str)
    )


def is_url_image(block: Block) -> bool:
    """Tell whether a block is an image at an address."""
    source = mapping_of(block.get("source"))
    return block.get("type") == "image" and source.get("type") == "url" and isinstance(source.get("url"), str)


def _type(value: object) -> Plan:
    return SKIP if isinstance(value, str) and value in _TYPES else None


def _inner(value: object) -> Plan:
    """Plan a block whose text is not shown, or a list of such blocks."""
    if isinstance(value, list):
        return _INNER_LIST
    return _INNER if isinstance(value, dict) else None


def _source(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    kind = cast("dict[str, object]", value).get("type")
    return _SOURCES.get(kind) if isinstance(kind, str) else None


_SOURCES: Final[Mapping[object, Plan]] = {
    "text": {"type": opaque, "media_type": opaque},
    "base64": {"type": opaque, "media_type": opaque, "data": opaque},
    "url": {"type": opaque},
    "file": {"type": opaque, "file_id": opaque},
    "content": {"type": opaque, "content": _inner},
}

_INNER: Final[Plan] = {
    "type": _type,
    "tool_use_id": opaque,
    "file_id": opaque,
    "encrypted_content": opaque,
    "encrypted_stdout": opaque,
    "signature": opaque,
    "source": _source,
    "content": _inner,
    "citations": each(_CITATION),
    "cache_control": _CACHE,
    "caller": _CALLER,
}
_INNER_LIST: Final[Plan] = {EACH: _inner}

_TEXT: Final[Plan] = {
    "type": opaque,
    "text": shown,
    "citations": each(_CITATION),
    "cache_control": _CACHE,
}
_IMAGE: Final[Plan] = {"type": opaque, "source": _source, "cache_control": _CACHE}
# no `signature` of a type that is wrong: it would be no thinking that anybody signed
_THINKING: Final[Mapping[str, Plan]] = {"type": opaque, "signature": opaque}
_ANSWER_THINKING: Final[Plan] = {**_THINKING, "thinking": shown}
_REDACTED: Final[Plan] = {"type": opaque, "data": opaque}
_CALL: Final[Plan] = {
    "type": opaque,
    "id": opaque,
    "name": opaque,
    "input": _shown_object,
    "toolset_name": opaque,
    "cache_control": _CACHE,
    "caller": _CALLER,
}
_SERVER_CALL: Final[Plan] = {
    "type": opaque,
    "id": opaque,
    "name": opaque,
    "toolset_name": opaque,
    "cache_control": _CACHE,
    "caller": _CALLER,
}
SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
"""The blocks that are calls of the vendor's own tools."""


def _text_plan(block: Block) -> Plan:
    # by far the most blocks: nothing but its text
    return SKIP if len(block) == 2 else _TEXT


def _hidden_block(block: Block) -> Plan:
    """Plan a block that is not shown."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if kind == "image":
        return _IMAGE
    if kind == "thinking":
        return _THINKING
    if kind == "redacted_thinking":
        return _REDACTED
    if kind in SERVER_CALLS:
        return _SERVER_CALL
    return _INNER if kind in _TYPES else None


def _result_part(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    block = cast("dict[str, object]", value)
    return _text_plan(block) if is_text(block) else _hidden_block(block)


_RESULT: Final[Plan] = {
    "type": opaque,
    "tool_use_id": opaque,
    "content": _text_or_each(_result_part),
    "toolset_name": opaque,
    "cache_control": _CACHE,
}


def _user_block(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    block = cast("dict[str, object]", value)
    if is_text(block):
        return _text_plan(block)
    return _RESULT if is_result(block) else _hidden_block(block)


def _assistant_block(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    block = cast("dict[str, object]", value)
    if is_text(block):
        return _text_plan(block)
    return _CALL if is_call(block) else _hidden_block(block)


_system_block: Final = _result_part

_TURNS: Final[Mapping[str, Plan]] = {
    "user": {"role": opaque, "content": _text_or_each(_user_block)},
    "assistant": {"role": opaque, "content": _text_or_each(_assistant_block)},
    "system": {"role": opaque, "content": _text_or_each(_system_block)},
}


def _turn(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    turn = cast("dict[str, object]", value)
    role = turn.get("role")
    if not isinstance(role, str) or role not in ROLES:
        return None
    if len(turn) == 2 and isinstance(turn.get("content"), str):
        return SKIP
    return _TURNS[role]


_TOOL: Final[Plan] = {
    "type": opaque,
    "name": opaque,
    "cache_control": _CACHE,
}
_CONTAINER: Final[Plan] = {
    "id": opaque,
    "expires_at": opaque,
    "skills": each({"type": opaque, "skill_id": opaque, "version": opaque}),
}


def _container(value: object) -> Plan:
    return _CONTAINER if isinstance(value, dict) else opaque


REQUEST: Final[Plan] = {
    "model": opaque,
    "system": _text_or_each(_system_block),
    "messages": each(_turn),
    "service_tier": opaque,
    "inference_geo": opaque,
    "speed": opaque,
    "container": _container,
    "cache_control": _CACHE,
    "thinking": {"type": opaque, "display": opaque},
    "output_config": {"effort": opaque},
    "tool_choice": {"type": opaque, "name": opaque},
    "tools": each(_TOOL),
    # the caller's own credential for that server
    "mcp_servers": each({"type": opaque, "authorization_token": credential}),
    "diagnostics": {"previous_message_id": opaque},
}
"""For the body of a request."""

BATCH: Final[Plan] = {"requests": each({"custom_id": opaque, "params": REQUEST})}
"""For the body of a batch: a `custom_id` leads from an answer to its request, and is no text."""


def _answer_block(value: object) -> Plan:
    if not isinstance(value, dict):
        return None
    block = cast("dict[str, object]", value)
    return _ANSWER_THINKING if block.get("type") == "thinking" else _assistant_block(block)


def _opened_block(value: object) -> Plan:
    """Plan a block of a stream that is opened: the input of a call comes later, and what is there already is text."""
    block = cast("dict[str, object]", value)
    return _SERVER_CALL if block.get("type") == "tool_use" else _answer_block(block)


_DELTAS: Final[Mapping[object, Plan]] = {
    "text_delta": {"type": opaque, "text": shown},
    "thinking_delta": {"type": opaque, "thinking": shown},
    "input_json_delta": {"type": opaque, "partial_json": shown},
    "signature_delta": {"type": opaque, "signature": opaque},
    "citations_delta": {"type": opaque, "citation": _CITATION},
}


_is_name: Final = re.compile(r"[A-Za-z_]{1,64}\Z").match


def _delta(value: object) -> Plan:
    delta = cast("dict[str, object]", value)
    kind = delta.get("type")
    known = _DELTAS.get(kind) if isinstance(kind, str) else None
    return known or {"type": word, **dict.fromkeys(other_texts(delta), shown)}


def other_texts(delta: Mapping[str, object]) -> list[str]:
    """Return the fields of a delta of an unknown kind that are text: a delta goes on with what came before."""
    kind = delta.get("type")
    if not isinstance(kind, str) or kind in _DELTAS or word(kind) is not SKIP:
        return []
    return [
        name
        for name, item in delta.items()
        if name != "type" and item and isinstance(item, str) and _is_name(name)
    ]


def _number(value: object) -> Plan:
    return SKIP if isinstance(value, int) else None


_USAGE: Final[Plan] = {
    "input_tokens": _number,
    "output_tokens": _number,
    "cache_creation_input_tokens": _number,
    "cache_read_input_tokens": _number,
    "cache_creation": {"ephemeral_5m_input_tokens": _number, "ephemeral_1h_input_tokens": _number},
    "server_tool_use": numbers,
    "output_tokens_details": numbers,
    "service_tier": opaque,
    "inference_geo": opaque,
    "speed": opaque,
}

_STOP: Final[Mapping[str, Plan]] = {
    "stop_reason": opaque,
    "stop_details": {"type": opaque, "category": opaque, "explanation": shown},
    "container": _container,
}

# a message that is only announced: its content is inspected like what is not known
_MESSAGE_HEAD: Final[Mapping[str, Plan]] = {
    "id": opaque,
    "type": opaque,
    "role": opaque,
    "model": opaque,
    "usage": _USAGE,
    "container": _container,
}

ANSWER: Final[Plan] = {**_MESSAGE_HEAD, **_STOP, "content": each(_answer_block)}
"""For a whole message."""

EVENTS: Final[Mapping[str, Plan]] = {
    "message_start": {"type": opaque, "message": _MESSAGE_HEAD},
    "content_block_start": {"type": opaque, "index": opaque, "content_block": _opened_block},
    "content_block_delta": {"type": opaque, "index": opaque, "delta": _delta},
    "content_block_stop": {"type": opaque, "index": opaque},
    "message_delta": {"type": opaque, "delta": _STOP, "usage": _USAGE},
    "message_stop": {"type": opaque},
    "ping": {"type": opaque},
}
"""For the events of a stream, by their type."""

COUNT_ANSWER: Final[Plan] = {"input_tokens": _number}
"""For the answer of `/v1/messages/count_tokens`."""

BATCH_ANSWER: Final[Plan] = {
    "id": opaque,
    "type": opaque,
    "processing_status": opaque,
    "request_counts": dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), _number),
    "created_at": opaque,
    "expires_at": opaque,
    "archived_at": opaque,
    "cancel_initiated_at": opaque,
    "ended_at": opaque,
    "results_url": opaque,
}
"""For the answer of `/v1/messages/batches`."""
