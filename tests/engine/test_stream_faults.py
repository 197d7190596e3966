"""A provider's stream that goes wrong: cut, unusable, or raising what it should not."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from tests.drivers import HELLO, Driver, text_of
from tests.engine.doubles import Diagnostics, OnResponse, retries
from tests.engine.stream_doubles import HoldBack, Opens, Source, Steps, terminal_events
from tramapy import (
    Chunk,
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    CompletedChunk,
    ConfigurationError,
    ModelResponse,
    ProviderError,
    ProviderFailureCode,
    Route,
    TextChunk,
    ToolCallChunk,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a91c2"


@pytest.mark.parametrize("script", [["one"], []], ids=["after-a-piece", "at-once"])
def test_a_stream_without_a_completed_chunk_is_cut(driver: Driver, script: list[str]) -> None:
    provider = ScriptedProvider([script])
    rig = driver.rig(provider)
    with pytest.raises(ProviderError, match="without a CompletedChunk") as caught:
        rig.stream()
    assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT
    assert not caught.value.retryable
    assert provider.open_stream_count == 0
    (failed,) = rig.attributes_of("attempt.failed")
    assert failed["failure_code"] == "stream_cut"


def test_a_cut_stream_counts_on_the_breaker(driver: Driver) -> None:
    rig = driver.rig([["one"]], circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    with pytest.raises(ProviderError):
        rig.stream()
    assert "circuit.opened" in rig.names


def test_a_cut_stream_releases_nothing_of_what_was_buffered(driver: Driver) -> None:
    chunks: list[Chunk] = []
    with pytest.raises(ProviderError):
        driver.rig([["one ", "two"]], interceptors=[OnResponse()]).stream(into=chunks)
    assert chunks == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(7, id="no-chunk"),
        pytest.param(None, id="none"),
        pytest.param(TextChunk(None), id="text-of-none"),  # type: ignore[arg-type]  # the mistake under test
        pytest.param(TextChunk(b"x"), id="text-of-bytes"),  # type: ignore[arg-type]  # the mistake under test
        pytest.param(ToolCallChunk(None), id="no-tool-call"),  # type: ignore[arg-type]  # the mistake under test
        pytest.param(CompletedChunk(None), id="no-response"),  # type: ignore[arg-type]  # the mistake under test
        pytest.param(CompletedChunk("text"), id="text-for-response"),  # type: ignore[arg-type]  # the same
    ],
)
@pytest.mark.parametrize(
    "settings",
    [{}, {"dlp": HoldBack()}, {"stream_dlp": "buffer", "dlp": HoldBack()}],
    ids=["pass", "inspect", "buffer"],
)
def test_a_wrong_chunk_is_the_providers_failure(driver: Driver, wrong: Any, settings: dict[str, Any]) -> None:
    source = Source("one ", wrong)
    rig = driver.rig({"p": Opens(lambda: source)}, **settings)
    with pytest.raises(ProviderError, match="it gives TextChunk") as caught:
        rig.stream()
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert source.close_count == 1
    assert terminal_events(rig.names) == ["attempt.failed"]


@pytest.mark.parametrize("wrong", [None, 7, CompletedChunk(ModelResponse())], ids=["none", "number", "chunk"])
def test_a_source_that_is_no_iterator_is_the_providers_failure(driver: Driver, wrong: Any) -> None:
    with pytest.raises(ProviderError, match="it gives TextChunk"):
        driver.rig({"p": Opens(lambda: wrong)}).stream()


def test_an_awaitable_source_is_refused_on_a_thread_and_closed() -> None:
    async def open_source() -> Source:
        return Source()

    rig = Driver("sync").rig({"p": Opens(open_source)})
    with pytest.raises(ConfigurationError, match="use AsyncTramapy"):
        rig.stream()
    assert terminal_events(rig.names) == ["attempt.failed"]


def test_what_follows_the_completed_chunk_is_not_asked_for(driver: Driver) -> None:
    asked: list[int] = []
    source = Source("one", CompletedChunk(ModelResponse(content="one")), lambda: asked.append(1))
    assert text_of(driver.rig({"p": Opens(lambda: source)}).stream()) == "one"
    assert asked == []
    assert source.close_count == 1


def _cut_inside(error: Exception) -> Callable[[], Steps]:
    return lambda: Steps(["one ", error])


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_cut_inside(ValueError(CANARY)), id="between-pieces"),
        pytest.param(lambda: Steps([ValueError(CANARY)]), id="at-once"),
        pytest.param(lambda: Opens(lambda: 1 / 0), id="when-opened"),
    ],
)
def test_a_foreign_error_is_shown_by_its_type_alone(driver: Driver, make: Callable[[], Any]) -> None:
    diagnostics = Diagnostics()
    rig = driver.rig({"p": make()}, diagnostic_observers=[diagnostics])
    with pytest.raises(ProviderError, match=r"raised (ValueError|ZeroDivisionError)") as caught:
        rig.stream()
    assert not caught.value.retryable
    assert_no_canary(CANARY, caught.value, rig.observer.events)
    assert [type(found.error).__name__ for found in diagnostics.found] in (
        ["ValueError"],
        ["ZeroDivisionError"],
    )


def test_an_error_leaves_the_stream_without_frames_or_context(driver: Driver) -> None:
    rig = driver.rig([["one ", ProviderError("no")]])
    with pytest.raises(ProviderError) as caught:
        rig.stream()
    assert caught.value.__cause__ is caught.value.__context__ is None
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not {"next_chunk", "step", "_pull"} & set(frames), frames


def test_a_wrong_option_leaves_stream_without_frames(driver: Driver) -> None:
    rig = driver.rig({"p": ScriptedProvider(), "q": ScriptedProvider()}, models={"m": "p"})

    async def main() -> None:
        rig.tramapy.stream([], model="unknown")

    with pytest.raises(ConfigurationError) as caught:
        driver.run(main) if driver.is_async else rig.tramapy.stream([], model="unknown")
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "stream"


def test_the_iteration_is_over_after_an_error(driver: Driver) -> None:
    rig = driver.rig([["one ", ProviderError("no")]])
    stream = rig.tramapy.stream(HELLO, model="m")
    rest: list[Chunk] = []

    async def main() -> None:
        with pytest.raises(ProviderError):
            async for _ in stream:
                pass
        rest.extend([chunk async for chunk in stream])

    if driver.is_async:
        driver.run(main)
    else:
        with pytest.raises(ProviderError):
            list(stream)
        rest.extend(stream)
    assert rest == []
    assert rig.names.count("operation.completed") == 1


def test_a_stream_that_fails_to_close_is_told_by_type_and_does_not_fail(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError(CANARY)

    source = Source("one", CompletedChunk(ModelResponse(content="one")), on_close=fail)
    rig = driver.rig({"p": Opens(lambda: source)})
    assert text_of(rig.stream()) == "one"
    assert "extension_point=provider_stream callback=close error_type=OSError" in caplog.text
    assert CANARY not in caplog.text


def test_a_failure_to_close_is_a_note_on_the_error_in_flight(driver: Driver) -> None:
    def fail() -> None:
        raise OSError(CANARY)

    source = Source("one", ProviderError("no"), on_close=fail)
    with pytest.raises(ProviderError, match="no") as caught:
        driver.rig({"p": Opens(lambda: source)}).stream()
    assert caught.value.__notes__ == ["Closing the provider's stream raised OSError."]


def test_one_error_raised_again_and_again_gets_that_note_once(driver: Driver) -> None:
    def fail() -> None:
        raise OSError(CANARY)

    error = ProviderError("no")
    rig = driver.rig({"p": Opens(lambda: Source("one", error, on_close=fail))})
    for _ in range(3):
        with pytest.raises(ProviderError, match="no") as caught:
            rig.stream()
    assert caught.value.__notes__ == ["Closing the provider's stream raised OSError."]


def test_a_group_of_retryable_failures_is_retried(driver: Driver) -> None:
    both = ExceptionGroup("two", [ProviderError("a", retryable=True), ProviderError("b", retryable=True)])
    assert text_of(driver.rig([[both], "fine"], retry=retries(1)).stream()) == "fine"


def test_a_group_with_a_permanent_failure_is_not_retried(driver: Driver) -> None:
    both = ExceptionGroup("two", [ProviderError("a", retryable=True), ProviderError("b")])
    provider = ScriptedProvider([[both], "fine"])
    with pytest.raises(ProviderError, match="2 ways"):
        driver.rig(provider, retry=retries(1)).stream()
    assert len(provider.requests) == 1


def test_a_providers_own_open_breaker_after_a_piece_ends_the_stream(driver: Driver) -> None:
    backup = ScriptedProvider(["fine"])
    rig = driver.rig(
        {"p": ScriptedProvider([["one ", CircuitBreakerOpenError("inner", 1.0)]]), "q": backup},
        default_provider="p",
        fallbacks={"m": [Route("q")]},
    )
    with pytest.raises(CircuitBreakerOpenError):
        rig.stream()
    assert backup.requests == ()
