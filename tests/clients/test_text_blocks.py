"""Blocks of text in a stream: what ends one is found, and what straddles two of them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx2
import pytest

from tramapy import (
    CompositeDlpInterceptor,
    DlpContext,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedactionAuditEmitter,
    DlpResult,
    RuleBasedDlpInterceptor,
    wrap,
)

KEY = "AKIAIOSFODNN7EXAMPLE"
MARK = "[REDACTED:aws_access_key]"
RULES = RuleBasedDlpInterceptor.with_default_rules()


class WholeTexts(DlpInterceptor):
    """Inspects no stream."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return RULES.inspect(context, text)


class Counting(DlpRedactionAuditEmitter):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def emit(self, context: DlpContext, redactions: Sequence[Any]) -> None:
        for redaction in redactions:
            self.counts[redaction.rule_id] = (
                self.counts.get(redaction.rule_id, 0) + redaction.replacement_count
            )


def _event(kind: str, **value: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **value})}\n\n".encode()


def _events(blocks: Sequence[str], size: int, again: str) -> Iterator[bytes]:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    for index, text in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        if again == "late" and index:
            yield _event("content_block_stop", index=index - 1)
        for start in range(0, len(text), size):
            delta = {"type": "text_delta", "text": text[start : start + size]}
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        if again == "at once":
            yield _event("content_block_stop", index=index)
            yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5})
    yield _event("message_stop")


class _Body(httpx2.SyncByteStream):
    def __init__(self, blocks: Sequence[str], size: int, again: str) -> None:
        self._events = _events(blocks, size, again)

    def __iter__(self) -> Iterator[bytes]:
        return self._events


def _client(blocks: Sequence[str], size: int, *, again: str = "", **settings: Any) -> anthropic.Anthropic:
    def answer(_: httpx2.Request) -> httpx2.Response:
        body = _Body(blocks, size, again)
        return httpx2.Response(200, stream=body, headers={"content-type": "text/event-stream"})

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return wrap(anthropic.Anthropic(api_key="none", http_client=http_client), **settings)


def _said(client: anthropic.Anthropic) -> list[str]:
    messages: Any = [{"role": "user", "content": "x"}]
    with client.messages.stream(model="c", max_tokens=9, messages=messages) as stream:
        return [getattr(block, "text", "") for block in stream.get_final_message().content]


CASES = pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ((f"key {KEY}", "what"), f"key {MARK}what"),
        ((f"key {KEY[:8]}", f"{KEY[8:]} x"), f"key {MARK} x"),
        ((f"a {KEY} b", "", "c"), f"a {MARK} bc"),
        ((KEY, KEY, "x", f"y {KEY}"), f"{MARK}{MARK}xy {MARK}"),
        (("Password: ", "hunter2x9z"), "Password: [REDACTED:password]"),
        (("what", "is it"), "whatis it"),
        (("", "what"), "what"),
    ],
    ids=["glued", "straddling", "inside", "several", "name and value", "none", "empty"],
)


WAYS = pytest.mark.parametrize(
    "settings",
    [{"dlp": RULES}, {"dlp": RULES, "stream_dlp": "buffer"}, {"dlp": WholeTexts()}],
    ids=["stream", "buffer", "whole"],
)


@CASES
@pytest.mark.parametrize("size", [1, 50])
@WAYS
def test_what_ends_a_block_is_found(
    blocks: tuple[str, ...], expected: str, size: int, settings: dict[str, Any]
) -> None:
    assert "".join(_said(_client(blocks, size, **settings))) == expected


@CASES
@pytest.mark.parametrize("again", ["at once", "late"])
@WAYS
def test_the_end_of_a_block_may_be_said_again(
    blocks: tuple[str, ...], expected: str, again: str, settings: dict[str, Any]
) -> None:
    assert "".join(_said(_client(blocks, 3, again=again, **settings))) == expected


@CASES
@WAYS
def test_evidence_counts_each_replacement_once(
    blocks: tuple[str, ...], expected: str, settings: dict[str, Any]
) -> None:
    audit = Counting()
    _said(_client(blocks, 3, **settings, dlp_redaction_audit=audit))
    assert sum(audit.counts.values()) == expected.count("[REDACTED:")


@pytest.mark.parametrize("place", [8, 40, 60])
@WAYS
def test_nothing_is_left_of_what_straddles_two_blocks(place: int, settings: dict[str, Any]) -> None:
    token = "sk-ant-api03-" + "Ab1x9Qz7" * 11 + "AA"
    said = _said(_client((f"key {token[:place]}", f"{token[place:]} x"), 3, **settings))
    assert "".join(said) == "key [REDACTED:anthropic_key] x"


class FailingParts(RuleBasedDlpInterceptor):
    """Fails where a block ends, or returns what nobody awaits."""

    outcome: Any = None

    def open_stream(self, context: DlpContext) -> Any:
        stream = super().open_stream(context)
        outcome = self.outcome

        class Stream:
            redactions = ()
            feed, finish, abort = stream.feed, stream.finish, stream.abort
            flush, take_seams = stream.flush, stream.take_seams

            def end_part(self) -> Any:
                return outcome()

        return Stream()


class Simple(RuleBasedDlpInterceptor):
    """Has streams that know nothing of parts."""

    def open_stream(self, context: DlpContext) -> Any:
        stream = super().open_stream(context)
        return SimpleNamespace(redactions=(), feed=stream.feed, finish=stream.finish, abort=stream.abort)


def test_a_stream_that_knows_nothing_of_parts_gets_the_blocks_as_one_text() -> None:
    said = _said(_client([f"key {KEY[:5]}", f"{KEY[5:]} x"], 3, dlp=Simple.with_default_rules()))
    assert "".join(said) == f"key {MARK} x"


def _fail() -> None:
    raise ValueError(KEY)


async def _late() -> None:
    """Is never awaited."""


@pytest.mark.parametrize("is_in_chain", [False, True], ids=["alone", "in a composite"])
@pytest.mark.parametrize("outcome", [_fail, _late], ids=["fails", "awaitable"])
def test_a_stream_that_fails_at_the_end_of_a_block_closes_the_answer(outcome: Any, is_in_chain: bool) -> None:
    failing = FailingParts.with_default_rules()
    failing.outcome = outcome
    dlp = CompositeDlpInterceptor([failing, RULES]) if is_in_chain else failing
    with pytest.raises(DlpInspectionError) as caught:
        _said(_client(["key " + KEY, "what"], 3, dlp=dlp))
    assert KEY not in "".join(traceback.format_exception(caught.value))


class WrongSeams(RuleBasedDlpInterceptor):
    """Has streams that say wrong things of where parts meet."""

    seams: Any = None

    def open_stream(self, context: DlpContext) -> Any:
        stream = super().open_stream(context)
        names = ("feed", "finish", "abort", "end_part", "flush")
        calls = {name: getattr(stream, name) for name in names}
        return SimpleNamespace(redactions=(), take_seams=self.seams, **calls)


@pytest.mark.parametrize(
    "seams",
    [_fail, _late, lambda: [2, 1], lambda: [-1], lambda: [1_000], lambda: iter([1]), lambda: ["1"]],
    ids=["fails", "awaitable", "descending", "negative", "far", "lazy", "no numbers"],
)
def test_seams_that_cannot_be_close_the_answer(seams: Any) -> None:
    wrong = WrongSeams.with_default_rules()
    wrong.seams = seams
    with pytest.raises(DlpInspectionError) as caught:
        _said(_client(["one key " + KEY, "what"], 3, dlp=CompositeDlpInterceptor([wrong, RULES])))
    assert KEY not in "".join(traceback.format_exception(caught.value))
