"""Items 61 to 80 of the acceptance list: DLP on what a model says, its evidence and its audit."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import (
    AsyncLedger,
    Diagnostics,
    FailingLedger,
    Journalling,
    Ledger,
    Onlooker,
    OnResponse,
    Scripted,
    Words,
    down,
    raising,
    retries,
)
from tests.engine.stream_doubles import HoldBack, HoldBackStream
from tramapy import (
    CircuitBreakerSettings,
    ClassificationSource,
    ConfigurationError,
    DataClassification,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    ModelResponse,
    ProviderError,
    Route,
    ToolCall,
)
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.testing import FakeClock, ScriptedProvider

MAIL = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="mail", pattern=r"[a-z]+@[a-z]+\.[a-z]+", replacement="[EMAIL]")]
    )
)
NO_EVIDENCE = Scripted(lambda _, text: DlpResult(text.upper()))
NO_CHANGE = Scripted(lambda _, text: DlpResult(text, [DlpRedaction("rule", 1)]))
UNREADABLE = Scripted(raising(ValueError("hello")))


class AsyncWords(DlpInterceptor):
    def __init__(self) -> None:
        self._words = Words()

    async def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return self._words.inspect(context, text)


def failure(rig: Any, **options: Any) -> DlpInspectionError:
    with pytest.raises(DlpInspectionError) as caught:
        rig.complete(**options)
    return caught.value


def test_rt61_the_caller_gets_redacted_text(driver: Driver) -> None:
    rig = driver.rig(["write to alice@example.com"], dlp=MAIL)
    assert rig.complete().content == "write to [EMAIL]"


def test_rt61_an_awaited_inspection_does_the_same(async_driver: Driver) -> None:
    assert async_driver.rig(["a secret"], dlp=AsyncWords()).complete().content == "a [S]"


def test_rt62_a_redaction_is_audited_once_without_the_value(driver: Driver) -> None:
    """The audit chain of the original is not here: the emitter is the hook that one would hang on."""
    ledger = Ledger()
    rig = driver.rig(["write to alice@example.com"], dlp=MAIL, dlp_redaction_audit=ledger)
    rig.complete(correlation_id="c1", workflow_run_id="w1")
    ((context, redactions),) = ledger.records
    assert redactions == (DlpRedaction("mail", 1),)
    assert (context.content_type, context.correlation_id) == (DlpContentType.MODEL_OUTPUT, "c1")
    assert "alice" not in repr((context, redactions))


def test_rt62_an_emitter_may_be_awaited(async_driver: Driver) -> None:
    ledger = AsyncLedger()
    async_driver.rig(["a secret"], dlp=Words(), dlp_redaction_audit=ledger).complete()
    assert len(ledger.records) == 1


def test_rt62_the_event_says_rule_place_and_count(driver: Driver) -> None:
    rig = driver.rig(["secret secret"], dlp=Words())
    rig.complete(correlation_id="c1")
    assert rig.attributes_of("dlp.redacted") == [
        {
            "correlation_id": "c1",
            "provider_id": "p",
            "attempt": 0,
            "content_type": "model_output",
            "content_location": "model_response_content",
            "rule_id": "secret",
            "replacement_count": 2,
        }
    ]


def test_rt63_audit_is_fail_closed(driver: Driver) -> None:
    providers = {"a": ScriptedProvider(["a secret", "a secret"]), "b": ScriptedProvider([])}
    diagnostics = Diagnostics()
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        dlp=Words(),
        dlp_redaction_audit=FailingLedger(),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        diagnostic_observers=[diagnostics],
    )
    for _ in range(2):
        assert "The DLP audit emitter failed with OSError (MODEL_OUTPUT at MODEL_RESPONSE_CONTENT" in str(
            failure(rig)
        )
    assert len(providers["a"].requests) == 2
    assert providers["b"].requests == ()
    assert "circuit.opened" not in rig.names
    assert "dlp.redacted" not in rig.names
    assert (diagnostics.found[0].extension_point, diagnostics.found[0].callback) == ("audit", "emit")
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "audit_failed"


def test_rt64_change_without_evidence_passes_without_an_audit(driver: Driver) -> None:
    assert driver.rig(["loud"], dlp=NO_EVIDENCE).complete().content == "LOUD"


def test_rt65_change_without_evidence_cannot_be_audited(driver: Driver) -> None:
    ledger = Ledger()
    rig = driver.rig(["loud"], dlp=NO_EVIDENCE, dlp_redaction_audit=ledger)
    assert "changed text without redactions to audit" in str(failure(rig))
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "change_without_evidence"
    assert ledger.records == []


@pytest.mark.parametrize("ledger", [None, Ledger()], ids=["no audit", "audit"])
def test_rt66_evidence_without_change_is_refused(driver: Driver, ledger: Ledger | None) -> None:
    rig = driver.rig(["loud"], dlp=NO_CHANGE, dlp_redaction_audit=ledger)
    assert "reported redactions but changed nothing" in str(failure(rig))
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "evidence_without_change"
    assert ledger is None or ledger.records == []


def test_rt67_a_dlp_failure_is_not_retried(driver: Driver) -> None:
    provider = ScriptedProvider(["text"])
    rig = driver.rig(provider, dlp=UNREADABLE, retry=retries(3))
    failure(rig)
    assert len(provider.requests) == 1
    assert rig.clock.sleeps == ()


def test_rt67_after_a_retry_the_rest_is_not_used_up(driver: Driver) -> None:
    provider = ScriptedProvider([down(), "text"])
    failure(driver.rig(provider, dlp=UNREADABLE, retry=retries(3)))
    assert len(provider.requests) == 2


def test_rt68_a_dlp_failure_does_not_fall_back(driver: Driver) -> None:
    providers = {"a": ScriptedProvider(["text"]), "b": ScriptedProvider([])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, dlp=UNREADABLE)
    failure(rig)
    assert providers["b"].requests == ()


def test_rt69_dlp_failures_do_not_open_the_breaker(driver: Driver) -> None:
    provider = ScriptedProvider(["text", "text"])
    rig = driver.rig(provider, dlp=UNREADABLE, circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    failure(rig)
    failure(rig)
    assert len(provider.requests) == 2


def test_rt73_observers_of_content_see_redacted_text(driver: Driver) -> None:
    onlooker = Onlooker()
    driver.rig(["a secret"], dlp=Words(), content_observers=[onlooker]).complete()
    assert [response.content for response in onlooker.responses] == ["a [S]"]


def test_rt74_tool_calls_keep_their_identity(driver: Driver) -> None:
    """Decision 2 changes it: their arguments are inspected (item 80)."""
    call = ToolCall(id="c1", name="lookup", arguments_json='{"q": "secret"}')
    rig = driver.rig([ModelResponse(content="a secret", tool_calls=[call])], dlp=Words())
    response = rig.complete()
    assert response.content == "a [S]"
    assert response.tool_calls == (call.replace(arguments_json='{"q": "[S]"}'),)


def test_rt75_an_inspector_that_fails(driver: Driver) -> None:
    provider = ScriptedProvider(["text"])
    rig = driver.rig(provider, dlp=UNREADABLE)
    error = failure(rig)
    assert str(error) == (
        "The DLP interceptor failed with ValueError (MODEL_OUTPUT at MODEL_RESPONSE_CONTENT of provider 'p'); "
        "the text was withheld"
    )
    assert error.__cause__ is None
    assert rig.names[2:] == [
        "attempt.started",
        "dlp.inspection_failed",
        "attempt.failed",
        "operation.completed",
    ]
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "dlp"
    (event,) = rig.attributes_of("dlp.inspection_failed")
    assert (event["reason_code"], event["error_type"]) == ("interceptor_failed", "ValueError")
    assert (event["provider_id"], event["attempt"]) == ("p", 0)
    assert len(provider.requests) == 1


def test_rt75_the_original_goes_to_the_diagnostic_observer(driver: Driver) -> None:
    diagnostics = Diagnostics()
    failure(driver.rig(["text"], dlp=UNREADABLE, diagnostic_observers=[diagnostics]))
    (diagnostic,) = diagnostics.found
    assert isinstance(diagnostic.error, ValueError)
    assert (diagnostic.extension_point, diagnostic.callback) == ("dlp", "inspect")


def test_rt76_a_rejection_is_the_same_object_and_announced(driver: Driver) -> None:
    """Decision 6 changes it: the event comes, so that the seed's alert works."""
    rejection = DlpInspectionError("classified")
    rig = driver.rig(["text"], dlp=Scripted(raising(rejection)))
    assert failure(rig) is rejection
    (event,) = rig.attributes_of("dlp.inspection_failed")
    assert (event["reason_code"], event["error_type"]) == ("rejected", "DlpInspectionError")


def test_rt76_an_awaited_rejection_is_the_same(async_driver: Driver) -> None:
    rejection = DlpInspectionError("classified")

    async def reject(*_: object) -> DlpResult:
        raise rejection

    rig = async_driver.rig(["text"], dlp=Scripted(reject))
    assert failure(rig) is rejection
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "rejected"


def test_rt77_a_cancellation_from_an_inspector_is_a_cancellation(driver: Driver) -> None:
    rig = driver.rig(["text"], dlp=Scripted(raising(concurrent.futures.CancelledError())))
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert rig.names[2:] == ["attempt.started", "attempt.cancelled", "operation.completed"]


def test_rt77_a_cancellation_from_the_audit_is_a_cancellation(driver: Driver) -> None:
    class Cancelled(Ledger):
        emit = raising(concurrent.futures.CancelledError())

    rig = driver.rig(["a secret"], dlp=Words(), dlp_redaction_audit=Cancelled())
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert "dlp.inspection_failed" not in rig.names
    assert "dlp.redacted" not in rig.names


def test_rt78_without_dlp_the_answer_is_the_providers_own_object(driver: Driver) -> None:
    answer = ModelResponse(content="a secret", refusal="r", reasoning="x")
    assert driver.rig([answer]).complete() is answer


def test_rt80_tool_call_arguments_are_inspected(driver: Driver) -> None:
    """Decision 2 changes it: the original lets them pass."""
    dlp = Words()
    call = ToolCall(id="c1", name="lookup", arguments_json='{"q": "secret"}')
    rig = driver.rig([ModelResponse(tool_calls=[call])], dlp=dlp)
    assert rig.complete().tool_calls[0].arguments_json == '{"q": "[S]"}'
    location = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
    assert dlp.seen == [(location, "lookup"), (location, '{"q": "secret"}')], (
        "the name, which nobody declared, and them"
    )
    assert [context.tool_name for context in dlp.contexts] == [None, "lookup"]


def test_the_context_names_operation_provider_and_route(driver: Driver) -> None:
    dlp = Words()
    rig = driver.rig(
        {"p": ScriptedProvider([down()]), "q": ScriptedProvider(["text"])},
        default_provider="p",
        fallbacks={"m": [Route("q", "m-q")]},
        retry=retries(0),
        dlp=dlp,
    )
    rig.complete(
        service_interface="Support",
        method_name="answer",
        correlation_id="c1",
        workflow_run_id="w1",
        data_classification=DataClassification.CONFIDENTIAL,
        classification_source=ClassificationSource.DECLARED,
    )
    assert dlp.contexts[-1] == DlpContext(
        content_type=DlpContentType.MODEL_OUTPUT,
        content_location=DlpContentLocation.MODEL_RESPONSE_CONTENT,
        operation_interface="Support",
        operation_method="answer",
        correlation_id="c1",
        provider_id="q",
        model_name="m-q",
        workflow_run_id="w1",
        data_classification=DataClassification.CONFIDENTIAL,
        classification_source=ClassificationSource.DECLARED,
    )


@pytest.mark.parametrize(
    "returned",
    ["text", None, ("text", ())],
    ids=["str", "none", "tuple"],
)
def test_what_is_no_result_fails_closed(driver: Driver, returned: object) -> None:
    rig = driver.rig(["text"], dlp=Scripted(lambda *_: returned))
    assert "The DLP interceptor returned no DlpResult" in str(failure(rig))
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "invalid_result"


@pytest.mark.parametrize(
    "fields", [(None,), (5,), ("other", ["rule"])], ids=["no text", "a number", "redactions of str"]
)
def test_a_malformed_result_fails_closed(driver: Driver, fields: tuple[Any, ...]) -> None:
    rig = driver.rig(
        [ModelResponse(content="text", refusal="no")], dlp=Scripted(lambda *_: DlpResult(*fields))
    )
    failure(rig)
    (event,) = rig.attributes_of("dlp.inspection_failed")
    assert (event["reason_code"], event["error_type"]) == ("interceptor_failed", "TypeError")


def test_a_result_of_a_derived_class_will_do(driver: Driver) -> None:
    class Special(DlpResult):
        pass

    rig = driver.rig(["text"], dlp=Scripted(lambda *_: Special("special")))
    assert rig.complete().content == "special"


def test_an_awaitable_from_a_plain_inspector_is_refused_on_a_thread() -> None:
    async_words = AsyncWords()
    rig = Driver("sync").rig(["text"], dlp=Scripted(async_words.inspect))
    with pytest.raises(ConfigurationError, match="A hook returned an awaitable"):
        rig.complete()


def test_an_awaitable_from_a_plain_emitter_is_refused_on_a_thread() -> None:
    ledger = AsyncLedger()

    class Handing(Ledger):
        def emit(self, context: DlpContext, redactions: Any) -> Any:
            return ledger.emit(context, redactions)

    rig = Driver("sync").rig(["a secret"], dlp=Words(), dlp_redaction_audit=Handing())
    with pytest.raises(ConfigurationError, match="A hook returned an awaitable"):
        rig.complete()


def test_evidence_comes_before_its_output_is_seen(driver: Driver) -> None:
    journal: list[str] = []
    unsafe = OnResponse(
        lambda response: journal.append("intercept") or response.replace(content="secret again")
    )
    rig = driver.rig(
        ["a secret"],
        dlp=Words(journal=journal),
        dlp_redaction_audit=Ledger(journal),
        interceptors=[unsafe],
        event_observers=[Journalling(journal)],
    )
    rig.complete()
    once = ["inspect MODEL_RESPONSE_CONTENT", "audit MODEL_RESPONSE_CONTENT", "dlp.redacted"]
    assert journal[journal.index("attempt.started") + 1 :] == [
        *once,
        "intercept",
        *once,
        "attempt.completed",
        "operation.completed",
    ]


class Slow(HoldBack):
    """Takes two milliseconds a text, and a millisecond a piece; `clock` is set by the test."""

    clock: FakeClock

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.clock.advance(0.002)
        return super().inspect(context, text)

    def open_stream(self, context: DlpContext) -> HoldBackStream | None:
        stream = super().open_stream(context)
        assert stream is not None
        take = stream.feed

        def feed(text: str) -> str:
            self.clock.advance(0.001)
            return take(text)

        stream.feed = feed  # type: ignore[method-assign]  # it takes time
        return stream


def test_the_end_of_an_attempt_tells_how_long_dlp_took(driver: Driver) -> None:
    slow = Slow()
    calls = [ToolCall(id="1", name="t", arguments_json="{}")]
    rig = driver.rig(
        [ModelResponse(content="one", tool_calls=calls), down(), "a b"], retry=retries(0), dlp=slow
    )
    slow.clock = rig.clock
    rig.complete()
    with pytest.raises(ProviderError):
        rig.complete()
    rig.stream()
    plain, streamed = (event["dlp_micros"] for event in rig.attributes_of("attempt.completed"))
    assert (plain, streamed) == (6000, 2000), "content, the name of a tool that nobody declared, arguments"
    assert rig.attributes_of("attempt.failed")[0]["dlp_micros"] == 2000, "the provider's words are a text too"


def test_the_time_of_an_awaited_inspection_is_told(async_driver: Driver) -> None:
    class Waits(DlpInterceptor):
        async def inspect(self, context: DlpContext, text: str) -> DlpResult:
            rig.clock.advance(0.5)
            return DlpResult(text)

    rig = async_driver.rig(["one"], dlp=Waits())
    rig.complete()
    assert rig.attributes_of("attempt.completed")[0]["dlp_micros"] == 500_000
