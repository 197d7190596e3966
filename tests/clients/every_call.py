"""Every kind of call that a wrapped client makes, and a scripted server that knows the paths of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.clients.worlds import go, items_of
from tramapy import ModelResponse
from tramapy.testing import ErrorDetail, ScriptedAnswer, ScriptedServer
from tramapy.testing.exchange import Exchange, SseFrame, json_bytes
from tramapy.testing.wire_chat import ChatWireFormat
from tramapy.testing.wire_messages import MessagesWireFormat


@dataclass(frozen=True, kw_only=True, repr=False)
class Call:
    """One call of a vendor's client.

    Attributes:
        name: What it is called in contexts and events.
        vendor: Whose client has it.
        start: Makes it, of the client, the text to send, and further options of the method.
        asked: Finds the text in a body that came to the server.
        said: Finds the text in an answer; empty where the format has none.
        piece: Finds the text in an item of a stream; None where there are no streams.
    """

    name: str
    vendor: str
    start: Callable[..., Any]
    asked: Callable[[Any], str]
    said: Callable[[Any], str]
    piece: Callable[[Any], str] | None = None
    has_text: bool = True

    def __repr__(self) -> str:
        return f"{self.vendor}-{self.name}"

    async def ask(self, client: Any, text: str = "hello", **options: Any) -> str:
        """Ask, and return the text of the whole answer."""
        return self.said(await go(self.start(client, text, **options)))

    async def stream(
        self, client: Any, text: str = "hello", into: list[Any] | None = None, **options: Any
    ) -> str:
        """Ask for a stream, and return the text of all of it; `into` keeps what came before an error."""
        items = await items_of(await go(self.start(client, text, stream=True, **options)), into)
        return self.text_of(items)

    def text_of(self, items: Iterable[Any]) -> str:
        """Join the text of a stream's items."""
        assert self.piece is not None
        return "".join(self.piece(item) for item in items)


def _message(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _last_message(body: Any) -> str:
    return body["messages"][-1]["content"]


def _chat_piece(item: Any) -> str:
    return (item.choices[0].delta.content or "") if item.choices else ""


def _responses_piece(item: Any) -> str:
    return item.delta if item.type == "response.output_text.delta" else ""


def _messages_piece(item: Any) -> str:
    return getattr(item.delta, "text", "") if item.type == "content_block_delta" else ""


CHAT = Call(
    name="chat.completions.create",
    vendor="openai",
    start=lambda client, text, **o: client.chat.completions.create(model="m", messages=_message(text), **o),
    asked=_last_message,
    said=lambda answer: answer.choices[0].message.content,
    piece=_chat_piece,
)
RESPONSES = Call(
    name="responses.create",
    vendor="openai",
    start=lambda client, text, **o: client.responses.create(model="m", input=text, **o),
    asked=lambda body: body["input"],
    said=lambda answer: answer.output_text,
    piece=_responses_piece,
)
COMPLETIONS = Call(
    name="completions.create",
    vendor="openai",
    start=lambda client, text, **o: client.completions.create(model="m", prompt=text, **o),
    asked=lambda body: body["prompt"],
    said=lambda answer: answer.choices[0].text,
    piece=lambda item: item.choices[0].text,
)
EMBEDDINGS = Call(
    name="embeddings.create",
    vendor="openai",
    start=lambda client, text, **o: client.embeddings.create(
        model="m", input=text, encoding_format="float", **o
    ),
    asked=lambda body: body["input"],
    said=lambda answer: "" if answer.data[0].embedding == [0.5, -0.5] else "no vector",
    has_text=False,
)
MODERATIONS = Call(
    name="moderations.create",
    vendor="openai",
    start=lambda client, text, **o: client.moderations.create(model="m", input=text, **o),
    asked=lambda body: body["input"],
    said=lambda answer: answer.results[0].model_extra["note"],
)
MESSAGES = Call(
    name="messages.create",
    vendor="anthropic",
    start=lambda client, text, **o: client.messages.create(
        model="m", max_tokens=9, messages=_message(text), **o
    ),
    asked=_last_message,
    said=lambda answer: answer.content[0].text,
    piece=_messages_piece,
)
COUNT_TOKENS = Call(
    name="messages.count_tokens",
    vendor="anthropic",
    start=lambda client, text, **o: client.messages.count_tokens(model="m", messages=_message(text), **o),
    asked=_last_message,
    said=lambda answer: "" if answer.input_tokens == 7 else "no count",
    has_text=False,
)
THINGS = Call(
    name="things.create",
    vendor="anthropic",
    start=lambda client, text, **o: client.post(
        "/v1/things", body={"model": "m", "input": text}, cast_to=object, options=o
    ),
    asked=lambda body: body["input"],
    said=lambda answer: answer["results"][0]["note"],
)

CALLS = (CHAT, RESPONSES, COMPLETIONS, EMBEDDINGS, MODERATIONS, MESSAGES, COUNT_TOKENS, THINGS)
STREAMS = tuple(call for call in CALLS if call.piece is not None)


class EveryCallServer(ScriptedServer):
    """A scripted server that knows the paths of all `CALLS`."""

    def __init__(self, answers: Iterable[ScriptedAnswer] = (), **options: Any) -> None:
        super().__init__(answers, **options)
        formats: Any = self._script._wire_formats
        formats |= {wire.path: wire for wire in _FORMATS}


class _CompletionsWire(ChatWireFormat):
    """Legacy completions."""

    path = "/v1/completions"

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        return _completion(exchange, response.content or "", "stop")

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        for piece in exchange.split(response.content or ""):
            yield self.text_frame(exchange, piece)
        end = _completion(exchange, "", "stop")
        yield SseFrame(data=b"data: " + json_bytes(end) + b"\n\n", is_terminal=True)
        yield SseFrame(data=b"data: [DONE]\n\n", is_terminal=True)

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        return SseFrame(data=b"data: " + json_bytes(_completion(exchange, text, None)) + b"\n\n")


def _completion(exchange: Exchange, text: str, finish_reason: str | None) -> dict[str, object]:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason}
    head = {"id": f"cmpl-{exchange.number}", "object": "text_completion", "created": exchange.number}
    return {**head, "model": exchange.model, "choices": [choice]}


class _JsonWire:
    """A call that answers with one JSON body; errors are worded as in another format."""

    def __init__(self, path: str, make: Callable[[Exchange, str], Mapping[str, object]], errors: Any) -> None:
        self.path = path
        self._make = make
        self._errors = errors

    def body(self, exchange: Exchange, response: ModelResponse) -> Mapping[str, object]:
        return self._make(exchange, response.content or "")

    def frames(self, exchange: Exchange, response: ModelResponse) -> Iterator[SseFrame]:
        raise AssertionError("there are no streams here")

    def text_frame(self, exchange: Exchange, text: str) -> SseFrame:
        raise AssertionError("there are no streams here")

    def error_body(self, detail: ErrorDetail) -> Mapping[str, object]:
        return self._errors.error_body(detail)

    def error_frame(self, detail: ErrorDetail) -> SseFrame:
        return self._errors.error_frame(detail)


def _embedding(exchange: Exchange, text: str) -> Mapping[str, object]:
    vector = {"object": "embedding", "index": 0, "embedding": [0.5, -0.5]}
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"object": "list", "data": [vector], "model": exchange.model, "usage": usage}


def _results(exchange: Exchange, text: str) -> Mapping[str, object]:
    return {"id": f"modr-{exchange.number}", "model": exchange.model, "results": [{"note": text}]}


def _count(exchange: Exchange, text: str) -> Mapping[str, object]:
    return {"input_tokens": 7}


_FORMATS: Any = (
    _CompletionsWire(),
    _JsonWire("/v1/embeddings", _embedding, ChatWireFormat()),
    _JsonWire("/v1/moderations", _results, ChatWireFormat()),
    _JsonWire("/v1/messages/count_tokens", _count, MessagesWireFormat()),
    _JsonWire("/v1/things", _results, MessagesWireFormat()),
)
