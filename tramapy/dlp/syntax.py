"""The parts that a pattern is made of: one immutable node type each."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from tramapy.dlp.charset import CharSet

__all__ = [
    "Alternation",
    "Assertion",
    "Characters",
    "Check",
    "Node",
    "Repeat",
    "Sequence",
    "max_length",
    "min_length",
    "needle",
    "size",
    "walk",
]


class Assertion(enum.Enum):
    """A claim about a place between two characters."""

    TEXT_START = "text start"
    TEXT_END = "text end"
    LINE_END = "text end, or before the newline that ends the text"
    WORD_BOUNDARY = "word boundary"
    NOT_WORD_BOUNDARY = "not a word boundary"


@dataclass(frozen=True, slots=True)
class Characters:
    """One character out of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion; it takes no character."""

    assertion: Assertion


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after another; without parts, the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Choices; an earlier one that matches is preferred."""

    choices: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A part several times over.

    Args:
        part: What is repeated; it takes at least one character.
        least: The fewest times.
        most: The most times; None is without end.
        is_lazy: Whether fewer times are preferred.
    """

    part: Node
    least: int
    most: int | None
    is_lazy: bool


Node = Characters | Check | Sequence | Alternation | Repeat


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        match current:
            case Sequence(parts=inner) | Alternation(choices=inner):
                pending.extend(inner)
            case Repeat(part=part):
                pending.append(part)
            case _:
                pass


def min_length(node: Node) -> int:
    """Return the length of the shortest text that a node takes."""
    match node:
        case Characters():
            return 1
        case Check():
            return 0
        case Sequence(parts=parts):
            return sum(min_length(part) for part in parts)
        case Alternation(choices=choices):
            return min(min_length(choice) for choice in choices)
        case _:
            return node.least * min_length(node.part)


def max_length(node: Node) -> int | None:
    """Return the length of the longest text that a node takes; None where there is no longest."""
    if any(isinstance(below, Repeat) and below.most is None for below in walk(node)):
        return None
    return _longest(node)


def size(node: Node) -> int:
    """Return about how many instructions a node becomes once its repeats are written out."""
    match node:
        case Characters() | Check():
            return 1
        case Sequence(parts=parts):
            return sum(size(part) for part in parts)
        case Alternation(choices=choices):
            return 1 + sum(size(choice) for choice in choices)
        case _:
            copies = max(node.least, 1) if node.most is None else node.most
            return copies * (size(node.part) + 1)


def needle(node: Node) -> str | None:
    """Return a character that every match holds, rather no letter or digit; None where none is certain."""
    certain = list(_certain_characters(node))
    rare = [character for character in certain if not character.isalnum()]
    return next(iter(rare or certain), None)


def _certain_characters(node: Node) -> Iterator[str]:
    match node:
        case Characters(chars=chars):
            if chars.single is not None:
                yield chr(chars.single)
        case Sequence(parts=parts):
            for part in parts:
                yield from _certain_characters(part)
        case Repeat(part=part, least=least) if least > 0:
            yield from _certain_characters(part)
        case _:
            pass


def _longest(node: Node) -> int:
    match node:
        case Characters():
            return 1
        case Check():
            return 0
        case Sequence(parts=parts):
            return sum(_longest(part) for part in parts)
        case Alternation(choices=choices):
            return max(_longest(choice) for choice in choices)
        case _:
            return (node.most or 0) * _longest(node.part)
