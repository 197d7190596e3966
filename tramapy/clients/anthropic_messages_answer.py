"""Whole answers of `/v1/messages`, `/v1/messages/count_tokens` and `/v1/messages/batches`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.anthropic_messages_blocks import (
    CHANGED_SIGNATURE,
    Block,
    add_unscanned,
    arguments_object,
    call_block,
    call_of,
    joined_fields,
)
from tramapy.clients.anthropic_messages_plan import ANSWER, SERVER_CALLS, is_call
from tramapy.clients.anthropic_messages_usual import usual_answer
from tramapy.clients.codec import WireAnswer, dumps, merged_text, rest_text
from tramapy.clients.message_drafts import text_response
from tramapy.clients.nesting import read_answer
from tramapy.clients.refusals import native_rejection
from tramapy.clients.rewriting import no_place, placed_calls
from tramapy.clients.splitting import split_like
from tramapy.clients.usual_answer import UsualAnswer
from tramapy.engine.native import NativeText
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ModelResponse, TextPart, ToolCall
from tramapy.wire.finish_reasons import messages_finish_reason
from tramapy.wire.json_values import invalid_answer, mapping_of, text_of
from tramapy.wire.rejection import rejection_in
from tramapy.wire.rest import Plan
from tramapy.wire.token_counts import messages_usage

__all__ = ["MessagesAnswer", "OtherAnswer", "content_in", "only", "refusal_of", "stop_reason_for"]

_NO_TEXT: Final = "has content that is no text"
_NO_THINKING: Final = "has reasoning that is no text"
_NO_CALL: Final = "has a tool call without an id, a name or an input"


class MessagesAnswer(WireAnswer):
    """A message: its text as `content`, its first thinking as `reasoning`, its own tools' calls as `tool_calls`.

    Raises:
        NativeRejectionError: It is an error.
        ProviderError: It cannot be understood.
    """

    unscanned: tuple[str, ...] = ()

    texts: tuple[NativeText, ...] = ()

    # the positions of blocks
    _thoughts: Sequence[int] = ()
    _calls: Sequence[int] = ()

    _has_rest: bool = False

    def __init__(self, body: object) -> None:
        self._body = mapping_of(body)
        self.usual: UsualAnswer | None = usual_answer(self._body)
        usual = self.usual
        if usual is None:
            refuse_errors(body)
            read_answer(self._read)
            return
        self.responses: tuple[ModelResponse, ...] = (usual.response,)
        self._blocks = cast("list[object]", self._body["content"])
        self._texts: Sequence[int] = range(len(self._blocks))
        if len(self._blocks) > 1:
            self._keep_texts()

    @property
    def body(self) -> object:
        """The message."""
        return self._body

    def _read(self) -> None:
        body = self._body
        content = body.get("content")
        if not isinstance(content, list):
            raise invalid_answer("has no list of content blocks")
        self._blocks = cast("list[object]", content)
        unscanned: set[str] = set()
        text_positions: list[int] = []
        thought_positions: list[int] = []
        call_positions: list[int] = []
        for position, item in enumerate(self._blocks):
            block = mapping_of(item)
            kind = _kind_of(block)
            if kind == "text":
                text_positions.append(position)
            elif kind == "thinking":
                thought_positions.append(position)
            elif kind == "tool_use":
                call_positions.append(position)
            else:
                name = block.get("name")
                if isinstance(name, str) and kind in SERVER_CALLS:
                    self.names: tuple[str, ...] = (*self.names, name)
                add_unscanned(block, unscanned)
        self._texts, self._thoughts, self._calls = text_positions, thought_positions, call_positions
        texts = self._keep_texts()
        thoughts = [self._text(position, "thinking") for position in self._thoughts]
        self.unscanned = tuple(sorted(unscanned))
        response = text_response(
            "".join(texts),
            refusal=refusal_of(body.get("stop_details")),
            reasoning=thoughts[0] if thoughts else None,
            usage=messages_usage(body.get("usage")),
            model=text_of(body.get("model")),
            finish_reason=messages_finish_reason(body.get("stop_reason")),
            response_id=text_of(body.get("id")),
        )
        if self._calls:
            calls = tuple([call_of(mapping_of(self._blocks[position])) for position in self._calls])
            response = response.replace(tool_calls=calls)
        self.responses = (response,)
        location = DlpContentLocation.MODEL_RESPONSE_REASONING
        self.texts = tuple([NativeText(thought, location) for thought in thoughts[1:]])
        rest = rest_text(body, ANSWER)
        self._has_rest = bool(rest)
        if rest:
            self.texts += (NativeText(rest, DlpContentLocation.MODEL_RESPONSE_CONTENT),)

    def _keep_texts(self) -> list[str]:
        texts = [self._text(position, "text") for position in self._texts]
        if len(texts) > 1:
            self.content_texts: Sequence[str] = texts
        return texts

    def _text(self, position: int, name: str) -> str:
        return cast("str", mapping_of(self._blocks[position])[name])

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> MessagesAnswer:
        """Return the answer with these in the place of its own."""
        response = only(responses)
        own_texts = [text.text for text in self.texts]
        if response is self.responses[0] and [*texts] == own_texts:
            return self
        body = self._body
        if self._has_rest and texts[-1] != own_texts[-1]:
            body = cast("Mapping[str, object]", merged_text(body, ANSWER, texts[-1]))
        return MessagesAnswer(self._written(body, response, texts))

    def _written(
        self, body: Mapping[str, object], response: ModelResponse, texts: Sequence[str]
    ) -> Mapping[str, object]:
        blocks: list[object | None] = [*cast("list[object]", body["content"])]
        self._write_texts(blocks, response)
        thoughts = (response.reasoning or "", *texts)
        if response.reasoning and not self._thoughts:
            raise no_place("reasoning")
        for position, thought in zip(self._thoughts, thoughts, strict=False):
            blocks[position] = _written_thought(mapping_of(blocks[position]), thought)
        added = self._write_calls(blocks, response.tool_calls)
        content = [block for block in blocks if block is not None]
        written = {**body, "content": [*content, *added]}
        _write_refusal(written, response.refusal)
        has_calls = bool(response.tool_calls)
        if has_calls != bool(self._calls):
            written["stop_reason"] = stop_reason_for(body.get("stop_reason"), has_calls=has_calls)
        return written

    def _write_texts(self, blocks: list[object | None], response: ModelResponse) -> None:
        """Write the text into the blocks that it was joined from; one that is emptied goes."""
        content = content_in(response)
        if content == self.responses[0].content:
            return
        if not self._texts:
            blocks.append({"type": "text", "text": content})
            return
        holder: int | None = None
        texts = [self._text(position, "text") for position in self._texts]
        for position, before, text in zip(self._texts, texts, split_like(texts, content), strict=True):
            block = mapping_of(blocks[position])
            if text:
                blocks[position] = block if text == before else {**block, "text": text}
                holder = position
                continue
            blocks[position] = None
            if holder is not None:
                blocks[holder] = joined_fields(mapping_of(blocks[holder]), block)

    def _write_calls(self, blocks: list[object | None], calls: Sequence[ToolCall]) -> list[Block]:
        """Write the tool calls into their blocks, and return those that are new."""
        before = self.responses[0].tool_calls
        if calls == before:
            return []
        places = placed_calls(before, calls)
        for position, block_position in enumerate(self._calls):
            if position not in places:
                blocks[block_position] = None
        added: list[Block] = []
        for place, call in zip(places, calls, strict=True):
            if place is None:
                added.append(call_block(call))
            elif call.arguments_json != before[place].arguments_json:
                block = mapping_of(blocks[self._calls[place]])
                blocks[self._calls[place]] = {**block, "input": arguments_object(call.arguments_json)}
        return added


class OtherAnswer(WireAnswer):
    """An answer that no model wrote: it is inspected, and shown as one empty response.

    Args:
        body: The answer.
        plan: Of what is known to be no text.
    """

    def __init__(self, body: object, plan: Plan) -> None:
        refuse_errors(body)
        self._body = body
        self._plan = plan
        rest = read_answer(lambda: rest_text(body, plan))
        self.responses: tuple[ModelResponse, ...] = (ModelResponse(),)
        self.texts: tuple[NativeText, ...] = (
            (NativeText(rest, DlpContentLocation.MODEL_RESPONSE_CONTENT),) if rest else ()
        )

    @property
    def body(self) -> object:
        """The answer."""
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> OtherAnswer:
        """Return the answer with these in the place of its own."""
        response = only(responses)
        if response != self.responses[0]:
            raise no_place("a response to a call that asks no model")
        if [*texts] == [text.text for text in self.texts]:
            return self
        return OtherAnswer(merged_text(self._body, self._plan, texts[0]), self._plan)


def _kind_of(block: Block) -> object:
    """Return a block's type, where it has what the type says.

    Raises:
        ProviderError: It has not.
    """
    kind = block.get("type")
    if kind == "text" and not isinstance(block.get("text"), str):
        raise invalid_answer(_NO_TEXT)
    if kind == "thinking" and not isinstance(block.get("thinking"), str):
        raise invalid_answer(_NO_THINKING)
    if kind == "tool_use" and not is_call(block):
        raise invalid_answer(_NO_CALL)
    return kind


def refuse_errors(body: object) -> None:
    """Refuse an answer that is an error in spite of its good status.

    Raises:
        NativeRejectionError: It is one.
    """
    fields = mapping_of(body)
    rejection = rejection_in(fields, is_error=fields.get("type") == "error")
    if rejection is not None:
        text = read_answer(lambda: dumps(body))
        raise native_rejection(rejection, "with an error", text, is_in_stream=False)


def only(responses: Sequence[ModelResponse]) -> ModelResponse:
    """Return the response of an answer that has one.

    Raises:
        InterceptorError: There are more, or none.
    """
    if len(responses) != 1:
        raise no_place("more or fewer responses than one")
    return responses[0]


def content_in(response: ModelResponse) -> str:
    """Return a response's text.

    Raises:
        InterceptorError: It has an image.
    """
    parts = response.content_parts
    if parts is None:
        return response.content
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) < len(parts):
        raise no_place("an image in a response")
    return "".join(texts)


def refusal_of(stop_details: object) -> str | None:
    """Return how a refusal is explained; the words that came before it are content."""
    return text_of(mapping_of(stop_details).get("explanation"))


def stop_reason_for(stop_reason: object, *, has_calls: bool) -> object:
    """Return the reason for an end after an interceptor took all tool calls away, or gave the first."""
    if has_calls:
        return "tool_use" if stop_reason == "end_turn" else stop_reason
    return "end_turn" if stop_reason == "tool_use" else stop_reason


def _written_thought(block: Block, thought: str) -> Block | None:
    """Return thinking with another text; its signature is of the text that was."""
    if thought == block["thinking"]:
        return block
    if not thought:
        return None
    changed = {**block, "thinking": thought}
    return {**changed, "signature": CHANGED_SIGNATURE} if block.get("signature") else changed


def _write_refusal(body: dict[str, object], refusal: str | None) -> None:
    details = mapping_of(body.get("stop_details"))
    if refusal == refusal_of(details):
        return
    if not details:
        raise no_place("a refusal")
    body["stop_details"] = {**details, "explanation": refusal}
