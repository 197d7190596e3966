"""`JsonPlace`: know whether a place in JSON is inside of a string, and fit in what is put there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

__all__ = ["JsonPlace", "begins_json"]

_MARK = re.compile(r'["\\]')
_OPENS = re.compile(r"[ \t\r\n\ufeff]*[{\[]")
_NOT_BLANK = re.compile(r"[^ \t\r\n\ufeff]")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_INSTEAD_OF_NOTHING = "[REDACTED]"
_INNER_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BETWEEN = re.compile(r"[,:{}\[\]]")
_STRUCTURE = re.compile(rf"(?:[\s,:{{}}\[\]]|true|false|null|{_INNER_NUMBER.pattern})*\Z")


def begins_json(text: str) -> bool:
    """Tell whether a text begins as an object or a list in JSON does; a text that does not is no JSON to us."""
    return _OPENS.match(text) is not None


class JsonPlace:
    """Reads a text in pieces; a text that does not begin with `{` or `[` is no JSON and left alone.

    Nothing is parsed, so there is no depth and no size that it could not follow, and a text that turns out not to
    be JSON is read to its end all the same.

    Args:
        is_json: Whether it is JSON; None to tell by how it begins.
        in_string: Whether a string has begun before.
        last: What stands before, outside of strings and not blank; nothing at the beginning.
    """

    __slots__ = ("_in_string", "_is_escaped", "_is_json", "_last")

    def __init__(self, *, is_json: bool | None = None, in_string: bool = False, last: str = "") -> None:
        self._is_json = is_json
        self._in_string = in_string
        self._is_escaped = False
        self._last = last

    def read(self, text: str) -> None:
        """Read on."""
        if self._is_json is None:
            self.is_left_alone(text)
        if self._is_json:
            self._read(text)

    def is_left_alone(self, text: str) -> bool:
        """Tell whether it is known, with a text that comes next, that this is no JSON."""
        if self._is_json is None:
            first = _NOT_BLANK.search(text)
            if first is not None:
                self._is_json = first.group() in "{["
        return self._is_json is False

    def fit(self, replacement: str, matched: str) -> str:
        """Return a replacement as it must be written here: a number becomes a string, and nothing empty."""
        if not self._is_json:
            return replacement
        if '"' in matched:
            parts = list(self._parts(matched))
            if len(parts) > 1:
                return '"'.join(self._fit_part(replacement, part, in_string) for part, in_string in parts)
        if self._in_string:
            return json.dumps(replacement or _INSTEAD_OF_NOTHING, ensure_ascii=False)[1:-1]
        if _BETWEEN.search(matched) and _STRUCTURE.match(matched):
            return self._fit_part(replacement, matched, in_string=False)
        if self._last in (":", "[", ",") and _NUMBER.match(matched):
            return json.dumps(replacement or _INSTEAD_OF_NOTHING, ensure_ascii=False)
        return replacement

    def escaped(self, value: str) -> str:
        """Return a value as it must be written here, where it takes the place of a part of the text."""
        return json.dumps(value, ensure_ascii=False)[1:-1] if self._is_json and self._in_string else value

    def meaning(self, written: str) -> str:
        """Return what a text that is written here stands for: in a string, its escapes do for other characters."""
        if not self._in_string or "\\" not in written:
            return written
        try:
            text: str = json.loads(f'"{written}"')
        except ValueError:
            return written
        return text

    def _parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """Split a text that comes next at the quotes that begin or end strings; say which parts are in one."""
        done = 0
        place = int(self._is_escaped)
        in_string = self._in_string
        while (mark := _MARK.search(text, place)) is not None:
            place = mark.end()
            if mark.group() == '"':
                yield text[done : mark.start()], in_string
                done = place
                in_string = not in_string
            elif in_string:
                place += 1
        yield text[done:], in_string

    def _fit_part(self, replacement: str, part: str, in_string: bool) -> str:
        """Fit a replacement in for a part of a match that goes over the end of a string; marks of JSON stay."""
        if in_string:
            return json.dumps(replacement or _INSTEAD_OF_NOTHING, ensure_ascii=False)[1:-1] if part else ""
        if _STRUCTURE.match(part) is None:
            return replacement
        return _INNER_NUMBER.sub(lambda _: json.dumps(replacement or _INSTEAD_OF_NOTHING), part)

    def _read(self, text: str) -> None:
        if self._is_escaped or "\\" in text:
            self._follow(text)
        elif text.count('"') % 2:
            self._in_string = not self._in_string
        if not self._in_string:
            tail = text.rstrip(" \t\r\n")
            if tail:
                self._last = tail[-1]

    def _follow(self, text: str) -> None:
        place = 0
        if self._is_escaped and text:
            place = 1
            self._is_escaped = False
        while True:
            mark = _MARK.search(text, place)
            if mark is None:
                break
            place = mark.end()
            if mark.group() == '"':
                self._in_string = not self._in_string
            elif self._in_string:
                if place == len(text):
                    self._is_escaped = True
                place += 1
