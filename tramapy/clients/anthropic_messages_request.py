"""Requests of `/v1/messages`, `/v1/messages/count_tokens` and `/v1/messages/batches`: read as messages, and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_conversation import Conversation
from tramapy.clients.anthropic_messages_plan import BATCH, REQUEST
from tramapy.clients.codec import WireRequest, merged_text, rest_text
from tramapy.clients.file_texts import ReadFiles, read_files
from tramapy.clients.nesting import read_request
from tramapy.clients.rewriting import are_same, no_place, positions_of
from tramapy.messages import Message, ToolDefinition
from tramapy.wire.json_values import mapping_of, mappings_of, text_of
from tramapy.wire.rest import Plan

__all__ = ["BatchRequest", "MessagesRequest"]

_DOCUMENT: Final = "document_data"


class MessagesRequest(WireRequest):
    """A request for one message, or for the number of its tokens.

    Raises:
        DlpInspectionError: It is nested too deeply to be read.
    """

    _plan: Plan = REQUEST
    _list: str = "messages"

    _has_changed_thinking: bool = False

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body
        self._owner = object()
        self._files: ReadFiles | None = None
        read_request(self._read)
        if _DOCUMENT in self.unscanned and isinstance(body.get(self._list), list):
            self._files = read_request(lambda: read_files(body, self._list))
            if self._files.urls and not self._files.has_others:
                self.unscanned = tuple(reason for reason in self.unscanned if reason != _DOCUMENT)

    def _read(self) -> None:
        messages: list[Message] = []
        unscanned: set[str] = set()
        self._conversations = [
            Conversation(params, self._owner, messages, unscanned) for params in self._params(self._body)
        ]
        self.messages: tuple[Message, ...] = tuple(messages)
        self.unscanned: tuple[str, ...] = tuple(sorted(unscanned)) if unscanned else ()
        self.model: str = self._first_model()
        self.is_stream: bool = self._body.get("stream") is True
        tools: list[ToolDefinition] = []
        for conversation in self._conversations:
            if conversation.has_changed_thinking:
                self._has_changed_thinking = True
            given = conversation.params.get("tools")
            if given:
                names = [text_of(tool.get("name")) for tool in mappings_of(given)]
                tools += [ToolDefinition(name=name) for name in names if name is not None]
        self.tools: tuple[ToolDefinition, ...] = tuple(tools)

    def _rest_text(self) -> str:
        return rest_text(self._body if self._files is None else self._files.body, self._plan)

    def _params(self, body: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
        return [body]

    def _first_model(self) -> str:
        for conversation in self._conversations:
            model = text_of(conversation.params.get("model"))
            if model:
                return model
        return ""

    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        """Return the body to send."""
        is_same = messages is self.messages and rest is None and model == self.model
        if is_same and not self._has_changed_thinking:
            return self._body
        return read_request(lambda: self._encoded(messages, model, rest))

    def _encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        body = self._body
        has_other_rest = rest is not None and rest != self.rest
        is_same = not has_other_rest and are_same(self.messages, messages)
        if not is_same or self._has_changed_thinking:
            if rest is not None and has_other_rest:
                files = self._files
                merged = merged_text(body if files is None else files.body, self._plan, rest)
                body = cast("Mapping[str, object]", merged if files is None else files.written(merged))
            body = self._with_params(body, self._written(body, messages))
        return body if model == self.model else self._with_model(body, model)

    def _written(self, body: Mapping[str, object], messages: Sequence[Message]) -> list[Mapping[str, object]]:
        """Return each conversation with its messages; a new one belongs to that of the message before it."""
        if messages and not self._conversations:
            raise no_place("a message in a batch without requests")
        grouped: list[list[tuple[int | None, Message]]] = [[] for _ in self._conversations]
        current = 0
        for position, message in zip(
            positions_of(self.messages, messages, self._owner), messages, strict=True
        ):
            if position is not None:
                current = next(
                    index
                    for index, conversation in enumerate(self._conversations)
                    if position < conversation.end
                )
            grouped[current].append((position, message))
        return [
            conversation.written(params, placed)
            for conversation, params, placed in zip(
                self._conversations, self._params(body), grouped, strict=True
            )
        ]

    def _with_params(
        self, body: Mapping[str, object], written: Sequence[Mapping[str, object]]
    ) -> Mapping[str, object]:
        del body
        return written[0]

    def _with_model(self, body: Mapping[str, object], model: str) -> Mapping[str, object]:
        return {**body, "model": model}


class BatchRequest(MessagesRequest):
    """Several requests in one; their messages stand in one list.

    Its `model` is the first that they name: where another takes its place, it does in all that name it.
    """

    _plan: Plan = BATCH
    _list: str = "requests"

    def _params(self, body: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
        return [mapping_of(item.get("params")) for item in mappings_of(body.get("requests"))]

    def _with_params(
        self, body: Mapping[str, object], written: Sequence[Mapping[str, object]]
    ) -> Mapping[str, object]:
        return {**body, "requests": _with_each(body["requests"], written)} if written else body

    def _with_model(self, body: Mapping[str, object], model: str) -> Mapping[str, object]:
        changed = [
            {**params, "model": model} if params.get("model") == self.model else params
            for params in self._params(body)
        ]
        return self._with_params(body, changed)


def _with_each(requests: object, written: Sequence[Mapping[str, object]]) -> list[object]:
    following = iter(written)
    return [_with_params(item, following) for item in cast("list[object]", requests)]


def _with_params(item: object, following: Iterator[Mapping[str, object]]) -> object:
    if not isinstance(item, Mapping):
        return item
    given = cast("Mapping[str, object]", item)
    params = next(following)
    return {**given, "params": params} if isinstance(given.get("params"), Mapping) else given
