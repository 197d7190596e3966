"""A little vendor format for the tests of the native steps, and a provider that speaks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.drivers import Rig
from tramapy import AsyncProvider, DlpContentLocation, Message, ModelRequest, ModelResponse, Provider
from tramapy.engine.dispatch import complete_native
from tramapy.engine.native import (
    Lane,
    NativeAnswer,
    NativeEnd,
    NativeEvent,
    NativePiece,
    NativeRequest,
    NativeSent,
    NativeText,
)
from tramapy.engine.operation import Operation
from tramapy.engine.stream import EngineStream
from tramapy.errors import InterceptorError
from tramapy.messages import ToolCall
from tramapy.runtime import run_sync

CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT
ARGUMENTS = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
REASONING = DlpContentLocation.MODEL_RESPONSE_REASONING


class Asked(NativeRequest):
    """A request of messages and a rest."""

    def __init__(
        self, *messages: Message, rest: str = "", unscanned: tuple[str, ...] = (), is_strict: bool = False
    ) -> None:
        self.messages = messages
        self._rest = rest
        self.unscanned = unscanned
        self.is_strict = is_strict

    @property
    def rest(self) -> str:
        return self._rest


class Told(NativeAnswer):
    """An answer of responses and other texts; `written` has what was written into it."""

    def __init__(
        self,
        *responses: ModelResponse,
        texts: Sequence[NativeText] = (),
        unscanned: tuple[str, ...] = (),
        is_strict: bool = False,
    ) -> None:
        self.responses = responses
        self.texts = tuple(texts)
        self.unscanned = unscanned
        self.is_strict = is_strict
        self.written: tuple[tuple[ModelResponse, ...], tuple[str, ...]] | None = None

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> Told:
        told = Told(*self.responses, texts=self.texts)
        told.written = tuple(responses), tuple(texts)
        return told


class Bit(NativePiece):
    """A piece of a lane."""

    def __init__(
        self,
        text: str,
        lane: Lane | None = "content",
        location: DlpContentLocation = CONTENT,
        *,
        tool_name: str | None = None,
        is_held: bool = False,
        is_repeat: bool = False,
        scope: str | None = None,
    ) -> None:
        self._scope = scope
        self.text = text
        self.location = location
        self.tool_name = tool_name
        self.lane = lane
        self.is_held = is_held
        self.is_repeat = is_repeat
        self.now = text

    @property
    def scope(self) -> str | None:
        return self._scope

    def write(self, text: str) -> None:
        self.now = text


class Said(NativeEvent):
    """An event; its frame shows its pieces as they are now."""

    def __init__(
        self,
        *pieces: Bit,
        name: str = "say",
        opens: Lane | None = None,
        ends: Sequence[Lane] = (),
        is_opening: bool = False,
        unscanned: Sequence[str] = (),
        is_strict: bool = False,
    ) -> None:
        self.bits = pieces
        self.pieces = list(pieces)
        self.name = name
        self.opens = opens
        self.ends = list(ends)
        self.is_opening = is_opening
        self.unscanned = unscanned
        self.is_strict = is_strict

    def frame(self) -> bytes:
        text = "|".join(bit.now for bit in self.bits)
        if self.bits and not text:
            return b""
        return f"{self.name}:{text};".encode()

    def tail(self, lane: Lane, text: str) -> bytes:
        return f"tail {lane}:{text};".encode()


class Ended(Said, NativeEnd):
    """The end: the lane `content` is the response's content, a lane `call` the arguments of its tool call."""

    def __init__(self, *pieces: Bit, lanes: Sequence[Lane] = ("content",), **fields: Any) -> None:
        super().__init__(*pieces, name="end", **fields)
        self.lanes = lanes

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        calls = [
            ToolCall(id="1", name="lookup", arguments_json=text_of(lane))
            for lane in self.lanes
            if lane == "call"
        ]
        return (ModelResponse(content=text_of("content"), tool_calls=tuple(calls)),)

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        (response,) = responses
        texts: dict[Lane, str] = {"content": response.content}
        if len(response.tool_calls) > 1:
            raise InterceptorError("no place for a further call")
        if response.tool_calls:
            texts["call"] = response.tool_calls[0].arguments_json
        return texts


class Natives(Provider, AsyncProvider):
    """Gives one answer, or the steps of one stream, a call; an exception is raised, a callable is run."""

    def __init__(self, *calls: Any) -> None:
        self._calls = iter(calls)
        self.sent: list[NativeSent] = []
        self.requests: list[ModelRequest] = []
        self.open_count = 0

    def _next(self, request: ModelRequest) -> Any:
        sent = request.native
        assert isinstance(sent, NativeSent)
        self.sent.append(sent)
        self.requests.append(request)
        return next(self._calls)

    def complete(self, request: ModelRequest) -> Any:
        return _given(self._next(request))

    async def acomplete(self, request: ModelRequest) -> Any:
        return _given(self._next(request))

    def stream(self, request: ModelRequest) -> Iterator[Any]:
        return self._run(self._next(request))

    def astream(self, request: ModelRequest) -> AsyncIterator[Any]:
        return self._arun(self._next(request))

    def _run(self, steps: Sequence[Any]) -> Iterator[Any]:
        self.open_count += 1
        try:
            yield from map(_given, steps)
        finally:
            self.open_count -= 1

    async def _arun(self, steps: Sequence[Any]) -> AsyncIterator[Any]:
        self.open_count += 1
        try:
            for step in steps:
                yield _given(step)
        finally:
            self.open_count -= 1


def answered(rig: Rig, request: NativeRequest, **options: Any) -> NativeAnswer:
    """Run one call to its end."""
    operation = Operation(rig.tramapy._pipeline, (), is_stream=False, model="m", native=request, **options)
    if not rig.driver.is_async:
        return run_sync(complete_native(operation))
    return rig.driver.run(lambda: complete_native(operation))


def streamed(
    rig: Rig, request: NativeRequest, *, into: list[str] | None = None, take: int | None = None
) -> str:
    """Run one stream to its end, or until `take` frames have come; `into` keeps what came before an error."""
    frames: list[str] = [] if into is None else into

    async def main() -> None:
        operation = Operation(rig.tramapy._pipeline, (), is_stream=True, model="m", native=request)
        stream = EngineStream(operation)
        try:
            while len(frames) != take and (frame := await stream.next_chunk()) is not None:
                frames.append(frame.decode())
        finally:
            await stream.close("closed")

    if rig.driver.is_async:
        rig.driver.run(main)
    else:
        run_sync(main())
    return "".join(frames)


def _given(step: Any) -> Any:
    if isinstance(step, BaseException):
        raise step
    return step
