"""Decide whether `re`, which backtracks, takes linear time for all matches of a program on every text.

Two independent grounds, each sound on its own:

*Few steps.* A program without loops whose whole tree of ways from the start has at most `_MOST_STEPS` nodes:
no attempt can take more steps than that.

*One way.* At every place the next character leaves one way only: the ways that lead to a character are
disjoint and each is reached once, so that a way not taken dies at its first test, and an attempt costs no more
than what it reads. That is at most `_MOST_PLACES` characters in a program without loops. With loops, attempts
must also never meet: two that `re` would really make, from different starts, never stand at the same
instruction at the same place of the text, because then a run of text would be read again from each of its
places (`a*b` on `aaaa`). Hence no character is read by more attempts than the program has places. An attempt is
not made from inside a match, so a pair ends where the earlier one accepts after the later one's start.

Both may refuse what is linear in fact; that then runs on our automaton, with the same matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tramapy.dlp.alphabet import Context, Reading
from tramapy.dlp.program import Branch, Consume, Guard, Instruction, Program

__all__ = ["backtracks_linearly"]

_MOST_STEPS = 128
_MOST_PLACES = 64

_Place = tuple[int, Context]
_Pair = tuple[int, int, Context]


def backtracks_linearly(program: Program) -> bool:
    """Tell whether `re` takes linear time; the program must not match the empty string."""
    has_loops = _has_loops(program)
    if not has_loops and _count_steps(program) <= _MOST_STEPS:
        return True
    return _has_one_way(program) and (not has_loops or _Attempts(program).never_meet())


def _has_loops(program: Program) -> bool:
    """Tell whether an instruction leads to a later one; a program is written from its end to its start."""
    return any(
        follower >= place
        for place, instruction in enumerate(program.instructions)
        for follower in _followers(instruction)
    )


def _count_steps(program: Program) -> int:
    """Count the nodes of the tree of all ways from the start, in a program without loops."""
    counts: list[int] = []
    for instruction in program.instructions:
        counts.append(1 + sum(counts[follower] for follower in _followers(instruction)))
    return counts[program.start]


def _followers(instruction: Instruction) -> tuple[int, ...]:
    match instruction:
        case Consume(then=then) | Guard(then=then):
            return (then,)
        case Branch(targets=targets):
            return targets
        case _:
            return ()


def _has_one_way(program: Program) -> bool:
    entries = {program.start}
    for instruction in program.instructions:
        if isinstance(instruction, Consume):
            entries.add(instruction.then)
    return len(entries) <= _MOST_PLACES and all(_is_one_way(program, entry) for entry in entries)


def _is_one_way(program: Program, entry: int) -> bool:
    seen: set[int] = set()
    taken = 0
    pending = [entry]
    while pending:
        place = pending.pop()
        if place in seen:
            return False
        seen.add(place)
        instruction = program.instructions[place]
        if isinstance(instruction, Consume):
            if taken & instruction.bits:
                return False
            taken |= instruction.bits
        else:
            pending.extend(_followers(instruction))
    return True


@dataclass(frozen=True, slots=True)
class _Advance:
    """What one character does to an attempt: where it leads, and whether the attempt accepts before it."""

    target: int | None
    accepts: bool


class _Attempts:
    """Attempts of a program whose next character leaves one way only."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._readings = (*program.readings, program.end)
        self._advances: dict[tuple[int, Context, Reading], _Advance] = {}

    def never_meet(self) -> bool:
        pending = list(self._pairs_at_a_start())
        seen = set(pending)
        while pending:
            earlier, later, context = pending.pop()
            for reading in self._readings:
                if self._advance(earlier, context, reading).accepts:
                    continue
                if earlier == later:
                    return False
                for pair in self._after(earlier, later, context, reading):
                    if pair not in seen:
                        seen.add(pair)
                        pending.append(pair)
        return True

    def _pairs_at_a_start(self) -> Iterator[_Pair]:
        """Yield an attempt at each place it can reach, with another one that begins there."""
        for place, context in self._reachable():
            for reading in self._readings:
                yield from self._after(place, self._program.start, context, reading)

    def _reachable(self) -> set[_Place]:
        contexts = {self._program.start_context, Context.OTHER, Context.WORD}
        pending: list[_Place] = [(self._program.start, context) for context in contexts]
        found: set[_Place] = set()
        while pending:
            place, context = pending.pop()
            for reading in self._readings:
                target = self._advance(place, context, reading).target
                if target is not None and (target, reading.context) not in found:
                    found.add((target, reading.context))
                    pending.append((target, reading.context))
        return found

    def _after(self, earlier: int, later: int, context: Context, reading: Reading) -> Iterator[_Pair]:
        first = self._advance(earlier, context, reading).target
        second = self._advance(later, context, reading).target
        if first is not None and second is not None:
            yield first, second, reading.context

    def _advance(self, place: int, context: Context, reading: Reading) -> _Advance:
        key = (place, context, reading)
        known = self._advances.get(key)
        if known is None:
            known = self._advances[key] = self._find_advance(place, context, reading)
        return known

    def _find_advance(self, place: int, context: Context, reading: Reading) -> _Advance:
        target = None
        pending = [place]
        while pending:
            match self._program.instructions[pending.pop()]:
                case Consume(bits=bits, then=then):
                    if bits & reading.bit:
                        target = then
                case Branch(targets=targets):
                    pending.extend(reversed(targets))
                case Guard(then=then) as guard:
                    if guard.holds(context, reading):
                        pending.append(then)
                case _:
                    return _Advance(target, accepts=True)
        return _Advance(target, accepts=False)
