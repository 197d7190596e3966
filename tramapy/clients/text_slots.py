"""Calls that are no conversation: their texts stand in fixed places, and each is shown as a USER message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.codec import WireAnswer, WireRequest, merged_text, rest_text
from tramapy.clients.nesting import read_answer, read_request
from tramapy.clients.rewriting import Origin, are_same, no_place, positions_of, with_value_at
from tramapy.engine.native import NativeText
from tramapy.errors import ConfigurationError, InterceptorError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import NO_USAGE, Message, MessageRole, ModelResponse, TextPart, TokenUsage
from tramapy.wire.json_values import text_of
from tramapy.wire.rest import EACH, SKIP, Plan

__all__ = [
    "SlotRequest",
    "TextlessAnswer",
    "has_tokens",
    "input_paths",
    "input_plan",
    "no_stream",
    "only_text_of",
]

Path = tuple[str | int, ...]


class SlotRequest(WireRequest):
    """A request whose texts may change, but neither their number nor their order.

    Args:
        body: The request.
        plan: Its known places, those of the texts among them.
        paths: Where the texts stand.
        unscanned: What of it cannot be inspected.
    """

    def __init__(
        self, body: Mapping[str, object], plan: Plan, paths: Sequence[Path], unscanned: Sequence[str] = ()
    ) -> None:
        self._body = body
        self._plan = plan
        self._paths = tuple(paths)
        self._owner = object()
        self.model: str = text_of(body.get("model")) or ""
        self.is_stream: bool = body.get("stream") is True
        self.unscanned: tuple[str, ...] = tuple(unscanned)
        self.messages: tuple[Message, ...] = tuple(
            Message(
                role=MessageRole.USER,
                content=cast("str", _value_at(body, path)),
                origin=Origin(self._owner, position),
            )
            for position, path in enumerate(self._paths)
        )

    def _rest_text(self) -> str:
        return rest_text(self._body, self._plan)

    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        """Return the body to send; see `WireRequest`."""
        body: object = self._body
        if rest is not None and rest != self.rest:
            body = read_request(lambda: merged_text(self._body, self._plan, rest))
        if not are_same(self.messages, messages):
            if positions_of(self.messages, messages, self._owner) != list(range(len(self.messages))):
                raise InterceptorError(
                    "An interceptor dropped, added or moved a text of a call that is no conversation: each of its "
                    "answers stands for one text; change only what they say"
                )
            for path, before, message in zip(self._paths, self.messages, messages, strict=True):
                if message != before:
                    body = with_value_at(body, path, only_text_of(message))
        if model != self.model:
            body = with_value_at(body, ("model",), model)
        return cast("Mapping[str, object]", body)


def _value_at(value: object, path: Path) -> object:
    for step in path:
        value = cast("dict[str | int, object]", value)[step]
    return value


def only_text_of(said: Message | ModelResponse) -> str:
    """Return the text of a message or response that may hold nothing else.

    Raises:
        InterceptorError: It does.
    """
    if said.tool_calls:
        raise no_place("tool calls")
    if isinstance(said, ModelResponse) and (said.refusal or said.reasoning):
        raise no_place("a refusal or a reasoning")
    if said.content_parts is None:
        return said.content
    texts = [part.text for part in said.content_parts if isinstance(part, TextPart)]
    if len(texts) < len(said.content_parts):
        raise no_place("an image")
    return "".join(texts)


def input_paths(body: Mapping[str, object], name: str) -> list[Path]:
    """Return where the texts of a field stand that is a text or an array of them."""
    value = body.get(name)
    if isinstance(value, str):
        return [(name,)]
    if not isinstance(value, list):
        return []
    items = cast("list[object]", value)
    return [(name, position) for position, item in enumerate(items) if isinstance(item, str)]


def has_tokens(value: object) -> bool:
    """Tell whether an input holds tokens in the place of text."""
    if not isinstance(value, list):
        return False
    items = cast("list[object]", value)
    return any(isinstance(item, int) or _are_tokens(item) for item in items)


def input_plan(value: object) -> Plan:
    """Plan an input: its texts are shown, and tokens are none."""
    if isinstance(value, str) or _are_tokens(value):
        return SKIP
    return _INPUTS if isinstance(value, list) else None


def _item_plan(item: object) -> Plan:
    return SKIP if isinstance(item, (str, int)) or _are_tokens(item) else None


def _are_tokens(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, int) for item in cast("list[object]", value))


_INPUTS: Final[Plan] = {EACH: _item_plan}


class TextlessAnswer(WireAnswer):
    """An answer whose only text is its rest.

    Args:
        body: The answer.
        plan: Its known places.
        usage: What it cost.
        unscanned: What of it cannot be inspected.
    """

    def __init__(
        self, body: object, plan: Plan, usage: TokenUsage = NO_USAGE, unscanned: Sequence[str] = ()
    ) -> None:
        self._body = body
        self._plan = plan
        self.unscanned: tuple[str, ...] = tuple(unscanned)
        self.responses: tuple[ModelResponse, ...] = (ModelResponse(usage=usage),)
        rest = read_answer(lambda: rest_text(body, plan))
        self.texts: tuple[NativeText, ...] = (
            (NativeText(rest, DlpContentLocation.MODEL_RESPONSE_CONTENT),) if rest else ()
        )

    @property
    def body(self) -> object:
        """The JSON value as it goes to the client."""
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> TextlessAnswer:
        """Return the answer with another rest; see `NativeAnswer`."""
        for response in responses:
            if only_text_of(response):
                raise no_place("a text for an answer that has none")
        if list(texts) == [text.text for text in self.texts]:
            return self
        body = read_answer(lambda: merged_text(self._body, self._plan, texts[0]))
        return TextlessAnswer(body, self._plan, self.responses[0].usage, self.unscanned)


def no_stream() -> ConfigurationError:
    """Return the error for a stream whose format is not known."""
    return ConfigurationError(
        "This call has no stream that can be governed; ask for the whole answer, without stream=True, or allow "
        "the call by its name"
    )
