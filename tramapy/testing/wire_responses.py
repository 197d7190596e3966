"""The wire format of `/v1/responses`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tramapy.messages import FinishReason, ModelResponse, TokenUsage, ToolCall
from tramapy.testing.exchange import ErrorDetail, Exchange, SseFrame, json_bytes
from tramapy.testing.wire_values import CREATED_AT, finish_reason_of, text_of, without_none

__all__ = ["ResponsesWireFormat"]

_INCOMPLETE: Final = {
    FinishReason.LENGTH: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
}

_Item = dict[str, object]


class ResponsesWireFormat:
    """Writes responses as output items, and the typed events of their stream."""

    path = "/v1/responses"

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        """Write a plain answer."""
        return _response(exchange, response, status=_status(response), output=_items(exchange, response))

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        """Write a streamed answer; each text comes as deltas, as done, and in the completed response."""
        event = _numbered()
        opened = _response(exchange, response, status="in_progress", output=[])
        yield event("response.created", {"response": opened})
        yield event("response.in_progress", {"response": opened})
        for index, item in enumerate(_items(exchange, response)):
            yield event("response.output_item.added", {"output_index": index, "item": _opened(item)})
            for name, fields in _progress(exchange, item):
                yield event(name, {"item_id": item["id"], "output_index": index, **fields})
            yield event("response.output_item.done", {"output_index": index, "item": item})
        whole = self.body(exchange, response)
        yield event(f"response.{_status(response)}", {"response": whole}, is_terminal=True)

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        """Write one text delta."""
        fields = {"item_id": f"msg_{exchange.number:06d}", "output_index": 0, "content_index": 0}
        return _numbered()("response.output_text.delta", {**fields, "delta": text, "logprobs": []})

    def error_body(self, detail: ErrorDetail) -> Mapping[str, object]:
        """Write `{"error": {...}}`."""
        return {
            "error": {
                "message": detail.message,
                "type": detail.error_type,
                "param": None,
                "code": detail.code,
            }
        }

    def error_frame(self, detail: ErrorDetail) -> SseFrame:
        """Write an `error` event."""
        return _numbered()("error", {"code": detail.code, "message": detail.message, "param": None})


def _response(exchange: Exchange, response: ModelResponse, *, status: str, output: list[_Item]) -> _Item:
    reason = _INCOMPLETE.get(response.finish_reason) if status == "incomplete" else None
    return {
        "id": response.response_id or f"resp_{exchange.number:06d}",
        "object": "response",
        "created_at": CREATED_AT + exchange.number,
        "status": status,
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "instructions": None,
        "metadata": {},
        "model": response.model or exchange.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None if status == "in_progress" else _usage(response.usage),
    }


def _status(response: ModelResponse) -> str:
    return "incomplete" if finish_reason_of(response) in _INCOMPLETE else "completed"


def _items(exchange: Exchange, response: ModelResponse) -> list[_Item]:
    items: list[_Item] = []
    if response.reasoning is not None:
        summary = [{"type": "summary_text", "text": response.reasoning}]
        items.append({"id": f"rs_{exchange.number:06d}", "type": "reasoning", "summary": summary})
    content: list[_Item] = []
    if text_of(response):
        content.append({"type": "output_text", "text": text_of(response), "annotations": [], "logprobs": []})
    if response.refusal is not None:
        content.append({"type": "refusal", "refusal": response.refusal})
    if content:
        status = "completed" if _status(response) == "completed" else "incomplete"
        message = {"type": "message", "role": "assistant", "status": status, "content": content}
        items.append({"id": f"msg_{exchange.number:06d}", **message})
    for index, call in enumerate(response.tool_calls):
        items.append(_call_item(f"fc_{exchange.number:06d}_{index}", call))
    return items


def _call_item(item_id: str, call: ToolCall) -> _Item:
    return {
        "id": item_id,
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments_json,
    }


def _usage(usage: TokenUsage) -> _Item | None:
    if usage == TokenUsage():
        return None
    return without_none(
        input_tokens=usage.input_tokens,
        input_tokens_details=without_none(
            cached_tokens=usage.cache_read_tokens, cache_write_tokens=usage.cache_write_tokens
        ),
        output_tokens=usage.output_tokens,
        output_tokens_details=without_none(reasoning_tokens=usage.reasoning_tokens),
        total_tokens=usage.total_tokens,
    )


def _opened(item: _Item) -> _Item:
    """Return an item as it is announced, before its content."""
    empty: dict[str, Mapping[str, object]] = {
        "reasoning": {"summary": []},
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
    }
    return {**item, **empty[str(item["type"])]}


def _progress(exchange: Exchange, item: _Item) -> Iterator[tuple[str, _Item]]:
    if item["type"] == "function_call":
        arguments = str(item["arguments"])
        for piece in exchange.split(arguments):
            yield "response.function_call_arguments.delta", {"delta": piece}
        done: _Item = {"arguments": arguments, "name": item["name"]}
        yield "response.function_call_arguments.done", done
        return
    is_reasoning = item["type"] == "reasoning"
    parts = item["summary" if is_reasoning else "content"]
    for index, part in enumerate(_as_items(parts)):
        where = {"summary_index" if is_reasoning else "content_index": index}
        yield from _part_progress(exchange, part, where)


def _part_progress(
    exchange: Exchange, part: _Item, where: Mapping[str, object]
) -> Iterator[tuple[str, _Item]]:
    kind = str(part["type"])
    key = "refusal" if kind == "refusal" else "text"
    text = str(part[key])
    container = "reasoning_summary_part" if kind == "summary_text" else "content_part"
    name = {"summary_text": "reasoning_summary_text"}.get(kind, kind)
    extra: _Item = {"logprobs": []} if kind == "output_text" else {}
    yield f"response.{container}.added", {**where, "part": {**part, key: ""}}
    for piece in exchange.split(text):
        yield f"response.{name}.delta", {**where, "delta": piece, **extra}
    yield f"response.{name}.done", {**where, key: text, **extra}
    yield f"response.{container}.done", {**where, "part": part}


def _as_items(parts: object) -> Iterable[_Item]:
    return parts if isinstance(parts, list) else ()  # pyright: ignore[reportUnknownVariableType]


def _numbered() -> Callable[..., SseFrame]:
    """Make a writer of events that numbers them."""
    count = 0

    def write(name: str, fields: Mapping[str, object], *, is_terminal: bool = False) -> SseFrame:
        nonlocal count
        value = {"type": name, "sequence_number": count, **fields}
        count += 1
        frame = b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"
        return SseFrame(data=frame, is_terminal=is_terminal)

    return write
