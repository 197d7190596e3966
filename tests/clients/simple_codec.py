"""A small codec for tests of the transport alone: texts, usage and an end, of chat completions and of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tramapy.clients.codec import JsonEvent, JsonPiece, StreamDecoder, WireAnswer, WireRequest, dumps
from tramapy.engine.native import Lane, NativeEnd, NativeEvent, NativeRejectionError, NativeText
from tramapy.errors import ConfigurationError, InterceptorError, ProviderError, ProviderFailureCode
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import Message, MessageRole, ModelResponse, TokenUsage
from tramapy.wire.json_values import count_of, invalid_answer, mapping_of, mappings_of, parse_object, text_of
from tramapy.wire.rejection import rejection_error, rejection_in
from tramapy.wire.sse import SseEvent, sse_frame

CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT


class SimpleRequest(WireRequest):
    def __init__(self, body: Mapping[str, object]) -> None:
        self.body = body
        self.model = text_of(body.get("model")) or ""
        self.is_stream = body.get("stream") is True
        self.messages = tuple(
            Message(role=MessageRole(str(item["role"])), content=str(item["content"]))
            for item in mappings_of(body.get("messages"))
        )
        if body.get("previous_response_id") is not None:
            self.unscanned = ("previous_response_id",)

    def _rest_text(self) -> str:
        return ""

    def encoded(self, messages: Sequence[Message], model: str, rest: str | None) -> Mapping[str, object]:
        if tuple(messages) == self.messages and model == self.model:
            return self.body
        if any(message.role is MessageRole.TOOL for message in messages):
            raise InterceptorError("This format has no place for a tool's result")
        items = [{"role": message.role.value, "content": message.content} for message in messages]
        return {**self.body, "model": model, "messages": items}


class SimpleAnswer(WireAnswer):
    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body
        self.texts: tuple[NativeText, ...] = ()
        if body.get("opaque"):
            self.unscanned = ("opaque",)
        usage = mapping_of(body.get("usage"))
        texts = [
            mapping_of(choice.get("message")).get("content") for choice in mappings_of(body.get("choices"))
        ]
        texts += [block.get("text") for block in mappings_of(body.get("content"))]
        counts = TokenUsage(
            input_tokens=count_of(usage.get("prompt_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
        )
        self.responses = tuple(ModelResponse(content=str(text or ""), usage=counts) for text in texts or [""])

    @property
    def body(self) -> object:
        return self._body

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> SimpleAnswer:
        if all(new is old for new, old in zip(responses, self.responses, strict=True)):
            return self
        contents = [response.content for response in responses]
        if "content" in self._body:
            blocks = zip(self._body["content"], contents, strict=True)
            return SimpleAnswer(
                {**self._body, "content": [{**block, "text": text} for block, text in blocks]}
            )
        choices = [
            {**choice, "message": {**choice["message"], "content": content}}
            for choice, content in zip(self._body["choices"], contents, strict=True)
        ]
        return SimpleAnswer({**self._body, "choices": choices})


def _tail(lane: Lane, text: str) -> bytes:
    if isinstance(lane, int):
        return sse_frame("", dumps({"choices": [{"index": lane, "delta": {"content": text}}]}).encode())
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return sse_frame("content_block_delta", dumps(event).encode())


class SimpleEvent(JsonEvent):
    __slots__ = ()

    def tail(self, lane: Lane, text: str) -> bytes:
        return _tail(lane, text)


class SimpleEnd(NativeEnd):
    __slots__ = ("_frame", "ends", "is_opening", "opens", "pieces")

    def __init__(self, event: SseEvent) -> None:
        self._frame = sse_frame(event.name, event.data)
        self.pieces = []
        self.ends = []
        self.opens = None
        self.is_opening = False

    def frame(self) -> bytes:
        return self._frame

    def tail(self, lane: Lane, text: str) -> bytes:
        return _tail(lane, text)

    def responses(self, text_of: Callable[[Lane], str]) -> tuple[ModelResponse, ...]:
        return (ModelResponse(content=text_of(0)),)

    def lane_texts(self, responses: Sequence[ModelResponse]) -> Mapping[Lane, str]:
        return {0: responses[0].content or ""}


class SimpleDecoder(StreamDecoder):
    def feed(self, event: SseEvent) -> Sequence[NativeEvent]:
        if event.data == b"[DONE]" or event.name == "message_stop":
            self.is_ended = True
            return [SimpleEnd(event)]
        value: dict[str, Any] = dict(parse_object(event.data))
        rejection = rejection_in(value, is_error=event.name == "error")
        if rejection is not None:
            error = rejection_error("with an error in its stream", rejection, 0.0)
            raise NativeRejectionError(
                str(error),
                body=event.data.decode(),
                is_in_stream=True,
                retryable=error.retryable,
                status_code=error.status_code,
                counts_on_breaker=error.counts_on_breaker,
            )
        native = SimpleEvent(event, value)
        native.is_opening = True
        if value.get("opaque"):
            native.unscanned = ("opaque",)
        for choice in value.get("choices", ()):
            delta = choice["delta"]
            if delta.get("content"):
                native.is_opening = False
                native.pieces.append(
                    JsonPiece(native, delta, "content", delta["content"], CONTENT, choice["index"])
                )
        if value.get("type") == "content_block_delta":
            native.is_opening = False
            delta = value["delta"]
            native.pieces.append(JsonPiece(native, delta, "text", delta["text"], CONTENT, "block"))
        if value.get("type") == "content_block_stop":
            native.ends.append("block")
        return [native]

    def finish(self) -> NativeEnd:
        raise ProviderError(
            "The stream was cut.", failure_code=ProviderFailureCode.STREAM_CUT, counts_on_breaker=True
        )


class SimpleCodec:
    """Reads and writes text alone."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        return SimpleRequest(body)

    def answer(self, body: object) -> WireAnswer:
        if not isinstance(body, dict):
            raise invalid_answer("is no object")
        return SimpleAnswer(body)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        return SimpleDecoder()


class NoStreams(SimpleCodec):
    """The same, without streams."""

    def stream(self, limit_bytes: int) -> StreamDecoder:
        raise ConfigurationError("no streams")
