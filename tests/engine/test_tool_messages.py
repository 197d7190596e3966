"""Items 81 to 100 of the acceptance list: tool results, given to `complete` as TOOL messages.

What speaks of running a tool is not here: the caller ran it, and the second provider call of the original is the
one that this operation makes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver, Rig
from tests.engine.doubles import FailingLedger, Ledger, OnRequest, Scripted, Words, down, raising
from tramapy import (
    CircuitBreakerSettings,
    DlpContentLocation,
    DlpContentType,
    DlpInspectionError,
    DlpRedaction,
    DlpResult,
    ImagePart,
    Message,
    MessageRole,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultFilteringSettings,
)
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.testing import ScriptedProvider

IMAGE = ImagePart(data=b"png", mime_type="image/png")
CALL = ToolCall(id="c1", name="lookup", arguments_json="{}")


def mail(**fields: Any) -> RuleBasedDlpInterceptor:
    """Make a DLP that finds addresses in tool results."""
    rule = DlpRule(
        id="mail",
        pattern=r"[a-z]+@[a-z]+\.[a-z]+",
        replacement="[EMAIL]",
        enabled_for={DlpContentType.TOOL_RESULT},
        **fields,
    )
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


def conversation(result: str | list[Any], tool_name: str | None = None) -> list[Message]:
    """Make a history that ends in a result of the tool `lookup`."""
    tool = Message(
        role=MessageRole.TOOL,
        content=result if isinstance(result, str) else "",
        content_parts=None if isinstance(result, str) else tuple(result),
        tool_call_id="c1",
        tool_name=tool_name,
    )
    return [Message.user("who is it"), Message.assistant(tool_calls=[CALL]), tool]


def sent(driver: Driver, result: str | list[Any], **settings: Any) -> Message:
    """Complete a conversation and return its last message as the provider got it."""
    provider = ScriptedProvider(["done"])
    driver.rig(provider, **settings).complete(conversation(result))
    return provider.requests[0].messages[-1]


def rejected(driver: Driver, result: str | list[Any], **settings: Any) -> tuple[Rig, DlpInspectionError]:
    """Complete a conversation whose result must be refused before anything is sent."""
    provider = ScriptedProvider([])
    rig = driver.rig(provider, **settings)
    with pytest.raises(DlpInspectionError) as caught:
        rig.complete(conversation(result), tools=[ToolDefinition(name="lookup")])
    assert provider.requests == ()
    return rig, caught.value


def limit(length: int, **by_tool: int) -> ToolResultFilteringSettings:
    return ToolResultFilteringSettings(
        default_max_aggregate_text_length=length, max_aggregate_text_length_by_tool=by_tool
    )


def test_rt81_a_tool_result_is_redacted_before_it_is_sent(driver: Driver) -> None:
    message = sent(driver, "it is alice@example.com", dlp=mail())
    assert message.content == "it is [EMAIL]"
    assert (message.role, message.tool_call_id) == (MessageRole.TOOL, "c1")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("Error: invalid alice@example.com", "Error: invalid [EMAIL]"),
        ("Permanent error: failed alice@example.com", "Permanent error: failed [EMAIL]"),
    ],
)
def test_rt82_failure_texts_are_redacted(driver: Driver, result: str, expected: str) -> None:
    assert sent(driver, result, dlp=mail()).content == expected


def test_rt83_adjacent_text_parts_are_one_run(driver: Driver) -> None:
    message = sent(driver, [TextPart("alice@"), TextPart("example.com"), IMAGE], dlp=mail())
    assert message.content == ""
    assert message.content_parts == (TextPart("[EMAIL]"), IMAGE)


def test_rt84_the_detection_scans_are_not_audited(driver: Driver) -> None:
    ledger = Ledger()
    sent(driver, [TextPart("alice@"), TextPart("example.com"), IMAGE], dlp=mail(), dlp_redaction_audit=ledger)
    ((context, redactions),) = ledger.records
    assert redactions == (DlpRedaction("mail", 1),)
    assert context.content_type is DlpContentType.TOOL_RESULT
    assert context.content_location is DlpContentLocation.TOOL_MESSAGE_TEXT_RUN


def test_rt85_a_secret_around_an_image_is_refused(driver: Driver) -> None:
    rig, error = rejected(driver, [TextPart("alice@"), IMAGE, TextPart("example.com")], dlp=mail())
    (event,) = rig.attributes_of("dlp.tool_result_rejected")
    assert event["reason_code"] == "cross_boundary_sensitive_text_detected"
    assert event["tool_name"] == "lookup"
    assert "aggregate_text_length" not in event
    assert str(error) == "The result of tool 'lookup' hides sensitive text around a non-text part"


def test_rt86_order_is_kept(driver: Driver) -> None:
    parts = [TextPart("summary user@example.com"), IMAGE, TextPart("caption")]
    message = sent(driver, parts, dlp=mail())
    assert message.content_parts == (TextPart("summary [EMAIL]"), IMAGE, TextPart("caption"))


def test_rt87_an_image_is_kept_as_it_is(driver: Driver) -> None:
    message = sent(driver, [TextPart("alice@example.com"), IMAGE], dlp=mail())
    assert message.content_parts is not None
    assert message.content_parts[1] is IMAGE


def test_rt87_a_run_that_becomes_empty_goes(driver: Driver) -> None:
    message = sent(driver, [TextPart("secret"), IMAGE], dlp=Words({"secret": ""}))
    assert message.content_parts == (IMAGE,)


@pytest.mark.parametrize(("tool", "expected"), [("lookup", "[EMAIL]"), ("search", "alice@example.com")])
def test_rt88_a_rule_for_another_tool_does_not_apply(driver: Driver, tool: str, expected: str) -> None:
    assert sent(driver, "alice@example.com", dlp=mail(tool_names={tool})).content == expected


@pytest.mark.parametrize("length", [99_999, 100_000])
def test_rt89_up_to_the_limit_a_result_passes(driver: Driver, length: int) -> None:
    assert sent(driver, "x" * length, dlp=Words()).content == "x" * length


def test_rt89_one_more_is_refused(driver: Driver) -> None:
    rig, error = rejected(driver, "x" * 100_001, dlp=Words())
    (event,) = rig.attributes_of("dlp.tool_result_rejected")
    assert event["reason_code"] == "aggregate_text_limit_exceeded"
    assert (event["aggregate_text_length"], event["configured_limit"]) == (100_001, 100_000)
    assert "has 100001 characters; the limit is 100000" in str(error)
    assert "raise the limit in tool_result_filtering" in str(error)


def test_rt90_fragments_add_up_before_any_inspection(driver: Driver) -> None:
    dlp = Words()
    parts = [part for _ in range(5) for part in (TextPart("x"), IMAGE)]
    rejected(driver, parts, dlp=dlp, tool_result_filtering=limit(4))
    assert dlp.seen == []


def test_rt91_the_event_carries_exactly_this(driver: Driver) -> None:
    """Decision 6 adds `provider_id` and `attempt`, since an attempt is running."""
    rig, _ = rejected(driver, "secret", dlp=Words(), tool_result_filtering=limit(4))
    (event,) = rig.attributes_of("dlp.tool_result_rejected")
    assert event == {
        "correlation_id": event["correlation_id"],
        "provider_id": "p",
        "attempt": 0,
        "reason_code": "aggregate_text_limit_exceeded",
        "aggregate_text_length": 6,
        "configured_limit": 4,
        "tool_name": "lookup",
    }


def test_rt92_a_rejection_says_nothing_of_the_provider(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    rig = driver.rig(
        provider,
        dlp=Words(),
        tool_result_filtering=limit(4),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    for _ in range(2):
        with pytest.raises(DlpInspectionError):
            rig.complete(conversation("secret"))
    assert rig.complete().content == "answer"
    ends = [event["failure_kind"] for event in rig.attributes_of("attempt.failed")]
    assert ends == ["dlp", "dlp"]
    assert not any(name.startswith(("circuit.", "retry.")) for name in rig.names)


def test_rt93_a_tool_may_have_a_limit_of_its_own(driver: Driver) -> None:
    assert sent(driver, "123456", dlp=Words(), tool_result_filtering=limit(5, lookup=6)).content == "123456"
    rejected(driver, "123456", dlp=Words(), tool_result_filtering=limit(5, other=6))


def test_rt94_a_sanitizer_may_not_expand_beyond_the_limit(driver: Driver) -> None:
    rig, _ = rejected(
        driver, "secret", dlp=Words({"secret": "[A VERY LONG LABEL]"}), tool_result_filtering=limit(10)
    )
    (event,) = rig.attributes_of("dlp.tool_result_rejected")
    assert event["reason_code"] == "sanitized_text_limit_exceeded"
    assert event["aggregate_text_length"] == 19


@pytest.mark.parametrize("count", [1, 2])
def test_rt94_the_same_in_runs_one_by_one_and_together(driver: Driver, count: int) -> None:
    label = "[" + "x" * (12 // count) + "]"
    parts = [part for _ in range(count) for part in (TextPart("secret"), IMAGE)]
    rig, _ = rejected(driver, parts, dlp=Words({"secret": label}), tool_result_filtering=limit(12))
    assert rig.attributes_of("dlp.tool_result_rejected")[0]["reason_code"] == "sanitized_text_limit_exceeded"


def test_rt94_the_detection_scans_are_limited_too(driver: Driver) -> None:
    """Here the joined text grows, and no run alone does."""
    words = Words({"ab": "[LONG LABEL]"})
    rig, _ = rejected(
        driver, [TextPart("a"), IMAGE, TextPart("b")], dlp=words, tool_result_filtering=limit(5)
    )
    event = rig.attributes_of("dlp.tool_result_rejected")[0]
    assert (event["reason_code"], event["aggregate_text_length"]) == ("sanitized_text_limit_exceeded", 12)


@pytest.mark.parametrize("prefix", ["Error: ", "Permanent error: "])
def test_rt95_oversized_failure_texts_are_refused_alike(driver: Driver, prefix: str) -> None:
    rig, _ = rejected(driver, prefix + "x" * 20, dlp=Words(), tool_result_filtering=limit(20))
    assert rig.attributes_of("dlp.tool_result_rejected")[0]["reason_code"] == "aggregate_text_limit_exceeded"


def test_rt96_an_inspector_that_fails_names_the_tool_and_no_content(driver: Driver) -> None:
    rig, error = rejected(driver, "hello there", dlp=Scripted(raising(ValueError("hello"))))
    assert "tool 'lookup'" in str(error)
    assert "hello" not in str(error)
    (event,) = rig.attributes_of("dlp.inspection_failed")
    assert (event["content_type"], event["content_location"]) == ("tool_result", "tool_message_content")
    assert (event["tool_name"], event["reason_code"]) == ("lookup", "interceptor_failed")
    assert rig.names.count("attempt.failed") == 1


@pytest.mark.parametrize("tool_name", [None, "lookup"], ids=["by the call", "by the result"])
def test_a_result_of_a_tool_that_is_not_declared_is_not_named(driver: Driver, tool_name: str | None) -> None:
    """The model chose the name in its call, and a result's own is often copied from there."""
    rig = driver.rig([], dlp=Words(), tool_result_filtering=limit(4))
    with pytest.raises(DlpInspectionError, match=r"^The result of tool 'unregistered_tool' has 6 characters"):
        rig.complete(conversation("secret", tool_name))
    assert rig.attributes_of("dlp.tool_result_rejected")[0]["tool_name"] == "unregistered_tool"


def test_rt97_an_audit_that_fails_sends_nothing(driver: Driver) -> None:
    rig, _ = rejected(driver, "alice@example.com", dlp=mail(), dlp_redaction_audit=FailingLedger())
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "audit_failed"


def test_rt98_without_dlp_results_pass_untouched_at_any_size(driver: Driver) -> None:
    result = "alice@example.com" * 10_000
    assert sent(driver, result, tool_result_filtering=limit(4)).content == result


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"default_max_aggregate_text_length": 0}, ValueError),
        ({"default_max_aggregate_text_length": -1}, ValueError),
        ({"default_max_aggregate_text_length": 1.5}, TypeError),
        ({"default_max_aggregate_text_length": True}, TypeError),
        ({"max_aggregate_text_length_by_tool": {"lookup": 0}}, ValueError),
        ({"max_aggregate_text_length_by_tool": {"": 5}}, ValueError),
        ({"max_aggregate_text_length_by_tool": {"  ": 5}}, ValueError),
        ({"max_aggregate_text_length_by_tool": {" lookup": 5}}, ValueError),
    ],
)
def test_rt100_bad_limits_are_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="max_aggregate_text_length"):
        ToolResultFilteringSettings(**fields)


def test_the_limits_cannot_be_changed_afterwards() -> None:
    limits = {"lookup": 5}
    settings = ToolResultFilteringSettings(max_aggregate_text_length_by_tool=limits)
    limits["lookup"] = 50
    assert settings.limit_for("lookup") == 5
    with pytest.raises(TypeError):
        settings.max_aggregate_text_length_by_tool["lookup"] = 50  # type: ignore[index]  # that is the point


def test_the_name_on_the_message_comes_before_the_one_of_the_call(driver: Driver) -> None:
    dlp = Words()
    driver.rig(["done"], dlp=dlp).complete(conversation("a secret", tool_name="search"))
    (context,) = dlp.contexts[:1]
    assert (context.tool_name, context.provider_id, context.model_name) == ("search", None, None)


@pytest.mark.parametrize("tool_call_id", [None, "unknown"])
def test_a_result_whose_tool_is_unknown_is_inspected_without_a_name(
    driver: Driver, tool_call_id: str | None
) -> None:
    dlp = Words()
    message = Message(role=MessageRole.TOOL, content="a secret", tool_call_id=tool_call_id)
    provider = ScriptedProvider(["done"])
    driver.rig(provider, dlp=dlp).complete([Message.user("x"), message])
    assert provider.requests[0].messages[1].content == "a [S]"
    assert dlp.contexts[0].tool_name is None


def test_a_rejected_result_without_a_name_is_called_unnamed(driver: Driver) -> None:
    rig = driver.rig([], dlp=Words(), tool_result_filtering=limit(1))
    with pytest.raises(DlpInspectionError, match="The result of tool unnamed has 2 characters"):
        rig.complete([Message(role=MessageRole.TOOL, content="xx")])
    assert "tool_name" not in rig.attributes_of("dlp.tool_result_rejected")[0]


def test_an_empty_result_is_left_alone(driver: Driver) -> None:
    dlp = Words()
    assert sent(driver, "", dlp=dlp).content == ""
    assert dlp.texts == ["done"]


def test_an_unchanged_result_of_parts_is_kept(driver: Driver) -> None:
    parts = (TextPart("one"), TextPart("two"), IMAGE, TextPart("three"))
    assert sent(driver, list(parts), dlp=Words()).content_parts == parts


def test_dlp_touches_no_other_outgoing_message(driver: Driver) -> None:
    dlp = Words()
    provider = ScriptedProvider(["done"])
    messages = [Message.system("secret"), Message.user("secret"), *conversation("secret")]
    driver.rig(provider, dlp=dlp).complete(messages)
    assert [message.content for message in provider.requests[0].messages] == [
        "secret",
        "secret",
        "who is it",
        "",
        "[S]",
    ]
    assert dlp.texts == ["secret", "done"]


def test_a_result_that_an_interceptor_adds_is_inspected(driver: Driver) -> None:
    provider = ScriptedProvider(["done"])
    add = OnRequest(lambda messages: [*messages, Message.tool("a secret", tool_call_id="c1")])
    driver.rig(provider, dlp=Words(), interceptors=[add]).complete()
    assert provider.requests[0].messages[-1].content == "a [S]"


def test_every_attempt_inspects_the_original_result(driver: Driver) -> None:
    dlp = Words()
    provider = ScriptedProvider([down(), "done"])
    driver.rig(provider, dlp=dlp).complete(conversation("a secret"))
    assert dlp.texts == ["a secret", "down", "a secret", "done"]


def test_a_joined_result_that_differs_but_holds_nothing_more_passes(driver: Driver) -> None:
    """The first scan differs from the joined runs, the second finds nothing: no secret is hidden."""
    scans = {"secretkey": "[S]", "[S]key": "[S]key"}
    dlp = Scripted(lambda _, text: DlpResult(scans.get(text, text.replace("secret", "[S]"))))
    message = sent(driver, [TextPart("secret"), IMAGE, TextPart("key")], dlp=dlp)
    assert message.content_parts == (TextPart("[S]"), IMAGE, TextPart("key"))
