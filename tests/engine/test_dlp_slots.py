"""DLP of every slot of an answer, and again of those that a response interceptor changed (decisions 1 and 2)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Ledger, Onlooker, OnResponse, Scripted, Words, raising
from tramapy import (
    DlpContentLocation,
    DlpInspectionError,
    DlpRedaction,
    DlpResult,
    FinishReason,
    ImagePart,
    ModelResponse,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
)

CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT
REFUSAL = DlpContentLocation.MODEL_RESPONSE_REFUSAL
REASONING = DlpContentLocation.MODEL_RESPONSE_REASONING
ARGUMENTS = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
IMAGE = ImagePart(data=b"png", mime_type="image/png")


def tool_call(arguments_json: str, name: str = "lookup", id_: str = "c1") -> ToolCall:
    return ToolCall(id=id_, name=name, arguments_json=arguments_json)


FULL = ModelResponse(
    content="a secret",
    refusal="no secret",
    reasoning="think secret",
    tool_calls=[tool_call('{"q": "secret"}'), tool_call("", id_="c2")],
    usage=TokenUsage(input_tokens=1, output_tokens=2),
    model="m-1",
    finish_reason=FinishReason.TOOL_CALLS,
    response_id="r1",
)
LOOKUP = [ToolDefinition(name="lookup")]
CLEAN = FULL.replace(
    content="a [S]",
    refusal="no [S]",
    reasoning="think [S]",
    tool_calls=[tool_call('{"q": "[S]"}'), tool_call("", id_="c2")],
)


def test_every_slot_is_inspected_once_where_it_stands(driver: Driver) -> None:
    dlp = Words()
    assert driver.rig([FULL], dlp=dlp).complete(tools=LOOKUP) == CLEAN
    assert dlp.seen == [
        (CONTENT, "a secret"),
        (REFUSAL, "no secret"),
        (REASONING, "think secret"),
        (ARGUMENTS, '{"q": "secret"}'),
    ]
    assert [context.tool_name for context in dlp.contexts] == [None, None, None, "lookup"]


def test_every_redaction_is_evidence_of_its_place(driver: Driver) -> None:
    ledger = Ledger()
    rig = driver.rig([FULL], dlp=Words(), dlp_redaction_audit=ledger)
    rig.complete(tools=[ToolDefinition(name="lookup")])
    assert [context.content_location for context, _ in ledger.records] == [
        CONTENT,
        REFUSAL,
        REASONING,
        ARGUMENTS,
    ]
    events = rig.attributes_of("dlp.redacted")
    assert [event["content_location"] for event in events] == [
        "model_response_content",
        "model_response_refusal",
        "model_response_reasoning",
        "model_response_tool_arguments",
    ]
    assert [event.get("tool_name") for event in events] == [None, None, None, "lookup"]


def test_a_tool_name_that_could_be_text_is_not_in_an_event(driver: Driver) -> None:
    rig = driver.rig([ModelResponse(tool_calls=[tool_call("secret", name="not a name")])] * 2, dlp=Words())
    rig.complete()
    rig.complete(tools=[ToolDefinition(name="not a name")])
    names = [event["tool_name"] for event in rig.attributes_of("dlp.redacted")]
    assert names == ["unregistered_tool", "unlabelled"]


NAMED: dict[str, tuple[ModelResponse, bool]] = {
    "response id": (ModelResponse(response_id="an id, secret"), False),
    "model": (ModelResponse(model="a secret model"), False),
    "call id": (ModelResponse(tool_calls=[tool_call("", id_="the secret call")]), False),
    "tool name": (ModelResponse(tool_calls=[tool_call("", name="secret")]), False),
    "clean text": (
        ModelResponse(response_id="an id", model="a model", tool_calls=[tool_call("", "any name", "an id")]),
        True,
    ),
    "words": (
        ModelResponse(response_id="secret-1", model="secret-2", tool_calls=[tool_call("", id_="secret_3")]),
        True,
    ),
    "nothing": (ModelResponse(response_id="", model="", tool_calls=[tool_call("", name="", id_="")]), True),
}


@pytest.mark.parametrize("entry", ["complete", "stream"])
@pytest.mark.parametrize(("answer", "passes"), NAMED.values(), ids=NAMED)
def test_names_and_ids_that_may_be_text_are_inspected_and_refused(
    driver: Driver, answer: ModelResponse, passes: bool, entry: str
) -> None:
    ledger = Ledger()
    rig = driver.rig([answer], dlp=Words(), dlp_redaction_audit=ledger)
    if passes:
        getattr(rig, entry)(tools=LOOKUP)
        return
    with pytest.raises(DlpInspectionError, match=r"^A name or an id holds sensitive text \(MODEL_OUTPUT at "):
        getattr(rig, entry)(tools=LOOKUP)
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "sensitive_name"
    assert ledger.records == []


def test_the_name_of_a_declared_tool_is_the_caller_s(driver: Driver) -> None:
    answer = ModelResponse(tool_calls=[tool_call("", name="secret")])
    rig = driver.rig([answer], dlp=Words())
    assert rig.complete(tools=[ToolDefinition(name="secret")]) is answer


def test_clean_slots_leave_the_very_same_response(driver: Driver) -> None:
    assert driver.rig([CLEAN], dlp=Words()).complete() is CLEAN


@pytest.mark.parametrize(
    "empty", [ModelResponse(), ModelResponse(refusal="", reasoning="", content_parts=[])]
)
def test_empty_slots_are_not_inspected(driver: Driver, empty: ModelResponse) -> None:
    dlp = Words()
    assert driver.rig([empty], dlp=dlp).complete() is empty
    assert dlp.seen == []


@pytest.mark.parametrize(
    ("slot", "location"),
    [
        ({"content": "secret"}, CONTENT),
        ({"content_parts": [TextPart("secret")]}, CONTENT),
        ({"refusal": "secret"}, REFUSAL),
        ({"reasoning": "secret"}, REASONING),
        ({"tool_calls": [tool_call("secret")]}, ARGUMENTS),
    ],
    ids=["content", "parts", "refusal", "reasoning", "arguments"],
)
def test_a_failure_in_any_slot_withholds_the_whole_answer(
    driver: Driver, slot: dict[str, Any], location: DlpContentLocation
) -> None:
    rig = driver.rig([ModelResponse(**slot)], dlp=Scripted(raising(ValueError("secret"))))
    with pytest.raises(DlpInspectionError, match=location.name) as caught:
        rig.complete()
    assert "secret" not in str(caught.value)
    (event,) = rig.attributes_of("dlp.inspection_failed")
    assert event["content_location"] == location.value


def test_a_failure_in_arguments_names_the_tool(driver: Driver) -> None:
    rig = driver.rig([ModelResponse(tool_calls=[tool_call("x")])], dlp=Scripted(raising(ValueError())))
    with pytest.raises(DlpInspectionError, match="of provider 'p', tool 'lookup'"):
        rig.complete(tools=[ToolDefinition(name="lookup")])


def test_adjacent_text_parts_are_one_run(driver: Driver) -> None:
    dlp = Words()
    parts = [TextPart("se"), TextPart("cret"), IMAGE, TextPart("plain"), TextPart(" text")]
    response = driver.rig([ModelResponse(content_parts=parts)], dlp=dlp).complete()
    assert response.content_parts == (TextPart("[S]"), IMAGE, TextPart("plain"), TextPart(" text"))
    seen = ["secret", "plain text", "plain", " text"]
    assert dlp.seen == [(CONTENT, text) for text in seen]


def test_a_run_that_becomes_empty_goes(driver: Driver) -> None:
    parts = [TextPart("secret"), IMAGE, TextPart("")]
    response = driver.rig([ModelResponse(content_parts=parts)], dlp=Words({"secret": ""})).complete()
    assert response.content_parts == (IMAGE,)


CHANGES = {
    "content": ({"content": "new secret"}, [(CONTENT, "new secret")], {"content": "new [S]"}),
    "refusal": ({"refusal": "new secret"}, [(REFUSAL, "new secret")], {"refusal": "new [S]"}),
    "reasoning": ({"reasoning": "new secret"}, [(REASONING, "new secret")], {"reasoning": "new [S]"}),
    "arguments": (
        {"tool_calls": [tool_call("new secret"), tool_call("", id_="c2")]},
        [(ARGUMENTS, "new secret")],
        {"tool_calls": (tool_call("new [S]"), tool_call("", id_="c2"))},
    ),
    "tool name": (
        {"tool_calls": [tool_call('{"q": "[S]"}', name="other")]},
        [(ARGUMENTS, "other"), (ARGUMENTS, '{"q": "[S]"}')],
        {"tool_calls": (tool_call('{"q": "[S]"}', name="other"),)},
    ),
    "dropped": (
        {"content": "", "refusal": None, "reasoning": None, "tool_calls": []},
        [],
        {"content": "", "refusal": None, "reasoning": None, "tool_calls": ()},
    ),
    "moved": ({"refusal": "a [S]"}, [(REFUSAL, "a [S]")], {"refusal": "a [S]"}),
    "no text": ({"model": "other", "usage": TokenUsage()}, [], {"model": "other", "usage": TokenUsage()}),
}


@pytest.mark.parametrize(("changes", "seen", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_only_what_a_response_interceptor_changed_is_inspected_again(
    driver: Driver, changes: dict[str, Any], seen: list[Any], expected: dict[str, Any]
) -> None:
    dlp = Words()
    onlooker = Onlooker()
    rig = driver.rig(
        [FULL],
        dlp=dlp,
        interceptors=[OnResponse(lambda r: r.replace(**changes))],
        content_observers=[onlooker],
    )
    assert rig.complete(tools=LOOKUP) == CLEAN.replace(**expected)
    assert dlp.seen[4:] == seen
    assert onlooker.responses == [CLEAN.replace(**expected)]


def test_an_untouched_response_is_not_inspected_again(driver: Driver) -> None:
    dlp = Words()
    rig = driver.rig([FULL], dlp=dlp, interceptors=[OnResponse(), OnResponse(lambda r: r.replace())])
    rig.complete(tools=LOOKUP)
    assert len(dlp.seen) == 4


def test_only_changed_runs_of_parts_are_inspected_again(driver: Driver) -> None:
    dlp = Words()
    parts = [TextPart("one secret"), IMAGE, TextPart("two")]
    change = OnResponse(lambda r: r.replace(content_parts=[*r.content_parts, TextPart(" and a secret")]))
    response = driver.rig([ModelResponse(content_parts=parts)], dlp=dlp, interceptors=[change]).complete()
    assert response.content_parts == (TextPart("one [S]"), IMAGE, TextPart("two and a [S]"))
    assert dlp.texts == ["one secret", "two", "two and a secret", "two", " and a [S]"]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [(("a k1", "what"), "a [K]what"), (("a ", "k1what"), None), (("a k1what",), None)],
    ids=["apart", "elsewhere", "not"],
)
def test_a_run_that_an_interceptor_cuts_in_another_way_is_inspected_again(
    driver: Driver, cut: tuple[str, ...], expected: str | None
) -> None:
    def words(_: object, text: str) -> DlpResult:
        changed, count = re.subn(r"\bk1\b", "[K]", text)
        return DlpResult(changed, [DlpRedaction("k", count)] if count else [])

    parts = tuple(map(TextPart, cut))
    change = OnResponse(lambda r: r.replace(content_parts=parts))
    rig = driver.rig(
        [ModelResponse(content_parts=[TextPart("a k1what")])], dlp=Scripted(words), interceptors=[change]
    )
    assert rig.complete().content_parts == (parts if expected is None else (TextPart(expected),))


def test_parts_that_an_interceptor_adds_are_inspected(driver: Driver) -> None:
    change = OnResponse(lambda r: r.replace(content="", content_parts=[TextPart("a secret")]))
    response = driver.rig(["text"], dlp=Words(), interceptors=[change]).complete()
    assert response.content_parts == (TextPart("a [S]"),)


def test_a_whole_other_response_is_inspected(driver: Driver) -> None:
    response = driver.rig(["text"], dlp=Words(), interceptors=[OnResponse(lambda _: FULL)]).complete()
    assert response == CLEAN


def test_runs_that_meet_are_inspected_as_one(driver: Driver) -> None:
    """Removing what stood between two clean runs may make a secret of them."""
    dlp = Words()
    drop = OnResponse(
        lambda r: r.replace(content_parts=[part for part in r.content_parts if part is not IMAGE])
    )
    parts = [TextPart("se"), IMAGE, TextPart("cret")]
    response = driver.rig([ModelResponse(content_parts=parts)], dlp=dlp, interceptors=[drop]).complete()
    assert response.content_parts == (TextPart("[S]"),)
    assert dlp.texts == ["se", "cret", "secret"]


def test_the_second_inspection_fails_closed_too(driver: Driver) -> None:
    def inspect(_: object, text: str) -> DlpResult:
        if text == "unsafe":
            raise DlpInspectionError("refused")
        return DlpResult(text)

    onlooker = Onlooker()
    rig = driver.rig(
        ["text"],
        dlp=Scripted(inspect),
        interceptors=[OnResponse(lambda r: r.replace(content="unsafe"))],
        content_observers=[onlooker],
    )
    with pytest.raises(DlpInspectionError):
        rig.complete()
    assert onlooker.responses == []
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "dlp"


def test_without_dlp_an_interceptors_word_is_the_last(driver: Driver) -> None:
    rig = driver.rig(["text"], interceptors=[OnResponse(lambda _: FULL)])
    assert rig.complete() is FULL
