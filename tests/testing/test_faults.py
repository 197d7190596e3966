"""The faults of `ScriptedServer`, as a raw HTTP client meets them, in every wire format."""

from __future__ import annotations

import dataclasses
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
    PlainAnswer,
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


FAULTS: dict[str, Callable[..., object]] = {
    "RawBody": lambda **fields: RawBody(**{"body": b"", **fields}),
    "HttpRejection": lambda **fields: HttpRejection(**{"status": 500, **fields}),
    "ConnectionReset": ConnectionReset,
    "SlowAnswer": lambda **fields: SlowAnswer(**{"gate": Gate(), **fields}),
    "CutStream": CutStream,
    "MidStreamError": MidStreamError,
    "MalformedStream": MalformedStream,
    "OversizedBody": lambda **fields: OversizedBody(**{"byte_count": 5, **fields}),
    "GzipBomb": lambda **fields: GzipBomb(**{"byte_count": 5, **fields}),
    "ErrorDetail": ErrorDetail,
    "PlainAnswer": lambda **fields: PlainAnswer(**{"answer": "x", **fields}),
}
WRONG: dict[str, tuple[object, str]] = {
    "after_events": ("2", r"takes an int, not str"),
    "answer": (5, r"takes a str or a ModelResponse, not int"),
    "body": ("x", r"takes bytes or a mapping, not str; encode a text"),
    "byte_count": (5.0, r"takes an int, not float"),
    "code": (429, r"takes str, not int; write it in quotes"),
    "data": ("x", r"takes bytes, not str; encode a text"),
    "detail": ("x", r"takes ErrorDetail, not str; for example .*"),
    "error_type": (ValueError, r"takes str, not type; write it in quotes"),
    "gate": (None, r"takes Gate, not NoneType; write gate=Gate\(\), .*"),
    "headers": ([], r"takes a mapping, not list; for example \{'retry-after': '2'\}"),
    "is_clean": (1, r"takes bool, not int; write True or False"),
    "is_one_event": (None, r"takes bool, not NoneType; write True or False"),
    "message": (None, r"takes str, not NoneType; write it in quotes"),
    "status": ("500", r"takes an int, not str"),
}
FIELDS = [
    (fault, field.name)
    for fault, make in FAULTS.items()
    for field in dataclasses.fields(make())  # type: ignore[arg-type]  # all of them are
]


@pytest.mark.parametrize(("fault", "field"), FIELDS)
def test_every_field_of_a_fault_is_checked(fault: str, field: str) -> None:
    wrong, complaint = WRONG[field]
    with pytest.raises(TypeError, match=rf"^{fault}\.{field} {complaint}$"):
        FAULTS[fault](**{field: wrong})


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: HttpRejection(status=42), r"HttpRejection\.status is 42; give at least 200"),
        (lambda: RawBody(body=b"", status=600), r"RawBody\.status is 600; give at most 599"),
        (lambda: CutStream(after_events=-1), r"CutStream\.after_events is -1; give at least 0"),
        (lambda: OversizedBody(byte_count=0), r"OversizedBody\.byte_count is 0; give at least 1"),
        (
            lambda: HttpRejection(status=429, headers={"retry after": "2"}),
            r"HttpRejection\.headers has a name that no header can have, 'retry after'",
        ),
        (
            lambda: HttpRejection(status=429, headers={"retry-after": "2\r\nx: y"}),
            r"HttpRejection\.headers\['retry-after'\] has a character that no header can have; write Latin-1 on .*",
        ),
    ],
)
def test_a_field_out_of_range_is_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}$"):
        make()


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        ({"retry-after": 2}, r"headers\['retry-after'\] takes a str, not int; write it in quotes"),
        ({5: "x"}, r"headers has a name of type int; each is a str"),
    ],
)
def test_headers_are_texts(headers: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=rf"^HttpRejection\.{complaint}$"):
        HttpRejection(status=429, headers=headers)


@pytest.mark.parametrize("make", [ConnectionReset, CutStream], ids=["reset", "cut"])
def test_none_is_for_what_is_none_by_default(make: Callable[..., object]) -> None:
    assert make(after_events=None) == make()
    with pytest.raises(TypeError, match=r"after_events takes an int, not NoneType"):
        MidStreamError(after_events=None)  # type: ignore[arg-type]  # as newcomers do
