"""`CompositeDlpInterceptor`: inspections in a row, their counts merged, whole or in pieces."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy import (
    CompositeDlpInterceptor,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    DlpStream,
    StreamingDlpInterceptor,
)

CONTEXT = DlpContext(
    content_type=DlpContentType.MODEL_OUTPUT,
    content_location=DlpContentLocation.MODEL_RESPONSE_CONTENT,
    operation_interface="s",
    operation_method="m",
    correlation_id="c1",
)


def replaced(text: str, old: str, new: str, rule_id: str) -> DlpResult:
    count = text.count(old)
    return DlpResult(text.replace(old, new), [DlpRedaction(rule_id, count)] if count else [])


class Plain(DlpInterceptor):
    def __init__(self, old: str, new: str, rule_id: str = "rule") -> None:
        self._change = (old, new, rule_id)

    def inspect(self, context: DlpContext, text: str) -> Any:
        assert context is CONTEXT
        return replaced(text, *self._change)


class Awaited(Plain):
    async def inspect(self, context: DlpContext, text: str) -> Any:
        return Plain.inspect(self, context, text)


class Streaming(StreamingDlpInterceptor):
    """Replaces single characters; holds each back until the next one comes."""

    def __init__(self, old: str, new: str, rule_id: str = "rule") -> None:
        self._change = (old, new, rule_id)
        self.opened: list[Stream] = []

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return replaced(text, *self._change)

    def open_stream(self, context: DlpContext) -> DlpStream:
        self.opened.append(Stream(*self._change))
        return self.opened[-1]


class Stream:
    def __init__(self, old: str, new: str, rule_id: str) -> None:
        self._change = (old, new, rule_id)
        self._held = ""
        self._found: list[DlpRedaction] = []
        self.is_aborted = False

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        return self._found

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = text[-1:]
        return self._release(text[:-1])

    def finish(self) -> str:
        return self._release(self._held)

    def abort(self) -> None:
        self.is_aborted = True

    def _release(self, text: str) -> str:
        result = replaced(text, *self._change)
        self._found.extend(result.redactions)
        return result.sanitized_text


class Unable(Streaming):
    def open_stream(self, context: DlpContext) -> Any:
        return None


def settled(value: Any) -> Any:
    async def main() -> Any:
        return await value

    return asyncio.run(main()) if inspect.isawaitable(value) else value


def test_each_inspects_what_the_one_before_returned() -> None:
    composite = CompositeDlpInterceptor([Plain("a", "b", "one"), Plain("b", "c", "two")])
    result = composite.inspect(CONTEXT, "ab")
    assert result == DlpResult("cc", [DlpRedaction("one", 1), DlpRedaction("two", 2)])


def test_counts_merge_by_rule_id_in_order_of_first_mention() -> None:
    composite = CompositeDlpInterceptor(
        [Plain("a", "b", "one"), Plain("b", "c", "two"), Plain("c", "d", "one")]
    )
    assert settled(composite.inspect(CONTEXT, "ab")).redactions == (
        DlpRedaction("one", 3),
        DlpRedaction("two", 2),
    )


def test_an_empty_one_is_the_identity() -> None:
    composite = CompositeDlpInterceptor([])
    assert composite.inspect(CONTEXT, "text") == DlpResult("text")
    stream = composite.open_stream(CONTEXT)
    assert stream is not None
    assert (stream.feed("te"), stream.feed("xt"), stream.finish(), stream.redactions) == ("te", "xt", "", ())


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from("xyz")), max_size=5),
    st.text("abc"),
)
@settings(max_examples=60)
def test_plain_and_awaited_ones_give_the_same(kinds: list[tuple[bool, str, str]], text: str) -> None:
    mixed = CompositeDlpInterceptor(
        (Awaited if is_async else Plain)(old, new, f"rule-{old}") for is_async, old, new in kinds
    )
    plain = CompositeDlpInterceptor(Plain(old, new, f"rule-{old}") for _, old, new in kinds)
    assert settled(mixed.inspect(CONTEXT, text)) == plain.inspect(CONTEXT, text)


def test_composites_nest() -> None:
    inner = CompositeDlpInterceptor([Awaited("b", "c")])
    composite = CompositeDlpInterceptor([Plain("a", "b"), inner, Plain("c", "d")])
    assert settled(composite.inspect(CONTEXT, "a")).sanitized_text == "d"


def test_a_pending_fold_that_is_given_up_closes_the_child_it_waits_for() -> None:
    pending: Any = CompositeDlpInterceptor([CompositeDlpInterceptor([Awaited("a", "b")])]).inspect(
        CONTEXT, "a"
    )
    pending.close()
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        settled(pending)


def test_a_failure_stops_the_fold() -> None:
    class Failing(Plain):
        def inspect(self, context: DlpContext, text: str) -> Any:
            raise KeyError("x")

    with pytest.raises(KeyError):
        CompositeDlpInterceptor([Failing("a", "b"), Plain("a", "b")]).inspect(CONTEXT, "a")


@given(st.lists(st.text("abcx", max_size=4), max_size=6))
@settings(max_examples=100)
def test_a_chain_of_streams_gives_what_the_whole_gives(pieces: list[str]) -> None:
    composite = CompositeDlpInterceptor(
        [Streaming("a", "b", "one"), Streaming("b", "c", "two"), Streaming("c", "", "one")]
    )
    stream = composite.open_stream(CONTEXT)
    assert stream is not None
    released = "".join([stream.feed(piece) for piece in pieces]) + stream.finish()
    whole = composite.inspect(CONTEXT, "".join(pieces))
    assert isinstance(whole, DlpResult)
    assert released == whole.sanitized_text
    assert tuple(stream.redactions) == whole.redactions


@pytest.mark.parametrize("unable", [Plain("a", "b"), Unable("a", "b")], ids=["plain", "none"])
def test_one_that_cannot_stream_makes_the_whole_buffer(unable: DlpInterceptor) -> None:
    able = Streaming("a", "b")
    assert CompositeDlpInterceptor([able, unable]).open_stream(CONTEXT) is None
    assert able.opened[0].is_aborted


def test_an_abort_reaches_every_stream() -> None:
    first, second = Streaming("a", "b"), Streaming("b", "c")
    stream = CompositeDlpInterceptor([first, second]).open_stream(CONTEXT)
    assert stream is not None
    stream.abort()
    assert first.opened[0].is_aborted
    assert second.opened[0].is_aborted


@pytest.mark.parametrize(
    ("child", "kind"),
    [
        (object(), "of type object"),
        (print, "a bare function"),
        (Plain, "the class Plain, and no instance"),
        (None, "of type NoneType"),
    ],
)
def test_what_is_no_interceptor_is_refused_by_position(child: Any, kind: str) -> None:
    complaint = rf"^interceptors\[1\] is {kind}; derive it from DlpInterceptor$"
    with pytest.raises(TypeError, match=complaint):
        CompositeDlpInterceptor([Plain("a", "b"), child])
