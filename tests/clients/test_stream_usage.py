"""A token budget holds for streams whose client did not ask for tokens, and the client sees none of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go, items_of
from tramapy import (
    ModelResponse,
    TokenBudgetExceededError,
    TokenBudgetSettings,
    TokenUsage,
)
from tramapy.clients.openai_chat_stream import CHAT_STREAM
from tramapy.clients.openai_choices import ChoiceDecoder
from tramapy.clients.openai_other import CompletionsCodec
from tramapy.clients.stream_usage import lacks_usage
from tramapy.wire.sse import SseEvent

pytestmark = SDK_LEAVES_GENERATORS

ANSWER = ModelResponse(content="so much", usage=TokenUsage(input_tokens=10, output_tokens=10))
TIGHT = TokenBudgetSettings(hard_max_tokens_per_attempt=19)
WIDE = TokenBudgetSettings(hard_max_tokens_per_attempt=20)


def options(use: Use) -> Any:
    """The `stream_options` that the server got last."""
    return use.server.requests[-1].body.get("stream_options")  # type: ignore[union-attr]


def test_a_hard_budget_holds_for_a_stream_that_did_not_ask_for_tokens(world: World) -> None:
    async def step(use: Use) -> None:
        items: list[Any] = []
        with pytest.raises(TokenBudgetExceededError) as caught:
            await items_of(await go(use.create(stream=True)), items)
        assert caught.value.observed_tokens == 20
        assert "token_budget.usage_unavailable" not in use.names

    world.use([ANSWER], step, token_budget=TIGHT)


def test_the_client_sees_no_tokens_that_it_did_not_ask_for() -> None:
    async def step(use: Use) -> None:
        ours = await items_of(use.create(stream=True, stream_options={"include_obfuscation": False}))
        assert options(use) == {"include_obfuscation": False, "include_usage": True}
        theirs = await items_of(use.create(client=use.bare, stream=True))
        assert options(use) is None

        def said(items: list[Any]) -> list[Any]:
            return [{**item.model_dump(), "id": 0, "created": 0} for item in items]

        assert said(ours) == said(theirs)

    World("sync").use([ANSWER] * 2, step, token_budget=WIDE)


@pytest.mark.parametrize("is_asked", [True, False])
def test_what_the_client_says_of_tokens_itself_stays(is_asked: bool) -> None:
    async def step(use: Use) -> None:
        given = {"include_usage": is_asked}
        items = await items_of(use.create(stream=True, stream_options=given))
        assert options(use) == given
        assert bool(items[-1].usage) is is_asked
        assert ("token_budget.usage_unavailable" in use.names) is not is_asked

    World("sync").use([ANSWER], step, token_budget=WIDE)


def test_without_a_budget_nothing_is_asked() -> None:
    async def step(use: Use) -> None:
        assert await use.stream() == "so much"
        assert options(use) is None

    World("sync").use([ANSWER], step)


USAGE = {"prompt_tokens": 1, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("event", "frame"),
    [
        (
            b'{"id":"c","choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}',
            b'{"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}',
        ),
        (
            b'{"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}}], "usage": null}',
            b'{"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}',
        ),
        (json.dumps({"id": "c", "choices": [], "usage": USAGE}).encode(), None),
        (
            json.dumps({"id": "c", "choices": [], "usage": USAGE, "note": "x"}).encode(),
            b'{"id":"c","choices":[],"note":"x"}',
        ),
        (
            b'{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}',
            b'{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}',
        ),
    ],
    ids=["null", "null with blanks", "usage alone", "usage and more", "usage with a text"],
)
def test_an_event_without_the_tokens(event: bytes, frame: bytes | None) -> None:
    decoder = ChoiceDecoder(CHAT_STREAM, 10_000)
    decoder.hides_usage = True
    (taken,) = decoder.feed(SseEvent("", event))
    assert taken.frame() == (b"" if frame is None else b"data: " + frame + b"\n\n")


def test_hidden_tokens_are_counted() -> None:
    decoder = CompletionsCodec().stream(10_000)
    decoder.hides_usage = True
    decoder.feed(SseEvent("", b'{"choices":[{"index":0,"text":"a","finish_reason":"stop"}]}'))
    decoder.feed(SseEvent("", json.dumps({"choices": [], "usage": USAGE}).encode()))
    (response,) = decoder.finish().responses(lambda lane: "a")
    assert response.usage.output_tokens == 2


@pytest.mark.parametrize("odd", [{"stream_options": "x"}, {"stream_options": {"include_usage": 0}}])
def test_what_is_no_option_is_left_for_the_provider_to_refuse(odd: dict[str, Any]) -> None:
    assert not lacks_usage(odd)
