"""The calls beside the main ones: interceptors and DLP see their texts, both ways, by the SDKs' own methods."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from tests.clients.every_call import CHAT, MESSAGES, RESPONSES, Call
from tests.clients.test_mutated_answers import STREAMS, WHOLE
from tests.clients.test_reports import DLP, SSN, Masking
from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go, items_of
from tramapy import wrap

pytestmark = SDK_LEAVES_GENERATORS

ASK: Any = [{"role": "user", "content": f"a secret {SSN}"}]
BATCH: Any = [{"custom_id": "one", "params": {"model": "m", "max_tokens": 9, "messages": ASK}}]
STATE = {
    "id": "b",
    "type": "message_batch",
    "processing_status": "in_progress",
    "note": f"{SSN}",
    "request_counts": {"processing": 1},
}
OPENAI_BATCH = {
    **{"id": "b", "object": "batch", "endpoint": "/v1/responses", "input_file_id": "f", "created_at": 1},
    **{"completion_window": "24h", "status": "failed", "metadata": {"k": SSN}},
}


def said(call: Call) -> dict[str, Any]:
    """A whole answer with something to mask."""
    text = (
        json.dumps(WHOLE[call]).replace('"Hi"', f'"a secret {SSN}"').replace('"Hello"', f'"a secret {SSN}"')
    )
    answer: dict[str, Any] = json.loads(text)
    for choice in answer.get("choices", ()):
        choice.pop("logprobs", None)
    return answer


# the name in events, the method, the answer, and whether interceptors see what is asked and what is said
SURFACES: dict[str, tuple[str, str, Callable[[Any], Any], Any, bool, bool]] = {
    "count": (
        "openai",
        "responses.input_tokens.count",
        lambda client: client.responses.input_tokens.count(model="m", input=ASK),
        {"object": "response.input_tokens", "input_tokens": 3, "note": SSN},
        True,
        False,
    ),
    "compact": (
        "openai",
        "responses.compact",
        lambda client: client.responses.compact(model="m", input=ASK),
        {**said(RESPONSES), "object": "response.compaction"},
        True,
        True,
    ),
    "retrieve": (
        "openai",
        "responses.retrieve",
        lambda client: client.responses.retrieve("resp_1"),
        said(RESPONSES),
        False,
        True,
    ),
    "cancel": (
        "openai",
        "responses.cancel",
        lambda client: client.responses.cancel("resp_1"),
        said(RESPONSES),
        False,
        True,
    ),
    "stored chat": (
        "openai",
        "chat.completions.retrieve",
        lambda client: client.chat.completions.retrieve("c_1"),
        said(CHAT),
        False,
        True,
    ),
    "embeddings": (
        "openai",
        "embeddings.create",
        lambda client: client.embeddings.create(
            model="m", input=[f"a secret {SSN}"], encoding_format="float"
        ),
        {"object": "list", "data": [], "model": "m", "note": SSN},
        True,
        False,
    ),
    "batch of files": (
        "openai",
        "batches.create",
        lambda client: client.batches.create(
            completion_window="24h", endpoint="/v1/responses", input_file_id="f", metadata={"k": SSN}
        ),
        OPENAI_BATCH,
        False,
        False,
    ),
    "state of a batch of files": (
        "openai",
        "batches.retrieve",
        lambda client: client.batches.retrieve("b"),
        OPENAI_BATCH,
        False,
        False,
    ),
    "batch": (
        "anthropic",
        "messages.batches.create",
        lambda client: client.messages.batches.create(requests=BATCH),
        STATE,
        True,
        False,
    ),
    "beta batch": (
        "anthropic",
        "messages.batches.create",
        lambda client: client.beta.messages.batches.create(requests=BATCH),
        STATE,
        True,
        False,
    ),
    "beta message": (
        "anthropic",
        "messages.create",
        lambda client: client.beta.messages.create(model="m", max_tokens=9, messages=ASK),
        said(MESSAGES),
        True,
        True,
    ),
    "count of a message": (
        "anthropic",
        "messages.count_tokens",
        lambda client: client.messages.count_tokens(model="m", messages=ASK),
        {"input_tokens": 3, "note": SSN},
        True,
        False,
    ),
    "beta count": (
        "anthropic",
        "messages.count_tokens",
        lambda client: client.beta.messages.count_tokens(model="m", messages=ASK),
        {"input_tokens": 3, "note": SSN},
        True,
        False,
    ),
}


@pytest.mark.parametrize("world_name", ["sync", "asyncio"])
@pytest.mark.parametrize("surface", SURFACES)
def test_its_texts_are_seen(surface: str, world_name: str) -> None:
    vendor, name, ask, body, is_asked, is_said = SURFACES[surface]

    async def step(use: Use) -> None:
        answer = await go(ask(use.client))
        text = answer.model_dump_json(warnings=False)
        assert SSN not in text
        assert "[SSN]" in text
        assert ("a *** [SSN]" in text) is is_said
        [started] = use.observer.attributes_of("tramai.operation.started")
        assert started["method_name"] == name

    settings: dict[str, Any] = {"interceptors": [Masking()], "dlp": DLP, "request_dlp": DLP}
    [request] = World(world_name, vendor).use_stub([httpx2.Response(200, json=body)], step, **settings)
    assert SSN.encode() not in request.content
    assert (b"a *** [SSN]" in request.content) is is_asked


def test_a_response_that_is_streamed_again_is_governed(world: World) -> None:
    text = json.dumps(STREAMS[RESPONSES]).replace('"Hello"', '"I 123-45-6789"')
    events = json.loads(text.replace('"Hel"', '"I 123"').replace('"lo"', '"-45-6789"'))
    body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)

    async def step(use: Use) -> None:
        items = await items_of(await go(use.client.responses.retrieve("resp_1", stream=True)))
        said = [item.model_dump_json(warnings=False) for item in items]
        assert not [each for each in said if "123" in each or "6789" in each]
        assert "I [SSN]" in said[-1]

    stream = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())
    world.use_stub([stream], step, dlp=DLP)


def test_results_of_a_batch_are_inspected(world: World) -> None:
    url = "https://api.anthropic.com/v1/messages/batches/b/results"
    state = {**STATE, "processing_status": "ended", "results_url": url}
    result = {"custom_id": "one", "result": {"type": "succeeded", "message": said(MESSAGES)}}
    lines = (json.dumps(result) + "\n").encode() * 2
    answers = [
        httpx2.Response(200, json=state),
        httpx2.Response(200, headers={"content-type": "application/x-jsonl"}, content=lines),
    ]

    async def step(use: Use) -> None:
        items = await items_of(await go(use.client.messages.batches.results("b")))
        assert len(items) == 2
        for item in items:
            assert item.result.message.content[1].text == "a secret [SSN]"
        started = use.observer.attributes_of("tramai.operation.started")
        assert started[-1]["method_name"] == "messages.batches.results"

    other = World(world.name, "anthropic")
    other.url = lambda server: "https://api.anthropic.com"  # type: ignore[method-assign]
    other.use_stub(answers, step, dlp=DLP)


def test_azure_s_paths_are_the_same_calls() -> None:
    sent: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        kind = (
            MESSAGES
            if "messages" in request.url.path
            else RESPONSES
            if "responses" in request.url.path
            else CHAT
        )
        if "embeddings" in request.url.path:
            return httpx2.Response(200, json={"object": "list", "data": [], "model": "m"})
        return httpx2.Response(200, json=said(kind))

    client = wrap(
        openai.AzureOpenAI(
            api_key="none",
            api_version="2024-10-21",
            azure_endpoint="https://one.example",
            http_client=httpx2.Client(transport=httpx2.MockTransport(handle)),
        ),
        interceptors=[Masking()],
        dlp=DLP,
    )
    chat = client.chat.completions.create(model="m", messages=ASK)
    assert chat.choices[0].message.content == "a *** [SSN]"
    assert client.responses.create(model="m", input=ASK).output_text == "a *** [SSN]"
    client.embeddings.create(model="m", input="a secret", encoding_format="float")
    assert [request.url.path for request in sent] == [
        "/openai/deployments/m/chat/completions",
        "/openai/responses",
        "/openai/deployments/m/embeddings",
    ]
    assert all(b"secret" not in request.content for request in sent)
