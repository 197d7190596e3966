"""Streams of choices, as `/chat/completions` and `/completions` have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from tramapy.clients.alike import AlikeEvents
from tramapy.clients.codec import StreamDecoder, event_object, rest_text
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_choice_events import (
    HEAD,
    Choice,
    ChoiceEvent,
    ChoiceFormat,
    ChoiceLane,
    is_usual_head,
)
from tramapy.clients.refusals import raise_error_event
from tramapy.clients.stream_usage import without_usage
from tramapy.engine.native import Lane, NativeEnd, NativeEvent
from tramapy.errors import ProviderError, ProviderFailureCode, ResponseTooLargeError
from tramapy.messages import NO_USAGE, ModelResponse, TokenUsage
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, text_of
from tramapy.wire.sse import SseEvent, sse_frame
from tramapy.wire.token_counts import chat_usage

__all__ = ["ChoiceDecoder"]

_END_MARK: Final = b"[DONE]"
_NO_EVENT: Final = SseEvent(name="", data=b"")


class ChoiceDecoder(StreamDecoder):
    """Reads one stream of choices.

    A choice ends with its finish reason. Some servers give one with every event; so an event with a finish
    reason waits for the one behind it, and where that goes on with the choice, it is no end.

    Args:
        format_: The format.
        limit_bytes: How much the events may hold in all.
    """

    def __init__(self, format_: ChoiceFormat, limit_bytes: int) -> None:
        self.format = format_
        self.head: dict[str, object] = {}
        self._limit_bytes = limit_bytes
        self._read_bytes = 0
        self._choices: dict[int, Choice] = {}
        self._usage: TokenUsage = NO_USAGE
        self._held: ChoiceEvent | None = None
        self._alike = AlikeEvents()

    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        """Take an event; see `StreamDecoder`."""
        if self.is_ended:
            return ()
        self._count(event)
        if self._held is None:
            alike = self._alike.read(event)
            if alike is not None:
                return (alike,)
        if event.data.startswith(_END_MARK):
            self.is_ended: bool = True
            return (*self._let_go(), _ChoiceEnd(self, event, None))
        event, value = event_object(event)
        raise_error_event(event, value)
        if value.get("id"):
            self.head = value
        parts = _parts_of(value)
        if len(parts) == 1:
            whole = self._take(event, value)
            if not _has_logprobs(value):
                self._alike.learn(whole, event)
            return self._follow(whole)
        taken = [self._take(event, part) for part in parts]
        for part in taken:
            part.is_changed = True
        return [ready for part in taken for ready in self._follow(part)]

    def finish(self) -> NativeEnd:
        """Take the end of the body; see `StreamDecoder`."""
        choices = self._choices.values()
        if not choices or any(choice.finish_reason is None for choice in choices):
            raise ProviderError(
                "The provider's stream ended before the answer did.",
                retryable=True,
                failure_code=ProviderFailureCode.STREAM_CUT,
            )
        self.is_ended = True
        held, self._held = self._held, None
        return _ChoiceEnd(self, _NO_EVENT, held)

    def in_order(self) -> list[Choice]:
        """Return the choices by their index."""
        return [self._choices[index] for index in sorted(self._choices)]

    def responses(self, text_of_lane: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        """Return what the stream said; see `NativeEnd`."""
        model, response_id = text_of(self.head.get("model")), text_of(self.head.get("id"))
        said = [self.format.response(choice, text_of_lane) for choice in self.in_order()] or [ModelResponse()]
        return tuple(
            response.replace(
                usage=NO_USAGE if position else self._usage, model=model, response_id=response_id
            )
            for position, response in enumerate(said)
        )

    def _follow(self, event: ChoiceEvent) -> tuple[ChoiceEvent, ...]:
        """Return the event that waited and this one, unless it has to wait itself."""
        held = self._held
        if held is None and not event.ends:
            return (event,)
        if held is not None:
            lanes = [*(piece.lane for piece in event.pieces), event.opens]
            goes_on = {lane.choice for lane in lanes if isinstance(lane, ChoiceLane)}
            held.ends = [lane for lane in held.ends if cast("ChoiceLane", lane).choice not in goes_on]
        ready = self._let_go()
        if event.ends:
            self._held = event
            return ready
        return (*ready, event)

    def _let_go(self) -> tuple[ChoiceEvent, ...]:
        held, self._held = self._held, None
        return () if held is None else (held,)

    def _count(self, event: SseEvent) -> None:
        self._read_bytes += len(event.data)
        if self._read_bytes > self._limit_bytes:
            raise ResponseTooLargeError(
                f"The provider's stream has {self._read_bytes:_} bytes or more; the limit is "
                f"{self._limit_bytes:_}. Raise limit_bytes, or ask for less.",
                limit_bytes=self._limit_bytes,
                read_bytes=self._read_bytes,
            )

    def _take(self, event: SseEvent, value: dict[str, object]) -> ChoiceEvent:
        usage = value.get("usage")
        is_cut = False
        if self.hides_usage:
            event, is_cut = without_usage(event, value)
        taken = ChoiceEvent(event, value, self.format)
        taken.is_changed = is_cut
        is_opening = True
        natives = _natives(value.get("choices"))
        for native in natives:
            choice = self._choice_of(native)
            first = len(taken.pieces)
            self.format.take(taken, choice, native)
            if native.get("logprobs"):
                taken.add_logprobs(choice, native, "".join(piece.text for piece in taken.pieces[first:]))
            if native.get("finish_reason") is not None:
                is_opening = False
                choice.finish_reason = chat_finish_reason(native["finish_reason"])
                taken.ends.extend(choice.lanes)
        # some servers send running counts
        if mapping_of(usage):
            is_opening = False
            self._usage = chat_usage(usage)
        is_usual = is_usual_head(value) and all(map(self.format.is_usual, natives))
        rest = "" if is_usual else read_answer(lambda: rest_text(value, self.format.plan))
        if rest:
            taken.add_rest(rest)
        taken.is_opening = is_opening and not taken.pieces and taken.opens is None
        return taken

    def _choice_of(self, native: Mapping[str, object]) -> Choice:
        index = count_of(native.get("index", 0))
        if index is None:
            raise invalid_answer("has a choice with an unreadable index")
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(index)
        return choice


class _ChoiceEnd(ChoiceEvent, NativeEnd):
    """The end mark, or the last event of a stream that has none."""

    __slots__ = ("_decoder", "_last")

    def __init__(self, decoder: ChoiceDecoder, event: SseEvent, last: ChoiceEvent | None) -> None:
        super().__init__(event, decoder.head, decoder.format)
        self._decoder = decoder
        self._last = last
        if last is not None:
            self.pieces = last.pieces
            self.ends = last.ends
            self.opens = last.opens
            self.unscanned = last.unscanned

    def frame(self) -> bytes:
        if self._last is not None:
            return self._last.frame()
        return sse_frame("", _END_MARK) if self._event.data else b""

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        return self._decoder.responses(text_of)

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        texts: dict[Lane, str] = {}
        for choice, response in zip(self._decoder.in_order(), responses, strict=False):
            texts.update(self._decoder.format.lane_texts(choice, response))
        return texts


def _parts_of(value: dict[str, object]) -> list[dict[str, object]]:
    """Return an event as several, where calls of more than one choice may begin: each waits for its own end."""
    native = value.get("choices")
    if not isinstance(native, list) or len(cast("list[object]", native)) < 2:
        return [value]
    choices = _natives(value["choices"])
    with_calls = [choice for choice in choices if _may_open(mapping_of(choice.get("delta")))]
    if len(with_calls) < 2:
        return [value]
    head = {name: value[name] for name in HEAD if name in value}
    return [{**(head if position else value), "choices": [choice]} for position, choice in enumerate(choices)]


def _may_open(delta: Mapping[str, object]) -> bool:
    return bool(delta.get("tool_calls") or delta.get("function_call"))


def _has_logprobs(value: Mapping[str, object]) -> bool:
    """Tell whether there are probabilities, which go where a text is changed."""
    return any(native.get("logprobs") for native in _natives(value.get("choices")))


def _natives(choices: object) -> list[dict[str, object]]:
    if choices is None:
        return []
    if not isinstance(choices, list):
        raise invalid_answer("has choices that are no objects")
    natives = cast("list[dict[str, object]]", choices)
    for native in natives:
        if type(native) is not dict:  # pyright: ignore[reportUnnecessaryComparison]
            raise invalid_answer("has choices that are no objects")
    return natives
