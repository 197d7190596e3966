"""A wrong argument is refused where it is given, in words that name it; Python's own words name nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.drivers import HELLO, Driver
from tests.memory import growth_bytes
from tramapy import (
    AsyncTramapy,
    CircuitBreakerSettings,
    CompletedChunk,
    CompositeDlpInterceptor,
    CompositeOperationInterceptor,
    ConfigurationError,
    DlpRedaction,
    DlpResult,
    DlpRule,
    EngineEventObserver,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    Provider,
    ProviderError,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuntimeEventCatalogue,
    RuntimeEventDefinition,
    TextChunk,
    TokenBudgetSettings,
    TokenUsage,
    ToolCallChunk,
    ToolResultFilteringSettings,
    Tramapy,
    Vault,
)
from tramapy.bounded import read_bounded_bytes
from tramapy.dlp import RestoringText, RulePack
from tramapy.hooks.event_model import RuntimeEventDomain
from tramapy.providers import ThreadedProvider
from tramapy.telemetry import (
    JsonlEventObserver,
    OpenTelemetryEventObserver,
    OtlpReceiver,
    TelemetryLimits,
    TraceIdsProcessor,
    verify_audit,
    verify_audit_files,
)
from tramapy.testing import ScriptedProvider

HUGE = 10**5000
"""Python refuses to write this out."""

CANARY = "kv-9731-canary"

SEVERAL: dict[str, Callable[[Any], object]] = {
    "Message.content_parts": lambda value: Message(role=MessageRole.USER, content_parts=value),
    "Message.tool_calls": lambda value: Message(role=MessageRole.ASSISTANT, tool_calls=value),
    "Message.(user|content_parts) takes": Message.user,
    "Message.tool_calls takes": lambda value: Message.assistant(tool_calls=value),
    "ModelResponse.content_parts": lambda value: ModelResponse(content_parts=value),
    "ModelResponse.tool_calls": lambda value: ModelResponse(tool_calls=value),
    "ModelRequest.messages": lambda value: ModelRequest(model="m", messages=value),
    "ModelRequest.tools": lambda value: ModelRequest(model="m", messages=HELLO, tools=value),
    "DlpResult.redactions": lambda value: DlpResult("x", value),
    "RuleBasedDlpConfiguration.rules": lambda value: RuleBasedDlpConfiguration(rules=value),
    "interceptors takes": CompositeDlpInterceptor,
    "interceptors takes several": CompositeOperationInterceptor,
    "enabled_for": lambda value: DlpRule(id="r", pattern="x", enabled_for=value),
    "tool_names": lambda value: DlpRule(id="r", pattern="x", tool_names=value),
    "max_aggregate_text_length_by_tool": lambda value: ToolResultFilteringSettings(
        max_aggregate_text_length_by_tool=value
    ),
}


@pytest.mark.parametrize("value", [5, 0, object(), b"xy"], ids=["int", "zero", "object", "bytes"])
@pytest.mark.parametrize(("name", "make"), SEVERAL.items(), ids=SEVERAL)
def test_what_takes_several_values_says_so(name: str, make: Callable[[Any], object], value: object) -> None:
    with pytest.raises(TypeError, match=name):
        make(value)


@pytest.mark.parametrize("name", ["enabled_for", "tool_names"])
def test_a_member_that_cannot_be_in_a_set_is_told_of_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"'r': {name} has a value that cannot be in a set"):
        DlpRule(id="r", pattern="x", **{name: [[]]})


NUMBERS: dict[str, Callable[[Any], object]] = {
    "failure_threshold": lambda value: CircuitBreakerSettings(failure_threshold=value),
    "open_duration_s": lambda value: CircuitBreakerSettings(open_duration_s=value),
    "provider_retries": lambda value: RetryPolicySettings(provider_retries=value),
    "max_retry_after_s": lambda value: RetryPolicySettings(max_retry_after_s=value),
    "jitter_ratio": lambda value: RetryPolicySettings(jitter_ratio=value),
    "hard_max_tokens_per_attempt": lambda value: TokenBudgetSettings(hard_max_tokens_per_attempt=value),
    "max_text_length": lambda value: RuleBasedDlpConfiguration(max_text_length=value),
    "replacement_count": lambda value: DlpRedaction("r", value),
    "input_tokens": lambda value: TokenUsage(input_tokens=value),
    "timeout_s": lambda value: Tramapy({"p": ScriptedProvider()}, timeout_s=value),
    "deadline_s": lambda value: Tramapy({"p": ScriptedProvider()}, deadline_s=value),
}


@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["huge", "minus-huge"])
@pytest.mark.parametrize(("name", "make"), NUMBERS.items(), ids=NUMBERS)
def test_a_number_that_cannot_be_written_out_is_told_of_by_name(
    name: str, make: Callable[[Any], object], value: int
) -> None:
    with pytest.raises(ValueError, match=name):
        make(value)


@pytest.mark.parametrize("name", ["timeout_s", "deadline_s", "open_duration_s", "max_retry_after_s"])
def test_a_duration_that_no_clock_can_wait_is_refused(name: str) -> None:
    NUMBERS[name](1e9)
    with pytest.raises(ValueError, match=f"{name} .* at most 1e"):
        NUMBERS[name](1e10)


@pytest.mark.parametrize("name", ["temperature", "top_p", "timeout_s", "deadline_s", "max_output_tokens"])
@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["huge", "minus-huge"])
def test_a_huge_option_is_told_of_by_name(driver: Driver, name: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} "):
        driver.rig(["x"]).complete(**{name: value})


def test_a_huge_limit_of_a_tool_or_a_read_is_told_of_by_name() -> None:
    with pytest.raises(ValueError, match=r"max_aggregate_text_length is an int of 16610 bits"):
        ToolResultFilteringSettings(default_max_aggregate_text_length=-HUGE)
    with pytest.raises(ValueError, match="limit_bytes is an int of 16610 bits"):
        read_bounded_bytes([b"x"], -HUGE)


@pytest.mark.parametrize("tools", [0, "", b"", False], ids=repr)
def test_tools_that_are_nothing_are_still_no_sequence(driver: Driver, tools: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^tools takes a sequence of ToolDefinition, not "):
        driver.rig(["x"]).complete(tools=tools)


def test_no_tools_may_be_written_as_none(driver: Driver) -> None:
    assert driver.rig(["x"]).complete(tools=None).content == "x"


def test_what_a_callers_generator_raises_is_its_own(driver: Driver) -> None:
    def messages() -> Any:
        yield Message.user("x")
        raise TypeError("of the caller's own")

    with pytest.raises(TypeError, match=r"^of the caller's own$"):
        driver.rig(["x"]).complete(messages())


class Odd:
    """Like an array, which is not simply equal or not."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(CANARY)

    __hash__ = object.__hash__


def test_what_cannot_be_compared_is_told_of_by_name(driver: Driver) -> None:
    with pytest.raises(ConfigurationError, match=r"^tools takes a sequence of ToolDefinition, not Odd"):
        driver.rig(["x"]).complete(tools=Odd())
    with pytest.raises(ConfigurationError, match=r"^stream_dlp takes 'auto' or 'buffer'"):
        driver.rig(["x"], stream_dlp=Odd())


class Model(Provider):
    """Answers without keeping a request."""

    def __init__(self, answer: Callable[[], ModelResponse]) -> None:
        self._answer = answer

    def complete(self, request: ModelRequest) -> ModelResponse:
        return self._answer()


@pytest.mark.parametrize("where", ["request", "answer"])
def test_long_names_of_models_are_not_kept(where: str) -> None:
    numbers = itertools.count()

    def name() -> str:
        return f"{next(numbers):06}" + "m" * 100_000

    def answer() -> ModelResponse:
        return ModelResponse(content="x", model=name() if where == "answer" else "m")

    tramapy = Tramapy({"p": Model(answer)}, event_observers=[EngineEventObserver()])

    def ask() -> None:
        for _ in range(40):
            tramapy.complete(HELLO, model=name() if where == "request" else "m")

    assert growth_bytes(ask) < 1_000_000


def test_routes_are_no_characters() -> None:
    with pytest.raises(ConfigurationError, match=r"^fallbacks\['m'\] takes a sequence of Route"):
        Tramapy({"p": ScriptedProvider()}, fallbacks={"m": ""})


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"model": 5}, r"^ModelRequest\.model takes a str, not int"),
        ({"messages": [CANARY]}, r"^ModelRequest\.messages\[0\] is of type str; give Message values"),
        ({"tools": [CANARY]}, r"^ModelRequest\.tools\[0\] is of type str; give ToolDefinition"),
        ({"instructions": 5}, r"^ModelRequest\.instructions takes a str or None, not int"),
        ({"temperature": "1"}, r"^ModelRequest\.temperature takes int or float or None, not str"),
        ({"top_p": True}, r"^ModelRequest\.top_p takes int or float or None, not bool"),
        ({"timeout_s": b"1"}, r"^ModelRequest\.timeout_s takes int or float or None, not bytes"),
        ({"max_output_tokens": 1.5}, r"^ModelRequest\.max_output_tokens takes int or None, not float"),
    ],
)
def test_a_request_takes_what_it_says(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        ModelRequest(**{"model": "m", "messages": HELLO, **fields})


@pytest.mark.parametrize("chunk", [TextChunk, ToolCallChunk, CompletedChunk])
def test_a_chunk_of_the_wrong_type_shows_the_type_alone(chunk: Any) -> None:
    assert repr(chunk([CANARY])) == f"{chunk.__name__}(<list>)"
    assert CANARY not in repr(chunk(CANARY))


class Late(ScriptedProvider):
    async def complete(self, request: object) -> Any:
        return ModelResponse()


class LateStream(ScriptedProvider):
    async def stream(self, request: object) -> Any:
        yield TextChunk("x")


@pytest.mark.parametrize(("provider", "name"), [(Late, "complete"), (LateStream, "stream")])
def test_an_async_method_of_a_provider_is_refused_on_a_thread(provider: Any, name: str) -> None:
    complaint = rf"^providers\['p'\]: {provider.__name__}\.{name} is async; make it a plain method"
    with pytest.raises(ConfigurationError, match=complaint):
        Tramapy({"p": provider([])})


def test_a_coroutine_for_an_answer_is_closed(driver: Driver) -> None:
    async def late() -> None:
        raise AssertionError

    given: list[Any] = []

    class Wrapped(ScriptedProvider):
        def complete(self, request: object) -> Any:
            given.append(late())
            return given[0]

        async def acomplete(self, request: object) -> Any:
            return self.complete(request)

    with pytest.raises(ProviderError, match="returned coroutine; it must return a ModelResponse"):
        driver.rig(Wrapped([])).complete()
    assert given[0].cr_frame is None  # closed, so that Python does not warn of it


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
@pytest.mark.parametrize("capabilities", [None, "streaming", {"streaming"}], ids=repr)
def test_capabilities_are_a_set_of_their_enum(facade: Any, capabilities: Any) -> None:
    kind = type("Odd", (ScriptedProvider,), {"capabilities": capabilities})
    with pytest.raises(ConfigurationError, match=r"Odd\.capabilities is no set of ProviderCapability"):
        facade({"p": kind([])})


def test_a_limiter_is_one_of_anyios() -> None:
    with pytest.raises(ConfigurationError, match=r"^limiter is of type int; give an anyio\.CapacityLimiter"):
        ThreadedProvider(ScriptedProvider([]), limiter=5)


FLAGS: dict[str, Callable[[Any], object]] = {
    "cancelled_is_error": lambda value: OpenTelemetryEventObserver(cancelled_is_error=value),
    "compat_metrics": lambda value: OpenTelemetryEventObserver(compat_metrics=value),
    "counts_usage": lambda value: OpenTelemetryEventObserver(counts_usage=value),
    "measures_chunks": lambda value: OpenTelemetryEventObserver(measures_chunks=value),
    "is_remote_allowed": lambda value: OtlpReceiver(host="0.0.0.0", is_remote_allowed=value),
    "is_ambient": lambda value: TraceIdsProcessor(is_ambient=value),
    "is_partial": lambda value: verify_audit_files("x", is_partial=value),
}


@pytest.mark.parametrize(("name", "make"), FLAGS.items(), ids=FLAGS)
def test_a_word_is_no_switch(name: str, make: Callable[[Any], object]) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is of type str; give True or False"):
        make("false")


EVENT: dict[str, Any] = {"name": "acme.x", "domain": RuntimeEventDomain.ENGINE}


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RuntimeEventDefinition(**EVENT | {"name": 5}), r"RuntimeEventDefinition\.name takes a str"),
        (
            lambda: RuntimeEventDefinition(**EVENT | {"domain": CANARY}),
            r"Definition\.domain takes RuntimeEventDo",
        ),
        (
            lambda: RuntimeEventDefinition(**EVENT, allowed=CANARY),
            r"Definition\.allowed takes several values",
        ),
        (
            lambda: RuntimeEventDefinition(**EVENT, required="who"),
            r"Definition\.required takes several values",
        ),
        (lambda: RuntimeEventDefinition(**EVENT, metric_name=b"x"), r"Definition\.metric_name takes a str"),
        (lambda: RuntimeEventDefinition(**EVENT, is_span_eligible="no"), r"\.is_span_eligible takes bool"),
        (
            lambda: RuntimeEventCatalogue([CANARY]),
            r"definitions\[0\] is of type str; give RuntimeEventDefinition",
        ),
        (lambda: RuntimeEventCatalogue([], [CANARY]), r"metrics\[0\] is of type str; give RuntimeMetric"),
        (lambda: RulePack(5, ()), r"RulePack\.name takes a str, not int"),
        (lambda: RulePack("mine", [CANARY]), r"RulePack\.rules\[0\] is of type str; give DlpRule"),
        (
            lambda: Vault(random=CANARY),
            r"random is of type str, without getrandbits; pass one like random\.Random",
        ),
        (
            lambda: RestoringText(CANARY),
            r"RestoringText: vault takes Vault, not str; write vault\.open_stream",
        ),
        (
            lambda: TelemetryLimits(series_count=CANARY),
            r"TelemetryLimits\.series_count takes an int of at least 1$",
        ),
        (lambda: JsonlEventObserver("x", limit_bytes=CANARY), r"limit_bytes takes an int of at least 4096$"),
        (
            lambda: DlpRule(id="r", pattern="x", max_length=-HUGE),
            r"max_length is an int of 16610 bits; at least 1",
        ),
        (lambda: verify_audit(CANARY), r"events holds a value that is of type str; give AuditEvents"),
        (lambda: verify_audit(5), r"events is of type int; give the AuditEvents of one stream"),
        (
            lambda: verify_audit([], limit_problem_count=CANARY),
            r"limit_problem_count takes an int of at least 0",
        ),
    ],
)
def test_a_wrong_value_is_told_of_by_type_alone(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint) as caught:
        make()
    assert CANARY not in str(caught.value)
