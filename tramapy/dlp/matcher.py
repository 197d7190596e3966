"""`Matcher`: a compiled pattern, with the quickest way to search a whole text that is sure to be linear."""

from __future__ import annotations

from collections.abc import Sequence

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.dialect import parse
from tramapy.dlp.finders import Re2, Re2Finder, SpanFinder, StdlibFinder, StretchFinder
from tramapy.dlp.linear import backtracks_linearly
from tramapy.dlp.program import compile_node
from tramapy.dlp.scanner import Span
from tramapy.dlp.syntax import Node, min_length, needle

__all__ = ["Matcher", "compile_pattern"]


class Matcher:
    """A compiled pattern.

    Args:
        automaton: Matches anything of the dialect, in streams as well.
        finder: Searches a whole text faster; None where there is only the automaton.
        needle: A character that every match holds; None where there is no such character.
    """

    def __init__(self, automaton: Automaton, finder: SpanFinder | None, needle: str | None) -> None:
        self.automaton = automaton
        self.finder = finder
        self._needle = needle

    def find(self, text: str) -> Sequence[Span] | None:
        """Return all non-overlapping matches in a whole text; None where the automaton must find them."""
        if self._needle is not None and self._needle not in text:
            return ()
        return None if self.finder is None else self.finder.find(text)


def compile_pattern(pattern: str, re2: Re2 | None) -> Matcher:
    """Compile a pattern of the dialect.

    Args:
        pattern: The pattern.
        re2: The module to search whole texts with; None for the standard library.

    Raises:
        PatternError: The pattern is outside the dialect.
    """
    node = parse(pattern)
    automaton = Automaton(compile_node(node), can_match_nothing=min_length(node) == 0)
    return Matcher(automaton, _finder(node, automaton, re2), needle(node))


def _finder(node: Node, automaton: Automaton, re2: Re2 | None) -> SpanFinder | None:
    program = automaton.program
    if min_length(node) == 0:
        return None
    found: SpanFinder | None = None if re2 is None else Re2Finder.build(re2, node, program)
    if found is None and backtracks_linearly(program):
        found = StdlibFinder(node)
    character = needle(node)
    if found is None and character is not None and not program.needs_line_end:
        found = StretchFinder(automaton, character)
    return found
