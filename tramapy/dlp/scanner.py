"""`Scanner`: one pass of an automaton over a text that may come in pieces."""

from __future__ import annotations

import copy
from typing import NamedTuple, Self

from tramapy.dlp.automaton import BETWEEN, STAYS, Automaton, Moves

__all__ = ["Scanner", "Span"]


class Span(NamedTuple):
    """A match, as places in the whole text."""

    start: int
    end: int


# On the hot path, so plain tuples and not classes: building a NamedTuple takes ten times as long.
_Found = tuple[Span, "_Found | None"]
"""A match that holds if the thread which carries it comes out first, and the one before it."""
_Carried = tuple[int, _Found | None]
"""What a thread knows: where its match began, and the matches before that one."""


class Scanner:
    """Reads a text once and tells which matches are certain, and up to where the text is decided.

    Args:
        automaton: What to match.
        after: The character before the text, where the text is a part of another one.
    """

    __slots__ = (
        "_automaton",
        "_carried",
        "_certain_end",
        "_holds_newline",
        "_position",
        "_spans",
        "_state",
        "has_empty_match",
    )

    def __init__(self, automaton: Automaton, *, after: str = "") -> None:
        self._automaton = automaton
        self._state = automaton.idle_after(after)
        self._carried: list[_Carried] = [(0, None)]
        self._position = 0
        self._certain_end = 0
        self._spans: list[Span] = []
        self._holds_newline = False
        self.has_empty_match: bool = False
        """Whether the pattern matched nothing; the scan then stands still."""

    @property
    def decided_end(self) -> int:
        """The place up to which no further match can reach back."""
        return self._position if self._state.threads[0] == BETWEEN else self._carried[0][0]

    def take_spans(self) -> list[Span]:
        """Return the matches that have become certain since the last time."""
        spans = self._spans
        if spans:
            self._spans = []
        return spans

    def feed(self, text: str) -> None:
        """Read the next piece."""
        if self._automaton.program.needs_line_end:
            text = self._hold_newline(text)
        self._read(text)

    def finish(self) -> None:
        """Read the end of the text."""
        if self._holds_newline and not self.has_empty_match:
            self._state, moves = self._automaton.edge(self._state, self._automaton.program.last_newline)
            if moves is not None:
                self._move(moves, self._position)
            self._position += 1
            self.has_empty_match = self._state.is_stuck
        if not self.has_empty_match:
            ending = self._automaton.end(self._state)
            self.has_empty_match = ending.is_empty_match
            self._settle(self._found(ending.matched, self._position))
            self._state = self._automaton.idle_after("")

    def ended(self, since: int) -> Self:
        """Return what this would be if the text ended here; it goes on as if nobody had asked.

        Args:
            since: The matches that end behind this place are looked for.
        """
        twin = copy.copy(self)
        twin._spans = []
        twin._certain_end = max(self._certain_end, since)
        twin.finish()
        return twin

    def _hold_newline(self, text: str) -> str:
        """Keep a newline at the end for the next piece: `$` needs to know whether it is the last character."""
        if not text:
            return text
        if self._holds_newline:
            text = f"\n{text}"
        self._holds_newline = text.endswith("\n")
        return text[:-1] if self._holds_newline else text

    def _read(self, text: str) -> None:
        automaton = self._automaton
        state = self._state
        base = self._position
        place, end = 0, len(text)
        while place < end and not state.is_stuck:
            if state.is_idle:
                start = place
                place = automaton.skip(text, start)
                if place > start:
                    state = automaton.idle_after(text[place - 1])
            for place in range(place, end):  # noqa: B020 - from where the skip ended
                state, moves = state[text[place]]
                if moves is not None:
                    if moves is not STAYS:
                        self._move(moves, base + place)
                    if state.is_idle or state.is_stuck:
                        break
            place += 1
        self._state = state
        self._position = base + end
        self.has_empty_match = state.is_stuck

    def _move(self, moves: Moves, place: int) -> None:
        """Move what the threads carry."""
        found = self._found(moves.matched, place)
        if not moves.kept:
            if found is not None:
                self._settle(found)
            self._carried = [(place, None)] * (moves.fresh + 1)
            return
        carried = [self._carried[source] for source in moves.kept]
        if moves.kept[0] != 0:
            self._settle(carried[0][1])
        carried += [(place, found)] * (moves.fresh + 1)
        self._carried = carried

    def _found(self, matched: int | None, place: int) -> _Found | None:
        """Return the matches up to a place between matches."""
        if matched is None:
            return self._carried[-1][1]
        start, before = self._carried[matched]
        return (Span(start, place), before)

    def _settle(self, found: _Found | None) -> None:
        """Make matches certain: every thread that is left carries them."""
        certain: list[Span] = []
        while found is not None and found[0].end > self._certain_end:
            certain.append(found[0])
            found = found[1]
        if certain:
            self._certain_end = certain[0].end
            self._spans.extend(reversed(certain))
