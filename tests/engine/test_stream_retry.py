"""Items 147 to 158: a stream starts again until something of it is out, and never afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import HELLO, Driver, Rig, text_of
from tests.engine.doubles import OnRequest, OnResponse, Words, breaker_of, down, retries
from tests.engine.stream_doubles import HoldBack, terminal_events
from tramapy import (
    Chunk,
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    CompletedChunk,
    DeadlineExceededError,
    DlpInspectionError,
    InterceptorError,
    ModelResponse,
    ProviderError,
    ProviderTimeoutError,
    Route,
    TextChunk,
    ToolCall,
    ToolCallChunk,
)
from tramapy.testing import ScriptedProvider

CALL = ToolCall(id="c1", name="search", arguments_json="{}")
WITH_FALLBACK: dict[str, Any] = {"default_provider": "p", "fallbacks": {"m": [Route("q")]}}


def two(driver: Driver, primary: list[Any], backup: list[Any], **settings: Any) -> tuple[Rig, Any, Any]:
    first, second = ScriptedProvider(primary), ScriptedProvider(backup)
    return driver.rig({"p": first, "q": second}, **{**WITH_FALLBACK, **settings}), first, second


def where(rig: Rig) -> list[tuple[Any, Any]]:
    return [(event["provider_id"], event["attempt"]) for event in rig.attributes_of("attempt.started")]


def test_rt147_a_retryable_startup_error_is_retried_on_its_route(driver: Driver) -> None:
    rig, primary, backup = two(driver, [down(), "fine"], [], retry=retries(1))
    assert text_of(rig.stream()) == "fine"
    assert (len(primary.requests), len(backup.requests)) == (2, 0)
    assert rig.names.count("retry.scheduled") == rig.names.count("streaming.startup_retry") == 1
    assert rig.clock.sleeps == (0.05,)


def test_rt148_a_second_startup_error_falls_back(driver: Driver) -> None:
    rig, primary, backup = two(driver, [down(), down()], ["fine"], retry=retries(1))
    assert text_of(rig.stream()) == "fine"
    assert (len(primary.requests), len(backup.requests)) == (2, 1)
    assert rig.names.count("retry.scheduled") == rig.names.count("streaming.startup_retry") == 1


def test_rt149_attempts_are_numbered_across_routes(driver: Driver) -> None:
    rig, _, _ = two(driver, [down(), down()], ["fine"], retry=retries(1))
    rig.stream()
    assert where(rig) == [("p", 0), ("p", 1), ("q", 2)]


def test_rt150_a_retry_that_succeeds_never_opens_the_breaker(driver: Driver) -> None:
    rig = driver.rig(
        [down(), "fine"], retry=retries(1), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    rig.stream()
    assert "circuit.opened" not in rig.names


def test_rt150_exhausted_retries_open_it_once(driver: Driver) -> None:
    settings = CircuitBreakerSettings(failure_threshold=1, open_duration_s=99.95)
    rig = driver.rig([down(), down()], retry=retries(1), circuit_breaker=settings)
    with pytest.raises(ProviderError):
        rig.stream()
    assert rig.names.count("circuit.opened") == 1
    assert breaker_of(rig).open_until_s("p") == 100.0


def test_rt150_a_permanent_failure_after_a_retry_does_not_open_it(driver: Driver) -> None:
    rig = driver.rig(
        [down(), ProviderError("no")],
        retry=retries(1),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(ProviderError, match="no"):
        rig.stream()
    assert "circuit.opened" not in rig.names


def test_rt151_nothing_follows_a_released_token(driver: Driver) -> None:
    rig, primary, backup = two(driver, [["one ", down()], "fine"], ["fine"], retry=retries(1))
    chunks: list[Chunk] = []
    with pytest.raises(ProviderError, match="down"):
        rig.stream(into=chunks)
    assert chunks == [TextChunk("one ")]
    assert (len(primary.requests), len(backup.requests)) == (1, 0)
    assert not {"retry.scheduled", "streaming.startup_retry"} & set(rig.names)
    assert rig.clock.sleeps == ()


def test_rt152_an_open_primary_is_passed_over_without_an_attempt(driver: Driver) -> None:
    rig, primary, _ = two(
        driver,
        [down()],
        ["one", "two"],
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    rig.stream()
    before = len(rig.names)
    rig.stream()
    names = rig.names[before:]
    assert len(primary.requests) == 1
    assert where(rig)[-1] == ("q", 0)
    assert "circuit.rejected" in names
    assert not {"retry.scheduled", "streaming.startup_retry"} & set(names)


def test_rt153_an_explicit_provider_is_retried_but_has_no_fallback(driver: Driver) -> None:
    rig, primary, backup = two(driver, [down(), down()], ["fine"], retry=retries(1))
    with pytest.raises(ProviderError, match="down"):
        rig.stream(provider="p")
    assert (len(primary.requests), len(backup.requests)) == (2, 0)


def test_rt155_the_executed_failure_is_raised_before_an_open_circuit(driver: Driver) -> None:
    rig, _, backup = two(
        driver,
        [ProviderError("primary", retryable=True), ProviderError("again", retryable=True)],
        [down()],
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=2),
    )
    breaker = breaker_of(rig)
    for _ in range(2):
        breaker.fail(breaker.admit("q"))  # type: ignore[arg-type]  # a permit, as the circuit is closed
    with pytest.raises(ProviderError, match="primary"):
        rig.stream()
    assert backup.requests == ()


def test_rt155_all_circuits_open_is_a_circuit_open_error(driver: Driver) -> None:
    rig, _, _ = two(driver, [], [], circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    breaker = breaker_of(rig)
    for provider_id in "pq":
        breaker.fail(breaker.admit(provider_id))  # type: ignore[arg-type]  # a permit, as the circuit is closed
    with pytest.raises(CircuitBreakerOpenError) as caught:
        rig.stream()
    assert caught.value.provider_id == "q"
    assert rig.attributes_of("operation.completed")[0]["failure_kind"] == "circuit_open"


def test_rt156_without_retries_and_fallback_nothing_is_announced(driver: Driver) -> None:
    rig = driver.rig([down()], retry=retries(0))
    with pytest.raises(ProviderError):
        rig.stream()
    assert not {"retry.scheduled", "streaming.startup_retry"} & set(rig.names)


def test_rt156_with_a_fallback_the_startup_retry_is_announced_once(driver: Driver) -> None:
    rig, _, _ = two(driver, [down()], ["fine"], retry=retries(0))
    rig.stream()
    assert rig.names.count("streaming.startup_retry") == 1
    assert "retry.scheduled" not in rig.names


def test_rt156_with_a_fallback_that_is_open_it_is_not(driver: Driver) -> None:
    rig, _, _ = two(
        driver, [down()], [], retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    breaker = breaker_of(rig)
    breaker.fail(breaker.admit("q"))  # type: ignore[arg-type]  # a permit, as the circuit is closed
    with pytest.raises(ProviderError):
        rig.stream()
    assert "streaming.startup_retry" not in rig.names


def test_rt157_a_providers_own_open_circuit_is_not_retried(driver: Driver) -> None:
    rig, primary, backup = two(driver, [CircuitBreakerOpenError("inner", 1.0)], ["fine"], retry=retries(3))
    assert text_of(rig.stream()) == "fine"
    assert (len(primary.requests), len(backup.requests)) == (1, 1)
    assert "retry.scheduled" not in rig.names


def test_rt158_a_timeout_of_ours_backs_off(driver: Driver) -> None:
    """There is no error chunk: the timeout is raised from the provider's iteration."""
    rig = driver.rig([[ProviderTimeoutError("late")], "fine"], retry=retries(1))
    assert text_of(rig.stream()) == "fine"
    (scheduled,) = rig.attributes_of("retry.scheduled")
    assert (scheduled["delay_millis"], scheduled["delay_source"], scheduled["retry_index"]) == (
        50,
        "backoff",
        0,
    )


def test_r22_a_stream_keeps_to_the_policy_of_a_whole_answer(driver: Driver) -> None:
    script = [down(retry_after_s=7.0), down(), ProviderError("no")]
    whole, streamed = driver.rig(script, retry=retries(3)), driver.rig(script, retry=retries(3))
    with pytest.raises(ProviderError, match="no"):
        whole.complete()
    with pytest.raises(ProviderError, match="no"):
        streamed.stream()
    assert streamed.clock.sleeps == whole.clock.sleeps == (7.0, 0.1)
    assert [name for name in streamed.names if name != "streaming.startup_retry"] == whole.names


@pytest.mark.parametrize("first", ["one ", ToolCallChunk(CALL)], ids=["text", "tool-call"])
def test_r23_the_start_is_never_replayed(driver: Driver, first: Any) -> None:
    rig, primary, _ = two(driver, [[first, down()], ["one ", "two"]], ["fine"], retry=retries(3))
    chunks: list[Chunk] = []
    with pytest.raises(ProviderError):
        rig.stream(into=chunks)
    assert len(chunks) == 1
    assert len(primary.requests) == 1


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"dlp": Words()}, id="buffered-by-dlp"),
        pytest.param({"interceptors": [OnResponse()]}, id="buffered-by-a-hook"),
        pytest.param({"dlp": HoldBack({"one two": "[S]"})}, id="held-back"),
    ],
)
def test_what_was_not_released_does_not_stand_in_the_way_of_a_retry(
    driver: Driver, settings: dict[str, Any]
) -> None:
    answers = [["one ", down()], ["one ", "more", CompletedChunk(ModelResponse())]]
    rig = driver.rig(answers, retry=retries(1), **settings)
    assert text_of(rig.stream()) == "one more"
    assert rig.names.count("retry.scheduled") == 1


def test_an_empty_piece_does_not_stand_in_the_way_of_a_retry(driver: Driver) -> None:
    rig = driver.rig([["", down()], "fine"], retry=retries(1))
    assert text_of(rig.stream()) == "fine"


def test_each_failed_start_closes_its_stream_and_drops_its_tail(driver: Driver) -> None:
    dlp = HoldBack({"one two": "[S]"})
    provider = ScriptedProvider([["one ", down()], ["one ", down()], "fine"])
    rig = driver.rig(provider, dlp=dlp, retry=retries(2))
    assert text_of(rig.stream()) == "fine"
    assert provider.open_stream_count == dlp.open_count == 0
    assert dlp.aborted_count == 2
    assert terminal_events(rig.names) == ["attempt.failed", "attempt.failed", "attempt.completed"]


def test_each_attempt_starts_from_the_original_messages(driver: Driver) -> None:
    mark = OnRequest(lambda messages: [m.replace(content=m.content + "!") for m in messages])
    provider = ScriptedProvider([down(), "fine"])
    driver.rig(provider, interceptors=[mark], retry=retries(1)).stream()
    assert [request.messages[0].content for request in provider.requests] == ["hello!", "hello!"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"dlp": Words({"fine": "[S]"}), "dlp_redaction_audit": None}, None),
        ({"interceptors": [OnRequest(lambda _: 1 / 0)]}, InterceptorError),
        ({"interceptors": [OnResponse(lambda _: 1 / 0)]}, InterceptorError),
    ],
    ids=["none", "request-interceptor", "response-interceptor"],
)
def test_hook_failures_are_not_retried_and_do_not_fall_back(
    driver: Driver, settings: dict[str, Any], error: type[Exception] | None
) -> None:
    rig, primary, backup = two(driver, ["fine", "fine"], ["fine"], retry=retries(1), **settings)
    if error is None:
        assert text_of(rig.stream()) == "[S]"
        return
    with pytest.raises(error):
        rig.stream()
    assert len(primary.requests) <= 1
    assert backup.requests == ()


def test_a_dlp_rejection_is_not_retried_and_neutral(driver: Driver) -> None:
    class Rejects(HoldBack):
        def open_stream(self, context: object) -> Any:
            raise DlpInspectionError("refused")

    rig, primary, backup = two(
        driver,
        ["fine"],
        ["fine"],
        dlp=Rejects(),
        retry=retries(1),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(DlpInspectionError):
        rig.stream()
    assert (len(primary.requests), len(backup.requests)) == (0, 0)
    assert "circuit.opened" not in rig.names


def test_a_retry_that_would_outlast_the_deadline_raises_it_with_its_cause(driver: Driver) -> None:
    rig = driver.rig([down(retry_after_s=5.0)], retry=retries(1), deadline_s=4.0)
    with pytest.raises(DeadlineExceededError) as caught:
        rig.stream()
    assert isinstance(caught.value.__cause__, ProviderError)
    assert rig.clock.sleeps == ()


def test_a_windowed_breaker_counts_each_start_of_a_stream(driver: Driver) -> None:
    window = CircuitBreakerWindow(size_calls=10, minimum_calls=2, failure_rate=0.5)
    rig = driver.rig(
        [down(), down()], retry=retries(1), circuit_breaker=CircuitBreakerSettings(window=window)
    )
    with pytest.raises(ProviderError):
        rig.stream()
    assert rig.names.count("circuit.opened") == 1


def test_a_stream_can_be_followed_by_another(driver: Driver) -> None:
    rig = driver.rig(["one", "two"])
    assert [text_of(rig.stream(HELLO)), text_of(rig.stream(HELLO))] == ["one", "two"]
