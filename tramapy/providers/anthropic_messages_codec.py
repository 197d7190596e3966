"""The wire format of Anthropic messages: requests to JSON, plain answers from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from tramapy.messages import (
    ContentPart,
    ImagePart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.request_parts import (
    image_source,
    json_object_of,
    require_images_where_they_may_be,
    require_tool_call_ids,
    without_none,
)
from tramapy.wire.finish_reasons import messages_finish_reason
from tramapy.wire.json_values import (
    invalid_answer,
    json_text_of,
    mapping_of,
    objects_of,
    required_text,
    text_of,
)
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.token_counts import messages_usage

__all__ = [
    "NAMELESS_CALL",
    "NO_REASONING",
    "NO_TEXT",
    "arguments_json_of",
    "decode_response",
    "encode_request",
    "refusal_of",
]

NO_TEXT: Final = "has content that is no text"
NO_REASONING: Final = "has reasoning that is no text"
NAMELESS_CALL: Final = "has a tool call without a name"

_Block = dict[str, object]


def encode_request(
    request: ModelRequest, *, is_stream: bool, default_max_output_tokens: int
) -> dict[str, object]:
    """Return a request's JSON fields; what is None is left to the provider.

    Args:
        request: The request.
        is_stream: Whether the answer should come in pieces.
        default_max_output_tokens: Sent where the request has no limit, because this format wants one.

    Raises:
        ConfigurationError: A TOOL message does not say which call it answers, or an image stands where this
            format has no place for it, or its data URL cannot be read.
    """
    require_tool_call_ids(request.messages)
    require_images_where_they_may_be(request.messages)
    limit = request.max_output_tokens
    return without_none(
        {
            "model": request.model,
            "max_tokens": default_max_output_tokens if limit is None else limit,
            "system": _system(request) or None,
            "messages": _turns(request.messages),
            "tools": [_tool(definition) for definition in request.tools] or None,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "stream": True if is_stream else None,
        }
    )


def decode_response(body: Mapping[str, object]) -> ModelResponse:
    """Read a plain answer; blocks of other kinds than text, thinking and tool calls are passed over.

    Raises:
        ProviderError: It is an error, or something of it cannot be read.
    """
    rejection = rejection_in(body, is_error=body.get("type") == "error")
    if rejection is not None:
        raise rejection_error("with an error", rejection, 0.0)
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for block in objects_of(body.get("content"), "has content that is no list of blocks"):
        kind = block.get("type")
        if kind == "text":
            texts.append(required_text(block.get("text"), NO_TEXT))
        elif kind == "thinking":
            thoughts.append(required_text(block.get("thinking"), NO_REASONING))
        elif kind == "tool_use":
            calls.append(_tool_call_of(block))
    return ModelResponse(
        content="".join(texts),
        tool_calls=tuple(calls),
        refusal=refusal_of(body.get("stop_details")),
        reasoning="\n\n".join(thoughts) if thoughts else None,
        usage=messages_usage(body.get("usage")),
        model=text_of(body.get("model")),
        finish_reason=messages_finish_reason(body.get("stop_reason")),
        response_id=text_of(body.get("id")),
    )


def refusal_of(stop_details: object) -> str | None:
    """Return how a refusal is explained; the words that came before it are content."""
    return text_of(mapping_of(stop_details).get("explanation"))


def arguments_json_of(value: object) -> str:
    """Return a call's arguments, which this format gives as an object, as JSON text.

    Raises:
        ProviderError: They are no object.
    """
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise invalid_answer("has arguments that are no object")
    return json_text_of(cast("object", value))


def _tool_call_of(block: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=text_of(block.get("id")) or "",
        name=required_text(block.get("name") or None, NAMELESS_CALL),
        arguments_json=arguments_json_of(block.get("input")),
    )


def _system(request: ModelRequest) -> list[_Block]:
    """Return the system prompt: every SYSTEM message, wherever it stands, and the instructions."""
    texts = [_texts(message) for message in request.messages if message.role is MessageRole.SYSTEM]
    return [_text(text) for text in (*texts, request.instructions or "") if not _is_blank(text)]


def _turns(messages: Iterable[Message]) -> list[dict[str, object]]:
    """Return the messages as turns that alternate; results of calls made together must stand together."""
    turns: list[tuple[str, list[_Block]]] = []
    for message in messages:
        if message.role is MessageRole.SYSTEM:
            continue
        role = "assistant" if message.role is MessageRole.ASSISTANT else "user"
        blocks = [*_blocks(message)]
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    return [{"role": role, "content": blocks} for role, blocks in turns]


def _blocks(message: Message) -> Iterator[_Block]:
    content = [*_content(message)]
    if message.role is MessageRole.TOOL:
        result: _Block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        yield {**result, "content": content} if content else result
        return
    yield from content
    for call in message.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}


def _content(message: Message) -> Iterator[_Block]:
    """Yield the blocks of a message's content, without blank texts: this API refuses them."""
    for part in message.content_parts or [TextPart(message.content)]:
        if isinstance(part, ImagePart):
            yield _image(part)
        elif not _is_blank(part.text):
            yield _text(part.text)


def _texts(message: Message) -> str:
    parts: Iterable[ContentPart] = message.content_parts or [TextPart(message.content)]
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def _text(text: str) -> _Block:
    return {"type": "text", "text": text}


def _image(image: ImagePart) -> _Block:
    inline = image_source(image)
    if inline is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    mime_type, data = inline
    return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}


def _input(call: ToolCall) -> Mapping[str, object]:
    """Return the arguments as the object that this format wants; what is none stands in one, as text."""
    if _is_blank(call.arguments_json):
        return {}
    arguments = json_object_of(call.arguments_json)
    return {"arguments_json": call.arguments_json} if arguments is None else arguments


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _tool(definition: ToolDefinition) -> _Block:
    fields: _Block = {"name": definition.name, "input_schema": definition.input_schema}
    if definition.description:
        fields["description"] = definition.description
    return fields
