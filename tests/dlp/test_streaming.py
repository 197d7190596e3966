"""Streams: every split gives the whole-text result, and nothing undecided is released."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dlp.contexts import (
    BACKENDS,
    CARD,
    EMAIL,
    SSN,
    context_of,
    counts,
    inspect,
    interceptor_of,
    rule_of,
    split_at,
    streamed,
)
from tests.dlp.patterns import PATTERNS, TEXTS
from tramapy.dlp import DlpRule
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpStream

SEED_RULES = (
    rule_of(SSN, "ssn", "[SSN]"),
    rule_of(CARD, "card", "[CARD]"),
    rule_of(EMAIL, "email", "[EMAIL]"),
)
CHAINED_RULES = (
    rule_of("ab+", "first", "x"),
    rule_of("x{2,}", "second", "[2]"),
    rule_of(r"\]c?", "third", "!"),
)
TEXTS_TO_SPLIT = {
    "clean": (SEED_RULES, "The quick brown fox, 15 minutes and 3-4 dogs.\n"),
    "ssn": (SEED_RULES, "ssn 078-05-1120, not 078-05-11201 and not x078-05-1120."),
    "cards": (SEED_RULES, "4111 1111 1111 1111 / 4111-1111-1111-1111-1 / 1 - 1 1"),
    "emails": (SEED_RULES, "ann@example.com,bob@x.yz.;é@b.cd @ a@b"),
    "all": (SEED_RULES, "078-05-1120 4111111111111111 a.b@c.de"),
    "astral": (SEED_RULES, "𝄞078-05-1120𝄞é a@b.cd\ud800"),
    "chained": (CHAINED_RULES, "abbababcabbb x xx xab]"),
    "restart": ((rule_of("x[^y]*y|x", "r", "#"),), "xxxx y xx x"),
    "line_end": ((rule_of(r"\d+$|b\n", "r", "#"),), "12\n12\nb\n\n12\n"),
    "anchors": ((rule_of(r"^a|a\Z|\Bb", "r", "#"),), "abab a"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TEXTS_TO_SPLIT)
def test_every_split_in_two_gives_the_whole_text_result(backend, name):
    rules, text = TEXTS_TO_SPLIT[name]
    interceptor = interceptor_of(*rules, backend=backend)
    whole = inspect(interceptor, text)
    for cut in range(len(text) + 1):
        assert streamed(interceptor, [text[:cut], text[cut:]]) == whole
    assert streamed(interceptor, text) == whole


@pytest.mark.unmeasured
@settings(max_examples=200)
@given(
    patterns=st.lists(PATTERNS, min_size=1, max_size=3),
    text=TEXTS,
    places=st.lists(st.integers(1, 13), max_size=6),
)
def test_random_split_gives_the_whole_text_result(patterns, text, places):
    rules = [rule_of(pattern, f"r{place}", "é") for place, pattern in enumerate(patterns)]
    interceptor = interceptor_of(*rules)
    try:
        whole = inspect(interceptor, text)
    except DlpInspectionError:
        with pytest.raises(DlpInspectionError):
            streamed(interceptor, split_at(text, places))
    else:
        assert streamed(interceptor, split_at(text, places)) == whole


@pytest.mark.parametrize("name", TEXTS_TO_SPLIT)
def test_what_is_released_is_always_the_beginning_of_the_result(name):
    rules, text = TEXTS_TO_SPLIT[name]
    interceptor = interceptor_of(*rules)
    whole = inspect(interceptor, text).sanitized_text
    stream = interceptor.open_stream(context_of())
    released = ""
    for character in text:
        released += stream.feed(character)
        assert whole.startswith(released)


def test_nothing_of_a_match_is_released_before_it_is_decided():
    stream = interceptor_of(*SEED_RULES).open_stream(context_of())
    assert [stream.feed(piece) for piece in ["my ssn is ", "078", "-05-", "1120", ", and"]] == [
        "my ssn is ",
        "",
        "",
        "",
        "[SSN], ",
    ]
    assert stream.finish() == "and"


def test_clean_prose_is_released_up_to_the_word_under_way():
    text = "The quick brown fox jumps over the lazy dog. " * 20
    stream = interceptor_of(*SEED_RULES).open_stream(context_of())
    fed = released = 0
    for piece in split_at(text, range(0, len(text), 4)):
        fed += len(piece)
        released += len(stream.feed(piece))
        assert fed - released <= 8


def test_redactions_add_up_as_matches_are_decided():
    stream = interceptor_of(*SEED_RULES).open_stream(context_of())
    seen = []
    for piece in ["a@b.cd 078-05-11", "20 078-05-1120", " c@d.ef "]:
        stream.feed(piece)
        seen.append(counts_of(stream))
    assert seen == [[("email", 1)], [("ssn", 1), ("email", 1)], [("ssn", 2), ("email", 2)]]
    stream.finish()
    assert counts_of(stream) == [("ssn", 2), ("email", 2)]


def counts_of(stream: DlpStream) -> list[tuple[str, int]]:
    return [(redaction.rule_id, redaction.replacement_count) for redaction in stream.redactions]


@pytest.mark.parametrize(
    ("content_type", "tool_name", "redacted"),
    [
        (DlpContentType.TOOL_RESULT, "lookup", True),
        (DlpContentType.TOOL_RESULT, "search", False),
        (DlpContentType.MODEL_OUTPUT, None, False),
    ],
    ids=["meant", "other_tool", "other_type"],
)
def test_stream_runs_the_rules_that_apply(content_type, tool_name, redacted):
    rule = DlpRule(id="ssn", pattern=SSN, enabled_for=[DlpContentType.TOOL_RESULT], tool_names=["lookup"])
    stream = interceptor_of(rule).open_stream(context_of(content_type, tool_name=tool_name))
    assert ("078-05-1120" in stream.feed("078-05-1120 ")) is not redacted


def test_it_is_a_dlp_stream():
    assert isinstance(interceptor_of().open_stream(context_of()), DlpStream)


def test_without_rules_text_passes_at_once():
    stream = interceptor_of().open_stream(context_of())
    assert (stream.feed("078-05-1120"), stream.finish(), stream.redactions) == ("078-05-1120", "", ())


@pytest.mark.parametrize("end", ["finish", "abort"])
@pytest.mark.parametrize(
    "step", [lambda stream: stream.feed("x"), lambda stream: stream.finish()], ids=["feed", "finish"]
)
def test_a_stream_that_has_ended_refuses_to_go_on(end, step):
    stream = interceptor_of(*SEED_RULES).open_stream(context_of())
    stream.feed("078-05-1120 07")
    getattr(stream, end)()
    with pytest.raises(ValueError, match="This DLP stream has ended"):
        step(stream)
    assert counts_of(stream) == [("ssn", 1)]


def test_aborting_twice_or_after_the_end_is_harmless():
    stream = interceptor_of(*SEED_RULES).open_stream(context_of())
    stream.finish()
    stream.abort()
    stream.abort()


def _feed_and_finish(stream: DlpStream) -> None:
    stream.feed("xab c")
    stream.finish()


FAILING_RULES = {
    "empty_match": (rule_of("b*", "bad"), "DLP rule 'bad' matched the empty string"),
    "self_match": (rule_of("ab", "bad", "[AB]"), "DLP rule 'bad': the replacement contains the text"),
    "empty_match_at_the_end": (rule_of("ab|$", "bad"), "DLP rule 'bad' matched the empty string"),
}


@pytest.mark.parametrize("name", FAILING_RULES)
def test_a_rule_that_fails_ends_the_stream_and_releases_nothing_more(name):
    rule, message = FAILING_RULES[name]
    stream = interceptor_of(rule_of("q", "fine"), rule).open_stream(context_of())
    with pytest.raises(DlpInspectionError, match=message):
        _feed_and_finish(stream)
    with pytest.raises(ValueError, match="This DLP stream has ended"):
        stream.finish()


def test_the_limit_counts_what_is_fed_altogether():
    stream = interceptor_of(rule_of("b", "longer", "[longer]"), max_text_length=10).open_stream(context_of())
    assert stream.feed("bbbbb") + stream.feed("bbbbb") == "[longer]" * 9
    with pytest.raises(DlpInspectionError, match="longer than max_text_length=10 characters"):
        stream.feed("x")
    with pytest.raises(ValueError, match="This DLP stream has ended"):
        stream.feed("")


def test_replacements_that_grow_a_text_do_not_count():
    interceptor = interceptor_of(rule_of("b", "longer", "[longer]"), rule_of("z", "next"), max_text_length=10)
    assert streamed(interceptor, "bbbbbbbbbb") == inspect(interceptor, "bbbbbbbbbb")


@pytest.mark.unmeasured
def test_a_text_that_is_held_for_long_is_released_whole():
    text = "a" * 99_990 + "@"
    interceptor = interceptor_of(*SEED_RULES)
    stream = interceptor.open_stream(context_of())
    assert "".join(stream.feed(piece) for piece in split_at(text, range(0, len(text), 4))) == ""
    assert stream.finish() == text


def test_streams_of_one_interceptor_do_not_mix():
    interceptor = interceptor_of(*SEED_RULES)
    first, second = (interceptor.open_stream(context_of()) for _ in range(2))
    first.feed("078-05-")
    second.feed("ann@")
    assert first.feed("1120 ") + first.finish() == "[SSN] "
    assert second.feed("example.com ") + second.finish() == "[EMAIL] "
    assert counts(inspect(interceptor, "1")) == []
