"""A wrapped client beside the bare one: a call with 2 KB of exchange, and one chunk of a stream.

The HTTP transport is a double in memory, so what is left is the vendor's client and what is put around it. Its answers
have the fields that the vendors send, and come unread, as from a connection. Bars are scaled by `tenacity` alone.

A whole call of a vendor's client varies by more than what is measured, on a machine with other work: below each call
stands the governed `send` beside the HTTP client's own, where all of the difference is made. It is less, since in a
loop of its own it finds everything in the processor's caches.
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
from benchmarks.yardstick import shown_scale
from tramapy import RuleBasedDlpInterceptor, wrap

CALL_BAR_US = 150.0
CHUNK_BAR_US = 25.0
CALLS = 12
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
            "message": {
                "role": "assistant",
                "content": (SENTENCE * 14)[:1000],
                "refusal": None,
                "annotations": [],
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 212,
        "completion_tokens": 234,
        "total_tokens": 446,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    },
    "service_tier": "default",
    "system_fingerprint": "fp_44709d6fcb",
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "content": [{"type": "text", "text": (SENTENCE * 14)[:1000]}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 212,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 234,
        "service_tier": "standard",
    },
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
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
            "usage": None,
            "obfuscation": "aB3"[: len(delta.get("content", "")) % 4],
        }
    )


CHAT_STREAM = [
    _chat_chunk({"role": "assistant", "content": ""}),
    *(_chat_chunk({"content": f"{word} "}) for word in WORDS),
    _chat_chunk({}, "stop"),
    b"data: [DONE]\n\n",
]


CHAT_BODY = json.dumps(CHAT).encode()
MESSAGE_BODY = json.dumps(MESSAGE).encode()


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield from CHAT_STREAM

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in CHAT_STREAM:
            yield chunk


def _answer(request: httpx2.Request) -> httpx2.Response:
    if b'"stream":true' in request.content:
        return httpx2.Response(200, stream=_Body(), headers={"content-type": "text/event-stream"})
    body = MESSAGE_BODY if request.url.path.endswith("messages") else CHAT_BODY
    headers = {"content-type": "application/json", "x-request-id": "req_1"}
    return httpx2.Response(200, stream=httpx2.ByteStream(body), headers=headers)


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


def _sends(client: Any) -> Callable[[int], None]:
    """Send what the vendor's client sends for a call, without the client."""
    http_client = client._client
    question = {"messages": [{"role": "user", "content": QUESTION}]}
    is_claude = isinstance(client, anthropic.Anthropic)
    request = http_client.build_request(
        "POST",
        f"{client.base_url}{'/v1/messages' if is_claude else 'chat/completions'}",
        json=question
        | ({"model": "claude-sonnet-5-5", "max_tokens": 100} if is_claude else {"model": "gpt-4o"}),
        headers={name: value for name, value in client.default_headers.items() if isinstance(value, str)},
    )

    def run(calls: int) -> None:
        for _ in range(calls):
            http_client.send(request, stream=True).read()

    return run


def main() -> None:
    """Print what wrapping adds."""
    dlp = RuleBasedDlpInterceptor.with_default_rules()
    print(f"wrap (default rules: {dlp!r})")
    scale = shown_scale()
    transport = httpx2.MockTransport(_answer)
    chat = openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport))
    claude = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))
    achat = openai.AsyncOpenAI(api_key="none", http_client=httpx2.AsyncClient(transport=transport))
    for name, client, calls in (("openai", chat, _calls), ("anthropic", claude, _message_calls)):
        clients = {"bare": client, "wrap": wrap(client), "dlp": wrap(client, dlp=dlp)}
        figures = best_us({kind: calls(each) for kind, each in clients.items()}, CALLS)
        _show(f"{name}, one call", figures, CALL_BAR_US * scale)
        figures = best_us({kind: _sends(each) for kind, each in clients.items()}, CALLS)
        _show(f"{name}, its send", figures)
    _show("openai on asyncio, one call", asyncio.run(_async_figures(achat, dlp)), CALL_BAR_US * scale)
    streamed = best_us(
        {"bare": _streams(chat), "wrap": _streams(wrap(chat)), "dlp": _streams(wrap(chat, dlp=dlp))}, 2
    )
    chunk = {name: us / len(CHAT_STREAM) for name, us in streamed.items()}
    _show("openai, one chunk", chunk, CHUNK_BAR_US * scale)


async def _async_figures(client: openai.AsyncOpenAI, dlp: RuleBasedDlpInterceptor) -> dict[str, float]:
    return await abest_us(
        {
            "bare": _async_calls(client),
            "wrap": _async_calls(wrap(client)),
            "dlp": _async_calls(wrap(client, dlp=dlp)),
        },
        CALLS,
    )


def _show(what: str, figures: dict[str, float], bar_us: float | None = None) -> None:
    bare = figures["bare"]
    bar = None if bar_us is None else round(bar_us, 1)
    print(row(f"{what}, bare client", bare, "us"))
    print(row(f"{what}, added by wrap", figures["wrap"] - bare, "us"))
    print(row(f"{what}, added by wrap with default rules", figures["dlp"] - bare, "us", bar), flush=True)


if __name__ == "__main__":
    main()
