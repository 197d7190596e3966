"""Find all matches of a program in one pass: a lazily built deterministic automaton with match histories.

It simulates the pattern `(?:R|any character)*`, whose preferred parse of a text is the sequence of all
non-overlapping leftmost-first matches of R. Two threads at one instruction have the same future, so the less
preferred one is dropped, whichever match either began: at most one thread an instruction, hence linear time
for *all* matches together. (Searching again after every match, as `finditer` does, is quadratic for a
pattern such as `x[^y]*y|x`, in RE2 as well.)

Sources: R. Pike's thread list with preference, after R. Cox, "Regular Expression Matching: the Virtual Machine
Approach" (2009); V. Laurikari, "NFAs with Tagged Transitions" (2000), for what moves along with a transition.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from tramapy.dlp.alphabet import Context, Reading
from tramapy.dlp.program import Branch, Consume, Guard, Program
from tramapy.dlp.rendering import Flavour, render_set
from tramapy.forks import renew_after_fork

__all__ = ["BETWEEN", "EMPTY_MATCH", "STAYS", "Automaton", "Edge", "Ending", "Moves", "State"]

BETWEEN = -1
"""The thread that is inside no match; it never dies, so nothing stands behind it."""
EMPTY_MATCH = -2
"""Takes the place of `BETWEEN` once the pattern has matched nothing, if no thread before it finds better."""

_FRESH = -1
_STATE_SIZE = 60


@dataclass(frozen=True, slots=True)
class Moves:
    """Where the threads after a transition come from.

    Args:
        kept: For each thread of a match under way, its place before; these come first.
        matched: The thread whose match ended before the character, if one did.
        fresh: How many threads begin a match with the character; these come next.
    """

    kept: tuple[int, ...]
    matched: int | None
    fresh: int


STAYS = Moves((), None, 0)
"""The moves from idle to idle."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What the end of the text decides.

    Args:
        matched: The thread whose match ends there, if one does.
        is_empty_match: Whether the pattern matches nothing.
    """

    matched: int | None
    is_empty_match: bool


class State(dict[str, "Edge"]):
    """Threads in order of preference, and the transitions by character that are known so far.

    Args:
        automaton: What the state is part of; it finds the transitions that are missing.
        threads: The instructions at which they stand; `BETWEEN` or `EMPTY_MATCH` comes last.
        context: What the last character was.
    """

    __slots__ = ("_automaton", "by_reading", "context", "is_idle", "is_stuck", "threads")

    def __init__(self, automaton: Automaton, threads: tuple[int, ...], context: Context) -> None:
        super().__init__()
        self._automaton = automaton
        self.by_reading: dict[tuple[int, bool], Edge] = {}
        self.threads: tuple[int, ...] = threads
        self.context: Context = context
        self.is_idle: bool = threads[0] == BETWEEN and automaton.first is not None
        """Whether the scan may skip to the next character that a match can begin with."""
        self.is_stuck: bool = threads[0] == EMPTY_MATCH
        """Whether the pattern has matched nothing, for certain."""

    def __missing__(self, character: str) -> Edge:
        edge = self._automaton.edge(self, self._automaton.program.read(character))
        if character.isascii():  # others are looked up by their class: there are too many of them to keep
            self[character] = edge
        return edge


Edge = tuple[State, Moves | None]
"""The next state, and the moves; None where every thread keeps its place."""


@dataclass(frozen=True, slots=True)
class _Step:
    """All threads, one character on.

    Args:
        targets: The instructions reached, in order of preference, each with the thread that it comes from.
        matched: The thread whose match ended before the character, if one did.
        tail: What stands behind them: `BETWEEN` or `EMPTY_MATCH`.
    """

    targets: dict[int, int]
    matched: int | None
    tail: int


class Automaton:
    """The states of one program, shared by all scans of all threads; what is kept of them is bounded.

    Args:
        program: What to match.
        can_match_nothing: Whether there is a match without characters.
        cache_size: How much to keep, in threads of states; the default is some megabytes at most.
    """

    def __init__(self, program: Program, *, can_match_nothing: bool, cache_size: int = 60_000) -> None:
        self.program = program
        self.first: re.Pattern[str] | None = None
        if not can_match_nothing:
            self.first = re.compile(render_set(program.first_characters(), Flavour.STDLIB))
        self.visited_count: int = 0
        """How many instructions were visited to find transitions: all the work that is not a look-up."""
        self._lock = threading.Lock()
        renew_after_fork(self, type(self)._renew)
        self._states: dict[tuple[tuple[int, ...], Context], State] = {}
        self._idle: dict[str, State] = {}
        self.cached_size: int = 0
        """How much is kept."""
        self._cache_size = cache_size

    def _renew(self) -> None:
        """Take a new lock, in a forked child."""
        self._lock = threading.Lock()

    def idle_after(self, character: str) -> State:
        """Return the state without a match under way, after a character; after none at the start of a text."""
        known = self._idle.get(character)
        if known is not None:
            return known
        context = self.program.read(character).context if character else self.program.start_context
        with self._lock:
            state = self._state((BETWEEN,), context)
            if character.isascii():
                self._idle[character] = state
            return state

    def skip(self, text: str, start: int) -> int:
        """Return the next place, from `start` on, where a match may begin; the length of `text` if none."""
        found = None if self.first is None else self.first.search(text, start)
        return len(text) if found is None else found.start()

    def edge(self, state: State, reading: Reading) -> Edge:
        """Return the transition of a state on a character."""
        key = (reading.bit, reading.ends_line)
        known = state.by_reading.get(key)
        if known is not None:
            return known
        with self._lock:
            step = self._step(state, reading)
            after = self._state((*step.targets, step.tail), reading.context)
            edge = (after, _moves(state, after, step))
            state.by_reading[key] = edge
            self._grow(len(step.targets))
            return edge

    def end(self, state: State) -> Ending:
        """Return what the end of the text decides."""
        with self._lock:
            step = self._step(state, self.program.end)
        return Ending(step.matched, step.tail == EMPTY_MATCH)

    def _step(self, state: State, reading: Reading) -> _Step:
        targets: dict[int, int] = {}
        seen: set[int] = set()
        matched = None
        for place, thread in enumerate(state.threads[:-1]):
            if self._follow(thread, place, state.context, reading, targets, seen):
                matched = place
                break
        if matched is None and state.threads[-1] == EMPTY_MATCH:
            return _Step(targets, None, EMPTY_MATCH)
        is_empty = self._follow(self.program.start, _FRESH, state.context, reading, targets, set())
        return _Step(targets, matched, EMPTY_MATCH if is_empty else BETWEEN)

    def _follow(
        self,
        thread: int,
        source: int,
        context: Context,
        reading: Reading,
        targets: dict[int, int],
        seen: set[int],
    ) -> bool:
        """Collect where a thread gets with a character; True once it accepts, less preferred ways unseen."""
        pending = [thread]
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            self.visited_count += 1
            match self.program.instructions[place]:
                case Consume(bits=bits, then=then):
                    if bits & reading.bit:
                        targets.setdefault(then, source)
                case Branch(targets=branches):
                    pending.extend(reversed(branches))
                case Guard(then=then) as guard:
                    if guard.holds(context, reading):
                        pending.append(then)
                case _:
                    return True
        return False

    def _state(self, threads: tuple[int, ...], context: Context) -> State:
        found = self._states.get((threads, context))
        if found is not None:
            return found
        self._grow(len(threads) + _STATE_SIZE)
        state = State(self, threads, context)
        self._states[threads, context] = state
        return state

    def _grow(self, size: int) -> None:
        """Count what is kept, in threads; past the limit forget it, but for what scans under way stand on."""
        self.cached_size += size
        if self.cached_size > self._cache_size:
            self._states = {}
            self._idle = {}
            self.cached_size = size


def _moves(before: State, after: State, step: _Step) -> Moves | None:
    if after.is_stuck:
        return Moves((), step.matched, 0)
    if before.is_idle and after.is_idle:
        return STAYS
    kept = tuple(source for source in step.targets.values() if source != _FRESH)
    fresh = len(step.targets) - len(kept)
    if step.matched is None and not fresh and kept == tuple(range(len(before.threads) - 1)):
        return None
    return Moves(kept, step.matched, fresh)
