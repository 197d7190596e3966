"""Files that are sent inline: text in a data URL is read, and written back."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tramapy.clients.anthropic_messages import MessageBatchesCodec, MessagesCodec
from tramapy.clients.codec import Codec, WireRequest
from tramapy.clients.openai_chat import ChatCodec
from tramapy.clients.openai_responses import ResponsesCodec


def encoded(text: str, charset: str = "utf-8") -> str:
    return base64.b64encode(text.encode(charset)).decode()


def chat(*urls: object) -> Mapping[str, Any]:
    parts = [{"type": "file", "file": {"file_data": url, "filename": "f"}} for url in urls]
    return {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, *parts]}]}


def responses(*urls: object) -> Mapping[str, Any]:
    parts = [{"type": "input_file", "file_data": url, "filename": "f"} for url in urls]
    return {
        "model": "m",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}, *parts]}],
    }


FORMATS = pytest.mark.parametrize(
    ("codec", "body"), [(ChatCodec(), chat), (ResponsesCodec(), responses)], ids=["chat", "responses"]
)

TEXTS = [
    (f"data:text/plain;base64,{encoded('a secret')}", f"data:text/plain;base64,{encoded('a [S]')}"),
    (f"data:text/csv;charset=utf-16;base64,{encoded('a secret', 'utf-16')}", None),
    (
        "data:application/ld+json,%7B%22a%22%3A%22secret%22%7D",
        "data:application/ld+json,%7B%22a%22%3A%22%5BS%5D%22%7D",
    ),
    ("data:,a%20secret", "data:,a%20%5BS%5D"),
    (f"data:;base64,{encoded('a secret')}", f"data:;base64,{encoded('a [S]')}"),
]

OTHERS = [
    "data:application/pdf;base64,AAAA",
    "data:text/plain;base64,no base64",
    "data:text/plain;base64,/w==",
    "data:text/plain;charset=nobody-knows,a",
    "data:text/plain;base64",
    {"odd": "object"},
]


def sent(request: WireRequest, rest: str | None) -> Any:
    return request.encoded(request.messages, "m", rest)


@FORMATS
@pytest.mark.parametrize(("url", "changed"), TEXTS, ids=range(len(TEXTS)))
def test_text_in_a_file_is_inspected_and_written_back(
    codec: Codec, body: Any, url: str, changed: str | None
) -> None:
    given = body(url, "data:text/plain,harmless")
    request = codec.request(given)
    assert request.unscanned == ()
    assert "secret" in request.rest
    assert sent(request, request.rest) is given
    again = json.dumps(sent(request, request.rest.replace("secret", "[S]")))
    assert url not in again
    assert json.dumps("data:text/plain,harmless") in again
    assert changed is None or json.dumps(changed) in again
    reread = codec.request(json.loads(again))
    assert reread.rest == request.rest.replace("secret", "[S]")
    assert sent(request, request.rest.replace('"f"', '"g"')) == json.loads(
        json.dumps(given).replace('"filename": "f"', '"filename": "g"')
    )


@FORMATS
@pytest.mark.parametrize("url", OTHERS, ids=range(len(OTHERS)))
def test_what_is_no_text_is_told_of(codec: Codec, body: Any, url: object) -> None:
    request = codec.request(body(url, "data:,a%20secret"))
    assert request.unscanned == ("file_data",)
    assert "a secret" in request.rest


def test_a_file_that_is_too_long_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tramapy.clients.file_texts._LIMIT_CHARACTERS", 6)
    assert ChatCodec().request(chat("data:,")).unscanned == ()
    assert ChatCodec().request(chat("data:,a%20secret")).unscanned == ("file_data",)


def document(kind: str, data: str) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": kind, "data": data}, "title": "t"}


def messages(*documents: dict[str, Any]) -> Mapping[str, Any]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [*documents[1:]]}
    return {"model": "m", "messages": [{"role": "user", "content": [image, *documents[:1], result]}]}


def batch(*documents: dict[str, Any]) -> Mapping[str, Any]:
    return {"requests": [{"custom_id": "c", "params": messages(*documents)}]}


@pytest.mark.parametrize(
    ("codec", "body"),
    [(MessagesCodec(), messages), (MessageBatchesCodec(), batch)],
    ids=["messages", "batch"],
)
def test_text_in_a_document_is_inspected_and_written_back(codec: Codec, body: Any) -> None:
    kinds = ("text/plain", "application/json; charset=utf-8")
    given = body(*[document(kind, encoded("a secret")) for kind in kinds])
    request = codec.request(given)
    assert request.unscanned == ()
    assert request.rest.count("a secret") == 2
    assert sent(request, request.rest) is given
    changed = sent(request, request.rest.replace("secret", "[S]"))
    assert changed == body(*[document(kind, encoded("a [S]")) for kind in kinds])
    other = json.dumps(sent(request, request.rest.replace('"title":"t"', '"title":"u"')))
    assert other == json.dumps(given).replace('"title": "t"', '"title": "u"')


def test_a_document_that_is_no_text_is_told_of() -> None:
    request = MessagesCodec().request(
        messages(document("application/pdf", "AAAA"), document("text/plain", "YQ=="))
    )
    assert request.unscanned == ("document_data",)
    assert '"a"' in request.rest
