import contextvars
import threading
from collections.abc import Iterator

import anyio
import pytest

from tests.drivers import Driver, response_of, text_of
from tramapy import (
    AsyncTramapy,
    Chunk,
    CompletedChunk,
    ConfigurationError,
    Message,
    ModelRequest,
    ModelResponse,
    Provider,
    ProviderCapability,
    ProviderCapabilityError,
    ProviderError,
    ProviderTimeoutError,
    RetryPolicySettings,
    TextChunk,
)
from tramapy.providers import ThreadedProvider
from tramapy.testing import RecordingObserver, ScriptedProvider

HELLO = [Message.user("hello")]
REQUEST = ModelRequest(model="m", messages=HELLO)
WAIT_LIMIT_S = 10.0

_tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


class Blocking(Provider):
    """Stands at a gate in the middle of its work, and says when it was closed."""

    def __init__(self) -> None:
        self.is_at_work = threading.Event()
        self.may_go_on = threading.Event()
        self.is_closed = threading.Event()
        self.thread_ids: list[int] = []

    def complete(self, request: ModelRequest) -> ModelResponse:
        self._stand()
        return ModelResponse(content="at last")

    def stream(self, request: ModelRequest) -> Iterator[Chunk]:
        try:
            yield TextChunk("one ")
            self._stand()
            yield TextChunk("two")
            yield CompletedChunk(ModelResponse(content="one two"))
        finally:
            self.is_closed.set()

    def _stand(self) -> None:
        self.thread_ids.append(threading.get_ident())
        self.is_at_work.set()
        assert self.may_go_on.wait(WAIT_LIMIT_S)


async def until(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, WAIT_LIMIT_S)


def facade(provider: Provider, **settings: object) -> AsyncTramapy:
    return AsyncTramapy({"p": ThreadedProvider(provider)}, **settings)  # type: ignore[arg-type]


def test_a_plain_provider_answers_under_the_async_facade(async_driver: Driver) -> None:
    async def main() -> None:
        response = await facade(ScriptedProvider(["hello there"])).complete(HELLO, model="m")
        assert response.content == "hello there"

    async_driver.run(main)


def test_its_errors_are_retried_as_ever(async_driver: Driver) -> None:
    provider = ScriptedProvider([ProviderError("down", retryable=True), "up"])

    async def main() -> None:
        async_tramapy = facade(provider, retry=RetryPolicySettings(jitter_ratio=0.0))
        assert (await async_tramapy.complete(HELLO, model="m")).content == "up"

    async_driver.run(main)


def test_a_stream_gives_the_same_pieces(async_driver: Driver) -> None:
    provider = ScriptedProvider(["a stream in pieces"])

    async def main() -> list[Chunk]:
        async with facade(provider).stream(HELLO, model="m") as chunks:
            return [chunk async for chunk in chunks]

    chunks = async_driver.run(main)
    assert text_of(chunks) == response_of(chunks).content == "a stream in pieces"
    assert provider.open_stream_count == 0


def test_calls_run_in_a_thread_of_their_own_and_see_context_variables(async_driver: Driver) -> None:
    seen: list[tuple[int, str]] = []

    def answer(request: ModelRequest) -> str:
        seen.append((threading.get_ident(), _tenant.get()))
        return "answer"

    async def main() -> int:
        _tenant.set("acme")
        await facade(ScriptedProvider([answer])).complete(HELLO, model="m")
        return threading.get_ident()

    loop_thread_id = async_driver.run(main)
    assert seen[0][0] != loop_thread_id
    assert seen[0][1] == "acme"


def test_a_cancelled_call_ends_at_once_and_its_thread_is_left_to_itself(async_driver: Driver) -> None:
    provider = Blocking()
    observer = RecordingObserver()

    async def main() -> None:
        async_tramapy = facade(provider, event_observers=[observer])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: async_tramapy.complete(HELLO, model="m"))
            await until(provider.is_at_work)
            tasks.cancel_scope.cancel()
        assert "tramai.attempt.cancelled" in observer.names  # while the thread still stands at its gate
        provider.may_go_on.set()

    async_driver.run(main)


def test_a_timeout_does_not_wait_for_the_thread(async_driver: Driver) -> None:
    provider = Blocking()

    async def main() -> None:
        async_tramapy = facade(provider, timeout_s=0.02, retry=RetryPolicySettings(provider_retries=0))
        with pytest.raises(ProviderTimeoutError):
            await async_tramapy.complete(HELLO, model="m")
        provider.may_go_on.set()

    async_driver.run(main)


def test_a_stream_that_is_cancelled_at_work_is_closed_when_its_step_ends(async_driver: Driver) -> None:
    provider = Blocking()

    async def consume(async_tramapy: AsyncTramapy) -> None:
        async with async_tramapy.stream(HELLO, model="m") as chunks:
            async for _ in chunks:
                pass

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume, facade(provider))
            await until(provider.is_at_work)
            tasks.cancel_scope.cancel()
        assert not provider.is_closed.is_set()
        provider.may_go_on.set()
        await until(provider.is_closed)

    async_driver.run(main)


def test_a_stream_that_is_left_early_is_closed(async_driver: Driver) -> None:
    provider = ScriptedProvider(["one two three"])

    async def main() -> None:
        async with facade(provider).stream(HELLO, model="m") as chunks:
            await anext(chunks)
        assert provider.open_stream_count == 0

    async_driver.run(main)


def test_a_dropped_stream_can_be_closed_without_an_event_loop(async_driver: Driver) -> None:
    provider = ScriptedProvider(["one two three"])

    async def main() -> object:
        stream = ThreadedProvider(provider).astream(REQUEST)
        await anext(stream)
        return stream

    stream = async_driver.run(main)
    stream.close()
    assert provider.open_stream_count == 0


def test_a_closed_stream_gives_nothing_more(async_driver: Driver) -> None:
    async def main() -> list[Chunk]:
        stream = ThreadedProvider(ScriptedProvider(["one two"])).astream(REQUEST)
        await stream.aclose()  # type: ignore[attr-defined]
        return [chunk async for chunk in stream]

    assert async_driver.run(main) == []


def test_a_second_step_beside_one_at_work_is_refused(async_driver: Driver) -> None:
    provider = Blocking()

    async def main() -> None:
        stream = ThreadedProvider(provider).astream(REQUEST)
        await anext(stream)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anext, stream)
            await until(provider.is_at_work)
            tasks.cancel_scope.cancel()
        with pytest.raises(RuntimeError, match="still at work"):
            await anext(stream)
        provider.may_go_on.set()
        await stream.aclose()  # type: ignore[attr-defined]
        await until(provider.is_closed)

    async_driver.run(main)


def test_a_step_that_is_cancelled_before_a_thread_was_free_takes_no_piece(async_driver: Driver) -> None:
    provider = ScriptedProvider(["one two"])

    async def main() -> list[Chunk]:
        limiter = anyio.CapacityLimiter(1)
        stream = ThreadedProvider(provider, limiter=limiter).astream(REQUEST)
        async with limiter:  # nobody else gets a thread now
            with anyio.CancelScope() as scope:
                scope.cancel()
                await anext(stream)
        return [chunk async for chunk in stream]

    assert text_of(async_driver.run(main)) == "one two"


def test_a_stream_that_is_closed_while_it_waits_for_a_thread_takes_no_piece(async_driver: Driver) -> None:
    provider = ScriptedProvider(["one two"])

    async def main() -> list[Chunk]:
        limiter = anyio.CapacityLimiter(1)
        stream = ThreadedProvider(provider, limiter=limiter).astream(REQUEST)
        chunks: list[Chunk] = []

        async def collect() -> None:
            chunks.extend([chunk async for chunk in stream])

        async with anyio.create_task_group() as tasks:
            await limiter.acquire()
            tasks.start_soon(collect)
            await anyio.wait_all_tasks_blocked()
            stream.close()  # type: ignore[attr-defined]
            limiter.release()
        return chunks

    assert async_driver.run(main) == []
    assert provider.requests == ()


def test_a_stream_that_cannot_be_closed_does_not_hide_the_answer(async_driver: Driver) -> None:
    class Stubborn:
        def __iter__(self) -> "Stubborn":
            return self

        def __next__(self) -> Chunk:
            return CompletedChunk(ModelResponse(content="done"))

        def close(self) -> None:
            raise OSError("the connection is gone")

    class Provides(ScriptedProvider):
        def stream(self, request: ModelRequest) -> Iterator[Chunk]:
            return Stubborn()

    async def main() -> list[Chunk]:
        async with facade(Provides()).stream(HELLO, model="m") as chunks:
            return [chunk async for chunk in chunks]

    assert response_of(async_driver.run(main)).content == "done"


def test_it_can_what_its_provider_can() -> None:
    class Sees(ScriptedProvider):
        capabilities = frozenset({ProviderCapability.VISION, ProviderCapability.TIMEOUT})

    assert ThreadedProvider(Sees()).capabilities == Sees.capabilities


def test_a_provider_without_a_stream_method_cannot_stream(async_driver: Driver) -> None:
    class Whole(Provider):
        def complete(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse(content="whole")

    async def main() -> None:
        async with facade(Whole()).stream(HELLO, model="m") as chunks:
            await anext(chunks)

    with pytest.raises(ProviderCapabilityError):
        async_driver.run(main)


def test_something_else_than_a_provider_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes a Provider, not str"):
        ThreadedProvider("openai")  # type: ignore[arg-type]


def test_its_repr_names_the_provider() -> None:
    assert repr(ThreadedProvider(ScriptedProvider())) == "ThreadedProvider(ScriptedProvider)"
