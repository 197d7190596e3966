"""Random patterns of the dialect and random texts, and what plain `re` makes of them."""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import strategies as st

from tramapy.dlp.automaton import Automaton
from tramapy.dlp.dialect import parse
from tramapy.dlp.program import compile_node
from tramapy.dlp.scanner import Scanner
from tramapy.dlp.syntax import min_length

_TAKING = ["a", "b", "1", "-", "[ ]", r"\n", "x", "é", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"]
_CLASSES = [
    "[ab]",
    "[^a]",
    "[a1-]",
    "[^x]",
    r"[^\s\S]",
    r"[\s\S]",
    r"[b-x\d]",
    r"[é-\uffff]",
    r"[^\W_]",
    "[^ -]",
]
_ASSERTING = [r"\b", r"\B", "^", "$", r"\A", r"\Z"]
_REPEATS = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "{0}"]


class _Drawn(NamedTuple):
    pattern: str
    can_be_empty: bool


def _joined(parts: list[_Drawn]) -> _Drawn:
    return _Drawn("".join(part.pattern for part in parts), all(part.can_be_empty for part in parts))


def _either(choices: list[_Drawn]) -> _Drawn:
    joined = "|".join(choice.pattern for choice in choices)
    return _Drawn(f"(?:{joined})", any(choice.can_be_empty for choice in choices))


def _repeated(part: _Drawn, repeat: str, lazy: str) -> _Drawn:
    if part.can_be_empty:
        return _Drawn(f"({part.pattern})", can_be_empty=True)
    return _Drawn(f"(?:{part.pattern}){repeat}{lazy}", repeat[0] in "*?" or repeat.startswith("{0"))


def _extended(inner: st.SearchStrategy[_Drawn]) -> st.SearchStrategy[_Drawn]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(_joined),
        st.lists(inner | st.just(_Drawn("", can_be_empty=True)), min_size=2, max_size=3).map(_either),
        st.builds(_repeated, inner, st.sampled_from(_REPEATS), st.sampled_from(["", "?"])),
    )


_ATOMS = st.one_of(
    st.sampled_from(_TAKING).map(lambda pattern: _Drawn(pattern, can_be_empty=False)),
    st.sampled_from(_CLASSES).map(lambda pattern: _Drawn(pattern, can_be_empty=False)),
    st.sampled_from(_ASSERTING).map(lambda pattern: _Drawn(pattern, can_be_empty=True)),
)

PATTERNS = st.builds(
    lambda flag, drawn: flag + drawn.pattern,
    st.sampled_from(["", "", "", "(?i)"]),
    st.recursive(_ATOMS, _extended, max_leaves=8),
)
"""Patterns of the dialect over a small alphabet."""

TAKING_PATTERNS = PATTERNS.filter(lambda pattern: min_length(parse(pattern)) > 0)
"""Those whose every match takes a character."""

TEXTS = st.text(
    st.sampled_from("aaaabbBA11-_  \n\t.xxéK\u212a\u017f\ud800\U0001d11e"), min_size=1, max_size=14
)
"""Texts over the same alphabet, with characters of each length in UTF-8, and a lone surrogate."""


def plain_spans(pattern: str, text: str) -> list[tuple[int, int]] | None:
    """All matches by plain `re`; None where one of them is empty."""
    spans = [match.span() for match in re.finditer(pattern, text, re.ASCII)]
    return None if any(start == end for start, end in spans) else spans


def automaton_of(pattern: str, *, cache_size: int = 60_000) -> Automaton:
    node = parse(pattern)
    return Automaton(compile_node(node), can_match_nothing=min_length(node) == 0, cache_size=cache_size)


def scanned_spans(automaton: Automaton, pieces: list[str]) -> list[tuple[int, int]] | None:
    """All matches by the automaton; None where one of them is empty."""
    scanner = Scanner(automaton)
    for piece in pieces:
        scanner.feed(piece)
    scanner.finish()
    return None if scanner.has_empty_match else [tuple(span) for span in scanner.take_spans()]
