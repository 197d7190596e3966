"""The order of an attempt: decisions 1 and 6, and items 42, 43, 45 and 99 of the acceptance list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import (
    Journalling,
    Ledger,
    Onlooker,
    OnRequest,
    OnResponse,
    Scripted,
    Words,
    down,
    raising,
    retries,
)
from tramapy import (
    CircuitBreakerSettings,
    DlpInspectionError,
    InterceptorError,
    Message,
    ModelResponse,
    ProviderError,
    Route,
    TokenBudgetSettings,
    TokenUsage,
    TramapyError,
)
from tramapy.testing import ScriptedProvider

START = ["operation.started", "route.selected", "attempt.started"]
TERMINAL = {"attempt.completed", "attempt.failed", "attempt.cancelled"}


class LoggingOnlooker(Onlooker):
    def __init__(self, journal: list[str]) -> None:
        super().__init__()
        self._journal = journal

    def on_attempt_request(self, event: object, request: Any) -> None:
        self._journal.append("see request")

    def on_attempt_response(self, event: object, response: Any) -> None:
        self._journal.append("see response")


def test_rt42_every_step_of_an_attempt_in_order(driver: Driver) -> None:
    """Without the original's policy points; decision 1 puts DLP before the response interceptors."""
    journal: list[str] = []

    def answer(_: object) -> ModelResponse:
        journal.append("provider")
        return ModelResponse(content="a secret", usage=TokenUsage(input_tokens=9, output_tokens=9))

    rig = driver.rig(
        ScriptedProvider([answer]),
        interceptors=[
            OnRequest(lambda messages: journal.append("request one") or messages),
            OnRequest(lambda messages: journal.append("request two") or messages),
            OnResponse(lambda response: journal.append("response one") or response),
            OnResponse(
                lambda response: journal.append("response two") or response.replace(content="secret two")
            ),
        ],
        dlp=Words(journal=journal),
        request_dlp=Words(journal=journal),
        dlp_redaction_audit=Ledger(journal),
        event_observers=[Journalling(journal)],
        content_observers=[LoggingOnlooker(journal)],
        token_budget=TokenBudgetSettings(soft_max_tokens_per_operation=1),
    )
    rig.complete([Message.user("my secret"), Message.tool("its secret", tool_call_id="c1")])
    assert journal == [
        "operation.started",
        "request one",
        "request two",
        "route.selected",
        "attempt.started",
        *("inspect TOOL_MESSAGE_CONTENT", "audit TOOL_MESSAGE_CONTENT", "dlp.redacted"),
        *("inspect REQUEST_MESSAGE_CONTENT", "audit REQUEST_MESSAGE_CONTENT", "dlp.redacted"),
        "inspect REQUEST_MESSAGE_CONTENT",
        "see request",
        "provider",
        *("inspect MODEL_RESPONSE_CONTENT", "audit MODEL_RESPONSE_CONTENT", "dlp.redacted"),
        "response one",
        "response two",
        *("inspect MODEL_RESPONSE_CONTENT", "audit MODEL_RESPONSE_CONTENT", "dlp.redacted"),
        "token_budget.soft_limit_exceeded",
        "see response",
        "attempt.completed",
        "operation.completed",
    ]


def test_rt43_a_retry_is_announced_before_the_attempt_ends(driver: Driver) -> None:
    """Decision 6 changes it: the original announces it after the attempt, where spans miss it."""
    rig = driver.rig([down(), "answer"], retry=retries(1))
    rig.complete()
    assert rig.names == [
        *START,
        "retry.scheduled",
        "attempt.failed",
        *START[1:],
        "attempt.completed",
        "operation.completed",
    ]


def test_rt45_an_opening_is_announced_before_the_attempt_ends(driver: Driver) -> None:
    """Decision 6 changes it, as item 43; a second call never reaches the provider."""
    provider = ScriptedProvider([down()])
    rig = driver.rig(provider, retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    with pytest.raises(ProviderError):
        rig.complete()
    assert rig.names == [*START, "circuit.opened", "attempt.failed", "operation.completed"]
    with pytest.raises(TramapyError):
        rig.complete()
    assert rig.names[6:] == ["operation.started", "circuit.rejected", "operation.completed"]
    assert len(provider.requests) == 1


def test_a_closing_is_announced_before_the_attempt_ends(driver: Driver) -> None:
    rig = driver.rig(
        [down(), "answer"], retry=retries(0), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    with pytest.raises(ProviderError):
        rig.complete()
    rig.clock.advance(30.0)
    rig.complete()
    assert rig.names[6:] == [
        "operation.started",
        "circuit.half_opened",
        *START[1:],
        "circuit.closed",
        "attempt.completed",
        "operation.completed",
    ]


def test_a_fallback_follows_the_failed_route(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([down()]), "b": ScriptedProvider(["answer"])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, retry=retries(0))
    rig.complete()
    assert rig.names == [
        *START,
        "attempt.failed",
        *START[1:],
        "attempt.completed",
        "operation.completed",
    ]


ENDINGS: dict[str, tuple[dict[str, Any], type[TramapyError], list[str]]] = {
    "provider": ({}, ProviderError, ["attempt.failed"]),
    "dlp": (
        {"dlp": Scripted(raising(ValueError()))},
        DlpInspectionError,
        ["dlp.inspection_failed", "attempt.failed"],
    ),
    "request dlp": (
        {"request_dlp": Scripted(raising(ValueError()))},
        DlpInspectionError,
        ["dlp.inspection_failed", "attempt.failed"],
    ),
    "response interceptor": (
        {"interceptors": [OnResponse(raising(ValueError()))]},
        InterceptorError,
        ["attempt.failed"],
    ),
}


@pytest.mark.parametrize(("settings", "error", "names"), ENDINGS.values(), ids=ENDINGS.keys())
def test_every_failure_ends_its_attempt_exactly_once(
    driver: Driver, settings: dict[str, Any], error: type[TramapyError], names: list[str]
) -> None:
    rig = driver.rig([ProviderError("no") if not settings else "text"], **settings)
    with pytest.raises(error):
        rig.complete()
    assert rig.names == [*START, *names, "operation.completed"]
    assert sum(name in TERMINAL for name in rig.names) == 1


def test_every_event_has_the_operations_id(driver: Driver) -> None:
    rig = driver.rig(
        [down(), "a secret"],
        retry=retries(0),
        dlp=Words(),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(ProviderError):
        rig.complete(correlation_id="c1")
    rig.clock.advance(30.0)
    rig.complete(correlation_id="c1")
    assert {event.attributes["correlation_id"] for event in rig.observer.events} == {"c1"}


def test_an_id_is_generated_for_each_operation(driver: Driver) -> None:
    rig = driver.rig(["one", "two"])
    rig.complete()
    rig.complete()
    first, second = (event["correlation_id"] for event in rig.attributes_of("operation.started"))
    assert first != second
    assert len(first) == len(second) == 32


def test_the_same_seed_gives_the_same_ids(driver: Driver) -> None:
    seen = []
    for _ in range(2):
        rig = driver.rig(["one"])
        rig.complete()
        seen.append(rig.attributes_of("operation.started")[0]["correlation_id"])
    assert seen[0] == seen[1]


def test_operation_events_say_who_asked_and_how_it_went(driver: Driver) -> None:
    def slowly(_: object) -> str:
        rig.clock.advance(1.5)
        return "answer"

    rig = driver.rig(ScriptedProvider([down(), slowly]))
    rig.complete(correlation_id="c1", service_interface="Support", method_name="reply", workflow_run_id="w1")
    assert rig.attributes_of("operation.started") == [
        {
            "correlation_id": "c1",
            "service_interface": "Support",
            "method_name": "reply",
            "requested_model": "m",
            "is_stream": False,
            "workflow_run_id": "w1",
        }
    ]
    assert rig.attributes_of("operation.completed") == [
        {"correlation_id": "c1", "outcome": "success", "attempt_count": 2, "duration_millis": 1550}
    ]


def test_a_completed_attempt_says_what_came(driver: Driver) -> None:
    usage = TokenUsage(
        input_tokens=3, output_tokens=4, reasoning_tokens=1, cache_read_tokens=2, cache_write_tokens=0
    )
    rig = driver.rig([ModelResponse(content="answer", usage=usage, model="m-2026")])
    rig.complete(correlation_id="c1")
    assert rig.attributes_of("attempt.completed") == [
        {
            "correlation_id": "c1",
            "provider_id": "p",
            "attempt": 0,
            "effective_model": "m",
            "finish_reason": "stop",
            "response_model": "m-2026",
            "duration_millis": 0,
            "input_tokens": 3,
            "output_tokens": 4,
            "reasoning_tokens": 1,
            "cache_read_tokens": 2,
            "cache_write_tokens": 0,
        }
    ]
