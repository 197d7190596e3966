"""`MessagesAnswer`: the typed events of a message, also of servers that write them otherwise."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.messages import (
    Chunk,
    CompletedChunk,
    FinishReason,
    ModelResponse,
    TextChunk,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from tramapy.providers.anthropic_messages_stream import MessagesAnswer
from tramapy.providers.stream_decoder import StreamDecoder


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(index: object = 0, **block: object) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(kind: str, index: object = 0, **fields: object) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def text(value: object) -> bytes:
    return delta("text_delta", text=value)


def end(reason: object = "end_turn", **details: object) -> bytes:
    return event("message_delta", delta={"stop_reason": reason, **details})


BEGIN = event(
    "message_start",
    message={
        "id": "r1",
        "model": "m1",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1},
    },
)
STOP = event("message_stop")


def chunks_of(*pieces: bytes) -> list[Chunk]:
    decoder = StreamDecoder(MessagesAnswer(), 100_000)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def response_of(*pieces: bytes) -> ModelResponse:
    last = chunks_of(*pieces)[-1]
    assert isinstance(last, CompletedChunk)
    return last.response


def test_each_piece_comes_at_once_and_then_the_whole() -> None:
    chunks = chunks_of(BEGIN, event("ping"), start(type="text", text=""), text("a"), text("b"), end(), STOP)

    usage = TokenUsage(input_tokens=8, output_tokens=1, cache_read_tokens=3)
    whole = ModelResponse(content="ab", usage=usage, model="m1", response_id="r1")
    assert chunks == [TextChunk("a"), TextChunk("b"), CompletedChunk(whole)]


def test_counts_are_running_totals() -> None:
    late = event(
        "message_delta",
        delta={"stop_reason": "end_turn"},
        usage={"input_tokens": None, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
    )

    assert response_of(BEGIN, late, end(), STOP).usage == TokenUsage(
        input_tokens=8, output_tokens=9, reasoning_tokens=4, cache_read_tokens=3
    )


def test_text_and_thought_may_stand_in_the_opening() -> None:
    pieces = [start(type="thinking", thinking="hm"), start(1, type="text", text="a"), end(), STOP]

    assert chunks_of(*pieces) == [
        TextChunk("a"),
        CompletedChunk(ModelResponse(content="a", reasoning="hm")),
    ]


def test_thoughts_are_joined_by_block_and_signatures_are_passed_over() -> None:
    pieces = [
        delta("thinking_delta", thinking="o"),
        delta("thinking_delta", thinking="ne"),
        delta("signature_delta", signature="s"),
        start(1, type="redacted_thinking", data="x"),
        delta("thinking_delta", 2, thinking="two"),
        end(),
        STOP,
    ]

    assert response_of(*pieces).reasoning == "one\n\ntwo"


CALL = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}


@pytest.mark.parametrize(
    ("block", "pieces", "arguments"),
    [
        (CALL, ['{"q":', " 1}"], '{"q": 1}'),
        (CALL, [], "{}"),
        (CALL, [""], "{}"),
        ({**CALL, "input": {"q": 1}}, [], '{"q": 1}'),
        ({**CALL, "input": None}, [], "{}"),
        (CALL, ["{bro"], "{bro"),
    ],
    ids=["pieces", "none", "empty", "at-once", "null", "broken"],
)
def test_call_comes_whole_at_the_end(block: dict[str, object], pieces: list[str], arguments: str) -> None:
    deltas = [delta("input_json_delta", partial_json=piece) for piece in pieces]
    chunks = chunks_of(start(**block), *deltas, end("tool_use"), STOP)

    call = ToolCall(id="c1", name="search", arguments_json=arguments)
    assert chunks[0] == ToolCallChunk(call)
    assert chunks[1] == CompletedChunk(
        ModelResponse(tool_calls=(call,), finish_reason=FinishReason.TOOL_CALLS)
    )


def test_blocks_of_other_kinds_are_passed_over() -> None:
    pieces = [
        start(type="server_tool_use", name="x"),
        delta("input_json_delta", partial_json='{"a": 1}'),
        delta("citations_delta", citation={}),
        event("content_block_stop", index=0),
        end("pause_turn"),
        STOP,
    ]

    assert chunks_of(*pieces) == [CompletedChunk(ModelResponse(finish_reason=FinishReason.OTHER))]


def test_refusal_comes_with_its_explanation() -> None:
    response = response_of(text("half"), end("refusal", stop_details={"explanation": "not this"}), STOP)

    assert (response.content, response.refusal) == ("half", "not this")
    assert response.finish_reason is FinishReason.CONTENT_FILTER


def test_nothing_counts_after_the_end() -> None:
    assert chunks_of(end(), STOP + text("b"), b"data: garbage\n\n") == [CompletedChunk(ModelResponse())]


def failure(*pieces: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        chunks_of(*pieces)
    return caught.value


@pytest.mark.parametrize(
    "pieces",
    [[BEGIN], [text("a"), end()], [text("a"), end(), b"data: [DONE]\n\n"], [text("a"), end(), STOP[:-1]]],
    ids=["begun", "no-stop", "end-mark-alone", "within-the-last-event"],
)
def test_stream_without_its_stop_is_cut(pieces: list[bytes]) -> None:
    error = failure(*pieces)

    assert (error.failure_code, error.retryable) == (ProviderFailureCode.STREAM_CUT, True)


@pytest.mark.parametrize(
    ("kind", "status", "code", "retryable"),
    [
        ("overloaded_error", 529, "HTTP_REJECTED", True),
        ("api_error", 500, "HTTP_REJECTED", True),
        ("timeout_error", 504, "HTTP_REJECTED", True),
        ("rate_limit_error", 429, "RATE_LIMITED", True),
        ("conflict_error", 409, "HTTP_REJECTED", True),
        ("request_too_large", 413, "HTTP_REJECTED", False),
        ("billing_error", 402, "HTTP_REJECTED", False),
        ("invalid_request_error", 400, "HTTP_REJECTED", False),
        ("unheard_of", 500, "HTTP_REJECTED", True),
    ],
    ids=str,
)
def test_error_in_the_stream_goes_by_its_type(kind: str, status: int, code: str, retryable: bool) -> None:
    error = failure(text("a"), event("error", error={"type": kind, "message": "secret"}))

    assert (error.status_code, error.retryable) == (status, retryable)
    assert error.failure_code is ProviderFailureCode[code]
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        *[(text(value), "has content that is no text") for value in (None, 5, {}, ["x"])],
        (start(type="text", text=5), "has content that is no text"),
        *[
            (delta("thinking_delta", thinking=value), "has reasoning that is no text")
            for value in (None, 5, {})
        ],
        (start(type="thinking", thinking=5), "has reasoning that is no text"),
        *[
            (delta("input_json_delta", partial_json=value), "has arguments that are no text")
            for value in (None, 5, {})
        ],
        *[
            (delta("text_delta", index, text="x"), "has a content block without an index")
            for index in (None, -1, "0", True, 1.0)
        ],
        (start(type="tool_use"), "has a tool call without a name"),
        (start(**{**CALL, "input": "x"}) + STOP, "has arguments that are no object"),
        (b"data: []\n\n", "is no JSON object"),
    ],
)
def test_event_of_the_wrong_form_is_an_invalid_answer(bad: bytes, complaint: str) -> None:
    error = failure(BEGIN, bad)

    assert error.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert str(error) == f"The provider's answer {complaint}."


@pytest.mark.parametrize("odd", [5, None, [], "x"], ids=repr)
def test_what_only_adds_to_an_answer_may_be_of_any_type(odd: object) -> None:
    pieces = [
        event("message_start", message=odd),
        event("message_delta", delta=odd, usage=odd),
        event("content_block_start", index=0, content_block=odd),
        event("content_block_delta", index=0, delta=odd),
        STOP,
    ]

    assert response_of(*pieces) == ModelResponse(finish_reason=FinishReason.OTHER)


@given(cuts=st.lists(st.integers(0, 900), max_size=8))
@settings(max_examples=100)
def test_every_split_of_the_body_gives_the_same_response(cuts: list[int]) -> None:
    body = b"".join([BEGIN, text("ä "), text("😀"), start(1, **CALL), end("tool_use"), STOP])
    places = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    pieces = [body[start_:stop] for start_, stop in itertools.pairwise(places)]

    assert chunks_of(*pieces) == chunks_of(body)
