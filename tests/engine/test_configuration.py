"""Bad input: every wrong argument is refused by name, with a remedy, before anything is sent."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import AsyncLedger, Ledger, Onlooker, OnRequest, Words
from tramapy import (
    AsyncProvider,
    AsyncTramapy,
    AttemptContentObserver,
    CompositeDlpInterceptor,
    CompositeOperationInterceptor,
    ConfigurationError,
    DlpInterceptor,
    DlpResult,
    EngineEventObserver,
    FailureDiagnosticObserver,
    Message,
    ModelResponse,
    OperationInterceptor,
    Provider,
    Route,
    StreamingDlpInterceptor,
    ToolDefinition,
    Tramapy,
    TramapyError,
)
from tramapy.testing import RecordingObserver, ScriptedProvider


def mask(context: object, text: str) -> DlpResult:
    """Do as a newcomer would: hand over a function."""
    return DlpResult(text)


class Plain(Provider):
    def complete(self, request: object) -> ModelResponse:
        return ModelResponse()


class Awaited(AsyncProvider):
    async def acomplete(self, request: object) -> ModelResponse:
        return ModelResponse()


class AsyncStream(StreamingDlpInterceptor):
    def inspect(self, context: object, text: str) -> DlpResult:
        return DlpResult(text)

    async def open_stream(self, context: object) -> None:  # type: ignore[override]  # that is the point
        return None


class AsyncOnlooker(AttemptContentObserver):
    async def on_attempt_request(self, event: object, request: object) -> None:  # type: ignore[override]  # the point
        pass


class AsyncListener(EngineEventObserver):
    async def on_engine_event(self, name: str, attributes: object) -> None:  # type: ignore[override]  # the point
        pass


class AsyncDiagnostics(FailureDiagnosticObserver):
    async def on_failure(self, diagnostic: object) -> None:  # type: ignore[override]  # the point
        pass


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"unheard_of": 1}, r"Unknown setting 'unheard_of'; known are default_provider, models"),
    ({"default_provider": "q"}, r"default_provider names the unknown provider 'q'; providers has 'p'"),
    ({"default_provider": ["p"]}, r"default_provider takes a str, not list"),
    ({"default_provider": ""}, r"default_provider is blank"),
    ({"models": ["m"]}, r"models is a list; give a mapping"),
    ({"models": {"m": "q"}}, r"models\['m'\] names the unknown provider 'q'; providers has 'p'"),
    ({"models": {"m": 5}}, r"models\['m'\] takes a str, not int"),
    ({"models": {5: "p"}}, r"a key of models takes a str, not int"),
    ({"models": {" ": "p"}}, r"a key of models is blank"),
    ({"fallbacks": [Route("p")]}, r"fallbacks is a list; give a mapping"),
    ({"fallbacks": {"m": [Route("q")]}}, r"fallbacks\['m'\]\[0\] names the unknown provider 'q'"),
    ({"fallbacks": {"m": [Route("p"), Route("q")]}}, r"fallbacks\['m'\]\[1\] names the unknown provider 'q'"),
    ({"fallbacks": {"m": Route("p")}}, r"fallbacks\['m'\] takes a sequence of Route, for example \[Route\("),
    ({"fallbacks": {"m": ["p"]}}, r"fallbacks\['m'\] takes a sequence of Route"),
    ({"fallbacks": {"m": "p"}}, r"fallbacks\['m'\] takes a sequence of Route"),
    ({"fallbacks": {"m": [Route("p", 5)]}}, r"fallbacks\['m'\]\[0\]\.model takes a str, not int"),
    ({"fallbacks": {"m": [Route("p", "")]}}, r"fallbacks\['m'\]\[0\]\.model is blank"),
    ({"fallbacks": {5: []}}, r"a key of fallbacks takes a str, not int"),
    ({"interceptors": OnRequest()}, r"interceptors is a OnRequest; give a list"),
    ({"interceptors": None}, r"interceptors is a NoneType; give a list"),
    ({"interceptors": "mask"}, r"interceptors is a str; give a list"),
    (
        {"interceptors": [OnRequest(), mask]},
        r"interceptors\[1\] is a bare function; derive a class from Operation",
    ),
    (
        {"interceptors": [object()]},
        r"interceptors\[0\] is a object; derive a class from OperationInterceptor",
    ),
    ({"interceptors": [OnRequest]}, r"interceptors\[0\] is a class, OnRequest, and no instance; derive"),
    (
        {"dlp": mask},
        r"dlp is a bare function; write a class that derives from DlpInterceptor, with a method inspect",
    ),
    ({"dlp": Words}, r"dlp is a class, Words, and no instance; write a class"),
    ({"dlp": [Words()]}, r"dlp is a list; write a class that derives from DlpInterceptor"),
    ({"dlp": AsyncStream()}, r"dlp: AsyncStream\.open_stream is async; make it a plain method"),
    ({"request_dlp": mask}, r"request_dlp is a bare function; write a class"),
    (
        {"request_dlp": CompositeDlpInterceptor([AsyncStream()])},
        r"request_dlp: AsyncStream\.open_stream is async",
    ),
    (
        {"dlp_redaction_audit": print},
        r"dlp_redaction_audit is a bare function; derive a class from DlpRedactionAudit",
    ),
    ({"dlp_redaction_audit": Ledger}, r"dlp_redaction_audit is a class, Ledger, and no instance"),
    ({"tool_result_filtering": 5}, r"tool_result_filtering is a int; give a ToolResultFilteringSettings"),
    ({"event_observers": RecordingObserver()}, r"event_observers is a RecordingObserver; give a list"),
    (
        {"event_observers": [RecordingObserver]},
        r"event_observers\[0\] is the class RecordingObserver; pass an instance",
    ),
    (
        {"event_observers": [print]},
        r"event_observers\[0\]: builtin_function_or_method has no on_engine_event; derive",
    ),
    (
        {"event_observers": [AsyncListener()]},
        r"event_observers\[0\]: AsyncListener\.on_engine_event is async; make it",
    ),
    ({"content_observers": Onlooker()}, r"content_observers is a Onlooker; give a list"),
    (
        {"content_observers": [object()]},
        r"content_observers\[0\] is a object; derive a class from AttemptContentObs",
    ),
    (
        {"content_observers": [AsyncOnlooker()]},
        r"content_observers\[0\]: AsyncOnlooker\.on_attempt_request is async",
    ),
    ({"diagnostic_observers": 5}, r"diagnostic_observers is a int; give a list"),
    (
        {"diagnostic_observers": [print]},
        r"diagnostic_observers\[0\] is a bare function; derive a class from Failure",
    ),
    (
        {"diagnostic_observers": [AsyncDiagnostics()]},
        r"diagnostic_observers\[0\]: AsyncDiagnostics\.on_failure is async",
    ),
    ({"retry": 3}, r"retry is a int; give a RetryPolicySettings"),
    ({"circuit_breaker": True}, r"circuit_breaker is a bool; give a CircuitBreakerSettings"),
    ({"token_budget": 100}, r"token_budget is a int; give a TokenBudgetSettings"),
    ({"timeout_s": 0}, r"timeout_s is 0; it must be a positive, finite number of seconds, or None"),
    ({"timeout_s": "60"}, r"timeout_s takes seconds as a number, not str"),
    ({"timeout_s": True}, r"timeout_s takes seconds as a number, not bool"),
    ({"timeout_s": math.inf}, r"timeout_s is inf; it must be a positive, finite number"),
    ({"timeout_s": math.nan}, r"timeout_s is nan; it must be a positive, finite number"),
    ({"timeout_s": 10**400}, r"timeout_s is 10*; it must be a positive, finite number"),
    ({"deadline_s": -1.0}, r"deadline_s is -1\.0; it must be a positive, finite number"),
    ({"stream_dlp": "never"}, r"stream_dlp takes 'auto' or 'buffer'"),
    ({"stream_dlp": []}, r"stream_dlp takes 'auto' or 'buffer'"),
    ({"clock": 5}, r"clock is a int without now_s and sleep and asleep; give one with now_s, sleep, asleep"),
    ({"random": 5}, r"random is a int without random and getrandbits; give one with random, getrandbits"),
]


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
@pytest.mark.parametrize(("settings", "complaint"), SETTINGS)
def test_a_wrong_setting_is_named(facade: Any, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{complaint}"):
        facade({"p": ScriptedProvider()}, **settings)


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
@pytest.mark.parametrize(
    ("providers", "complaint"),
    [
        ({}, r"providers is empty; give at least one, for example \{'openai': provider\}"),
        ([ScriptedProvider()], r"providers is a list; give a mapping, for example \{'openai': provider\}"),
        (ScriptedProvider(), r"providers is a ScriptedProvider; give a mapping"),
        ({"": ScriptedProvider()}, r"a key of providers is blank; give it a name"),
        ({5: ScriptedProvider()}, r"a key of providers takes a str, not int"),
        (
            {"p": object()},
            r"providers\['p'\] is a object; (Async)?Tramapy takes a (Async)?Provider: derive it from",
        ),
        ({"p": ScriptedProvider}, r"providers\['p'\] is a \w+; (Async)?Tramapy takes a (Async)?Provider"),
    ],
)
def test_wrong_providers_are_named(facade: Any, providers: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{complaint}"):
        facade(providers)


def test_a_plain_provider_would_block_a_loop() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^providers\['p'\] is a Plain; AsyncTramapy takes a"
    ) as caught:
        AsyncTramapy({"p": Plain()})  # type: ignore[dict-item]  # that is the point
    assert "use Tramapy, or adapt it with tramapy.providers.ThreadedProvider" in str(caught.value)


def test_an_async_provider_has_no_loop_on_a_thread() -> None:
    complaint = r"^providers\['p'\] is a Awaited; Tramapy takes a Provider: use AsyncTramapy$"
    with pytest.raises(ConfigurationError, match=complaint):
        Tramapy({"p": Awaited()})  # type: ignore[dict-item]  # that is the point


class AsyncHook(OperationInterceptor, DlpInterceptor):
    async def intercept_request(self, context: object, messages: Any) -> Any:
        return messages

    async def inspect(self, context: object, text: str) -> DlpResult:
        return DlpResult(text)


HOOK = AsyncHook()
ASYNC_HOOKS: list[tuple[dict[str, Any], str]] = [
    ({"interceptors": [OnRequest(), HOOK]}, r"interceptors\[1\]: AsyncHook\.intercept_request"),
    (
        {"interceptors": [CompositeOperationInterceptor([CompositeOperationInterceptor([HOOK])])]},
        r"interceptors\[0\]: AsyncHook\.intercept_request",
    ),
    ({"dlp": HOOK}, r"dlp: AsyncHook\.inspect"),
    ({"dlp": CompositeDlpInterceptor([CompositeDlpInterceptor([HOOK])])}, r"dlp: AsyncHook\.inspect"),
    ({"request_dlp": HOOK}, r"request_dlp: AsyncHook\.inspect"),
    ({"dlp_redaction_audit": AsyncLedger()}, r"dlp_redaction_audit: AsyncLedger\.emit"),
]


@pytest.mark.parametrize(("settings", "where"), ASYNC_HOOKS)
def test_a_declared_async_hook_is_refused_on_a_thread(settings: dict[str, Any], where: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"^{where} is async; make it a plain method, or use AsyncTramapy$"
    ):
        Tramapy({"p": ScriptedProvider()}, **settings)


@pytest.mark.parametrize(("settings", "where"), ASYNC_HOOKS)
def test_a_declared_async_hook_is_welcome_on_a_loop(settings: dict[str, Any], where: str) -> None:
    assert AsyncTramapy({"p": ScriptedProvider()}, **settings)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"unheard_of": 1}, r"Unknown option 'unheard_of'; known are model, provider"),
    ({"is_stream": True}, r"Unknown option 'is_stream'"),
    ({"model": 5}, r"model takes a str, not int"),
    ({"model": ["m"]}, r"model takes a str, not list"),
    ({"model": " "}, r"model is blank; give it a name"),
    ({"provider": "q"}, r"provider names the unknown provider 'q'; providers has 'p'"),
    ({"provider": ["p"]}, r"provider takes a str, not list"),
    ({"service_interface": ""}, r"service_interface is blank; give it a name or leave it out"),
    ({"service_interface": None}, r"service_interface takes a str, not NoneType"),
    ({"method_name": 5}, r"method_name takes a str, not int"),
    ({"method_name": ""}, r"method_name is blank"),
    ({"correlation_id": 5}, r"correlation_id takes a str, not int"),
    ({"correlation_id": "  "}, r"correlation_id is blank"),
    ({"workflow_run_id": 5}, r"workflow_run_id takes a str, not int"),
    ({"workflow_run_id": ""}, r"workflow_run_id is blank"),
    ({"data_classification": "public"}, r"data_classification takes a DataClassification, not str"),
    ({"classification_source": "declared"}, r"classification_source takes a ClassificationSource, not str"),
    ({"tools": 5}, r"tools takes a sequence of ToolDefinition, not int"),
    ({"tools": ["lookup"]}, r"tools\[0\] is a str; make it a ToolDefinition\(name=\.\.\.\)"),
    ({"temperature": "hot"}, r"temperature takes a number, not str"),
    ({"temperature": True}, r"temperature takes a number, not bool"),
    ({"temperature": -0.1}, r"temperature is -0\.1; it must be a number from 0 to"),
    ({"temperature": math.nan}, r"temperature is nan; it must be a number from 0 to"),
    ({"temperature": math.inf}, r"temperature is inf; it must be a number from 0 to"),
    ({"top_p": 1.1}, r"top_p is 1\.1; it must be a number from 0 to 1, or None"),
    ({"top_p": "1"}, r"top_p takes a number, not str"),
    ({"max_output_tokens": 0}, r"max_output_tokens is 0; it must be at least 1, or None"),
    ({"max_output_tokens": 1.5}, r"max_output_tokens takes an int, not float"),
    ({"max_output_tokens": True}, r"max_output_tokens takes an int, not bool"),
    ({"instructions": 5}, r"instructions takes a str, not int"),
    ({"timeout_s": 0}, r"timeout_s is 0; it must be a positive"),
    ({"timeout_s": "5"}, r"timeout_s takes seconds as a number, not str"),
    ({"deadline_s": math.inf}, r"deadline_s is inf; it must be a positive"),
]


@pytest.mark.parametrize("call", ["complete", "stream"])
@pytest.mark.parametrize(("options", "complaint"), OPTIONS)
def test_a_wrong_option_is_named(driver: Driver, call: str, options: dict[str, Any], complaint: str) -> None:
    provider = ScriptedProvider()
    rig = driver.rig(provider)
    with pytest.raises(ConfigurationError, match=f"^{complaint}"):
        getattr(rig, call)(**options)
    assert provider.requests == ()
    assert rig.names == []


@pytest.mark.parametrize("call", ["complete", "stream"])
@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        (
            "hello",
            r"messages takes a sequence of Message, not str; for one prompt pass \[Message\.user\(\.\.\.\)\]",
        ),
        (b"hello", r"messages takes a sequence of Message, not bytes"),
        (Message.user("hello"), r"messages takes a sequence of Message, not Message; for one prompt pass"),
        (None, r"messages takes a sequence of Message, not NoneType"),
        ([], r"messages is empty; pass at least one Message"),
        ((), r"messages is empty"),
        (iter(()), r"messages is empty"),
        (
            [Message.user("x"), "hello"],
            r"messages\[1\] is a str; make it a Message, for example Message\.user",
        ),
        (("hello",), r"messages\[0\] is a str; make it a Message"),
        ({"role": "user"}, r"messages\[0\] is a str; make it a Message"),
    ],
    ids=["str", "bytes", "message", "none", "list", "tuple", "iterator", "mixed", "strings", "dict"],
)
def test_wrong_messages_are_named(driver: Driver, call: str, messages: Any, complaint: str) -> None:
    rig = driver.rig(ScriptedProvider())
    with pytest.raises(ConfigurationError, match=f"^{complaint}") as caught:
        getattr(rig, call)(messages)
    assert "hello" not in str(caught.value)
    assert rig.names == []


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
def test_a_missing_model_is_named(facade: Any) -> None:
    t = facade({"p": ScriptedProvider()})
    with pytest.raises(
        ConfigurationError, match=r"^model is missing; name the model, for example model='gpt-4o'$"
    ):
        t.stream([Message.user("hello")])


def test_any_iterable_of_messages_will_do(driver: Driver) -> None:
    class Special(Message):
        pass

    provider = ScriptedProvider(["one", "two"])
    rig = driver.rig(provider)
    rig.complete(message for message in (Message.user("a"), Message.user("b")))
    rig.complete([Special.user("c")])
    assert [[message.content for message in request.messages] for request in provider.requests] == [
        ["a", "b"],
        ["c"],
    ]


def test_good_options_reach_the_provider(driver: Driver) -> None:
    tool = ToolDefinition(name="lookup")
    provider = ScriptedProvider(["answer"])
    driver.rig(provider).complete(
        temperature=0, top_p=1, max_output_tokens=5, instructions="be brief", tools=iter([tool]), timeout_s=3
    )
    (request,) = provider.requests
    assert (request.temperature, request.top_p, request.max_output_tokens) == (0, 1, 5)
    assert (request.instructions, request.tools, request.timeout_s) == ("be brief", (tool,), 3.0)


def test_a_typed_error_of_the_callers_own_iterable_stays(driver: Driver) -> None:
    def broken() -> Any:
        yield Message.user("a")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        driver.rig(ScriptedProvider()).complete(broken())


def test_a_configuration_error_is_ours_and_a_value_error() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Tramapy({})
    assert isinstance(caught.value, TramapyError)
    assert isinstance(caught.value, ValueError)


def test_none_switches_a_setting_off() -> None:
    off = dict.fromkeys(("circuit_breaker", "token_budget", "dlp", "request_dlp", "retry", "clock", "random"))
    t = Tramapy({"p": ScriptedProvider(["answer"])}, **off, dlp_redaction_audit=None, deadline_s=None)
    assert t.complete([Message.user("x")], model="m").content == "answer"


def test_the_facade_shows_its_providers_only() -> None:
    assert repr(Tramapy({"p": ScriptedProvider(["secret"])})) == "Tramapy(providers=['p'])"
    assert repr(AsyncTramapy({"p": ScriptedProvider(), "q": ScriptedProvider()})) == (
        "AsyncTramapy(providers=['p', 'q'])"
    )
