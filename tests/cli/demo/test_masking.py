import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.running import PROMPTS
from tramapy.cli.demo.masking import find_sensitive, mask, masked_between


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("card 4111 1111 1111 1111.", "card [REDACTED:credit_card]."),
        ("key sk_test_EXAMPLE0fake0key0000", "key [REDACTED:stripe_key]"),
        (
            "both 078-05-1120 and a@example.com, and 078-05-1120",
            "both [REDACTED:us_ssn] and [REDACTED:email], and [REDACTED:us_ssn]",
        ),
        ("order 48213 on 2024-05-06", "order 48213 on 2024-05-06"),
        ("4111 1111 1111 1112", "4111 1111 1111 1112"),
        ("", ""),
    ],
)
def test_what_is_sensitive_is_masked(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert masked_between(text, find_sensitive(text), 0, len(text)) == masked


def test_a_placeholder_of_the_prompt_itself_is_no_find() -> None:
    assert find_sensitive("<US_SSN_1_k3f9x2b> and <EMAIL_1_k3f9x2b>") == ()


def test_what_the_text_writes_with_escapes_is_masked_and_shown_nowhere() -> None:
    text = '{"password": "a\\u0062c\\u0064e9Z!", "mail": "a@example.com"}'
    assert [span.kind for span in find_sensitive(text)] == ["email"]
    assert "u0062" not in mask(text)


def test_numbers_of_json_are_found_though_they_get_quotes() -> None:
    text = '{"a": 4111111111111111, "b": [4111111111111111, "4111111111111111"]}'
    starts = [match.start() for match in re.finditer("4111111111111111", text)]
    assert [span.start for span in find_sensitive(text)] == starts


def test_a_part_of_a_text_is_masked_like_the_whole() -> None:
    text = "first 078-05-1120\nthen a@example.com to b@example.com\n"
    spans = find_sensitive(text)
    assert masked_between(text, spans, text.index("then"), text.index(" to")) == "then [REDACTED:email]"


def test_a_span_says_what_it_is_and_not_what_it_says() -> None:
    (span,) = find_sensitive("card 4111 1111 1111 1111.")
    assert (span.kind, span.shape, span.replacement) == (
        "credit_card",
        "16 digits",
        "[REDACTED:credit_card]",
    )
    assert "4111" not in repr(span)


@given(
    st.lists(st.sampled_from(["4111 1111 1111 1111", "078-05-1120", "a@b.example", "x", " ", "7", "-", "é"]))
)
@settings(max_examples=150)
def test_what_is_not_sensitive_stays_as_it_is(parts: list[str]) -> None:
    text = "".join(parts)
    masked, done, position = mask(text), 0, 0
    for span in find_sensitive(text):
        assert span.start >= done
        between = text[done : span.start] + span.replacement
        assert masked[position : position + len(between)] == between
        position += len(between)
        done = span.end
    assert masked[position:] == text[done:]


@pytest.mark.parametrize(
    "character", ["a", "1", "-", "@", "1 "], ids=["letter", "digit", "dash", "at", "digit blank"]
)
def test_a_long_odd_text_is_searched_in_bounded_steps(character: str) -> None:
    text = character * (65_536 // len(character))
    assert mask(text) == text


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_every_example_has_something_to_mask(path: object) -> None:
    assert find_sensitive(path.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
