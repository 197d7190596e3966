"""Providers, DLP and ways to leave that the tests of streams and cancellation share."""

from __future__ import annotations

import inspect as _inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from tramapy import (
    AsyncProvider,
    Chunk,
    CompletedChunk,
    DlpContext,
    DlpRedaction,
    DlpResult,
    EngineEventObserver,
    ModelRequest,
    ModelResponse,
    Provider,
    RuntimeEvent,
    StreamingDlpInterceptor,
    TextChunk,
)

Step: TypeAlias = Any
"""A string or chunk to give, an exception to raise, or a callable to run (and await) before the next step."""

DONE = CompletedChunk(ModelResponse())


class Steps(Provider, AsyncProvider):
    """A provider whose stream is a real generator, sync or async: one list of steps for each call.

    `open_count` has how many of its generators are started and not ended, `requests` what came.
    """

    def __init__(self, *calls: list[Step]) -> None:
        self._calls = iter(calls)
        self.requests: list[ModelRequest] = []
        self.open_count = 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise TypeError("this provider only streams")

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        raise TypeError("this provider only streams")

    def stream(self, request: ModelRequest) -> Iterator[Chunk]:
        self.requests.append(request)
        return self._run(next(self._calls))

    def astream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        return self._arun(next(self._calls))

    def _run(self, steps: list[Step]) -> Iterator[Chunk]:
        self.open_count += 1
        try:
            for step in steps:
                if callable(step):
                    step()
                else:
                    yield _given(step)
        finally:
            self.open_count -= 1

    async def _arun(self, steps: list[Step]) -> AsyncIterator[Chunk]:
        self.open_count += 1
        try:
            for step in steps:
                if callable(step):
                    result = step()
                    if _inspect.isawaitable(result):
                        await result
                else:
                    yield _given(step)
        finally:
            self.open_count -= 1


def _given(step: Step) -> Any:
    if isinstance(step, BaseException):
        raise step
    return TextChunk(step) if isinstance(step, str) else step


class Source:
    """A provider's stream that is no generator; it may be read and closed on either kind of facade."""

    def __init__(self, *steps: Step, on_close: Callable[[], Any] = lambda: None) -> None:
        self._steps = iter(steps)
        self._on_close = on_close
        self.close_count = 0

    def __iter__(self) -> Source:
        return self

    def __aiter__(self) -> Source:
        return self

    def __next__(self) -> Any:
        return _given(next(self._steps))

    async def __anext__(self) -> Any:
        for step in self._steps:
            if not callable(step):
                return _given(step)
            result = step()
            if _inspect.isawaitable(result):
                await result
        raise StopAsyncIteration

    def close(self) -> None:
        self.close_count += 1
        self._on_close()

    async def aclose(self) -> None:
        self.close_count += 1
        result = self._on_close()
        if _inspect.isawaitable(result):
            await result


class Opens(Provider, AsyncProvider):
    """A provider whose streams are what a function returns, whatever that is."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise TypeError("this provider only streams")

    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        raise TypeError("this provider only streams")

    def stream(self, request: ModelRequest) -> Any:
        return self._make()

    def astream(self, request: ModelRequest) -> Any:
        return self._make()


class HoldBack(StreamingDlpInterceptor):
    """Replaces words as they arrive and holds back only what may still become one.

    No word may begin another. `open_count` has the streams that were neither finished nor aborted.
    """

    def __init__(self, replacements: Mapping[str, str] | None = None) -> None:
        self.replacements = {"secret": "[S]"} if replacements is None else dict(replacements)
        self.inspected: list[tuple[DlpContext, str]] = []
        self.open_count = 0
        self.aborted_count = 0
        self._lock = threading.Lock()

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.inspected.append((context, text))
        stream = HoldBackStream(self)
        return DlpResult(stream.feed(text) + stream.finish(), stream.redactions)

    def open_stream(self, context: DlpContext) -> HoldBackStream | None:
        with self._lock:
            self.open_count += 1
        return HoldBackStream(self, on_end=self._ended)

    def _ended(self, *, is_aborted: bool) -> None:
        with self._lock:
            self.open_count -= 1
            self.aborted_count += is_aborted


class HoldBackStream:
    """The incremental side of `HoldBack`."""

    def __init__(self, owner: HoldBack, on_end: Callable[..., None] = lambda **_: None) -> None:
        self._replacements = owner.replacements
        self._on_end = on_end
        self._is_open = True
        self._held = ""
        self._counts: dict[str, int] = {}

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        return tuple(DlpRedaction(rule_id, count) for rule_id, count in self._counts.items())

    def feed(self, text: str) -> str:
        self._held += text
        return self._take(is_last=False)

    def finish(self) -> str:
        released = self._take(is_last=True)
        self._end(is_aborted=False)
        return released

    def abort(self) -> None:
        self._held = ""
        self._end(is_aborted=True)

    def _end(self, *, is_aborted: bool) -> None:
        if self._is_open:
            self._is_open = False
            self._on_end(is_aborted=is_aborted)

    def _take(self, *, is_last: bool) -> str:
        held, released, at = self._held, [], 0
        while at < len(held):
            word = next((word for word in self._replacements if held.startswith(word, at)), None)
            if word is not None:
                released.append(self._replacements[word])
                rule_id = f"word-{list(self._replacements).index(word)}"
                self._counts[rule_id] = self._counts.get(rule_id, 0) + 1
                at += len(word)
            elif not is_last and any(word.startswith(held[at:]) for word in self._replacements):
                break
            else:
                released.append(held[at])
                at += 1
        self._held = held[at:]
        return "".join(released)


class ScopeLog(EngineEventObserver):
    """Gives a scope around provider calls; `depth` has how many are open, `entered_count` how many were."""

    def __init__(self) -> None:
        self.depth = 0
        self.entered_count = 0

    def provider_call_scope(self, event: RuntimeEvent) -> ScopeLog:
        return self

    def __enter__(self) -> None:
        self.depth += 1
        self.entered_count += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def terminal_events(names: list[str]) -> list[str]:
    """Return the events that end an attempt, of names without their `tramai.`."""
    return [name for name in names if name in {"attempt.completed", "attempt.failed", "attempt.cancelled"}]
