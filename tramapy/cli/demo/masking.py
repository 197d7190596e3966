"""`PromptMasking`: the request interceptor of the demo, and what it looks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tramapy.hooks.operation import OperationCallContext, OperationInterceptor
from tramapy.messages import Message

__all__ = ["PromptMasking", "SensitiveSpan", "find_sensitive", "mask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveSpan:
    """Where something sensitive stands, and what it is; never what it says.

    Args:
        kind: For example `card`.
        start: Its first character.
        end: One past its last.
        shape: How it looks, for example `16 digits`.
    """

    kind: str
    start: int
    end: int
    shape: str

    @property
    def placeholder(self) -> str:
        """What is sent in its place."""
        return f"[{self.kind.upper()}]"


class PromptMasking(OperationInterceptor):
    """Masks cards, social security numbers, e-mail addresses and tokens before a request leaves."""

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """Return the messages with placeholders in the place of what is sensitive."""
        return [message.replace(content=mask(message.content)) for message in messages]


def mask(text: str) -> str:
    """Return `text` with a placeholder for everything that `find_sensitive` finds."""
    pieces: list[str] = []
    done = 0
    for span in find_sensitive(text):
        pieces += (text[done : span.start], span.placeholder)
        done = span.end
    return "".join([*pieces, text[done:]])


def find_sensitive(text: str) -> tuple[SensitiveSpan, ...]:
    """Find everything to mask, in order and without overlaps; the one that begins first wins."""
    found: list[SensitiveSpan] = []
    for span in sorted(_candidates(text), key=lambda span: (span.start, -span.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
    return tuple(found)


# every repetition is bounded, so that no text, however odd, makes the search slow
_PATTERNS: Final = {
    "card": re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)"),
    "ssn": re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    "token": re.compile(
        r"\b(?:sk|pk|rk)[-_](?:live|test)[-_][A-Za-z0-9_]{8,64}|\bgh[pousr]_[A-Za-z0-9]{20,64}"
    ),
}


def _candidates(text: str) -> Iterator[SensitiveSpan]:
    for kind, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            if kind != "card" or _has_valid_check_digit(match[0]):
                yield SensitiveSpan(
                    kind=kind, start=match.start(), end=match.end(), shape=_shape(kind, match[0])
                )


def _has_valid_check_digit(text: str) -> bool:
    """Tell a card number from any other long number (ISO/IEC 7812-1, annex B)."""
    digits = [int(character) for character in reversed(text) if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _shape(kind: str, text: str) -> str:
    if kind in ("card", "ssn"):
        return f"{sum(character.isdigit() for character in text)} digits"
    return f"{len(text)} characters"
