"""Events of OpenAI responses: their pieces, lanes and ends, and what goes out in their place."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.responses_wire import (
    call,
    code_call,
    custom_call,
    events_of,
    mcp_call,
    message,
    native_of,
    natives_of,
    parsed,
    reasoning,
    refusal_part,
    response,
    sse_of,
    text_part,
)
from tramapy import FinishReason, ModelResponse, ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.clients.codec import StreamDecoder
from tramapy.clients.openai_responses import ResponsesCodec
from tramapy.engine.native import NativeEnd, NativeRejectionError
from tramapy.wire.sse import SseEvent

ITEMS = (
    reasoning("s1", content=["c1"]),
    message(text_part("hello world"), refusal_part("no")),
    call('{"a":1}'),
    custom_call("shout"),
    mcp_call('{"q":1}'),
    code_call("print"),
)
WHERE = {"item_id": "i", "output_index": 2}


def event_of(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "sequence_number": 5, **fields}


def added(item: dict[str, Any], index: int = 2) -> dict[str, Any]:
    return event_of("output_item.added", output_index=index, item=item)


def pieces_of(native: Any) -> list[tuple[Any, ...]]:
    return [(piece.lane, piece.text, piece.is_held, piece.is_repeat) for piece in native.pieces]


def test_events_that_nobody_wrote_in_go_out_as_they_came() -> None:
    events = events_of(*ITEMS)
    assert b"".join(native.frame() for native in natives_of(events)) == sse_of(events)


def test_every_text_is_a_lane_and_then_said_again() -> None:
    natives = natives_of(events_of(*ITEMS))
    said: dict[Any, str] = {}
    again: dict[Any, int] = {}
    ended: list[Any] = []
    for native in natives:
        for piece in native.pieces:
            if piece.is_repeat:
                again[piece.lane] = again.get(piece.lane, 0) + 1
                assert piece.text == said[piece.lane]
            elif piece.lane is not None:
                assert piece.lane not in ended
                said[piece.lane] = said.get(piece.lane, "") + piece.text
        ended.extend(native.ends)
    assert said == {
        ("summary", 0, 0): "s1",
        ("reasoning", 0, 0): "c1",
        ("text", 1, 0): "hello world",
        ("refusal", 1, 1): "no",
        ("arguments", 2, 0): '{"a":1}',
        ("input", 3, 0): "shout",
        ("mcp", 4, 0): '{"q":1}',
        ("code", 5, 0): "print",
    }
    assert set(ended) == set(said)
    in_parts = {"summary", "reasoning", "text", "refusal"}
    assert again == {lane: 4 if lane[0] in in_parts else 3 for lane in said}
    assert {lane[0] for lane in said if any(native.opens == lane for native in natives)} == {
        "arguments",
        "input",
    }


def test_tools_of_calls_are_named_and_held() -> None:
    pieces = [piece for native in natives_of(events_of(*ITEMS)) for piece in native.pieces if piece.is_held]
    assert {(piece.lane and str(piece.lane[0]), piece.tool_name) for piece in pieces} == {  # type: ignore[index]
        ("arguments", "lookup"),
        ("input", "shout"),
        ("mcp", "search"),
    }


def test_what_says_nothing_yet_can_wait() -> None:
    waits = [native.is_opening for native in natives_of(events_of(message(text_part("a")), call("{}")))]
    assert waits == [True] * 4 + [False] * (len(waits) - 4)


@pytest.mark.parametrize(
    ("event", "is_opening"),
    [
        (added(message()), True),
        (added(reasoning()), True),
        (added(message(text_part("a"))), False),
        (added(message({"type": "new", "a": "b"})), False),
        (added({"type": "web_search_call", "id": "w"}), False),
        (added({"type": ["new"]}), False),
        (event_of("output_item.added", output_index=2, item=None), False),
        (event_of("content_part.added", **WHERE, content_index=0, part=text_part("")), True),
        (event_of("content_part.added", **WHERE, content_index=0, part={"type": "new", "a": "b"}), False),
        (event_of("content_part.added", **WHERE, content_index=0, part={"type": ["new"]}), False),
        (event_of("content_part.done", **WHERE, content_index=0, part={"type": "new"}), False),
        (event_of("content_part.done", **WHERE, content_index=0, part=text_part("")), False),
        (
            event_of("reasoning_summary_part.added", **WHERE, summary_index=0, part={"type": "summary_text"}),
            True,
        ),
        (event_of("queued", response=response(status="queued", instructions="be")), True),
        (event_of("created", response=None), True),
        (event_of("in_progress", response=response(message(text_part("a")))), False),
        ({"type": "keepalive", "sequence_number": 1}, True),
        (event_of("web_search_call.searching", **WHERE), False),
    ],
    ids=lambda value: json.dumps(value)[:70],
)
def test_only_some_events_can_wait(event: dict[str, Any], is_opening: bool) -> None:
    assert native_of(event).is_opening is is_opening


def test_a_text_may_begin_with_its_item_or_part() -> None:
    decoder = [
        added(call('{"a"')),
        event_of("function_call_arguments.delta", **WHERE, delta=":1}"),
        event_of("function_call_arguments.done", **WHERE, arguments='{"a":1}'),
        added(message(), 3),
        event_of("content_part.added", item_id="m", output_index=3, content_index=0, part=text_part("a")),
        event_of("output_text.delta", item_id="m", output_index=3, content_index=0, delta="b"),
        event_of("output_text.done", item_id="m", output_index=3, content_index=0, text="ab"),
    ]
    lane, text = ("arguments", 2, 0), ("text", 3, 0)
    assert [pieces_of(native) for native in natives_of(decoder)] == [
        [(lane, '{"a"', True, False)],
        [(lane, ":1}", True, False)],
        [(lane, '{"a":1}', True, True)],
        [],
        [(text, "a", False, False)],
        [(text, "b", False, False)],
        [(text, "ab", False, True)],
    ]


def test_a_snapshot_may_hold_what_was_said() -> None:
    whole = response(message(text_part("ab")), status="in_progress")
    natives = natives_of([event_of("created", response=whole), event_of("in_progress", response=whole)])
    lane = ("text", 0, 0)
    assert pieces_of(natives[0]) == [(lane, "ab", False, False)]
    assert pieces_of(natives[1]) == [(lane, "ab", False, True)]


def test_items_are_known_by_their_id_where_positions_differ() -> None:
    natives = natives_of(
        [
            added(message(item_id="m"), 4),
            event_of("output_text.delta", item_id="m", output_index=4, content_index=0, delta="a"),
            event_of("completed", response=response(message(text_part("a"), item_id="m"))),
        ]
    )
    assert pieces_of(natives[2]) == [(("text", 4, 0), "a", False, True)]


@pytest.mark.parametrize("end", ["completed", "incomplete", "cancelled"])
def test_the_end_says_what_was_said(end: str) -> None:
    natives = natives_of(events_of(*ITEMS, end=end, usage=None))
    last = natives[-1]
    assert isinstance(last, NativeEnd)
    said: dict[Any, str] = {}
    for native in natives:
        for piece in native.pieces:
            if piece.lane is not None and not piece.is_repeat:
                said[piece.lane] = said.get(piece.lane, "") + piece.text
    (shown,) = last.responses(lambda lane: said.get(lane, ""))
    whole = ResponsesCodec().answer(response(*ITEMS, status=end, usage=None)).responses[0]
    assert shown == whole
    texts = last.lane_texts((shown,))
    assert texts == {lane: text for lane, text in said.items() if lane[0] not in ("input", "mcp", "code")}


def test_a_call_without_arguments_is_a_call() -> None:
    natives = natives_of(events_of(call("")))
    last = natives[-1]
    assert isinstance(last, NativeEnd)
    (shown,) = last.responses(lambda _: "")
    assert [called.name for called in shown.tool_calls] == ["lookup"]
    assert shown.finish_reason is FinishReason.TOOL_CALLS


def test_nothing_is_read_behind_the_end() -> None:
    decoder = ResponsesCodec().stream(1 << 20)
    events = sse_of(events_of(message(text_part("a"))))
    assert not decoder.is_ended
    for event in parsed(events):
        decoder.feed(SseEvent(name="", data=json.dumps(event).encode()))
    assert decoder.is_ended
    assert decoder.feed(SseEvent(name="", data=b"[DONE]")) == ()


@pytest.mark.parametrize(
    "end",
    [lambda decoder: decoder.finish(), lambda decoder: decoder.feed(SseEvent(name="", data=b"[DONE]"))],
    ids=["bare", "marked"],
)
def test_a_stream_that_does_not_say_how_it_ended_is_cut(end: Callable[[StreamDecoder], object]) -> None:
    with pytest.raises(ProviderError) as caught:
        end(ResponsesCodec().stream(1 << 20))
    assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("event", "status", "is_retryable"),
    [
        ({"type": "error", "code": "server_error", "message": "canary", "param": None}, 500, True),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "canary"}, 429, True),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "canary"}}, 400, False),
        ({"error": {"code": "insufficient_quota", "message": "canary"}}, 500, False),
        (event_of("failed", response=response(status="failed", error={"code": "server_error"})), 500, True),
        (event_of("failed", response="canary"), 500, True),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_an_event_that_is_an_error_is_refused(event: dict[str, Any], status: int, is_retryable: bool) -> None:
    with pytest.raises(NativeRejectionError) as caught:
        native_of(event)
    error = caught.value
    assert (error.status_code, error.retryable, error.is_in_stream) == (status, is_retryable, True)
    assert json.loads(error.body) == event
    assert "canary" not in str(error)


def test_an_event_named_error_is_one() -> None:
    with pytest.raises(NativeRejectionError):
        native_of({"message": "canary"}, "error")


def test_a_lookup_may_tell_of_a_failure() -> None:
    failed = response(
        message(text_part("a")), status="failed", error={"code": "server_error", "message": "m"}
    )
    (native,) = natives_of([event_of("failed", response=failed)], is_lookup=True)
    assert isinstance(native, NativeEnd)
    assert native.responses(lambda _: "a")[0].content == "a"


@pytest.mark.parametrize(
    "event",
    [
        b"no json",
        b"[]",
        event_of("output_text.delta", **WHERE, delta="a"),
        event_of("output_text.delta", item_id="i", output_index="1", content_index=0, delta="a"),
        event_of("output_text.delta", **WHERE, content_index=0, delta={"a": 1}),
        event_of("output_text.done", **WHERE, content_index=0, text=1),
        event_of("content_part.added", **WHERE, content_index=0, part="a"),
        event_of("content_part.added", **WHERE, content_index=0, part={"type": "output_text", "text": 1}),
        event_of("output_item.added", output_index=0, item="a"),
        event_of("output_item.done", output_index=0),
        event_of("output_item.done", output_index=0, item=message("a")),
        event_of("completed"),
        event_of("completed", response=response(**{"output": "a"})),
        event_of("completed", response=response("a")),
        event_of("created", response=response("a")),
        event_of("shell_call_output_content.delta", **WHERE, command_index=0, delta="a"),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_refused(event: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        native_of(event)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_a_call_without_a_name_is_refused_at_the_end() -> None:
    last = natives_of(events_of({**call("{}"), "name": None}))[-1]
    assert isinstance(last, NativeEnd)
    with pytest.raises(ProviderError, match="without a name"):
        last.responses(lambda _: "")


def test_an_event_that_is_nested_too_deeply_is_refused() -> None:
    # the first is parsed, yet too deep for the walk; from 3.12 on the interpreter itself goes deeper
    data = b'{"type":"tomorrow","a":' + b"[" * 900 + b'"x"' + b"]" * 900 + b"}"
    deeper = data.replace(b"[" * 900, b"[" * 100_000)
    for depth in (data, deeper) if sys.version_info < (3, 12) else (deeper,):
        with pytest.raises(ProviderError) as caught:
            native_of(depth)
        assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_a_stream_has_a_limit() -> None:
    decoder = ResponsesCodec().stream(10)
    event = event_of("output_text.delta", **WHERE, content_index=0, delta="canary")
    decoder.feed(SseEvent(name="", data=json.dumps(event).encode()))
    with pytest.raises(ResponseTooLargeError, match="12 characters") as caught:
        decoder.feed(SseEvent(name="", data=json.dumps(event).encode()))
    assert "canary" not in str(caught.value)


PIECES = {
    "text": ("output_text.delta", {**WHERE, "content_index": 1}),
    "refusal": ("refusal.delta", {**WHERE, "content_index": 1}),
    "reasoning": ("reasoning_text.delta", {**WHERE, "content_index": 1}),
    "summary": ("reasoning_summary_text.delta", {**WHERE, "summary_index": 1}),
    "arguments": ("function_call_arguments.delta", WHERE),
    "input": ("custom_tool_call_input.delta", WHERE),
    "mcp": ("mcp_call_arguments.delta", WHERE),
    "code": ("code_interpreter_call_code.delta", WHERE),
    "command": ("shell_call_command.delta", {"output_index": 2, "command_index": 1}),
    "transcript": ("audio.transcript.delta", {}),
    "other": ("reasoning.delta", {**WHERE, "content_index": 1}),
    "other without an index": ("other.delta", {}),
}


@pytest.mark.parametrize("kind", PIECES)
def test_the_rest_of_a_text_is_an_event_like_its_pieces(kind: str) -> None:
    name, where = PIECES[kind]
    native = native_of(event_of(name, **where, delta="a", obfuscation="x"))
    (piece,) = native.pieces
    assert piece.lane is not None
    extra = {"logprobs": []} if kind == "text" else {}
    tail = native.tail(piece.lane, "rest\ud800")
    assert tail.startswith(f"event: response.{name}\ndata: ".encode())
    body = tail.replace("\ud800".encode("utf-8", "surrogatepass"), b"!")
    assert parsed(body) == [{**event_of(name, **where, **extra), "delta": "rest!", "sequence_number": 4}]
    piece.write("b")
    assert parsed(native.frame())[0]["delta"] == "b"
    piece.write("")
    assert native.frame() == b""


def test_the_pieces_of_a_text_that_is_not_known_are_a_lane_until_it_is_done() -> None:
    where = {**WHERE, "summary_index": 1}
    events = [
        event_of("reasoning_summary.delta", **where, delta="a", note="n"),
        event_of("reasoning_summary.delta", **where, delta="b"),
        event_of("reasoning_summary.done", **where, text="ab"),
        event_of("other.done"),
        event_of("other.delta", delta={"text": "c"}),
        event_of("Other 1.delta", delta="d"),
    ]
    lane = ("response.reasoning_summary.delta", 2, 1)
    natives = natives_of(events)
    assert [[piece.lane for piece in native.pieces] for native in natives] == [
        [lane, None],
        [lane],
        [None],
        [None],
        [None],
        [None],
    ]
    assert [native.ends for native in natives] == [[], [], [lane], [], [], []]
    assert "note" in natives[0].pieces[1].text
    assert '"a"' not in natives[0].pieces[1].text


def test_a_tail_has_a_number_only_where_there_are_numbers() -> None:
    event = event_of("output_text.delta", **WHERE, content_index=0, delta="a")
    lane = ("text", 2, 0)
    assert parsed(native_of({**event, "sequence_number": 0}).tail(lane, "b"))[0]["sequence_number"] == 0
    del event["sequence_number"]
    assert "sequence_number" not in parsed(native_of(event).tail(lane, "b"))[0]


def test_a_text_that_no_piece_could_name_has_no_tail() -> None:
    native = native_of(event_of("output_item.done", output_index=2, item=message(text_part("a"))))
    assert pieces_of(native) == [(("text", 2, 0), "a", False, False), (("text", 2, 0), "a", False, True)]
    assert native.tail(("text", 2, 0), "a") == b""
    first, second = native.pieces
    first.write("x")
    assert parsed(native.frame())[0]["item"]["content"][0]["text"] == "a"
    second.write("y")
    assert parsed(native.frame())[0]["item"]["content"][0]["text"] == "y"


def test_shell_output_is_two_lanes() -> None:
    where = {**WHERE, "command_index": 0}
    native = native_of(
        event_of("shell_call_output_content.delta", **where, delta={"stdout": "a", "stderr": "b"})
    )
    assert [piece.lane for piece in native.pieces] == [("stdout", 2, 0), ("stderr", 2, 0)]
    assert parsed(native.tail(("stderr", 2, 0), "c"))[0] == {
        **event_of("shell_call_output_content.delta", **where, delta={"stderr": "c"}),
        "sequence_number": 4,
    }
    first, second = native.pieces
    first.write("")
    assert parsed(native.frame())[0]["delta"] == {"stdout": "", "stderr": "b"}
    second.write("")
    assert native.frame() == b""
    done = native_of(event_of("shell_call_output_content.done", **where, output=[{"stdout": "a"}]))
    assert done.ends == [("stdout", 2, 0), ("stderr", 2, 0)]
    assert [piece.text for piece in done.pieces] == ['{"output":{"0":{"stdout":"a"}}}']


def test_a_command_may_begin_at_once() -> None:
    where = {"output_index": 2, "command_index": 1}
    natives = natives_of(
        [
            event_of("shell_call_command.added", **where, command="l"),
            event_of("shell_call_command.delta", **where, delta="s"),
            event_of("shell_call_command.done", **where, command="ls"),
        ]
    )
    lane = ("command", 2, 1)
    assert [pieces_of(native) for native in natives] == [
        [(lane, "l", False, False)],
        [(lane, "s", False, False)],
        [(lane, "ls", False, True)],
    ]
    assert natives[2].ends == [lane]


def test_a_transcript_ends_without_a_text() -> None:
    done = native_of(event_of("audio.transcript.done"))
    assert done.ends == [("transcript", -1, 0)]
    assert done.pieces == []


def test_what_cannot_be_inspected_is_told() -> None:
    assert native_of(event_of("audio.delta", delta="AAAA")).unscanned == ("output_audio",)
    item = reasoning("a", encrypted_content="AAAA")
    assert native_of(event_of("output_item.done", output_index=0, item=item)).unscanned == (
        "encrypted_content",
    )
    natives = natives_of(events_of(item))
    assert natives[-1].unscanned == ("encrypted_content",)
    assert natives_of(events_of(message()))[-1].unscanned == ()


def test_tokens_go_with_the_text_that_they_are_of() -> None:
    where = {**WHERE, "content_index": 0}
    native = native_of(event_of("output_text.delta", **where, delta="a", logprobs=[{"token": "a"}]))
    assert len(native.pieces) == 1
    native.pieces[0].write("a")
    assert parsed(native.frame())[0]["logprobs"] == [{"token": "a"}]
    native.pieces[0].write("b")
    assert parsed(native.frame())[0]["logprobs"] == []
    bare = native_of(event_of("output_text.delta", **where, delta="", logprobs=[{"token": "canary"}]))
    (rest,) = bare.pieces
    assert "canary" in rest.text


def test_the_rest_of_an_event_is_written_beside_its_texts() -> None:
    annotation = {"type": "url_citation", "title": "canary", "url": "https://example.org"}
    native = native_of(
        event_of("output_item.done", output_index=0, item=message(text_part("a", annotations=[annotation])))
    )
    *_, text, rest = native.pieces
    rest.write(rest.text.replace("canary", "*"))
    text.write("b")
    (part,) = parsed(native.frame())[0]["item"]["content"]
    assert (part["text"], part["annotations"][0]["title"]) == ("b", "*")


def test_an_end_without_output_is_an_end() -> None:
    last = native_of(event_of("completed", response={"id": "r", "status": "completed"}))
    assert isinstance(last, NativeEnd)
    assert last.responses(lambda _: "") == (ModelResponse(response_id="r"),)
    assert last.lane_texts(last.responses(lambda _: "")) == {}
    assert parsed(last.frame()) == [event_of("completed", response={"id": "r", "status": "completed"})]


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3)
    ),
    max_leaves=6,
)
TEXTS = st.text(min_size=1, max_size=12)
SPOKEN = st.one_of(
    TEXTS.map(lambda text: message(text_part(text, annotations=[{"type": "url_citation", "title": text}]))),
    TEXTS.map(lambda text: message(refusal_part(text), {"type": "new", "text": text})),
    TEXTS.map(lambda text: reasoning(text, content=[text])),
    TEXTS.map(call),
    TEXTS.map(custom_call),
    TEXTS.map(lambda text: mcp_call(text, output=text)),
    TEXTS.map(code_call),
    VALUES.map(lambda value: {"id": "w", "type": "tomorrow", "value": value}),
)
SCRIPTS = st.lists(SPOKEN, max_size=4).map(
    lambda items: events_of(*[{**item, "id": f"i{at}"} for at, item in enumerate(items)], instructions="be")
)
CANARY = "canary-4111"
OPAQUE = {"type", "id", "item_id", "call_id", "obfuscation", "model", "name", "container_id", "object"}


def planted(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, str):
        return [path]
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in planted(item, (*path, name))]
    if isinstance(value, list):
        return [found for at, item in enumerate(value) for found in planted(item, (*path, at))]
    return []


@given(events=SCRIPTS, data=st.data())
def test_every_text_of_an_event_is_in_a_piece(events: list[dict[str, Any]], data: st.DataObject) -> None:
    events = copy.deepcopy(events)
    at = data.draw(st.integers(0, len(events) - 1))
    paths = [path for path in planted(events[at]) if path[-1] not in OPAQUE]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    place: Any = events[at]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = CANARY
    assert any(CANARY in json.dumps(piece.text) for native in natives_of(events) for piece in native.pieces)


EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(sorted({event["type"] for event in events_of(*ITEMS)}))
        | st.sampled_from(["response.failed", "error", "response.tomorrow"])
        | VALUES
    },
    optional={
        "output_index": st.integers(0, 2) | VALUES,
        "content_index": st.integers(0, 2) | VALUES,
        "summary_index": VALUES,
        "delta": st.text(max_size=3) | VALUES,
        "text": VALUES,
        "arguments": VALUES,
        "logprobs": VALUES,
        "item": SPOKEN | VALUES,
        "part": st.builds(text_part, TEXTS) | VALUES,
        "response": st.builds(response, SPOKEN) | VALUES,
        "error": VALUES,
        "sequence_number": VALUES,
    },
)


@given(events=st.lists(EVENTS, max_size=5))
def test_hostile_events_are_read_or_refused(events: list[dict[str, Any]]) -> None:
    decoder = ResponsesCodec().stream(1 << 20)
    try:
        for event in events:
            for native in decoder.feed(SseEvent(name="", data=json.dumps(event).encode())):
                for piece in native.pieces:
                    if not isinstance(piece.lane, tuple):
                        continue
                    native.tail(piece.lane, "rest")
                    piece.write("x")
                native.frame()
                if isinstance(native, NativeEnd):
                    native.lane_texts(native.responses(lambda _: "x"))
    except ProviderError:
        pass
