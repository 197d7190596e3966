"""The forms in which a planted secret can come out again: as it is, escaped, quoted, or encoded."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

__all__ = ["MIN_CANARY_BYTES", "CanaryForms"]

MIN_CANARY_BYTES: Final = 8
"""Shorter ones would be found by chance in base64."""


@dataclass(frozen=True, slots=True)
class _Form:
    canary_number: int
    name: str
    text: str
    data: bytes


class CanaryForms:
    """Every form of some canaries, to search text and bytes for.

    Args:
        canaries: The planted secrets.

    Raises:
        ValueError: There is none, or one is too short to be told from chance.
    """

    def __init__(self, canaries: tuple[str, ...]) -> None:
        if not canaries:
            raise ValueError("assert_no_canary needs at least one canary")
        for number, canary in enumerate(canaries):
            if len(canary.encode()) < MIN_CANARY_BYTES:
                raise ValueError(f"canary {number} is too short; it takes at least {MIN_CANARY_BYTES} bytes")
        self._forms = tuple(
            form for number, canary in enumerate(canaries) for form in _forms_of(number, canary)
        )

    def found_in_text(self, text: str) -> str | None:
        """Say which canary and form `text` holds, without the canary; None where it holds none."""
        return next((_label(form) for form in self._forms if form.text in text), None)

    def found_in_bytes(self, data: bytes) -> str | None:
        """Do what `found_in_text` does, for UTF-8 and UTF-16 bytes."""
        return next((_label(form) for form in self._forms if form.data in data), None)


def _label(form: _Form) -> str:
    return f"canary {form.canary_number}, {form.name}"


def _forms_of(number: int, canary: str) -> Iterator[_Form]:
    seen: set[str] = set()
    for name, text in _spellings(canary):
        if text not in seen:
            seen.add(text)
            yield _Form(number, name, text, text.encode("utf-8", "surrogatepass"))
    for name in ("utf-16-le", "utf-16-be"):
        yield _Form(number, name, canary, canary.encode(name, "surrogatepass"))


def _spellings(canary: str) -> Iterator[tuple[str, str]]:
    yield "as it is", canary
    escaped = json.dumps(canary)[1:-1]
    yield "json", escaped
    yield "json", json.dumps(canary, ensure_ascii=False)[1:-1]
    yield "json in json", json.dumps(escaped)[1:-1]
    yield "repr", repr(canary)[1:-1]
    yield "repr", ascii(canary)[1:-1]
    yield "url-quoted", quote(canary, safe="")
    yield "url-quoted", quote(canary)
    yield "url-quoted", quote_plus(canary)
    yield "html", html.escape(canary)
    data = canary.encode("utf-8", "surrogatepass")
    yield "hex", data.hex()
    yield "hex", data.hex().upper()
    for offset in range(3):
        yield "base64", _base64_core(base64.b64encode, data, offset)
        yield "base64", _base64_core(base64.urlsafe_b64encode, data, offset)


def _base64_core(encode: Callable[[bytes], bytes], data: bytes, offset: int) -> str:
    """Encode `data` as if `offset` bytes stood before it; keep only the digits that it alone decides."""
    encoded = encode(b"\0" * offset + data).decode("ascii")
    first = -(-offset * 8 // 6)
    end = (offset + len(data)) * 8 // 6
    return encoded[first:end]
