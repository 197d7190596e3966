"""`ScriptedProvider`: a model that answers what it was told to, in order, sync and async."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import anyio.lowlevel

from tramapy.hooks.provider import AsyncProvider, Provider
from tramapy.messages import (
    Chunk,
    CompletedChunk,
    ModelRequest,
    ModelResponse,
    TextChunk,
    TextPart,
    ToolCall,
    ToolCallChunk,
)
from tramapy.testing.answers import OutOfAnswersError, several
from tramapy.testing.pieces import Split, split_words

__all__ = ["ProviderAnswer", "ScriptedProvider", "StreamScript"]

StreamScript: TypeAlias = Sequence[str | Chunk | BaseException | type[BaseException]]
"""What a stream gives, one by one; a string is a `TextChunk`, an exception is raised where it stands."""

_Settled: TypeAlias = str | ModelResponse | BaseException | type[BaseException] | StreamScript

ProviderAnswer: TypeAlias = _Settled | Callable[[ModelRequest], _Settled | Awaitable[_Settled]]
"""One answer of a script; a callable gets the request and returns one of the others."""


_ANSWERS: Final = (
    "give a string, a ModelResponse, an exception such as ProviderError(...), a list of chunks, or a callable that "
    "gets the request and returns one of them; faults of HTTP are for ScriptedServer"
)


class ScriptedProvider(Provider, AsyncProvider):
    """A `Provider` and `AsyncProvider` that answers from a script, one answer per call.

    =======================  ====================================  =======================================
    answer                   `complete`                            `stream`
    =======================  ====================================  =======================================
    a string                 a response with that content          its pieces, then the completed response
    a `ModelResponse`        that response                         its pieces and tool calls, then itself
    an exception or class    raised                                raised at the first step
    a sequence of chunks     the response that they add up to      exactly these, nothing added
    a callable               what it returns for the request       what it returns for the request
    =======================  ====================================  =======================================

    An answer is taken when the method is called (`acomplete`: when it is first awaited), so concurrent calls
    take them in call order. The async methods pass a checkpoint at each step, as a real transport does. To
    test what happens without a capability, derive a class with other `capabilities`.

    Args:
        answers: One for each call, in order.
        split: How text falls into pieces in a stream; by default after each word.
        repeat_last: Whether the last answer serves all further calls.

    Raises:
        ValueError: `repeat_last` is given without any answer.
        TypeError: `answers` is no list, or one of them is none.
    """

    def __init__(
        self, answers: Iterable[ProviderAnswer] = (), *, split: Split = split_words, repeat_last: bool = False
    ) -> None:
        self._answers = several("ScriptedProvider", answers, _is_answer, _ANSWERS)
        if repeat_last and not self._answers:
            raise ValueError("repeat_last needs at least one answer")
        self._split = split
        self._repeat_last = repeat_last
        self._lock = threading.RLock()  # a dropped stream's finalizer may come in between
        self._requests: list[ModelRequest] = []
        self._open_streams = _OpenCount()

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every request that came, in order, those without an answer included."""
        with self._lock:
            return tuple(self._requests)

    @property
    def open_stream_count(self) -> int:
        """How many streams were opened and neither closed nor read to their end."""
        return self._open_streams.value

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer with the next of the script.

        Raises:
            OutOfAnswersError: The script has no answer left; it is a `ConfigurationError`, so `Tramapy` shows it as
                it is, and an `AssertionError`.
            TypeError: The answer is an async callable.
        """
        return _whole(_settle(self._take(request), request))

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        """Do what `complete` does; the answer may be an async callable."""
        answer = self._take(request)
        await anyio.lowlevel.checkpoint()
        return _whole(await _asettle(answer, request))

    def stream(self, request: ModelRequest) -> Iterator[Chunk]:
        """Answer with the next of the script, in pieces."""
        answer = self._take(request)
        return _Stream(lambda: _script_of(_settle(answer, request), self._split), self._open_streams)

    def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Do what `stream` does; the answer may be an async callable."""
        answer = self._take(request)

        async def settle() -> StreamScript:
            return _script_of(await _asettle(answer, request), self._split)

        return _AsyncStream(settle, self._open_streams)

    def __repr__(self) -> str:
        return f"ScriptedProvider(<{len(self._answers)} answers>, <{len(self.requests)} requests>)"

    def _take(self, request: ModelRequest) -> ProviderAnswer:
        with self._lock:
            self._requests.append(request)
            position = len(self._requests) - 1
        if position < len(self._answers):
            return self._answers[position]
        if self._repeat_last:
            return self._answers[-1]
        raise OutOfAnswersError("ScriptedProvider", len(self._answers), position + 1)


class _OpenCount:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.value: int = 0

    def change(self, by: int) -> None:
        with self._lock:
            self.value += by


class _OpenStream:
    """What both kinds of stream share: the steps, and being open until the end or a close."""

    def __init__(self, open_count: _OpenCount) -> None:
        self._open_count = open_count
        self._steps: Iterator[str | Chunk | BaseException | type[BaseException]] | None = None
        self._is_open = True
        open_count.change(+1)

    def _advance(self) -> Chunk | None:
        """Return the next chunk, or None at the end."""
        step = None if self._steps is None else next(self._steps, None)
        if step is None:
            self._end()
            return None
        if isinstance(step, str):
            return TextChunk(step)
        if isinstance(step, (BaseException, type)):
            self._end()
            raise step
        return step

    def _end(self) -> None:
        self._steps = None
        if self._is_open:
            self._is_open = False
            self._open_count.change(-1)


class _Stream(_OpenStream, Iterator[Chunk]):
    def __init__(self, settle: Callable[[], StreamScript], open_count: _OpenCount) -> None:
        super().__init__(open_count)
        self._settle = settle

    def __next__(self) -> Chunk:
        if self._steps is None and self._is_open:
            try:
                self._steps = iter(self._settle())
            except BaseException:
                self._end()
                raise
        chunk = self._advance()
        if chunk is None:
            raise StopIteration
        return chunk

    def close(self) -> None:
        self._end()


class _AsyncStream(_OpenStream, AsyncIterator[Chunk]):
    def __init__(self, settle: Callable[[], Awaitable[StreamScript]], open_count: _OpenCount) -> None:
        super().__init__(open_count)
        self._settle = settle

    async def __anext__(self) -> Chunk:
        await anyio.lowlevel.checkpoint()
        if self._steps is None and self._is_open:
            try:
                self._steps = iter(await self._settle())
            except BaseException:
                self._end()
                raise
        chunk = self._advance()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        self._end()


def _is_answer(given: object) -> bool:
    if isinstance(given, type):
        return issubclass(given, BaseException)
    if isinstance(given, (bytes, Mapping)):
        return False
    return isinstance(given, (ModelResponse, BaseException, Iterable)) or callable(given)


def _settle(answer: ProviderAnswer, request: ModelRequest) -> _Settled:
    settled = _call(answer, request)
    if not inspect.isawaitable(settled):
        return settled
    if inspect.iscoroutine(settled):
        settled.close()
    raise TypeError("this answer is an async callable; use acomplete or astream, or write a plain one")


async def _asettle(answer: ProviderAnswer, request: ModelRequest) -> _Settled:
    settled = _call(answer, request)
    return await settled if inspect.isawaitable(settled) else settled


def _call(answer: ProviderAnswer, request: ModelRequest) -> _Settled | Awaitable[_Settled]:
    # an exception class is callable too, and yet a value
    if isinstance(answer, type) or not callable(answer):
        return answer
    return answer(request)


def _whole(answer: _Settled) -> ModelResponse:
    if isinstance(answer, str):
        return ModelResponse(content=answer)
    if isinstance(answer, ModelResponse):
        return answer
    if isinstance(answer, (BaseException, type)):
        raise answer
    return _joined(answer)


def _joined(script: StreamScript) -> ModelResponse:
    """Add a stream's chunks up, as a provider without streaming would have answered."""
    text: list[str] = []
    tool_calls: list[ToolCall] = []
    for step in script:
        if isinstance(step, (str, TextChunk)):
            text.append(step if isinstance(step, str) else step.text)
        elif isinstance(step, ToolCallChunk):
            tool_calls.append(step.tool_call)
        elif isinstance(step, CompletedChunk):
            return step.response
        else:
            raise step
    return ModelResponse(content="".join(text), tool_calls=tuple(tool_calls))


def _script_of(answer: _Settled, split: Split) -> StreamScript:
    if isinstance(answer, str):
        answer = ModelResponse(content=answer)
    if isinstance(answer, ModelResponse):
        pieces = map(TextChunk, split(_text_of(answer)))
        return (*pieces, *map(ToolCallChunk, answer.tool_calls), CompletedChunk(answer))
    return (answer,) if isinstance(answer, (BaseException, type)) else answer


def _text_of(response: ModelResponse) -> str:
    if response.content_parts is None:
        return response.content
    return "".join(part.text for part in response.content_parts if isinstance(part, TextPart))
