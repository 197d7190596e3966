"""Spans of operations and attempts: names, parents, attributes, events, outcomes."""

from __future__ import annotations

import concurrent.futures
import contextvars
import gc
import itertools
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import SpanKind, StatusCode

from tests.drivers import HELLO, Driver
from tests.engine.doubles import Words, down, retries
from tests.telemetry.recorded import Telemetry, attributes_of, event_names, is_child
from tramapy import (
    CATALOGUE,
    CircuitBreakerSettings,
    DlpInspectionError,
    DlpInterceptor,
    Message,
    ModelResponse,
    ProviderError,
    Route,
    RuntimeEvent,
    RuntimeEventDefinition,
    TextChunk,
    TokenBudgetSettings,
    TokenUsage,
    TramapyError,
)
from tramapy.errors import ConfigurationError
from tramapy.hooks.catalogue import NO_MODEL
from tramapy.hooks.event_model import (
    RuntimeAttributeKey,
    RuntimeEventDomain,
    RuntimeEventSensitivity,
)
from tramapy.telemetry import OpenTelemetryEventObserver
from tramapy.telemetry.genai_names import SCHEMA_URL
from tramapy.telemetry.otel import TelemetryLimits
from tramapy.testing import ScriptedProvider

USED = ModelResponse(content="Fine.", model="m-1", usage=TokenUsage(input_tokens=12, output_tokens=5))


def started(correlation_id: str = "c") -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.operation.started"),
        {
            "correlation_id": correlation_id,
            "service_interface": "s",
            "method_name": "m",
            "requested_model": "m",
            "is_stream": False,
        },
    )


def attempt_started(correlation_id: str = "c", attempt: int = 0) -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.attempt.started"),
        {
            "correlation_id": correlation_id,
            "provider_id": "p",
            "attempt": attempt,
            "effective_model": "m",
            "is_stream": False,
        },
    )


def attempt_failed(correlation_id: str = "c", attempt: int = 0, **more: Any) -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.attempt.failed"),
        {
            "correlation_id": correlation_id,
            "provider_id": "p",
            "attempt": attempt,
            "effective_model": "m",
            "failure_kind": "provider",
            "error_type": "ProviderError",
            "is_retryable": True,
            "duration_millis": 1,
        }
        | more,
    )


def completed(correlation_id: str = "c", **more: Any) -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.operation.completed"),
        {"correlation_id": correlation_id, "outcome": "success", "attempt_count": 1, "duration_millis": 1}
        | more,
    )


def test_rt166_a_successful_call_is_two_spans_and_one_duration_sample(driver: Driver) -> None:
    telemetry = Telemetry(known_models=["m", "m-1"])
    rig = driver.rig([USED], event_observers=[telemetry.observer])
    rig.complete(service_interface="Support", method_name="answer", correlation_id="c-1", workflow_run_id="w")
    [attempt], [operation] = telemetry.attempts, telemetry.operations
    assert (operation.name, operation.kind) == ("tramapy Support.answer", SpanKind.INTERNAL)
    assert attributes_of(operation) == {
        "tramapy.correlation_id": "c-1",
        "tramapy.service_interface": "Support",
        "tramapy.method_name": "answer",
        "tramapy.requested_model": "m",
        "tramapy.workflow_run_id": "w",
        "tramapy.attempt_count": 1,
        "tramapy.outcome": "success",
    }
    assert attempt.name == "chat m"
    assert is_child(attempt, operation)
    assert operation.parent is None
    assert attributes_of(attempt) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "p",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "tramapy.attempt": 0,
        "tramapy.outcome": "success",
    }
    assert attempt.status.status_code is operation.status.status_code is StatusCode.UNSET
    assert attempt.instrumentation_scope is not None
    assert attempt.instrumentation_scope.name == "tramapy"
    assert attempt.instrumentation_scope.schema_url == SCHEMA_URL
    [(count, _)] = telemetry.points("gen_ai.client.operation.duration").values()
    assert count == 1
    assert telemetry.points("tramapy.attempts") == {
        (("tramapy.outcome", "success"), ("tramapy.provider_id", "p")): 1
    }


def test_a_retried_operation_has_one_span_for_each_attempt_and_the_sum_of_tokens(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig([down(), USED], retry=retries(1), event_observers=[telemetry.observer])
    rig.complete()
    first, second = telemetry.attempts
    [operation] = telemetry.operations
    assert is_child(first, operation)
    assert is_child(second, operation)
    assert event_names(first) == ["retry.scheduled"]
    assert first.status.status_code is StatusCode.ERROR
    assert attributes_of(first)["error.type"] == "unexpected_failure"
    assert attributes_of(first)["tramapy.is_retryable"] is True
    assert operation.status.status_code is StatusCode.UNSET
    assert attributes_of(operation)["tramapy.usage.input_tokens"] == 12
    assert attributes_of(operation)["tramapy.usage.output_tokens"] == 5


def test_the_parent_is_what_was_current_when_the_operation_began(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig(["one"], event_observers=[telemetry.observer])
    tracer = telemetry.tracer_provider.get_tracer("application")
    with tracer.start_as_current_span("request"):
        rig.complete()
    [operation] = telemetry.operations
    [request] = [span for span in telemetry.spans if span.name == "request"]
    assert is_child(operation, request)


@pytest.mark.parametrize("kind", ["complete", "stream"])
def test_the_attempt_is_current_for_the_provider_and_for_nobody_else(driver: Driver, kind: str) -> None:
    telemetry = Telemetry()
    current: list[Any] = []

    def answer(_: object) -> str:
        current.append(trace.get_current_span().get_span_context())
        return "one two"

    rig = driver.rig([answer], event_observers=[telemetry.observer])
    getattr(rig, kind)()
    [attempt] = telemetry.attempts
    assert current == [attempt.context]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_circuit_that_opens_is_an_event_of_its_attempt_and_a_rejection_one_of_the_operation(
    driver: Driver,
) -> None:
    telemetry = Telemetry()
    rig = driver.rig(
        {"p": ScriptedProvider([down()]), "q": ScriptedProvider(["two", "three"])},
        default_provider="p",
        fallbacks={"m": [Route("q")]},
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        event_observers=[telemetry.observer],
    )
    rig.complete()
    rig.complete()
    failed, _, _ = telemetry.attempts
    one, two = telemetry.operations
    assert event_names(failed) == ["circuit.opened"]
    assert event_names(one) == ["route.selected"], "of the fallback; the primary route is the attempt's span"
    assert event_names(two) == ["circuit.rejected", "route.selected"]
    [rejected, _] = two.events
    assert dict(rejected.attributes or {}) == {
        "tramapy.provider_id": "p",
        "tramapy.route_index": 0,
        "tramapy.retry_after_millis": 30_000,
    }


def test_redactions_are_events_of_their_attempt_without_what_was_found(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig(["a secret"], dlp=Words({"secret": "[S]"}), event_observers=[telemetry.observer])
    rig.complete()
    [attempt] = telemetry.attempts
    [event] = [event for event in attempt.events if event.name == "tramai.dlp.redacted"]
    assert (event.attributes or {})["tramapy.replacement_count"] == 1
    assert "tramapy.correlation_id" not in (event.attributes or {})


class Rejects(DlpInterceptor):
    def inspect(self, context: object, text: str) -> Any:
        raise DlpInspectionError("no")


OUTCOMES: dict[str, tuple[list[Any], dict[str, Any], tuple[str, str | None], tuple[str, str | None]]] = {
    "success": (["one"], {}, ("success", None), ("success", None)),
    "status": (
        [ProviderError("x", status_code=400)],
        {},
        ("failed", "400"),
        ("failed", "400"),
    ),
    "no-such-status": (
        [ProviderError("x", status_code=42)],
        {},
        ("failed", "unexpected_failure"),
        ("failed", "unexpected_failure"),
    ),
    "defect": ([ValueError("x")], {}, ("failed", "unexpected_failure"), ("failed", "unexpected_failure")),
    "dlp": (["one"], {"dlp": Rejects()}, ("blocked", None), ("blocked", "tramapy.dlp.blocked")),
    "budget": (
        [USED],
        {"token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=1)},
        ("failed", "tramapy.token_budget.exceeded"),
        ("failed", "tramapy.token_budget.exceeded"),
    ),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome_and_status_of_both_spans(driver: Driver, name: str) -> None:
    answers, settings, of_attempt, of_operation = OUTCOMES[name]
    telemetry = Telemetry()
    rig = driver.rig(answers, event_observers=[telemetry.observer], **settings)
    try:
        rig.complete()
    except TramapyError:
        assert name != "success"
    [attempt], [operation] = telemetry.attempts, telemetry.operations
    for span, (outcome, error_type) in ((attempt, of_attempt), (operation, of_operation)):
        assert attributes_of(span)["tramapy.outcome"] == outcome
        assert attributes_of(span).get("error.type") == error_type
        expected = StatusCode.UNSET if error_type is None else StatusCode.ERROR
        assert span.status.status_code is expected
        assert span.status.description == error_type


def test_a_stream_without_an_end_is_cut(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig([[TextChunk("one ")]], event_observers=[telemetry.observer])
    with pytest.raises(ProviderError):
        rig.stream()
    for span in (*telemetry.attempts, *telemetry.operations):
        assert attributes_of(span)["tramapy.outcome"] == "cut"
        assert attributes_of(span)["error.type"] == "stream_cut"
    [attempt] = telemetry.attempts
    assert attributes_of(attempt)["gen_ai.request.stream"] is True
    assert attributes_of(attempt)["gen_ai.response.time_to_first_chunk"] == 0.0


def test_a_stream_that_its_consumer_leaves_is_closed_and_no_error(driver: Driver) -> None:
    telemetry = Telemetry(cancelled_is_error=True)
    driver.rig(["one two three"], event_observers=[telemetry.observer]).stream(take=1)
    for span in (*telemetry.attempts, *telemetry.operations):
        assert attributes_of(span)["tramapy.outcome"] == "closed"
        assert span.status.status_code is StatusCode.UNSET


def test_an_abandoned_stream_ends_its_spans_at_the_next_event_or_collection_or_settling() -> None:
    telemetry = Telemetry()
    rig = Driver("sync").rig([["one ", "two"]] * 3 + ["three"], event_observers=[telemetry.observer])

    def abandon() -> None:
        stream = rig.tramapy.stream(HELLO, model="m")
        next(stream)
        with pytest.warns(ResourceWarning):  # noqa: PT031
            del stream
            gc.collect()

    abandon()
    assert telemetry.spans == (), "a finalizer calls nothing of OpenTelemetry's"
    rig.complete()
    assert [attributes_of(span)["tramapy.outcome"] for span in telemetry.operations] == [
        "abandoned",
        "success",
    ]
    abandon()
    outcomes = telemetry.points("tramapy.attempts")
    assert outcomes[(("tramapy.outcome", "abandoned"), ("tramapy.provider_id", "p"))] == 2
    assert len(telemetry.operations) == 3
    abandon()
    telemetry.observer.settle()
    assert len(telemetry.operations) == 4
    assert telemetry.observer.open_operation_count == 0
    late = telemetry.operations[-1]
    assert late.end_time is not None
    assert attributes_of(late)["tramapy.outcome"] == "abandoned"


def abandoned(correlation_id: str = "c") -> RuntimeEvent:
    return RuntimeEvent.of(
        CATALOGUE.get("tramai.attempt.cancelled"),
        {
            "correlation_id": correlation_id,
            "provider_id": "p",
            "attempt": 0,
            "effective_model": "m",
            "cancel_reason": "abandoned",
            "duration_millis": 1,
        },
    )


def test_an_abandoned_stream_is_settled_by_any_event_of_another_operation() -> None:
    telemetry = Telemetry(compat_metrics=True)
    for event in (started("a"), started("b"), attempt_started("b"), abandoned("b")):
        telemetry.observer.on_runtime_event(event)
    assert telemetry.spans == ()
    telemetry.observer.on_runtime_event(attempt_started("a"))
    [attempt] = telemetry.attempts
    assert attributes_of(attempt)["tramapy.outcome"] == "abandoned"
    assert telemetry.points("tramai.engine.events")[(("tramai.event.name", "tramai.attempt.cancelled"),)] == 1


def test_an_abandoned_stream_that_was_given_up_meanwhile_is_not_ended_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    telemetry = Telemetry(limits=TelemetryLimits(open_operation_count=1))
    tell = telemetry.observer.on_runtime_event
    tell(started("a"))
    tell(attempt_started("a"))
    # another thread settles, so that these wait
    with telemetry.observer._settling, concurrent.futures.ThreadPoolExecutor(1) as pool:
        for event in (abandoned("a"), completed("a", outcome="cancelled"), started("b")):
            pool.submit(tell, event).result(timeout=30)
    telemetry.observer.settle()
    assert [attributes_of(span)["tramapy.outcome"] for span in telemetry.spans] == ["dropped", "dropped"]
    assert caplog.text == ""
    assert telemetry.points("tramapy.events.dropped") == {
        (("tramapy.drop_reason", "too_many_operations"),): 1,
        (("tramapy.drop_reason", "unknown_attempt"),): 1,
        (("tramapy.drop_reason", "unknown_operation"),): 1,
    }


@pytest.mark.parametrize("is_error", [True, False], ids=["error", "unset"])
def test_rt168_a_cancelled_operation_has_its_own_outcome_and_no_error_unless_asked(
    driver: Driver, is_error: bool
) -> None:
    telemetry = Telemetry(cancelled_is_error=is_error)
    rig = driver.rig([KeyboardInterrupt()], event_observers=[telemetry.observer])
    with pytest.raises(KeyboardInterrupt):
        rig.complete()
    for span in (*telemetry.attempts, *telemetry.operations):
        assert attributes_of(span)["tramapy.outcome"] == "cancelled"
        assert attributes_of(span).get("error.type") == ("cancelled" if is_error else None)
        assert span.status.status_code is (StatusCode.ERROR if is_error else StatusCode.UNSET)
    [tags] = telemetry.points("gen_ai.client.operation.duration")
    assert dict(tags)["tramapy.outcome"] == "cancelled"
    assert ("error.type" in dict(tags)) is is_error


def test_rt169_neither_span_nor_status_has_the_words_of_a_failure(driver: Driver) -> None:
    telemetry = Telemetry()
    rig = driver.rig([ValueError("canary-7f3a91c2")], event_observers=[telemetry.observer])
    with pytest.raises(ProviderError):
        rig.complete()
    assert "canary" not in "".join(span.to_json() or "" for span in telemetry.spans)
    assert all(event_names(span) == [] for span in telemetry.spans), "no exception is recorded"


@pytest.mark.parametrize(
    ("tokens", "events"),
    [
        (10, []),
        (11, ["token_budget.hard_limit_exceeded"]),
    ],
)
def test_rt163_a_hard_limit_is_an_event_of_the_attempt(
    driver: Driver, tokens: int, events: list[str]
) -> None:
    telemetry = Telemetry()
    answer = ModelResponse(usage=TokenUsage(input_tokens=tokens, output_tokens=0))
    budget = TokenBudgetSettings(hard_max_tokens_per_attempt=10)
    rig = driver.rig([answer], token_budget=budget, event_observers=[telemetry.observer])
    try:
        rig.complete()
    except TramapyError:
        assert events
    [attempt] = telemetry.attempts
    assert event_names(attempt) == events


def test_rt164_a_soft_limit_is_told_once(driver: Driver) -> None:
    telemetry = Telemetry()
    budget = TokenBudgetSettings(soft_max_tokens_per_operation=1)
    rig = driver.rig([USED], token_budget=budget, event_observers=[telemetry.observer])
    rig.complete()
    [attempt] = telemetry.attempts
    assert event_names(attempt) == ["token_budget.soft_limit_exceeded"]


def test_rt165_missing_usage_is_told_and_no_token_is_written(driver: Driver) -> None:
    telemetry = Telemetry()
    budget = TokenBudgetSettings(soft_max_tokens_per_operation=1)
    rig = driver.rig(["one"], token_budget=budget, event_observers=[telemetry.observer])
    rig.complete()
    [attempt] = telemetry.attempts
    assert event_names(attempt) == ["token_budget.usage_unavailable"]
    assert not [key for key in attributes_of(attempt) if key.startswith("gen_ai.usage")]
    assert telemetry.points("gen_ai.client.token.usage") == {}


@pytest.mark.parametrize(
    ("sampler", "has_attempt_spans"),
    [
        (ALWAYS_OFF, False),
        (ParentBased(ALWAYS_OFF), False),
        (TraceIdRatioBased(0.0), True),
        (ParentBased(ALWAYS_OFF, local_parent_not_sampled=TraceIdRatioBased(0.0)), True),
    ],
    ids=["off", "parent", "ratio", "parent and ratio"],
)
def test_an_unsampled_operation_is_measured_and_passes_its_context_on(
    driver: Driver, sampler: Sampler, has_attempt_spans: bool
) -> None:
    telemetry = Telemetry(sampler=sampler)
    seen: list[trace.SpanContext] = []

    def answer(_: object) -> ModelResponse:
        seen.append(trace.get_current_span().get_span_context())
        if len(seen) == 1:
            raise down()
        return USED

    driver.rig([answer, answer], retry=retries(1), event_observers=[telemetry.observer]).complete()
    assert telemetry.spans == ()
    assert seen[0].is_valid
    assert not seen[0].trace_flags.sampled
    assert seen[0].trace_id == seen[1].trace_id
    assert (seen[0].span_id != seen[1].span_id) is has_attempt_spans
    assert sum(count for count, _ in telemetry.points("gen_ai.client.operation.duration").values()) == 2


class Noting(Sampler):
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None, **_):
        self.seen.append((name, dict(attributes or {})))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        return "noting"


def test_a_sampler_sees_operation_provider_and_model() -> None:
    sampler = Noting()
    telemetry = Telemetry(sampler=sampler, provider_names={"p": "openai"})
    Driver("sync").rig(["one"], event_observers=[telemetry.observer]).complete()
    (_, of_operation), (name, of_attempt) = sampler.seen
    assert of_operation["tramapy.service_interface"] == "tramapy"
    assert name == "chat m"
    assert of_attempt == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "tramapy.provider_id": "p",
        "tramapy.attempt": 0,
    }


@pytest.mark.parametrize(
    ("method_name", "operation"),
    [
        ("chat.completions.create", "chat"),
        ("messages.create", "chat"),
        ("embeddings.create", "embeddings"),
        ("completions.create", "text_completion"),
    ],
)
def test_the_operation_is_read_from_the_resource_path(method_name: str, operation: str) -> None:
    telemetry = Telemetry()
    rig = Driver("sync").rig(["one"], event_observers=[telemetry.observer])
    rig.complete(method_name=method_name)
    [attempt] = telemetry.attempts
    assert attempt.name == f"{operation} m"


def test_a_call_without_a_model_has_none_in_its_span() -> None:
    telemetry = Telemetry()
    rig = Driver("sync").rig(["an answer"], event_observers=[telemetry.observer])
    rig.complete(model=NO_MODEL)
    (attempt,) = telemetry.attempts
    assert attempt.name == "chat"
    assert "gen_ai.request.model" not in (attempt.attributes or {})


def test_names_and_values_are_cut_to_a_length() -> None:
    telemetry = Telemetry()
    rig = Driver("sync").rig(["one"], event_observers=[telemetry.observer])
    rig.complete(service_interface="s" * 5_000, correlation_id="c" * 5_000, model="m" * 5_000)
    for span in telemetry.spans:
        assert len(span.name) <= 256
        assert max(len(value) for value in attributes_of(span).values() if isinstance(value, str)) <= 256


def test_several_operations_of_one_correlation_id_keep_apart(async_driver: Driver) -> None:
    import anyio

    telemetry = Telemetry()
    arrived = 0

    def make(name: str) -> Any:
        async def answer(_: object) -> ModelResponse:
            nonlocal arrived
            arrived += 1
            while arrived < 2:
                await anyio.lowlevel.checkpoint()
            return ModelResponse(content=name, model=name)

        return answer

    rig = async_driver.rig([make("a"), make("b")], event_observers=[telemetry.observer])

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for method_name in ("one", "two"):
                group.start_soon(call, method_name)

    async def call(method_name: str) -> None:
        await rig.tramapy.complete(HELLO, model="m", correlation_id="same", method_name=method_name)

    async_driver.run(main)
    assert len(telemetry.attempts) == len(telemetry.operations) == 2
    for operation in telemetry.operations:
        assert len([span for span in telemetry.attempts if is_child(span, operation)]) == 1
    assert telemetry.observer.open_operation_count == 0


def test_operations_of_one_id_that_are_told_in_another_context_still_all_end() -> None:
    telemetry = Telemetry()
    tell = telemetry.observer.on_runtime_event
    contextvars.Context().run(tell, started())
    contextvars.Context().run(tell, started())
    contextvars.Context().run(tell, attempt_started())
    contextvars.Context().run(tell, completed())
    assert telemetry.observer.open_operation_count == 1
    contextvars.Context().run(tell, completed())
    assert telemetry.observer.open_operation_count == 0
    assert len(telemetry.operations) == 2
    [attempt] = telemetry.attempts
    assert attributes_of(attempt)["tramapy.outcome"] == "lost"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_operations_of_one_id_may_end_in_any_order(order: tuple[int, ...]) -> None:
    telemetry = Telemetry()
    contexts = [contextvars.Context() for _ in range(3)]
    for number, context in enumerate(contexts):
        context.run(telemetry.observer.on_runtime_event, started_as(f"m{number}"))
    for number in order:
        contexts[number].run(telemetry.observer.on_runtime_event, completed())
    assert [span.name for span in telemetry.operations] == [f"tramapy s.m{number}" for number in order]
    assert telemetry.observer.open_operation_count == 0
    assert telemetry.observer.span_context_of(completed()) is None


def started_as(method_name: str) -> RuntimeEvent:
    return RuntimeEvent.of(started().definition, {**started().attributes(), "method_name": method_name})


def test_an_attempt_whose_end_was_not_heard_ends_with_the_next() -> None:
    telemetry = Telemetry()
    for event in (started(), attempt_started(), attempt_started(attempt=1), attempt_failed(attempt=1)):
        telemetry.observer.on_runtime_event(event)
    assert [attributes_of(span)["tramapy.outcome"] for span in telemetry.attempts] == ["lost", "failed"]
    assert telemetry.points("tramapy.events.dropped") == {(("tramapy.drop_reason", "lost_attempt"),): 1}


def test_the_end_of_an_attempt_that_was_not_heard_is_counted() -> None:
    telemetry = Telemetry()
    telemetry.observer.on_runtime_event(started())
    telemetry.observer.on_runtime_event(attempt_failed())
    telemetry.observer.on_runtime_event(completed(outcome="failed", failure_kind="provider"))
    [operation] = telemetry.operations
    assert attributes_of(operation)["error.type"] == "_OTHER"
    assert telemetry.points("tramapy.events.dropped") == {(("tramapy.drop_reason", "unknown_attempt"),): 1}


def test_a_failure_without_an_attempt_is_of_its_own_kind() -> None:
    telemetry = Telemetry()
    for kind, error_type in (
        ("circuit_open", "tramapy.circuit.open"),
        ("provider", "_OTHER"),
        ("new", "_OTHER"),
    ):
        telemetry.observer.on_runtime_event(started(kind))
        telemetry.observer.on_runtime_event(completed(kind, outcome="failed", failure_kind=kind))
        assert attributes_of(telemetry.operations[-1])["error.type"] == error_type


def test_more_operations_than_may_be_open_end_the_oldest_and_are_counted() -> None:
    telemetry = Telemetry(limits=TelemetryLimits(open_operation_count=2))
    tell = telemetry.observer.on_runtime_event
    tell(started("a"))
    tell(attempt_started("a"))
    tell(started("b"))
    tell(started("c"))
    tell(started("d"))
    assert telemetry.observer.open_operation_count == 2
    assert [attributes_of(span)["tramapy.outcome"] for span in telemetry.spans] == ["dropped"] * 3
    tell(attempt_failed("a"))
    assert telemetry.observer.provider_call_scope(attempt_started("a")) is None
    assert telemetry.observer.span_context_of(attempt_started("a")) is None
    assert telemetry.points("tramapy.events.dropped") == {
        (("tramapy.drop_reason", "too_many_operations"),): 2,
        (("tramapy.drop_reason", "unknown_operation"),): 1,
    }


def test_the_ids_of_an_events_span_are_told() -> None:
    telemetry = Telemetry()
    telemetry.observer.on_runtime_event(started())
    of_operation = telemetry.observer.span_context_of(attempt_started())
    telemetry.observer.on_runtime_event(attempt_started())
    of_attempt = telemetry.observer.span_context_of(attempt_started())
    telemetry.observer.on_runtime_event(attempt_failed())
    telemetry.observer.on_runtime_event(completed())
    assert [of_attempt, of_operation] == [span.context for span in telemetry.spans]


CLEARANCE = RuntimeAttributeKey(
    name="clearance", value_type=str, sensitivity=RuntimeEventSensitivity.SENSITIVE
)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, {"tramapy.tool_name": "t"}),
        ({"sensitivity": RuntimeEventSensitivity.SENSITIVE}, {}),
        ({"is_span_eligible": False}, None),
    ],
    ids=["internal", "sensitive", "not-eligible"],
)
def test_an_event_of_ones_own_shows_what_is_not_sensitive(changes: dict[str, Any], shown: object) -> None:
    keys = (CATALOGUE.keys["correlation_id"], CATALOGUE.keys["tool_name"], CLEARANCE)
    definition = RuntimeEventDefinition(
        **{"name": "acme.tool.ran", "domain": RuntimeEventDomain.TOOL, "allowed": keys} | changes
    )
    telemetry = Telemetry()
    telemetry.observer.on_runtime_event(started())
    telemetry.observer.on_runtime_event(
        RuntimeEvent.of(definition, {"correlation_id": "c", "tool_name": "t", "clearance": "top"})
    )
    telemetry.observer.on_runtime_event(completed())
    [operation] = telemetry.operations
    assert [dict(event.attributes or {}) for event in operation.events] == ([] if shown is None else [shown])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limits": 5}, "limits is of type int; give TelemetryLimits"),
        ({"tracer_provider": "otlp"}, "tracer_provider is of type str; give a TracerProvider"),
        ({"tracer_provider": TracerProvider}, "tracer_provider is the class TracerProvider, and no instance"),
        (
            {"meter_provider": TracerProvider()},
            "meter_provider is of type TracerProvider; give a MeterProvider",
        ),
        ({"known_models": 5}, "known_models is of type int; give a list"),
        ({"known_models": ["m", 5]}, r"known_models\[1\] is of type int"),
        ({"provider_names": "openai"}, "provider_names is of type str; give a mapping"),
        ({"provider_names": {"p": 5}}, "provider_names holds a value that is of type int; give a mapping"),
    ],
)
def test_an_argument_of_another_type_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        OpenTelemetryEventObserver(**arguments)


def test_a_model_name_in_one_string_and_limits_of_nothing_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="known_models is of type str"):
        Telemetry(known_models="gpt-4o")
    for wrong in (0, -1, True, "2"):
        with pytest.raises(ConfigurationError, match="series_count takes an int of at least 1"):
            TelemetryLimits(series_count=wrong)  # type: ignore[arg-type]  # what is refused


def test_without_an_sdk_nothing_is_written_and_nothing_fails(driver: Driver) -> None:
    observer = OpenTelemetryEventObserver()
    rig = driver.rig([down(), "one"], retry=retries(1), event_observers=[observer])
    assert rig.complete([Message.user("?")]).content == "one"
    assert observer.open_operation_count == 0
