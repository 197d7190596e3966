"""Streams of a text with parts: what all of them hold together is cut, and what one of them holds by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.dlp.contexts import context_of, counts, default_rules, interceptor_of, rule_of
from tests.memory import peak_bytes
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
from tramapy.dlp.packs import financial

KEY = "AKIAIOSFODNN7EXAMPLE"
CARD = "4111 1111 1111 1111"
TOKEN = "sk-ant-api03-" + "Ab1x9Qz7" * 11 + "AA"
LONG = "eyJhbGciOiJIUzI1NiJ9.eyJ" + "Ab9_" * 900 + "." + "x9Z-" * 20

DEFAULT = default_rules()
NUMBERS = rule_of(r"\bno\d{3}\b", "number", "[N]")
WITH_ADDED = RuleBasedDlpInterceptor.with_default_rules(rules=[NUMBERS])
ADDED_ALONE = interceptor_of(NUMBERS, rule_of(r"\[N\] ends$", "end", "[E]"))


def parted(interceptor: StreamingDlpInterceptor, parts: Sequence[str], size: int = 10_000) -> DlpResult:
    stream = interceptor.open_stream(context_of())
    assert isinstance(stream, PartedDlpStream)
    released: list[str] = []
    for place, part in enumerate(parts):
        if place:
            stream.end_part()
        released += [stream.feed(part[start : start + size]) for start in range(0, len(part), size)]
    released.append(stream.finish())
    return DlpResult("".join(released), stream.redactions)


@pytest.mark.parametrize("size", [1, 5, 10_000])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((f"key {KEY}", "what"), "key [aws_access_key]what"),
        (("what", f"{KEY} is"), "what[aws_access_key] is"),
        (("what", KEY, "is"), "what[aws_access_key]is"),
        ((f"key {KEY[:9]}", f"{KEY[9:]} x"), "key [aws_access_key] x"),
        ((f"key {TOKEN[:40]}", f"{TOKEN[40:]} x"), "key [anthropic_key] x"),
        (("4111 11", "11 11", "11 1111 ok"), "[credit_card] ok"),
        (("Password: ", "hunter2x9z"), "Password: [password]"),
        (("x", LONG, "y"), "x[jwt]"),
        (("x" * 4_000 + " " + KEY, "x" * 4_000), "x" * 4_000 + " [aws_access_key]" + "x" * 4_000),
        ((LONG[:3_500], f"{LONG[3_500:]} x"), "[jwt] x"),
        ((f"{LONG} {KEY}", "what"), "[jwt] [aws_access_key]what"),
        ((LONG, LONG), "[jwt]"),
        (("key \\u0041", "\\u004bIAIOSFODNN7EXAMPLE."), "key [aws_access_key]."),
        (
            ("user,password\nann,hunter2x9z", "what\nbob,hunter3x9z"),
            "user,password\nann,[password_column]\nbob,[password_column]",
        ),
        ((f"\u200b{KEY[:5]}\u200b", f"{KEY[5:]}", " what"), "\u200b[aws_access_key] what"),
        (("user,password\nann,hunter2x9z ", "and more"), "user,password\nann,[password_column] and more"),
        (("", f"a {KEY}", "", "b"), "a [aws_access_key]b"),
        (("no keys", "here"), "no keyshere"),
    ],
    ids=[
        *("glued right", "glued left", "glued both", "straddling", "straddling long", "over three"),
        *(
            "name and value",
            "long glued",
            "long text",
            "long straddling",
            "behind a long one",
            "two long ones",
            "escapes",
            "table",
            "cell",
            "invisible",
        ),
        *("empty", "none"),
    ],
)
def test_packs(parts: tuple[str, ...], expected: str, size: int) -> None:
    result = parted(DEFAULT, parts, size)
    assert result.sanitized_text.replace("REDACTED:", "") == expected
    assert sum(count for _, count in counts(result)) == expected.count("[")


@pytest.mark.parametrize("interceptor", [WITH_ADDED, ADDED_ALONE], ids=["beside packs", "alone"])
@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("no123", "what"), "[N]what"),
        (("what", "no123", "x"), "what[N]x"),
        (("a no1", "23 x"), "a [N] x"),
        (("ano123", "x no123"), "ano123x [N]"),
    ],
    ids=["glued right", "glued both", "straddling", "before the part"],
)
def test_added_rules(
    interceptor: RuleBasedDlpInterceptor, parts: tuple[str, ...], expected: str, size: int
) -> None:
    assert parted(interceptor, parts, size).sanitized_text == expected


def test_overlapping_matches_of_one_rule_become_one() -> None:
    result = parted(interceptor_of(rule_of(r"ab\b|bc", "rule", "[#]")), ["x ab", "cd"])
    assert (result.sanitized_text, counts(result)) == ("x [#]d", [("rule", 1)])


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_match_of_a_part_counts_where_that_of_the_whole_does_not(size: int) -> None:
    rule = DlpRule(id="number", pattern=r"\d{4,}", replacement="[N]", validate=lambda text: text == "1234")
    assert parted(interceptor_of(rule), ["a 1234", "9 b"], size).sanitized_text == "a [N]9 b"


@pytest.mark.parametrize("size", [1, 777, 10_000])
def test_what_is_dropped_before_its_name_is_known_gets_one(size: int) -> None:
    result = parted(DEFAULT, [f"password: {LONG[:100]}", f"x\u200b{LONG}"], size)
    assert result.sanitized_text.startswith("password: [REDACTED:")
    assert sum(count for _, count in counts(result)) == result.sanitized_text.count("[")
    text = f"password: {LONG[:100]}x\u200b{LONG}"
    assert parted(DEFAULT, [text], size) == DEFAULT.redact(text)


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(
    ("text", "expected"), [("bcdd x", "[#]dd x"), ("bcdddd x", "[#] x")], ids=["whole alone", "both"]
)
def test_a_match_waits_for_what_a_part_may_still_add(text: str, expected: str, size: int) -> None:
    interceptor = interceptor_of(rule_of(r"abc|bcd{4}", "rule", "[#]"))
    assert parted(interceptor, ["a", text], size).sanitized_text == expected


def test_packs_without_columns_find_what_ends_a_part() -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(packs=[financial])
    assert parted(interceptor, [f"pay {CARD}", "1"]).sanitized_text == "pay [REDACTED:credit_card]1"


def test_a_rule_of_a_cascade_sees_the_seam_behind_what_the_one_before_wrote() -> None:
    assert parted(ADDED_ALONE, ["no123 ends", "x"]).sanitized_text == "[E]x"


class WholeLines(StreamingDlpInterceptor):
    """Knows nothing of parts."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult(text)

    def open_stream(self, context: DlpContext) -> DlpStream:
        return _Held()


class _Held:
    redactions: Sequence[DlpRedaction] = ()

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> str:
        *lines, self._text = (self._text + text).split("\n")
        return "".join(f"{line}\n" for line in lines)

    def finish(self) -> str:
        return self._text

    def abort(self) -> None:
        self._text = ""


@pytest.mark.parametrize(
    ("interceptors", "expected"),
    [
        ([ADDED_ALONE, DEFAULT], "[N]x [REDACTED:aws_access_key]what"),
        ([DEFAULT, ADDED_ALONE], "[N]x [REDACTED:aws_access_key]what"),
        ([DEFAULT, WholeLines()], "no123x [REDACTED:aws_access_key]what"),
        ([WholeLines(), DEFAULT], f"no123x {KEY}what"),
        ([], f"no123x {KEY}what"),
    ],
    ids=["two", "two the other way", "before one that knows none", "behind it", "empty"],
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_a_composite_hands_seams_on(
    interceptors: list[StreamingDlpInterceptor], expected: str, size: int
) -> None:
    result = parted(CompositeDlpInterceptor(interceptors), ["no123", f"x {KEY}", "what"], size)
    assert result.sanitized_text == expected


def test_seams_are_told_in_what_was_released() -> None:
    for interceptor in (DEFAULT, ADDED_ALONE):
        stream = interceptor.open_stream(context_of())
        assert tuple(stream.take_seams()) == ()
        released = stream.feed("one ")
        stream.end_part()
        more = stream.feed("two. ")
        assert [released + more[:place] for place in stream.take_seams()] == ["one "]
        assert (stream.feed("three "), tuple(stream.take_seams())) == ("three ", ())


def test_a_seam_inside_of_a_cut_is_gone() -> None:
    for interceptor, text in ((DEFAULT, KEY), (ADDED_ALONE, "no123")):
        stream = interceptor.open_stream(context_of())
        stream.feed(text[:4])
        stream.end_part()
        stream.feed(f"{text[4:]} and more")
        assert tuple(stream.take_seams()) == ()


def test_what_stays_in_the_whole_stays_in_parts() -> None:
    logging_rule = DlpRule(id="number", pattern=r"\bno\d{3}\b", replacement="[N]", action=DlpAction.LOG)
    allowing = RuleBasedDlpInterceptor.with_default_rules(rules=[logging_rule], allowed_texts=[KEY])
    assert parted(allowing, [f"no123 {KEY}", "what"]) == DlpResult(f"no123 {KEY}what")


@pytest.mark.parametrize("interceptor", [DEFAULT, interceptor_of(NUMBERS)], ids=["packs", "added"])
def test_a_stream_that_has_ended_has_no_parts(interceptor: RuleBasedDlpInterceptor) -> None:
    stream = interceptor.open_stream(context_of())
    stream.finish()
    with pytest.raises(ValueError, match="has ended"):
        stream.end_part()


def test_json_that_is_decided_at_its_end_has_no_parts() -> None:
    context = replace(context_of(), content_location=DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS)
    stream = ADDED_ALONE.open_stream(context)
    held = stream.feed('{"a": "no1')
    stream.end_part()
    assert (held, stream.feed('23"}') + stream.finish(), tuple(stream.take_seams())) == (
        "",
        '{"a": "[N]"}',
        (),
    )


EMPTY = rule_of(r"(?:no\d{3})?$", "empty")


@pytest.mark.parametrize(
    "interceptor",
    [interceptor_of(EMPTY), RuleBasedDlpInterceptor.with_default_rules(rules=[EMPTY])],
    ids=["alone", "beside packs"],
)
@pytest.mark.parametrize("parts", [("a",), ("a", "b")], ids=["first", "second"])
def test_an_empty_match_at_the_end_of_a_part_closes_the_stream(
    interceptor: RuleBasedDlpInterceptor, parts: tuple[str, ...]
) -> None:
    stream = interceptor.open_stream(context_of())
    stream.feed(parts[0])
    with pytest.raises(DlpInspectionError, match="matched the empty string"):
        stream.end_part()
    with pytest.raises(ValueError, match="has ended"):
        stream.feed("b")


WORDS = st.sampled_from(
    [
        KEY,
        CARD,
        TOKEN,
        "what",
        " is",
        "no123",
        "x",
        "1",
        " ",
        "\n",
        "password: ",
        "hunter2x9z",
        "\\u0041",
        "é",
        '"',
    ]
)
PARTS = st.lists(st.lists(WORDS, max_size=4).map("".join), min_size=1, max_size=4)


@given(PARTS, st.integers(1, 9))
@example([KEY, KEY, "x", f"y {KEY}"], 1)
@settings(max_examples=80)
def test_how_a_part_is_cut_makes_no_difference(parts: list[str], size: int) -> None:
    for interceptor in (WITH_ADDED, ADDED_ALONE, CompositeDlpInterceptor([ADDED_ALONE, DEFAULT])):
        assert parted(interceptor, parts, size) == parted(interceptor, parts)


@given(PARTS)
@settings(max_examples=80)
def test_what_the_whole_or_a_part_would_lose_is_lost(parts: list[str]) -> None:
    said = parted(DEFAULT, parts).sanitized_text
    whole = "".join(parts)
    left = DEFAULT.redact(whole).sanitized_text
    ends = [len("".join(parts[:count])) for count in range(1, len(parts))]
    for secret in (KEY, CARD, TOKEN):
        straddling = sum(
            whole.startswith(secret, place) and any(place < end < place + len(secret) for end in ends)
            for place in range(len(whole))
        )
        alone = sum(DEFAULT.redact(part).sanitized_text.count(secret) for part in parts)
        assert said.count(secret) <= min(left.count(secret), alone + straddling)


def test_what_a_part_keeps_is_bounded() -> None:
    piece = ("eyJ" + "a" * 20 + ".") * 42

    def kept() -> None:
        stream = DEFAULT.open_stream(context_of())
        stream.feed(piece)
        stream.end_part()
        for _ in range(100):
            stream.feed(piece)

    assert parted(DEFAULT, [piece, piece * 4]) == DEFAULT.redact(piece * 5)
    assert peak_bytes(kept) < 150 * len(piece)
