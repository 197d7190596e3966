"""Bad input: every wrong setting is refused by name, with a remedy, when the facade is built."""

from __future__ import annotations

import enum
import math
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import AsyncLedger, FixedRandom, Ledger, Onlooker, OnRequest, Words, down, retries
from tramapy import (
    AsyncProvider,
    AsyncTramapy,
    AttemptContentObserver,
    CompositeDlpInterceptor,
    CompositeOperationInterceptor,
    ConfigurationError,
    DlpInterceptor,
    DlpResult,
    DlpRule,
    EngineEventObserver,
    FailureDiagnosticObserver,
    Message,
    ModelResponse,
    OperationInterceptor,
    Provider,
    Route,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    StreamingDlpInterceptor,
    Tramapy,
    TramapyError,
)
from tramapy.testing import FakeClock, RecordingObserver, ScriptedProvider


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


SSN = DlpRule(id="ssn", pattern=r"\d{3}-\d{2}-\d{4}")
RULES = RuleBasedDlpConfiguration(rules=[SSN])


class ShortHanded(OperationInterceptor):
    def intercept_response(self, response: Any) -> Any:  # type: ignore[override] # as newcomers do
        return response


class Turned(DlpInterceptor):
    def inspect(self, text: Any, context: Any) -> Any:
        return text


class OneHanded(DlpInterceptor):
    def inspect(self, text: str) -> Any:  # type: ignore[override] # as newcomers do
        return text


class PartsOf(DlpInterceptor):
    def inspect(self, context: object, text: str) -> DlpResult:
        return DlpResult(text)

    def inspect_parts(self, parts: object) -> None:  # type: ignore[override] # as newcomers do
        return None


class AsyncParts(PartsOf):
    async def inspect_parts(self, context: object, parts: object) -> None:  # type: ignore[override] # the point
        return None


class StreamOfNothing(AsyncStream):
    def open_stream(self) -> None:  # type: ignore[override] # as newcomers do
        return None


class StreamOfNobody(Words):
    def open_stream(self, context: object) -> None:
        return None


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"unheard_of": 1}, r"Unknown setting 'unheard_of'; known are default_provider, models"),
    ({"default_provider": "q"}, r"default_provider names the unknown provider 'q'; providers has 'p'"),
    ({"default_provider": ["p"]}, r"default_provider takes a str, not list"),
    ({"default_provider": ""}, r"default_provider is blank"),
    ({"models": ["m"]}, r"models is of type list; give a mapping"),
    ({"models": {"m": "q"}}, r"models\['m'\] names the unknown provider 'q'; providers has 'p'"),
    ({"models": {"m": 5}}, r"models\['m'\] takes a str, not int"),
    ({"models": {5: "p"}}, r"a key of models takes a str, not int"),
    ({"models": {" ": "p"}}, r"a key of models is blank"),
    ({"fallbacks": [Route("p")]}, r"fallbacks is of type list; give a mapping"),
    ({"fallbacks": {"m": [Route("q")]}}, r"fallbacks\['m'\]\[0\] names the unknown provider 'q'"),
    ({"fallbacks": {"m": [Route("p"), Route("q")]}}, r"fallbacks\['m'\]\[1\] names the unknown provider 'q'"),
    ({"fallbacks": {"m": Route("p")}}, r"fallbacks\['m'\] takes a sequence of Route, for example \[Route\("),
    ({"fallbacks": {"m": ["p"]}}, r"fallbacks\['m'\] takes a sequence of Route"),
    ({"fallbacks": {"m": "p"}}, r"fallbacks\['m'\] takes a sequence of Route"),
    ({"fallbacks": {"m": [Route("p", 5)]}}, r"fallbacks\['m'\]\[0\]\.model takes a str, not int"),
    ({"fallbacks": {"m": [Route("p", "")]}}, r"fallbacks\['m'\]\[0\]\.model is blank"),
    ({"fallbacks": {5: []}}, r"a key of fallbacks takes a str, not int"),
    ({"interceptors": OnRequest()}, r"interceptors is of type OnRequest; give a list"),
    ({"interceptors": None}, r"interceptors is of type NoneType; give a list"),
    ({"interceptors": "mask"}, r"interceptors is of type str; give a list"),
    (
        {"interceptors": [OnRequest(), mask]},
        r"interceptors\[1\] is a bare function; derive a class from Operation",
    ),
    (
        {"interceptors": [object()]},
        r"interceptors\[0\] is of type object; derive a class from OperationInterceptor",
    ),
    (
        {"interceptors": [OnRequest]},
        r"interceptors\[0\] is the class OnRequest, and no instance; write OnRequest\(\.\.\.\)",
    ),
    (
        {"dlp": mask},
        r"dlp is a bare function; write a class that derives from DlpInterceptor, with a method inspect",
    ),
    (
        {"dlp": RULES},
        r"dlp is of type RuleBasedDlpConfiguration; write RuleBasedDlpInterceptor\(\.\.\.\) around it",
    ),
    (
        {"dlp": [SSN]},
        r"dlp is of type list; write RuleBasedDlpInterceptor\(RuleBasedDlpConfiguration\(rules=",
    ),
    (
        {"dlp": (SSN,)},
        r"dlp is of type tuple; write RuleBasedDlpInterceptor\(RuleBasedDlpConfiguration\(rules=",
    ),
    (
        {"dlp": SSN},
        r"dlp is of type DlpRule; write RuleBasedDlpInterceptor\(RuleBasedDlpConfiguration\(rules=",
    ),
    (
        {"request_dlp": RULES},
        r"request_dlp is of type RuleBasedDlpConfiguration; write RuleBasedDlpInterceptor",
    ),
    ({"request_dlp": [SSN]}, r"request_dlp is of type list; write RuleBasedDlpInterceptor\(RuleBasedDlpConf"),
    ({"dlp": Words}, r"dlp is the class Words, and no instance; write Words\(\.\.\.\)"),
    (
        {"dlp": RuleBasedDlpInterceptor},
        r"dlp is .* write RuleBasedDlpInterceptor\.with_default_rules\(\), or",
    ),
    (
        {"dlp": RuleBasedDlpInterceptor.with_default_rules},
        r"dlp is a bare function; call it: RuleBasedDlpInterceptor\.with_default_rules\(\)$",
    ),
    (
        # RT171: two interceptors are no choice that anybody makes in silence; there is no container to name them by
        {"dlp": [Words(), Words()]},
        r"dlp is of type list; it takes one; write CompositeDlpInterceptor\(\[\.\.\.\]\)",
    ),
    (
        {"dlp": True},
        r"dlp is of type bool; write RuleBasedDlpInterceptor\.with_default_rules\(\) for the rules",
    ),
    ({"dlp": OnRequest()}, r"dlp is of type OnRequest; give it as interceptors=\[\.\.\.\]$"),
    (
        {"interceptors": [Words()]},
        r"interceptors\[0\] is of type Words; give it as dlp=\.\.\. or request_dlp=",
    ),
    (
        {"event_observers": [OnRequest()]},
        r"event_observers\[0\] is of type OnRequest; give it as interceptors=\[\.\.\.\]$",
    ),
    ({"content_observers": [Words]}, r"content_observers\[0\] is the class Words, and no instance; derive a"),
    (
        {"interceptors": [ShortHanded()]},
        r"interceptors\[0\]: ShortHanded\.intercept_response takes other arguments; write "
        r"intercept_response\(self, context, response\)$",
    ),
    (
        {"dlp": OneHanded()},
        r"dlp: OneHanded\.inspect takes other arguments; write inspect\(self, context, text\)$",
    ),
    (
        {"dlp": Turned()},
        r"dlp: Turned\.inspect takes its arguments in another order; write inspect\(self, context, text\)$",
    ),
    (
        {"dlp": PartsOf()},
        r"dlp: PartsOf\.inspect_parts takes other arguments; write inspect_parts\(self, context, parts\)$",
    ),
    ({"dlp": AsyncParts()}, r"dlp: AsyncParts\.inspect_parts is async; make it a plain method"),
    (
        {"dlp": StreamOfNothing()},
        r"dlp: StreamOfNothing\.open_stream takes other arguments; write open_stream\(self, context\)$",
    ),
    (
        {"dlp": StreamOfNobody()},
        r"dlp: StreamOfNobody\.open_stream is never called; derive StreamOfNobody from StreamingDlpInterceptor$",
    ),
    (
        {"circuit_breaker": False},
        r"circuit_breaker is of type bool; to switch it off, give CircuitBreakerSettings\(enabled=False\)$",
    ),
    ({"clock": FakeClock}, r"clock is the class FakeClock, and no instance; write FakeClock\(\.\.\.\)$"),
    ({"intercepters": []}, r"Unknown setting 'intercepters'; did you mean interceptors\?$"),
    ({"no such": 1}, r"Unknown setting, whose name is no plain word; known are default_provider"),
    ({"dlp": AsyncStream()}, r"dlp: AsyncStream\.open_stream is async; make it a plain method"),
    ({"request_dlp": mask}, r"request_dlp is a bare function; write a class"),
    (
        {"request_dlp": CompositeDlpInterceptor([AsyncStream()])},
        r"request_dlp: AsyncStream\.open_stream is async",
    ),
    (
        {"dlp_redaction_audit": print},
        r"dlp_redaction_audit is a bare function; give AuditLog\(.* or derive a class from DlpRedactionAudit",
    ),
    ({"dlp_redaction_audit": Ledger}, r"dlp_redaction_audit is the class Ledger, and no instance"),
    (
        {"dlp_redaction_audit": Ledger()},
        r"dlp_redaction_audit has nothing to record; set dlp or request_dlp, or leave it out",
    ),
    (
        {"tool_result_filtering": 5},
        r"tool_result_filtering is of type int; give ToolResultFilteringSettings\(default_",
    ),
    ({"event_observers": RecordingObserver()}, r"event_observers is of type RecordingObserver; give a list"),
    (
        {"event_observers": [RecordingObserver]},
        r"event_observers\[0\] is the class RecordingObserver; pass an instance",
    ),
    (
        {"event_observers": [print]},
        r"event_observers\[0\] is a bare function, without on_engine_event; write a class",
    ),
    (
        {"event_observers": [AsyncListener()]},
        r"event_observers\[0\]: AsyncListener\.on_engine_event is async; make it",
    ),
    ({"content_observers": Onlooker()}, r"content_observers is of type Onlooker; give a list"),
    (
        {"content_observers": [object()]},
        r"content_observers\[0\] is of type object; derive a class from AttemptContentObs",
    ),
    (
        {"content_observers": [AsyncOnlooker()]},
        r"content_observers\[0\]: AsyncOnlooker\.on_attempt_request is async",
    ),
    ({"diagnostic_observers": 5}, r"diagnostic_observers is of type int; give a list"),
    (
        {"diagnostic_observers": [print]},
        r"diagnostic_observers\[0\] is a bare function; derive a class from Failure",
    ),
    (
        {"diagnostic_observers": [AsyncDiagnostics()]},
        r"diagnostic_observers\[0\]: AsyncDiagnostics\.on_failure is async",
    ),
    ({"retry": 3}, r"retry is of type int; give RetryPolicySettings\(provider_retries="),
    (
        {"circuit_breaker": True},
        r"circuit_breaker is of type bool; give CircuitBreakerSettings\(failure_threshold=",
    ),
    ({"token_budget": 100}, r"token_budget is of type int; give TokenBudgetSettings\(hard_max_tokens_per_"),
    ({"timeout_s": 0}, r"timeout_s is 0; it must be a positive, finite number of seconds, or None"),
    ({"timeout_s": "60"}, r"timeout_s takes seconds as a number, not str"),
    ({"timeout_s": True}, r"timeout_s takes seconds as a number, not bool"),
    ({"timeout_s": math.inf}, r"timeout_s is inf; it must be a positive, finite number"),
    ({"timeout_s": math.nan}, r"timeout_s is nan; it must be a positive, finite number"),
    ({"timeout_s": 10**400}, r"timeout_s is an int of 1329 bits; it must be a positive, finite number"),
    ({"deadline_s": -1.0}, r"deadline_s is -1\.0; it must be a positive, finite number"),
    ({"stream_dlp": "never"}, r"stream_dlp takes 'auto' or 'buffer'"),
    ({"stream_dlp": []}, r"stream_dlp takes 'auto' or 'buffer'"),
    (
        {"clock": 5},
        r"clock is of type int, without now_s and sleep and asleep; give one with now_s, sleep, asleep",
    ),
    (
        {"random": 5},
        r"random is of type int, without random and getrandbits; give one with random, getrandbits",
    ),
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
        (
            [ScriptedProvider()],
            r"providers is of type list; give a mapping, for example \{'openai': provider\}",
        ),
        (ScriptedProvider(), r"providers is of type ScriptedProvider; give a mapping"),
        ({"": ScriptedProvider()}, r"a key of providers is blank; give it a name"),
        ({5: ScriptedProvider()}, r"a key of providers takes a str, not int"),
        (
            {"p": object()},
            r"providers\['p'\] is of type object; (Async)?Tramapy takes (Async)?Provider: derive it from",
        ),
        (
            {"p": ScriptedProvider},
            r"providers\['p'\] is the class ScriptedProvider, and no instance; (Async)?Tramapy takes (Async)?Provider",
        ),
    ],
)
def test_wrong_providers_are_named(facade: Any, providers: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{complaint}"):
        facade(providers)


def test_a_plain_provider_would_block_a_loop() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^providers\['p'\] is of type Plain; AsyncTramapy takes AsyncProvider:"
    ) as caught:
        AsyncTramapy({"p": Plain()})  # type: ignore[dict-item]  # that is the point
    assert "use Tramapy, or adapt it with tramapy.providers.ThreadedProvider" in str(caught.value)


def test_an_async_provider_has_no_loop_on_a_thread() -> None:
    complaint = r"^providers\['p'\] is of type Awaited; Tramapy takes Provider: use AsyncTramapy$"
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
    ({"dlp": Words(), "dlp_redaction_audit": AsyncLedger()}, r"dlp_redaction_audit: AsyncLedger\.emit"),
]


@pytest.mark.parametrize(("settings", "where"), ASYNC_HOOKS)
def test_a_declared_async_hook_is_refused_on_a_thread(settings: dict[str, Any], where: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=f"^{where} is async; make it a plain method, or use AsyncTramapy, or an async client under wrap$",
    ):
        Tramapy({"p": ScriptedProvider()}, **settings)


@pytest.mark.parametrize(("settings", "where"), ASYNC_HOOKS)
def test_a_declared_async_hook_is_welcome_on_a_loop(settings: dict[str, Any], where: str) -> None:
    assert AsyncTramapy({"p": ScriptedProvider()}, **settings)


class Name(enum.StrEnum):
    MODEL = "m"
    OTHER_MODEL = "m-b"
    FIRST = "a"
    SECOND = "b"
    SERVICE = "Support"


def test_names_may_be_enum_members_and_are_plain_in_events(driver: Driver) -> None:
    rig = driver.rig(
        {Name.FIRST: ScriptedProvider([down()]), Name.SECOND: ScriptedProvider(["answer"])},
        models={Name.MODEL: Name.FIRST},
        fallbacks={Name.MODEL: [Route(Name.SECOND, Name.OTHER_MODEL)]},
        retry=retries(0),
    )
    rig.complete(model=Name.MODEL, service_interface=Name.SERVICE)
    values = [value for event in rig.observer.events for value in event.attributes.values()]
    assert {type(value) for value in values} == {str, int, bool}
    assert [event["effective_model"] for event in rig.attributes_of("route.selected")] == ["m", "m-b"]


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


@pytest.mark.parametrize("name", ["dlp", "request_dlp"])
def test_either_dlp_is_enough_for_the_audit(driver: Driver, name: str) -> None:
    ledger = Ledger()
    rig = driver.rig(["secret"], dlp_redaction_audit=ledger, **{name: Words()})
    rig.complete([Message.user("secret")])
    assert len(ledger.records) == 1


@pytest.mark.parametrize("bits", ["7", None, 1.5, -1], ids=repr)
def test_a_random_source_that_gives_no_bits_is_named(driver: Driver, bits: Any) -> None:
    class Wrong(FixedRandom):
        def getrandbits(self, k: int, /) -> int:
            return bits

    provider = ScriptedProvider([])
    complaint = r"^random\.getrandbits returned no whole number from 0; pass one like random\.Random\(\)$"
    with pytest.raises(ConfigurationError, match=complaint):
        driver.rig(provider, random=Wrong(0.5)).complete()
    assert provider.requests == ()


def test_several_providers_without_a_default_serve_calls_that_name_one(driver: Driver) -> None:
    """No model has a route of its own here, and that is a set-up that works."""
    rig = driver.rig({"a": ScriptedProvider([]), "b": ScriptedProvider(["from b"])})
    assert rig.complete(provider="b").content == "from b"
    with pytest.raises(ConfigurationError, match="set default_provider to one of 'a', 'b'"):
        rig.complete()
