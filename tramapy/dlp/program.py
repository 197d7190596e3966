"""Compile a parsed pattern to a program: a non-deterministic automaton over classes of characters.

Source: K. Thompson, "Regular Expression Search Algorithm" (1968), with ordered splits for preference and
checks for assertions, as in R. Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tramapy.dlp.alphabet import Alphabet, Context, Reading
from tramapy.dlp.charset import CharSet
from tramapy.dlp.syntax import Alternation, Assertion, Characters, Check, Node, Repeat, Sequence, walk

__all__ = ["Accept", "Branch", "Consume", "Guard", "Instruction", "Program", "compile_node"]

_WORD_CHECKS = frozenset({Assertion.WORD_BOUNDARY, Assertion.NOT_WORD_BOUNDARY})


@dataclass(frozen=True, slots=True)
class Consume:
    """Take one character of the classes in `bits` and go on."""

    bits: int
    then: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Go on at several places; an earlier one is preferred."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """Go on where the assertion holds."""

    assertion: Assertion
    then: int

    def holds(self, context: Context, reading: Reading) -> bool:
        """Tell whether the assertion holds between what stands before and what stands after."""
        match self.assertion:
            case Assertion.TEXT_START:
                return context is Context.TEXT_START
            case Assertion.TEXT_END:
                return reading.ends_text
            case Assertion.LINE_END:
                return reading.ends_line
            case Assertion.WORD_BOUNDARY:
                return (context is Context.WORD) != reading.is_word
            case _:
                return (context is Context.WORD) == reading.is_word


@dataclass(frozen=True, slots=True)
class Accept:
    """The pattern has matched."""


Instruction = Consume | Branch | Guard | Accept


class Program:
    """An automaton as a list of instructions.

    Args:
        instructions: Addressed by their place.
        start: Where a match begins.
        alphabet: Tells characters apart.
        assertions: What the instructions check.
    """

    def __init__(
        self,
        *,
        instructions: tuple[Instruction, ...],
        start: int,
        alphabet: Alphabet,
        assertions: frozenset[Assertion],
    ) -> None:
        self.instructions = instructions
        self.start = start
        self.assertions = assertions
        self._alphabet = alphabet
        self.readings: tuple[Reading, ...] = alphabet.readings
        self.end: Reading = Reading(bit=0, ends_line=True, ends_text=True)
        newline = self.read("\n")
        self.last_newline: Reading = Reading(bit=newline.bit, is_word=newline.is_word, ends_line=True)

    @property
    def start_context(self) -> Context:
        """The context of the first place in a text; the start is told apart only where that matters."""
        return Context.TEXT_START if Assertion.TEXT_START in self.assertions else Context.OTHER

    @property
    def needs_line_end(self) -> bool:
        """Whether a newline must be known to be the last character of the text, or not, when it is read."""
        return Assertion.LINE_END in self.assertions

    def read(self, character: str) -> Reading:
        """Return what the program sees in a character inside the text."""
        return self._alphabet.read(ord(character))

    def first_characters(self) -> CharSet:
        """Return every character that a match can begin with."""
        found = 0
        for instruction in self._reachable_without_reading():
            if isinstance(instruction, Consume):
                found |= instruction.bits
        return self._alphabet.characters(found)

    def inner_characters(self) -> CharSet:
        """Return every character that a match can hold."""
        found = 0
        for instruction in self.instructions:
            if isinstance(instruction, Consume):
                found |= instruction.bits
        return self._alphabet.characters(found)

    def _reachable_without_reading(self) -> Iterator[Instruction]:
        pending = [self.start]
        seen: set[int] = set()
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self.instructions[place]
            yield instruction
            if isinstance(instruction, Branch):
                pending.extend(instruction.targets)
            elif isinstance(instruction, Guard):
                pending.append(instruction.then)


def compile_node(node: Node) -> Program:
    """Compile a parsed pattern."""
    below = list(walk(node))
    assertions = frozenset(item.assertion for item in below if isinstance(item, Check))
    alphabet = Alphabet(
        (item.chars for item in below if isinstance(item, Characters)),
        tells_words=bool(assertions & _WORD_CHECKS),
        tells_newline=Assertion.LINE_END in assertions,
    )
    writer = _Writer(alphabet)
    start = writer.write(node, writer.put(Accept()))
    return Program(
        instructions=tuple(writer.instructions), start=start, alphabet=alphabet, assertions=assertions
    )


class _Writer:
    """Writes instructions from the end of the pattern to its start, so that each knows what follows."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.instructions: list[Instruction] = []
        self._alphabet = alphabet

    def put(self, instruction: Instruction) -> int:
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def write(self, node: Node, then: int) -> int:
        """Write `node`, going on at `then`; return where it begins."""
        match node:
            case Characters(chars=chars):
                return self.put(Consume(self._alphabet.bits(chars), then))
            case Check(assertion=assertion):
                return self.put(Guard(assertion, then))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    then = self.write(part, then)
                return then
            case Alternation(choices=choices):
                return self.put(Branch(tuple(self.write(choice, then) for choice in choices)))
            case _:
                return self._write_repeat(node, then)

    def _write_repeat(self, repeat: Repeat, then: int) -> int:
        copies = repeat.least
        if repeat.most is None:
            then = self._write_loop(repeat, then)
            copies = max(copies - 1, 0)
        else:
            leave = then
            for _ in range(repeat.most - repeat.least):
                then = self._branch(repeat, self.write(repeat.part, then), leave)
        for _ in range(copies):
            then = self.write(repeat.part, then)
        return then

    def _write_loop(self, repeat: Repeat, leave: int) -> int:
        """Write a loop without end: entered at its part where it runs at least once, else at its branch."""
        branch = self.put(Accept())
        part = self.write(repeat.part, branch)
        self.instructions[branch] = Branch((leave, part) if repeat.is_lazy else (part, leave))
        return branch if repeat.least == 0 else part

    def _branch(self, repeat: Repeat, part: int, leave: int) -> int:
        return self.put(Branch((leave, part) if repeat.is_lazy else (part, leave)))
