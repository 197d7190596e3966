"""The answers of a script, and what is said when there are no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tramapy.errors import ConfigurationError
from tramapy.messages import ModelResponse
from tramapy.values import described

__all__ = ["OutOfAnswersError", "several"]

A = TypeVar("A")


class OutOfAnswersError(ConfigurationError, AssertionError):
    """One request more than there are answers: a mistake of the test, which an engine between shows as it is."""

    def __init__(self, owner: str, answer_count: int, number: int) -> None:
        answers = "1 answer" if answer_count == 1 else f"{answer_count} answers"
        super().__init__(
            f"{owner} has {answers} and got request {number}; add an answer, or pass repeat_last=True"
        )


def several(
    owner: str, answers: Iterable[A], is_answer: Callable[[object], bool], remedy: str
) -> tuple[A, ...]:
    """Return answers as a tuple.

    Args:
        owner: What they are given to.
        answers: What was given.
        is_answer: Tells whether one of them is one.
        remedy: What to give in place of what is none.

    Raises:
        TypeError: There is one alone, without a list around it, or one is none.
    """
    if isinstance(answers, str | ModelResponse) or not isinstance(answers, Iterable):
        raise TypeError(f"answers is {described(answers)}; give a list, for example {owner}(['an answer'])")
    several_answers = tuple(answers)
    for place, answer in enumerate(several_answers):
        if not is_answer(answer):
            raise TypeError(f"answers[{place}] is {described(answer)}; {remedy}")
    return several_answers
