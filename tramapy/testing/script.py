"""The script of a `ScriptedServer`: which answer a request gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from tramapy.messages import ModelResponse
from tramapy.testing.exchange import Exchange, ServerAnswer, ServerRequest, WireFormat
from tramapy.testing.faults import HttpRejection, PlainAnswer
from tramapy.testing.pieces import Split
from tramapy.testing.wire_chat import ChatWireFormat
from tramapy.testing.wire_messages import MessagesWireFormat
from tramapy.testing.wire_responses import ResponsesWireFormat

__all__ = ["Script", "ScriptedAnswer"]

_Settled: TypeAlias = str | ModelResponse | ServerAnswer

ScriptedAnswer: TypeAlias = _Settled | Callable[[ServerRequest], _Settled]
"""A string, a `ModelResponse`, a fault, or a callable that gets the request and returns one of them."""

_UNKNOWN_PATH: Final = HttpRejection(
    status=404, code="unknown_path", message="The server has a script for POST to its three paths only."
)


class Script:
    """Answers in order, each used once unless the last one repeats.

    Args:
        answers: One for each request to a known path.
        split: How text falls into pieces in a stream.
        repeat_last: Whether the last answer serves all further requests.

    Raises:
        ValueError: `repeat_last` is given without any answer.
    """

    def __init__(self, answers: Iterable[ScriptedAnswer], *, split: Split, repeat_last: bool) -> None:
        self._answers = tuple(answers)
        if repeat_last and not self._answers:
            raise ValueError("repeat_last needs at least one answer")
        self._split = split
        self._repeat_last = repeat_last
        self._wire_formats: dict[str, WireFormat] = {
            wire.path: wire for wire in (ChatWireFormat(), ResponsesWireFormat(), MessagesWireFormat())
        }
        self._taken_count = 0

    @property
    def answer_count(self) -> int:
        """How many answers there are."""
        return len(self._answers)

    def exchange_of(self, request: ServerRequest) -> Exchange:
        """Return what the answer to `request` needs to be written."""
        wire = self._wire_formats.get(request.path, self._wire_formats[ChatWireFormat.path])
        return Exchange(request=request, wire=wire, split=self._split)

    def answer_to(self, request: ServerRequest) -> ServerAnswer:
        """Take the next answer; a path that is not known takes none and is 404.

        Raises:
            AssertionError: There is none left.
        """
        if request.method != "POST" or request.path not in self._wire_formats:
            return _UNKNOWN_PATH
        position = self._taken_count
        self._taken_count += 1
        if position >= len(self._answers) and not self._repeat_last:
            raise AssertionError(
                f"ScriptedServer has {len(self._answers)} answers and got request {position + 1}; "
                "add an answer, or pass repeat_last=True"
            )
        answer = self._answers[min(position, len(self._answers) - 1)]
        settled = answer(request) if callable(answer) else answer
        return PlainAnswer(settled) if isinstance(settled, (str, ModelResponse)) else settled
