"""`EmbeddingsCodec` and `CompletionsCodec`: the wire formats of `/embeddings` and the legacy `/completions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from tramapy.clients.codec import StreamDecoder, WireAnswer, WireRequest, merged_text, rest_text
from tramapy.clients.logprobs import spoken
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_chat_answer import ANSWER_HEAD, CHOICE_HEAD, choices_of, object_of
from tramapy.clients.openai_choice_events import (
    Choice,
    ChoiceEvent,
    ChoiceFormat,
    ChoiceLane,
    is_usual_choice,
)
from tramapy.clients.openai_choices import ChoiceDecoder
from tramapy.clients.plans import each, numbers, opaque, shown, word
from tramapy.clients.refusals import raise_rejection
from tramapy.clients.rewriting import with_value_at
from tramapy.clients.text_slots import (
    SlotRequest,
    TextlessAnswer,
    has_tokens,
    input_paths,
    input_plan,
    no_stream,
    only_text_of,
)
from tramapy.engine.native import Lane, NativeText
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import NO_USAGE, FinishReason, ModelResponse
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import invalid_answer, text_of
from tramapy.wire.rest import SKIP, Plan
from tramapy.wire.token_counts import chat_usage

__all__ = ["CompletionsCodec", "EmbeddingsCodec"]

_TOKENS: Final = "token_input"


class EmbeddingsCodec:
    """Embeddings: each input is a message, and the answer has no text."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request; see `Codec`."""
        unscanned = (_TOKENS,) if has_tokens(body.get("input")) else ()
        return SlotRequest(body, _EMBEDDINGS_REQUEST, input_paths(body, "input"), unscanned)

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer; see `Codec`."""
        fields = object_of(body)
        raise_rejection(fields)
        return TextlessAnswer(fields, _EMBEDDINGS, chat_usage(fields.get("usage")))

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Refuse: there are none.

        Raises:
            ConfigurationError: Always.
        """
        raise no_stream()


class CompletionsCodec:
    """Legacy completions: each prompt is a message, and each choice is a text."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request; see `Codec`."""
        unscanned = (_TOKENS,) if has_tokens(body.get("prompt")) else ()
        return SlotRequest(body, _COMPLETIONS_REQUEST, input_paths(body, "prompt"), unscanned)

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer; see `Codec`."""
        return _CompletionsAnswer(body)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Start to read a stream; see `Codec`."""
        return ChoiceDecoder(_COMPLETIONS_STREAM, limit_bytes)


class _CompletionsAnswer(WireAnswer):
    def __init__(self, body: object) -> None:
        self._body = object_of(body)
        raise_rejection(self._body)
        self._choices = choices_of(self._body)
        usage = chat_usage(self._body.get("usage"))
        self.responses = tuple(
            ModelResponse(
                content=_text_in(choice),
                usage=NO_USAGE if position else usage,
                model=text_of(self._body.get("model")),
                finish_reason=chat_finish_reason(choice.get("finish_reason")),
                response_id=text_of(self._body.get("id")),
            )
            for position, choice in enumerate(self._choices)
        )
        said = [spoken(choice.get("logprobs"), _text_in(choice)) for choice in self._choices]
        self._probable = [position for position, text in enumerate(said) if text]
        self._rest = read_answer(lambda: rest_text(self._body, _COMPLETIONS))
        texts = [*filter(None, said), *([self._rest] if self._rest else [])]
        self.texts = tuple(NativeText(text, DlpContentLocation.MODEL_RESPONSE_CONTENT) for text in texts)

    @property
    def body(self) -> object:
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> WireAnswer:
        body: object = self._body
        has_other_rest = bool(self._rest) and texts[-1] != self._rest
        if has_other_rest:
            body = read_answer(lambda: merged_text(self._body, _COMPLETIONS, texts[-1]))
        other = {
            position
            for position, before, text in zip(self._probable, self.texts, texts, strict=False)
            if before.text != text
        }
        for position, (before, response) in enumerate(zip(self.responses, responses, strict=True)):
            text = only_text_of(response)
            is_changed = text != before.content
            if is_changed:
                body = with_value_at(body, ("choices", position, "text"), text)
            if (is_changed or has_other_rest or position in other) and self._choices[position].get(
                "logprobs"
            ):
                # they say the text again
                body = with_value_at(body, ("choices", position, "logprobs"), None)
        return self if body is self._body else _CompletionsAnswer(body)


def _text_in(choice: Mapping[str, object]) -> str:
    text = choice.get("text")
    if text is not None and not isinstance(text, str):
        raise invalid_answer("has a choice that is no text")
    return text or ""


class _CompletionsFormat(ChoiceFormat):
    def __init__(self) -> None:
        self.plan = _COMPLETIONS

    def is_usual(self, native: Mapping[str, object]) -> bool:
        return is_usual_choice(native, "text")

    def take(self, event: ChoiceEvent, choice: Choice, native: dict[str, object]) -> None:
        text = _text_in(native)
        if text:
            location = DlpContentLocation.MODEL_RESPONSE_CONTENT
            event.add(choice.lane("text"), native, native, "text", text, location)

    def tail(self, lane: ChoiceLane, text: str) -> dict[str, object]:
        return {"index": lane.choice, "text": text, "logprobs": None, "finish_reason": None}

    def response(self, choice: Choice, text_of_lane: Callable[[Lane], str]) -> ModelResponse:
        return ModelResponse(
            content=text_of_lane(ChoiceLane("text", choice.index)),
            finish_reason=choice.finish_reason or FinishReason.OTHER,
        )

    def lane_texts(self, choice: Choice, response: ModelResponse) -> Mapping[Lane, str]:
        return {ChoiceLane("text", choice.index): only_text_of(response)}


_USAGE_HEAD: Final[Mapping[str, Plan]] = {
    "object": opaque,
    "model": opaque,
    "id": opaque,
    "created": opaque,
    "usage": numbers,
}


_NUMBERS: Final = frozenset((float, int))


def _vector(value: object) -> Plan:
    # numbers, as they are or in base64; thousands of them are not walked
    if not isinstance(value, list):
        return opaque
    return SKIP if _NUMBERS.issuperset(map(type, cast("list[object]", value))) else None


_EMBEDDINGS_REQUEST: Final[Plan] = {
    "model": shown,
    "input": input_plan,
    "encoding_format": word,
    "dimensions": numbers,
    "input_type": word,
}
_EMBEDDINGS: Final[Plan] = {
    **_USAGE_HEAD,
    "data": each({"object": opaque, "index": opaque, "embedding": _vector}),
}
_COMPLETIONS_REQUEST: Final[Plan] = {
    "model": shown,
    "prompt": input_plan,
    "max_tokens": numbers,
    "seed": numbers,
    "stream_options": numbers,
}
_COMPLETIONS: Final[Plan] = {**ANSWER_HEAD, "choices": each({**CHOICE_HEAD, "text": shown})}
_COMPLETIONS_STREAM: Final = _CompletionsFormat()
