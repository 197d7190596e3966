"""The wire format of OpenAI chat completions: requests to JSON, plain answers from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tramapy.messages import (
    ContentPart,
    ImageDetail,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers.request_parts import data_url, require_tool_call_ids, without_none
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import (
    arguments_of,
    invalid_answer,
    mapping_of,
    mappings_of,
    objects_of,
    text_of,
)
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.token_counts import chat_usage

__all__ = ["calls_of", "content_of", "decode_response", "encode_request", "reasoning_of", "refusal_of"]


def encode_request(request: ModelRequest, *, is_stream: bool) -> dict[str, object]:
    """Return a request's JSON fields; what is None is left to the provider.

    Instructions become a system message behind the leading ones.

    Raises:
        ConfigurationError: A TOOL message does not say which call it answers.
    """
    require_tool_call_ids(request.messages)
    fields: dict[str, object | None] = {
        "model": request.model,
        "messages": [_message(item) for item in _with_instructions(request)],
        "tools": [_tool(definition) for definition in request.tools] or None,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_completion_tokens": request.max_output_tokens,
    }
    if is_stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    return without_none(fields)


def decode_response(body: Mapping[str, object]) -> ModelResponse:
    """Read a plain answer: its first choice.

    Raises:
        ProviderError: There is no choice, something of it cannot be read, or the answer is an error.
    """
    rejection = rejection_in(body)
    if rejection is not None:
        raise rejection_error("with an error", rejection, 0.0)
    choice = _first_choice(mappings_of(body.get("choices")))
    message = mapping_of(choice.get("message"))
    if not message:
        raise invalid_answer("has no message")
    return ModelResponse(
        content=content_of(message.get("content")),
        tool_calls=tuple(_tool_call_of(call) for call in calls_of(message.get("tool_calls"))),
        refusal=refusal_of(message),
        reasoning=reasoning_of(message),
        usage=chat_usage(body.get("usage")),
        model=text_of(body.get("model")),
        finish_reason=chat_finish_reason(choice.get("finish_reason")),
        response_id=text_of(body.get("id")),
    )


def calls_of(value: object) -> Sequence[Mapping[str, object]]:
    """Return the tool calls of a message or delta, or parts of them.

    Raises:
        ProviderError: They are none: a call that is passed over would be an answer without it.
    """
    if not value:
        return ()
    return objects_of(value, "has a tool call that is no object")


def content_of(value: object) -> str:
    """Return the text of a message or delta; some compatible servers give it as parts.

    Raises:
        ProviderError: It is something else, or holds it.
    """
    if value is None or isinstance(value, str):
        return value or ""
    parts = mappings_of(value)
    texts = [part.get("text") for part in parts]
    is_list = isinstance(value, list) and len(parts) == len(cast("list[object]", value))
    if not is_list or not all(text is None or isinstance(text, str) for text in texts):
        raise invalid_answer("has content that is no text")
    return "".join(text for text in texts if isinstance(text, str))


def refusal_of(message: Mapping[str, object]) -> str | None:
    """Return the refusal of a message or delta.

    Raises:
        ProviderError: It is no text: an answer without it would look like one that was given.
    """
    refusal = message.get("refusal")
    if refusal is not None and not isinstance(refusal, str):
        raise invalid_answer("has a refusal that is no text")
    return refusal


def reasoning_of(message: Mapping[str, object]) -> str | None:
    """Return the reasoning of a message or delta; compatible servers know it under two names."""
    named = text_of(message.get("reasoning_content"))
    return text_of(message.get("reasoning")) if named is None else named


def _with_instructions(request: ModelRequest) -> tuple[Message, ...]:
    messages = request.messages
    if request.instructions is None:
        return messages
    leading = 0
    while leading < len(messages) and messages[leading].role is MessageRole.SYSTEM:
        leading += 1
    return (*messages[:leading], Message.system(request.instructions), *messages[leading:])


def _message(message: Message) -> dict[str, object]:
    fields: dict[str, object] = {"role": message.role.value, "content": _content(message)}
    if message.role is MessageRole.TOOL:
        fields["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        fields["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
        # an empty text beside tool calls is none
        fields["content"] = fields["content"] or None
    return fields


def _content(message: Message) -> str | list[dict[str, object]]:
    if message.content_parts is None:
        return message.content
    return [_part(part) for part in message.content_parts]


def _part(part: ContentPart) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    image: dict[str, object] = {"url": data_url(part)}
    if part.detail is not ImageDetail.AUTO:
        image["detail"] = part.detail.value
    return {"type": "image_url", "image_url": image}


def _tool_call(call: ToolCall) -> dict[str, object]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_json},
    }


def _tool(definition: ToolDefinition) -> dict[str, object]:
    function: dict[str, object] = {"name": definition.name, "parameters": definition.input_schema}
    if definition.description:
        function["description"] = definition.description
    return {"type": "function", "function": function}


def _first_choice(choices: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """Return the choice with index 0, or the first one where none says so."""
    return next((choice for choice in choices if choice.get("index") == 0), choices[0] if choices else {})


def _tool_call_of(call: Mapping[str, object]) -> ToolCall:
    function = mapping_of(call.get("function"))
    name = text_of(function.get("name"))
    if name is None:
        raise invalid_answer("has a tool call without a name")
    return ToolCall(
        id=text_of(call.get("id")) or "",
        name=name,
        arguments_json=arguments_of(function.get("arguments")),
    )
