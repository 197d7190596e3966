"""A secret at every place of a request, an answer and a stream is inspected, whatever stands there.

Each node of an example is replaced in turn by a text, an object and an array with the secret. Where the format has
an id, a word of its own, or what nobody can read, a text passes, but an object or an array does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.native_calls import NativeCall, NativeProvider, sse_event
from tests.clients.test_anthropic_messages_answer import WHOLE as ANSWER
from tests.clients.test_anthropic_messages_request import (
    AT_ADDRESS,
    CACHE,
    CALL,
    DOCUMENT,
    PIXEL,
    RESULT,
    THINKING,
    assistant,
    body,
    text,
    user,
)
from tests.clients.test_anthropic_messages_stream import EVERYTHING
from tests.engine.doubles import Words
from tests.engine.stream_doubles import HoldBack
from tramapy import DlpInspectionError, ProviderError
from tramapy.clients.anthropic_messages import CountTokensCodec, MessageBatchesCodec, MessagesCodec
from tramapy.clients.codec import Codec
from tramapy.messages import ContentPart, Message, TextPart

SECRET = "4111-secret"
DLP = Words({SECRET: "[S]"})

# the last name of a path, where a text is no text
OPAQUE = frozenset(
    (
        *("id", "type", "role", "model", "name", "tool_use_id", "tool_id", "toolset_name", "custom_id"),
        *("signature", "data", "encrypted_content", "encrypted_stdout", "encrypted_index", "file_id"),
        *("media_type", "ttl", "service_tier", "effort", "container", "skill_id", "version", "display"),
        *("authorization_token", "previous_message_id", "stop_reason", "category", "index", "expires_at"),
        *("processing_status", "results_url", "created_at"),
    )
)

REQUEST = body(
    {"role": "user", "content": "hello"},
    {"role": "system", "content": "now be short"},
    assistant(
        THINKING,
        {"type": "redacted_thinking", "data": "x"},
        text("I look", cache_control=CACHE),
        text("there", citations=[{"type": "char_location", "cited_text": "it", "document_index": 0, "file_id": "f"}]),
        {**CALL, "toolset_name": "tools", "cache_control": CACHE},
        {"type": "server_tool_use", "id": "s1", "name": "search", "input": {"q": "q"}, "caller": {"type": "direct"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e"}],
        },
        {
            "type": "code_execution_tool_result",
            "tool_use_id": "s1",
            "content": {
                "type": "encrypted_code_execution_result",
                "encrypted_stdout": "e",
                "stderr": "e",
                "content": [{"type": "code_execution_output", "file_id": "f"}],
            },
        },
        {"type": "odd", "words": [{"a": "b"}]},
    ),
    user(
        {**RESULT, "cache_control": CACHE},
        {**RESULT, "tool_use_id": "t2", "content": [text("a"), DOCUMENT, {"type": "image", "source": PIXEL}]},
        DOCUMENT,
        {"type": "document", "source": {"type": "content", "content": [text("a")]}, "context": "c"},
        {"type": "document", "source": {"type": "content", "content": "all"}, "citations": {"enabled": True}},
        {"type": "document", "source": {"type": "url", "url": "https://a.example"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "search_result", "source": "s", "title": "t", "content": [text("a")], "citations": {"enabled": True}},
        {"type": "image", "source": PIXEL},
        AT_ADDRESS,
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "container_upload", "file_id": "f"},
        text("go on"),
    ),
    system=[text("be kind", cache_control=CACHE), DOCUMENT],
    tools=[
        {"name": "search", "description": "d", "input_schema": {"type": "object"}, "allowed_callers": ["direct"]},
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.example"]},
    ],
    metadata={"user_id": "u-1"},
    stop_sequences=["stop"],
    container={"id": "c", "skills": [{"type": "custom", "skill_id": "s", "version": "1"}]},
    service_tier="auto",
    thinking={"type": "enabled", "budget_tokens": 9, "display": "omitted"},
    output_config={"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    tool_choice={"type": "tool", "name": "search"},
    mcp_servers=[{"type": "url", "url": "https://a.example", "name": "n", "authorization_token": "t"}],
    diagnostics={"previous_message_id": "m"},
    betas=["b"],
)  # fmt: skip

Path = tuple[str | int, ...]


def paths(value: object, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every node below the root."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, item in items:
        yield (*at, name)
        yield from paths(item, (*at, name))


def planted(value: Any, path: Path, secret: object) -> Any:
    """Return a value with another node, and everything beside its path shared."""
    if not path:
        return secret
    changed = value.copy()
    changed[path[0]] = planted(value[path[0]], path[1:], secret)
    return changed


def is_opaque(path: Path) -> bool:
    names = [name for name in path if isinstance(name, str)]
    return bool(names) and names[-1] in OPAQUE


def variants(value: Any) -> Iterator[tuple[Path, Any]]:
    for path in paths(value):
        if not is_opaque(path):
            yield path, planted(value, path, SECRET)
        yield path, planted(value, path, {"x": SECRET})
        yield path, planted(value, path, {SECRET: 1})
        yield path, planted(value, path, [[SECRET]])


def sent(codec: Codec, value: Any) -> str:
    """Return what is sent of a request; nothing where the name of something is a secret, and cannot be changed."""
    request = codec.request(value)
    messages = [inspected(message) for message in request.messages]
    try:
        return json.dumps(request.encoded(messages, request.model, request.rest.replace(SECRET, "[S]")))
    except DlpInspectionError:
        assert re.search(f'"{SECRET}":', request.rest)
        return ""


def inspected(message: Message) -> Message:
    parts = message.content_parts
    return message.replace(
        content=message.content.replace(SECRET, "[S]"),
        content_parts=None if parts is None else [*map(inspected_part, parts)],
        tool_calls=[
            call.replace(arguments_json=call.arguments_json.replace(SECRET, "[S]"))
            for call in message.tool_calls
        ],
    )


def inspected_part(part: ContentPart) -> ContentPart:
    return TextPart(part.text.replace(SECRET, "[S]")) if isinstance(part, TextPart) else part


@pytest.mark.unmeasured
def test_nothing_of_a_request_is_sent_uninspected() -> None:
    for path, request in variants(REQUEST):
        if path[0] != "model":
            assert SECRET not in sent(MessagesCodec(), request), path


@pytest.mark.unmeasured
def test_nothing_of_a_batch_is_sent_uninspected() -> None:
    batch = {"requests": [{"custom_id": "one", "params": REQUEST}, {"custom_id": "two", "params": REQUEST}]}
    for path, request in variants(batch):
        if path[1:2] == (1,) and path[3:4] != ("model",) and len(path) < 5:
            assert SECRET not in sent(MessageBatchesCodec(), request), path


def test_what_is_unchanged_is_sent_as_it_came() -> None:
    for path, request in variants(REQUEST):
        read = MessagesCodec().request(request)
        assert read.encoded(read.messages, read.model, read.rest) is request, path


@pytest.mark.unmeasured
def test_what_is_said_again_is_written_as_it_was() -> None:
    for path, request in variants(REQUEST):
        read = MessagesCodec().request(request)
        messages = [message.replace() for message in read.messages[1:]]
        shorter = read.encoded(messages, read.model, read.rest)
        assert {name: item for name, item in shorter.items() if name not in ("messages", "system")} == {
            name: item for name, item in request.items() if name not in ("messages", "system")
        }, path


def test_nothing_of_an_answer_passes_uninspected() -> None:
    codec = MessagesCodec()
    for path, answer in variants(ANSWER):
        provider = NativeProvider(codec, answer)
        try:
            got = NativeCall(codec, provider, {"model": "m"}, dlp=DLP).answer()
        except (ProviderError, DlpInspectionError):
            continue
        assert SECRET not in json.dumps(got), path


@pytest.mark.parametrize(
    ("codec", "answer"),
    [
        (CountTokensCodec(), {"input_tokens": 3}),
        (MessageBatchesCodec(), {"id": "b", "request_counts": {"errored": 1}, "results_url": "u", "x": "y"}),
    ],
)
def test_nothing_of_another_answer_passes_uninspected(codec: Codec, answer: Any) -> None:
    for path, changed in variants(answer):
        provider = NativeProvider(codec, changed)
        call = NativeCall(codec, provider, {"model": "m", "requests": [{"params": {"model": "m"}}]}, dlp=DLP)
        try:
            got = call.answer()
        except DlpInspectionError:
            continue
        assert SECRET not in json.dumps(got), path


@pytest.mark.unmeasured
@pytest.mark.parametrize("dlp", [DLP, HoldBack({SECRET: "[S]"})], ids=["buffered", "incremental"])
def test_nothing_of_a_stream_passes_uninspected(dlp: Any) -> None:
    codec = MessagesCodec()
    for position, event in enumerate(EVERYTHING):
        for path, changed in variants(event):
            events = [*EVERYTHING[:position], changed, *EVERYTHING[position + 1 :]]
            provider = NativeProvider(codec, events=map(sse_event, events))
            try:
                body = NativeCall(codec, provider, {"model": "m"}, dlp=dlp).stream()
            except (ProviderError, DlpInspectionError):
                continue
            assert SECRET.encode() not in body, (position, path)
