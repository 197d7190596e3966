"""Reading a vendor's JSON: each function gives its kind, or nothing."""

from __future__ import annotations

import json

import pytest

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.wire.json_values import (
    arguments_of,
    count_of,
    mapping_of,
    mappings_of,
    objects_of,
    parse,
    parse_object,
    required_text,
    text_of,
)


def test_object_is_parsed() -> None:
    assert parse_object('{"a": "ä"}'.encode()) == {"a": "ä"}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}',
        b' \n{"a": 1}',
        b'{"a": 1}\r\n ',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": "ä"}'.encode("utf-16"),
        '{"a": "ä"}'.encode("utf-32-be"),
        b'{"a": "\xed\xa0\x80"}',
        b"7",
    ],
    ids=["plain", "blanks-before", "blanks-after", "mark", "utf-16", "utf-32", "surrogate", "number"],
)
def test_parsed_is_what_the_standard_library_parses(data: bytes) -> None:
    assert parse(data) == json.loads(data)


@pytest.mark.parametrize("data", [b"", b"{", b"7 7", b'{"a": 1}}', b"\x00", b"\xff\xfe"])
def test_no_json_is_no_value(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Extra data"):
        parse(data)


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


def test_objects_of_an_array_are_all_or_an_error() -> None:
    assert list(objects_of([{"a": 1}], "x")) == [{"a": 1}]
    for value in (None, {}, "x", [1], [{}, None]):
        with pytest.raises(ProviderError, match=r"^The provider's answer is odd\.$"):
            objects_of(value, "is odd")


def test_required_text_is_a_text_or_an_error() -> None:
    assert required_text("", "x") == ""
    with pytest.raises(ProviderError, match=r"^The provider's answer is odd\.$"):
        required_text(None, "is odd")


def test_arguments_are_written_as_they_were_said() -> None:
    assert (arguments_of(None), arguments_of("{ }"), arguments_of({"ä": [1]})) == ("", "{ }", '{"ä": [1]}')
    assert arguments_of({"a": [float("-inf"), "Infinity"]}) == '{"a": [-1e999, "Infinity"]}'


def test_value_that_nests_too_deeply_is_an_invalid_answer() -> None:
    nested: object = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ProviderError, match="nests too deeply") as caught:
        arguments_of(nested)
    assert (caught.value.__context__, caught.value.failure_code) == (
        None,
        ProviderFailureCode.INVALID_RESPONSE,
    )
