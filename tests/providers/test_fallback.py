"""`Tramapy` goes from one vendor's provider to the next, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import anthropic
import anyio
import httpx2
import openai
import pytest

from tests.providers.worlds import API_KEY, CHAT, MESSAGES, RESPONSES, Format
from tramapy import (
    AsyncTramapy,
    CompletedChunk,
    Message,
    RetryPolicySettings,
    Route,
    TextChunk,
    ToolCall,
    ToolDefinition,
    Tramapy,
)
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    HttpRejection,
    MidStreamError,
    RecordingObserver,
    ScriptedAnswer,
    ScriptedServer,
)

CALL = ToolCall(id="c1", name="search", arguments_json='{"q": 1}')
HISTORY = [
    Message.system("be brief"),
    Message.user("what?"),
    Message.assistant(tool_calls=[CALL]),
    Message.tool("found", tool_call_id="c1"),
]
OVERLOADED = ErrorDetail(error_type="overloaded_error", code="rate_limit_exceeded")

FAULTS: dict[str, tuple[ScriptedAnswer, ScriptedAnswer]] = {
    "rejections": (HttpRejection(status=503), HttpRejection(status=529)),
    "resets": (ConnectionReset(), ConnectionReset(after_events=1)),
}
STREAM_FAULTS: dict[str, tuple[ScriptedAnswer, ScriptedAnswer]] = {
    **FAULTS,
    # before any text: what was released cannot be taken back
    "cuts": (CutStream(after_events=1), CutStream(after_events=1)),
    "error-events": (
        MidStreamError(detail=OVERLOADED, after_events=1),
        MidStreamError(detail=OVERLOADED, after_events=1),
    ),
}


class Vendors:
    """Three providers that share a server, behind a facade of one attempt each."""

    def __init__(self, *answers: ScriptedAnswer, order: tuple[Format, ...] = (CHAT, RESPONSES, MESSAGES)):
        self.server = ScriptedServer(answers)
        self.heard = RecordingObserver()
        self._order = order

    def settings(self) -> dict[str, object]:
        first, *others = (wire.name for wire in self._order)
        return {
            "default_provider": first,
            "fallbacks": {"gpt": [Route(name, f"{name}-model") for name in others]},
            "retry": RetryPolicySettings(provider_retries=0),
            "event_observers": [self.heard],
        }


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def sync_facade(stack: ExitStack, vendors: Vendors) -> Tramapy:
    server = stack.enter_context(vendors.server)
    oai = stack.enter_context(
        openai.OpenAI(
            base_url=server.base_url, api_key=API_KEY, http_client=httpx2.Client(verify=False, timeout=60)
        )
    )
    claude = stack.enter_context(
        anthropic.Anthropic(
            base_url=server.root_url, api_key=API_KEY, http_client=httpx2.Client(verify=False, timeout=60)
        )
    )
    providers = {
        "chat": CHAT.provider(oai),
        "responses": RESPONSES.provider(oai),
        "messages": MESSAGES.provider(claude),
    }
    return Tramapy(providers, **vendors.settings())  # type: ignore[arg-type]


ORDERS = [(CHAT, RESPONSES, MESSAGES), (MESSAGES, CHAT, RESPONSES), (RESPONSES, MESSAGES, CHAT)]
every_order = pytest.mark.parametrize(
    "order", ORDERS, ids=lambda order: "-".join(wire.name for wire in order)
)


def check(vendors: Vendors, order: tuple[Format, ...]) -> None:
    """Check that each vendor was asked once, in order, and that all failures came as events."""
    assert [request.path for request in vendors.server.requests] == [wire.path for wire in order]
    assert [request.body["model"] for request in vendors.server.requests] == [
        "gpt",
        *(f"{wire.name}-model" for wire in order[1:]),
    ]
    outcomes = [name for name in vendors.heard.names if name.startswith("tramai.attempt.")]
    assert [name.rpartition(".")[2] for name in outcomes if not name.endswith("started")] == [
        "failed",
        "failed",
        "completed",
    ]


@every_order
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_whole_answer_falls_back_over_vendors(
    stack: ExitStack, order: tuple[Format, ...], faults: tuple[ScriptedAnswer, ScriptedAnswer]
) -> None:
    vendors = Vendors(*faults, "at last", order=order)
    tramapy = sync_facade(stack, vendors)

    response = tramapy.complete(HISTORY, model="gpt", tools=[ToolDefinition(name="search")])

    assert response.content == "at last"
    check(vendors, order)


@every_order
@pytest.mark.parametrize("faults", STREAM_FAULTS.values(), ids=STREAM_FAULTS.keys())
def test_stream_falls_back_over_vendors(
    stack: ExitStack, order: tuple[Format, ...], faults: tuple[ScriptedAnswer, ScriptedAnswer]
) -> None:
    vendors = Vendors(*faults, "at last", order=order)
    tramapy = sync_facade(stack, vendors)

    with tramapy.stream(HISTORY, model="gpt", tools=[ToolDefinition(name="search")]) as chunks:
        *pieces, last = chunks

    assert "".join(chunk.text for chunk in pieces if isinstance(chunk, TextChunk)) == "at last"
    assert isinstance(last, CompletedChunk)
    assert last.response.content == "at last"
    check(vendors, order)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_facade_falls_back_over_vendors_too(backend: str) -> None:
    order = ORDERS[0]
    faults = STREAM_FAULTS["error-events"]
    vendors = Vendors(*FAULTS["rejections"], "at last", order=order)
    streamed = Vendors(*faults, "at last", order=order)

    async def ask(vendors: Vendors, *, is_stream: bool) -> str:
        server = vendors.server
        async with (
            openai.AsyncOpenAI(
                base_url=server.base_url, api_key=API_KEY, http_client=httpx2.AsyncClient(verify=False)
            ) as oai,
            anthropic.AsyncAnthropic(
                base_url=server.root_url, api_key=API_KEY, http_client=httpx2.AsyncClient(verify=False)
            ) as claude,
        ):
            providers = {
                "chat": CHAT.async_provider(oai),
                "responses": RESPONSES.async_provider(oai),
                "messages": MESSAGES.async_provider(claude),
            }
            tramapy = AsyncTramapy(providers, **vendors.settings())  # type: ignore[arg-type]
            if not is_stream:
                return (await tramapy.complete(HISTORY, model="gpt")).content
            async with tramapy.stream(HISTORY, model="gpt") as chunks:
                return "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextChunk)])

    async def main() -> None:
        assert await ask(vendors, is_stream=False) == "at last"
        assert await ask(streamed, is_stream=True) == "at last"

    with vendors.server, streamed.server:
        anyio.run(main, backend=backend)
        check(vendors, order)
        check(streamed, order)


def test_history_of_one_vendor_is_sent_in_the_words_of_the_next(stack: ExitStack) -> None:
    vendors = Vendors(*FAULTS["rejections"], "at last")
    sync_facade(stack, vendors).complete(HISTORY, model="gpt")
    chat, responses, messages = (request.body for request in vendors.server.requests)

    assert [item["role"] for item in chat["messages"]] == ["system", "user", "assistant", "tool"]  # type: ignore[attr-defined]
    assert [item.get("type", item.get("role")) for item in responses["input"]] == [  # type: ignore[attr-defined]
        "system",
        "user",
        "function_call",
        "function_call_output",
    ]
    assert [item["role"] for item in messages["messages"]] == ["user", "assistant", "user"]  # type: ignore[attr-defined]
    assert messages["messages"][1]["content"] == [  # type: ignore[index]
        {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": 1}}
    ]
