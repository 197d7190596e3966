"""Public reports about other redactors that no single text shows; those that one does are in `cases`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.dlp.contexts import BACKENDS, context_of, counts, default_rules, inspect, streamed
from tramapy.dlp import DlpAction, RuleBasedDlpInterceptor, Vault
from tramapy.dlp.interceptor import Backend
from tramapy.errors import DlpInspectionError

DLP = default_rules("stdlib")


def test_langchain_40767_arguments_of_a_tool_never_become_empty() -> None:
    arguments = json.dumps({"to": "ann@example.com", "card": 4111111111111111, "n": 3})
    redacted = json.loads(inspect(DLP, arguments).sanitized_text)
    assert redacted == {"to": "[REDACTED:email]", "card": "[REDACTED:credit_card]", "n": 3}


def test_langchain_37659_the_shape_of_arguments_stays() -> None:
    arguments = json.dumps({"args": {"list": ["a@example.com", 7, None, {"k": ["b@example.com"]}]}})
    redacted = json.loads(inspect(DLP, arguments).sanitized_text)
    assert redacted == {"args": {"list": ["[REDACTED:email]", 7, None, {"k": ["[REDACTED:email]"]}]}}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_litellm_41611_an_address_split_over_frames_does_not_get_out(size: int) -> None:
    text = "Write to alice@example.co.uk, please."
    stream = DLP.open_stream(context_of())
    released = ""
    for start in range(0, len(text), size):
        released += stream.feed(text[start : start + size])
        assert "alice" not in released
        assert "example" not in released
    assert released + stream.finish() == "Write to [REDACTED:email], please."


def test_litellm_31503_a_stream_of_prose_is_not_kept_to_its_end() -> None:
    stream = DLP.open_stream(context_of())
    text = "The order ships tomorrow and arrives on Friday. "
    released = stream.feed(text)
    assert text.startswith(released)
    assert len(text) - len(released) <= 8


def test_litellm_31503_a_block_stops_the_stream_and_drops_what_was_held() -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(actions={"email": DlpAction.BLOCK})
    stream = dlp.open_stream(context_of())
    assert stream.feed("Write to ") == "Write to "
    assert stream.feed("bob@example.com") == ""
    with pytest.raises(DlpInspectionError, match="'email' blocks"):
        stream.feed(", and then some more text")
    with pytest.raises(ValueError, match="has ended"):
        stream.finish()


def test_mastra_23783_a_match_longer_than_any_window_does_not_get_out() -> None:
    token = "sk-" + "ant-" + "EXAMPLE0" * 60
    for size in (1, 4, 128, 129):
        pieces = [f"key {token} end"[start : start + size] for start in range(0, len(token) + 8, size)]
        assert streamed(DLP, pieces).sanitized_text == "key [REDACTED:anthropic_key] end"


@pytest.mark.parametrize("prefix", ["sk-" + "ant-", "gh" + "p_", "xox" + "b-", "AKI" + "A"])
def test_mastra_21049_hermes_56040_a_prefix_at_the_end_of_a_piece_is_held(prefix: str) -> None:
    stream = DLP.open_stream(context_of())
    assert stream.feed(f"key {prefix}") == "key "
    stream.abort()


def test_eliza_15348_a_value_is_held_with_the_word_before_it() -> None:
    stream = DLP.open_stream(context_of())
    released = (
        stream.feed("Authorization: Basic ") + stream.feed("dXNlcjpleGFtcGxlLXBhc3M=") + stream.finish()
    )
    assert released == "Authorization: Basic [REDACTED:basic_auth]"


@pytest.mark.unmeasured
def test_presidio_2063_dots_and_ats_cost_no_more_than_their_length() -> None:
    for text in ("." * 20_000, "a.a.a." * 5_000, "a@a.a.a@" * 3_000, "a.b@" * 5_000 + "example.com"):
        for backend in BACKENDS:
            inspect(default_rules(backend), text)


def test_presidio_1925_neighbours_of_one_kind_all_go_and_are_counted() -> None:
    result = inspect(DLP, "a@example.com b@example.com\nc@example.com")
    assert result.sanitized_text == "[REDACTED:email] [REDACTED:email]\n[REDACTED:email]"
    assert counts(result) == [("email", 3)]


def test_presidio_888_an_operator_gets_the_original_text() -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(
        actions={"email": DlpAction.MASK, "password": DlpAction.MASK}
    )
    result = inspect(dlp, "password: alice@example.com-203.0.113.7-tail, b@example.com")
    assert result.sanitized_text == "password: *****@*******.***-***.*.***.*-tail, *@*******.***"


def test_nemo_818_ordinary_words_stay() -> None:
    text = "Every individual may bear a token of thanks; the key is patience and the secret is out."
    assert inspect(DLP, text).sanitized_text == text


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("created 1607425200123 done", "created 1607425200123 done"),
        ("pan 4111111111111111", "pan [REDACTED:credit_card]"),
        ("IBAN DE89-3704-0044-0532-0130-00 please", "IBAN [REDACTED:iban] please"),
        ("diners 30569309025904 end", "diners [REDACTED:credit_card] end"),
        ("password: hunter2", "password: [REDACTED:password]"),
        ("ratio 0.4111111111111111 end", "ratio 0.4111111111111111 end"),
        ("commit a1b123456789c3d end", "commit a1b123456789c3d end"),
        ("\U0001f600\U0001f469\u200d\U0001f680 a@example.com", "\U0001f600\U0001f469\u200d\U0001f680 [REDACTED:email]"),
        ("std::vector<a::b> and ::std::move", "std::vector<a::b> and ::std::move"),
        ("order 9434765919 shipped", "order 9434765919 shipped"),
        ("id ASIA" + "IOSFODNN7EXAMPLE end", "id [REDACTED:aws_access_key] end"),
        ("redis://cache.example.com:6379/0", "redis://cache.example.com:6379/0"),
        ("Server=tcp:db,1433;UID=ann;Password=x9Tk2m;", "Server=tcp:db,1433;UID=ann;Password=[REDACTED:password];"),
    ],
    ids=[
        "presidio#1607",
        "presidio#47",
        "presidio#370",
        "langchain#39999",
        "litellm#40190",
        "spool#341",
        "datafog#163",
        "ayunis-core#1620",
        "gram#3170",
        "gram#5106",
        "detect-secrets#796",
        "trufflehog#4527",
        "trufflehog#3856",
    ],
)  # fmt: skip
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reported_text_is_redacted_as_it_should_be(text: str, expected: str, backend: Backend) -> None:
    result = inspect(default_rules(backend), text)
    assert result.sanitized_text == expected
    assert sum(count for _, count in counts(result)) == (expected != text)


def test_mastra_24189_places_are_those_of_the_original_text() -> None:
    text = "a@example.com, 4111 1111 1111 1111, b@example.com and tail"
    for size in (1, 4, 16):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert streamed(DLP, pieces) == inspect(DLP, text)


def test_litellm_29134_arguments_in_pieces_are_redacted_and_stay_json() -> None:
    arguments = json.dumps({"to": "ann@example.com", "note": "call +1 415 555 0132"})
    result = streamed(DLP, [arguments[start : start + 4] for start in range(0, len(arguments), 4)])
    assert json.loads(result.sanitized_text) == {"to": "[REDACTED:email]", "note": "call [REDACTED:phone]"}


def test_litellm_5068_several_values_of_one_kind_come_back_to_their_places() -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(actions={"email": DlpAction.PLACEHOLDER})
    text = "from ann@example.com to benedict.longname@example.org, cc ann@example.com"
    vault = Vault()
    shown = dlp.inspect(replace(context_of(), vault=vault), text).sanitized_text
    assert "example" not in shown
    assert vault.restore(shown) == text


def test_nemo_1967_what_is_logged_is_what_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    text = "a@example.com, 203.0.113.7 and b@example.com"
    rules = ("email", "ipv4")
    caplog.set_level("INFO", "tramapy.dlp")
    logged = inspect(
        RuleBasedDlpInterceptor.with_default_rules(actions=dict.fromkeys(rules, DlpAction.LOG)), text
    )
    masked = inspect(
        RuleBasedDlpInterceptor.with_default_rules(actions=dict.fromkeys(rules, DlpAction.MASK)), text
    )
    assert logged.sanitized_text == text
    assert len(caplog.records) == sum(count for _, count in counts(masked)) == 3
