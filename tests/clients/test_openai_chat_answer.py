"""Answers of chat completions: each choice as a response, all other text beside it, and back."""

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.bodies import JSON, fields, list_of, named, one_of, texts_in
from tramapy import DlpInspectionError, InterceptorError, ProviderError, ProviderFailureCode
from tramapy.clients.codec import WireAnswer
from tramapy.clients.openai_chat import ChatCodec
from tramapy.engine.native import NativeRejectionError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import FinishReason, ImagePart, ModelResponse, TextPart, TokenUsage, ToolCall

CODEC = ChatCodec()
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":"a"}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls"}}
LOGPROBS = {
    "content": [{"token": "hi", "logprob": -0.1, "bytes": [104, 105], "top_logprobs": []}],
    "refusal": None,
}
BODY: dict[str, Any] = {
    "id": "r1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "hi",
                "refusal": None,
                "reasoning_content": "think",
                "reasoning": "more",
                "tool_calls": [CUSTOM, CALL],
                "function_call": {"name": "old", "arguments": "{}"},
                "audio": {"id": "a", "data": "AAAA", "expires_at": 1700000000, "transcript": "said"},
                "annotations": [{"type": "url_citation", "url_citation": {"title": "t", "url": "u"}}],
            },
            "logprobs": LOGPROBS,
            "finish_reason": "tool_calls",
            "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}},
        },
        {
            "index": 1,
            "message": {"role": "assistant", "content": None, "refusal": "no"},
            "logprobs": LOGPROBS,
            "finish_reason": "stop",
        },
    ],
    "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    "system_fingerprint": "fp",
    "service_tier": "default",
    "prompt_filter_results": [
        {"prompt_index": 0, "content_filter_results": {"jailbreak": {"filtered": False, "detected": False}}}
    ],
}


def rewritten(answer: WireAnswer, *responses: ModelResponse) -> list[dict[str, Any]]:
    texts = [text.text for text in answer.texts]
    changed = cast("WireAnswer", answer.rewritten(responses, texts))
    return cast("list[dict[str, Any]]", cast("dict[str, object]", changed.body)["choices"])


def answer_of(**message: object) -> WireAnswer:
    return CODEC.answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def test_each_choice_is_a_response() -> None:
    first, second = CODEC.answer(BODY).responses
    assert first == ModelResponse(
        content="hi",
        reasoning="think",
        tool_calls=(ToolCall(id="c1", name="find", arguments_json='{"q":"a"}'),),
        usage=TokenUsage(input_tokens=2, output_tokens=3),
        model="m-1",
        finish_reason=FinishReason.TOOL_CALLS,
        response_id="r1",
    )
    assert second == ModelResponse(refusal="no", model="m-1", response_id="r1")


def test_all_other_text_stands_beside() -> None:
    answer = CODEC.answer(BODY)
    assert [(text.text, text.location, text.tool_name) for text in answer.texts[:-1]] == [
        ("more", DlpContentLocation.MODEL_RESPONSE_REASONING, None),
        ("ls", DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS, "run"),
        ("{}", DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS, "old"),
        ("said", DlpContentLocation.MODEL_RESPONSE_CONTENT, None),
        ('["hi"]', DlpContentLocation.MODEL_RESPONSE_CONTENT, None),
    ]
    assert json.loads(answer.texts[-1].text) == {
        "choices": {
            "0": {
                "message": {
                    "annotations": [{"type": "url_citation", "url_citation": {"title": "t", "url": "u"}}]
                }
            }
        }
    }
    assert answer.unscanned == ("audio",)


def test_an_unchanged_answer_is_the_same() -> None:
    answer = CODEC.answer(BODY)
    copies = [response.replace(content=response.content) for response in answer.responses]
    assert answer.rewritten(copies, [text.text for text in answer.texts]) is answer
    assert answer.body is BODY


def test_changed_texts_are_written_into_a_copy() -> None:
    before = copy.deepcopy(BODY)
    answer = CODEC.answer(BODY)
    texts = [f"*{text.text}" for text in answer.texts[:-1]]
    texts.append(answer.texts[-1].text.replace('"t"', '"+"'))
    changed = cast("WireAnswer", answer.rewritten(answer.responses, texts))
    expected = copy.deepcopy(BODY)
    message = expected["choices"][0]["message"]
    message["reasoning"] = "*more"
    message["tool_calls"][0]["custom"]["input"] = "*ls"
    message["function_call"]["arguments"] = "*{}"
    message["audio"]["transcript"] = "*said"
    message["annotations"][0]["url_citation"]["title"] = "+"
    # the rest changed, which may be of any choice
    expected["choices"][0]["logprobs"] = expected["choices"][1]["logprobs"] = None
    assert changed.body == expected
    assert before == BODY


def test_changed_responses_are_written_into_a_copy() -> None:
    before = copy.deepcopy(BODY)
    answer = CODEC.answer(BODY)
    first, second = answer.responses
    (call,) = first.tool_calls
    choices = rewritten(
        answer,
        first.replace(
            content="*",
            reasoning="hm",
            tool_calls=[call.replace(arguments_json="[]")],
            finish_reason=FinishReason.STOP,
        ),
        second,
    )
    expected = copy.deepcopy(BODY["choices"])
    message = expected[0]["message"]
    message["content"] = "*"
    message["reasoning_content"] = "hm"
    message["tool_calls"][1]["function"]["arguments"] = "[]"
    expected[0]["logprobs"] = None
    expected[0]["finish_reason"] = "stop"
    assert choices == expected
    assert before == BODY


def test_a_rest_and_a_response_may_both_change() -> None:
    answer = answer_of(role="assistant", content="a", note="b")
    changed = answer.rewritten(
        [answer.responses[0].replace(content="*")], [answer.texts[0].text.replace('"b"', '"+"')]
    )
    assert cast("Any", changed).body["choices"][0]["message"] == {
        "role": "assistant",
        "content": "*",
        "note": "+",
    }


def test_calls_may_go_and_come() -> None:
    answer = answer_of(role="assistant", content=None, tool_calls=[CALL])
    (response,) = answer.responses
    refused = rewritten(
        answer, response.replace(tool_calls=[], refusal="no", finish_reason=FinishReason.OTHER)
    )
    assert refused[0]["message"] == {"role": "assistant", "content": None, "refusal": "no"}
    assert refused[0]["finish_reason"] == "stop"
    new = ToolCall(id="2", name="f", arguments_json="{}")
    added = rewritten(answer_of(role="assistant", content="a"), ModelResponse(content="a", tool_calls=(new,)))
    assert added[0]["message"]["tool_calls"] == [
        {"id": "2", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]


def test_a_new_response_keeps_the_providers_usage() -> None:
    answer = CODEC.answer({**BODY, "choices": BODY["choices"][1:]})
    changed = cast(
        "Any", answer.rewritten([ModelResponse(content="x")], [text.text for text in answer.texts])
    )
    assert changed.body["usage"] == BODY["usage"]
    assert changed.body["model"] == "m-1"
    assert changed.body["choices"][0]["message"] == {"role": "assistant", "content": "x", "refusal": None}


def test_content_in_parts_stays_in_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    thinking = {"type": "thinking", "thinking": "hm"}
    answer = answer_of(
        role="assistant", content=[thinking, {"type": "text", "text": "a"}, picture], images=[picture]
    )
    (response,) = answer.responses
    image = ImagePart(data=b"\x89PNG", mime_type="image/png")
    assert response.content_parts == (TextPart("a"), image)
    assert len(answer.texts) == 1
    assert json.loads(answer.texts[0].text) == {
        "choices": {"0": {"message": {"content": {"0": {"type": "thinking", "thinking": "hm"}}}}}
    }
    changed = rewritten(answer, response.replace(content_parts=[TextPart("*"), image]))
    assert changed[0]["message"]["content"] == [thinking, {"type": "text", "text": "*"}, picture]


@pytest.mark.parametrize(
    ("name", "other"), [("reasoning_content", "reasoning"), ("reasoning", "reasoning_content")]
)
def test_the_reasoning_is_written_under_its_name(name: str, other: str) -> None:
    answer = answer_of(role="assistant", content="a", **{name: "r"})
    (response,) = answer.responses
    message = rewritten(answer, response.replace(reasoning="*"))[0]["message"]
    assert message[name] == "*"
    assert other not in message


def test_a_reasoning_has_no_place_where_there_was_none() -> None:
    answer = answer_of(role="assistant", content="a")
    with pytest.raises(InterceptorError, match="a reasoning"):
        rewritten(answer, ModelResponse(content="a", reasoning="r"))


def test_a_rest_that_is_no_json_is_refused() -> None:
    answer = answer_of(role="assistant", content="a", note="b")
    with pytest.raises(DlpInspectionError, match="no JSON"):
        answer.rewritten(answer.responses, ["b"])


def test_an_error_in_the_place_of_an_answer_is_refused() -> None:
    with pytest.raises(NativeRejectionError) as caught:
        CODEC.answer({"error": {"message": "busy", "type": "rate_limit_exceeded"}})
    assert (caught.value.status_code, caught.value.retryable) == (429, True)


@pytest.mark.parametrize(
    "body",
    [
        "null",
        "[]",
        '"text"',
        "{}",
        '{"choices": null}',
        '{"choices": []}',
        '{"choices": {}}',
        '{"choices": ["a"]}',
        '{"choices": [{}]}',
        '{"choices": [{"message": null}]}',
        '{"choices": [{"message": ["a"]}]}',
        '{"choices": [{"message": {"content": 5}}]}',
        '{"choices": [{"message": {"content": {"a": "b"}}}]}',
        '{"choices": [{"message": {"refusal": ["a"]}}]}',
        '{"choices": [{"message": {"tool_calls": {}}}]}',
        '{"choices": [{"message": {"tool_calls": ["a"]}}]}',
    ],
)
def test_an_answer_of_a_wrong_form_is_invalid(body: str) -> None:
    with pytest.raises(ProviderError) as caught:
        CODEC.answer(json.loads(body))
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_an_answer_that_is_too_deep_is_invalid() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ProviderError, match="too deeply"):
        answer_of(content="a", note={"a": deep})


@pytest.mark.parametrize(
    "fields",
    [
        {"logprobs": "CANARY 1"},
        {"content_filter_results": {"hate": {"severity": "CANARY 1"}, "note": "CANARY 2"}},
        {"finish_reason": "CANARY 1"},
    ],
)
def test_text_in_an_odd_place_is_inspected(fields: dict[str, object]) -> None:
    answer = CODEC.answer({"choices": [{"message": {"content": "a"}, **fields}]})
    assert all(text in answer.texts[-1].text for text in texts_in(fields))


MESSAGE = fields(
    {
        "content": one_of(
            st.none(),
            st.just("CANARY 9999!"),
            list_of(one_of(JSON, fields({"type": st.just("text"), "text": JSON})), max_size=2),
        )
    },
    optional={
        "role": one_of(st.just("assistant"), JSON),
        "refusal": one_of(st.none(), st.just("CANARY 9998!")),
        "reasoning": JSON,
        "reasoning_content": JSON,
        "tool_calls": list_of(
            one_of(
                fields({"function": fields({"name": JSON, "arguments": JSON})}),
                fields({"custom": fields({"name": JSON, "input": JSON})}),
                named(st.sampled_from(["a", "type"]), JSON, max_size=2),
            ),
            max_size=2,
        ),
        "function_call": one_of(JSON, fields({"arguments": JSON})),
        "audio": one_of(JSON, fields({"transcript": JSON})),
        "annotations": JSON,
    },
)
BODIES = fields(
    {
        "choices": list_of(
            fields({"message": MESSAGE}, optional={"more": JSON, "content_filter_results": JSON}),
            min_size=1,
            max_size=2,
        )
    },
    optional={"usage": JSON, "more": JSON, "prompt_filter_results": JSON},
)


@given(BODIES)
def test_every_text_is_in_a_response_or_beside(body: dict[str, object]) -> None:
    answer = CODEC.answer(body)
    shown = [text.text for text in answer.texts]
    for response in answer.responses:
        shown += [response.content, response.refusal or "", response.reasoning or ""]
        shown += [part.text for part in response.content_parts or () if isinstance(part, TextPart)]
        for call in response.tool_calls:
            shown += [call.name, call.arguments_json]
    everything = "\n".join(shown)
    assert [text for text in texts_in(body) if text not in everything] == []


@given(BODIES)
def test_what_is_masked_everywhere_is_nowhere(body: dict[str, object]) -> None:
    answer = CODEC.answer(body)

    def mask(text: str) -> str:
        return text.replace("CANARY", "*")

    responses = [
        response.replace(
            content=mask(response.content),
            content_parts=None
            if response.content_parts is None
            else [TextPart(mask(part.text)) for part in response.content_parts if isinstance(part, TextPart)],
            refusal=None if response.refusal is None else mask(response.refusal),
            reasoning=None if response.reasoning is None else mask(response.reasoning),
            tool_calls=[
                call.replace(arguments_json=mask(call.arguments_json)) for call in response.tool_calls
            ],
        )
        for response in answer.responses
    ]
    changed = cast("WireAnswer", answer.rewritten(responses, [mask(text.text) for text in answer.texts]))
    names = {call.name for response in answer.responses for call in response.tool_calls}
    assert [text for text in texts_in(changed.body) if text not in names] == []


def usual(**places: dict[str, object]) -> dict[str, object]:
    """Return an answer that has no rest, with fields added to its places."""
    message = {"role": "assistant", "content": "hi", "refusal": None, **places.get("message", {})}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": "stop",
        **places.get("choice", {}),
    }
    return {
        "id": "r1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 0}},
        "service_tier": "default",
        **places.get("body", {}),
    }


def test_usual_answer_has_no_rest() -> None:
    assert not CODEC.answer(usual()).texts
    assert not CODEC.answer(usual(body={"usage": None})).texts
    assert not CODEC.answer(usual(message={"content": None})).texts


@pytest.mark.parametrize(
    "places",
    [
        {"body": {"note": "CANARY"}},
        {"body": {"CANARY 1": None}},
        {"body": {"id": {"a": "CANARY"}}},
        {"body": {"service_tier": "CANARY"}},
        {"body": {"usage": {"note": "CANARY"}}},
        {"body": {"usage": {"CANARY 1": None}}},
        {"body": {"usage": "CANARY"}},
        {"choice": {"note": "CANARY"}},
        {"choice": {"CANARY 1": None}},
        {"choice": {"index": ["CANARY"]}},
        {"choice": {"finish_reason": "CANARY"}},
        {"choice": {"logprobs": "CANARY"}},
        {"message": {"role": "CANARY"}},
        {"message": {"CANARY 1": None}},
        {"message": {"content": [{"type": "other", "note": "CANARY"}]}},
    ],
    ids=str,
)
def test_text_that_is_not_usual_is_inspected(places: dict[str, dict[str, object]]) -> None:
    assert "CANARY" in CODEC.answer(usual(**places)).texts[-1].text
