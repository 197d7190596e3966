"""A backtracking matcher that counts its steps: what `re` does, made countable."""

from __future__ import annotations

from tramapy.dlp.alphabet import Context, Reading
from tramapy.dlp.program import Accept, Branch, Consume, Guard, Program


def count_steps(program: Program, text: str) -> int:
    """Count the instructions that a backtracking search for all matches runs."""
    steps = 0
    start = 0
    while start <= len(text):
        attempt_steps, end = _attempt(program, text, start)
        steps += attempt_steps
        start = start + 1 if end is None else end
    return steps


def _attempt(program: Program, text: str, start: int) -> tuple[int, int | None]:
    steps = 0
    pending = [(program.start, start)]
    while pending:
        place, at = pending.pop()
        steps += 1
        match program.instructions[place]:
            case Consume(bits=bits, then=then):
                if bits & _reading(program, text, at).bit:
                    pending.append((then, at + 1))
            case Branch(targets=targets):
                pending.extend((target, at) for target in reversed(targets))
            case Guard(then=then) as guard:
                if guard.holds(_context(program, text, at), _reading(program, text, at)):
                    pending.append((then, at))
            case Accept():
                return steps, at
    return steps, None


def _reading(program: Program, text: str, at: int) -> Reading:
    if at == len(text):
        return program.end
    if at == len(text) - 1 and text[at] == "\n" and program.needs_line_end:
        return program.last_newline
    return program.read(text[at])


def _context(program: Program, text: str, at: int) -> Context:
    return program.start_context if at == 0 else program.read(text[at - 1]).context
