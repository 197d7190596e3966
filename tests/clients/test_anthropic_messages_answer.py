"""Answers of `/v1/messages` and its neighbours."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tramapy import (
    DlpInspectionError,
    FinishReason,
    ImagePart,
    InterceptorError,
    ModelResponse,
    ProviderError,
    ProviderFailureCode,
    TextPart,
    TokenUsage,
    ToolCall,
)
from tramapy.clients.anthropic_messages import CountTokensCodec, MessageBatchesCodec, MessagesCodec
from tramapy.clients.anthropic_messages_blocks import CHANGED_SIGNATURE
from tramapy.clients.codec import WireAnswer
from tramapy.engine.native import NativeRejectionError
from tramapy.hooks.dlp import DlpContentLocation

CITATION = {"type": "char_location", "cited_text": "the source", "document_index": 0, "file_id": "f"}
CALL = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}}
OTHER_CALL = {"type": "tool_use", "id": "t2", "name": "find", "input": {}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "signed"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"type": "web_search_result", "title": "Sun", "url": "https://a.example", "encrypted_content": "e"}],
}  # fmt: skip


def text(words: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": words, **more}


def body(*blocks: object, **more: object) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-1",
        "content": [*blocks],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5, "service_tier": "standard"},
        **more,
    }  # fmt: skip


def read(value: object) -> WireAnswer:
    return MessagesCodec().answer(value)


WHOLE = body(
    THINKING,
    text("I look. "),
    SEARCH,
    FOUND,
    text("It is sunny", citations=[CITATION]),
    {"type": "thinking", "thinking": "so", "signature": "signed-too"},
    text(" today."),
    CALL,
    stop_reason="tool_use",
    stop_details={"type": "refusal", "category": "bio", "explanation": "not that"},
)


def test_all_of_an_answer_is_shown() -> None:
    answer = read(WHOLE)
    assert answer.responses == (
        ModelResponse(
            content="I look. It is sunny today.",
            tool_calls=(ToolCall(id="t1", name="search", arguments_json='{"q":"x"}'),),
            refusal="not that",
            reasoning="hm",
            usage=TokenUsage(input_tokens=7, output_tokens=5, cache_read_tokens=4),
            model="claude-1",
            finish_reason=FinishReason.TOOL_CALLS,
            response_id="msg_1",
        ),
    )
    reasoning, rest = answer.texts
    assert (reasoning.text, reasoning.location) == ("so", DlpContentLocation.MODEL_RESPONSE_REASONING)
    assert rest.location is DlpContentLocation.MODEL_RESPONSE_CONTENT
    assert json.loads(rest.text) == {
        "content": {
            "2": {"input": {"query": "weather"}},
            "3": {"content": {"0": {"title": "Sun", "url": "https://a.example"}}},
            "4": {"citations": {"0": {"cited_text": "the source"}}},
        }
    }
    assert answer.unscanned == ("encrypted",)
    assert answer.body is WHOLE


def own_texts(answer: WireAnswer) -> list[str]:
    return [native.text for native in answer.texts]


def test_an_unchanged_answer_is_itself() -> None:
    answer = read(WHOLE)
    assert answer.rewritten(answer.responses, own_texts(answer)) is answer
    same = answer.rewritten([answer.responses[0].replace()], own_texts(answer))
    assert isinstance(same, WireAnswer)
    assert same.body == WHOLE


def rewritten(value: dict[str, Any], **change: Any) -> list[object]:
    before = copy.deepcopy(value)
    answer = read(value)
    changed: Any = answer.rewritten([answer.responses[0].replace(**change)], own_texts(answer))
    assert value == before
    return [*changed.body["content"], changed.body["stop_reason"]]


CALLS = (
    ToolCall(id="t1", name="search", arguments_json='{"q":"y"}'),
    ToolCall(id="t3", name="new", arguments_json='{"z":1}'),
)
NEW_CALL = {"type": "tool_use", "id": "t3", "name": "new", "input": {"z": 1}}


@pytest.mark.parametrize(
    ("blocks", "change", "expected"),
    [
        (
            [text("mail jane", x=1), SEARCH, text(" is here", citations=[CITATION])],
            {"content": "mail <M> is here"},
            [text("mail <M>", x=1), SEARCH, text(" is here", citations=[CITATION]), "end_turn"],
        ),
        (
            [text("stay "), text("gone", citations=[CITATION])],
            {"content": "stay "},
            [text("stay ", citations=[CITATION]), "end_turn"],
        ),
        ([text("gone"), text("stay")], {"content": "stay"}, [text("stay"), "end_turn"]),
        ([SEARCH], {"content": "said"}, [SEARCH, text("said"), "end_turn"]),
        (
            [text("a")],
            {"content": "", "content_parts": [TextPart("b"), TextPart("c")]},
            [text("bc"), "end_turn"],
        ),
        (
            [THINKING, text("a")],
            {"reasoning": "<S>"},
            [{**THINKING, "thinking": "<S>", "signature": CHANGED_SIGNATURE}, text("a"), "end_turn"],
        ),
        ([THINKING, text("a")], {"reasoning": None}, [text("a"), "end_turn"]),
        (
            [{"type": "thinking", "thinking": "hm"}],
            {"reasoning": "<S>"},
            [{"type": "thinking", "thinking": "<S>"}, "end_turn"],
        ),
        (
            [CALL, OTHER_CALL],
            {"tool_calls": CALLS},
            [{**CALL, "input": {"q": "y"}}, NEW_CALL, "end_turn"],
        ),
        ([CALL, OTHER_CALL], {"tool_calls": ()}, ["end_turn"]),
        (
            [CALL],
            {"tool_calls": (ToolCall(id="t1", name="search", arguments_json='{"q":"x"}'), CALLS[1])},
            [CALL, NEW_CALL, "end_turn"],
        ),
        ([text("a")], {"tool_calls": CALLS[1:]}, [text("a"), NEW_CALL, "tool_use"]),
    ],
    ids=[
        "text in one of its blocks",
        "an emptied block",
        "an emptied first block",
        "text where there is none",
        "parts",
        "signed thinking",
        "thinking that goes",
        "unsigned thinking",
        "calls",
        "no calls",
        "one more call",
        "a first call",
    ],
)
def test_a_change_is_written_into_its_block(
    blocks: list[object], change: dict[str, Any], expected: list[object]
) -> None:
    assert rewritten(body(*blocks), **change) == expected


@pytest.mark.parametrize(
    ("has_calls", "stop_reason", "expected"),
    [
        (False, "tool_use", "end_turn"),
        (False, "max_tokens", "max_tokens"),
        (True, "max_tokens", "max_tokens"),
    ],
)
def test_the_reason_for_the_end_follows_the_calls(has_calls: bool, stop_reason: str, expected: str) -> None:
    blocks, calls = ([text("a")], CALLS) if has_calls else ([text("a"), CALL], ())
    assert rewritten(body(*blocks, stop_reason=stop_reason), tool_calls=calls)[-1] == expected


def test_other_texts_are_written() -> None:
    answer = read(WHOLE)
    so, rest = own_texts(answer)
    changed: Any = answer.rewritten(answer.responses, ["<S>", rest.replace("Sun", "Moon")])
    content = changed.body["content"]
    assert content[5] == {"type": "thinking", "thinking": "<S>", "signature": CHANGED_SIGNATURE}
    assert content[3]["content"][0]["title"] == "Moon"
    assert content[3]["content"][0]["encrypted_content"] == "e"
    assert so == "so"


def test_a_refusal_is_written() -> None:
    answer = read(WHOLE)
    changed: Any = answer.rewritten([answer.responses[0].replace(refusal="no")], own_texts(answer))
    assert changed.body["stop_details"] == {"type": "refusal", "category": "bio", "explanation": "no"}


@pytest.mark.parametrize(
    "change",
    [
        {"content": "", "content_parts": [ImagePart(url="https://images.example")]},
        {"reasoning": "hm"},
        {"refusal": "no"},
    ],
    ids=["image", "reasoning", "refusal"],
)
def test_a_change_without_a_place_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InterceptorError, match="has no place"):
        rewritten(body(text("a")), **change)


def test_another_number_of_responses_is_refused() -> None:
    answer = read(WHOLE)
    for responses in ((), answer.responses * 2):
        with pytest.raises(InterceptorError, match="has no place"):
            answer.rewritten(responses, own_texts(answer))


def test_arguments_that_are_no_object_are_refused() -> None:
    with pytest.raises(DlpInspectionError, match="no JSON object") as caught:
        rewritten(body(CALL), tool_calls=[ToolCall(id="t1", name="search", arguments_json="4111")])
    assert "4111" not in str(caught.value)


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP, "4111"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        {},
        body() | {"content": "4111"},
        body({"type": "text"}),
        body({"type": "text", "text": ["4111"]}),
        body({"type": "thinking", "thinking": 4111}),
        body({"type": "tool_use", "id": "t", "name": "n", "input": "4111"}),
        body({"type": "tool_use", "id": "t", "input": {}}),
        body({"type": "odd", "x": DEEP}),
        body({"type": "tool_use", "id": "t", "name": "n", "input": {"x": DEEP}}),
        {"error": "x", "y": DEEP},
    ],
)
def test_what_cannot_be_understood_is_refused(value: object) -> None:
    with pytest.raises(ProviderError) as caught:
        read(value)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert "4111" not in str(caught.value)


@pytest.mark.parametrize("codec", [MessagesCodec(), CountTokensCodec(), MessageBatchesCodec()])
def test_an_error_in_the_place_of_an_answer_is_refused(codec: Any) -> None:
    value = {"type": "error", "error": {"type": "overloaded_error", "message": "busy 4111"}}
    with pytest.raises(NativeRejectionError) as caught:
        codec.answer(value)
    assert (caught.value.status_code, caught.value.retryable, caught.value.is_in_stream) == (529, True, False)
    assert json.loads(caught.value.body) == value
    assert "4111" not in str(caught.value)


def test_an_unknown_block_is_inspected_whole() -> None:
    answer = read(body({"type": "odd", "id": "4111", "deep": [{"x": "5500"}]}, 7, "6011"))
    assert json.loads(answer.texts[0].text) == {
        "content": {"0": {"type": "odd", "id": "4111", "deep": [{"x": "5500"}]}, "2": "6011"}
    }


def test_a_count_of_tokens_says_nothing() -> None:
    value = {"input_tokens": 4_000_000}
    answer = CountTokensCodec().answer(value)
    assert (answer.responses, answer.texts, answer.body) == ((ModelResponse(),), (), value)
    assert answer.rewritten(answer.responses, []) is answer
    with pytest.raises(InterceptorError, match="has no place"):
        answer.rewritten([ModelResponse(content="a")], [])


def test_the_state_of_a_batch_is_inspected() -> None:
    value = {"id": "b", "type": "message_batch", "request_counts": {"errored": 0}, "note": "by jane"}
    answer = MessageBatchesCodec().answer(value)
    assert own_texts(answer) == ['{"note":"by jane"}']
    changed: Any = answer.rewritten(answer.responses, ['{"note":"by <M>"}'])
    assert changed.body == {**value, "note": "by <M>"}
