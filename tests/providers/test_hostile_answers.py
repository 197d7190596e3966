"""Answers with anything in any place: a response, or a `ProviderError`, and never another error."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.errors import ProviderError
from tramapy.messages import CompletedChunk, FinishReason, ModelResponse, TextChunk, TokenUsage, ToolCall
from tramapy.providers import anthropic_messages_codec, openai_chat_codec, openai_responses_codec
from tramapy.providers.anthropic_messages_stream import MessagesAnswer
from tramapy.providers.openai_chat_stream import ChatAnswer
from tramapy.providers.openai_responses_stream import ResponsesAnswer
from tramapy.providers.stream_decoder import AnswerInParts, StreamDecoder
from tramapy.testing.exchange import Exchange, ServerRequest, WireFormat
from tramapy.testing.wire_chat import ChatWireFormat
from tramapy.testing.wire_messages import MessagesWireFormat
from tramapy.testing.wire_responses import ResponsesWireFormat

WHOLE = ModelResponse(
    content="one two",
    tool_calls=(ToolCall(id="c1", name="search", arguments_json='{"q": 1}'),),
    refusal="no",
    reasoning="hm",
    usage=TokenUsage(
        input_tokens=9, output_tokens=8, reasoning_tokens=3, cache_read_tokens=2, cache_write_tokens=1
    ),
    finish_reason=FinishReason.TOOL_CALLS,
    model="m",
    response_id="r1",
)

Decode = Callable[[Mapping[str, object]], ModelResponse]
FORMATS: dict[str, tuple[WireFormat, Decode, Callable[[], AnswerInParts]]] = {
    "chat": (ChatWireFormat(), openai_chat_codec.decode_response, ChatAnswer),
    "responses": (ResponsesWireFormat(), openai_responses_codec.decode_response, ResponsesAnswer),
    "messages": (MessagesWireFormat(), anthropic_messages_codec.decode_response, MessagesAnswer),
}
every_format = pytest.mark.parametrize("name", FORMATS)

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(2**64),
        st.floats(),
        st.sampled_from(["", "x", "error", "text", "tool_use", "completed", "failed", "\ud800"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def exchange(wire: WireFormat) -> Exchange:
    body = {"model": "m", "stream_options": {"include_usage": True}}
    return Exchange(request=ServerRequest(number=1, method="POST", path=wire.path, body=body), wire=wire)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value within a JSON value."""
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(value: Any, place: tuple[Any, ...], to: object) -> Any:
    """Return a copy with another value at one place."""
    copied = copy.deepcopy(value)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = to
    return copied


@every_format
@given(data=st.data())
@settings(max_examples=80)
def test_plain_answer_with_anything_in_one_place(name: str, data: st.DataObject) -> None:
    wire, decode, _ = FORMATS[name]
    body = json.loads(json.dumps(wire.body(exchange(wire), WHOLE)))
    place = data.draw(st.sampled_from([*places(body)]))
    with suppress(ProviderError):
        response = decode(changed(body, place, data.draw(JSON)))
        assert isinstance(response, ModelResponse)


@every_format
@given(data=st.data())
@settings(max_examples=80)
def test_stream_with_anything_in_one_place(name: str, data: st.DataObject) -> None:
    wire, _, answer = FORMATS[name]
    frames = [frame.data for frame in wire.frames(exchange(wire), WHOLE)]
    number = data.draw(st.integers(0, len(frames) - 1))
    head, _, text = frames[number].rpartition(b"data: ")
    if not text.startswith(b"{"):
        return
    event = json.loads(text)
    event = changed(event, data.draw(st.sampled_from([*places(event)])), data.draw(JSON))
    frames[number] = head + b"data: " + json.dumps(event).encode() + b"\n\n"
    decoder = StreamDecoder(answer(), 10**6)
    with suppress(ProviderError):
        chunks = [chunk for frame in frames for chunk in decoder.feed(frame)]
        chunks += decoder.finish()
        last = chunks[-1]
        assert isinstance(last, CompletedChunk)
        texts = [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]
        assert "".join(texts) == last.response.content
