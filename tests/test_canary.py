"""Decision 21: planted secrets through every path, and a search through everything that comes out."""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from tests.drivers import Driver, Rig
from tramapy import (
    AttemptContentObserver,
    CircuitBreakerSettings,
    CompletedChunk,
    DlpContentType,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    DlpRule,
    EngineEventObserver,
    ImagePart,
    Message,
    ModelResponse,
    OperationInterceptor,
    ProviderError,
    Route,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    TextChunk,
    TextPart,
    TokenBudgetSettings,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
    ToolResultFilteringSettings,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

# plainly fake, and unlike anything that the library says by itself
PROMPT = "canary-prompt-5b1e77"
ANSWER = "canary-answer-c0ffee-93"
ARGUMENT = "canary-argument-77aa01"
RESULT = "canary-result-18fd2b"
RAISED = "canary-raised-e4d909"
CANARIES = (PROMPT, ANSWER, ARGUMENT, RESULT, RAISED)

CALL = ToolCall(id="c1", name="lookup", arguments_json=f'{{"q": "{ARGUMENT}"}}')
CONVERSATION = (
    Message.system(PROMPT),
    Message.user([TextPart(PROMPT), ImagePart(data=PROMPT.encode(), mime_type="image/png")]),
    Message.assistant(PROMPT, tool_calls=[CALL]),
    Message.tool(RESULT, tool_call_id="c1"),
    Message.user(PROMPT),
)
LOUD = ModelResponse(
    content=ANSWER,
    refusal=ANSWER,
    reasoning=ANSWER,
    tool_calls=[CALL],
    model=f"{ANSWER} is no model name",
    usage=TokenUsage(input_tokens=5, output_tokens=6),
)
OPTIONS = {
    "tools": [ToolDefinition(name="lookup", description=PROMPT)],
    "instructions": PROMPT,
    "service_interface": "Support",
    "method_name": "answer",
}


class Raising(OperationInterceptor):
    def __init__(self, side: str, error: Exception | None = None) -> None:
        self.side = side
        self.error = error

    def intercept_request(self, context, messages):
        if self.side == "request":
            raise self.error or ValueError(f"{RAISED} {messages[0].content}")
        return messages

    def intercept_response(self, context, response):
        if self.side == "response":
            raise self.error or ValueError(f"{RAISED} {response.content}")
        return response


class Returning(OperationInterceptor):
    def __init__(self, value: object) -> None:
        self.value = value

    def intercept_request(self, context, messages):
        return self.value


class Dlp(DlpInterceptor):
    def __init__(self, act: Callable[[Any, str], DlpResult]) -> None:
        self.act = act

    def inspect(self, context, text):
        return self.act(context, text)


def raises(error: Exception) -> Dlp:
    def act(context, text):
        raise error

    return Dlp(act)


def redacts_all(context, text) -> DlpResult:
    return DlpResult("[X]", [DlpRedaction("all", 1)])


class BrokenAudit(DlpRedactionAuditEmitter):
    def emit(self, context, redactions):
        raise OSError(RAISED)


class BrokenObserver(EngineEventObserver):
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error or ValueError(RAISED)

    def on_runtime_event(self, event):
        raise self.error

    def provider_call_scope(self, event):
        raise self.error


class BrokenContentObserver(AttemptContentObserver):
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def on_attempt_request(self, event, request):
        raise self.error or ValueError(f"{RAISED} {request.messages[0].content}")

    def on_attempt_response(self, event, response):
        raise self.error or ValueError(f"{RAISED} {response.content}")


RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="canary", pattern=r"canary-[a-z]+-[0-9a-f-]+", enabled_for=list(DlpContentType))]
    )
)
# classes that are made at run time may be called after what went wrong
NAMED = type(f"about {RAISED}", (Exception,), {})
NAMED_PROVIDER_ERROR: Any = type(f"about {RAISED}", (ProviderError,), {})
DOWN = ProviderError("the provider is down", retryable=True, status_code=503)

PATHS: dict[str, tuple[Sequence[Any], dict[str, Any]]] = {
    "success": ([LOUD], {}),
    "success-with-rules": ([LOUD], {"dlp": RULES, "request_dlp": RULES}),
    "redacted-and-audit-fails": ([LOUD], {"dlp": Dlp(redacts_all), "dlp_redaction_audit": BrokenAudit()}),
    "dlp-raises": ([LOUD], {"dlp": raises(ValueError(RAISED))}),
    "dlp-rejects": ([LOUD], {"dlp": raises(DlpInspectionError("The answer is classified"))}),
    "dlp-gives-nonsense": ([LOUD], {"dlp": Dlp(lambda context, text: text)}),
    "dlp-evidence-without-change": (
        [LOUD],
        {"dlp": Dlp(lambda context, text: DlpResult(text, [DlpRedaction("r", 1)]))},
    ),
    "request-dlp-raises": ([LOUD], {"request_dlp": raises(ValueError(RAISED))}),
    "request-interceptor-raises": ([LOUD], {"interceptors": [Raising("request")]}),
    "response-interceptor-raises": ([LOUD], {"interceptors": [Raising("response")]}),
    "request-interceptor-returns-text": ([LOUD], {"interceptors": [Returning(RAISED)]}),
    "request-interceptor-returns-strangers": ([LOUD], {"interceptors": [Returning([RAISED])]}),
    "provider-raises-anything": ([ValueError(RAISED)], {}),
    "provider-raises-a-group": ([ExceptionGroup(RAISED, [ValueError(RAISED), KeyError(RAISED)])], {}),
    "provider-error-with-payload-under-dlp": ([ProviderError(f"400: {RAISED}")], {"dlp": RULES}),
    "provider-error-with-payload-under-failing-dlp": (
        [ProviderError(f"400: {RAISED}")],
        {"dlp": raises(ValueError(RAISED))},
    ),
    "provider-returns-text": ([lambda request: ["x", object()]], {}),
    "provider-down-then-well": ([DOWN, LOUD], {}),
    "provider-down": ([DOWN] * 4, {"circuit_breaker": CircuitBreakerSettings(failure_threshold=1)}),
    "budget": ([LOUD], {"token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=3)}),
    "tool-result-too-long": (
        [LOUD],
        {
            "dlp": RULES,
            "tool_result_filtering": ToolResultFilteringSettings(default_max_aggregate_text_length=3),
        },
    ),
    "observers-fail": (
        [LOUD],
        {"event_observers": [BrokenObserver()], "content_observers": [BrokenContentObserver()]},
    ),
    "a-class-of-a-provider-is-named-so": ([NAMED()], {}),
    "a-class-of-a-provider-error-is-named-so": (
        [NAMED_PROVIDER_ERROR("it failed", retryable=True), LOUD],
        {},
    ),
    "a-class-of-a-dlp-error-is-named-so": ([LOUD], {"dlp": raises(NAMED())}),
    "classes-of-hooks-are-named-so": (
        [LOUD],
        {
            "interceptors": [Raising("response", NAMED())],
            "event_observers": [BrokenObserver(NAMED())],
            "content_observers": [BrokenContentObserver(NAMED())],
        },
    ),
    "cancelled": ([KeyboardInterrupt(RAISED)], {}),
}


def everything_said(rig: Rig, error: BaseException | None, caplog: pytest.LogCaptureFixture) -> list[object]:
    said: list[object] = [
        [(event.name, dict(event.attributes)) for event in rig.observer.events],
        [record.getMessage() for record in caplog.records],
        [repr(record.args) for record in caplog.records],
        [record.exc_info for record in caplog.records],
        repr(rig.tramapy),
    ]
    if error is not None:
        # our own frames; those of this test hold the canaries, as every caller's do
        ours = [
            frame
            for frame in traceback.TracebackException.from_exception(error, capture_locals=True).stack
            if "/tramapy/" in frame.filename and "/tests/" not in frame.filename
        ]
        assert any("tramapy/client.py" in frame.filename for frame in ours)
        said.append([(frame.name, frame.locals) for frame in ours])
        assert error.__context__ is None
        if not isinstance(error, KeyboardInterrupt):  # the test's own object, text and all
            said.append(error.with_traceback(None))
    return said


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_no_planted_secret_comes_out(
    driver: Driver, entry: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers, settings = PATHS[path]
    rig = driver.rig(answers, **settings)
    error: BaseException | None = None
    try:
        getattr(rig, entry)(CONVERSATION, **OPTIONS)
    except BaseException as caught:
        error = caught
    assert_no_canary(CANARIES, *everything_said(rig, error, caplog))


@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_rules_keep_the_canaries_from_the_provider_and_the_caller(driver: Driver, entry: str) -> None:
    provider = ScriptedProvider([LOUD.replace(model="m-1")])
    rig = driver.rig(provider, dlp=RULES, request_dlp=RULES)
    came = getattr(rig, entry)(CONVERSATION[:1] + CONVERSATION[2:], instructions=PROMPT)
    response = came if entry == "complete" else came[-1].response
    assert_no_canary(CANARIES, response.content, response.refusal, response.reasoning)
    assert_no_canary(CANARIES, [call.arguments_json for call in response.tool_calls])
    [request] = provider.requests
    assert_no_canary(CANARIES, request.instructions, [message.content for message in request.messages])
    assert_no_canary(
        CANARIES, [call.arguments_json for message in request.messages for call in message.tool_calls]
    )
    if entry == "stream":
        assert_no_canary(CANARIES, [chunk.text for chunk in came if isinstance(chunk, TextChunk)])
        assert_no_canary(
            CANARIES, [chunk.tool_call.arguments_json for chunk in came if isinstance(chunk, ToolCallChunk)]
        )


@pytest.mark.parametrize("cut", [DOWN, ValueError(RAISED), None], ids=["error", "defect", "no-end"])
def test_a_stream_that_breaks_says_nothing(driver: Driver, cut: object, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    script = [TextChunk("canary-"), TextChunk("answer-c0ff"), *([] if cut is None else [cut])]
    rig = driver.rig(ScriptedProvider([script], repeat_last=True), dlp=RULES)
    into: list[Any] = []
    with pytest.raises(ProviderError) as caught:
        rig.stream(CONVERSATION, into=into)
    assert into == []
    assert_no_canary((*CANARIES, "answer-c0ff"), *everything_said(rig, caught.value, caplog))


@pytest.mark.parametrize("way", ["close", "drop"])
def test_a_stream_that_is_left_says_nothing(driver: Driver, way: str, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    script = [TextChunk("ready "), TextChunk(ANSWER), CompletedChunk(ModelResponse())]
    rig = driver.rig([script], dlp=RULES)
    if way == "close":
        rig.stream(CONVERSATION, take=1)
    elif driver.name == "sync":
        stream = rig.tramapy.stream(CONVERSATION, model="m")
        next(stream)
        with pytest.warns(ResourceWarning) as warned:  # noqa: PT031
            del stream
            gc.collect()
        assert_no_canary(CANARIES, [str(warning.message) for warning in warned])
    assert_no_canary(CANARIES, *everything_said(rig, None, caplog))


def test_fallback_says_nothing_of_the_first_failure(driver: Driver, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    rig = driver.rig(
        {"a": ScriptedProvider([DOWN] * 4), "b": ScriptedProvider([ValueError(RAISED)])},
        default_provider="a",
        fallbacks={"m": [Route("b")]},
    )
    with pytest.raises(ProviderError) as caught:
        rig.complete(CONVERSATION, **OPTIONS)
    assert_no_canary(CANARIES, *everything_said(rig, caught.value, caplog))


def test_a_cancelled_task_says_nothing(async_driver: Driver, caplog) -> None:
    caplog.set_level(logging.DEBUG)

    async def hang(request):
        await anyio.sleep_forever()

    rig = async_driver.rig([hang], dlp=RULES)
    caught: list[BaseException] = []

    async def main() -> None:
        async def call() -> None:
            try:
                await rig.tramapy.complete(CONVERSATION, model="m", **OPTIONS)
            except BaseException as error:
                caught.append(error)
                assert_no_canary(CANARIES, *everything_said(rig, error, caplog))
                raise

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    async_driver.run(main)
    assert caught
    assert rig.names[-1] == "operation.completed"


@pytest.mark.parametrize("entry", ["complete", "stream"])
@pytest.mark.parametrize("dlp", [RULES, raises(ValueError(RAISED))], ids=["rules", "failing"])
def test_a_tool_name_that_the_model_made_up_is_in_no_event_and_no_error(
    driver: Driver, entry: str, dlp: Any
) -> None:
    call = ToolCall(id="c1", name=ARGUMENT, arguments_json=f'{{"q": "{ARGUMENT}"}}')
    rig = driver.rig([ModelResponse(tool_calls=[call])], dlp=dlp)
    with pytest.raises(DlpInspectionError) as caught:
        getattr(rig, entry)(**{key: OPTIONS[key] for key in ("tools",)})
    assert_no_canary(CANARIES, caught.value.with_traceback(None), rig.observer.events)


@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_an_undeclared_tool_is_not_named(driver: Driver, entry: str) -> None:
    call = ToolCall(id="c1", name="made_up", arguments_json=f'{{"q": "{ARGUMENT}"}}')
    rig = driver.rig([ModelResponse(tool_calls=[call])], dlp=RULES)
    getattr(rig, entry)(**{key: OPTIONS[key] for key in ("tools",)})
    assert [event["tool_name"] for event in rig.attributes_of("dlp.redacted")] == ["unregistered_tool"]
