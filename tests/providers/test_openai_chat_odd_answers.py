"""Answers of the wrong form: an error that says so, or the text that is there; never a part lost in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.messages import CompletedChunk, TextChunk, ToolCallChunk
from tramapy.providers.openai_chat_codec import decode_response
from tramapy.providers.openai_chat_stream import ChatAnswer
from tramapy.providers.stream_decoder import StreamDecoder

NO_TEXT = [5, True, {}, {"text": "x"}, [5], ["x"], [None], [{"type": "text", "text": 5}], 1.5]
NO_CALLS = [5, True, "x", {"id": "1"}, [5], [None], ["x"]]


def answer(message: Mapping[str, object], **choice: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}]}


def decoded(*deltas: Mapping[str, object]) -> list[Any]:
    """Decode a stream of these deltas."""
    decoder = StreamDecoder(ChatAnswer(), 10**6)
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return [*decoder.feed(body.encode()), *decoder.finish()]


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        *[("content", value, "has content that is no text") for value in NO_TEXT],
        *[("refusal", value, "has a refusal that is no text") for value in (5, True, {}, [], ["x"])],
        *[("tool_calls", value, "has a tool call that is no object") for value in NO_CALLS],
    ],
)
def test_a_part_of_the_wrong_type_is_an_invalid_answer(
    *, is_stream: bool, field: str, value: object, complaint: str
) -> None:
    message = {"role": "assistant", "content": "fine", field: value}
    with pytest.raises(ProviderError, match=f"^The provider's answer {complaint}.$") as caught:
        decoded(message) if is_stream else decode_response(answer(message))
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert caught.value.counts_on_breaker
    assert not caught.value.retryable


@pytest.mark.parametrize("value", [None, "", []], ids=repr)
def test_a_message_may_have_no_text(value: object) -> None:
    assert decode_response(answer({"role": "assistant", "content": value})).content == ""
    [completed] = decoded({"content": value})
    assert completed.response.content == ""


def test_text_in_parts_is_streamed_too() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "thinking"}, {"type": "text", "text": "two"}]
    first, completed = decoded({"content": parts})
    assert first == TextChunk("one two")
    assert isinstance(completed, CompletedChunk)
    assert completed.response.content == "one two"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("{}", "{}"), ({"a": 1}, '{"a": 1}'), ([1], "[1]"), (5, "5"), (False, "false")],
)
def test_arguments_are_kept_whatever_they_are(value: object, text: str) -> None:
    call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": value}}
    [plain] = decode_response(answer({"tool_calls": [call]})).tool_calls
    streamed = decoded({"tool_calls": [call]})[0]
    assert plain.arguments_json == text
    assert isinstance(streamed, ToolCallChunk)
    assert streamed.tool_call.arguments_json == text


@pytest.mark.parametrize(
    ("indices", "content"), [((1, 0), "of 0"), ((0, 1), "of 0"), ((2, 1), "of 2"), ((None, None), "of None")]
)
def test_of_several_choices_the_first_by_its_index_is_taken(indices: tuple[Any, ...], content: str) -> None:
    choices = [{"index": index, "message": {"content": f"of {index}"}} for index in indices]
    assert decode_response({"choices": choices}).content == content


def test_a_count_beyond_64_bits_is_none() -> None:
    body = {**answer({"content": "x"}), "usage": {"prompt_tokens": 2**63, "completion_tokens": 2**63 - 1}}
    usage = decode_response(body).usage
    assert usage.input_tokens is None
    assert usage.output_tokens == 2**63 - 1
