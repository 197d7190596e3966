"""One way to use a wrapped client on a plain thread, on asyncio and on trio, for both vendors."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest

from tests.clients.simple_codec import NoStreams, SimpleCodec
from tramapy.clients import vendors
from tramapy.clients.surfaces import Surfaces
from tramapy.testing import FakeClock, RecordingObserver, ScriptedAnswer, ScriptedServer
from tramapy.wrapping import wrap

API_KEY = "plainly-fake-api-key"

SDK_LEAVES_GENERATORS = pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object")
"""The SDKs and their HTTP library leave generators to trio's finalizer, wrapped or not; it warns."""

Step = Callable[["Use"], Awaitable[Any]]


async def go(value: Any) -> Any:
    """Await what an async client returned; a sync client's is there already."""
    return await value if inspect.isawaitable(value) else value


async def items_of(stream: Any, into: list[Any] | None = None) -> list[Any]:
    """Take a whole stream, sync or async; `into` keeps what came before an error."""
    items: list[Any] = [] if into is None else into
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            items.append(item)  # an error must not lose what came before it
    else:
        items.extend(stream)
    return items


def text_of(items: Iterable[Any]) -> str:
    """Join the text of a stream's items, of either vendor."""
    texts: list[str] = []
    for item in items:
        if getattr(item, "choices", None):
            texts.append(item.choices[0].delta.content or "")
        elif getattr(item, "type", None) == "content_block_delta":
            texts.append(getattr(item.delta, "text", ""))
    return "".join(texts)


def open_count(bare: Any) -> int:
    """How many connections of a client are in use."""
    pool = bare._client._transport._pool
    return sum(not (each.is_idle() or each.is_closed()) for each in pool.connections)


class Use:
    """A wrapped client in use.

    Attributes:
        bare: The client before.
        client: The client after.
        observer: Hears its events.
        clock: The clock of its attempts.
        server: What answers.
    """

    def __init__(self, bare: Any, client: Any, world: World, server: ScriptedServer) -> None:
        self.bare = bare
        self.client = client
        self.observer: RecordingObserver = world.observer
        self.clock: FakeClock = world.clock
        self.server = server
        self.vendor = world.vendor

    def create(self, text: str = "hello", client: Any = None, **options: Any) -> Any:
        """Ask, by the vendor's main method."""
        client = self.client if client is None else client
        options = {"model": "m", "messages": [{"role": "user", "content": text}], **options}
        if self.vendor == "openai":
            return client.chat.completions.create(**options)
        return client.messages.create(max_tokens=9, **options)

    async def ask(self, text: str = "hello", client: Any = None, **options: Any) -> str:
        """Ask, and return the answer's text."""
        answer = await go(self.create(text, client, **options))
        if self.vendor == "openai":
            return answer.choices[0].message.content
        return answer.content[0].text

    async def stream(self, text: str = "hello", client: Any = None, **options: Any) -> str:
        """Ask for a stream, and return the whole text."""
        return text_of(await items_of(await go(self.create(text, client, stream=True, **options))))

    @property
    def names(self) -> list[str]:
        """The names of the events so far, without their `tramai.`."""
        return [name.removeprefix("tramai.") for name in self.observer.names]


class World:
    """`sync`, `asyncio` or `trio`, and a vendor."""

    def __init__(self, name: str, vendor: str = "openai") -> None:
        self.name = name
        self.vendor = vendor
        self.observer = RecordingObserver()
        self.clock = FakeClock()

    @property
    def is_async(self) -> bool:
        """Whether it has an event loop."""
        return self.name != "sync"

    @property
    def sdk(self) -> Any:
        """The vendor's package."""
        return openai if self.vendor == "openai" else anthropic

    def bare(self, url: str, **options: Any) -> Any:
        """Make a client; without certificates, which take 100 ms to load."""
        kind = httpx2.AsyncClient if self.is_async else httpx2.Client
        options = {
            "http_client": kind(verify=False, timeout=60, follow_redirects=True),
            "max_retries": 0,
            "base_url": url,
            "api_key": API_KEY,
            **options,
        }
        title = "OpenAI" if self.vendor == "openai" else "Anthropic"
        return getattr(self.sdk, f"Async{title}" if self.is_async else title)(**options)

    def url(self, server: ScriptedServer) -> str:
        """The base URL of the vendor's client."""
        return server.base_url if self.vendor == "openai" else server.root_url

    def use(self, answers: Iterable[ScriptedAnswer], step: Step, **options: Any) -> Any:
        """Run a step with a client over a server that gives these answers; the options are those of `serve`."""
        return self.run(lambda: self.serve(answers, step, **options))

    async def serve(
        self,
        answers: Iterable[ScriptedAnswer],
        step: Step,
        *,
        client_options: dict[str, Any] | None = None,
        server_class: type[ScriptedServer] = ScriptedServer,
        **settings: Any,
    ) -> Any:
        """Do what `use` does, where a loop runs already."""
        with server_class(answers) as server:
            bare = self.bare(self.url(server), **(client_options or {}))
            if "tramapy" not in settings:
                settings.setdefault("clock", self.clock)
                settings["event_observers"] = [self.observer, *settings.get("event_observers", ())]
            client = wrap(bare, **settings)
            try:
                return await step(Use(bare, client, self, server))
            finally:
                await go(bare.close())

    def use_stub(
        self, answers: Iterable[httpx2.Response], step: Step, **settings: Any
    ) -> list[httpx2.Request]:
        """Run a step with a client whose HTTP client gives these answers, whatever the path; return what it got."""
        left = iter(answers)
        sent: list[httpx2.Request] = []

        def handle(request: httpx2.Request) -> httpx2.Response:
            sent.append(request)
            return next(left)

        kind: Any = httpx2.AsyncClient if self.is_async else httpx2.Client
        options = {"http_client": kind(transport=httpx2.MockTransport(handle), follow_redirects=True)}
        self.use([], step, client_options=options, **settings)
        return sent

    def run(self, main: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async function here; on a plain thread it must not wait."""
        if self.is_async:
            try:
                return anyio.run(main, backend=self.name)
            finally:
                if self.name == "trio":
                    gc.collect()  # what the SDK leaves to trio's finalizer is complained of here, not in a later test
        coroutine: Any = main()
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("a sync step waited")


@pytest.fixture(params=["sync", "asyncio", "trio"])
def world(request: pytest.FixtureRequest) -> World:
    """Every world, with the OpenAI SDK."""
    return World(request.param)


@pytest.fixture(
    params=[(name, vendor) for name in ("sync", "asyncio", "trio") for vendor in ("openai", "anthropic")],
    ids="-".join,
)
def any_world(request: pytest.FixtureRequest) -> World:
    """Every world, with every SDK."""
    return World(*request.param)


SIMPLE = Surfaces(
    {"chat.completions.create": SimpleCodec()},
    streaming=frozenset({"chat.completions.create"}),
    generic=NoStreams(),
)


@pytest.fixture
def simple(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `wrap` read and write by the small codec: what it calls opaque stands for all that cannot be read."""
    monkeypatch.setattr("tramapy.wrapping.surfaces_of", lambda vendor: SIMPLE)
    assert vendors.surfaces_of("openai") is not SIMPLE
