"""`Alive`: tell, character by character, whether a match may be under way.

A deterministic automaton over sets of places in patterns, built as it is needed. Unlike `Automaton` it knows
neither where a match began nor which one is preferred: every thread lives on until no character continues it.
Where none lives, no match can reach across, and the text before is decided.

Source: subset construction, M. Rabin and D. Scott, "Finite Automata and Their Decision Problems" (1959).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from tramapy.dlp.dialect import parse
from tramapy.dlp.program import Branch, Consume, Guard, Program, compile_node
from tramapy.dlp.syntax import Alternation
from tramapy.forks import renew_after_fork

__all__ = ["Alive", "AliveState"]


class AliveState(dict[str, "AliveState"]):
    """Which places are alive, and the next state by character, as far as it is known.

    Args:
        alive: Finds the states that are missing.
        places: The instructions that wait for a character.
        is_match: Whether some pattern has matched up to here.
    """

    __slots__ = ("_alive", "is_idle", "is_match", "places")

    def __init__(self, alive: Alive, places: frozenset[int], *, is_match: bool) -> None:
        super().__init__()
        self._alive = alive
        self.places: frozenset[int] = places
        self.is_idle: bool = not places
        """Whether no match is under way."""
        self.is_match: bool = is_match
        """Whether a match may have ended here, or may go on."""

    def __missing__(self, character: str) -> AliveState:
        return self._alive.after(self, character)


class Alive:
    """The states of some patterns; shared by all streams of all threads, and bounded.

    Args:
        patterns: In our dialect, without assertions.
        most_edges: How many transitions are kept; the default is some megabytes.
    """

    def __init__(self, patterns: Iterable[str], *, most_edges: int = 200_000) -> None:
        self._most_edges = most_edges
        self._program: Program = compile_node(
            Alternation(tuple(parse(pattern) for pattern in dict.fromkeys(patterns)))
        )
        self._start, _ = self._reached([self._program.start])
        self._lock = threading.Lock()
        renew_after_fork(self, type(self)._renew)
        self._edge_count = 0
        self._states: dict[tuple[frozenset[int], bool], AliveState] = {}
        self._by_reading: dict[tuple[frozenset[int], int], AliveState] = {}

    def _renew(self) -> None:
        """Take a new lock, in a forked child."""
        self._lock = threading.Lock()

    def idle(self) -> AliveState:
        """Return the state in which no match is under way."""
        return self._state(frozenset(), is_match=False)

    def after(self, state: AliveState, character: str) -> AliveState:
        """Return the state after one more character."""
        bit = self._program.read(character).bit
        with self._lock:
            key = (state.places, bit)
            found = self._by_reading.get(key)
            if found is None:
                found = self._by_reading[key] = self._step(state, bit)
            self._edge_count += 1
            if self._edge_count > self._most_edges:
                self._forget()
            state[character] = found
            return found

    def _step(self, state: AliveState, bit: int) -> AliveState:
        instructions = self._program.instructions
        targets: list[int] = []
        for place in state.places | self._start:
            instruction = instructions[place]
            if isinstance(instruction, Consume) and instruction.bits & bit:
                targets.append(instruction.then)
        places, is_match = self._reached(targets)
        return self._state(places, is_match=is_match)

    def _reached(self, targets: list[int]) -> tuple[frozenset[int], bool]:
        """Follow branches to the instructions that wait for a character."""
        seen: set[int] = set()
        waiting: set[int] = set()
        is_match = False
        pending = targets
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            match self._program.instructions[place]:
                case Consume():
                    waiting.add(place)
                case Branch(targets=branches):
                    pending.extend(branches)
                case Guard():
                    raise ValueError("what a stream holds back has no assertions")
                case _:
                    is_match = True
        return frozenset(waiting), is_match

    def _state(self, places: frozenset[int], *, is_match: bool) -> AliveState:
        key = (places, is_match)
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = AliveState(self, places, is_match=is_match)
        return found

    def _forget(self) -> None:
        """Drop all that is known, but for what streams under way stand on."""
        for state in self._states.values():
            state.clear()
        self._states = {}
        self._by_reading = {}
        self._edge_count = 0
