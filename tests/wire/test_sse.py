"""`SseDecoder`: events, however the body is cut, and never more than the limit of one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.errors import ResponseTooLargeError
from tramapy.wire.sse import SseDecoder, SseEvent, sse_frame


def events_of(*chunks: bytes, limit_bytes: int = 1000) -> list[tuple[str, bytes]]:
    decoder = SseDecoder(limit_bytes)
    return [(event.name, event.data) for chunk in chunks for event in decoder.feed(chunk)]


def events_at_once(*chunks: bytes, limit_bytes: int = 1000) -> list[tuple[str, bytes]]:
    """Do what `events_of` does, and take what is one event in one step."""
    decoder = SseDecoder(limit_bytes)
    taken: list[SseEvent] = []
    for chunk in chunks:
        event = decoder.single(chunk)
        taken.extend(decoder.feed(chunk) if event is None else (event,))
    return [(event.name, event.data) for event in taken]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
        (b"event: e\ndata: a\n\ndata: b\n\n", [("e", b"a"), ("", b"b")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b"data\ndata:\n\n", [("", b"\n")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a\n\n", [("", b" a")]),
        (b": comment\nid: 7\nretry: 9\ndata: a\n\n", [("", b"a")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
        (b"data: a\r\rdata: b\r\r", [("", b"a"), ("", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        (b"event: e\n\ndata: a\n\n", [("", b"a")]),
        (b"\n\n\n", []),
        (b"data: a\n\ndata: unfinished\n", [("", b"a")]),
        (b"data: a\xc3\xa9\n\n", [("", b"a\xc3\xa9")]),
        (b"data: a\x0bb\x0cc\x1cd\n\n", [("", b"a\x0bb\x0cc\x1cd")]),
        (b"event: \xff\ndata: a\n\n", [("�", b"a")]),
    ],
    ids=[
        "two",
        "name",
        "lines",
        "empty-data",
        "no-blank",
        "two-blanks",
        "other-fields",
        "crlf",
        "cr",
        "byte-order-mark",
        "name-without-data",
        "blank-lines",
        "unfinished",
        "utf-8",
        "other-separators",
        "undecodable-name",
    ],
)
def test_body_is_read_as_the_standard_says(body: bytes, events: list[tuple[str, bytes]]) -> None:
    assert events_of(body) == events_at_once(body) == events
    assert events_of(*(body[index : index + 1] for index in range(len(body)))) == events


@given(
    lines=st.lists(
        st.sampled_from([b"data: a", b"data: bc", b"event: e", b": c", b"", b"data"]), max_size=12
    ),
    ends=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n"]), min_size=12, max_size=12),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
@settings(max_examples=300)
def test_every_split_gives_the_same_events(lines: list[bytes], ends: list[bytes], cuts: list[int]) -> None:
    body = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    places = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    pieces = [body[start:end] for start, end in itertools.pairwise(places)]

    assert events_of(*pieces) == events_at_once(*pieces) == events_of(body)


def test_event_at_the_limit_passes() -> None:
    assert events_of(b"data: 1234\n\n" * 3, limit_bytes=10) == [("", b"1234")] * 3
    assert events_at_once(*[b"data: 1234\n\n"] * 3, limit_bytes=10) == [("", b"1234")] * 3


@pytest.mark.parametrize(
    "chunks",
    [[b"data: 12345\n\n"], [b"data: 12", b"345"], [b"data: 1\n", b"data: 2"], [b":12345678", b"90"]],
    ids=["whole", "in-parts", "in-lines", "unfinished-comment"],
)
def test_event_over_the_limit_is_an_error_with_both_figures(chunks: list[bytes]) -> None:
    with pytest.raises(ResponseTooLargeError, match="the limit is 10") as caught:
        events_at_once(*chunks, limit_bytes=10)

    assert (caught.value.limit_bytes, caught.value.read_bytes > 10) == (10, True)


def test_comments_that_ended_count_no_more() -> None:
    assert events_of(b": 1234567\n" * 50 + b"data: 1\n\n", limit_bytes=10) == [("", b"1")]


def test_repr_shows_no_data() -> None:
    assert repr(SseEvent(name="e", data=b"secret")) == "SseEvent(name='e', <6 bytes>)"


def test_a_name_that_is_no_word_of_a_format_does_not_go_out() -> None:
    assert sse_frame("response.output_text.delta", b"1") == b"event: response.output_text.delta\ndata: 1\n\n"
    for name in ("", "078-05-1120", "my secret", "x" * 65):
        assert sse_frame(name, b"1") == b"data: 1\n\n"
