"""Answers that go to the client as they came, since nothing in them was left unread."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.clients.test_usual import COMPLETION, MESSAGE
from tramapy import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, wrap
from tramapy.clients.http_messages import is_answer_to
from tramapy.clients.usual_answer import UsualAnswer
from tramapy.messages import ModelResponse

SECRET = "123-45-6789"
DLP = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(rules=[DlpRule(id="ssn", pattern=SECRET, replacement="[SSN]")])
)
RESPONSE = ModelResponse(content="a: b")


@pytest.mark.parametrize(
    ("data", "is_all"),
    [
        (b'{"content": "a: b", "model":"m:1"}', True),
        (b'{"content" : "a: b","model":"m:1", "more": ""}', False),
        (b'{"content":"secret","content":"a: b","model":"m:1"}', False),
        (b'{"content":"secret","content":"a\\u003a b","model":"m:1"}', False),
        (b'{"content":"secret","content":"a\\u003A b","model":"m:1"}', False),
        ('{"content":"a: b","model":"m:1"}'.encode("utf-16"), False),
    ],
)
def test_nothing_is_said_beside_what_was_read(data: bytes, is_all: bool) -> None:
    assert UsualAnswer(RESPONSE, 3).is_all_of(data) is is_all


def _client(answer: Callable[[httpx2.Request], httpx2.Response], body: dict[str, Any]) -> Any:
    source = httpx2.Client(transport=httpx2.MockTransport(answer), follow_redirects=True)
    if body is MESSAGE:
        return anthropic.Anthropic(api_key="none", http_client=source)
    return openai.OpenAI(api_key="none", http_client=source)


def _ask(client: Any) -> httpx2.Response:
    options: Any = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    raw: httpx2.Response
    if isinstance(client, anthropic.Anthropic):
        raw = client.messages.with_raw_response.create(max_tokens=1, **options).http_response
    else:
        raw = client.chat.completions.with_raw_response.create(**options).http_response
    return raw


def _json(content: bytes, **headers: str) -> httpx2.Response:
    stream = httpx2.ByteStream(content)
    return httpx2.Response(200, stream=stream, headers={"content-type": "application/json", **headers})


@pytest.mark.parametrize("body", [COMPLETION, MESSAGE], ids=["completion", "message"])
def test_a_usual_answer_is_the_response_that_came(body: dict[str, Any]) -> None:
    made: list[httpx2.Response] = []
    content = json.dumps(body, indent=2).encode()

    def answer(request: httpx2.Request) -> httpx2.Response:
        made.append(_json(content, x="y"))
        return made[-1]

    response = _ask(wrap(_client(answer, body), dlp=DLP))
    assert response is made[0]
    assert response.read() == response.content == content
    assert response.json() == body
    assert (response.is_closed, response.num_bytes_downloaded) == (True, len(content))
    assert response.elapsed.total_seconds() >= 0


@pytest.mark.parametrize("body", [COMPLETION, MESSAGE], ids=["completion", "message"])
@pytest.mark.parametrize("answer", ["twice", "secret", "charset", "redirect"])
def test_any_other_answer_is_written_anew(body: dict[str, Any], answer: str) -> None:
    text = json.dumps(body)
    if answer == "twice":
        text = f'{{"id":"{SECRET}",{text[1:]}'
    if answer == "secret":
        text = text.replace('"x"', f'"{SECRET}"').replace('"words"', f'"{SECRET}"')
    kind = "application/json; charset=utf-7" if answer == "charset" else "application/json"

    def respond(request: httpx2.Request) -> httpx2.Response:
        if answer == "redirect" and request.url.path != "/v1/moved":
            return httpx2.Response(307, headers={"location": "/v1/moved"})
        return _json(text.encode(), **{"content-type": kind})

    response = _ask(wrap(_client(respond, body), dlp=DLP))
    assert SECRET not in response.text
    assert b": " not in response.content
    assert response.headers["content-type"] == "application/json"
    assert (response.url.path == "/v1/moved") is (answer == "redirect")


def test_a_response_that_is_streamed_is_unread() -> None:
    content = json.dumps(COMPLETION).encode()
    client = wrap(_client(lambda _: _json(content), COMPLETION))
    request = client._client.build_request(
        "POST", "https://api.openai.com/v1/chat/completions", json={"model": "m", "messages": []}
    )
    response = client._client.send(request, stream=True)
    assert list(response.iter_raw()) == [json.dumps(COMPLETION, separators=(",", ":")).encode()]


def test_only_a_plain_response_takes_its_content() -> None:
    class Own(httpx2.Response):
        pass

    library: Any = httpx2
    request = httpx2.Request("GET", "http://provider.test")
    assert is_answer_to(library, httpx2.Response(200, request=request), request)
    assert not is_answer_to(library, httpx2.Response(200), request)
    assert not is_answer_to(library, Own(200, request=request), request)


@pytest.mark.parametrize("is_usual", [True, False], ids=["usual", "with a call"])
def test_what_ends_a_block_is_found_whatever_follows(is_usual: bool) -> None:
    whole = RuleBasedDlpInterceptor(
        RuleBasedDlpConfiguration(rules=[DlpRule(id="ssn", pattern=rf"\b{SECRET}\b", replacement="[SSN]")])
    )
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in (f"is {SECRET}", "4 me")]
    if not is_usual:
        blocks.append({"type": "tool_use", "id": "t", "name": "f", "input": {}})
    content = json.dumps({**MESSAGE, "content": blocks}).encode()
    given = _ask(wrap(_client(lambda _: _json(content), MESSAGE), dlp=whole)).json()["content"]
    assert [block.get("text") for block in given][:2] == ["is [SSN]", "4 me"]
