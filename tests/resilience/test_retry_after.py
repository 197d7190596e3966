"""Reading the providers' hints."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.resilience.retry_after import parse_retry_after, retry_after_from_headers

NOW = datetime(1994, 11, 6, 8, 49, 0, tzinfo=UTC)
NOW_EPOCH_S = NOW.timestamp()


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Move the machine to a zone nine hours ahead."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


def parse(value: str, kind: str = "seconds") -> float | None:
    return parse_retry_after(value, kind=kind, now_epoch_s=NOW_EPOCH_S)


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("2.", 2.0),
        (".25", 0.25),
        ("007", 7.0),
        ("1800", 1800.0),
    ],
)
def test_a_number_is_seconds(value, delay_s):
    assert parse(value) == delay_s


@pytest.mark.parametrize(("value", "delay_s"), [("0", 0.0), ("250", 0.25), ("1500.5", 1.5005)])
def test_a_number_may_be_milliseconds(value, delay_s):
    assert parse(value, "milliseconds") == delay_s


@pytest.mark.parametrize(
    "value",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 1994 08:49:37 -0000",
    ],
    ids=["imf_fixdate", "rfc850", "asctime", "offset", "unknown_zone"],
)
@pytest.mark.usefixtures("far_from_utc")
def test_a_date_is_the_time_until_then_wherever_the_machine_stands(value):
    assert parse(value) == 37.0


def test_a_date_that_has_passed_is_no_delay():
    assert parse("Sun, 06 Nov 1994 08:48:59 GMT") == 0.0


def test_the_last_date_there_is_can_be_read():
    """At a zone that lies beyond the calendar's end in UTC."""
    assert parse("Fri, 31 Dec 9999 23:59:59 -2359") == pytest.approx(252_618_275_399.0)


def test_a_date_is_no_milliseconds():
    assert parse("Sun, 06 Nov 1994 08:49:37 GMT", "milliseconds") is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "soon",
        "-1",
        "+1",
        "-0.5",
        "nan",
        "inf",
        "Infinity",
        "1e3",
        "1_000",
        "1,5",
        "1.2.3",
        ".",
        "0x10",
        "١٢",
        "5 seconds",
        "5s",
        "1, 2",
        "9" * 65,
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        "Sun, 99 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 99:49:37 GMT",
    ],
)
@pytest.mark.parametrize("kind", ["seconds", "milliseconds"])
def test_anything_else_is_no_hint(value, kind):
    assert parse(value, kind) is None


@pytest.mark.parametrize("now_epoch_s", [math.nan, math.inf, -math.inf])
def test_a_clock_that_is_no_time_gives_no_hint(now_epoch_s):
    value = "Sun, 06 Nov 1994 08:49:37 GMT"
    assert parse_retry_after(value, kind="seconds", now_epoch_s=now_epoch_s) is None


@pytest.mark.parametrize(
    ("headers", "delay_s"),
    [
        ({}, None),
        ({"content-type": "text/plain"}, None),
        ({"retry-after": "2"}, 2.0),
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": "2", "retry-after-ms": "1500"}, 1.5),
        ({"RETRY-AFTER-MS": "1500", "Retry-After": "2"}, 1.5),
        ({"retry-after-ms": "garbage", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "-1", "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 37.0),
        ({"retry-after-ms": "garbage"}, None),
        ({"retry-after-ms": "0", "retry-after": "2"}, 0.0),
    ],
    ids=[
        "none",
        "other",
        "seconds",
        "any_case",
        "milliseconds_first",
        "any_case_milliseconds",
        "garbage_then_seconds",
        "negative_then_date",
        "garbage",
        "zero",
    ],
)
def test_headers_are_read_in_order(headers, delay_s):
    assert retry_after_from_headers(headers, NOW_EPOCH_S) == delay_s


@settings(max_examples=300)
@given(value=st.text(max_size=80), kind=st.sampled_from(["seconds", "milliseconds"]))
def test_no_text_breaks_it(value, kind):
    delay_s = parse(value, kind)
    assert delay_s is None or (math.isfinite(delay_s) and delay_s >= 0.0)


WORDS = [
    "Sun,",
    "06",
    "Nov",
    "1994",
    "08:49:37",
    "GMT",
    "-",
    "+9999",
    "99999999999",
    ":",
    ",",
    "(",
    "0",
    "a:b:c",
]


@settings(max_examples=300)
@given(words=st.lists(st.sampled_from(WORDS), max_size=8))
def test_no_broken_date_breaks_it(words):
    delay_s = parse(" ".join(words))
    assert delay_s is None or (math.isfinite(delay_s) and delay_s >= 0.0)


@given(ahead_s=st.integers(-1000, 10**8), offset_h=st.integers(-12, 14))
def test_a_formatted_date_reads_as_its_distance(ahead_s, offset_h):
    moment = (NOW + timedelta(seconds=ahead_s)).astimezone(timezone(timedelta(hours=offset_h)))
    assert parse(format_datetime(moment)) == max(0.0, float(ahead_s))
