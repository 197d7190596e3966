"""`Checked`: faults that cannot be acted out are refused where they are written, and not in the server's thread."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, cast

from tramapy.messages import ModelResponse
from tramapy.resilience.validation import whole_number
from tramapy.values import instance, quoted

__all__ = ["Checked"]

_LOWEST_STATUS: Final = 200  # what is below is no answer yet
_HIGHEST_STATUS: Final = 599
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")


class Checked:
    """A dataclass whose fields are checked by their names: of one name, all faults have the same.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self) -> None:
        """Check every field; None is for those that are None by default."""
        for field in dataclasses.fields(self):
            value: object = getattr(self, field.name)
            if field.name in _CHECKS and not (value is None and field.default is None):
                _CHECKS[field.name](f"{type(self).__name__}.{field.name}", value)


def _answer(where: str, value: object) -> None:
    if not isinstance(value, (str, ModelResponse)):
        raise TypeError(f"{where} takes a str or a ModelResponse, not {type(value).__name__}")


def _status(where: str, value: object) -> None:
    whole_number(where, value, minimum=_LOWEST_STATUS, maximum=_HIGHEST_STATUS)


def _event_count(where: str, value: object) -> None:
    whole_number(where, value, minimum=0)


def _byte_count(where: str, value: object) -> None:
    whole_number(where, value, minimum=1)


def _flag(where: str, value: object) -> None:
    instance(where, value, bool, "write True or False")


def _text(where: str, value: object) -> None:
    instance(where, value, str, "write it in quotes")


def _body(where: str, value: object) -> None:
    if not isinstance(value, (bytes, Mapping)):
        raise TypeError(f"{where} takes bytes or a mapping, not {type(value).__name__}; encode a text")


def _bytes(where: str, value: object) -> None:
    instance(where, value, bytes, "encode a text")


def _headers(where: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{where} takes a mapping, not {type(value).__name__}; for example {{'retry-after': '2'}}"
        )
    for name, text in cast("Mapping[object, object]", value).items():
        if not isinstance(name, str):
            raise TypeError(f"{where} has a name of type {type(name).__name__}; each is a str")
        if _HEADER_NAME.match(name) is None:
            raise ValueError(f"{where} has a name that no header can have, {quoted(name)}")
        if not isinstance(text, str):
            raise TypeError(
                f"{where}[{quoted(name)}] takes a str, not {type(text).__name__}; write it in quotes"
            )
        if _HEADER_VALUE.match(text) is None:
            raise ValueError(
                f"{where}[{quoted(name)}] has a character that no header can have; write Latin-1 on one line"
            )


_CHECKS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "after_events": _event_count,
    "answer": _answer,
    "body": _body,
    "byte_count": _byte_count,
    "code": _text,
    "data": _bytes,
    "error_type": _text,
    "headers": _headers,
    "is_clean": _flag,
    "is_one_event": _flag,
    "message": _text,
    "status": _status,
}
