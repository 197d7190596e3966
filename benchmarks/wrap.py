"""A wrapped client beside the bare one: a call with 2 KB of exchange, and one chunk of a stream.

The HTTP transport is a double in memory, so what is left is the vendor's client and what is put around it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai

from benchmarks.measure import abest_us, best_us, row
from tramapy import RuleBasedDlpInterceptor, wrap

CALL_BAR_US = 150.0
CHUNK_BAR_US = 25.0
CALLS = 30
CHUNKS = 200

QUESTION = ("Tell me about the peoples of Europe and their long history, please. " * 16)[:1000]
SENTENCE = "The quick brown fox jumps over the lazy dog, and some more words follow. "
WORDS = (SENTENCE * 40).split(" ")[:CHUNKS]

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": (SENTENCE * 14)[:1000], "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 212, "completion_tokens": 234, "total_tokens": 446},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "content": [{"type": "text", "text": (SENTENCE * 14)[:1000]}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 212, "output_tokens": 234},
}


def _event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def _chat_chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    return _event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "gpt-4o",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
    )


CHAT_STREAM = [
    _chat_chunk({"role": "assistant", "content": ""}),
    *(_chat_chunk({"content": f"{word} "}) for word in WORDS),
    _chat_chunk({}, "stop"),
    b"data: [DONE]\n\n",
]


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield from CHAT_STREAM

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in CHAT_STREAM:
            yield chunk


def _answer(request: httpx2.Request) -> httpx2.Response:
    if b'"stream":true' in request.content:
        return httpx2.Response(200, stream=_Body(), headers={"content-type": "text/event-stream"})
    return httpx2.Response(200, json=MESSAGE if request.url.path.endswith("messages") else CHAT)


def _calls(client: Any) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": QUESTION}])

    return run


def _message_calls(client: Any) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            client.messages.create(
                model="claude-sonnet-5-5", max_tokens=100, messages=[{"role": "user", "content": QUESTION}]
            )

    return run


def _streams(client: Any) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            with client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "x"}], stream=True
            ) as stream:
                for _ in stream:
                    pass

    return run


def _async_calls(client: Any) -> Callable[[int], Any]:
    async def run(calls: int) -> None:
        for _ in range(calls):
            await client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": QUESTION}]
            )

    return run


def main() -> None:
    """Print what wrapping adds."""
    dlp = RuleBasedDlpInterceptor.with_default_rules()
    print(f"wrap (default rules: {dlp!r})")
    transport = httpx2.MockTransport(_answer)
    chat = openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport))
    claude = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))
    achat = openai.AsyncOpenAI(api_key="none", http_client=httpx2.AsyncClient(transport=transport))
    _show(
        "openai, one call",
        best_us(
            {"bare": _calls(chat), "wrap": _calls(wrap(chat)), "dlp": _calls(wrap(chat, dlp=dlp))}, CALLS
        ),
    )
    _show(
        "anthropic, one call",
        best_us(
            {
                "bare": _message_calls(claude),
                "wrap": _message_calls(wrap(claude)),
                "dlp": _message_calls(wrap(claude, dlp=dlp)),
            },
            CALLS,
        ),
    )
    _show("openai on asyncio, one call", asyncio.run(_async_figures(achat, dlp)))
    streamed = best_us(
        {"bare": _streams(chat), "wrap": _streams(wrap(chat)), "dlp": _streams(wrap(chat, dlp=dlp))}, 2
    )
    _show("openai, one chunk", {name: us / len(CHAT_STREAM) for name, us in streamed.items()}, CHUNK_BAR_US)


async def _async_figures(client: openai.AsyncOpenAI, dlp: RuleBasedDlpInterceptor) -> dict[str, float]:
    return await abest_us(
        {
            "bare": _async_calls(client),
            "wrap": _async_calls(wrap(client)),
            "dlp": _async_calls(wrap(client, dlp=dlp)),
        },
        CALLS,
    )


def _show(what: str, figures: dict[str, float], bar_us: float = CALL_BAR_US) -> None:
    bare = figures["bare"]
    print(row(f"{what}, bare client", bare, "us"))
    print(row(f"{what}, added by wrap", figures["wrap"] - bare, "us"))
    print(row(f"{what}, added by wrap with default rules", figures["dlp"] - bare, "us", bar_us))


if __name__ == "__main__":
    main()
