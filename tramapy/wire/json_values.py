"""Read a vendor's JSON without trusting it: each function gives the value of the kind, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

from tramapy.errors import ProviderError, ProviderFailureCode
from tramapy.values import MOST

__all__ = [
    "arguments_of",
    "count_of",
    "finite_json",
    "invalid_answer",
    "is_json_text",
    "json_text_of",
    "mapping_of",
    "mappings_of",
    "objects_of",
    "parse",
    "parse_object",
    "required_text",
    "text_of",
]

_raw_decode: Final[Callable[[str], tuple[object, int]]] = json.JSONDecoder().raw_decode

_EMPTY: Final[Mapping[str, object]] = MappingProxyType({})


def parse(data: bytes) -> object:
    """Do what `json.loads` does, in two thirds of its time for JSON without blanks around it.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It nests too deeply.
    """
    try:
        text = data.decode()
        value, end = _raw_decode(text)
    except ValueError:
        return json.loads(data)  # another encoding, blanks before it, or no JSON
    return value if end == len(text) else json.loads(data)


def parse_object(data: bytes) -> dict[str, object]:
    """Parse a JSON object.

    Raises:
        ProviderError: It is none; not retryable, and counted by the breaker.
    """
    try:
        parsed = parse(data)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise invalid_answer("is no JSON object")
    return cast("dict[str, object]", parsed)


def is_json_text(text: str) -> bool:
    """Tell whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def invalid_answer(how: str) -> ProviderError:
    """Return the error for an answer that cannot be understood; `how` is fixed words."""
    return ProviderError(
        f"The provider's answer {how}.",
        failure_code=ProviderFailureCode.INVALID_RESPONSE,
        counts_on_breaker=True,
    )


def mapping_of(value: object) -> Mapping[str, object]:
    """Return an object; empty where `value` is none."""
    if type(value) is dict:  # parsed JSON has no other, and to ask for a Mapping takes five times as long
        return cast("dict[str, object]", value)
    if value is None:
        return _EMPTY
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else _EMPTY


def mappings_of(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects of an array; empty where `value` is none."""
    if not isinstance(value, list):
        return ()
    return [
        cast("Mapping[str, object]", item)
        for item in cast("list[object]", value)
        if isinstance(item, Mapping)
    ]


def objects_of(value: object, complaint: str) -> Sequence[Mapping[str, object]]:
    """Return an array that holds nothing but objects.

    Raises:
        ProviderError: It is something else: what is passed over would be lost in silence.
    """
    objects = mappings_of(value)
    if not isinstance(value, list) or len(objects) < len(cast("list[object]", value)):
        raise invalid_answer(complaint)
    return objects


def required_text(value: object, complaint: str) -> str:
    """Return a string.

    Raises:
        ProviderError: It is none.
    """
    if not isinstance(value, str):
        raise invalid_answer(complaint)
    return value


def arguments_of(value: object) -> str:
    """Return a call's arguments as JSON text; some servers give the value itself.

    Raises:
        ProviderError: It nests too deeply to be written.
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text_of(value)


def json_text_of(value: object) -> str:
    """Write a value that was parsed as JSON text again.

    Raises:
        ProviderError: It nests too deeply to be written.
    """
    try:
        return finite_json(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        failure = invalid_answer("nests too deeply")
    raise failure


def finite_json(text: str) -> str:
    """Return JSON as Python writes it without its word for a number beyond every float, such as 1e400.

    `Infinity` is no JSON; 1e999 is, and every reader takes it for what 1e400 is to it, too.
    """
    return _STRING_OR_INFINITY.sub(_finite, text) if "Infinity" in text else text


def _finite(found: re.Match[str]) -> str:
    return "1e999" if found[0] == "Infinity" else found[0]


# possessive, for it never pays to give back a part of a string
_STRING_OR_INFINITY: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|Infinity')


def text_of(value: object) -> str | None:
    """Return a string, or None."""
    return value if isinstance(value, str) else None


def count_of(value: object) -> int | None:
    """Return a count; None where `value` is no integer, negative, or more than 64 bits hold."""
    return value if type(value) is int and 0 <= value <= MOST else None
