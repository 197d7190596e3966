"""`ChatAnswer`: streams of the many servers that speak the format, and every way to be cut."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.messages import Chunk, CompletedChunk, ModelResponse, TextChunk, TokenUsage, ToolCall
from tramapy.providers.openai_chat_stream import ChatAnswer
from tramapy.providers.stream_decoder import StreamDecoder


def event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def delta(*, reason: str | None = None, index: int = 0, **fields: object) -> bytes:
    return event({"choices": [{"index": index, "delta": fields, "finish_reason": reason}]})


STOP = delta(reason="stop")
DONE = b"data: [DONE]\n\n"


def chunks_of(*pieces: bytes) -> list[Chunk]:
    decoder = StreamDecoder(ChatAnswer(), 100_000)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def response_of(*pieces: bytes) -> ModelResponse:
    last = chunks_of(*pieces)[-1]
    assert isinstance(last, CompletedChunk)
    return last.response


def test_reason_is_the_end_and_the_end_mark_is_not_needed() -> None:
    assert chunks_of(delta(content="a"), STOP) == [TextChunk("a"), CompletedChunk(ModelResponse(content="a"))]


def test_nothing_counts_after_the_end_mark() -> None:
    decoder = StreamDecoder(ChatAnswer(), 100_000)
    chunks = [*decoder.feed(delta(content="a") + STOP + DONE + delta(content="b") + b"data: garbage\n\n")]

    assert (decoder.is_ended, chunks) == (True, [TextChunk("a")])


def test_usage_comes_with_a_chunk_of_its_own_or_with_any() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    last = event({"choices": [], "usage": usage})
    running = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})
    null = event({"choices": [], "usage": None})

    assert response_of(running, delta(content="a"), STOP, last, null).usage == TokenUsage(
        input_tokens=3, output_tokens=4
    )


def test_first_id_and_model_are_kept() -> None:
    response = response_of(event({"id": "r1"}), event({"id": "r2", "model": "m1"}), STOP)

    assert (response.response_id, response.model) == ("r1", "m1")


def test_refusal_and_reasoning_are_joined_and_not_text() -> None:
    pieces = [
        delta(refusal="n"),
        delta(refusal="o"),
        delta(reasoning="h"),
        delta(reasoning_content="m"),
        STOP,
    ]

    assert chunks_of(*pieces) == [CompletedChunk(ModelResponse(refusal="no", reasoning="hm"))]


def test_other_choices_are_not_ours() -> None:
    assert response_of(delta(content="a"), delta(content="b", index=1), STOP).content == "a"


def test_choice_without_an_index_is_the_first() -> None:
    bare = event({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})

    assert response_of(bare).content == "a"


def test_second_reason_changes_nothing() -> None:
    assert response_of(STOP, delta(reason="length")).finish_reason.value == "stop"


def part(
    *, index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: object = None
) -> dict[str, object]:
    fields = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in fields.items() if value is not None}


ONE = ToolCall(id="c1", name="one", arguments_json="{}")
TWO = ToolCall(id="c2", name="two", arguments_json='{"a": 1}')

CALLS: dict[str, list[dict[str, object]]] = {
    "one-after-the-other": [
        part(index=0, call_id="c1", name="one"),
        part(index=0, arguments="{}"),
        part(index=1, call_id="c2", name="two"),
        part(index=1, arguments='{"a":'),
        part(index=1, arguments=" 1}"),
    ],
    "interleaved": [
        part(index=0, call_id="c1", name="one"),
        part(index=1, call_id="c2", name="two"),
        part(index=1, arguments='{"a": 1}'),
        part(index=0, arguments="{}"),
    ],
    "id-in-every-part": [
        part(index=0, call_id="c1", name="one"),
        part(index=0, call_id="c1", arguments="{}"),
        part(index=1, call_id="c2", name="two", arguments='{"a": 1}'),
    ],
    "id-in-a-later-part": [
        part(index=0, name="one"),
        part(index=0, call_id="c1", arguments="{}"),
        part(index=1, call_id="c2", name="two", arguments='{"a": 1}'),
    ],
    "all-of-index-0": [
        part(index=0, call_id="c1", name="one", arguments="{}"),
        part(index=0, call_id="c2", name="two"),
        part(index=0, arguments='{"a": 1}'),
    ],
    "no-index": [
        part(call_id="c1", name="one"),
        part(arguments="{}"),
        part(call_id="c2", name="two"),
        part(arguments='{"a": 1}'),
    ],
    "whole-at-once": [
        part(index=0, call_id="c1", name="one", arguments="{}"),
        part(index=1, call_id="c2", name="two", arguments={"a": 1}),
    ],
}


@pytest.mark.parametrize("parts", CALLS.values(), ids=CALLS.keys())
def test_tool_calls_are_put_together(parts: list[dict[str, object]]) -> None:
    pieces = [delta(tool_calls=[item]) for item in parts]

    assert response_of(*pieces, delta(reason="tool_calls")).tool_calls == (ONE, TWO)


def test_part_without_index_and_id_may_be_the_first() -> None:
    response = response_of(delta(tool_calls=[part(name="one", arguments="{}")]), STOP)

    assert response.tool_calls == (ToolCall(id="", name="one", arguments_json="{}"),)


def failure(*pieces: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        chunks_of(*pieces)
    return caught.value


def test_call_without_a_name_is_an_invalid_answer() -> None:
    error = failure(delta(tool_calls=[part(index=0, arguments="{}")]), STOP)

    assert error.failure_code is ProviderFailureCode.INVALID_RESPONSE


@pytest.mark.parametrize(
    "pieces",
    [[], [delta(content="a")], [delta(content="a"), DONE], [delta(content="a"), STOP[:-3]], [DONE]],
    ids=["nothing", "no-reason", "end-mark-alone", "within-the-last-event", "only-the-end-mark"],
)
def test_stream_without_a_reason_is_cut(pieces: list[bytes]) -> None:
    error = failure(*pieces)

    assert (error.failure_code, error.retryable) == (ProviderFailureCode.STREAM_CUT, True)


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"choices": []}', b": comment\n\n"], ids=["html", "json", "comment"]
)
def test_body_without_any_event_is_an_invalid_answer(body: bytes) -> None:
    error = failure(body)

    assert (error.failure_code, error.retryable) == (ProviderFailureCode.INVALID_RESPONSE, False)


@pytest.mark.parametrize(
    "bad",
    [event({"error": {"code": "insufficient_quota"}}), event({"code": "insufficient_quota"}, "error")],
    ids=["error-field", "error-event"],
)
def test_error_in_the_stream_goes_by_the_table(bad: bytes) -> None:
    error = failure(delta(content="a"), bad)

    assert error.failure_code is ProviderFailureCode.QUOTA_EXHAUSTED
    assert str(error).startswith("The provider answered with an error in the stream.")


@given(cuts=st.lists(st.integers(0, 600), max_size=8))
@settings(max_examples=150)
def test_every_split_of_the_body_gives_the_same_response(cuts: list[int]) -> None:
    body = b"".join(
        [
            delta(content="ä "),
            delta(content="😀"),
            *(delta(tool_calls=[item]) for item in CALLS["interleaved"]),
            STOP,
        ]
    )
    places = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    pieces = [body[start:end] for start, end in itertools.pairwise(places)]

    assert chunks_of(*pieces) == chunks_of(body)
