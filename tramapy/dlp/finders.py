"""Find the matches of a pattern in a whole text faster than by running the automaton over all of it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.program import Program
from tramapy.dlp.rendering import Flavour, render, render_set
from tramapy.dlp.scanner import Scanner, Span
from tramapy.dlp.syntax import Assertion, Node, max_length

__all__ = ["Re2", "Re2Finder", "SpanFinder", "StdlibFinder", "StretchFinder", "load_re2"]

_READ_AHEAD_FACTOR = 8
_READ_AHEAD_FREE = 4_096


class SpanFinder(Protocol):
    """Finds matches in a whole text; only for patterns that cannot match the empty string."""

    def find(self, text: str) -> Sequence[Span] | None:
        """Return all non-overlapping matches in order, or None where this would not take linear time."""
        ...


class StdlibFinder:
    """`re`, for patterns on which it is known to take linear time."""

    def __init__(self, node: Node) -> None:
        self._pattern = re.compile(render(node, Flavour.STDLIB), re.ASCII)

    def find(self, text: str) -> Sequence[Span]:
        """Return all matches."""
        return [Span(*match.span()) for match in self._pattern.finditer(text)]


class StretchFinder:
    """The automaton, only on the stretches of text around a character that every match holds.

    A stretch ends at the characters that no match can hold. They do not overlap, so the time stays linear.

    Args:
        automaton: What to match; it must not tell the last newline of a text from others.
        needle: The character.
    """

    def __init__(self, automaton: Automaton, needle: str) -> None:
        self._automaton = automaton
        self._needle = needle
        self._outside = _outside(automaton.program)

    def find(self, text: str) -> Sequence[Span]:
        """Return all matches."""
        spans: list[Span] = []
        done = 0
        at = text.find(self._needle)
        while at >= 0:
            before = self._outside.search(text[done:at][::-1])
            start = done if before is None else at - before.start()
            done = _place(self._outside.search(text, at), text)
            spans += self._find_in(text, start, done)
            at = text.find(self._needle, done)
        return spans

    def _find_in(self, text: str, start: int, end: int) -> Iterator[Span]:
        scanner = Scanner(self._automaton, after=text[max(start - 1, 0) : start])
        scanner.feed(text[start : end + 1])
        if end == len(text):
            scanner.finish()
        return (Span(start + span.start, start + span.end) for span in scanner.take_spans())


class Re2Match(Protocol):
    """The part of a match of google-re2 that we use."""

    def span(self) -> tuple[int, int]:
        """Return the place of the match in bytes."""
        ...


class Re2Pattern(Protocol):
    """The part of a compiled pattern of google-re2 that we use."""

    def finditer(self, text: bytes, pos: int = 0) -> Iterator[Re2Match]:
        """Yield all matches at or behind a place."""
        ...


class Re2Options(Protocol):
    """The part of the options of google-re2 that we use."""

    log_errors: bool
    max_mem: int
    encoding: object


class Re2Encodings(Protocol):
    """The encodings of google-re2 that we use."""

    LATIN1: object


class Re2OptionsMaker(Protocol):
    """The part of the class `Options` of google-re2 that we use."""

    Encoding: Re2Encodings

    def __call__(self) -> Re2Options:
        """Return the default options."""
        ...


class Re2Set(Protocol):
    """The part of a set of patterns of google-re2 that we use."""

    def Add(self, pattern: bytes) -> int:  # noqa: N802 - the class's own name
        """Add a pattern; the first is number 0."""
        ...

    def Compile(self) -> None:  # noqa: N802 - the class's own name
        """Make the set ready."""
        ...

    def Match(self, text: bytes) -> Sequence[int] | None:  # noqa: N802 - the class's own name
        """Return the numbers of the patterns that stand in a text; None or nothing where there is none."""
        ...


class Re2SetMaker(Protocol):
    """The part of the class `Set` of google-re2 that we use."""

    def SearchSet(self, options: Re2Options) -> Re2Set:  # noqa: N802 - the class's own name
        """Return an empty set that searches anywhere in a text."""
        ...


class Re2(Protocol):
    """The part of the module `re2` of google-re2 that we use."""

    error: type[Exception]
    Options: Re2OptionsMaker
    Set: Re2SetMaker

    def compile(self, pattern: str | bytes, options: Re2Options) -> Re2Pattern:
        """Compile a pattern."""
        ...


def load_re2() -> Re2 | None:
    """Import google-re2; None where it is not installed, or another package has its name."""
    try:
        module = importlib.import_module("re2")
    except ImportError:
        return None
    return cast("Re2", module) if hasattr(module, "Options") else None


class Re2Finder:
    """google-re2 over UTF-8.

    One search takes linear time, yet it may read on behind the match that it returns, and the next one reads
    that again. So the length that searches can have read ahead is added up, from above: to the next character
    that no match can hold, and no further than the longest match. Past a bound the finder gives up.
    """

    def __init__(self, pattern: Re2Pattern, node: Node, program: Program) -> None:
        self._pattern = pattern
        self._max_length = max_length(node)
        self._outside = _outside(program)

    @classmethod
    def build(cls, re2: Re2, node: Node, program: Program) -> Re2Finder | None:
        """Compile a pattern; None where RE2 cannot express it, or would need too much memory."""
        if Assertion.LINE_END in program.assertions:
            return None
        options = re2.Options()
        options.log_errors = False
        try:
            pattern = re2.compile(render(node, Flavour.RE2), options)
        except re2.error:
            return None
        return cls(pattern, node, program)

    def find(self, text: str) -> Sequence[Span] | None:
        """Return all matches, or None where searches read ahead too far."""
        encoded = text.encode("utf-8", "surrogatepass")
        places = _Places(encoded, is_ascii=len(encoded) == len(text))
        allowance = _READ_AHEAD_FREE + _READ_AHEAD_FACTOR * len(text)
        spans: list[Span] = []
        stop = 0
        for match in self._pattern.finditer(encoded):
            first, last = match.span()
            span = Span(places.character(first), places.character(last))
            spans.append(span)
            if stop < span.end:
                stop = _place(self._outside.search(text, span.end), text)
            ahead = stop - span.end
            allowance -= ahead if self._max_length is None else min(ahead, self._max_length)
            if allowance < 0:
                return None
        return spans


def _outside(program: Program) -> re.Pattern[str]:
    """Return what searches for a character that no match can hold."""
    return re.compile(render_set(program.inner_characters().complement(), Flavour.STDLIB))


def _place(found: re.Match[str] | None, text: str) -> int:
    return len(text) if found is None else found.start()


class _Places:
    """Turns rising places in UTF-8 into places in the text."""

    def __init__(self, encoded: bytes, *, is_ascii: bool) -> None:
        self._encoded = encoded
        self._is_ascii = is_ascii
        self._bytes = 0
        self._characters = 0

    def character(self, place: int) -> int:
        if self._is_ascii:
            return place
        self._characters += len(self._encoded[self._bytes : place].decode("utf-8", "surrogatepass"))
        self._bytes = place
        return self._characters
