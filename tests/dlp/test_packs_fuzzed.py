"""What fuzzing found in the rule packs, and a short seeded run of it: `benchmarks/dlp_fuzz.py` goes on for longer."""

from __future__ import annotations

import json

import pytest

from benchmarks.dlp_fuzz import Fuzzer
from tests.dlp.contexts import BACKENDS, context_of, default_rules
from tramapy.dlp import DlpAction, RuleBasedDlpInterceptor

_TEXTS = 40


@pytest.mark.parametrize("seed", [1, 2])
def test_a_short_run_of_the_fuzzer_finds_nothing(seed):
    fuzzer = Fuzzer(seed, longest=1_500)
    assert [failed for failed in (fuzzer.step() for _ in range(_TEXTS)) if failed is not None] == []


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "document",
    [
        ["api-key: ", -3, "x1y2z3w4"],
        [["api-key: ", -3], {"n": [1, None]}, "password2"],
        {"note": "my password is ", "next": 'a"b'},
        ["PGPASSWORD=", False, "bearer: "],
        ["PGPASSWORD=", 12, {"a": "secret: "}],
        {"note": "token: ", "n": 12345.5, "m": True, "o": "k9k8k7k6k5"},
    ],
    ids=["number", "nested", "object", "marks", "marks and a number", "scalars"],
)
def test_a_value_that_reaches_over_a_string_leaves_json(document, backend):
    text = json.dumps(document)
    interceptor = default_rules(backend)
    sanitized = json.loads(interceptor.inspect(context_of(), text).sanitized_text)
    assert type(sanitized) is type(document)
    assert len(sanitized) == len(document)


@pytest.mark.parametrize("mark", ["'", "`"])
@pytest.mark.parametrize(
    "name",
    ["password: ", "--api-key ", "Kennwort: ", "requirepass ", "IDENTIFIED BY ", "mysql -p", "curl -u ann:"],
)
def test_an_apostrophe_or_backtick_of_another_string_ends_no_value(name, mark):
    interceptor = default_rules()
    text = json.dumps({"a": name + mark, "b1": 12345, "c": f"it{mark}s x1!"})
    assert interceptor.inspect(context_of(), text).sanitized_text == text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=acted", "password=*****"),
        ("password: word7", "password: [REDACTED:password]"),
        ('pwd="swor"', 'pwd="[REDACTED]"'),
    ],
)
def test_a_value_that_stands_in_the_marker_is_not_shown_by_it(text, expected, backend):
    interceptor = default_rules(backend)
    assert interceptor.inspect(context_of(), text).sanitized_text == expected
    assert interceptor.inspect(context_of(), expected).sanitized_text == expected


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "text",
    [
        "password=ntrdx1 =ter2x9y8",
        "xoxb-2345678gres:c8wwxePv",
        "apikey:31300ord =er2hunte",
        "078-05-1120 123456789",
        "912-70-1234 123456789",
        "078-05-1120 and 912-12-1234",
    ],
)
def test_the_words_of_a_marker_name_no_value(text, backend):
    interceptor = default_rules(backend)
    once = interceptor.inspect(context_of(), text).sanitized_text
    assert "[REDACTED:" in once
    assert interceptor.inspect(context_of(), once).sanitized_text == once


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_backends_find_a_bare_taxpayer_number(backend):
    text = "a line of harmless text " * 10 + "my ITIN 912701234 it is"
    result = default_rules(backend).inspect(context_of(), text)
    assert "912701234" not in result.sanitized_text


_LONG = "aB3" * 2_000
_KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    + ("MIIBVgIBADANBgkqhkiG9w0BAQEFAASC\n" * 150)
    + "-----END PRIVATE KEY-----"
)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.unmeasured), 7, 500, 4_000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://hooks.slack.com/services/" + "aB3" * 10 + _KEY + " end", "[REDACTED:slack_webhook] end"),
        (f"PGPASSWORD={_LONG}(x) end", "PGPASSWORD=[REDACTED:password](x) end"),
        ("Bearer 23\u212a456789abcdef/", "Bearer 23\u212a456789abcdef/"),
        ("-----BEGIN PRIVATE KEY-----BAQEFAASCqhkiG9w\x1cQAASCA", "[REDACTED:private_key]\x1cQAASCA"),
        ("token: " + "aB3\u200b" * 1_500 + "x", "token: [REDACTED:secret]"),
        (f"PGPASSWORD={_LONG}{_KEY} end", "PGPASSWORD=[REDACTED:password] end"),
        (f"a ghp_{_LONG}-x end", "a [REDACTED:github_token]-x end"),
        (f"Bearer ghp_{_LONG}-x end", "Bearer [REDACTED:bearer_token] end"),
        (f"Bearer\u200b ghp_{_LONG}\u200b end", "Bearer\u200b [REDACTED:github_token]\u200b end"),
        (f"token: glpat-{_LONG}...;x", "token: [REDACTED:gitlab_token]...;x"),
        (f"token: xoxb-{_LONG}..AIza;x", "token: [REDACTED:secret];x"),
        (f"a eyJ{_LONG[:20]}.3ZJ{_LONG}.{_LONG[:86]} end", "a [REDACTED:jwt] end"),
        (f"a eyJ{_LONG}.eyJ{_LONG[:20]}.{_LONG[:86]} end", f"a eyJ{_LONG}.[REDACTED:jwt] end"),
        (f"a eyJ{_LONG}.eyJ{_LONG}.{_LONG[:86]} end", f"a eyJ{_LONG}.[REDACTED:jwt] end"),
    ],
    ids=[
        "key behind a webhook",
        "long name of a call",
        "sign for Kelvin",
        "separator of files",
        "zero width",
        "key behind a password",
        "dash behind a token",
        "token of two rules of which one goes on",
        "token of two rules that end alike",
        "marks behind a token",
        "token of two names of which one goes on",
        "web token with a long part that is no JSON",
        "web token behind a long head",
        "long web token behind a long head",
    ],
)
def test_a_stream_cuts_what_the_whole_text_is_cut_to(text, expected, step):
    interceptor = default_rules()
    assert interceptor.inspect(context_of(), text).sanitized_text == expected
    stream = interceptor.open_stream(context_of())
    pieces = [stream.feed(text[start : start + step]) for start in range(0, len(text), step)]
    assert "".join(pieces) + stream.finish() == expected


@pytest.mark.parametrize(
    "settings", [{"allowed_patterns": ["ghp_.*"]}, {"actions": {"bearer_token": DlpAction.MASK}}]
)
def test_a_long_match_is_not_dropped_before_all_of_it_decides(settings):
    interceptor = RuleBasedDlpInterceptor.with_default_rules(**settings)
    text = f"Bearer ghp_{_LONG}-x end"
    stream = interceptor.open_stream(context_of())
    pieces = [stream.feed(text[start : start + 500]) for start in range(0, len(text), 500)]
    whole = interceptor.inspect(context_of(), text)
    assert "".join(pieces) + stream.finish() == whole.sanitized_text
    assert stream.redactions == whole.redactions
