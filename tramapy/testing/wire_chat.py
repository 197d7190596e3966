"""The wire format of `/v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tramapy.messages import FinishReason, ModelResponse, TokenUsage, ToolCall
from tramapy.testing.exchange import ErrorDetail, Exchange, SseFrame, json_bytes
from tramapy.testing.wire_values import CREATED_AT, finish_reason_of, text_of, without_none

__all__ = ["ChatWireFormat"]

_FINISH_REASONS: Final = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALLS: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.OTHER: "other",
}


class ChatWireFormat:
    """Writes chat completions, and their chunks with usage where the request asks for it."""

    path = "/v1/chat/completions"

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        """Write a plain answer."""
        message = without_none(
            role="assistant",
            content=text_of(response) or None,
            refusal=response.refusal,
            reasoning_content=response.reasoning,
            tool_calls=[_tool_call(call) for call in response.tool_calls] or None,
        )
        # a message without text says so
        message.setdefault("content", None)
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": _FINISH_REASONS[finish_reason_of(response)],
            "logprobs": None,
        }
        return without_none(
            **_envelope(exchange, response, "chat.completion"),
            choices=[choice],
            usage=_usage(response.usage),
        )

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        """Write a streamed answer: role, reasoning, text, refusal, tool calls, finish reason, usage, `[DONE]`."""
        envelope = _envelope(exchange, response, "chat.completion.chunk")
        for delta in _deltas(exchange, response):
            yield _chunk(envelope, delta)
        reason = _FINISH_REASONS[finish_reason_of(response)]
        yield _chunk(envelope, {}, finish_reason=reason, is_terminal=True)
        usage = _usage(response.usage)
        if _wants_usage(exchange) and usage is not None:
            yield _frame({**envelope, "choices": [], "usage": usage}, is_terminal=True)
        yield SseFrame(data=b"data: [DONE]\n\n", is_terminal=True)

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        """Write one content delta."""
        envelope = _envelope(exchange, ModelResponse(), "chat.completion.chunk")
        return _chunk(envelope, {"content": text})

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
        """Write an error object where a chunk was due."""
        return _frame(self.error_body(detail))


def _envelope(exchange: Exchange, response: ModelResponse, kind: str) -> dict[str, object]:
    return {
        "id": response.response_id or f"chatcmpl-{exchange.number:06d}",
        "object": kind,
        "created": CREATED_AT + exchange.number,
        "model": response.model or exchange.model,
    }


def _tool_call(call: ToolCall) -> dict[str, object]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_json},
    }


def _usage(usage: TokenUsage) -> dict[str, object] | None:
    """Write what is known of the usage; None where nothing is."""
    if usage == TokenUsage():
        return None
    return without_none(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        prompt_tokens_details=without_none(
            cached_tokens=usage.cache_read_tokens, cache_write_tokens=usage.cache_write_tokens
        )
        or None,
        completion_tokens_details=without_none(reasoning_tokens=usage.reasoning_tokens) or None,
    )


def _deltas(exchange: Exchange, response: ModelResponse) -> Iterator[dict[str, object]]:
    yield {"role": "assistant", "content": ""}
    for piece in exchange.split(response.reasoning or ""):
        yield {"reasoning_content": piece}
    for piece in exchange.split(text_of(response)):
        yield {"content": piece}
    for piece in exchange.split(response.refusal or ""):
        yield {"refusal": piece}
    for index, call in enumerate(response.tool_calls):
        opening = _tool_call(ToolCall(id=call.id, name=call.name, arguments_json=""))
        yield {"tool_calls": [{"index": index, **opening}]}
        for piece in exchange.split(call.arguments_json):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _chunk(
    envelope: Mapping[str, object],
    delta: Mapping[str, object],
    *,
    finish_reason: str | None = None,
    is_terminal: bool = False,
) -> SseFrame:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _frame({**envelope, "choices": [choice]}, is_terminal=is_terminal)


def _frame(value: object, *, is_terminal: bool = False) -> SseFrame:
    return SseFrame(data=b"data: " + json_bytes(value) + b"\n\n", is_terminal=is_terminal)


def _wants_usage(exchange: Exchange) -> bool:
    options = exchange.request.body.get("stream_options")
    return isinstance(options, Mapping) and options.get("include_usage") is True  # pyright: ignore[reportUnknownMemberType]
