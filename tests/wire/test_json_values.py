"""Reading a vendor's JSON: each function gives its kind, or nothing."""

from __future__ import annotations

import pytest

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.wire.json_values import count_of, mapping_of, mappings_of, parse_object, text_of


def test_object_is_parsed() -> None:
    assert parse_object('{"a": "ä"}'.encode()) == {"a": "ä"}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"7", b"{", b"\xff\xfe", b'{"a": "\xff"}', b"[" * 100_000, b"1" * 5000],
    ids=["empty", "array", "number", "broken", "no-unicode", "no-unicode-within", "nesting", "digits"],
)
def test_anything_else_is_an_invalid_answer(data: bytes) -> None:
    with pytest.raises(ProviderError, match=r"^The provider's answer is no JSON object\.$") as caught:
        parse_object(data)

    error = caught.value
    assert (error.retryable, error.counts_on_breaker, error.failure_code) == (
        False,
        True,
        ProviderFailureCode.INVALID_RESPONSE,
    )


@pytest.mark.parametrize(
    ("value", "count"), [(0, 0), (7, 7), (-1, None), (True, None), (1.0, None), ("1", None)]
)
def test_count_is_an_integer_and_not_negative(value: object, count: int | None) -> None:
    assert count_of(value) == count


def test_other_kinds_give_nothing() -> None:
    assert (mapping_of([1]), mappings_of({"a": 1}), text_of(7)) == ({}, (), None)
    assert list(mappings_of([{"a": 1}, 7, {"b": 2}])) == [{"a": 1}, {"b": 2}]
