"""Usage: what each format counts, in the meaning of `TokenUsage`."""

from __future__ import annotations

import pytest

from tramapy.messages import TokenUsage
from tramapy.wire.token_counts import chat_usage, messages_usage, responses_usage


@pytest.mark.parametrize("value", [None, 7, [], "x", {}, {"input_tokens": "7", "output_tokens": -1}], ids=str)
def test_missing_count_is_none_and_never_zero(value: object) -> None:
    for read in (chat_usage, responses_usage, messages_usage):
        assert read(value) == TokenUsage()


def test_responses_count_cached_tokens_as_input() -> None:
    usage = {
        "input_tokens": 9,
        "output_tokens": 8,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 4},
    }

    assert responses_usage(usage) == TokenUsage(
        input_tokens=9, output_tokens=8, reasoning_tokens=4, cache_read_tokens=5, cache_write_tokens=2
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 2}, TokenUsage(input_tokens=2)),
        (
            {"input_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            TokenUsage(input_tokens=10, cache_read_tokens=5, cache_write_tokens=3),
        ),
        ({"cache_read_input_tokens": 5}, TokenUsage(cache_read_tokens=5)),
        ({"input_tokens": 2, "cache_read_input_tokens": None}, TokenUsage(input_tokens=2)),
        ({"input_tokens": 2**63 - 1, "cache_read_input_tokens": 1}, TokenUsage(cache_read_tokens=1)),
        ({"output_tokens_details": {"thinking_tokens": 6}}, TokenUsage(reasoning_tokens=6)),
    ],
    ids=["plain", "cached", "cached-alone", "null", "beyond-64-bits", "thinking"],
)
def test_messages_leave_cached_tokens_out_so_they_are_added(
    usage: dict[str, object], expected: TokenUsage
) -> None:
    assert messages_usage(usage) == expected
