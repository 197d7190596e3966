"""Streams of `/v1/messages`: event by event, and under the engine."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from anthropic import Anthropic, DefaultHttpxClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.clients.native_calls import LIMIT_BYTES, NativeCall, NativeProvider, sse_event, sse_values
from tests.engine.doubles import Words
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    DlpInterceptor,
    FinishReason,
    InterceptorError,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    ProviderError,
    ProviderFailureCode,
    ResponseTooLargeError,
    TokenUsage,
    ToolCall,
)
from tramapy.clients.anthropic_messages import CountTokensCodec, MessageBatchesCodec, MessagesCodec
from tramapy.clients.anthropic_messages_blocks import CHANGED_SIGNATURE
from tramapy.clients.anthropic_messages_stream import MessagesStream
from tramapy.engine.native import NativeEnd, NativeEvent, NativeRejectionError
from tramapy.errors import ConfigurationError
from tramapy.wire.sse import SseEvent

# the HTTP library that the client is made with
_library: Any = importlib.import_module(DefaultHttpxClient.__mro__[1].__module__.split(".")[0])

CITATION = {"type": "char_location", "cited_text": "secret source", "document_index": 0}
EVENT = dict[str, Any]


def message_start(**more: object) -> EVENT:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
        **more,
    }
    return {"type": "message_start", "message": message}


def opened(index: int, kind: str, **fields: object) -> EVENT:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: object) -> EVENT:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> EVENT:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[EVENT]:
    deltas = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [opened(index, "text", text=""), *deltas, closed(index)]


def thinking(index: int, *pieces: str) -> list[EVENT]:
    deltas = [delta(index, "thinking_delta", thinking=piece) for piece in pieces]
    signature = delta(index, "signature_delta", signature="signed")
    return [opened(index, "thinking", thinking="", signature=""), *deltas, signature, closed(index)]


def call(
    index: int, *pieces: str, kind: str = "tool_use", name: str = "search", **fields: object
) -> list[EVENT]:
    deltas = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    start = opened(index, kind, id=f"t{index}", name=name, input={}, **fields)
    return [start, *deltas, closed(index)]


def end(stop_reason: str = "end_turn", **fields: object) -> list[EVENT]:
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None, **fields},
            "usage": {"output_tokens": 9, "input_tokens": None},
        },
        {"type": "message_stop"},
    ]


PING = {"type": "ping"}


def stream(*blocks: Sequence[EVENT], stop_reason: str = "end_turn", **fields: object) -> list[EVENT]:
    return [message_start(), *(event for block in blocks for event in block), *end(stop_reason, **fields)]


def run(events: Sequence[EVENT], **settings: Any) -> bytes:
    codec = MessagesCodec()
    provider = NativeProvider(codec, events=map(sse_event, events))
    return NativeCall(
        codec, provider, {"model": "claude", "messages": [], "stream": True}, **settings
    ).stream()


def said(body: bytes) -> EVENT:
    """Return the message that the vendor's own client makes of a stream."""
    http = DefaultHttpxClient(
        transport=_library.MockTransport(lambda _: _library.Response(200, content=body))
    )
    with Anthropic(api_key="test", base_url="http://llm.test", http_client=http) as client:
        messages: Any = client.messages
        with messages.stream(model="claude", max_tokens=9, messages=[]) as stream:
            message: BaseModel = stream.get_final_message()
    return message.model_dump(mode="json", exclude_unset=True, warnings=False)


def feed(*events: EVENT) -> list[NativeEvent]:
    decoder = MessagesStream(LIMIT_BYTES)
    return [native for event in events for native in decoder.feed(sse_event(event))]


EVERYTHING = stream(
    [PING],
    thinking(0, "a sec", "ret thought"),
    text(1, "the sec"),
    text(2, "ret is", " here"),
    [PING],
    call(3, '{"q":"a sec', 'ret"}', kind="server_tool_use", name="web_search"),
    [
        opened(4, "web_search_tool_result", content=[{"type": "web_search_result", "title": "secret"}]),
        closed(4),
    ],
    [opened(5, "text", text="the s", citations=[]), delta(5, "citations_delta", citation=CITATION)],
    [delta(5, "text_delta", text="ecret"), closed(5)],
    call(6, "", '{"q":', '"a secret"}'),
    [opened(7, "odd", words="secret"), delta(7, "odd_delta", words="secret"), closed(7)],
    [opened(8, "redacted_thinking", data="x"), closed(8)],
    [{"type": "odd_event", "words": ["secret"]}],
    stop_reason="tool_use",
    stop_details={"type": "refusal", "category": None, "explanation": "no secret"},
    stop_sequence="secret",
)  # fmt: skip

WAYS: dict[str, dict[str, Any]] = {
    "incremental": {"dlp": HoldBack()},
    "buffered": {"dlp": Words()},
}


def test_a_stream_without_hooks_is_sent_as_it_came() -> None:
    # only a ping may overtake the end of a block of text
    values = [value for value in sse_values(run(EVERYTHING)) if value != PING]
    assert values == [value for value in EVERYTHING if value != PING]


@pytest.mark.parametrize(
    "dlp", [HoldBack({"nothing": "x"}), Words({"nothing": "x"})], ids=["incremental", "buffered"]
)
def test_a_stream_without_findings_says_the_same(dlp: DlpInterceptor) -> None:
    plain = stream(thinking(0, "a", "b"), text(1, "c", "d"), call(2, '{"q":', "1}"), stop_reason="tool_use")
    assert said(run(plain, dlp=dlp)) == said(run(plain))


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_nothing_of_a_stream_passes_uninspected(settings: dict[str, Any]) -> None:
    body = run(EVERYTHING, **settings)
    assert b"secret" not in body
    message = said(body)
    blocks = message["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "a [S] thought", "signature": CHANGED_SIGNATURE}
    assert blocks[1]["text"] + blocks[2]["text"] == "the [S] is here"
    assert blocks[3]["input"] == {"q": "a [S]"}
    assert blocks[4]["content"] == [{"type": "web_search_result", "title": "[S]"}]
    assert blocks[5]["text"] == "the [S]"
    assert blocks[5]["citations"] == [{**CITATION, "cited_text": "[S] source"}]
    assert blocks[6]["input"] == {"q": "a [S]"}
    assert blocks[7]["words"] == "[S]"
    assert message["stop_details"]["explanation"] == "no [S]"
    assert message["stop_sequence"] == "[S]"
    assert {"type": "odd_event", "words": ["[S]"]} in sse_values(body)


def test_signed_thinking_keeps_its_signature_however_it_is_cut() -> None:
    words = HoldBack({"secret": "[S]"})
    blocks = said(run(stream(thinking(0, "a sec", "ond th", "ought s"), text(1, "b")), dlp=words))["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "a second thought s", "signature": "signed"}


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_thinking_that_comes_whole_loses_its_signature(settings: dict[str, Any]) -> None:
    start = opened(0, "thinking", thinking="a secret", signature="signed")
    blocks = said(run(stream([start, closed(0)]), **settings))["content"]
    assert blocks == [{"type": "thinking", "thinking": "a [S]", "signature": CHANGED_SIGNATURE}]


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_the_texts_of_an_unknown_delta_go_on_from_event_to_event(settings: dict[str, Any]) -> None:
    pieces = [delta(0, "odd_delta", words=word, n=1, more="a") for word in ("a sec", "", "ret", " b")]
    alone = [delta(0, "other_delta", words=word) for word in ("sec", "ret")]
    values = sse_values(run(stream([opened(0, "odd"), *pieces, *alone, closed(0)]), **settings))
    deltas = [value["delta"] for value in values if value["type"] == "content_block_delta"]
    for kind, whole in (("odd_delta", "a [S] b"), ("other_delta", "[S]")):
        assert "".join(item.get("words", "") for item in deltas if item["type"] == kind) == whole
    assert "".join(item.get("more", "") for item in deltas) == "aaaa"


@pytest.mark.parametrize("name", ["two words", "odd_delta"])
def test_what_is_no_word_of_a_format_makes_no_lane(name: str) -> None:
    pieces = [{**delta(0, name), "delta": {"type": name, "odd name": "a secret"}} for _ in range(2)]
    body = run(stream([opened(0, "odd"), *pieces, closed(0)]), dlp=HoldBack())
    assert body.count(b"a [S]") == 2


WORDS = st.lists(st.sampled_from(("secret", "sec", "ret", " a ", "")), max_size=5)


@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_every_cut_of_a_stream_gives_the_masked_whole(blocks: list[list[str]], thoughts: list[str]) -> None:
    texts = [text(index + 1, *pieces) for index, pieces in enumerate(blocks)]
    values = sse_values(run(stream(thinking(0, *thoughts), *texts), dlp=HoldBack()))
    deltas = [value["delta"] for value in values if value["type"] == "content_block_delta"]
    whole = "".join(piece for pieces in blocks for piece in pieces)
    thought = "".join(thoughts)
    assert "".join(item.get("text", "") for item in deltas) == whole.replace("secret", "[S]")
    assert "".join(item.get("thinking", "") for item in deltas) == thought.replace("secret", "[S]")
    signature = CHANGED_SIGNATURE if "secret" in thought else "signed"
    assert [item["signature"] for item in deltas if "signature" in item] == [signature]
    opened_now = {value["index"] for value in values if value["type"] == "content_block_start"}
    assert opened_now == {value["index"] for value in values if value["type"] == "content_block_stop"}


class Rewrites(OperationInterceptor):
    """Puts other values into every response."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.seen: list[ModelResponse] = []

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        self.seen.append(response)
        return response.replace(**self.changes)


def test_interceptors_see_the_whole_stream() -> None:
    interceptor = Rewrites()
    assert said(run(EVERYTHING, interceptors=[interceptor])) == said(run(EVERYTHING))
    assert interceptor.seen == [
        ModelResponse(
            content="the secret is herethe secret",
            tool_calls=(ToolCall(id="t6", name="search", arguments_json='{"q":"a secret"}'),),
            refusal="no secret",
            reasoning="a secret thought",
            usage=TokenUsage(input_tokens=3, output_tokens=9),
            model="claude-1",
            finish_reason=FinishReason.TOOL_CALLS,
            response_id="msg_1",
        )
    ]


def rewritten(events: Sequence[EVENT], **changes: Any) -> EVENT:
    return said(run(events, interceptors=[Rewrites(**changes)]))


def test_an_interceptor_changes_a_stream() -> None:
    changed = rewritten(
        EVERYTHING,
        content="the word is herethe end",
        reasoning="another",
        refusal="yes",
        tool_calls=[ToolCall(id="t6", name="search", arguments_json='{"q":2}')],
    )
    blocks = changed["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "another", "signature": CHANGED_SIGNATURE}
    assert blocks[1]["text"] + blocks[2]["text"] == "the word is here"
    assert blocks[5]["text"] == "the end"
    assert blocks[6]["input"] == {"q": 2}
    assert changed["stop_details"]["explanation"] == "yes"


def test_a_tool_call_and_thinking_go() -> None:
    events = stream(thinking(0, "a"), call(1, '{"q":1}'), text(2, "b"), stop_reason="tool_use")
    changed = rewritten(events, reasoning=None, tool_calls=())
    assert [block["type"] for block in changed["content"]] == ["text"]
    assert (changed["content"][0]["text"], changed["stop_reason"]) == ("b", "end_turn")
    counts = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}
    assert rewritten([*events[:-1], counts, events[-1]], tool_calls=())["content"][1]["text"] == "b"
    kept = rewritten(events, reasoning=None)
    assert [block["type"] for block in kept["content"]] == ["tool_use", "text"]
    assert kept["stop_reason"] == "tool_use"


def test_a_block_without_deltas_is_written_where_it_was_opened() -> None:
    events = stream(thinking(0), text(1), call(2), stop_reason="tool_use")
    same = said(run(events))
    assert rewritten(events) == same
    changed = rewritten(
        events,
        content="b",
        reasoning="a",
        tool_calls=[ToolCall(id="t2", name="search", arguments_json='{"q":1}')],
    )["content"]
    assert (changed[0]["thinking"], changed[1]["text"], changed[2]["input"]) == ("a", "b", {"q": 1})


def test_a_call_whose_input_came_with_it_is_inspected() -> None:
    start = opened(0, "tool_use", id="t0", name="search", input={"q": "secret"})
    for settings in WAYS.values():
        body = run(stream([start, closed(0)]), **settings)
        assert said(body)["content"][0]["input"] == {"q": "[S]"}
    interceptor = Rewrites()
    run(stream([start, closed(0)]), dlp=Words(), interceptors=[interceptor])
    assert interceptor.seen[0].tool_calls[0].arguments_json == '{"q":"[S]"}'


@pytest.mark.parametrize(
    "changes",
    [
        {"reasoning": "x"},
        {"refusal": "x"},
        {"content": "x"},
        {"tool_calls": [ToolCall(id="new", name="search", arguments_json="{}")]},
    ],
)
def test_a_stream_has_no_place_for_more(changes: dict[str, Any]) -> None:
    with pytest.raises(InterceptorError, match="has no place"):
        rewritten(stream([opened(0, "odd"), closed(0)]), **changes)


def test_an_explanation_that_comes_twice_is_masked_alike() -> None:
    first, stop = end(stop_details={"type": "refusal", "explanation": "a secret"})
    for settings in WAYS.values():
        values = sse_values(run([message_start(), first, first, stop], **settings))
        assert [value["delta"]["stop_details"]["explanation"] for value in values[1:3]] == ["a [S]"] * 2


class ContentOnly(HoldBack):
    """Cannot inspect a refusal as it comes."""

    def open_stream(self, context: Any) -> Any:
        return None if "REFUSAL" in context.content_location.name else super().open_stream(context)


def test_an_explanation_that_is_inspected_as_a_whole_stands_in_its_event() -> None:
    events = stream(text(0, "a"), stop_details={"type": "refusal", "explanation": "a secret"})
    assert said(run(events, dlp=ContentOnly()))["stop_details"]["explanation"] == "a [S]"


def test_deltas_of_a_block_of_another_type_are_inspected() -> None:
    foreign = [
        delta(0, "text_delta", text="a sec"),
        delta(0, "text_delta", text="ret"),
        delta(0, "input_json_delta", partial_json='"a secret"'),
        delta(0, "thinking_delta", thinking="a secret"),
        delta(0, "signature_delta", signature="signed"),
    ]
    for kind in ("odd", "text"):
        block = [opened(0, kind, text=""), *foreign, closed(0)]
        for settings in WAYS.values():
            assert b"secret" not in run(stream(block), **settings)


def test_blocks_that_overlap_are_texts_of_their_own() -> None:
    start, said_there = opened(0, "text", text=""), delta(0, "text_delta", text="a secret")
    other, said_here = opened(1, "text", text=""), delta(1, "text_delta", text="b")
    events = stream([start, other, said_there, closed(0), said_here, closed(1)])
    for settings in WAYS.values():
        assert [block["text"] for block in said(run(events, **settings))["content"]] == ["a [S]", "b"]


def test_more_fields_beside_a_text_are_inspected() -> None:
    event = {**delta(0, "text_delta", text="a secret", note="secret too"), "more": {"x": ["secret"]}}
    for settings in WAYS.values():
        body = run(stream([opened(0, "text", text=""), event, closed(0)]), **settings)
        assert b"secret" not in body
        assert sum(value.get("more") == {"x": ["[S]"]} for value in sse_values(body)) == 1


def test_what_says_nothing_waits() -> None:
    natives = feed(*stream(text(0, "a")))
    assert [native.is_opening for native in natives] == [True, True, False, False, False, False]
    assert [native.is_opening for native in feed(PING, {"type": "ping", "x": "said"})] == [True, False]
    assert [native.is_opening for native in feed(message_start(note="said"))] == [False]
    assert isinstance(natives[-1], NativeEnd)


def test_what_cannot_be_inspected_is_named() -> None:
    natives = feed(opened(0, "redacted_thinking", data="x"), opened(1, "text"))
    assert [[*native.unscanned] for native in natives] == [["encrypted"], []]


def test_nothing_is_read_behind_the_end() -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    assert len(decoder.feed(sse_event({"type": "message_stop"}))) == 1
    assert decoder.is_ended
    assert decoder.feed(SseEvent(name="", data=b"no json")) == ()


def test_a_name_that_is_no_word_is_not_sent_on() -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    frames = [
        decoder.feed(SseEvent(name=name, data=b'{"type":"odd"}'))[0].frame()
        for name in ("a_word", "4111-secret", "4111 secret")
    ]
    data = b'data: {"type":"odd"}\n\n'
    assert frames == [b"event: a_word\n" + data, data, data]


def test_an_event_without_data_or_type_is_nothing_special() -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    assert decoder.feed(SseEvent(name="ping", data=b"")) == ()
    (ping,) = decoder.feed(SseEvent(name="ping", data=b"{}"))
    assert ping.frame() == b"event: ping\ndata: {}\n\n"


@pytest.mark.parametrize("is_named", [True, False])
def test_an_error_event_is_a_refusal(is_named: bool) -> None:
    value = {"type": "error", "error": {"type": "overloaded_error", "message": "busy 4111"}}
    event = SseEvent(name="error" if is_named else "", data=json.dumps(value).encode())
    with pytest.raises(NativeRejectionError) as caught:
        MessagesStream(LIMIT_BYTES).feed(event)
    assert (caught.value.status_code, caught.value.retryable, caught.value.is_in_stream) == (529, True, True)
    assert json.loads(caught.value.body) == value
    assert "4111" not in str(caught.value)


def test_an_event_that_is_named_an_error_is_one() -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    decoder.feed(sse_event(opened(0, "text")))
    event = SseEvent(name="error", data=json.dumps(delta(0, "text_delta", text="a")).encode())
    with pytest.raises(NativeRejectionError):
        decoder.feed(event)


def test_a_stream_without_its_end_is_cut() -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    for event in stream(text(0, "a"))[:-1]:
        decoder.feed(sse_event(event))
    with pytest.raises(ProviderError) as caught:
        decoder.finish()
    assert (caught.value.failure_code, caught.value.retryable) == (ProviderFailureCode.STREAM_CUT, True)


def test_a_stream_over_its_limit_is_refused() -> None:
    decoder = MessagesStream(20)
    decoder.feed(SseEvent(name="", data=b'{"type":"ping"}'))
    with pytest.raises(ResponseTooLargeError):
        decoder.feed(SseEvent(name="", data=b'{"type":"ping"}'))


DEEP = b'{"type":"odd","x":' + b"[" * 900 + b'"4111"' + b"]" * 900 + b"}"


@pytest.mark.parametrize(
    "data",
    [
        b"4111",
        b"[",
        DEEP.replace(b"[" * 900, b"[" * 100_000).replace(b"]" * 900, b"]" * 100_000),
        b'{"type":"message_start","message":"4111"}',
        b'{"type":"content_block_start","content_block":{}}',
        b'{"type":"content_block_start","index":-1,"content_block":{}}',
        b'{"type":"content_block_start","index":9,"content_block":"4111"}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text"}}',
        b'{"type":"content_block_start","index":9,"content_block":{"type":"text","text":4111}}',
        b'{"type":"content_block_start","index":9,"content_block":{"type":"tool_use","id":"x","input":{}}}',
        b'{"type":"content_block_start","index":9,"content_block":{"type":"tool_use","id":"x","name":"n","input":"4111"}}',
        b'{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"4111"}}',
        b'{"type":"content_block_delta","index":0,"delta":"4111"}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":4111}}',
        b'{"type":"content_block_stop","index":"4111"}',
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused(data: bytes) -> None:
    decoder = MessagesStream(LIMIT_BYTES)
    decoder.feed(sse_event(opened(0, "text")))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(SseEvent(name="", data=data))
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert "4111" not in str(caught.value)


def test_odd_values_do_no_harm() -> None:
    odd: list[EVENT] = [
        {"type": "message_delta", "delta": "x", "usage": "y"},
        {"type": "message_delta", "delta": {"stop_details": "x"}},
        {"type": "message_delta", "delta": {"stop_details": {"explanation": 7}}},
        {"type": "message_delta"},
        opened(0, "text"),
        delta(0, "signature_delta"),
        {"type": "content_block_delta", "index": 0, "delta": {"type": ["x"]}},
        opened(1, "mcp_tool_use"),
        {"type": "content_block_start", "index": 2, "content_block": {"type": {"x": 1}}},
        {"type": "content_block_stop", "index": 9},
    ]
    events = [message_start(usage=None), *odd, {"type": "message_stop"}]
    assert sse_values(run(events)) == events
    assert rewritten([*stream(text(0, "a"))[:-2], {"type": "message_stop"}])["content"][0]["text"] == "a"


@pytest.mark.parametrize("codec", [CountTokensCodec(), MessageBatchesCodec()])
def test_other_calls_have_no_stream(codec: Any) -> None:
    with pytest.raises(ConfigurationError, match="no event stream"):
        codec.stream(LIMIT_BYTES)
