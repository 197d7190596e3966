"""How far a stream is behind its provider: counted in events, for each format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from tests.clients.every_call import CHAT, MESSAGES, RESPONSES, Call, EveryCallServer
from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go
from tramapy import RuleBasedDlpInterceptor

pytestmark = SDK_LEAVES_GENERATORS

TEXT = "The quick brown fox jumps over the lazy dog and says that nothing here is secret"
DLP = RuleBasedDlpInterceptor.with_default_rules()


class CountedEvents(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A stream of which each chunk is one event; `given` are those that were taken."""

    def __init__(self, body: bytes) -> None:
        self._events = [event + b"\n\n" for event in body.split(b"\n\n") if event]
        self.given: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        for event in self._events:
            self.given.append(event)
            yield event

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self:
            yield event

    def text_count(self) -> int:
        """How many of the events that were taken say a word of the text; repeats of it all do not count."""
        return sum(
            any(word in event for word in _WORDS) and TEXT.encode() not in event for event in self.given
        )

    async def aclose(self) -> None:
        """Do nothing."""


_WORDS = [f'"{word}'.encode() for word in TEXT.split(" ")] + [
    f'" {word}'.encode() for word in TEXT.split(" ")
]


def body_of(call: Call) -> bytes:
    """Return the stream of a scripted server's, as it is on the wire."""
    with EveryCallServer([TEXT]) as server, httpx2.Client(verify=False) as http:
        return http.post(server.root_url + PATHS[call.name], json={"model": "m", "stream": True}).content


PATHS = {
    "chat.completions.create": "/v1/chat/completions",
    "responses.create": "/v1/responses",
    "messages.create": "/v1/messages",
}


@pytest.mark.parametrize("name", ["sync", "asyncio"])
@pytest.mark.parametrize("has_dlp", [True, False], ids=["dlp", "plain"])
@pytest.mark.parametrize("call", [CHAT, RESPONSES, MESSAGES], ids=repr)
def test_the_first_released_token_is_at_most_one_hold_back_behind_the_provider_s(
    call: Call, has_dlp: bool, name: str
) -> None:
    events = CountedEvents(body_of(call))
    behind: list[int] = []

    async def step(use: Use) -> None:
        piece: Any = call.piece
        stream = await go(call.start(use.client, "hello", stream=True))
        said = ""

        def take(item: Any) -> None:
            nonlocal said
            text = piece(item)
            if text:
                said += text
                behind.append(events.text_count() - len(said.split()))

        if hasattr(stream, "__aiter__"):
            async for item in stream:
                take(item)
        else:
            for item in stream:
                take(item)
        assert said == TEXT

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=events)
    World(name, call.vendor).use_stub([answer], step, dlp=DLP if has_dlp else None)
    # the word that is not over yet is all that DLP holds back of a text like this
    assert 0 <= behind[0] <= has_dlp
    assert max(behind) <= has_dlp
    assert events.text_count() == len(TEXT.split(" "))
