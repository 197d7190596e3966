"""The wire format of `/v1/messages`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tramapy.messages import FinishReason, ModelResponse, TokenUsage
from tramapy.testing.exchange import ErrorDetail, Exchange, SseFrame, json_bytes
from tramapy.testing.wire_values import finish_reason_of, text_of, without_none

__all__ = ["MessagesWireFormat"]

_STOP_REASONS: Final = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALLS: "tool_use",
    FinishReason.CONTENT_FILTER: "refusal",
    FinishReason.OTHER: "pause_turn",
}

_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

_SIGNATURE: Final = "scripted-signature"


class MessagesWireFormat:
    """Writes messages as content blocks, and the events of their stream.

    A refusal is text with the stop reason `refusal`, and reasoning is a signed thinking block, because this
    format has no fields for them. Its input count leaves cached tokens out.
    """

    path = "/v1/messages"

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        """Write a plain answer."""
        blocks = [block for block, _ in _blocks(response)]
        message = _message(exchange, response, content=blocks, usage=_usage(response.usage))
        return {**message, "stop_reason": _stop_reason(response)}

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        """Write a streamed answer: start, blocks, the message's delta with the usage, stop."""
        usage = _usage(response.usage)
        opened = _message(exchange, response, content=[], usage={**usage, "output_tokens": 0})
        yield _frame("message_start", {"message": opened})
        for index, (block, text) in enumerate(_blocks(response)):
            yield _frame("content_block_start", {"index": index, "content_block": _emptied(block)})
            for delta in _deltas(str(block["type"]), exchange.split(text)):
                yield _frame("content_block_delta", {"index": index, "delta": delta})
            yield _frame("content_block_stop", {"index": index})
        end = {"stop_reason": _stop_reason(response), "stop_sequence": None}
        counts = {name: count for name, count in usage.items() if name.startswith("output_tokens")}
        yield _frame("message_delta", {"delta": end, "usage": counts}, is_terminal=True)
        yield _frame("message_stop", {}, is_terminal=True)

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        """Write one text delta."""
        del exchange  # this format's deltas name no message
        return _frame("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})

    def error_body(self, detail: ErrorDetail) -> Mapping[str, object]:
        """Write `{"type": "error", ...}`; the type follows from the status unless it is given."""
        kind = detail.error_type or _ERROR_TYPES.get(detail.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": detail.message}}

    def error_frame(self, detail: ErrorDetail) -> SseFrame:
        """Write an `error` event."""
        body = self.error_body(detail)
        return SseFrame(data=b"event: error\ndata: " + json_bytes(body) + b"\n\n")


def _message(
    exchange: Exchange,
    response: ModelResponse,
    *,
    content: list[dict[str, object]],
    usage: Mapping[str, object],
) -> dict[str, object]:
    return {
        "id": response.response_id or f"msg_{exchange.number:06d}",
        "type": "message",
        "role": "assistant",
        "model": response.model or exchange.model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop_reason(response: ModelResponse) -> str:
    return "refusal" if response.refusal is not None else _STOP_REASONS[finish_reason_of(response)]


def _blocks(response: ModelResponse) -> Iterator[tuple[dict[str, object], str]]:
    """Yield each content block, with the text that its deltas carry."""
    if response.reasoning is not None:
        thinking: dict[str, object] = {
            "type": "thinking",
            "thinking": response.reasoning,
            "signature": _SIGNATURE,
        }
        yield thinking, response.reasoning
    text = text_of(response) + (response.refusal or "")
    if text:
        yield {"type": "text", "text": text, "citations": None}, text
    for call in response.tool_calls:
        arguments: object = json.loads(call.arguments_json)
        yield (
            {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments},
            call.arguments_json,
        )


def _emptied(block: Mapping[str, object]) -> dict[str, object]:
    """Return a block as it is announced, before its content."""
    empty: dict[str, Mapping[str, object]] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[str(block["type"])]}


def _deltas(kind: str, pieces: Iterable[str]) -> Iterator[dict[str, object]]:
    delta_type, key = {
        "thinking": ("thinking_delta", "thinking"),
        "text": ("text_delta", "text"),
        "tool_use": ("input_json_delta", "partial_json"),
    }[kind]
    for piece in pieces:
        yield {"type": delta_type, key: piece}
    if kind == "thinking":
        yield {"type": "signature_delta", "signature": _SIGNATURE}


def _usage(usage: TokenUsage) -> dict[str, object]:
    """Write the usage; this format has no answer without one, so an unknown count is 0."""
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    return without_none(
        input_tokens=max(0, (usage.input_tokens or 0) - cached),
        output_tokens=usage.output_tokens or 0,
        cache_read_input_tokens=usage.cache_read_tokens,
        cache_creation_input_tokens=usage.cache_write_tokens,
        output_tokens_details=without_none(thinking_tokens=usage.reasoning_tokens) or None,
    )


def _frame(name: str, fields: Mapping[str, object], *, is_terminal: bool = False) -> SseFrame:
    value = {"type": name, **fields}
    return SseFrame(
        data=b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n", is_terminal=is_terminal
    )
