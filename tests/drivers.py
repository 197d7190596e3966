"""One way to run a test on a plain thread, on asyncio and on trio."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import pytest

from tramapy import (
    AsyncTramapy,
    Chunk,
    CompletedChunk,
    Message,
    ModelResponse,
    RetryPolicySettings,
    TextChunk,
    Tramapy,
)
from tramapy.testing import FakeClock, RecordingObserver, ScriptedProvider

HELLO = (Message.user("hello"),)

NO_JITTER = RetryPolicySettings(jitter_ratio=0.0)


class Rig:
    """A facade over scripted providers, with a fake clock, a seed and a recorder.

    Attributes:
        clock: The `FakeClock` that the pipeline reads and sleeps on.
        observer: The `RecordingObserver` that hears every event.
        tramapy: The facade.
    """

    def __init__(self, driver: Driver, providers: Mapping[str, Any], settings: dict[str, Any]) -> None:
        self.driver = driver
        self.clock: FakeClock = settings.setdefault("clock", FakeClock())
        self.observer = RecordingObserver()
        settings.setdefault("random", random.Random(7))
        settings.setdefault("retry", NO_JITTER)
        settings["event_observers"] = [self.observer, *settings.get("event_observers", ())]
        facade: Any = Tramapy if driver.name == "sync" else AsyncTramapy
        self.tramapy = facade(providers, **settings)

    def complete(
        self, messages: Sequence[Message] = HELLO, *, model: str = "m", **options: Any
    ) -> ModelResponse:
        """Run one `complete` to its end."""
        if self.driver.name == "sync":
            return self.tramapy.complete(messages, model=model, **options)

        async def main() -> ModelResponse:
            return await self.tramapy.complete(messages, model=model, **options)

        return self.driver.run(main)

    def stream(
        self,
        messages: Sequence[Message] = HELLO,
        *,
        model: str = "m",
        take: int | None = None,
        into: list[Chunk] | None = None,
        **options: Any,
    ) -> list[Chunk]:
        """Run one `stream`, to its end or until `take` chunks have come; `into` keeps what came before an error."""
        chunks: list[Chunk] = [] if into is None else into
        if self.driver.name == "sync":
            with self.tramapy.stream(messages, model=model, **options) as stream:
                for chunk in stream:
                    chunks.append(chunk)
                    if len(chunks) == take:
                        break
            return chunks

        async def main() -> None:
            async with self.tramapy.stream(messages, model=model, **options) as stream:
                async for chunk in stream:
                    chunks.append(chunk)
                    if len(chunks) == take:
                        break

        self.driver.run(main)
        return chunks

    @property
    def names(self) -> list[str]:
        """The names of the events so far, without their `tramai.`."""
        return [name.removeprefix("tramai.") for name in self.observer.names]

    def attributes_of(self, name: str) -> list[Mapping[str, Any]]:
        """The attributes of each event of a name that is given without `tramai.`."""
        return list(self.observer.attributes_of(f"tramai.{name}"))


class Driver:
    """A world to run in: `sync`, `asyncio` or `trio`."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def is_async(self) -> bool:
        """Whether hooks may be `async def` here."""
        return self.name != "sync"

    def rig(self, providers: ScriptedProvider | Mapping[str, Any] | Sequence[Any], **settings: Any) -> Rig:
        """Build a facade; a single provider, or a list of its answers, is provider `p`."""
        if isinstance(providers, ScriptedProvider):
            providers = {"p": providers}
        elif not isinstance(providers, Mapping):
            providers = {"p": ScriptedProvider(providers)}
        return Rig(self, providers, settings)

    def run(self, main: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async function on this event loop."""
        return anyio.run(main, backend=self.name)


def text_of(chunks: Sequence[Chunk]) -> str:
    """Join the text that a stream released."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


def response_of(chunks: Sequence[Chunk]) -> ModelResponse:
    """Return the response at the end of a stream."""
    last = chunks[-1]
    assert isinstance(last, CompletedChunk)
    return last.response


@pytest.fixture(params=["sync", "asyncio", "trio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Every world."""
    return Driver(request.param)


@pytest.fixture(params=["asyncio", "trio"])
def async_driver(request: pytest.FixtureRequest) -> Driver:
    """The event loops."""
    return Driver(request.param)
