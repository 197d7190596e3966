"""Requests hold what the SDKs' own types say that the formats hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from tramapy.messages import (
    ImageDetail,
    ImagePart,
    Message,
    ModelRequest,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.providers import anthropic_messages_codec, openai_chat_codec, openai_responses_codec

IMAGE = ImagePart(data=b"x", mime_type="image/png")
CALLS = [
    ToolCall(id="c1", name="search", arguments_json='{"q": 1}'),
    ToolCall(id="c2", name="stop", arguments_json=""),
]
EVERYTHING = ModelRequest(
    model="m",
    messages=(
        Message.system("s"),
        Message.user("u"),
        Message.user(
            [TextPart("a"), IMAGE, ImagePart(url="http://127.0.0.1/i.png", detail=ImageDetail.HIGH)]
        ),
        Message.assistant("a", tool_calls=CALLS),
        Message.tool("t", tool_call_id="c1"),
        Message.tool("", tool_call_id="c2").replace(content_parts=[TextPart("t")]),
        Message.assistant().replace(content_parts=[TextPart("a"), TextPart("b")]),
        Message.system("later"),
        Message.user("and?"),
    ),
    tools=(ToolDefinition(name="search", description="d"), ToolDefinition(name="stop")),
    temperature=0.5,
    top_p=0.2,
    max_output_tokens=8,
    instructions="i",
)
FIELDS: dict[str, tuple[Any, Mapping[str, object]]] = {
    "chat": (
        CompletionCreateParamsNonStreaming,
        openai_chat_codec.encode_request(EVERYTHING, is_stream=False),
    ),
    "responses": (
        ResponseCreateParamsNonStreaming,
        openai_responses_codec.encode_request(EVERYTHING, is_stream=False),
    ),
    "messages": (
        MessageCreateParamsNonStreaming,
        anthropic_messages_codec.encode_request(EVERYTHING, is_stream=False, default_max_output_tokens=9),
    ),
}


def forced(value: object) -> object:
    """Read what is validated lazily: every iterable of the types."""
    if isinstance(value, Mapping):
        return {name: forced(item) for name, item in value.items()}
    is_lazy = type(value).__name__ == "ValidatorIterator"
    return [forced(item) for item in value] if is_lazy or isinstance(value, list) else value  # type: ignore[attr-defined]


@pytest.mark.parametrize(("kind", "fields"), FIELDS.values(), ids=FIELDS.keys())
def test_request_is_what_the_sdks_types_say(kind: Any, fields: Mapping[str, object]) -> None:
    adapter = pydantic.TypeAdapter(kind)
    read: Any = forced(adapter.validate_python(fields))

    assert read["model"] == "m"
    # the SDK's type has dropped these two, the API has not
    assert set(fields) - set(read) <= {"temperature", "top_p"}
