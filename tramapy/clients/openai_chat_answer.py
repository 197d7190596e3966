"""The answer of `/chat/completions`: each choice as a response, all other text beside, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from tramapy.clients.codec import WireAnswer, merged_text, rest_text
from tramapy.clients.logprobs import LOGPROBS, spoken
from tramapy.clients.message_drafts import text_response
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_calls import FUNCTION_CALL, answer_calls_plan, read_calls, written_calls
from tramapy.clients.openai_chat_usual import usual_answer
from tramapy.clients.openai_choice_events import is_usual_choice, is_usual_head
from tramapy.clients.openai_content import (
    content_plan,
    has_other_content,
    image_list_plan,
    read_content,
    written_content,
)
from tramapy.clients.plans import by_name, each, numbers, opaque, shown, word
from tramapy.clients.refusals import raise_rejection
from tramapy.clients.rewriting import no_place, with_value_at
from tramapy.clients.usual_answer import UsualAnswer
from tramapy.engine.native import NativeText
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import NO_USAGE, FinishReason, ModelResponse
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import invalid_answer, mapping_of, text_of
from tramapy.wire.rest import Plan
from tramapy.wire.token_counts import chat_usage

__all__ = [
    "ANSWER_HEAD",
    "CHOICE_HEAD",
    "REASONING_NAMES",
    "ChatAnswer",
    "choices_of",
    "object_of",
    "reasoning_name",
]

REASONING_NAMES: Final = ("reasoning_content", "reasoning")

_FINISH_WORDS: Final = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALLS: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
}


# a message with no more than these has no text but what its response shows
_USUAL: Final = frozenset(("role", "content", "refusal"))
# and usually has no more than these, and nothing in them
_EMPTY: Final = frozenset(("annotations", "audio", "function_call", "tool_calls"))


_CONTENT_TYPES: Final = frozenset((str, list, type(None)))
_REFUSAL_TYPES: Final = frozenset((str, type(None)))


class _Place(NamedTuple):
    """Where a text beside the responses stands."""

    choice: int
    path: tuple[str | int, ...]


class ChatAnswer(WireAnswer):
    """An answer of `/chat/completions`.

    Raises:
        NativeRejectionError: It is an error.
        ProviderError: It cannot be understood.
    """

    texts: tuple[NativeText, ...]

    responses: tuple[ModelResponse, ...]

    unscanned: tuple[str, ...] = ()

    # of an answer that is not the usual one
    _places: Sequence[_Place] = ()
    _probable: Sequence[int] = ()
    _rest: str = ""

    def __init__(self, body: object) -> None:
        self._body = object_of(body)
        self.usual: UsualAnswer | None = usual_answer(self._body)
        usual = self.usual
        if usual is not None:
            self.responses, self.texts = (usual.response,), ()
            return
        raise_rejection(self._body)
        self.responses, self.texts = read_answer(lambda: self._read(choices_of(self._body)))

    @property
    def body(self) -> object:
        """The JSON value as it goes to the client."""
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> ChatAnswer:
        """Return the answer with these in the place of its own; see `NativeAnswer`.

        A response's usage, model and id stay as the provider gave them.
        """
        before_texts = [text.text for text in self.texts]
        if before_texts == list(texts) and all(map(_is_same, self.responses, responses)):
            return self
        choices = choices_of(self._body)
        body: object = self._body
        if self._rest and texts[-1] != self._rest:
            body = read_answer(lambda: merged_text(self._body, _ANSWER, texts[-1]))
        # of any choice, where the rest changed
        changed = set(range(len(choices))) if body is not self._body else set[int]()
        for place, before, text in zip(self._places, before_texts, texts, strict=False):
            if text != before:
                body = with_value_at(body, ("choices", place.choice, "message", *place.path), text)
                changed.add(place.choice)
        probable = slice(len(self._places), len(self._places) + len(self._probable))
        for position, before, text in zip(
            self._probable, before_texts[probable], texts[probable], strict=True
        ):
            if text != before:
                changed.add(position)
        for position, (before_response, response) in enumerate(zip(self.responses, responses, strict=True)):
            if not _is_same(before_response, response):
                choice = choices_of(mapping_of(body))[position]
                body = with_value_at(
                    body, ("choices", position), _written_choice(choice, before_response, response)
                )
                changed.add(position)
        for position in changed:
            # they say the text again
            if choices[position].get("logprobs"):
                body = with_value_at(body, ("choices", position, "logprobs"), None)
        return ChatAnswer(body)

    def _read(
        self, choices: Sequence[Mapping[str, object]]
    ) -> tuple[tuple[ModelResponse, ...], tuple[NativeText, ...]]:
        usage = chat_usage(self._body.get("usage"))
        model, response_id = text_of(self._body.get("model")), text_of(self._body.get("id"))
        responses: list[ModelResponse] = []
        texts: list[NativeText] = []
        places: list[_Place] = []
        is_usual = is_usual_head(self._body)
        for position, choice in enumerate(choices):
            message = choice.get("message")
            if not isinstance(message, dict):
                raise invalid_answer("has no message")
            message = cast("dict[str, object]", message)
            _check(message)
            content = read_content(message.get("content"))
            reasoning = reasoning_name(message)
            response = text_response(
                content.content,
                refusal=text_of(message.get("refusal")),
                reasoning=None if reasoning is None else text_of(message[reasoning]),
                usage=NO_USAGE if responses else usage,
                model=model,
                finish_reason=chat_finish_reason(choice.get("finish_reason")),
                response_id=response_id,
            )
            if content.parts is not None or message.get("tool_calls"):
                calls = read_calls(message.get("tool_calls")).calls
                response = response.replace(content_parts=content.parts, tool_calls=calls)
            responses.append(response)
            if _has_more(message):
                places.extend(self._read_texts(position, message, reasoning, texts))
                is_usual = False
            elif is_usual:
                is_usual = _is_usual(choice, message)
        if not is_usual:
            self._probable = _add_logprobs(choices, responses, texts)
        self._places = places
        self._rest = "" if is_usual else rest_text(self._body, _ANSWER)
        if self._rest:
            texts.append(NativeText(self._rest, DlpContentLocation.MODEL_RESPONSE_CONTENT))
        return tuple(responses), tuple(texts)

    def _read_texts(
        self, position: int, message: Mapping[str, object], reasoning: str | None, texts: list[NativeText]
    ) -> list[_Place]:
        places: list[_Place] = []

        def add(
            text: object, path: tuple[str | int, ...], location: DlpContentLocation, tool: object = None
        ) -> None:
            if isinstance(text, str) and text:
                places.append(_Place(position, path))
                texts.append(NativeText(text, location, text_of(tool)))

        for name in REASONING_NAMES:
            if name != reasoning:
                add(message.get(name), (name,), DlpContentLocation.MODEL_RESPONSE_REASONING)
        arguments = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
        calls = message.get("tool_calls")
        for index, call in enumerate(cast("list[object]", calls) if isinstance(calls, list) else ()):
            custom = mapping_of(mapping_of(call).get("custom"))
            self._add_name(custom.get("name"))
            add(custom.get("input"), ("tool_calls", index, "custom", "input"), arguments, custom.get("name"))
        call = mapping_of(message.get("function_call"))
        self._add_name(call.get("name"))
        add(call.get("arguments"), ("function_call", "arguments"), arguments, call.get("name"))
        audio = mapping_of(message.get("audio"))
        add(audio.get("transcript"), ("audio", "transcript"), DlpContentLocation.MODEL_RESPONSE_CONTENT)
        if audio.get("data"):
            self.unscanned = ("audio",)
        return places

    def _add_name(self, name: object) -> None:
        if isinstance(name, str):
            self.names: tuple[str, ...] = (*self.names, name)


def _add_logprobs(
    choices: Sequence[Mapping[str, object]], responses: Sequence[ModelResponse], texts: list[NativeText]
) -> list[int]:
    """Add what the log probabilities say, and return of which choices they say something."""
    probable: list[int] = []
    for position, (choice, response) in enumerate(zip(choices, responses, strict=True)):
        said = spoken(choice.get("logprobs"), response.content + (response.refusal or ""))
        if said:
            probable.append(position)
            texts.append(NativeText(said, DlpContentLocation.MODEL_RESPONSE_CONTENT))
    return probable


def object_of(body: object) -> Mapping[str, object]:
    """Return an answer that is an object.

    Raises:
        ProviderError: It is none.
    """
    if not isinstance(body, dict):
        raise invalid_answer("is no JSON object")
    return cast("dict[str, object]", body)


def choices_of(body: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the choices of an answer.

    Raises:
        ProviderError: There are none, or one is no object.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise invalid_answer("has no choices")
    if not all(isinstance(choice, dict) for choice in cast("list[object]", choices)):
        raise invalid_answer("has a choice that is no object")
    return cast("list[Mapping[str, object]]", choices)


def reasoning_name(message: Mapping[str, object]) -> str | None:
    """Return the name under which a message has its reasoning; compatible servers know two."""
    for name in REASONING_NAMES:
        if isinstance(message.get(name), str):
            return name
    return None


def _check(message: Mapping[str, object]) -> None:
    """Refuse a message whose text or calls are of a wrong type: without them it would look like another answer."""
    if type(message.get("content")) not in _CONTENT_TYPES:
        raise invalid_answer("has content that is no text")
    if type(message.get("refusal")) not in _REFUSAL_TYPES:
        raise invalid_answer("has a refusal that is no text")
    calls = message.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in cast("list[object]", calls)):
        raise invalid_answer("has a tool call that is no object")


def _has_more(message: Mapping[str, object]) -> bool:
    """Tell whether a message may have other text than its content and its refusal."""
    names = message.keys() - _USUAL
    return bool(names) and (not names <= _EMPTY or any(message[name] for name in names))


def _is_usual(choice: Mapping[str, object], message: Mapping[str, object]) -> bool:
    """Tell whether a choice has no text but that of its message, which has none but its content and refusal."""
    return (
        message.get("role") == "assistant"
        and not isinstance(message.get("content"), list)
        and is_usual_choice(choice, "message")
    )


def _is_same(before: ModelResponse, after: ModelResponse) -> bool:
    return after is before or after == before


def _written_choice(
    choice: Mapping[str, object], before: ModelResponse, after: ModelResponse
) -> dict[str, object]:
    message = dict(mapping_of(choice["message"]))
    if has_other_content(before, after):
        message["content"] = written_content(message.get("content"), before, after)
    if after.refusal != before.refusal:
        message["refusal"] = after.refusal
    if after.reasoning != before.reasoning:
        name = reasoning_name(message)
        if name is None:
            raise no_place("a reasoning, where the model gave none")
        message[name] = after.reasoning
    if after.tool_calls != before.tool_calls:
        message["tool_calls"] = written_calls(message.get("tool_calls"), before.tool_calls, after.tool_calls)
        if not message["tool_calls"]:
            del message["tool_calls"]
    written = {**choice, "message": message}
    if after.finish_reason is not before.finish_reason and after.finish_reason in _FINISH_WORDS:
        written["finish_reason"] = _FINISH_WORDS[after.finish_reason]
    return written


_FILTERS: Final = by_name({"severity": word, "filtered": opaque, "detected": opaque})

MESSAGE: Final[Mapping[str, Plan]] = {
    "role": word,
    "content": content_plan,
    "refusal": shown,
    "reasoning_content": shown,
    "reasoning": shown,
    "tool_calls": answer_calls_plan,
    "function_call": {**FUNCTION_CALL, "arguments": shown},
    "audio": {"id": opaque, "data": opaque, "expires_at": opaque, "transcript": shown},
    "images": image_list_plan,
}
"""For the message of a choice."""

CHOICE_HEAD: Final[Mapping[str, Plan]] = {
    "index": opaque,
    "finish_reason": word,
    "native_finish_reason": opaque,
    "logprobs": LOGPROBS,
    "content_filter_results": _FILTERS,
}
"""For what every choice has, streamed or not."""

ANSWER_HEAD: Final[Mapping[str, Plan]] = {
    "id": opaque,
    "object": opaque,
    "created": opaque,
    "model": opaque,
    "system_fingerprint": opaque,
    "service_tier": word,
    "provider": opaque,
    "usage": numbers,
    "obfuscation": opaque,
    "prompt_filter_results": each({"prompt_index": opaque, "content_filter_results": _FILTERS}),
}
"""For what every answer has, streamed or not."""

_ANSWER: Final[Plan] = {**ANSWER_HEAD, "choices": each({**CHOICE_HEAD, "message": MESSAGE})}
