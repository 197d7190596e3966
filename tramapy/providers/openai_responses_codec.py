"""The wire format of OpenAI responses: requests to JSON, whole answers from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tramapy.messages import (
    ContentPart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.request_parts import (
    data_url,
    require_images_where_they_may_be,
    require_tool_call_ids,
    without_none,
)
from tramapy.wire.finish_reasons import responses_finish_reason
from tramapy.wire.json_values import (
    arguments_of,
    invalid_answer,
    mapping_of,
    objects_of,
    required_text,
    text_of,
)
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.token_counts import responses_usage

__all__ = ["NO_TEXT", "decode_response", "encode_request"]

NO_TEXT: Final = "has content that is no text"


def encode_request(
    request: ModelRequest, *, is_stream: bool, store: bool | None = False
) -> dict[str, object]:
    """Return a request's JSON fields; what is None is left to the provider.

    Args:
        request: The request.
        is_stream: Whether the answer should come in pieces.
        store: Whether the provider may keep the answer for later calls.

    Raises:
        ConfigurationError: A TOOL message does not say which call it answers, or an image stands where this
            format has no place for it.
    """
    require_tool_call_ids(request.messages)
    require_images_where_they_may_be(request.messages)
    return without_none(
        {
            "model": request.model,
            "input": [item for message in request.messages for item in _items(message)],
            "instructions": request.instructions,
            "tools": [_tool(definition) for definition in request.tools] or None,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_output_tokens": request.max_output_tokens,
            "store": store,
            "stream": True if is_stream else None,
        }
    )


def decode_response(body: Mapping[str, object]) -> ModelResponse:
    """Read a whole answer.

    Raises:
        ProviderError: It is an error or did not end, or something of it cannot be read.
    """
    status = body.get("status")
    rejection = rejection_in(body, is_error=status == "failed")
    if rejection is not None:
        raise rejection_error("with an error", rejection, 0.0)
    if status not in (None, "completed", "incomplete"):
        raise invalid_answer("has a status that is no end")
    output = _Output()
    for item in objects_of(body.get("output"), "has output that is no list of items"):
        output.take(item)
    reason = mapping_of(body.get("incomplete_details")).get("reason")
    return ModelResponse(
        content="".join(output.texts),
        tool_calls=tuple(output.tool_calls),
        refusal="".join(output.refusals) if output.refusals else None,
        reasoning="\n\n".join(output.reasoning) if output.reasoning else None,
        usage=responses_usage(body.get("usage")),
        model=text_of(body.get("model")),
        finish_reason=responses_finish_reason(status, reason, has_tool_calls=bool(output.tool_calls)),
        response_id=text_of(body.get("id")),
    )


class _Output:
    """The texts and calls of the items so far; items of other kinds are passed over."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.refusals: list[str] = []
        self.reasoning: list[str] = []
        self.tool_calls: list[ToolCall] = []

    def take(self, item: Mapping[str, object]) -> None:
        kind = item.get("type")
        if kind == "message":
            for part in objects_of(item.get("content"), NO_TEXT):
                self._take_part(part)
        elif kind == "reasoning":
            # what was thought, where it is shown; else its summary
            texts = [*_texts(item.get("content"))] or [*_texts(item.get("summary"))]
            self.reasoning.extend(texts)
        elif kind == "function_call":
            self.tool_calls.append(_tool_call_of(item))

    def _take_part(self, part: Mapping[str, object]) -> None:
        kind = part.get("type")
        if kind == "output_text":
            self.texts.append(required_text(part.get("text"), NO_TEXT))
        elif kind == "refusal":
            self.refusals.append(required_text(part.get("refusal"), "has a refusal that is no text"))


def _texts(parts: object) -> Iterator[str]:
    if parts is None:
        return
    for part in objects_of(parts, "has reasoning that is no text"):
        yield required_text(part.get("text"), "has reasoning that is no text")


def _tool_call_of(item: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=text_of(item.get("call_id")) or text_of(item.get("id")) or "",
        name=required_text(item.get("name") or None, "has a tool call without a name"),
        arguments_json=arguments_of(item.get("arguments")),
    )


def _items(message: Message) -> Iterator[dict[str, object]]:
    """Yield the items that a message becomes: each tool call and each tool result is one of its own."""
    if message.role is MessageRole.TOOL:
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id,
            "output": _content(message),
        }
        return
    is_assistant = message.role is MessageRole.ASSISTANT
    content = _text(message) if is_assistant else _content(message)
    # an assistant's turn without text is its tool calls alone
    if content or not is_assistant:
        yield {"role": message.role.value, "content": content}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments_json,
        }


def _text(message: Message) -> str:
    """Return an assistant's text in one piece: as parts, this format takes only what it has sent itself."""
    parts = message.content_parts
    if parts is None:
        return message.content
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def _content(message: Message) -> str | list[dict[str, object]]:
    if message.content_parts is None:
        return message.content
    return [_part(part) for part in message.content_parts]


def _part(part: ContentPart) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": data_url(part), "detail": part.detail.value}


def _tool(definition: ToolDefinition) -> dict[str, object]:
    fields: dict[str, object] = {
        "type": "function",
        "name": definition.name,
        "parameters": definition.input_schema,
        # without it this format rewrites the schema, as chat completions do not
        "strict": False,
    }
    if definition.description:
        fields["description"] = definition.description
    return fields
