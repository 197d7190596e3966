import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.running import PROMPTS
from tramapy.cli.demo.masking import find_sensitive, mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("card 4111 1111 1111 1111.", "card [CARD]."),
        ("card 4111-1111-1111-1111.", "card [CARD]."),
        ("4111111111111111", "[CARD]"),
        ("SSN 078-05-1120", "SSN [SSN]"),
        ("an address, jörg.größmann@example.com.", "an address, [EMAIL]."),
        ("key sk_test_EXAMPLE0fake0key0000", "key [TOKEN]"),
        ("both 078-05-1120 and a@example.com", "both [SSN] and [EMAIL]"),
        ("order 48213 on 2024-05-06", "order 48213 on 2024-05-06"),
        ("4111 1111 1111 1112", "4111 1111 1111 1112"),
        ("", ""),
    ],
)
def test_what_is_sensitive_is_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_a_span_says_what_it_is_and_not_what_it_says() -> None:
    (span,) = find_sensitive("card 4111 1111 1111 1111.")
    assert (span.kind, span.shape, span.placeholder) == ("card", "16 digits", "[CARD]")
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
        between = text[done : span.start] + span.placeholder
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
