"""`ResponsesAnswer`: the typed events of a response, also of servers that leave some out."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.messages import Chunk, CompletedChunk, FinishReason, ModelResponse, TextChunk, ToolCall
from tramapy.providers.openai_responses_stream import ResponsesAnswer
from tramapy.providers.stream_decoder import StreamDecoder

TEXT_ITEM = {"type": "message", "content": [{"type": "output_text", "text": "one two"}]}
CALL_ITEM = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
CALL = ToolCall(id="c1", name="search", arguments_json="{}")


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def delta(text: object) -> bytes:
    return event("response.output_text.delta", delta=text)


def end(*output: object, kind: str = "response.completed", **fields: object) -> bytes:
    return event(kind, response={"id": "r1", "model": "m1", "output": [*output], **fields})


def chunks_of(*pieces: bytes) -> list[Chunk]:
    decoder = StreamDecoder(ResponsesAnswer(), 100_000)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def response_of(*pieces: bytes) -> ModelResponse:
    last = chunks_of(*pieces)[-1]
    assert isinstance(last, CompletedChunk)
    return last.response


WHOLE = ModelResponse(content="one two", model="m1", response_id="r1")


def test_each_piece_comes_at_once_and_then_the_whole() -> None:
    assert chunks_of(delta("one "), delta("two"), end(TEXT_ITEM)) == [
        TextChunk("one "),
        TextChunk("two"),
        CompletedChunk(WHOLE),
    ]


def test_kind_may_stand_in_the_event_alone() -> None:
    bare = b'event: response.output_text.delta\ndata: {"delta": "one two"}\n\n'
    assert chunks_of(bare, end())[0] == TextChunk("one two")


def test_text_that_was_not_streamed_comes_at_the_end() -> None:
    assert chunks_of(end(TEXT_ITEM)) == [TextChunk("one two"), CompletedChunk(WHOLE)]


def test_what_was_streamed_is_what_was_answered() -> None:
    assert response_of(delta("one"), end(TEXT_ITEM)).content == "one"


def test_items_that_came_one_by_one_need_not_come_again() -> None:
    pieces = [delta("one two"), event("response.output_item.done", item=CALL_ITEM), end()]
    response = response_of(*pieces)

    assert (response.tool_calls, response.finish_reason) == ((CALL,), FinishReason.TOOL_CALLS)


def test_nothing_counts_after_the_end_and_empty_pieces_are_none() -> None:
    assert chunks_of(delta(""), end(), b"data: garbage\n\n") == [CompletedChunk(WHOLE.replace(content=""))]


@pytest.mark.parametrize(
    ("details", "reason"),
    [({"reason": "max_output_tokens"}, "LENGTH"), ({"reason": "content_filter"}, "CONTENT_FILTER")],
)
def test_incomplete_response_is_an_answer(details: object, reason: str) -> None:
    pieces = [delta("one two"), end(kind="response.incomplete", incomplete_details=details)]

    assert response_of(*pieces) == WHOLE.replace(finish_reason=FinishReason[reason])


def failure(*pieces: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        chunks_of(*pieces)
    return caught.value


@pytest.mark.parametrize(
    "pieces",
    [
        [delta("a")],
        [delta("a"), b"data: [DONE]\n\n"],
        [event("response.created", response={})],
        [delta("a"), end()[:-2]],
    ],
    ids=["no-end", "end-mark-alone", "begun", "within-the-last-event"],
)
def test_stream_without_its_end_is_cut(pieces: list[bytes]) -> None:
    error = failure(*pieces)

    assert (error.failure_code, error.retryable) == (ProviderFailureCode.STREAM_CUT, True)


@pytest.mark.parametrize(
    "bad",
    [
        event("error", code="insufficient_quota", message="secret"),
        event("error", error={"code": "insufficient_quota", "message": "secret"}),
        b'event: error\ndata: {"code": "insufficient_quota"}\n\n',
        end(kind="response.failed", error={"code": "insufficient_quota", "message": "secret"}),
    ],
    ids=["flat", "nested", "named", "failed"],
)
def test_error_in_the_stream_goes_by_the_table(bad: bytes) -> None:
    error = failure(delta("a"), bad)

    assert error.failure_code is ProviderFailureCode.QUOTA_EXHAUSTED
    assert str(error).startswith("The provider answered with an error in the stream.")


def test_failure_without_a_reason_is_the_providers() -> None:
    error = failure(end(kind="response.failed", error=None))

    assert (error.retryable, error.status_code) == (True, 500)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        *[(delta(value), "has content that is no text") for value in (None, 5, {}, ["x"])],
        *[
            (event("response.completed", response=value), "has no response at its end")
            for value in (None, [], "x")
        ],
        (event("response.output_item.done", item=5) + end(), "has output that is no list of items"),
        (end(5), "has output that is no list of items"),
        (end(kind="response.cancelled"), "has a status that is no end"),
        (b"data: {}\n\ndata: 7\n\n", "is no JSON object"),
    ],
)
def test_event_of_the_wrong_form_is_an_invalid_answer(bad: bytes, complaint: str) -> None:
    error = failure(delta("a"), bad)

    assert error.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert str(error) == f"The provider's answer {complaint}."


@given(cuts=st.lists(st.integers(0, 900), max_size=8))
@settings(max_examples=100)
def test_every_split_of_the_body_gives_the_same_response(cuts: list[Any]) -> None:
    body = b"".join([delta("ä "), delta("😀"), end(TEXT_ITEM, CALL_ITEM)])
    places = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    pieces = [body[start:stop] for start, stop in itertools.pairwise(places)]

    assert chunks_of(*pieces) == chunks_of(body)
