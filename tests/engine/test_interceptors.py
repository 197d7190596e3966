"""Items 53 to 60 of the acceptance list, and what an interceptor may and may not do."""

from __future__ import annotations

import collections
import concurrent.futures
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.drivers import HELLO, Driver
from tests.engine.doubles import Diagnostics, OnRequest, OnResponse, Words, breaker_of, down, raising, retries
from tramapy import (
    CircuitBreakerSettings,
    CompositeOperationInterceptor,
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    Message,
    ModelResponse,
    OperationInterceptor,
    ProviderError,
    Route,
)
from tramapy.resilience.breaker import BreakerState
from tramapy.testing import ScriptedProvider


def append(word: str) -> OnRequest:
    return OnRequest(lambda messages: [*messages, Message.user(word)])


def suffix(word: str) -> OnResponse:
    return OnResponse(lambda response: response.replace(content=response.content + word))


class Awaited(OperationInterceptor):
    """Does with `async def` what the two above do."""

    def __init__(self, word: str) -> None:
        self._word = word

    async def intercept_request(self, context: object, messages: Sequence[Message]) -> Sequence[Message]:
        return (*messages, Message.user(self._word))

    async def intercept_response(self, context: object, response: ModelResponse) -> ModelResponse:
        return response.replace(content=response.content + self._word)


def contents(provider: ScriptedProvider) -> list[str]:
    return [message.content for message in provider.requests[-1].messages]


@pytest.mark.parametrize("composite", [False, True], ids=["listed", "composite"])
def test_rt53_both_directions_run_in_the_same_order(driver: Driver, composite: bool) -> None:
    hooks: list[OperationInterceptor] = [append("A"), suffix("A"), append("B"), suffix("B")]
    provider = ScriptedProvider(["answer"])
    rig = driver.rig(provider, interceptors=[CompositeOperationInterceptor(hooks)] if composite else hooks)
    assert rig.complete().content == "answerAB"
    assert contents(provider) == ["hello", "A", "B"]


def test_rt53_plain_and_awaited_ones_mix(async_driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    hooks = [
        append("A"),
        Awaited("B"),
        suffix("C"),
        CompositeOperationInterceptor([Awaited("D"), append("E")]),
    ]
    rig = async_driver.rig(provider, interceptors=hooks)
    assert rig.complete().content == "answerBCD"
    assert contents(provider) == ["hello", "A", "B", "D", "E"]


def test_rt54_an_empty_composite_is_the_identity(driver: Driver) -> None:
    answer = ModelResponse(content="answer")
    provider = ScriptedProvider([answer])
    rig = driver.rig(provider, interceptors=[CompositeOperationInterceptor([])])
    assert rig.complete() is answer
    assert provider.requests[0].messages == HELLO


def test_rt55_the_request_side_alone_leaves_responses_alone(driver: Driver) -> None:
    answer = ModelResponse(content="answer")
    rig = driver.rig([answer], interceptors=[append("A")])
    assert rig.complete() is answer


def test_rt55_the_response_side_alone_leaves_requests_alone(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    assert driver.rig(provider, interceptors=[suffix("!")]).complete().content == "answer!"
    assert provider.requests[0].messages == HELLO


def test_rt56_an_interceptor_sees_sanitized_text_and_dlp_has_the_last_word(driver: Driver) -> None:
    """Decision 1 changes it: DLP comes before the response interceptors, and again after what they changed."""
    dlp = Words()
    unsafe = OnResponse(lambda response: response.replace(content=response.content + " and a secret of mine"))
    rig = driver.rig(["a secret"], dlp=dlp, interceptors=[unsafe])
    assert rig.complete().content == "a [S] and a [S] of mine"
    assert unsafe.inputs[0].content == "a [S]"
    assert dlp.texts == ["a secret", "a [S] and a secret of mine"]


SIDES = [
    pytest.param(OnRequest, "intercept_request", id="request"),
    pytest.param(OnResponse, "intercept_response", id="response"),
]


@pytest.mark.parametrize(("kind", "callback"), SIDES)
@pytest.mark.parametrize(
    "error",
    [
        ValueError("hello"),
        TimeoutError("hello"),
        down(),
        DlpInspectionError("hello"),
        ExceptionGroup("hello", [KeyError("hello")]),
    ],
    ids=["plain", "timeout", "provider", "dlp", "group"],
)
def test_rt57_whatever_one_raises_ends_the_operation(
    driver: Driver, kind: Any, callback: str, error: Exception
) -> None:
    """Decisions 5 and 13: always an `InterceptorError`; the original raises the hook's own and judges its type."""
    diagnostics = Diagnostics()
    providers = {"a": ScriptedProvider(["answer", "again"]), "b": ScriptedProvider([])}
    rig = driver.rig(
        providers,
        default_provider="a",
        fallbacks={"m": [Route("b")]},
        interceptors=[kind(raising(error))],
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        diagnostic_observers=[diagnostics],
    )
    expected = (
        f"Interceptor {kind.__name__}.{callback} raised {type(error).__name__}; the operation was stopped"
    )
    for _ in range(2):
        with pytest.raises(InterceptorError, match=expected) as caught:
            rig.complete()
        assert "hello" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert len(providers["a"].requests) == (2 if kind is OnResponse else 0)
    assert providers["b"].requests == ()
    assert rig.clock.sleeps == ()
    assert [name for name in rig.names if name.startswith(("circuit", "retry"))] == []
    assert diagnostics.found[0].error is error
    assert (diagnostics.found[0].extension_point, diagnostics.found[0].callback) == (
        "operation_interceptor",
        callback,
    )


def test_rt57_a_failed_response_interceptor_is_one_failed_attempt(driver: Driver) -> None:
    rig = driver.rig(["answer"], interceptors=[OnResponse(raising(KeyError("x")))])
    with pytest.raises(InterceptorError):
        rig.complete()
    assert rig.names == [
        "operation.started",
        "route.selected",
        "attempt.started",
        "attempt.failed",
        "operation.completed",
    ]
    (failed,) = rig.attributes_of("attempt.failed")
    assert (failed["failure_kind"], failed["error_type"]) == ("interceptor", "InterceptorError")


def test_rt58_a_failed_request_interceptor_starts_no_attempt(driver: Driver) -> None:
    provider = ScriptedProvider([])
    rig = driver.rig(provider, interceptors=[OnRequest(raising(KeyError("x")))])
    with pytest.raises(InterceptorError):
        rig.complete()
    assert rig.names == ["operation.started", "operation.completed"]
    assert rig.attributes_of("operation.completed")[0]["failure_kind"] == "interceptor"
    assert provider.requests == ()


def test_rt60_two_registrations_are_both_active(driver: Driver) -> None:
    """Decision 8: a list in order; the original keeps the last one alone."""
    provider = ScriptedProvider(["answer"])
    driver.rig(provider, interceptors=[append("A"), append("B")]).complete()
    assert contents(provider) == ["hello", "A", "B"]


def test_the_first_failure_stops_the_chain(driver: Driver) -> None:
    last = OnRequest()
    rig = driver.rig([], interceptors=[OnRequest(raising(KeyError("x"))), last])
    with pytest.raises(InterceptorError):
        rig.complete()
    assert last.inputs == []


def test_an_error_names_the_one_inside_a_composite(driver: Driver) -> None:
    class Culprit(OnRequest):
        pass

    composite = CompositeOperationInterceptor(
        [append("A"), CompositeOperationInterceptor([Culprit(raising(KeyError()))])]
    )
    rig = driver.rig([], interceptors=[composite])
    with pytest.raises(InterceptorError, match=r"Interceptor Culprit\.intercept_request raised KeyError"):
        rig.complete()


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "returned NoneType; return a sequence of Message"),
        ("text", "returned str; return a sequence of Message"),
        (b"text", "returned bytes; return a sequence of Message"),
        (Message.user("x"), "returned Message; return a sequence of Message"),
        (iter(()), "returned tuple_iterator; return a sequence of Message"),
        (["text"], "returned a sequence with a value of type str; return Message values only"),
        ([], "returned no messages; raise where the call must not happen"),
    ],
    ids=["none", "str", "bytes", "message", "iterator", "strings", "empty"],
)
def test_messages_that_are_none_are_refused(driver: Driver, returned: object, complaint: str) -> None:
    provider = ScriptedProvider([])
    rig = driver.rig(provider, interceptors=[OnRequest(lambda _: returned)])
    with pytest.raises(InterceptorError, match=rf"Interceptor OnRequest\.intercept_request {complaint}"):
        rig.complete()
    assert provider.requests == ()


def test_any_sequence_of_messages_will_do(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    rig = driver.rig(
        provider, interceptors=[OnRequest(lambda _: collections.UserList([Message.user("other")]))]
    )
    rig.complete()
    assert contents(provider) == ["other"]


class Lazy(collections.UserList[Message]):
    """A sequence that raises a provider's error while it is read."""

    def __iter__(self) -> Iterator[Message]:
        raise down()


def test_a_sequence_that_fails_while_it_is_read_is_the_interceptors_failure(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"], repeat_last=True)
    rig = driver.rig(
        provider,
        interceptors=[OnRequest(Lazy)],
        retry=retries(3),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    with pytest.raises(InterceptorError, match=r"OnRequest\.intercept_request raised ProviderError"):
        rig.complete()
    assert provider.requests == ()
    assert breaker_of(rig).state("p") is BreakerState.CLOSED


def test_a_list_that_is_changed_afterwards_is_not_sent(driver: Driver) -> None:
    kept: list[Message] = [Message.user("kept")]

    def answer(request: Any) -> str:
        kept.append(Message.user("late"))
        return "answer"

    provider = ScriptedProvider([answer])
    driver.rig(provider, interceptors=[OnRequest(lambda _: kept)]).complete()
    assert contents(provider) == ["kept"]


@pytest.mark.parametrize("returned", [None, "text"])
def test_a_response_that_is_none_is_refused(driver: Driver, returned: object) -> None:
    rig = driver.rig(["answer"], interceptors=[OnResponse(lambda _: returned)])
    complaint = f"OnResponse.intercept_response returned {type(returned).__name__}; return a ModelResponse"
    with pytest.raises(InterceptorError, match=complaint):
        rig.complete()


def test_a_response_of_a_derived_class_will_do(driver: Driver) -> None:
    class Special(ModelResponse):
        pass

    rig = driver.rig(["answer"], interceptors=[OnResponse(lambda _: Special(content="special"))])
    assert rig.complete().content == "special"


class Auditor(OnResponse):
    observes_only = True


def test_a_declared_observer_may_look(driver: Driver) -> None:
    auditor = Auditor(lambda response: response.replace())
    assert driver.rig(["answer"], interceptors=[auditor]).complete().content == "answer"
    assert auditor.inputs[0].content == "answer"


def test_a_declared_observer_may_not_change(driver: Driver) -> None:
    rig = driver.rig(["answer"], interceptors=[Auditor(lambda response: response.replace(content="other"))])
    with pytest.raises(
        InterceptorError, match="Auditor declares observes_only but returned another response"
    ):
        rig.complete()


def test_an_awaitable_from_a_plain_method_is_refused_on_a_thread() -> None:
    driver = Driver("sync")
    awaited = Awaited("A")
    hooks = [
        OnRequest(lambda messages: awaited.intercept_request(None, messages)),
        OnResponse(lambda response: awaited.intercept_response(None, response)),
    ]
    for hook in hooks:
        rig = driver.rig(["answer"], interceptors=[hook])
        with pytest.raises(
            ConfigurationError, match=r"A hook returned an awaitable \(coroutine\) under Tramapy"
        ):
            rig.complete()
        assert rig.attributes_of("operation.completed")[0]["failure_kind"] == "configuration"


@pytest.mark.parametrize("side", ["request", "response"])
def test_an_awaitable_inside_a_composite_is_closed_on_a_thread(side: str) -> None:
    class Grouped(CompositeOperationInterceptor):
        """A composite of one's own is not taken apart."""

    awaited = Awaited("A")
    inner: OperationInterceptor = (
        OnRequest(lambda messages: awaited.intercept_request(None, messages))
        if side == "request"
        else OnResponse(lambda response: awaited.intercept_response(None, response))
    )
    rig = Driver("sync").rig(["answer"], interceptors=[Grouped([Grouped([inner]), append("B")])])
    with pytest.raises(ConfigurationError, match="make it plain, or use AsyncTramapy"):
        rig.complete()


def test_an_awaitable_from_a_plain_method_is_awaited_on_a_loop(async_driver: Driver) -> None:
    awaited = Awaited("A")
    provider = ScriptedProvider(["answer"])
    hooks = [OnRequest(lambda messages: awaited.intercept_request(None, messages))]
    async_driver.rig(provider, interceptors=hooks).complete()
    assert contents(provider) == ["hello", "A"]


@pytest.mark.parametrize(("kind", "callback"), SIDES)
def test_a_cancellation_passes_through(driver: Driver, kind: Any, callback: str) -> None:
    rig = driver.rig(["answer"], interceptors=[kind(raising(concurrent.futures.CancelledError()))])
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "cancelled"
    assert "attempt.failed" not in rig.names


def test_a_configuration_error_of_a_hook_stays_itself(driver: Driver) -> None:
    error = ConfigurationError("no key; set one")
    rig = driver.rig([], interceptors=[OnRequest(raising(error))])
    with pytest.raises(ConfigurationError) as caught:
        rig.complete()
    assert caught.value is error


def test_the_context_says_which_call_it_is(driver: Driver) -> None:
    seen = OnRequest()
    rig = driver.rig(["one", "two"], interceptors=[seen])
    rig.complete()
    rig.complete(service_interface="Support", method_name="answer")
    assert [(c.service_interface, c.method_name, c.provider_id) for c in seen.contexts] == [
        ("tramapy", "complete", "p"),
        ("Support", "answer", "p"),
    ]


def test_a_retry_passes_the_response_side_again(driver: Driver) -> None:
    seen = OnResponse()
    rig = driver.rig([down(), "answer"], retry=retries(1), interceptors=[seen])
    rig.complete()
    assert [response.content for response in seen.inputs] == ["answer"]


def test_no_response_interceptor_sees_a_failure(driver: Driver) -> None:
    seen = OnResponse()
    rig = driver.rig([ProviderError("no")], interceptors=[seen])
    with pytest.raises(ProviderError):
        rig.complete()
    assert seen.inputs == []


def test_a_side_set_on_the_instance_runs_too(driver: Driver) -> None:
    hook = OperationInterceptor()
    hook.intercept_request = lambda context, messages: [Message.user("set")]  # type: ignore[method-assign]  # on purpose
    provider = ScriptedProvider(["x"])
    driver.rig(provider, interceptors=[hook]).complete()
    assert provider.requests[0].messages == (Message.user("set"),)


def test_an_interceptor_that_assigns_is_told_of_copies(driver: Driver) -> None:
    def assign(messages: Sequence[Message]) -> Sequence[Message]:
        setattr(messages[0], "content", "changed")  # noqa: B010  # as newcomers do
        return messages

    rig = driver.rig(ScriptedProvider(["answer"]), interceptors=[OnRequest(assign)])
    with pytest.raises(
        InterceptorError,
        match=r"raised FrozenInstanceError; .* immutable: return changed copies, made with replace\(content=",
    ):
        rig.complete()
