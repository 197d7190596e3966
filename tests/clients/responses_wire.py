"""Responses of OpenAI's as JSON and as events, for the tests of the codec and of the SDK behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tramapy.clients.openai_responses import ResponsesCodec
from tramapy.engine.native import NativeEvent
from tramapy.wire.sse import SseDecoder, SseEvent, sse_frame

_BARE: dict[str, Any] = {"annotations": [], "logprobs": []}

USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 18,
}


def response(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    """A response as the API gives it, with what it echoes of the request."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt-x-2026-01-01",
        "output": list(output),
        "parallel_tool_calls": True,
        "reasoning": {"effort": "low", "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": USAGE if status == "completed" else None,
        **fields,
    }


def text_part(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], **fields}


def refusal_part(text: str) -> dict[str, Any]:
    return {"type": "refusal", "refusal": text}


def message(*parts: Any, item_id: str = "msg_1", status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": list(parts),
        **fields,
    }


def call(arguments: str, *, call_id: str = "call_1", name: str = "lookup", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        **fields,
    }


def custom_call(text: str, *, call_id: str = "call_c", name: str = "shout") -> dict[str, Any]:
    return {
        "id": f"ctc_{call_id}",
        "type": "custom_tool_call",
        "call_id": call_id,
        "name": name,
        "input": text,
    }


def mcp_call(arguments: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": "mcp_1",
        "type": "mcp_call",
        "status": "completed",
        "name": "search",
        "server_label": "docs",
        "arguments": arguments,
        **fields,
    }


def code_call(code: str) -> dict[str, Any]:
    return {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "status": "completed",
        "container_id": "cntr_1",
        "code": code,
        "outputs": None,
    }


def reasoning(
    *summary: str, content: Sequence[str] = (), item_id: str = "rs_1", **fields: Any
) -> dict[str, Any]:
    return {
        "id": item_id,
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in summary],
        **({"content": [{"type": "reasoning_text", "text": text} for text in content]} if content else {}),
        **fields,
    }


def in_pieces(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


def events_of(
    *items: dict[str, Any], end: str = "completed", length: int = 5, **fields: Any
) -> list[dict[str, Any]]:
    """The events of a stream, as the API sends them, without numbers."""
    events: list[dict[str, Any]] = []
    for kind in ("created", "in_progress"):
        events.append({"type": f"response.{kind}", "response": response(status="in_progress", **fields)})
    for index, item in enumerate(items):
        events.extend(_item_events(index, item, length))
    whole = response(*items, status=end, **fields)
    events.append({"type": f"response.{end}", "response": whole})
    return [{name: value for name, value in event.items() if name != "_length"} for event in events]


def _item_events(index: int, item: dict[str, Any], length: int) -> Iterator[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index, "_length": length}
    kind = item["type"]
    empty: dict[str, Any] = {**item, "status": "in_progress"}
    for name in ("content", "summary"):
        if name in item:
            empty[name] = []
    for name in ("arguments", "input", "code"):
        if name in item:
            empty[name] = ""
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    if kind == "message":
        yield from _parts(item["content"], place)
    elif kind == "reasoning":
        for at, part in enumerate(item["summary"]):
            where = {**place, "summary_index": at}
            yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
            yield from _text("reasoning_summary_text", part["text"], "text", where)
            yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
        yield from _parts(item.get("content", ()), place)
    elif kind == "function_call":
        yield from _text("function_call_arguments", item["arguments"], "arguments", place)
    elif kind == "custom_tool_call":
        yield from _text("custom_tool_call_input", item["input"], "input", place)
    elif kind == "mcp_call":
        yield {"type": "response.mcp_call.in_progress", **place}
        yield from _text("mcp_call_arguments", item["arguments"], "arguments", place)
        yield {"type": "response.mcp_call.completed", **place}
    elif kind == "code_interpreter_call":
        yield from _text("code_interpreter_call_code", item["code"], "code", place)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _parts(parts: Sequence[dict[str, Any]], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    names = {"output_text": ("output_text", "text"), "refusal": ("refusal", "refusal")}
    for at, part in enumerate(parts):
        where = {**place, "content_index": at}
        name, key = names.get(part["type"], ("reasoning_text", "text"))
        yield {"type": "response.content_part.added", **where, "part": {**part, key: "", **_BARE}}
        yield from _text(name, part[key], key, where)
        for number, annotation in enumerate(part.get("annotations", ())):
            yield {
                "type": "response.output_text.annotation.added",
                **where,
                "annotation_index": number,
                "annotation": annotation,
            }
        yield {"type": "response.content_part.done", **where, "part": part}


def _text(name: str, text: str, key: str, where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    extra = {"logprobs": []} if name == "output_text" else {}
    for piece in in_pieces(text, where["_length"]):
        yield {"type": f"response.{name}.delta", **where, "delta": piece, **extra, "obfuscation": "x1"}
    yield {"type": f"response.{name}.done", **where, key: text, **extra}


def sse_of(events: Sequence[dict[str, Any]]) -> bytes:
    """The events as a body, numbered."""
    return b"".join(
        sse_frame(event["type"], json.dumps({**event, "sequence_number": number}).encode())
        for number, event in enumerate(events)
    )


def parsed(body: bytes) -> list[dict[str, Any]]:
    """The data of the events of a body."""
    return [json.loads(event.data) for event in SseDecoder(1 << 24).feed(body)]


def natives_of(events: Sequence[dict[str, Any]], *, is_lookup: bool = False) -> list[NativeEvent]:
    """What the decoder makes of events."""
    decoder = ResponsesCodec(is_lookup=is_lookup).stream(1 << 24)
    return [native for event in SseDecoder(1 << 24).feed(sse_of(events)) for native in decoder.feed(event)]


def native_of(event: Any, name: str = "") -> NativeEvent:
    """What a fresh decoder makes of one event."""
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    (native,) = ResponsesCodec().stream(1 << 24).feed(SseEvent(name=name, data=data))
    return native
