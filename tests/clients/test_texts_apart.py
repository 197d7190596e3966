"""Texts of one answer with something else between them: readers join them, so they are inspected as one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.clients.responses_wire import (
    call,
    events_of,
    message,
    natives_of,
    parsed,
    reasoning,
    refusal_part,
    response,
    sse_of,
    text_part,
)
from tests.drivers import Driver, driver
from tests.engine.native_doubles import Asked, Natives, streamed
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    CompositeDlpInterceptor,
    DlpContext,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedactionAuditEmitter,
    DlpResult,
    Message,
    RuleBasedDlpInterceptor,
    wrap,
)
from tramapy.testing import FakeClock, RecordingObserver

__all__ = ["driver"]

KEY = "AKIAIOSFODNN7EXAMPLE"
MARK = "[REDACTED:aws_access_key]"
PASSWORD = "[REDACTED:password]"
RULES = RuleBasedDlpInterceptor.with_default_rules()
ASKED = Asked(Message.user("hello"))

Block = tuple[str, str]
"""Its type, and its text; of a tool call, an argument."""

TOOL: Block = ("tool_use", "x")
SERVER_TOOL: Block = ("server_tool_use", "x")
THOUGHT: Block = ("thinking", "so")
RESULT: Block = ("web_search_tool_result", "a page")


class WholeTexts(DlpInterceptor):
    """Inspects no stream."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return RULES.inspect(context, text)


class Counting(DlpRedactionAuditEmitter):
    def __init__(self) -> None:
        self.count = 0

    def emit(self, context: DlpContext, redactions: Sequence[Any]) -> None:
        self.count += sum(redaction.replacement_count for redaction in redactions)


def _block(index: int, block: Block) -> dict[str, Any]:
    kind, text = block
    if kind in ("text", "thinking"):
        return {"type": kind, kind: text, **({"signature": "c2lnbmVk"} if kind == "thinking" else {})}
    if kind.endswith("_result"):
        return {
            "type": kind,
            "tool_use_id": f"t{index}",
            "content": [{"type": "web_search_result", "title": text}],
        }
    return {"type": kind, "id": f"t{index}", "name": "web_search", "input": {"q": text}}


def _event(kind: str, **value: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **value})}\n\n".encode()


HEAD: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "c"}
USAGE = {"input_tokens": 1, "output_tokens": 1}


def _events(blocks: Sequence[Block], size: int) -> Iterator[bytes]:
    yield _event("message_start", message={**HEAD, "content": [], "stop_reason": None, "usage": USAGE})
    for index, block in enumerate(blocks):
        kind, text = block
        whole = _block(index, block)
        empty = {"text": "", "thinking": "", "input": {}, "signature": ""}
        start = {name: empty.get(name, value) for name, value in whole.items()}
        yield _event("content_block_start", index=index, content_block=start)
        field = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}.get(kind)
        said = json.dumps({"q": text}) if "_use" in kind else text
        if field is not None or kind == "server_tool_use":
            name = field or "partial_json"
            delta_kind = "input_json_delta" if name == "partial_json" else f"{kind}_delta"
            for place in range(0, len(said), size):
                delta = {"type": delta_kind, name: said[place : place + size]}
                yield _event("content_block_delta", index=index, delta=delta)
        if kind == "thinking":
            delta = {"type": "signature_delta", "signature": "c2lnbmVk"}
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5})
    yield _event("message_stop")


class _Body(httpx2.SyncByteStream):
    def __init__(self, events: Iterator[bytes]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        return self._events


def _client(answer: Any, **settings: Any) -> anthropic.Anthropic:
    http_client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer()))
    return wrap(anthropic.Anthropic(api_key="none", http_client=http_client), **settings)


def _streamed(blocks: Sequence[Block], size: int, **settings: Any) -> Any:
    def answer() -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, stream=_Body(_events(blocks, size)), headers=headers)

    messages: Any = [{"role": "user", "content": "x"}]
    with _client(answer, **settings).messages.stream(model="c", max_tokens=9, messages=messages) as stream:
        return stream.get_final_message()


def _whole(blocks: Sequence[Block], **settings: Any) -> Any:
    content = [_block(index, block) for index, block in enumerate(blocks)]
    body = {**HEAD, "content": content, "stop_reason": "end_turn", "usage": USAGE}
    messages: Any = [{"role": "user", "content": "x"}]
    client = _client(lambda: httpx2.Response(200, json=body), **settings)
    return client.messages.create(model="c", max_tokens=9, messages=messages)


def _said(message_: Any) -> list[str]:
    return [block.text for block in message_.content if block.type == "text"]


def texts(*said: str, between: Sequence[Block] = (TOOL,)) -> list[Block]:
    blocks: list[Block] = []
    for text in said:
        blocks += [*(between if blocks else ()), ("text", text)]
    return blocks


BETWEEN = pytest.mark.parametrize(
    "between",
    [[TOOL], [SERVER_TOOL, RESULT], [THOUGHT], [TOOL, TOOL], [THOUGHT, TOOL]],
    ids=["tool", "server tool", "thinking", "two tools", "thinking and tool"],
)
SIZES = pytest.mark.parametrize("size", [1, 4, 1_000])


@BETWEEN
@SIZES
def test_a_value_is_found_behind_the_name_in_another_text(between: list[Block], size: int) -> None:
    blocks = texts("Password: ", "hunter2x9z", between=between)
    said = ["Password: ", PASSWORD]
    assert _said(_streamed(blocks, size, dlp=RULES)) == said
    assert _said(_whole(blocks, dlp=RULES)) == said
    assert _said(_streamed(blocks, size, dlp=RULES, stream_dlp="buffer")) == said
    assert _said(_streamed(blocks, size, dlp=WholeTexts())) == said


@BETWEEN
@SIZES
def test_of_a_secret_that_straddles_the_end_is_cut(between: list[Block], size: int) -> None:
    blocks = texts(f"key {KEY[:9]}", f"{KEY[9:]} x", between=between)
    assert _said(_streamed(blocks, size, dlp=RULES)) == [f"key {KEY[:9]}", f"{MARK} x"]
    assert "".join(_said(_whole(blocks, dlp=RULES))) == f"key {MARK} x"


@SIZES
def test_what_is_around_a_text_stays_as_it_was(size: int) -> None:
    between = [TOOL, TOOL, THOUGHT]
    blocks = [THOUGHT, *texts("Password: ", "hunter2x9z", " and more", between=between)]
    content = _streamed(blocks, size, dlp=RULES).content
    assert [block.type for block in content] == [kind for kind, _ in blocks]
    assert [block.input for block in content if block.type == "tool_use"] == [{"q": "x"}] * 4
    assert [block.text for block in content if block.type == "text"] == ["Password: ", PASSWORD, " and more"]


@SIZES
def test_blocks_in_a_row_are_parts_behind_a_tool_call_too(size: int) -> None:
    blocks = [
        ("text", "Pass"),
        ("text", "word: "),
        TOOL,
        TOOL,
        ("text", "hunter"),
        ("text", f"2x9z {KEY}"),
        ("text", "b"),
    ]
    assert "".join(_said(_streamed(blocks, size, dlp=RULES))) == f"Password: {PASSWORD} {MARK}b"
    assert "".join(_said(_whole(blocks, dlp=RULES))) == f"Password: {PASSWORD} {MARK}b"


@pytest.mark.parametrize(
    ("blocks", "count"),
    [
        (texts("Password: ", "hunter2x9z"), 1),
        (texts(f"a {KEY}", f"b {KEY}", "c"), 2),
        (texts(f"a {KEY[:9]}", f"{KEY[9:]} c"), 1),
        (texts("a", "b"), 0),
    ],
    ids=["name and value", "two", "straddling", "none"],
)
def test_evidence_counts_each_replacement_once(blocks: list[Block], count: int) -> None:
    audit = Counting()
    _streamed(blocks, 3, dlp=RULES, dlp_redaction_audit=audit)
    assert audit.count == count


def test_all_of_a_text_is_out_before_the_tool_call_begins() -> None:
    def cut() -> Iterator[bytes]:
        for event in _events(texts("It is 4111 1111", "x"), 3):
            yield event
            if b"tool_use" in event:
                raise httpx2.ReadError("cut")

    headers = {"content-type": "text/event-stream"}
    client = _client(lambda: httpx2.Response(200, stream=_Body(cut()), headers=headers), dlp=RULES)
    messages: Any = [{"role": "user", "content": "x"}]
    events: list[Any] = []
    with pytest.raises(anthropic.APIConnectionError):
        events.extend(client.messages.create(model="c", max_tokens=9, messages=messages, stream=True))
    said = [getattr(getattr(event, "delta", None), "text", "") for event in events]
    assert ("".join(said), events[-1].type) == ("It is 4111 1111", "content_block_stop")


WORDS = (KEY, "4111 1111 1111 1111", "078-05-1120", "hunter2x9z")


def _random_blocks(seed: int) -> list[Block]:
    chance = random.Random(seed)
    said = " ".join(
        chance.choice([*WORDS[:-1], f"password: {WORDS[-1]}", "what is it", "no 12", "ok."])
        for _ in range(chance.randint(1, 5))
    )
    blocks: list[Block] = []
    while said:
        place = chance.randint(1, 30)
        blocks += [
            ("text", said[:place]),
            *chance.choices([TOOL, THOUGHT, SERVER_TOOL], k=chance.randint(0, 2)),
        ]
        said = said[place:]
    return blocks


def _behind_markers(said: str) -> str:
    return re.split(r"\[REDACTED[:\w]*\]|\*{5}", said)[-1]


@pytest.mark.parametrize("seed", range(30))
def test_a_stream_says_no_more_than_the_whole_answer(seed: int) -> None:
    blocks = _random_blocks(seed)
    said = "".join(_said(_streamed(blocks, seed % 7 + 1, dlp=RULES)))
    whole = "".join(_said(_whole(blocks, dlp=RULES)))
    assert not any(word in said for word in WORDS)
    assert _behind_markers(said) == _behind_markers(whole)


class Simple(RuleBasedDlpInterceptor):
    """Has streams that cannot be flushed."""

    def open_stream(self, context: DlpContext) -> Any:
        return _Simple(super().open_stream(context))


class _Simple:
    def __init__(self, stream: Any) -> None:
        self.feed, self.finish, self.abort = stream.feed, stream.finish, stream.abort
        self._stream = stream

    @property
    def redactions(self) -> Any:
        return self._stream.redactions


def test_behind_a_stream_that_cannot_be_flushed_another_one_is_opened() -> None:
    blocks = texts("Password: ", f"hunter2x9z {KEY}")
    for dlp in (Simple.with_default_rules(), CompositeDlpInterceptor([Simple.with_default_rules()])):
        assert _said(_streamed(blocks, 3, dlp=dlp)) == ["Password: ", f"hunter2x9z {MARK}"]


class Timed(RuleBasedDlpInterceptor):
    """Takes its time between two pieces."""

    clock: FakeClock

    def open_stream(self, context: DlpContext) -> Any:
        return _Timed(super().open_stream(context), self.clock)


class _Timed(_Simple):
    def __init__(self, stream: Any, clock: FakeClock) -> None:
        super().__init__(stream)
        self.take_seams = stream.take_seams
        self._clock = clock

    def end_part(self) -> None:
        self._clock.advance(0.25)
        self._stream.end_part()

    def flush(self) -> str:
        self._clock.advance(0.5)
        said: str = self._stream.flush()
        return said


def test_the_time_between_texts_counts_as_the_inspections() -> None:
    dlp, observer = Timed.with_default_rules(), RecordingObserver()
    dlp.clock = FakeClock()
    blocks = [("text", "a"), ("text", "b"), TOOL, ("text", "c")]
    _streamed(blocks, 3, dlp=dlp, clock=dlp.clock, event_observers=[observer])
    (completed,) = [event for event in observer.events if event.name == "tramai.attempt.completed"]
    assert completed.attributes["dlp_micros"] == 1_250_000


class Keeping(Simple):
    """Keeps text back where it is to give out all."""

    def open_stream(self, context: DlpContext) -> Any:
        return _Keeping(RuleBasedDlpInterceptor.open_stream(self, context))


class _Keeping(_Simple):
    def end_part(self) -> None:
        """Do nothing."""

    def flush(self) -> str:
        return ""

    def take_seams(self) -> Sequence[int]:
        return ()


@pytest.mark.parametrize("settings", [{}, {"dlp_redaction_audit": Counting()}], ids=["plain", "audited"])
def test_a_stream_that_keeps_text_back_fails(settings: dict[str, Any]) -> None:
    with pytest.raises(DlpInspectionError):
        _streamed(texts("it is 12"), 3, dlp=Keeping.with_default_rules(), **settings)


def governed(driver: Driver, events: Sequence[dict[str, Any]], dlp: Any) -> bytes:
    return streamed(driver.rig({"p": Natives(natives_of(events))}, dlp=dlp), ASKED).encode()


def _lanes(body: bytes, kind: str = "output_text") -> dict[tuple[int, int], str]:
    said: dict[tuple[int, int], str] = {}
    for event in parsed(body):
        place = event.get("output_index", -1), event.get("content_index", event.get("summary_index", 0))
        if event["type"] == f"response.{kind}.delta":
            said[place] = said.get(place, "") + event["delta"]
        elif event["type"] == f"response.{kind}.done":
            assert said.get(place, "") == event.get("text", event.get("refusal"))
    return said


def _final(body: bytes) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = parsed(body)[-1]["response"]["output"]
    return output


@pytest.mark.parametrize("length", [1, 4, 1_000])
def test_texts_of_the_responses_api_are_one(driver: Driver, length: int) -> None:
    items = (
        message(text_part("Password: "), text_part("hunter2x9z"), item_id="m1"),
        reasoning("so", item_id="r"),
        message(text_part(f" key {KEY[:9]}"), item_id="m2"),
        call("{}"),
        message(text_part(f"{KEY[9:]} x"), item_id="m3"),
    )
    body = governed(driver, events_of(*items, length=length), RULES)
    expected = {(0, 0): "Password: ", (0, 1): PASSWORD, (2, 0): f" key {KEY[:9]}", (4, 0): f"{MARK} x"}
    assert _lanes(body) == expected
    parts = [part["text"] for item in _final(body) if item["type"] == "message" for part in item["content"]]
    assert parts == [*expected.values()]


@pytest.mark.parametrize("length", [1, 1_000])
def test_refusals_and_reasoning_of_the_responses_api_are_one_each(driver: Driver, length: int) -> None:
    items = (
        reasoning("Password:", "hunter2x9z", item_id="r"),
        message(
            refusal_part(f"no {KEY[:9]}"), text_part("hunter2x9z"), refusal_part(f"{KEY[9:]} x"), item_id="m1"
        ),
    )
    body = governed(driver, events_of(*items, length=length), RULES)
    assert _lanes(body, "reasoning_summary_text") == {(0, 0): "Password:", (0, 1): PASSWORD}
    assert _lanes(body, "refusal") == {(1, 0): f"no {KEY[:9]}", (1, 2): f"{MARK} x"}
    assert _lanes(body) == {(1, 1): "hunter2x9z"}


def test_texts_that_come_whole_in_one_event_are_one(driver: Driver) -> None:
    output = (
        message(text_part("Password: "), text_part("hunter2x9z")),
        message(text_part(" ok"), item_id="m2"),
    )
    events = [{"type": "response.completed", "response": response(*output)}]
    (first, second) = _final(governed(driver, events, RULES))
    assert [part["text"] for part in first["content"]] == ["Password: ", PASSWORD]
    assert second["content"][0]["text"] == " ok"


def test_the_rest_of_a_text_goes_out_before_one_that_begins_with_its_end(driver: Driver) -> None:
    item = message(text_part("it is Password: "), text_part("hunter2x9z"))
    where = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    events = [
        {"type": "response.output_text.delta", **where, "delta": "it is Password: ", "logprobs": []},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response(item)},
    ]
    body = governed(driver, events, RULES)
    assert _lanes(body) == {(0, 0): "it is Password: "}
    for said in (parsed(body)[-2]["item"], _final(body)[0]):
        assert [part["text"] for part in said["content"]] == ["it is Password: ", PASSWORD]


def test_texts_at_the_same_time_are_inspected_each_by_itself(driver: Driver) -> None:
    where = {"item_id": "m", "output_index": 0}

    def delta(index: int, text: str) -> dict[str, Any]:
        return {
            "type": "response.output_text.delta",
            **where,
            "content_index": index,
            "delta": text,
            "logprobs": [],
        }

    def done(index: int, text: str) -> dict[str, Any]:
        return {
            "type": "response.output_text.done",
            **where,
            "content_index": index,
            "text": text,
            "logprobs": [],
        }

    events = [
        delta(0, f"a {KEY[:9]}"),
        delta(1, f"b {KEY}"),
        delta(0, f"{KEY[9:]} Password: "),
        delta(1, " c"),
    ]
    events += [
        done(1, f"b {KEY} c"),
        done(0, f"a {KEY} Password: "),
        delta(2, "hunter2x9z"),
        done(2, "hunter2x9z"),
    ]
    body = governed(driver, [*events, {"type": "response.completed", "response": response()}], RULES)
    assert _lanes(body) == {(0, 0): f"a {MARK} Password: ", (0, 1): f"b {MARK} c", (0, 2): PASSWORD}


def test_the_sdk_joins_texts_of_the_responses_api() -> None:
    items = (
        message(text_part("Password: "), item_id="m1"),
        call("{}"),
        message(text_part("hunter2x9z"), item_id="m2"),
    )
    body = sse_of(events_of(*items))
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers=headers))
    with openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport)) as bare:
        client = wrap(bare, dlp=RULES)
        with client.responses.stream(model="m", input="hello") as stream:
            stream.until_done()
            assert stream.get_final_response().output_text == f"Password: {PASSWORD}"


def test_a_stream_that_is_left_between_two_texts_leaves_nothing_open() -> None:
    dlp = Flushing({"secret": "[S]"})
    headers = {"content-type": "text/event-stream"}
    body = _Body(_events(texts("a sec", "b", "c"), 2))
    client = _client(lambda: httpx2.Response(200, stream=body, headers=headers), dlp=dlp)
    messages: Any = [{"role": "user", "content": "x"}]
    with client.messages.create(model="c", max_tokens=9, messages=messages, stream=True) as stream:
        for event in stream:
            if event.type == "content_block_stop":
                break
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)


class Flushing(HoldBack):
    """`HoldBack` with streams that can be flushed."""

    def open_stream(self, context: DlpContext) -> Any:
        stream: Any = super().open_stream(context)

        def flush() -> str:
            held, stream._held = stream._held, ""
            return held

        stream.flush, stream.end_part, stream.take_seams = flush, lambda: None, lambda: ()
        return stream


def test_of_a_stream_that_ends_nothing_is_open() -> None:
    dlp = Flushing({"secret": "[S]"})
    assert _said(_streamed(texts("a sec", "ret secret", "c"), 2, dlp=dlp)) == ["a sec", "ret [S]", "c"]
    assert (dlp.open_count, dlp.aborted_count) == (0, 0)
