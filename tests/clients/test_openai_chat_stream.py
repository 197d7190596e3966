"""Streams of chat completions: lanes, their ends, and what is written into the events."""

import json
import sys
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.bodies import JSON, Json, fields, list_of, named, one_of, texts_in
from tramapy import InterceptorError, ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.clients.codec import StreamDecoder
from tramapy.clients.openai_chat import ChatCodec
from tramapy.clients.openai_choice_events import ChoiceLane
from tramapy.engine.native import Lane, NativeEnd, NativeEvent, NativeRejectionError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import FinishReason, ImagePart, ModelResponse, TextPart, TokenUsage, ToolCall
from tramapy.wire.sse import SseDecoder, SseEvent

DONE = SseEvent(name="", data=b"[DONE]")
HEAD = {"id": "r1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m-1"}
CONTENT = ChoiceLane("content", 0)


def chunk(*choices: object, **fields: object) -> SseEvent:
    return SseEvent(name="", data=json.dumps({**HEAD, "choices": list(choices), **fields}).encode())


def delta(index: int = 0, finish: str | None = None, **fields: object) -> dict[str, object]:
    return {"index": index, "delta": fields, "logprobs": None, "finish_reason": finish}


def call(index: int | None = 0, **function: object) -> dict[str, object]:
    head: dict[str, object] = {} if index is None else {"index": index}
    if "id" in function:
        head["id"] = function.pop("id")
    return {**head, "function": function}


def decoder() -> StreamDecoder:
    return ChatCodec().stream(1_000_000)


def fed(*events: SseEvent, into: StreamDecoder | None = None) -> list[NativeEvent]:
    stream = into or decoder()
    return [native for event in events for native in stream.feed(event)]


def ended(*events: SseEvent) -> tuple[list[NativeEvent], NativeEnd]:
    natives = fed(*events, DONE)
    assert isinstance(natives[-1], NativeEnd)
    return natives, natives[-1]


def values_of(frame: bytes) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in SseDecoder(100_000).feed(frame)]


def texts_by_lane(events: Sequence[NativeEvent]) -> dict[Lane, str]:
    texts: dict[Lane, str] = {}
    for event in events:
        for piece in event.pieces:
            if piece.lane is not None:
                texts[piece.lane] = texts.get(piece.lane, "") + piece.text
    return texts


def responses_of(*events: SseEvent) -> tuple[ModelResponse, ...]:
    natives, end = ended(*events)
    texts = texts_by_lane(natives)
    return end.responses(lambda lane: texts.get(lane, ""))


def test_a_text_comes_in_pieces_of_one_lane() -> None:
    first, *pieces, last, usage, end = fed(
        chunk(delta(role="assistant", content="", refusal=None)),
        chunk(delta(content="he")),
        chunk(delta(content="llo")),
        chunk(delta(finish="stop")),
        chunk(usage={"prompt_tokens": 1, "completion_tokens": 2}),
        DONE,
    )
    assert (first.is_opening, first.pieces) == (True, [])
    assert [(piece.text, piece.lane, piece.is_held) for event in pieces for piece in event.pieces] == [
        ("he", CONTENT, False),
        ("llo", CONTENT, False),
    ]
    assert not any(event.is_opening for event in (*pieces, last, usage, end))
    assert [event.ends for event in (first, *pieces, last, usage)] == [[], [], [], [CONTENT], []]
    assert isinstance(end, NativeEnd)
    assert end.responses(lambda lane: "hello" if lane == CONTENT else "") == (
        ModelResponse(
            content="hello",
            usage=TokenUsage(input_tokens=1, output_tokens=2),
            model="m-1",
            response_id="r1",
        ),
    )


def test_events_that_nobody_wrote_in_go_out_as_they_came() -> None:
    events = [
        SseEvent(name="x", data=b'{"choices": [{"delta": {"content":"a"}}],  "odd":1}'),
        chunk(delta(finish="stop")),
        DONE,
    ]
    natives = fed(*events)
    assert b"".join(native.frame() for native in natives) == b"".join(
        (f"event: {event.name}\n".encode() if event.name else b"") + b"data: " + event.data + b"\n\n"
        for event in events
    )


def test_every_kind_of_text_has_a_lane() -> None:
    (event,) = fed(
        chunk(
            delta(
                content="a",
                refusal="b",
                reasoning_content="c",
                reasoning="d",
                audio={"id": "x", "transcript": "e", "data": "AAAA"},
            )
        )
    )
    assert [(piece.text, piece.location, cast("ChoiceLane", piece.lane).kind) for piece in event.pieces] == [
        ("a", DlpContentLocation.MODEL_RESPONSE_CONTENT, "content"),
        ("b", DlpContentLocation.MODEL_RESPONSE_REFUSAL, "refusal"),
        ("c", DlpContentLocation.MODEL_RESPONSE_REASONING, "reasoning_content"),
        ("d", DlpContentLocation.MODEL_RESPONSE_REASONING, "reasoning"),
        ("e", DlpContentLocation.MODEL_RESPONSE_CONTENT, "transcript"),
    ]
    assert event.unscanned == ("audio",)


def test_the_choices_have_lanes_of_their_own() -> None:
    natives, end = ended(
        chunk(delta(1, content="b")),
        chunk(delta(0, content="a"), delta(1, content="c")),
        chunk(delta(1, finish="length")),
        chunk(delta(0, finish="stop")),
    )
    texts = texts_by_lane(natives)
    assert [event.ends for event in natives] == [[], [], [ChoiceLane("content", 1)], [CONTENT], []]
    one, two = end.responses(lambda lane: texts[lane])
    assert (one.content, two.content, two.finish_reason) == ("a", "bc", FinishReason.LENGTH)


def test_a_tool_call_is_held_and_opened_once() -> None:
    natives, end = ended(
        chunk(delta(tool_calls=[call(id="c1", name="find", arguments="")])),
        chunk(delta(tool_calls=[call(arguments='{"a"')])),
        chunk(delta(tool_calls=[call(arguments=":1}"), call(1, id="c2", name="go", arguments="{}")])),
        chunk(delta(finish="tool_calls")),
    )
    one, two = ChoiceLane("call", 0, 0, 0), ChoiceLane("call", 0, 1, 1)
    assert [event.opens for event in natives] == [one, None, two, None, None]
    assert natives[3].ends == [one, two]
    pieces = [piece for event in natives for piece in event.pieces]
    assert [(piece.lane, piece.text, piece.tool_name, piece.is_held) for piece in pieces] == [
        (one, '{"a"', "find", True),
        (one, ":1}", "find", True),
        (two, "{}", "go", True),
    ]
    texts = texts_by_lane(natives)
    (response,) = end.responses(lambda lane: texts.get(lane, ""))
    assert response.tool_calls == (
        ToolCall(id="c1", name="find", arguments_json='{"a":1}'),
        ToolCall(id="c2", name="go", arguments_json="{}"),
    )
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_calls_of_compatible_servers_are_told_apart() -> None:
    (response,) = responses_of(
        chunk(delta(tool_calls=[call(0, id="a", name="f", arguments="1")])),
        chunk(delta(tool_calls=[call(0, id="b", name="g", arguments="2")])),
        chunk(delta(tool_calls=[call(None, arguments="3")])),
        chunk(delta(tool_calls=[call(None, id="c", name="h", arguments={"x": 1})])),
        chunk(delta(tool_calls=[{"index": 5, "type": "function"}])),
        chunk(delta(tool_calls=[call(6, name="late")])),
        chunk(delta(tool_calls=[call(6, id="d")], finish="tool_calls")),
    )
    assert [(one.id, one.name, one.arguments_json) for one in response.tool_calls] == [
        ("a", "f", "1"),
        ("b", "g", "23"),
        ("c", "h", '{"x":1}'),
        ("d", "late", ""),
    ]


def test_calls_of_other_kinds_are_held_but_not_shown() -> None:
    natives, end = ended(
        chunk(
            delta(
                tool_calls=[
                    {"index": 0, "id": "c", "type": "custom", "custom": {"name": "run", "input": "l"}}
                ]
            )
        ),
        chunk(delta(tool_calls=[{"index": 0, "custom": {"input": "s"}}])),
        chunk(delta(function_call={"name": "old", "arguments": "{"})),
        chunk(delta(function_call={"arguments": "}"}, finish="function_call")),
    )
    custom, old = ChoiceLane("custom", 0, 0, 0), ChoiceLane("function_call", 0, 1)
    assert [event.opens for event in natives] == [custom, None, old, None, None]
    assert texts_by_lane(natives) == {custom: "ls", old: "{}"}
    (response,) = end.responses(lambda lane: "x")
    assert response.tool_calls == ()
    assert end.lane_texts([ModelResponse()]) == {}


def test_calls_of_two_choices_open_apart() -> None:
    opening = chunk(
        delta(0, tool_calls=[call(id="a", name="f", arguments="1")]),
        delta(1, tool_calls=[call(id="b", name="g", arguments="2")]),
        note="n",
    )
    first, second = fed(opening)
    assert (first.opens, second.opens) == (ChoiceLane("call", 0, 0, 0), ChoiceLane("call", 1, 0, 0))
    (one,), (two,) = values_of(first.frame()), values_of(second.frame())
    assert [choice["index"] for value in (one, two) for choice in value["choices"]] == [0, 1]
    assert one["note"] == "n"
    assert two == {**HEAD, "choices": two["choices"]}


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        (CONTENT, {"content": "x"}),
        (ChoiceLane("refusal", 0), {"refusal": "x"}),
        (ChoiceLane("reasoning", 0), {"reasoning": "x"}),
        (ChoiceLane("transcript", 0), {"audio": {"transcript": "x"}}),
        (ChoiceLane("function_call", 0), {"function_call": {"arguments": "x"}}),
        (ChoiceLane("call", 0, 1, 1), {"tool_calls": [{"index": 1, "function": {"arguments": "x"}}]}),
        (ChoiceLane("call", 0, 1), {"tool_calls": [{"function": {"arguments": "x"}}]}),
        (ChoiceLane("custom", 0, 0, 0), {"tool_calls": [{"index": 0, "custom": {"input": "x"}}]}),
        (
            ChoiceLane("thinking", 0),
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}]},
        ),
        (ChoiceLane("text", 0), {"reasoning_details": [{"type": "reasoning.text", "text": "x"}]}),
        (
            ChoiceLane("summary", 0, 0, 1),
            {"reasoning_details": [{"index": 1, "type": "reasoning.summary", "summary": "x"}]},
        ),
    ],
)
def test_a_tail_is_an_event_of_the_format(lane: ChoiceLane, expected: object) -> None:
    for event in ended(chunk(delta(content="a")), chunk(delta(finish="stop")))[0]:
        assert values_of(event.tail(lane, "x")) == [
            {**HEAD, "choices": [{"index": 0, "delta": expected, "logprobs": None, "finish_reason": None}]}
        ]


def test_a_written_text_drops_its_probabilities() -> None:
    logprobs = {"content": [{"token": "secret"}]}
    (event,) = fed(chunk({**delta(content="secret"), "logprobs": logprobs}))
    event.pieces[0].write("*")
    (value,) = values_of(event.frame())
    assert value["choices"] == [delta(content="*")]


def test_an_event_with_nothing_left_to_say_does_not_go_out() -> None:
    held = [
        chunk(delta(content="a"), obfuscation="xyz"),
        chunk(delta(tool_calls=[call(arguments="1")])),
        chunk(delta(content="a", role="assistant")),
        chunk(delta(content="a"), usage={"prompt_tokens": 1}),
        chunk({**delta(content="a"), "content_filter_results": {"hate": {"filtered": False}}}),
        chunk(delta(tool_calls=[call(id="c", name="f", arguments="1")])),
    ]
    is_sent: list[bool] = []
    for event in fed(*held):
        event.pieces[0].write("")
        is_sent.append(event.frame() != b"")
    assert is_sent == [False, False, True, True, True, True]


def test_a_choice_that_goes_on_has_not_ended() -> None:
    natives, end = ended(
        chunk(delta(content="a", finish="stop")),
        chunk(delta(content="b", finish="stop")),
        chunk(delta(tool_calls=[call(id="c", name="f")], finish="tool_calls")),
        chunk(usage={"prompt_tokens": 1}),
    )
    assert [event.ends for event in natives[:2]] == [[], []]
    assert natives[2].ends == [CONTENT, ChoiceLane("call", 0, 0, 0)]
    assert end.ends == []


def test_a_stream_without_an_end_mark_ends_with_its_last_event() -> None:
    stream = decoder()
    natives = fed(chunk(delta(content="a")), chunk(delta(content="b", finish="stop")), into=stream)
    end = stream.finish()
    assert len(natives) == 1
    assert (end.ends, [piece.text for piece in end.pieces]) == ([CONTENT], ["b"])
    end.pieces[0].write("*")
    assert values_of(end.frame())[0]["choices"] == [delta(content="*", finish="stop")]
    assert stream.is_ended
    assert stream.feed(DONE) == ()


def test_a_stream_without_an_end_mark_may_end_with_its_usage() -> None:
    stream = decoder()
    fed(
        chunk(delta(content="a")), chunk(delta(finish="stop")), chunk(usage={"prompt_tokens": 1}), into=stream
    )
    end = stream.finish()
    assert (end.frame(), end.pieces) == (b"", [])
    assert end.responses(lambda lane: "a")[0].usage.input_tokens == 1


@pytest.mark.parametrize(
    "events",
    [
        [],
        [chunk()],
        [chunk(delta(content="a"))],
        [chunk(delta(0, finish="stop")), chunk(delta(1, content="a"))],
    ],
)
def test_a_stream_that_was_cut_says_so(events: list[SseEvent]) -> None:
    stream = decoder()
    fed(*events, into=stream)
    with pytest.raises(ProviderError) as caught:
        stream.finish()
    assert (caught.value.failure_code, caught.value.retryable) == (ProviderFailureCode.STREAM_CUT, True)


def test_an_end_mark_alone_is_an_end() -> None:
    assert responses_of() == (ModelResponse(),)
    assert responses_of(chunk(delta(content="a")))[0].finish_reason is FinishReason.OTHER


def test_the_first_event_of_azure_says_nothing() -> None:
    (event,) = fed(
        SseEvent(
            name="",
            data=b'{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,'
            b'"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}',
        )
    )
    assert (event.is_opening, event.pieces) == (True, [])
    assert values_of(event.tail(CONTENT, "x"))[0]["id"] == ""


def test_unknown_fields_are_pieces_by_themselves() -> None:
    logprobs = {"content": [{"token": "b"}]}
    (event,) = fed(chunk({**delta(notes=[{"n": "b"}]), "logprobs": logprobs}))
    event.pieces[-1].write(event.pieces[-1].text.replace('"b"', '"*"'))
    assert values_of(event.frame())[0]["choices"] == [delta(notes=[{"n": "*"}])]
    (event,) = fed(chunk({**delta(content="a", notes=[{"n": "b"}]), "more": "c"}, other="d"))
    content, rest = event.pieces
    assert json.loads(rest.text) == {
        "choices": {"0": {"delta": {"notes": [{"n": "b"}]}, "more": "c"}},
        "other": "d",
    }
    assert (rest.lane, rest.is_held, rest.is_repeat, rest.tool_name) == (None, False, False, None)
    rest.write(rest.text.replace('"b"', '"*"'))
    content.write("+")
    (value,) = values_of(event.frame())
    assert value == {
        **HEAD,
        "choices": [{**delta(content="+", notes=[{"n": "*"}]), "more": "c"}],
        "other": "d",
    }


def test_probabilities_of_a_wrong_type_are_rest() -> None:
    (event,) = fed(chunk({**delta(content="a"), "logprobs": "b"}))
    for piece in event.pieces:
        piece.write(piece.text.replace('"b"', '"*"'))
    assert values_of(event.frame())[0]["choices"] == [{**delta(content="a"), "logprobs": "*"}]


def test_content_in_parts_is_one_lane() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": ""},
    ]
    (event,) = fed(chunk(delta(content=parts)))
    content, rest = event.pieces
    assert (content.text, content.lane) == ("a", CONTENT)
    assert "hm" in rest.text
    content.write("*")
    assert values_of(event.frame())[0]["choices"][0]["delta"]["content"][1] == {"type": "text", "text": "*"}


def test_thinking_in_parts_is_a_lane() -> None:
    thoughts = [{"type": "text", "text": "hm"}, {"type": "text", "text": ""}, {"type": "odd", "note": "n"}]
    (event,) = fed(chunk(delta(content=[{"type": "thinking", "thinking": thoughts}])))
    thought, rest = event.pieces
    assert (thought.text, thought.lane) == ("hm", ChoiceLane("thinking", 0))
    assert thought.location is DlpContentLocation.MODEL_RESPONSE_REASONING
    assert "hm" not in rest.text
    assert '"note":"n"' in rest.text


def test_details_of_the_reasoning_are_lanes_by_their_index() -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "index": 1, "signature": "s"},
        {"type": "reasoning.summary", "summary": "in short"},
        {"type": "reasoning.text", "text": ""},
        "odd",
    ]
    (event,) = fed(chunk(delta(reasoning_details=details)))
    assert [(piece.lane, piece.text) for piece in event.pieces[:-1]] == [
        (ChoiceLane("text", 0, 0, 1), "hm"),
        (ChoiceLane("summary", 0), "in short"),
    ]
    assert "hm" not in event.pieces[-1].text
    assert "odd" in event.pieces[-1].text


def test_an_end_mark_goes_out_without_what_follows_it() -> None:
    (*_, end) = fed(chunk(delta(finish="stop")), SseEvent(name="x", data=b"[DONE] and a secret"))
    assert end.frame() == b"data: [DONE]\n\n"


def test_an_error_event_is_a_refusal() -> None:
    stream = decoder()
    fed(chunk(delta(content="a", finish="stop")), into=stream)
    with pytest.raises(NativeRejectionError) as caught:
        stream.feed(SseEvent(name="", data=b'{"error":{"message":"busy","code":"rate_limit_exceeded"}}'))
    assert (caught.value.is_in_stream, caught.value.status_code) == (True, 429)
    assert caught.value.body == '{"error":{"message":"busy","code":"rate_limit_exceeded"}}'


# parsed, yet too deep for what is done with it; from 3.12 on the interpreter itself goes deeper
DEEP = b'{"x":' + b"[" * 900 + b'"a"' + b"]" * 900 + b"}" if sys.version_info < (3, 12) else b"["


@pytest.mark.parametrize(
    "data",
    [
        b"text",
        b"[]",
        b"\xff",
        DEEP,
        b"[" * 100_000,
        b'{"choices":{}}',
        b'{"choices":["a"]}',
        b'{"choices":[{"index":"a"}]}',
        b'{"choices":[{"index":-1}]}',
        b'{"choices":[{"delta":"a"}]}',
        b'{"choices":[{"delta":{"content":5}}]}',
        b'{"choices":[{"delta":{"refusal":["a"]}}]}',
        b'{"choices":[{"delta":{"tool_calls":{"a":1}}}]}',
        b'{"choices":[{"delta":{"tool_calls":["a"]}}]}',
        b'{"choices":[{"delta":{"function_call":{"name":"%s"}}}]}' % (b"a" * 1001),
    ],
)
def test_an_event_of_a_wrong_form_is_invalid(data: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        fed(SseEvent(name="", data=data))
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


@pytest.mark.parametrize(
    "data", [b"{}", b'{"choices":null}', b'{"choices":[{"delta":null}]}', b'{"choices":[{}]}']
)
def test_an_event_may_say_nothing(data: bytes) -> None:
    (event,) = fed(SseEvent(name="", data=data))
    assert (event.is_opening, event.pieces) == (True, [])


@pytest.mark.parametrize(
    "field", [{"audio": "a"}, {"function_call": "a"}, {"reasoning": ["a"]}, {"audio": {"transcript": 5}}]
)
def test_odd_fields_are_inspected_as_they_are(field: dict[str, Any]) -> None:
    (event,) = fed(chunk(delta(**field)))
    assert [piece.lane for piece in event.pieces] == [None] * len(list(event.pieces))


def test_a_stream_has_a_limit() -> None:
    stream = ChatCodec().stream(300)
    stream.feed(chunk(delta(content="a")))
    with pytest.raises(ResponseTooLargeError) as caught:
        stream.feed(chunk(delta(content="b" * 100)))
    assert caught.value.limit_bytes == 300


def test_what_interceptors_say_goes_into_the_lanes() -> None:
    _, end = ended(
        chunk(delta(reasoning="r", content="a", tool_calls=[call(id="c", name="f", arguments="{}")])),
        chunk(delta(1, content="b")),
    )
    made = ToolCall(id="c", name="f", arguments_json="[]")
    first = ModelResponse(content_parts=(TextPart("x"), TextPart("y")), tool_calls=(made,), refusal="no")
    assert end.lane_texts([first, ModelResponse(content="z")]) == {
        CONTENT: "xy",
        ChoiceLane("refusal", 0): "no",
        ChoiceLane("reasoning", 0): "",
        ChoiceLane("call", 0, 0, 0): "[]",
        ChoiceLane("content", 1): "z",
    }


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (ModelResponse(reasoning="r"), "a reasoning"),
        (ModelResponse(tool_calls=(ToolCall(id="c", name="f", arguments_json="{}"),)), "other tool calls"),
        (ModelResponse(content_parts=(ImagePart(url="https://x.example"),)), "an image"),
    ],
)
def test_what_has_no_lane_is_refused(response: ModelResponse, words: str) -> None:
    _, end = ended(chunk(delta(content="a")))
    with pytest.raises(InterceptorError, match=words):
        end.lane_texts([response])


@pytest.mark.parametrize("has_indexes", [True, False])
def test_calls_that_are_taken_away_leave_the_events(has_indexes: bool) -> None:
    def part(index: int, **function: object) -> dict[str, object]:
        return call(index if has_indexes else None, **function)

    natives, end = ended(
        chunk(delta(tool_calls=[part(n, id=f"c{n}", name="f", arguments="{") for n in (0, 1)])),
        chunk(delta(tool_calls=[part(1, arguments="}")])),
        chunk(delta(tool_calls=[part(2, id="c2", name="f", arguments="{}")])),
        chunk(delta(finish="tool_calls")),
    )
    kept = ToolCall(id="c1", name="f", arguments_json="{}")
    lane = ChoiceLane("call", 0, 1, 1 if has_indexes else None)
    assert end.lane_texts([ModelResponse(tool_calls=[kept])]) == {lane: "{}"}
    frames = [native.frame() for native in natives]
    deltas = [value["choices"][0]["delta"] for frame in frames[:2] for value in values_of(frame)]
    moved = {"index": 0} if has_indexes else {}
    assert deltas == [
        {"tool_calls": [{**moved, "id": "c1", "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{**moved, "function": {"arguments": "}"}}]},
    ]
    assert frames[2] == b""
    assert b"tool_calls" in frames[3]


def test_calls_that_stay_leave_the_events_as_they_came() -> None:
    event = chunk(delta(tool_calls=[call(0, id="c0", name="f", arguments="{}")]))
    natives, end = ended(event)
    end.lane_texts([ModelResponse(tool_calls=[ToolCall(id="c0", name="f", arguments_json="{}")])])
    assert event.data in natives[0].frame()


DELTA = fields(
    {},
    optional={
        "role": st.just("assistant"),
        "content": one_of(st.none(), st.just("CANARY 9999!")),
        "refusal": one_of(st.none(), st.just("CANARY 9998!")),
        "reasoning": JSON,
        "tool_calls": list_of(
            one_of(
                fields(
                    {
                        "index": st.integers(0, 1),
                        "function": fields({"arguments": JSON}, optional={"name": st.just("n")}),
                    }
                ),
                fields({"custom": fields({"input": JSON})}),
                named(st.sampled_from(["a", "function"]), JSON, max_size=2),
            ),
            max_size=2,
        ),
        "function_call": one_of(JSON, fields({"arguments": JSON, "name": JSON})),
        "audio": one_of(JSON, fields({"transcript": JSON})),
        "more": JSON,
    },
)
CHOICE: Json = fields(
    {"delta": DELTA},
    optional={"index": st.integers(0, 1), "finish_reason": st.sampled_from([None, None, "stop"])},
)
EVENTS = list_of(
    fields(
        {"choices": list_of(CHOICE)},
        optional={
            "note": JSON,
            "usage": one_of(st.none(), JSON),
            "service_tier": st.sampled_from(["default", "CANARY 1"]),
        },
    ),
    max_size=4,
)


@given(EVENTS)
def test_every_text_is_in_a_piece_and_can_be_masked(values: list[object]) -> None:
    natives = fed(*(SseEvent(name="", data=json.dumps(value).encode()) for value in values), DONE)
    planted = [text for value in values for text in texts_in(value)]
    everything = "\n".join(piece.text for native in natives for piece in native.pieces)
    assert [text for text in planted if text not in everything] == []
    for native in natives:
        for piece in native.pieces:
            piece.write(piece.text.replace("CANARY", "*"))
    assert b"CANARY" not in b"".join(native.frame() for native in natives)


@pytest.mark.parametrize(
    "event",
    [
        chunk(delta(content="a"), **{"4111 1111 1111 1111": None}),
        chunk({**delta(content="a"), "4111 1111 1111 1111": None}),
        chunk(delta(content="a"), usage={"4111 1111 1111 1111": None}),
    ],
    ids=["event", "choice", "usage"],
)
def test_name_of_a_value_that_is_null_is_inspected(event: SseEvent) -> None:
    (native,) = fed(event)

    assert "4111 1111 1111 1111" in native.pieces[-1].text


def _steps(calls: int) -> int:
    """Count the functions that are called for a stream of so many tool calls, the last of them taken away."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        natives, end = ended(
            *(chunk(delta(tool_calls=[call(number, id=f"c{number}", name="f")])) for number in range(calls))
        )
        said = tuple(ToolCall(id=f"c{number}", name="f", arguments_json="") for number in range(calls - 1))
        end.lane_texts([ModelResponse(content="", tool_calls=said, finish_reason=FinishReason.TOOL_CALLS)])
        frames = [native.frame() for native in natives]
    finally:
        sys.setprofile(None)
    assert sum(b'"id":"c' in frame for frame in frames) == calls - 1
    return steps


def test_the_work_for_a_call_does_not_grow_with_the_calls_before_it() -> None:
    assert _steps(600) < 2.2 * _steps(300)
