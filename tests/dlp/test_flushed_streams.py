"""Streams that are flushed between two parts: all is out then, and what comes next is read behind it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dlp.contexts import context_of, counts, interceptor_of, rule_of
from tramapy import (
    CompositeDlpInterceptor,
    DlpAction,
    DlpContentLocation,
    DlpContext,
    DlpInspectionError,
    DlpRedaction,
    DlpResult,
    DlpRule,
    DlpStream,
    PartedDlpStream,
    RuleBasedDlpInterceptor,
    StreamingDlpInterceptor,
)

KEY = "AKIAIOSFODNN7EXAMPLE"
CARD = "4111 1111 1111 1111"
TOKEN = "sk-ant-api03-" + "Ab1x9Qz7" * 11 + "AA"
LONG = "eyJhbGciOiJIUzI1NiJ9.eyJ" + "Ab9_" * 900 + "." + "x9Z-" * 20

DEFAULT = RuleBasedDlpInterceptor.with_default_rules()
NUMBERS = rule_of(r"\bno\d{3}\b", "number", "[N]")
WITH_ADDED = RuleBasedDlpInterceptor.with_default_rules(rules=[NUMBERS])
ADDED_ALONE = interceptor_of(NUMBERS, rule_of(r"\[N\] ends$", "end", "[E]"))


def opened(interceptor: StreamingDlpInterceptor) -> PartedDlpStream:
    stream = interceptor.open_stream(context_of())
    assert isinstance(stream, PartedDlpStream)
    return stream


def flushed(interceptor: StreamingDlpInterceptor, parts: Sequence[str], size: int = 10_000) -> list[str]:
    """Return what is out after each part, without the names of markers."""
    stream = opened(interceptor)
    released: list[str] = []
    for part in parts:
        pieces = [stream.feed(part[start : start + size]) for start in range(0, len(part), size)]
        released.append("".join([*pieces, stream.flush()]).replace("REDACTED:", ""))
    assert stream.finish() == ""
    return released


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("Password: ", "hunter2x9z is it"), ["Password: ", "[password] is it"]),
        (("Password: ", "", "hunter2x9z is it"), ["Password: ", "", "[password] is it"]),
        ((f"key {KEY}", f"what {KEY}"), ["key [aws_access_key]", "what [aws_access_key]"]),
        ((f"key {KEY}", "what"), ["key [aws_access_key]", "what"]),
        (("what", f"{KEY} is"), ["what", "[aws_access_key] is"]),
        ((f"key {KEY[:9]}", f"{KEY[9:]} x"), [f"key {KEY[:9]}", "[aws_access_key] x"]),
        (("4111 11", "11 11", "11 1111 ok"), ["4111 11", "11 11", "[credit_card] ok"]),
        (("x", LONG, " y"), ["x", "[jwt]", " y"]),
        ((f"x {LONG[:3_700]}", f"{LONG[3_700:]} y"), ["x [jwt]", "[jwt] y"]),
        ((LONG, LONG), ["[jwt]", "[jwt]"]),
        ((f"x {LONG[:1_500]}", f"{LONG[1_500:]} y"), ["x [jwt]", "[jwt] y"]),
        (
            (f"x {LONG[:3_500]}", LONG[3_500:3_600], f"{LONG[3_600:]} y"),
            ["x [jwt]", "[jwt]", "[jwt] y"],
        ),
        (("key \\u0041\\u00", "4bIAIOSFODNN7EXAMPLE."), ["key \\u0041\\u00", "[aws_access_key]."]),
        (
            ("user,password\nann,hunter2x9z", "\nbob,hunter3x9z"),
            ["user,password\nann,[password_column]", "\nbob,[password_column]"],
        ),
        (("user,password\nann,hunt", "er2x9z\n"), ["user,password\nann,hunt", "[password_column]\n"]),
        (("no keys", " here"), ["no keys", " here"]),
    ],
    ids=[
        *("name", "name, nothing and value", "two", "glued right", "glued left", "straddling", "over three"),
        *("long", "long straddling", "two long ones", "long over two", "long over three"),
        *("escapes", "table", "cell", "none"),
    ],
)
def test_packs(parts: tuple[str, ...], expected: list[str], size: int) -> None:
    assert flushed(DEFAULT, parts, size) == expected


@pytest.mark.parametrize("secret", [KEY, CARD, TOKEN, "078-05-1120", "no123"])
def test_wherever_a_secret_is_cut_its_end_is_not_out(secret: str) -> None:
    for place in range(1, len(secret)):
        _, behind = flushed(WITH_ADDED, [f"x {secret[:place]}", f"{secret[place:]} y"])
        assert behind.startswith(("[", "*"))
        assert behind.endswith(("] y", "* y"))


@pytest.mark.parametrize("interceptor", [WITH_ADDED, ADDED_ALONE], ids=["beside packs", "alone"])
@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("no123", "what"), ["[N]", "what"]),
        (("what", "no123", "x"), ["what", "[N]", "x"]),
        (("a no1", "23 x"), ["a no1", "[N] x"]),
        (("ano123", "x no123"), ["ano123", "x [N]"]),
        (("a no1", "2", "3", " x"), ["a no1", "2", "[N]", " x"]),
    ],
    ids=["glued right", "glued both", "straddling", "before the part", "over three"],
)
def test_added_rules(
    interceptor: RuleBasedDlpInterceptor, parts: tuple[str, ...], expected: list[str], size: int
) -> None:
    assert flushed(interceptor, parts, size) == expected


@pytest.mark.parametrize("packs", [True, False], ids=["beside packs", "alone"])
@pytest.mark.parametrize(
    ("settings_", "parts", "expected"),
    [
        ({"validate": lambda text: text.endswith("9")}, ("a 12", "39 b"), ["a 12", "[#] b"]),
        ({"validate": lambda text: text.startswith("3")}, ("a 12", "39 b"), ["a 12", "39 b"]),
        ({"context_words": ["number"]}, ("number 12", "39 b"), ["number 12", "[#] b"]),
        ({"context_words": ["number"]}, ("number", " 1", "239 b"), ["number", " 1", "[#] b"]),
        ({"max_length": 3}, ("a 12", "39 b"), ["a 12", "39 b"]),
    ],
    ids=["valid", "not valid", "context", "context before two", "too long"],
)
def test_conditions_are_asked_of_the_whole_match(
    settings_: dict[str, Any], parts: tuple[str, ...], expected: list[str], packs: bool
) -> None:
    rule = DlpRule(id="n", pattern=r"\d{4,}", replacement="[#]", **settings_)
    interceptor = RuleBasedDlpInterceptor.with_default_rules(rules=[rule]) if packs else interceptor_of(rule)
    for size in (1, 10_000):
        assert flushed(interceptor, parts, size) == expected


@pytest.mark.parametrize("packs", [True, False], ids=["beside packs", "alone"])
def test_parts_of_adjacent_blocks_go_on_behind_a_flush(packs: bool) -> None:
    interceptor = WITH_ADDED if packs else ADDED_ALONE
    stream = opened(interceptor)
    assert stream.feed("a no1") + stream.flush() == "a no1"
    released = stream.feed("23 no4")
    stream.end_part()
    released += stream.feed("56what no789")
    stream.end_part()
    released += stream.feed("x") + stream.flush()
    assert released == "[N] no456what [N]x"
    assert counts(DlpResult(released, stream.redactions)) == [("number", 2)]


def test_a_rule_that_only_logs_tells_of_a_match_once(caplog: pytest.LogCaptureFixture) -> None:
    rule = DlpRule(id="number", pattern=r"\bno\d{3}\b", replacement="[N]", action=DlpAction.LOG)
    beside_packs = RuleBasedDlpInterceptor.with_default_rules(rules=[rule])
    for interceptor in (beside_packs, interceptor_of(rule)):
        caplog.clear()
        stream = opened(interceptor)
        with caplog.at_level(logging.INFO, "tramapy.dlp"):
            said = stream.feed("no123 ")
            stream.end_part()
            said += stream.feed("no456. no789") + stream.flush() + stream.feed(" and") + stream.finish()
        assert said == "no123 no456. no789 and"
        assert len(caplog.records) == 3
    caplog.clear()
    with caplog.at_level(logging.INFO, "tramapy.dlp"):
        beside_packs.inspect_parts(context_of(), ["no123 ", "no456."])
    assert len(caplog.records) == 2


def test_what_blocks_blocks_the_end_of_what_straddles() -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(actions={"aws_access_key": DlpAction.BLOCK})
    stream = opened(interceptor)
    assert stream.feed(KEY[:9]) + stream.flush() == KEY[:9]
    with pytest.raises(DlpInspectionError, match="blocks"):
        stream.feed(f"{KEY[9:]} and more and more")


class Lines(StreamingDlpInterceptor):
    """Writes each line with its number; its streams cannot be flushed."""

    def __init__(self) -> None:
        self.open_count = 0
        self.is_shut = False

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult(text)

    def open_stream(self, context: DlpContext) -> DlpStream | None:
        if self.is_shut:
            return None
        self.open_count += 1
        return _Line(self)


class _Line:
    def __init__(self, owner: Lines) -> None:
        self._owner = owner
        self._held = ""
        self._is_ended = False
        self.redactions: Sequence[DlpRedaction] = ()

    def feed(self, text: str) -> str:
        self._held += text
        return ""

    def finish(self) -> str:
        assert not self._is_ended
        self._is_ended = True
        self.redactions = (DlpRedaction("line", 1),)
        return f"<{self._held}>"

    def abort(self) -> None:
        assert not self._is_ended
        self._is_ended = True


@pytest.mark.parametrize("last", ["finish", "abort"])
def test_a_stream_of_a_chain_that_cannot_be_flushed_ends_and_another_one_goes_on(last: str) -> None:
    lines = Lines()
    stream = opened(CompositeDlpInterceptor([DEFAULT, lines, ADDED_ALONE]))
    assert stream.feed("Password: ") + stream.flush() == "<Password: >"
    assert stream.flush() == ""
    assert stream.feed("hunter2x9z no123") + stream.flush() == "<[REDACTED:password] [N]>"
    assert lines.open_count == 2
    assert counts(DlpResult("", stream.redactions)) == [("password", 1), ("line", 2), ("number", 1)]
    assert getattr(stream, last)() in ("", None)


def test_a_chain_aborts_what_goes_on() -> None:
    stream = opened(CompositeDlpInterceptor([Lines()]))
    stream.flush()
    stream.feed("a")
    stream.abort()


def test_a_stream_that_is_refused_the_second_time_fails() -> None:
    lines = Lines()
    stream = opened(CompositeDlpInterceptor([lines]))
    stream.flush()
    lines.is_shut = True
    with pytest.raises(TypeError, match="gave no stream"):
        stream.feed("a")


def test_seams_before_a_flush_are_told() -> None:
    for interceptor in (DEFAULT, ADDED_ALONE):
        stream = opened(interceptor)
        released = stream.feed("one")
        stream.end_part()
        more = stream.feed("two")
        found = [released + more[:place] for place in stream.take_seams()]
        released, more = released + more, stream.flush()
        assert [*found, *(released + more[:place] for place in stream.take_seams())] == ["one"]
        assert released + more == "onetwo"
        assert (stream.feed("three ") + stream.flush(), tuple(stream.take_seams())) == ("three ", ())


@pytest.mark.parametrize("interceptor", [DEFAULT, interceptor_of(NUMBERS)], ids=["packs", "added"])
def test_a_stream_that_has_ended_cannot_be_flushed(interceptor: RuleBasedDlpInterceptor) -> None:
    stream = opened(interceptor)
    stream.finish()
    with pytest.raises(ValueError, match="has ended"):
        stream.flush()


EMPTY = rule_of(r"(?:no\d{3})?$", "empty")


@pytest.mark.parametrize(
    "interceptor",
    [interceptor_of(EMPTY), RuleBasedDlpInterceptor.with_default_rules(rules=[EMPTY])],
    ids=["alone", "beside packs"],
)
def test_an_empty_match_closes_the_stream(interceptor: RuleBasedDlpInterceptor) -> None:
    stream = opened(interceptor)
    stream.feed("a")
    with pytest.raises(DlpInspectionError, match="matched the empty string"):
        stream.flush()
    with pytest.raises(ValueError, match="has ended"):
        stream.feed("b")


def test_json_that_is_decided_at_its_end_is_decided_by_a_flush() -> None:
    context = replace(context_of(), content_location=DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS)
    stream = interceptor_of(NUMBERS).open_stream(context)
    assert stream.feed('{"a": "no123"}') == ""
    assert (stream.flush(), tuple(stream.take_seams())) == ('{"a": "[N]"}', ())
    assert stream.feed("text no4") == "text "
    stream.end_part()
    assert stream.feed("56 no789") + stream.flush() == "[N] [N]"
    assert tuple(stream.take_seams()) == ()
    assert stream.finish() == ""
    assert stream.redactions == (DlpRedaction("number", 3),)


def test_a_match_that_goes_on_over_many_parts_is_remembered_by_its_end() -> None:
    rules = RuleBasedDlpInterceptor.with_default_rules(
        allowed_texts=["other"]
    )  # it may be allowed: it is not dropped
    long = f"{LONG}{'Ab9_' * 900}"
    *said, name, value = flushed(rules, [long, *["Ab9_"] * 7, " Password: ", "hunter2x9z"])
    assert [*said, name, value] == [*["[jwt]"] * 5, *["Ab9_"] * 3, " Password: ", "[password]"]


def test_a_match_of_an_added_rule_that_goes_on_is_remembered_by_its_end() -> None:
    rule = rule_of(r"a[^z]*z|\bno\d{3}\b", "rule", "[#]")
    for length, expected in ((100, ["[#]", " and"]), (100_001, ["z", " and"])):
        interceptor = interceptor_of(rule, max_text_length=1_000_000)
        assert flushed(interceptor, ["a" + "b" * length, "z", " and"])[1:] == expected
    assert flushed(interceptor, ["a" + "b" * 100_001 + " no1", "23 x"])[1:] == ["[#] x"]


WORDS = st.sampled_from(
    [
        *(KEY, KEY[:7], KEY[7:], CARD, CARD[:9], CARD[9:], TOKEN, TOKEN[:30], TOKEN[30:], "no1", "23"),
        *("what", " is", "x", "1", " ", "\n", "password: ", "hunter2x9z", "\\u0041", "é", '"', "\u200b"),
    ]
)
PARTS = st.lists(st.lists(WORDS, max_size=4).map("".join), min_size=1, max_size=4)


@given(PARTS, st.integers(1, 9))
@settings(max_examples=80)
def test_how_a_part_is_cut_makes_no_difference(parts: list[str], size: int) -> None:
    for interceptor in (WITH_ADDED, ADDED_ALONE, CompositeDlpInterceptor([ADDED_ALONE, DEFAULT])):
        assert flushed(interceptor, parts, size) == flushed(interceptor, parts)


@given(PARTS)
@settings(max_examples=80)
def test_what_the_whole_or_a_part_would_lose_is_lost(parts: list[str]) -> None:
    said = "".join(flushed(DEFAULT, parts))
    left = DEFAULT.redact("".join(parts)).sanitized_text
    for secret in (KEY, CARD, TOKEN, "hunter2x9z"):
        assert said.count(secret) <= left.count(secret)
