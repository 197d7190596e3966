"""One attempt of a stream: which way its pieces go, and its end."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.engine.answer import inspect_response, inspect_tool_call
from tramapy.engine.attempt import conclude, prepare
from tramapy.engine.limits import check_deadline, expired
from tramapy.engine.native import NativeEnd
from tramapy.engine.operation import Attempt
from tramapy.engine.plain_values import plain_call, plain_response
from tramapy.engine.port import ChunkSource, Signal
from tramapy.engine.provider_failure import failed_call
from tramapy.engine.restoring import restore_call, restore_response
from tramapy.engine.stream_dlp import InspectedText
from tramapy.errors import ProviderError, ProviderFailureCode, ProviderTimeoutError
from tramapy.hooks.diagnostics import add_note_once, report_secondary_failure
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
from tramapy.values import class_label, exact_text

if TYPE_CHECKING:
    from tramapy.dlp.vault import RestoringText

__all__ = ["StreamAttempt", "Way"]

T = TypeVar("T")

_CLOSE_BUDGET_S = 1.0


class Way(enum.Enum):
    """How pieces reach the consumer."""

    PASS = enum.auto()
    """No DLP and no rewriting hook: as they come."""

    INSPECT = enum.auto()
    """Through an incremental inspection."""

    BUFFER = enum.auto()
    """Not before the response is whole: DLP cannot inspect pieces, or a response interceptor may rewrite."""


class StreamAttempt:
    """One try at a stream: `open` it, `step` until the response comes, `close` it whatever happens."""

    __slots__ = (
        *("_attempt", "_calls", "_first_by_s", "_first_limit_s", "_pieces", "_restoring"),
        *("_source", "_text", "_way"),
    )

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._source: ChunkSource = None
        self._text: InspectedText | None = None
        self._way = Way.PASS
        self._pieces: list[str] = []
        self._calls: dict[ToolCall, ToolCall] = {}
        vault = attempt.operation.vault
        self._restoring: RestoringText | None = None if vault is None else vault.open_stream()
        # how long opening and the first piece may take together, and when that is over
        self._first_limit_s: float | None = None
        self._first_by_s = 0.0

    async def open(self) -> None:
        """Do step 1 of the attempt and open the provider's stream.

        Raises:
            TramapyError: A hook, DLP or the provider failed.
        """
        attempt = self._attempt
        request = await prepare(attempt)
        self._way = self._choose_way()
        self._first_limit_s = limit = request.timeout_s
        if limit is not None:
            self._first_by_s = attempt.pipeline.port.now_s() + limit
        try:
            await self._within_scope(lambda: self._open_source(request))
        except Exception as error:
            failure = error
        else:
            return
        raise await failed_call(attempt, failure) from None

    async def step(self, ready: deque[Any]) -> ModelResponse | None:
        """Take one piece from the provider; append what may be released to `ready`.

        Returns:
            The response, once it is whole and concluded; its last pieces are then in `ready`.
        """
        chunk = await self._pull()
        if isinstance(chunk, TextChunk):
            await self._take_text(chunk, ready)
        elif isinstance(chunk, ToolCallChunk):
            await self._take_tool_call(chunk, ready)
        elif isinstance(chunk, CompletedChunk):
            return await self._complete(chunk.response, ready)
        else:
            raise self._unusable(chunk)
        return None

    async def close(self, primary: BaseException | None) -> None:
        """Close the provider's stream, shielded and within a budget; drop what DLP holds back.

        Args:
            primary: The error in flight; a failure to close becomes a note on it, by type alone.
        """
        self._abort()
        source, self._source = self._source, None
        if source is None:
            return
        try:
            is_closed = await self._attempt.pipeline.port.close_source(source, _CLOSE_BUDGET_S)
        except Exception as error:
            rethrow_if_cancellation(error)
            failure = error
        else:
            if is_closed:
                return
            failure = TimeoutError()
        report_secondary_failure("provider_stream", "close", failure)
        if primary is not None:
            add_note_once(primary, f"Closing the provider's stream raised {class_label(failure)}.")

    def abandon(self) -> None:
        """Drop everything without waiting. An async source is left to the event loop's own finalizer."""
        self._abort()
        source, self._source = self._source, None
        close = getattr(source, "close", None)
        if callable(close) and not self._attempt.pipeline.port.can_await:
            try:
                close()
            except Exception as error:
                failure = error
            else:
                return
            report_secondary_failure("provider_stream", "close", failure)

    def _abort(self) -> None:
        """Drop what DLP holds back."""
        if self._text is not None:
            self._text.abort()

    def _choose_way(self) -> Way:
        pipeline = self._attempt.pipeline
        if pipeline.hooks.may_rewrite_responses:
            return Way.BUFFER
        if pipeline.dlp is None:
            return Way.PASS
        if pipeline.stream_dlp == "auto":
            self._text = InspectedText.open(self._attempt, pipeline.dlp)
        return Way.BUFFER if self._text is None else Way.INSPECT

    async def _open_source(self, request: ModelRequest) -> None:
        """Keep the provider's stream at once: what leaving a scope raises must not lose it."""
        source: object = self._attempt.route.provider.open_stream(request)
        if hasattr(source, "__await__"):
            source = await self._awaited(cast("Awaitable[object]", source), request)
        if hasattr(source, "__anext__") or hasattr(source, "__next__"):
            self._source = source
            return
        aiter_ = getattr(source, "__aiter__", None) or getattr(source, "__iter__", None)
        if aiter_ is None:
            raise self._unusable(source)
        self._source = aiter_()

    async def _awaited(self, pending: Awaitable[object], request: ModelRequest) -> object:
        """Await a source that comes late, within the limit of the first piece."""
        port = self._attempt.pipeline.port
        if not port.can_await:
            return await port.resolve(pending)
        source = await port.call(lambda _: pending, request, self._first_limit_s)
        if source is Signal.EXPIRED:
            raise expired(self._attempt, self._first_limit_s)
        return source

    async def _pull(self) -> object:
        """Return the provider's next piece, within the limits that hold for it."""
        attempt, first_limit_s = self._attempt, self._first_limit_s
        operation, pipeline = attempt.operation, attempt.pipeline
        port, timeout_s = pipeline.port, operation.timeout_s
        if operation.deadline_at_s is not None:
            check_deadline(operation)
        is_first = attempt.first_chunk_s is None
        asked_s = 0.0 if timeout_s is None and first_limit_s is None else port.now_s()
        # Later pieces get no scope of their own: it would cost more than everything else done for them.
        limit = max(self._first_by_s - asked_s, 0.0) if is_first and first_limit_s is not None else None
        try:
            if pipeline.observers.has_scopes:
                source = self._source
                chunk = await self._within_scope(lambda: port.next_chunk(source, limit))
            else:
                chunk = await port.next_chunk(self._source, limit)
        except Exception as error:
            failure = error
        else:
            if type(chunk) is Signal:
                raise self._cut() if chunk is Signal.ENDED else expired(attempt, first_limit_s)
            if is_first:
                attempt.first_chunk_s = port.now_s()
            elif timeout_s is not None and port.now_s() - asked_s > timeout_s:
                raise ProviderTimeoutError(
                    f"Provider {attempt.route.provider.provider_id!r} let a piece of its stream wait longer than "
                    f"timeout_s={timeout_s}"
                )
            if pipeline.observers.hears_chunks and not isinstance(chunk, (CompletedChunk, NativeEnd)):
                attempt.report_chunk(port.now_s())
            return chunk
        raise await failed_call(attempt, failure) from None

    async def _within_scope(self, step: Callable[[], Awaitable[T]]) -> T:
        """Make one provider step inside the observers' scopes; they are left before anyone else runs."""
        observers, event = self._attempt.pipeline.observers, self._attempt.started_event
        if event is None or not observers.has_scopes:
            return await step()
        return await observers.within_scope(event, step)

    async def _take_text(self, chunk: TextChunk, ready: deque[Any]) -> None:
        text = chunk.text
        if not isinstance(text, str):
            raise self._unusable(text)
        text = exact_text(text)
        if not text:
            return  # says nothing, and must not stand in the way of a retry
        if self._way is Way.INSPECT and self._text is not None:
            text = await self._text.feed(text)
        else:
            self._pieces.append(text)
            if self._way is Way.BUFFER:
                return
            if self._restoring is None:
                ready.append(chunk)
                return
        if self._restoring is not None:
            text = self._restoring.feed(text)
        if text:
            ready.append(TextChunk(text))

    async def _take_tool_call(self, chunk: ToolCallChunk, ready: deque[Any]) -> None:
        call, dlp = chunk.tool_call, self._attempt.pipeline.dlp
        if not isinstance(call, ToolCall):
            raise self._unusable(call)
        if dlp is not None:
            call = plain_call(call)
        self._calls[call] = call
        if self._way is Way.BUFFER:
            return
        if dlp is not None:
            self._calls[call] = call = await inspect_tool_call(self._attempt, dlp, call)
        ready.append(ToolCallChunk(restore_call(self._attempt, call)))

    async def _complete(self, response: ModelResponse, ready: deque[Any]) -> ModelResponse:
        """Do steps 3 to 6 on the whole response, and queue what is left to release."""
        attempt = self._attempt
        if not isinstance(response, ModelResponse):
            raise self._unusable(response)
        if attempt.pipeline.dlp is not None:
            response = plain_response(response)
        if not response.tool_calls and self._calls:
            response = response.replace(tool_calls=tuple(self._calls))
        tail = ""
        if self._way is Way.INSPECT and self._text is not None:
            tail = await self._text.finish()
            inspected = await self._inspect_rest(self._text, response)
        else:
            inspected = await inspect_response(attempt, _with_content(response, "".join(self._pieces)))
        concluded = await conclude(attempt, inspected)
        if self._restoring is not None:
            concluded = await restore_response(attempt, concluded)
            tail = self._restoring.feed(tail) + self._restoring.finish()
        if tail:
            ready.append(TextChunk(tail))
        if self._way is Way.BUFFER:
            ready.extend(_as_chunks(concluded))
        ready.append(CompletedChunk(concluded))
        return concluded

    async def _inspect_rest(self, text: InspectedText, response: ModelResponse) -> ModelResponse:
        """Inspect of the response what did not pass through the incremental inspection, which has ended."""
        response = _with_content(response, text.raw)
        if response.content != text.raw or response.content_parts is not None:
            return await inspect_response(self._attempt, response)
        calls = tuple(self._calls.get(call, call) for call in response.tool_calls)
        seen = ModelResponse(content=text.sanitized, tool_calls=tuple(self._calls.values()))
        sanitized = response.replace(content=text.sanitized, tool_calls=calls)
        return await inspect_response(self._attempt, sanitized, inspected=seen)

    def _cut(self) -> ProviderError:
        return ProviderError(
            f"The stream of provider {self._attempt.route.provider.provider_id!r} ended without a "
            f"CompletedChunk",
            failure_code=ProviderFailureCode.STREAM_CUT,
            counts_on_breaker=True,
        )

    def _unusable(self, value: object) -> ProviderError:
        return ProviderError(
            f"The stream of provider {self._attempt.route.provider.provider_id!r} gave a "
            f"{type(value).__name__}; it gives TextChunk(str), ToolCallChunk(ToolCall) and "
            f"CompletedChunk(ModelResponse)",
            failure_code=ProviderFailureCode.INVALID_RESPONSE,
        )


def _with_content(response: ModelResponse, text: str) -> ModelResponse:
    """Complete a response that leaves the text to the pieces before it."""
    if text and not response.content and response.content_parts is None:
        return response.replace(content=text)
    return response


def _as_chunks(response: ModelResponse) -> list[Chunk]:
    """Return a whole response as the pieces of a stream."""
    texts = [response.content] if response.content else []
    texts.extend(part.text for part in response.content_parts or () if isinstance(part, TextPart))
    return [*map(TextChunk, texts), *map(ToolCallChunk, response.tool_calls)]
