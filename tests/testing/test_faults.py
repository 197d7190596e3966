"""The faults of `ScriptedServer`, as a raw HTTP client meets them, in every wire format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.testing.reading import CHAT, MESSAGES, PATHS, RESPONSES, ask, body_of, events_of
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    Gate,
    GzipBomb,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    OversizedBody,
    RawBody,
    ScriptedServer,
    SlowAnswer,
)

every_format = pytest.mark.parametrize("path", PATHS, ids=["chat", "responses", "messages"])
plain_and_stream = pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])


@pytest.mark.parametrize("path", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_rejection_is_worded_as_the_api_words_it(path: str) -> None:
    fault = HttpRejection(status=429, code="insufficient_quota", error_type="t", message="m")
    response = ask(fault, path)

    assert response.status_code == 429
    assert response.json() == {
        "error": {"message": "m", "type": "t", "param": None, "code": "insufficient_quota"}
    }


@pytest.mark.parametrize(
    ("status", "error_type", "expected"),
    [
        (529, None, "overloaded_error"),
        (429, None, "rate_limit_error"),
        (500, None, "api_error"),
        (400, "t", "t"),
    ],
    ids=["overloaded", "rate-limit", "other", "given"],
)
def test_rejection_of_messages_has_a_type_of_its_status(
    status: int, error_type: str | None, expected: str
) -> None:
    response = ask(HttpRejection(status=status, error_type=error_type, message="m"), MESSAGES)

    assert response.status_code == status
    assert response.json() == {"type": "error", "error": {"type": expected, "message": "m"}}


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "2"},
        {"retry-after-ms": "250"},
        {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"},
        {"x-should-retry": "false"},
    ],
    ids=["seconds", "milliseconds", "date", "should-retry"],
)
def test_rejection_carries_its_headers(headers: dict[str, str]) -> None:
    response = ask(HttpRejection(status=429, headers=headers))

    assert headers.items() <= dict(response.headers).items()


@plain_and_stream
@pytest.mark.parametrize(
    ("body", "data"), [(b"\xff\xfe", b"\xff\xfe"), ({"a": "ä"}, '{"a":"ä"}'.encode())], ids=["bytes", "json"]
)
def test_raw_body_is_sent_as_it_is(is_stream: bool, body: Any, data: bytes) -> None:
    response = ask(RawBody(body=body, status=203, headers={"x-a": "b"}), stream=is_stream)

    assert (response.status_code, response.headers["x-a"], response.content) == (203, "b", data)


@plain_and_stream
def test_reset_before_the_answer_is_an_error(is_stream: bool) -> None:
    with pytest.raises(httpx2.ReadError):
        ask(ConnectionReset(), stream=is_stream)


@every_format
@plain_and_stream
def test_reset_within_the_answer_is_an_error(path: str, is_stream: bool) -> None:
    with pytest.raises(httpx2.ReadError):
        ask(ConnectionReset(answer="a b", after_events=2), path, stream=is_stream)


@every_format
def test_cut_stream_ends_without_its_terminal_events(path: str) -> None:
    whole = events_of("cut short", path)
    cut = events_of(CutStream(), path)

    assert cut == whole[: len(cut)]
    assert len(whole) - len(cut) == {CHAT: 2, RESPONSES: 1, MESSAGES: 2}[path]


def test_cut_stream_may_end_after_an_event() -> None:
    assert len(events_of(CutStream(after_events=1))) == 1


def test_cut_stream_may_end_within_the_body() -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(CutStream(is_clean=False), stream=True)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (CHAT, lambda event: event["error"]["code"]),
        (RESPONSES, lambda event: (event["type"], event["code"])[1]),
        (MESSAGES, lambda event: {"overloaded_error": "c"}[event["error"]["type"]]),
    ],
    ids=["chat", "responses", "messages"],
)
def test_error_comes_in_the_middle_of_a_stream(path: str, shape: Callable[[Any], str]) -> None:
    fault = MidStreamError(detail=ErrorDetail(status=529, code="c"), after_events=1)
    events = events_of(fault, path)

    assert (len(events), shape(events[1])) == (2, "c")


def test_garbage_comes_in_the_middle_of_a_stream() -> None:
    data = ask(MalformedStream(data=b"data: ][\n\n", answer="a", after_events=1), stream=True).content

    assert data.split(b"\n\n")[1] == b"data: ]["
    assert data.endswith(b"data: [DONE]\n\n")


@every_format
@plain_and_stream
@pytest.mark.parametrize("after_events", [None, 2], ids=["before", "within"])
def test_slow_answer_is_whole_in_the_end(path: str, is_stream: bool, after_events: int | None) -> None:
    gate = Gate()
    gate.release()

    slow = ask(SlowAnswer(gate=gate, answer="a b", after_events=after_events), path, stream=is_stream)

    assert slow.content == ask("a b", path, stream=is_stream).content


@plain_and_stream
def test_slow_answer_stands_within_the_body(is_stream: bool) -> None:
    gate = Gate()
    whole = ask("a b", stream=is_stream).content
    fault = SlowAnswer(gate=gate, answer="a b", after_events=2)
    with (
        ScriptedServer([fault]) as server,
        httpx2.Client(timeout=30) as client,
        client.stream("POST", server.root_url + CHAT, json={"model": "m", "stream": is_stream}) as response,
    ):
        chunks = response.iter_bytes()
        beginning = next(chunks)
        gate.wait_until_reached()
        gate.release()
        assert 0 < len(beginning) < len(whole)
        assert beginning + b"".join(chunks) == whole


@plain_and_stream
@pytest.mark.parametrize("status", [200, 500], ids=str)
def test_oversized_body_is_at_least_as_long_as_told(is_stream: bool, status: int) -> None:
    response = ask(OversizedBody(byte_count=300_000, status=status), stream=is_stream)

    assert response.status_code == status
    assert 300_000 <= len(response.content) < 400_000


@every_format
def test_oversized_stream_has_many_whole_events(path: str) -> None:
    events = events_of(OversizedBody(byte_count=20_000), path)

    assert len(events) > 10


def test_oversized_stream_may_be_one_event() -> None:
    data = ask(OversizedBody(byte_count=300_000, is_one_event=True), stream=True).content

    assert data.startswith(b"data: ")
    assert b"\n" not in data


@plain_and_stream
def test_bomb_is_small_on_the_wire_and_grows(is_stream: bool) -> None:
    response = ask(GzipBomb(byte_count=10_000_000), stream=is_stream)

    assert response.num_bytes_downloaded < 20_000
    assert len(response.content) > 9_900_000
    assert json.loads(response.content.removeprefix(b"data: "))["x"].strip("0") == ""


@every_format
def test_plain_answers_of_all_formats_say_the_same(path: str) -> None:
    assert "one two" in json.dumps(body_of("one two", path))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RawBody(body="x"), r"RawBody\.body takes bytes or a mapping, not str; encode a text"),
        (lambda: SlowAnswer(gate=1), r"SlowAnswer\.gate takes Gate, not int; write gate=Gate\(\)"),
        (
            lambda: MidStreamError(detail="x"),
            r"MidStreamError\.detail takes ErrorDetail, not str; for example",
        ),
        (lambda: MalformedStream(data="x"), r"MalformedStream\.data takes bytes, not str; encode a text"),
        (lambda: HttpRejection(503), r"HttpRejection takes nothing without a name; write .*status=\.\.\."),
        (
            lambda: HttpRejection(status=429, retry_after=2),
            r"'retry_after' of HttpRejection; known are .*headers",
        ),
    ],
)
def test_a_fault_that_cannot_be_acted_out_is_refused(make: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        make()
