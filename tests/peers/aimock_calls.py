"""The calls that are made to aimock, with a vendor's client that may be wrapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["CALLS", "SECRET", "Call"]

SECRET: Final = "123-45-6789"

_SCHEMA: Final = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "depth": {"type": "integer"}},
    "required": ["number", "depth"],
    "additionalProperties": False,
}
_CHAT_TOOL: Final = {"name": "look_up", "description": "Looks a number up.", "parameters": _SCHEMA}
_CHAT_TOOLS: Final = [{"type": "function", "function": {**_CHAT_TOOL, "strict": True}}]
_RESPONSES_TOOLS: Final = [{"type": "function", "strict": True, **_CHAT_TOOL}]
_MESSAGES_TOOLS: Final = [
    {"name": "look_up", "description": "Looks a number up.", "input_schema": {**_SCHEMA}},
]


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Args:
        vendor: Whose client makes it.
        name: What it is called in the output.
        make: Makes it, with headers to add; gives an answer, a stream, or a manager of one.
        retries: What `max_retries` of the client is.
        request_count: How many requests the server must have seen.
    """

    vendor: str
    name: str
    make: Callable[[Any, dict[str, str]], Any]
    retries: int = 0
    request_count: int = 1


def _chat(word: str, method: str = "create", **options: Any) -> Callable[[Any, dict[str, str]], Any]:
    messages = options.pop("messages", None) or [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"{word}: I am {SECRET}."},
    ]
    return lambda client, headers: getattr(client.chat.completions, method)(
        model="gpt-4o", messages=messages, extra_headers=headers, **options
    )


def _responses(word: str, method: str = "create", **options: Any) -> Callable[[Any, dict[str, str]], Any]:
    return lambda client, headers: getattr(client.responses, method)(
        model="gpt-4o", input=f"{word}: I am {SECRET}.", extra_headers=headers, **options
    )


def _messages(word: str, method: str = "create", **options: Any) -> Callable[[Any, dict[str, str]], Any]:
    messages = options.pop("messages", None) or [{"role": "user", "content": f"{word}: I am {SECRET}."}]
    if method != "count_tokens":
        options["max_tokens"] = 100
    return lambda client, headers: getattr(client.messages, method)(
        model="claude-sonnet-4-5", messages=messages, extra_headers=headers, **options
    )


def _embeddings(client: Any, headers: dict[str, str]) -> Any:
    texts = [f"embedded: I am {SECRET}.", "embedded"]
    return client.embeddings.create(model="text-embedding-3-small", input=texts, extra_headers=headers)


def _with_options(client: Any, headers: dict[str, str]) -> Any:
    return _chat("plain")(client.with_options(timeout=30), headers)


_CHAT_RESULT: Final = [
    {"role": "user", "content": "go on"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_9", "type": "function", "function": {"name": "look_up", "arguments": '{"depth": 1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_9", "content": f"It is {SECRET}."},
]
_MESSAGES_RESULT: Final = [
    {"role": "user", "content": "go on"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "call_9", "name": "look_up", "input": {"depth": 1}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call_9", "content": f"It is {SECRET}."}],
    },
]

_USAGE: Final = {"include_usage": True}

CALLS: Final = (
    Call("openai", "chat plain", _chat("plain")),
    Call("openai", "chat plain with_options", _with_options),
    Call("openai", "chat stream", _chat("plain", stream=True)),
    Call("openai", "chat stream with usage", _chat("plain", stream=True, stream_options=_USAGE)),
    Call("openai", "chat stream helper", _chat("plain", "stream")),
    Call("openai", "chat tools", _chat("tools", tools=_CHAT_TOOLS)),
    Call("openai", "chat tools stream", _chat("tools", stream=True, tools=_CHAT_TOOLS)),
    Call("openai", "chat tools stream helper", _chat("tools", "stream", tools=_CHAT_TOOLS)),
    Call("openai", "chat tools parse", _chat("tools", "parse", tools=_CHAT_TOOLS)),
    Call("openai", "chat mixed", _chat("mixed", tools=_CHAT_TOOLS)),
    Call("openai", "chat mixed stream", _chat("mixed", stream=True, tools=_CHAT_TOOLS)),
    Call("openai", "chat tool result", _chat("", messages=_CHAT_RESULT)),
    Call("openai", "chat unicode", _chat("unicode")),
    Call("openai", "chat unicode stream", _chat("unicode", stream=True)),
    Call("openai", "chat 429", _chat("busy")),
    Call("openai", "chat 429 stream", _chat("busy", stream=True)),
    Call("openai", "chat 500", _chat("broken")),
    Call("openai", "chat retried", _chat("once"), retries=1, request_count=2),
    Call("openai", "chat not found", _chat("nothing of that kind")),
    Call("openai", "responses plain", _responses("plain")),
    Call("openai", "responses stream", _responses("plain", stream=True)),
    Call("openai", "responses stream helper", _responses("plain", "stream")),
    Call("openai", "responses tools", _responses("tools", tools=_RESPONSES_TOOLS)),
    Call("openai", "responses tools stream", _responses("tools", stream=True, tools=_RESPONSES_TOOLS)),
    Call("openai", "responses mixed stream", _responses("mixed", stream=True, tools=_RESPONSES_TOOLS)),
    Call("openai", "responses unicode stream", _responses("unicode", stream=True)),
    Call("openai", "responses 429", _responses("busy")),
    Call("openai", "responses 429 stream", _responses("busy", stream=True)),
    Call("openai", "embeddings", _embeddings),
    Call("anthropic", "messages plain", _messages("plain", system="Be brief.")),
    Call("anthropic", "messages stream", _messages("plain", stream=True)),
    Call("anthropic", "messages stream helper", _messages("plain", "stream")),
    Call("anthropic", "messages tools", _messages("tools", tools=_MESSAGES_TOOLS)),
    Call("anthropic", "messages tools stream", _messages("tools", stream=True, tools=_MESSAGES_TOOLS)),
    Call("anthropic", "messages tools stream helper", _messages("tools", "stream", tools=_MESSAGES_TOOLS)),
    Call("anthropic", "messages mixed", _messages("mixed", tools=_MESSAGES_TOOLS)),
    Call("anthropic", "messages mixed stream", _messages("mixed", stream=True, tools=_MESSAGES_TOOLS)),
    Call("anthropic", "messages tool result", _messages("", messages=_MESSAGES_RESULT)),
    Call("anthropic", "messages unicode stream", _messages("unicode", stream=True)),
    Call("anthropic", "messages 429", _messages("busy")),
    Call("anthropic", "messages 429 stream", _messages("busy", stream=True)),
    Call("anthropic", "messages 500", _messages("broken")),
    Call("anthropic", "messages retried", _messages("once"), retries=1, request_count=2),
    # aimock has no such call: an error, and one that it keeps no record of
    Call("anthropic", "messages count_tokens", _messages("plain", "count_tokens"), request_count=0),
)
