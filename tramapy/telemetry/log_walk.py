"""`LineWalk`: one walk through the values of a log line, which gives what may be shown in their place."""

from __future__ import annotations

import datetime
import decimal
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.values import exact_text, remembering, shown

__all__ = ["TOO_DEEP", "LineWalk"]

TOO_DEEP: Final = "[withheld: nested too deeply]"
_NOT_SHOWN: Final = "[withheld]"

_MAX_DEPTH: Final = 20
_MAX_VALUE_COUNT: Final = 10_000

# a number of six digits or less identifies nobody, and most numbers in logs are such
_SMALL: Final = 1_000_000
_SHOWN_BITS: Final = 128

# shown by all renderers in ways that follow from str and repr
_KNOWN: Final = frozenset(
    {datetime.date, datetime.datetime, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID}
)

# what shows no more than a name and a level
_LOGGERS: Final = (logging.Logger.__repr__, logging.RootLogger.__repr__)

# the containers' own methods: a subclass may show one thing now and another later
_dict_copy: Callable[[object], dict[Any, object]] = vars(dict)["copy"]
_list_copy: Callable[[object], list[object]] = vars(list)["copy"]
_set_copy: Callable[[object], set[object]] = vars(set)["copy"]
_tuple_items: Callable[[object], Iterable[object]] = vars(tuple)["__iter__"]
_frozenset_items: Callable[[object], Iterable[object]] = vars(frozenset)["__iter__"]

# names that make a rule judge the value beside them
_LABEL: Final = re.compile(
    r"account|auth|bearer|card|cookie|cred|cv[cv]|iban|key|pass|p(?:hrase|in|wd)|secret|session|sid|ssn|token",
    re.IGNORECASE,
)


class LineWalk:
    """Goes through the values of one line.

    Strings are inspected wherever they stand, keys included; so are bytes, and numbers of more than six digits.
    Containers are copied. Any other object becomes the text that it shows, for nobody can say what it will
    show next time.

    Args:
        text: Inspects a text.
    """

    __slots__ = ("_count", "_text")

    def __init__(self, text: Callable[[str], str]) -> None:
        self._text = text
        self._count = 0

    def value(self, value: object, depth: int = 0) -> object:
        """Return what may be shown in the place of a value.

        Raises:
            ValueError: The line holds more than 10,000 values.
        """
        kind = type(value)
        if kind is str:
            return self._text(cast("str", value))
        if value is None or kind is bool:
            return value
        if issubclass(kind, int):
            return self._integer(int.__int__(cast("int", value)))
        if issubclass(kind, float):
            return self._decimal(float.__float__(cast("float", value)))
        if issubclass(kind, str):
            return self._text(exact_text(cast("str", value)))
        return self._large(kind, value, depth)

    def mapping(self, mapping: Mapping[Any, object], depth: int = 0) -> dict[Any, object]:
        """Return a copy of a mapping with its keys and values inspected.

        A value is inspected together with its key, too, where the key's name may say what the value is. Of keys
        that become the same, the later ones get a number.
        """
        self._count_more(len(mapping))
        text = self._text
        clean: dict[Any, object] = {}
        for key, value in mapping.items():
            shown_value = text(value) if type(value) is str else self.value(value, depth + 1)
            if type(key) is str:
                shown_key: object = text(key)
                if _is_label(key):
                    shown_value = self._labelled(key, shown_value)
            else:
                shown_key = self._key(key)
            if shown_key in clean:
                shown_key = f"{shown_key}#{len(clean)}"
            clean[shown_key] = shown_value
        return clean

    def _large(self, kind: type[object], value: object, depth: int) -> object:
        if depth > _MAX_DEPTH:
            return TOO_DEEP
        if issubclass(kind, dict):
            return self.mapping(_dict_copy(value), depth)
        if issubclass(kind, list):
            return self._items(_list_copy(value), depth)
        if issubclass(kind, tuple):
            return tuple(self._items(_tuple_items(value), depth))
        if issubclass(kind, set):
            return self._items(_set_copy(value), depth)
        if issubclass(kind, frozenset):
            return self._items(_frozenset_items(value), depth)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return self._bytes(bytes(cast("bytes", value)))
        return self._object(kind, value, depth)

    def _items(self, items: Iterable[object], depth: int) -> list[object]:
        listed = [*items]
        self._count_more(len(listed))
        return [self.value(item, depth + 1) for item in listed]

    def _count_more(self, count: int) -> None:
        self._count += count
        if self._count > _MAX_VALUE_COUNT:
            raise ValueError(f"a log line holds more than {_MAX_VALUE_COUNT:_} values; log fewer")

    def _key(self, key: object) -> object:
        if key is None or type(key) is bool:
            return key
        clean = self.value(key)
        return clean if isinstance(clean, (str, int, float)) else self._text(repr(clean))

    def _labelled(self, key: str, value: object) -> object:
        """Inspect a value beside its key, as in JSON, which is what rules for labelled values know best."""
        if type(value) is bool or not isinstance(value, (str, int)):
            return value
        pair = json.dumps({key: value}, ensure_ascii=False)
        clean = self._text(pair)
        if clean == pair:
            return value
        try:
            (clean_value,) = json.loads(clean).values()
        except (AttributeError, ValueError):  # no JSON any more, or something else
            return _NOT_SHOWN
        return self.value(clean_value)

    def _integer(self, number: int) -> object:
        if -_SMALL < number < _SMALL:
            return number
        digits = shown(number)
        clean = self._text(digits)
        return number if clean == digits and number.bit_length() <= _SHOWN_BITS else clean

    def _decimal(self, number: float) -> object:
        if -_SMALL < number < _SMALL:
            return number
        digits = shown(number)
        clean = self._text(digits)
        return number if clean == digits else clean

    def _bytes(self, value: bytes) -> object:
        characters = value.decode("utf-8", "backslashreplace")
        clean = self._text(characters)
        return value if clean == characters else clean

    def _object(self, kind: type[object], value: object, depth: int) -> object:
        adapt = getattr(kind, "__structlog__", None)
        if callable(adapt):  # what structlog's own JSON renderer asks for
            return self.value(adapt(value), depth + 1)
        text = _repr(kind, value)
        clean = self._text(text)
        if issubclass(kind, logging.Logger) and kind.__repr__ in _LOGGERS and clean == text:
            return value  # structlog hands one through the standard library
        if kind in _KNOWN and clean == text and self._text(str(value)) == str(value):
            return value
        return clean


@remembering(1_024)
def _is_label(key: str) -> bool:
    return _LABEL.search(key) is not None


def _repr(kind: type[object], value: object) -> str:
    try:
        return exact_text(repr(value))
    except Exception as error:  # an object that cannot show itself is no reason to lose the line
        failure = error
    rethrow_if_cancellation(failure)
    return f"<{kind.__name__} that cannot be shown>"
