"""Arguments of a wrong name, and facades without providers, are answered with what to write."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import tramapy
from tramapy import (
    AsyncTramapy,
    CircuitBreakerSettings,
    ConfigurationError,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpResult,
    DlpRule,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    TextPart,
    TokenBudgetSettings,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    Tramapy,
)
from tramapy.keywords import explains_names

retry: Any = RetryPolicySettings
breaker: Any = CircuitBreakerSettings
budget: Any = TokenBudgetSettings
rule: Any = DlpRule
tool: Any = ToolDefinition
configuration: Any = RuleBasedDlpConfiguration
message_: Any = Message
request: Any = ModelRequest
response: Any = ModelResponse
call: Any = ToolCall
part: Any = TextPart
usage: Any = TokenUsage
context: Any = DlpContext
result: Any = DlpResult

CANARY = "kv-4417-canary"

MISNAMED: dict[str, tuple[Callable[[], object], str]] = {
    "a vendor's word": (
        lambda: retry(retries=3),
        "Unknown field 'retries' of RetryPolicySettings; did you mean provider_retries?",
    ),
    "a part of the name": (
        lambda: breaker(threshold=3),
        "Unknown field 'threshold' of CircuitBreakerSettings; did you mean failure_threshold?",
    ),
    "near to several": (
        lambda: budget(max_tokens=3),
        "Unknown field 'max_tokens' of TokenBudgetSettings; known are hard_max_tokens_per_attempt, "
        "hard_max_tokens_per_operation, soft_max_tokens_per_operation",
    ),
    "a slip": (
        lambda: configuration(rule=[]),
        "Unknown field 'rule' of RuleBasedDlpConfiguration; did you mean rules?",
    ),
    "no name": (
        lambda: retry(3),
        "RetryPolicySettings takes nothing without a name; write for example RetryPolicySettings(provider_retries=...)",
    ),
    "too many without a name": (
        lambda: configuration((), 5, ()),
        "RuleBasedDlpConfiguration takes 2 without a name; write for example RuleBasedDlpConfiguration(packs=...)",
    ),
    "a vendor's word for a field": (
        lambda: tool(name="x", parameters={}),
        "Unknown field 'parameters' of ToolDefinition; did you mean input_schema?",
    ),
    "what is missing": (
        lambda: rule(replacement="x"),
        "id and pattern are missing; write DlpRule(id=..., pattern=...)",
    ),
    "a text for a message": (
        lambda: message_("x"),
        "Message takes nothing without a name; write Message.user(...), or Message(role=...)",
    ),
    "no role": (lambda: message_(), "role is missing; write Message.user(...), or Message(role=...)"),
    "a message's text": (
        lambda: message_(role="user", text="x"),
        "Unknown field 'text' of Message; did you mean content?",
    ),
    "a message's text, replaced": (
        lambda: message_.user("x").replace(text="y"),
        "Unknown field 'text' of Message; did you mean content?",
    ),
    "a word of one field alone": (
        lambda: message_(role=MessageRole.USER, parts=[]),
        "Unknown field 'parts' of Message; did you mean content_parts?",
    ),
    "a request without names": (
        lambda: request("m", []),
        "ModelRequest takes nothing without a name; write ModelRequest(model=..., messages=...)",
    ),
    "a request's prompt": (
        lambda: request(model="m", prompt="x"),
        "Unknown field 'prompt' of ModelRequest; did you mean messages?",
    ),
    "a response without a name": (
        lambda: response("x"),
        "ModelResponse takes nothing without a name; write for example ModelResponse(content=...)",
    ),
    "arguments of a call": (
        lambda: call(id="a", name="b", arguments={}),
        "Unknown field 'arguments' of ToolCall; did you mean arguments_json?",
    ),
    "a call's id": (
        lambda: call(tool_call_id="a", name="b", arguments_json="{}"),
        "Unknown field 'tool_call_id' of ToolCall; did you mean id?",
    ),
    "too many, where none have names": (lambda: part("x", "y"), "TextPart takes no more than text"),
    "a vendor's word for tokens": (
        lambda: usage(prompt_tokens=1),
        "Unknown field 'prompt_tokens' of TokenUsage; did you mean input_tokens?",
    ),
    "a part of a context": (
        lambda: context(location=1),
        "Unknown field 'location' of DlpContext; did you mean content_location?",
    ),
    "much that is missing": (
        lambda: context(content_type=1, content_location=2),
        "operation_interface, operation_method and correlation_id are missing; write "
        "DlpContext(operation_interface=..., operation_method=..., correlation_id=...)",
    ),
    "a result without text": (
        lambda: result(),
        "sanitized_text is missing; write DlpResult(sanitized_text=...)",
    ),
    "a result's text": (
        lambda: result(text="x"),
        "Unknown field 'text' of DlpResult; did you mean sanitized_text?",
    ),
    "too many for a result": (
        lambda: result("x", (), 3),
        "DlpResult takes no more than sanitized_text and redactions",
    ),
}


@pytest.mark.parametrize(("make", "message"), MISNAMED.values(), ids=MISNAMED)
def test_a_wrong_name_of_a_setting_is_answered_with_the_right_one(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as refused:
        make()
    assert str(refused.value) == message


def test_a_value_of_a_wrong_type_is_refused_as_before() -> None:
    with pytest.raises(TypeError, match=r"^RetryPolicySettings\.provider_retries takes an int, not str$"):
        retry(provider_retries="3")


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
def test_a_facade_without_providers_says_what_to_give(facade: Any) -> None:
    for settings in ({}, {"timeout_s": 3.0}):
        with pytest.raises(
            ConfigurationError, match=r"^providers is missing; give a mapping, for example \{"
        ):
            facade(**settings)


def test_settings_stay_the_values_that_they_are() -> None:
    settings = RetryPolicySettings(provider_retries=2)
    assert copy.copy(settings) == pickle.loads(pickle.dumps(settings)) == settings
    assert list(inspect.signature(RetryPolicySettings).parameters) == [
        "provider_retries",
        "max_retry_after_s",
        "jitter_ratio",
    ]


def test_all_values_of_ours_are_explained() -> None:
    values = [getattr(tramapy, name) for name in tramapy.__all__]
    plain = [
        value.__name__
        for value in values
        if dataclasses.is_dataclass(value) and not hasattr(value.__init__, "__wrapped__")  # type: ignore[misc]  # of classes
    ]
    assert not plain


def test_a_refusal_holds_nothing_of_what_was_given() -> None:
    def frames_of(make: Callable[[], object]) -> str:
        try:
            make()
        except TypeError as error:
            return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        raise AssertionError("not refused")

    for make in (
        lambda: message_(role=MessageRole.USER, content=CANARY, zzz=CANARY),
        lambda: message_(CANARY),
        lambda: result(CANARY, (), CANARY),
        lambda: call(id=CANARY, name=CANARY),
    ):
        assert CANARY not in frames_of(make)


def test_a_default_that_is_made_anew_is_made_for_each() -> None:
    assert ToolDefinition(name="a").input_schema is not ToolDefinition(name="b").input_schema
    assert ToolDefinition(name="a", input_schema={}).input_schema == {}


def test_values_stay_the_values_that_they_are() -> None:
    message = Message.user("x")
    assert copy.copy(message) == pickle.loads(pickle.dumps(message)) == message
    assert dataclasses.replace(message, content="y") == message.replace(content="y") == Message.user("y")
    assert DlpResult("x") == DlpResult(sanitized_text="x", redactions=[])
    assert str(inspect.signature(TextPart)) == "(text: 'str') -> None"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"content_type": "model_output"}, r"content_type takes DlpContentType, not str; .*\.MODEL_OUTPUT"),
        (
            {"content_location": None},
            r"content_location takes DlpContentLocation, not NoneType; for example .*",
        ),
    ],
)
def test_a_context_refuses_what_no_rule_would_look_at(wrong: dict[str, object], message: str) -> None:
    given = {
        "content_type": DlpContentType.MODEL_OUTPUT,
        "content_location": DlpContentLocation.MODEL_RESPONSE_CONTENT,
        "operation_interface": "s",
        "operation_method": "m",
        "correlation_id": "c",
    }
    with pytest.raises(TypeError, match=rf"^DlpContext\.{message}$"):
        context(**{**given, **wrong})


@pytest.mark.parametrize(
    ("value", "name", "remedy"),
    [
        (
            Message.user("x"),
            "content",
            "Message is immutable; make a changed copy: value.replace(content=...)",
        ),
        (Message.user("x"), "text", "Message is immutable; make a changed copy: value.replace(...)"),
        (
            DlpResult("x"),
            "sanitized_text",
            "DlpResult is immutable; make a changed copy: dataclasses.replace(value, sanitized_text=...)",
        ),
    ],
    ids=["a field", "no field", "a value without replace"],
)
def test_an_assignment_is_answered_with_how_to_make_a_copy(value: object, name: str, remedy: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError) as refused:
        setattr(value, name, CANARY)
    assert str(refused.value) == remedy


def test_a_subclass_may_have_attributes_of_its_own() -> None:
    class Noted(Message):
        note: str

    message = Noted(role=MessageRole.USER, content="x")
    message.note = "y"
    assert (message.note, message.content) == ("y", "x")
    with pytest.raises(
        dataclasses.FrozenInstanceError, match=r"^Message is immutable; .*\(content=\.\.\.\)$"
    ):
        message.content = "z"  # type: ignore[misc]  # as newcomers do


@explains_names
@dataclasses.dataclass(frozen=True, slots=True, init=False)
class WithItsOwnConstructor:
    text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "text", text.strip())


def test_a_constructor_of_one_s_own_is_kept_and_explained() -> None:
    assert WithItsOwnConstructor(" a ").text == "a"
    with pytest.raises(TypeError, match=r"^Unknown field 'txt' of WithItsOwnConstructor; did you mean text"):
        WithItsOwnConstructor(txt="a")  # type: ignore[call-arg]
