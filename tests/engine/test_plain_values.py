"""What a subclass of a value says of itself (what it equals, how long it is) does not pass by DLP."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tests.drivers import Driver, response_of, text_of
from tests.engine.doubles import Ledger, OnRequest, OnResponse, Scripted, Words
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    CircuitBreakerOpenError,
    CompletedChunk,
    DlpContentType,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    ImagePart,
    Message,
    MessageRole,
    ModelResponse,
    ProviderError,
    TextChunk,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

TEXT = "a plainly-secret text"
SECRET = "plainly-secret"
ARGUMENTS = f'{{"q": "{TEXT}"}}'


def equal_to_all(kind: type[Any]) -> type[Any]:
    """Make a subclass of a value that equals everything, as one that compares by an id of its own may."""
    return type(
        f"Own{kind.__name__}",
        (kind,),
        {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False, "__hash__": lambda self: 1},
    )


class Text(str):
    """A str that equals everything, is empty and false."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self

    __hash__ = str.__hash__


OwnCall, OwnPart, OwnResponse = map(equal_to_all, (ToolCall, TextPart, ModelResponse))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseWithMore(ModelResponse):
    raw_body: str = TEXT


ANSWERS = {
    "str-content": ModelResponse(content=Text(TEXT)),
    "str-refusal": ModelResponse(refusal=Text(TEXT)),
    "str-reasoning": ModelResponse(content="x", reasoning=Text(TEXT)),
    "str-part": ModelResponse(content_parts=[TextPart(Text(TEXT))]),
    "str-arguments": ModelResponse(tool_calls=[ToolCall(id="1", name="f", arguments_json=Text(ARGUMENTS))]),
    "response": OwnResponse(content="x", refusal=TEXT),
    "part": ModelResponse(content_parts=[OwnPart(TEXT), ImagePart(url="u")]),
    "call": ModelResponse(tool_calls=[OwnCall(id="1", name="f", arguments_json=ARGUMENTS)]),
    "field-of-its-own": ResponseWithMore(content="x", usage=TokenUsage(input_tokens=3)),
}


@pytest.mark.parametrize("dlp", [Words, HoldBack], ids=["whole", "incremental"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_a_value_of_a_subclass_is_inspected(
    driver: Driver, entry: str, answer: ModelResponse, dlp: type[DlpInterceptor]
) -> None:
    rig = driver.rig([answer], dlp=dlp({SECRET: "[S]"}))
    came = getattr(rig, entry)()
    response = came if entry == "complete" else response_of(came)
    assert type(response) is ModelResponse
    assert response.usage == answer.usage
    assert_no_canary(SECRET, came, [pickle.dumps(response)])


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_an_interceptor_returns_as_a_subclass_is_inspected_again(
    driver: Driver, answer: ModelResponse
) -> None:
    rig = driver.rig(["fine"], dlp=Words({SECRET: "[S]"}), interceptors=[OnResponse(lambda response: answer)])
    assert_no_canary(SECRET, rig.complete())


@pytest.mark.parametrize("dlp", [Words, HoldBack], ids=["whole", "incremental"])
def test_pieces_of_subclasses_are_inspected(driver: Driver, dlp: type[DlpInterceptor]) -> None:
    call = OwnCall(id="1", name="f", arguments_json=ARGUMENTS)
    other = OwnCall(id="2", name="g", arguments_json="{}")
    pieces = [
        TextChunk(Text(TEXT)),
        ToolCallChunk(call),
        ToolCallChunk(other),
        CompletedChunk(ModelResponse()),
    ]
    came = driver.rig([pieces], dlp=dlp({SECRET: "[S]"})).stream()
    assert text_of(came) == "a [S] text"
    assert [made.name for made in response_of(came).tool_calls] == ["f", "g"]
    assert_no_canary(SECRET, came)


OwnMessage = equal_to_all(Message)
MESSAGES = {
    "str": Message.user(Text(TEXT)),
    "message": OwnMessage(role=MessageRole.USER, content=TEXT),
    "part": Message.user([OwnPart(TEXT)]),
    "image": Message.user([equal_to_all(ImagePart)(url="u"), TextPart(TEXT)]),
    "call": Message.assistant("x", tool_calls=[OwnCall(id="1", name="f", arguments_json=ARGUMENTS)]),
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_an_outgoing_value_of_a_subclass_is_inspected(driver: Driver, message: Message) -> None:
    provider = ScriptedProvider(["fine"])
    rig = driver.rig(provider, request_dlp=Words({SECRET: "[S]"}))
    rig.complete([message], instructions=Text(TEXT))
    assert_no_canary(SECRET, provider.requests)


def test_a_tool_result_of_a_subclass_is_inspected(driver: Driver) -> None:
    provider = ScriptedProvider(["fine"])
    result = OwnMessage(role=MessageRole.TOOL, content=TEXT, tool_call_id="1", tool_name="f")
    driver.rig(provider, dlp=Words({SECRET: "[S]"})).complete([Message.user("x"), result])
    [sent] = provider.requests
    assert sent.messages[1] == Message.tool("a [S] text", tool_call_id="1", tool_name="f")


@pytest.mark.parametrize("side", ["answer", "request"])
def test_a_subclass_that_cannot_be_read_is_withheld(driver: Driver, side: str) -> None:
    def unreadable(kind: type[Any], **fields: Any) -> Any:
        def refuse(self: object) -> Any:
            raise LookupError(SECRET)

        value = kind(**fields)
        own = type("Unreadable", (kind,), {"tool_calls": property(refuse)})
        made = object.__new__(own)
        for field in kind.__slots__:
            if field != "tool_calls":
                object.__setattr__(made, field, getattr(value, field))
        return made

    rig = driver.rig(
        [unreadable(ModelResponse, content=TEXT)] if side == "answer" else ["fine"],
        dlp=Words(),
        request_dlp=Words(),
        interceptors=[]
        if side == "answer"
        else [OnRequest(lambda messages: [unreadable(Message, role=MessageRole.USER, content=TEXT)])],
    )
    with pytest.raises(DlpInspectionError, match="A Unreadable has a field that DLP cannot read") as caught:
        rig.complete()
    assert_no_canary(SECRET, caught.value.with_traceback(None), rig.observer.events)


def test_a_result_of_a_subclass_is_read_once(driver: Driver) -> None:
    class Fickle(DlpResult):
        @property
        def redactions(self) -> Any:
            return next(self.__class__.given)

    Fickle.given = iter([(DlpRedaction("first", 1),), (DlpRedaction("second", 1),)])
    ledger = Ledger()
    made = object.__new__(Fickle)
    DlpResult.__dict__["sanitized_text"].__set__(made, Text("[S]"))
    rig = driver.rig([TEXT], dlp=Scripted(lambda context, text: made), dlp_redaction_audit=ledger)
    assert type(rig.complete().content) is str
    assert [event["rule_id"] for event in rig.attributes_of("dlp.redacted")] == ["first"]
    assert [redactions[0].rule_id for _, redactions in ledger.records] == ["first"]


def test_an_error_whose_text_equals_everything_is_inspected(driver: Driver) -> None:
    rig = driver.rig([ProviderError(Text(TEXT))], dlp=Words({SECRET: "[S]"}))
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value.args == ("a [S] text",)


def test_an_open_breaker_of_a_providers_own_may_lack_its_delay(driver: Driver) -> None:
    bare = CircuitBreakerOpenError.__new__(CircuitBreakerOpenError)
    with pytest.raises(CircuitBreakerOpenError) as caught:
        driver.rig([bare]).complete()
    assert caught.value.provider_id == "p"
    assert caught.value.retry_after_s == 0.0


def test_a_plain_value_is_left_as_it_is(driver: Driver) -> None:
    answer = ModelResponse(
        content_parts=[TextPart("x")], tool_calls=[ToolCall(id="1", name="f", arguments_json="")]
    )
    assert driver.rig([answer], dlp=Words()).complete() is answer


def test_without_dlp_a_subclass_passes(driver: Driver) -> None:
    answer = ResponseWithMore(content="x")
    assert driver.rig([answer]).complete() is answer


def test_a_context_says_what_was_inspected(driver: Driver) -> None:
    words = Words({SECRET: "[S]"})
    driver.rig([ANSWERS["response"]], dlp=words).complete()
    assert {context.content_type for context in words.contexts} == {DlpContentType.MODEL_OUTPUT}
    assert words.texts == ["x", TEXT]
