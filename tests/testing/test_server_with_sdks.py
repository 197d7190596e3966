"""`ScriptedServer` against the vendors' own SDKs: they parse what it writes."""

from __future__ import annotations

import openai
import pytest
from openai.types.responses import ResponseCompletedEvent

from tramapy.messages import ModelResponse, TokenUsage, ToolCall
from tramapy.testing import HttpRejection, ScriptedAnswer, ScriptedServer

FULL = ModelResponse(
    content="one two",
    tool_calls=(ToolCall(id="c1", name="search", arguments_json='{"q": "x"}'),),
    reasoning="hm so",
    usage=TokenUsage(input_tokens=11, output_tokens=7, cache_read_tokens=2),
)
ASK = [{"role": "user", "content": "hi"}]


class Served:
    """A server, and a client of the OpenAI SDK."""

    def __init__(self, answer: ScriptedAnswer) -> None:
        self.server = ScriptedServer([answer])

    def __enter__(self) -> openai.OpenAI:
        self.server.__enter__()
        self.client = openai.OpenAI(base_url=self.server.base_url, api_key="plainly-fake", max_retries=0)
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.server.__exit__(None, None, None)


def test_openai_sdk_reads_a_chat_completion() -> None:
    with Served(FULL) as client:
        completion = client.chat.completions.create(model="m", messages=ASK)  # type: ignore[arg-type]

    message = completion.choices[0].message
    assert (message.content, message.tool_calls[0].function.arguments) == ("one two", '{"q": "x"}')  # type: ignore[index,union-attr]
    assert (completion.usage.total_tokens, completion.usage.prompt_tokens_details.cached_tokens) == (18, 2)  # type: ignore[union-attr]


def test_openai_sdk_assembles_a_chat_stream() -> None:
    with Served(FULL) as client, client.chat.completions.stream(model="m", messages=ASK) as stream:  # type: ignore[arg-type]
        final = stream.get_final_completion()

    message = final.choices[0].message
    assert (message.content, message.tool_calls[0].function.name) == ("one two", "search")  # type: ignore[index]


def test_openai_sdk_reads_a_response() -> None:
    with Served(FULL) as client:
        response = client.responses.create(model="m", input="hi")

    assert (response.output_text, response.usage.total_tokens) == ("one two", 18)  # type: ignore[union-attr]
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]


def test_openai_sdk_reads_a_response_stream() -> None:
    with Served(FULL) as client:
        events = list(client.responses.create(model="m", input="hi", stream=True))

    assert isinstance(events[-1], ResponseCompletedEvent)
    assert events[-1].response.output_text == "one two"
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert deltas == ["one ", "two"]


def test_openai_sdk_reads_a_rejection() -> None:
    with (
        Served(HttpRejection(status=429, code="insufficient_quota")) as client,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        client.responses.create(model="m", input="hi")

    assert caught.value.code == "insufficient_quota"


def test_anthropic_sdk_reads_messages() -> None:
    anthropic = pytest.importorskip("anthropic")
    fields = {"model": "m", "max_tokens": 9, "messages": ASK}
    with (
        ScriptedServer([FULL, FULL, HttpRejection(status=529)]) as server,
        anthropic.Anthropic(base_url=server.root_url, api_key="plainly-fake", max_retries=0) as client,
    ):
        message = client.messages.create(**fields)
        with client.messages.stream(**fields) as stream:
            streamed = stream.get_final_message()
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(**fields)

    for found in (message, streamed):
        assert [block.type for block in found.content] == ["thinking", "text", "tool_use"]
        assert (found.content[1].text, found.content[2].input) == ("one two", {"q": "x"})
        assert (found.stop_reason, found.usage.input_tokens, found.usage.output_tokens) == ("tool_use", 9, 7)
    assert caught.value.status_code == 529
