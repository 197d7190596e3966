"""The script of a `ScriptedServer`: which answer a request gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from tramapy.messages import ModelResponse
from tramapy.testing.answers import OutOfAnswersError, several
from tramapy.testing.exchange import Exchange, ServerAnswer, ServerRequest, WireFormat
from tramapy.testing.faults import HttpRejection, PlainAnswer
from tramapy.testing.pieces import Split
from tramapy.testing.wire_chat import ChatWireFormat
from tramapy.testing.wire_messages import MessagesWireFormat
from tramapy.testing.wire_responses import ResponsesWireFormat
from tramapy.values import listed

__all__ = ["Script", "ScriptedAnswer", "mistake"]

_Settled: TypeAlias = str | ModelResponse | ServerAnswer

ScriptedAnswer: TypeAlias = _Settled | Callable[[ServerRequest], _Settled]
"""A string, a `ModelResponse`, a fault, or a callable that gets the request and returns one of them."""

_UNKNOWN_PATH: Final = HttpRejection(
    status=404,
    code="unknown_path",
    message="ScriptedServer answers POST to /v1/chat/completions, /v1/responses and /v1/messages, and any method to "
    "those given as paths=[...]. An OpenAI client takes base_url, an Anthropic one root_url.",
)

# no SDK tries it again, and no API that is spoken here uses it
_MISTAKE_STATUS: Final = 410


_ANSWERS: Final = (
    "give a string, a ModelResponse, a fault such as HttpRejection(status=503) or RawBody(body=...), or a callable "
    "that gets the request and returns one of them"
)


def mistake(problem: Exception, number: int) -> HttpRejection:
    """Return the answer that tells a client of a mistake in the script: in fixed words, and no lost connection."""
    if isinstance(problem, OutOfAnswersError):
        return HttpRejection(status=_MISTAKE_STATUS, code="out_of_answers", message=str(problem))
    return HttpRejection(
        status=_MISTAKE_STATUS,
        code="script_mistake",
        message=f"The answer of ScriptedServer to request {number} raised {type(problem).__name__}; "
        "leaving the server's `with` raises it again",
    )


class Script:
    """Answers in order, each used once unless the last one repeats.

    Args:
        answers: One for each request to a known path.
        split: How text falls into pieces in a stream.
        repeat_last: Whether the last answer serves all further requests.
        paths: Further paths, for any method.

    Raises:
        ValueError: `repeat_last` is given without any answer, or a path does not begin with a slash.
        TypeError: `answers` or `paths` is no list, or one of the answers is none.
    """

    def __init__(
        self,
        answers: Iterable[ScriptedAnswer],
        *,
        split: Split,
        repeat_last: bool,
        paths: Iterable[str] = (),
    ) -> None:
        self._answers = several("ScriptedServer", answers, _is_answer, _ANSWERS)
        self._paths = frozenset(listed("paths", paths, "give a list such as ['/v1/embeddings']"))
        if not all(path.startswith("/") for path in self._paths):
            raise ValueError(
                "paths has one that does not begin with a slash; write it as in '/v1/embeddings'"
            )
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
            OutOfAnswersError: There is none left.
        """
        is_known = request.path in self._paths or (
            request.method == "POST" and request.path in self._wire_formats
        )
        if not is_known:
            return _UNKNOWN_PATH
        position = self._taken_count
        self._taken_count += 1
        if position >= len(self._answers) and not self._repeat_last:
            raise OutOfAnswersError("ScriptedServer", len(self._answers), position + 1)
        answer = self._answers[min(position, len(self._answers) - 1)]
        settled = answer(request) if callable(answer) else answer
        return PlainAnswer(settled) if isinstance(settled, (str, ModelResponse)) else settled


def _is_answer(given: object) -> bool:
    if hasattr(given, "steps"):
        return not isinstance(given, type)  # a fault, not its class
    return isinstance(given, (str, ModelResponse)) or callable(given)
