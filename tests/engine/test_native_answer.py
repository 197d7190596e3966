"""The engine's steps on a whole answer in a vendor's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Words, breaker_of, retries
from tests.engine.native_doubles import ARGUMENTS, CONTENT, REASONING, Asked, Natives, Told, answered
from tramapy import (
    AttemptContentObserver,
    CircuitBreakerSettings,
    DlpContentLocation,
    DlpContentType,
    DlpInspectionError,
    DlpInterceptor,
    DlpResult,
    FinishReason,
    InterceptorError,
    Message,
    ModelRequest,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    ProviderError,
    RuleBasedDlpInterceptor,
    RuntimeEvent,
    TokenBudgetExceededError,
    TokenBudgetSettings,
    TokenUsage,
    ToolCall,
)
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration
from tramapy.engine.native import NativeRejectionError, NativeSent, NativeText
from tramapy.hooks.dlp import DlpContentType as Types

ASKED = Asked(Message.user("hello"))


def placeholders() -> RuleBasedDlpInterceptor:
    rule = DlpRule(
        id="ssn", pattern=r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", action=DlpAction.PLACEHOLDER, enabled_for=Types
    )
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


class Shout(OperationInterceptor):
    """Changes each request and response, and counts them."""

    def __init__(self) -> None:
        self.requests: list[Sequence[Message]] = []
        self.responses: list[str] = []

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        self.requests.append(messages)
        return [message.replace(content=message.content.upper()) for message in messages]

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        self.responses.append(response.content)
        return response.replace(content=response.content + " secret")


def test_the_provider_gets_the_request_and_what_may_be_sent_of_its_rest(driver: Driver) -> None:
    provider = Natives(Told(ModelResponse(content="ok")))
    request_dlp, hook = Words(), Shout()
    rig = driver.rig({"p": provider}, request_dlp=request_dlp, interceptors=[hook])
    asked = Asked(Message.user("hello").replace(origin=5), rest='{"user":"secret"}')
    answered(rig, asked)
    assert provider.sent == [NativeSent(asked, '{"user":"[S]"}')]
    (message,) = provider.requests[0].messages
    assert (message.content, message.origin) == ("HELLO", 5)
    assert hook.requests == [asked.messages]
    context = request_dlp.contexts[-1]
    assert context.content_type is DlpContentType.MODEL_INPUT
    assert context.content_location is DlpContentLocation.REQUEST_MESSAGE_CONTENT
    assert repr(provider.sent[0]) == "NativeSent(<1 messages>, <14 characters>)"


def test_without_messages_no_request_interceptor_runs(driver: Driver) -> None:
    hook = Shout()
    provider = Natives(Told(ModelResponse()))
    answered(driver.rig({"p": provider}, interceptors=[hook]), Asked(rest='"x"'))
    assert not hook.requests
    assert provider.sent == [NativeSent(provider.sent[0].request, None)]
    assert repr(provider.sent[0]) == "NativeSent(<0 messages>, no rest)"


def test_every_text_is_inspected_where_it_stands(driver: Driver) -> None:
    told = Told(
        ModelResponse(content="a secret"),
        ModelResponse(content="b", reasoning="secret thought"),
        texts=[
            NativeText("secret one", REASONING),
            NativeText("secret two", ARGUMENTS, "lookup"),
            NativeText("", CONTENT),
        ],
    )
    dlp = Words()
    rig = driver.rig({"p": Natives(told)}, dlp=dlp)
    answer = answered(rig, ASKED)
    assert isinstance(answer, Told)
    assert answer.written is not None
    responses, texts = answer.written
    assert [response.content for response in responses] == ["a [S]", "b"]
    assert responses[1].reasoning == "[S] thought"
    assert texts == ("[S] one", "[S] two", "")
    assert [(context.content_location, context.tool_name) for context in dlp.contexts] == [
        (CONTENT, None),
        (CONTENT, None),
        (REASONING, None),
        (REASONING, None),
        (ARGUMENTS, "lookup"),
    ]
    assert rig.names[-2:] == ["attempt.completed", "operation.completed"]


def test_without_hooks_an_answer_is_written_as_it_is(driver: Driver) -> None:
    told = Told(ModelResponse(content="a"), texts=[NativeText("b", CONTENT)])
    answer = answered(driver.rig({"p": Natives(told)}), ASKED)
    assert isinstance(answer, Told)
    assert answer.written == (told.responses, ("b",))
    assert answer.written[0][0] is told.responses[0]


def test_each_choice_is_intercepted_and_inspected_again(driver: Driver) -> None:
    hook = Shout()
    told = Told(ModelResponse(content="a secret"), ModelResponse(content="b"))
    answer = answered(driver.rig({"p": Natives(told)}, dlp=Words(), interceptors=[hook]), ASKED)
    assert isinstance(answer, Told)
    assert answer.written is not None
    assert [response.content for response in answer.written[0]] == ["a [S] [S]", "b [S]"]
    assert hook.responses == ["a [S]", "b"]


class OnlyLong(OperationInterceptor):
    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        return response.replace(content="secret") if len(response.content) > 3 else response


def test_a_choice_that_an_interceptor_leaves_alone_is_not_inspected_again(driver: Driver) -> None:
    told = Told(ModelResponse(content="a"), ModelResponse(content="bbbb"))
    answer = answered(driver.rig({"p": Natives(told)}, dlp=Words(), interceptors=[OnlyLong()]), ASKED)
    assert isinstance(answer, Told)
    assert answer.written is not None
    assert [response.content for response in answer.written[0]] == ["a", "[S]"]
    assert answer.written[0][0] is told.responses[0]


class Watcher(AttemptContentObserver):
    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.responses: list[str] = []

    def on_attempt_request(self, event: RuntimeEvent, request: ModelRequest) -> None:
        self.requests.append(request)

    def on_attempt_response(self, event: RuntimeEvent, response: ModelResponse) -> None:
        self.responses.append(response.content)


def test_content_observers_see_each_choice_and_the_usage_counts_once(driver: Driver) -> None:
    usage = TokenUsage(input_tokens=5, output_tokens=5)
    told = Told(ModelResponse(content="a secret", usage=usage), ModelResponse(content="b"))
    watcher = Watcher()
    budget = TokenBudgetSettings(soft_max_tokens_per_operation=9)
    rig = driver.rig({"p": Natives(told)}, dlp=Words(), content_observers=[watcher], token_budget=budget)
    answered(rig, ASKED)
    assert watcher.responses == ["a [S]", "b"]
    assert len(watcher.requests) == 1
    assert [each["observed_tokens"] for each in rig.attributes_of("token_budget.soft_limit_exceeded")] == [10]
    assert "token_budget.usage_unavailable" not in rig.names


def test_a_call_may_have_a_budget_of_its_own(driver: Driver) -> None:
    told = Told(ModelResponse(usage=TokenUsage(input_tokens=5, output_tokens=6)))
    rig = driver.rig({"p": Natives(told)})
    with pytest.raises(TokenBudgetExceededError):
        answered(rig, ASKED, token_budget=TokenBudgetSettings(hard_max_tokens_per_operation=10))


def test_values_return_into_texts_and_into_arguments_for_named_tools(driver: Driver) -> None:
    ssn = "219-09-9999"

    def tell(request: ModelRequest) -> Told:
        placeholder = request.messages[0].content
        arguments = f'{{"n":"{placeholder}"}}'
        return Told(
            ModelResponse(
                content=placeholder, tool_calls=(ToolCall(id="1", name="mail", arguments_json=arguments),)
            ),
            texts=[
                NativeText(f"so {placeholder}", REASONING),
                NativeText(arguments, ARGUMENTS, "mail"),
                NativeText(arguments, ARGUMENTS, "other"),
                NativeText("", CONTENT),
            ],
        )

    class Echo(Natives):
        def complete(self, request: ModelRequest) -> Any:
            return tell(request)

        async def acomplete(self, request: ModelRequest) -> Any:
            return tell(request)

    rig = driver.rig({"p": Echo()}, request_dlp=placeholders(), restore_for_tools=["mail"])
    answer = answered(rig, Asked(Message.user(ssn)))
    assert isinstance(answer, Told)
    assert answer.written is not None
    responses, texts = answer.written
    assert responses[0].content == ssn
    assert responses[0].tool_calls[0].arguments_json == f'{{"n":"{ssn}"}}'
    assert texts[:2] == (f"so {ssn}", f'{{"n":"{ssn}"}}')
    assert ssn not in texts[2]


@pytest.mark.parametrize("is_strict", [False, True])
def test_what_cannot_be_inspected_is_told_and_refused_where_strict(driver: Driver, is_strict: bool) -> None:
    provider = Natives(Told(ModelResponse()))
    rig = driver.rig({"p": provider})
    asked = Asked(Message.user("x"), unscanned=("file_id", "conversation"), is_strict=is_strict)
    if is_strict:
        with pytest.raises(DlpInspectionError, match=r"\(file_id\).*strict=True"):
            answered(rig, asked)
        assert not provider.sent
    else:
        answered(rig, asked)
    told = [each["reason_code"] for each in rig.attributes_of("content.unscanned")]
    assert told == (["file_id"] if is_strict else ["file_id", "conversation"])


@pytest.mark.parametrize("is_strict", [False, True])
def test_an_answer_that_cannot_be_inspected_is_told_and_refused_where_strict(
    driver: Driver, is_strict: bool
) -> None:
    rig = driver.rig({"p": Natives(Told(ModelResponse(), unscanned=("audio",), is_strict=is_strict))})
    if is_strict:
        with pytest.raises(DlpInspectionError, match=r"\(audio\)"):
            answered(rig, ASKED)
    else:
        answered(rig, ASKED)
    assert [each["reason_code"] for each in rig.attributes_of("content.unscanned")] == ["audio"]


def test_nobody_hears_of_it_where_nobody_listens(driver: Driver) -> None:
    rig = driver.rig({"p": Natives(Told(ModelResponse(refusal="no"), unscanned=("audio",)))})
    quiet = rig.tramapy.derive(event_observers=[])
    rig.tramapy = quiet
    assert answered(rig, ASKED)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (ModelResponse(refusal="no"), "refusal"),
        (ModelResponse(finish_reason=FinishReason.CONTENT_FILTER), "content_filter"),
        (ModelResponse(content="yes"), None),
    ],
)
def test_a_refusal_is_a_success_and_an_event(
    driver: Driver, response: ModelResponse, reason: str | None
) -> None:
    rig = driver.rig(
        {"p": Natives(Told(response))}, circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    answered(rig, ASKED)
    assert [each["reason_code"] for each in rig.attributes_of("response.refused")] == (
        [reason] if reason else []
    )
    assert breaker_of(rig).open_until_s("p") is None


def rejection(**fields: Any) -> NativeRejectionError:
    return NativeRejectionError(
        "The provider answered 429.",
        body='{"error":{"message":"no secret"}}',
        headers=[(b"x-request-id", b"1")],
        **{"status_code": 429, "retryable": True, "retry_after_s": 0.5, **fields},
    )


def test_a_rejection_keeps_what_it_said_inspected(driver: Driver) -> None:
    rig = driver.rig({"p": Natives(rejection(), rejection())}, dlp=Words(), retry=retries(1))
    with pytest.raises(NativeRejectionError) as caught:
        answered(rig, ASKED)
    error = caught.value
    assert error.body == '{"error":{"message":"no [S]"}}'
    assert (error.status_code, error.retry_after_s, error.retryable) == (429, 0.5, True)
    assert (error.headers, error.is_in_stream) == (((b"x-request-id", b"1"),), False)
    assert rig.names.count("retry.scheduled") == 1
    assert "no secret" not in repr(rig.observer.events)


def test_without_dlp_a_rejection_stays_the_same_object(driver: Driver) -> None:
    error = rejection(retryable=False)
    with pytest.raises(NativeRejectionError) as caught:
        answered(driver.rig({"p": Natives(error)}), ASKED)
    assert caught.value is error


class Refusing(DlpInterceptor):
    def inspect(self, context: Any, text: str) -> DlpResult:
        raise DlpInspectionError("refused")


def test_a_rejection_whose_inspection_fails_says_fixed_words(driver: Driver) -> None:
    rig = driver.rig({"p": Natives(rejection(retryable=False))}, dlp=Refusing())
    with pytest.raises(NativeRejectionError) as caught:
        answered(rig, ASKED)
    assert caught.value.body == str(caught.value) == "Provider 'p' failed; DLP withheld its message"


def test_a_rejection_with_a_cause_that_does_not_count_stays_one(driver: Driver) -> None:
    error = rejection(retryable=False, counts_on_breaker=True)
    error.__cause__ = DlpInspectionError("x")
    rig = driver.rig({"p": Natives(error)}, circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    with pytest.raises(NativeRejectionError) as caught:
        answered(rig, ASKED)
    assert caught.value.body == error.body
    assert not caught.value.counts_on_breaker
    assert breaker_of(rig).open_until_s("p") is None


def test_an_interceptor_that_fails_ends_the_call(driver: Driver) -> None:
    class Failing(OperationInterceptor):
        def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
            raise ValueError("secret")

    rig = driver.rig({"p": Natives(Told(ModelResponse(), ModelResponse()))}, interceptors=[Failing()])
    with pytest.raises(InterceptorError):
        answered(rig, ASKED)


@pytest.mark.parametrize("error", [DlpInspectionError("no shape"), InterceptorError("no place")])
def test_a_format_without_a_place_for_a_change_says_so_itself(driver: Driver, error: Exception) -> None:
    rig = driver.rig({"p": Natives(error)}, circuit_breaker=CircuitBreakerSettings(failure_threshold=1))
    with pytest.raises(type(error)) as caught:
        answered(rig, ASKED)
    assert caught.value is error
    assert breaker_of(rig).open_until_s("p") is None


def test_what_is_no_answer_is_refused(driver: Driver) -> None:
    rig = driver.rig({"p": Natives("text")})
    with pytest.raises(ProviderError, match="returned str"):
        answered(rig, ASKED)
