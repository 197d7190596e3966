"""`request_dlp`: every text that leaves, after the request interceptors (decision 2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Ledger, Onlooker, OnRequest, Scripted, Words, down, raising
from tramapy import (
    CircuitBreakerSettings,
    CompositeDlpInterceptor,
    ConfigurationError,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInspectionError,
    DlpRule,
    ImagePart,
    Message,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tramapy.testing import ScriptedProvider

CONTENT = DlpContentLocation.REQUEST_MESSAGE_CONTENT
ARGUMENTS = DlpContentLocation.REQUEST_TOOL_ARGUMENTS
IMAGE = ImagePart(data=b"png", mime_type="image/png")
CALL = ToolCall(id="c1", name="lookup", arguments_json='{"q": "secret"}')


def sent(
    driver: Driver, messages: list[Message], *, options: dict[str, Any] | None = None, **settings: Any
) -> Any:
    """Complete `messages` and return the request as the provider got it."""
    provider = ScriptedProvider(["done"])
    driver.rig(provider, **settings).complete(messages, **(options or {}))
    return provider.requests[0]


def test_messages_of_every_role_are_inspected(driver: Driver) -> None:
    dlp = Words()
    messages = [
        Message.system("one secret"),
        Message.user("two secret"),
        Message.assistant("three secret"),
        Message.tool("four secret", tool_call_id="c1"),
    ]
    request = sent(driver, messages, request_dlp=dlp)
    assert [message.content for message in request.messages] == [
        "one [S]",
        "two [S]",
        "three [S]",
        "four [S]",
    ]
    assert {location for location, _ in dlp.seen} == {CONTENT}
    assert {context.content_type for context in dlp.contexts} == {DlpContentType.MODEL_INPUT}


def test_adjacent_text_parts_are_one_run(driver: Driver) -> None:
    message = Message.user([TextPart("se"), TextPart("cret"), IMAGE, TextPart("plain")])
    request = sent(driver, [message], request_dlp=Words())
    assert request.messages[0].content_parts == (TextPart("[S]"), IMAGE, TextPart("plain"))


def test_tool_arguments_in_the_history_are_inspected(driver: Driver) -> None:
    dlp = Words()
    empty = ToolCall(id="c2", name="ping", arguments_json="")
    request = sent(driver, [Message.assistant("text", tool_calls=[CALL, empty])], request_dlp=dlp)
    assert request.messages[0].tool_calls == (CALL.replace(arguments_json='{"q": "[S]"}'), empty)
    assert dlp.seen == [(CONTENT, "text"), (ARGUMENTS, '{"q": "secret"}')]
    assert dlp.contexts[1].tool_name == "lookup"


def test_instructions_are_inspected(driver: Driver) -> None:
    dlp = Words()
    request = sent(driver, [Message.user("hi")], options={"instructions": "a secret"}, request_dlp=dlp)
    assert request.instructions == "a [S]"
    assert dlp.seen == [(CONTENT, "hi"), (CONTENT, "a secret")]


@pytest.mark.parametrize("instructions", [None, ""])
def test_no_instructions_are_not_inspected(driver: Driver, instructions: str | None) -> None:
    dlp = Words()
    request = sent(driver, [Message.user("hi")], options={"instructions": instructions}, request_dlp=dlp)
    assert request.instructions == instructions
    assert dlp.texts == ["hi"]


def test_clean_messages_are_the_same_objects(driver: Driver) -> None:
    messages = [Message.user("hi"), Message.user([TextPart("a"), TextPart("b")]), Message.assistant()]
    request = sent(driver, messages, request_dlp=Words())
    assert all(after is before for after, before in zip(request.messages, messages, strict=True))


def test_dlp_alone_leaves_outgoing_text_alone(driver: Driver) -> None:
    request = sent(
        driver,
        [Message.assistant("a secret", tool_calls=[CALL])],
        options={"instructions": "a secret"},
        dlp=Words(),
    )
    assert request.messages[0].content == "a secret"
    assert request.messages[0].tool_calls == (CALL,)
    assert request.instructions == "a secret"


def test_request_dlp_alone_leaves_the_answer_alone(driver: Driver) -> None:
    provider = ScriptedProvider(["a secret"])
    assert driver.rig(provider, request_dlp=Words()).complete().content == "a secret"


def test_what_an_interceptor_adds_is_inspected(driver: Driver) -> None:
    add = OnRequest(lambda messages: [*messages, Message.user("a secret")])
    request = sent(driver, [Message.user("hi")], request_dlp=Words(), interceptors=[add])
    assert [message.content for message in request.messages] == ["hi", "a [S]"]
    assert add.inputs[0][0].content == "hi"


def test_interceptors_see_the_text_before_it_is_redacted(driver: Driver) -> None:
    seen = OnRequest()
    sent(driver, [Message.user("a secret")], request_dlp=Words(), interceptors=[seen])
    assert seen.inputs[0][0].content == "a secret"


def test_a_tool_result_passes_both(driver: Driver) -> None:
    dlp, request_dlp = Words({"secret": "[S]"}), Words({"[S]": "[T]"})
    request = sent(driver, [Message.tool("a secret", tool_call_id="c1")], dlp=dlp, request_dlp=request_dlp)
    assert request.messages[0].content == "a [T]"
    assert request_dlp.texts == ["a [S]"]


def test_the_context_of_outgoing_text_names_no_provider(driver: Driver) -> None:
    dlp = Words()
    sent(driver, [Message.user("hi")], options={"correlation_id": "c1"}, request_dlp=dlp)
    assert dlp.contexts == [
        DlpContext(
            content_type=DlpContentType.MODEL_INPUT,
            content_location=CONTENT,
            operation_interface="tramapy",
            operation_method="complete",
            correlation_id="c1",
        )
    ]


def test_redactions_are_audited_and_announced(driver: Driver) -> None:
    ledger = Ledger()
    rig = driver.rig(["done"], request_dlp=Words(), dlp_redaction_audit=ledger)
    rig.complete([Message.user("a secret")])
    assert len(ledger.records) == 1
    (event,) = rig.attributes_of("dlp.redacted")
    assert (event["content_type"], event["content_location"]) == ("model_input", "request_message_content")
    assert (event["provider_id"], event["attempt"]) == ("p", 0)


def test_a_failure_sends_nothing_and_says_nothing_of_the_provider(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    failing = Scripted(raising(ValueError("hello")))
    rig = driver.rig(
        provider, request_dlp=failing, circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    for _ in range(2):
        with pytest.raises(DlpInspectionError, match="MODEL_INPUT at REQUEST_MESSAGE_CONTENT") as caught:
            rig.complete()
        assert "hello" not in str(caught.value)
    assert provider.requests == ()
    assert "circuit.opened" not in rig.names
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "dlp"


def test_every_attempt_inspects_the_original_text(driver: Driver) -> None:
    dlp = Words()
    provider = ScriptedProvider([down(), "done"])
    driver.rig(provider, request_dlp=dlp).complete([Message.user("a secret")])
    assert dlp.texts == ["a secret", "a secret"]
    assert [request.messages[0].content for request in provider.requests] == ["a [S]", "a [S]"]


def test_content_observers_see_what_is_sent(driver: Driver) -> None:
    onlooker = Onlooker()
    request = sent(driver, [Message.user("a secret")], request_dlp=Words(), content_observers=[onlooker])
    assert onlooker.requests == [request]


def test_what_describes_tools_is_sent_as_it_is(driver: Driver) -> None:
    tools = [ToolDefinition(name="lookup", description="finds a secret")]
    request = sent(driver, [Message.user("hi")], options={"tools": tools}, request_dlp=Words())
    assert request.tools == tuple(tools)


@pytest.mark.parametrize(
    ("setting", "rule_type", "complaint"),
    [
        (
            "request_dlp",
            DlpContentType.MODEL_OUTPUT,
            "request_dlp has no rule that is enabled for MODEL_INPUT;",
        ),
        (
            "dlp",
            DlpContentType.MODEL_INPUT,
            "dlp has no rule that is enabled for MODEL_OUTPUT or TOOL_RESULT;",
        ),
    ],
)
def test_rules_that_look_at_nothing_are_refused(
    driver: Driver, setting: str, rule_type: DlpContentType, complaint: str
) -> None:
    rule = DlpRule(id="ssn", pattern="x", enabled_for={rule_type})
    dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule]))
    for given in (dlp, CompositeDlpInterceptor([dlp])):
        with pytest.raises(ConfigurationError, match=complaint):
            driver.rig(["answer"], **{setting: given})
