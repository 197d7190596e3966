"""Answers of OpenAI responses: the response that they show, all other text, and how changes are written."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.responses_wire import (
    USAGE,
    call,
    code_call,
    custom_call,
    mcp_call,
    message,
    reasoning,
    refusal_part,
    response,
    text_part,
)
from tramapy import (
    DlpContentLocation,
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
from tramapy.clients.openai_responses import ResponsesCodec
from tramapy.engine.native import NativeRejectionError

CODEC = ResponsesCodec()
LOOKUP = ResponsesCodec(is_lookup=True)
ALL = (
    reasoning("s1", "s2", content=["c1"], encrypted_content="AAAA"),
    message(text_part("t1"), refusal_part("r1")),
    call("{}"),
    custom_call("i1"),
    mcp_call("[]"),
    code_call("print"),
)


def answered(*items: Any, **fields: Any) -> Any:
    return CODEC.answer(response(*items, **fields))


def changed(answer: Any, **changes: Any) -> Any:
    (shown,) = answer.responses
    texts = changes.pop("texts", [text.text for text in answer.texts])
    written = answer.rewritten((shown.replace(**changes) if changes else shown,), texts)
    return written.body


def test_one_response_shows_the_output() -> None:
    answer = answered(*ALL)
    assert answer.responses == (
        ModelResponse(
            content="t1",
            refusal="r1",
            reasoning="s1\n\ns2\n\nc1",
            tool_calls=(ToolCall(id="call_1", name="lookup", arguments_json="{}"),),
            usage=TokenUsage(
                input_tokens=11,
                output_tokens=7,
                reasoning_tokens=2,
                cache_read_tokens=3,
                cache_write_tokens=0,
            ),
            model="gpt-x-2026-01-01",
            finish_reason=FinishReason.TOOL_CALLS,
            response_id="resp_1",
        ),
    )
    assert [(text.text, text.location.name, text.tool_name) for text in answer.texts] == [
        ("i1", "MODEL_RESPONSE_TOOL_ARGUMENTS", "shout"),
        ("[]", "MODEL_RESPONSE_TOOL_ARGUMENTS", "search"),
        ("print", "MODEL_RESPONSE_CONTENT", None),
        (answer.texts[-1].text, "MODEL_RESPONSE_CONTENT", None),
    ]
    assert json.loads(answer.texts[-1].text) == {
        "output": {"3": {"name": "shout"}, "4": {"name": "search", "server_label": "docs"}}
    }
    assert answer.unscanned == ("encrypted_content",)


def test_a_plain_answer_has_no_other_text() -> None:
    answer = answered(message(text_part("hello", logprobs=[{"token": "hello"}])))
    assert answer.responses[0].content == "hello"
    assert answer.texts == ()
    assert answer.unscanned == ()


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("completed", None, FinishReason.STOP),
        ("incomplete", {"reason": "max_output_tokens"}, FinishReason.LENGTH),
        ("incomplete", {"reason": "content_filter"}, FinishReason.CONTENT_FILTER),
        ("queued", None, FinishReason.OTHER),
        ("cancelled", None, FinishReason.OTHER),
    ],
)
def test_the_status_is_the_reason(status: str, details: Any, reason: FinishReason) -> None:
    answer = answered(message(text_part("a")), status=status, incomplete_details=details)
    assert answer.responses[0].finish_reason is reason


def test_several_texts_are_parts() -> None:
    answer = answered(message(text_part("a"), text_part("b")), message(text_part("c"), item_id="m2"))
    assert answer.responses[0].content_parts == (TextPart("a"), TextPart("b"), TextPart("c"))


NOT_SHOWN = [
    message(text_part("a", annotations=[{"type": "url_citation", "title": "canary"}])),
    message(text_part("", logprobs=[{"token": "canary"}])),
    message({"type": "new", "text": "canary"}),
    message({"type": ["canary"]}),
    message(text_part("a"), note="canary"),
    {"type": "tomorrow", "id": "canary"},
    {"type": {"canary": 1}},
    {"type": "function_call_output", "call_id": "c", "output": "canary"},
    {"type": "file_search_call", "results": [{"text": "canary"}]},
    {"type": "code_interpreter_call", "code": None, "outputs": [{"type": "logs", "logs": "canary"}]},
    call("{}", namespace="canary"),
    mcp_call("", output="canary"),
    mcp_call("", error="canary"),
    {"type": "shell_call_output", "output": [{"stdout": "canary"}]},
    {"type": "image_generation_call", "result": "AAAA", "revised_prompt": "canary"},
]


@pytest.mark.parametrize("item", NOT_SHOWN, ids=lambda item: json.dumps(item)[:60])
def test_all_other_text_is_inspected(item: dict[str, Any]) -> None:
    answer = answered(message(text_part("a")), item)
    rest = answer.texts[-1].text
    assert "canary" in rest
    body = changed(answer, texts=[*(text.text for text in answer.texts[:-1]), rest.replace("canary", "[C]")])
    assert "canary" not in json.dumps(body)
    assert changed(answer) is answer.body


@pytest.mark.parametrize(
    "fields",
    [
        {"instructions": "canary"},
        {"instructions": [{"role": "user", "content": "canary"}]},
        {"metadata": {"a": "canary"}},
        {"tools": [{"type": "function", "description": "canary"}]},
        {"tomorrow": "canary"},
        {"usage": {"input_tokens": "canary"}},
    ],
    ids=json.dumps,
)
def test_what_the_answer_says_of_the_request_is_inspected(fields: dict[str, Any]) -> None:
    assert "canary" in answered(**fields).texts[-1].text


def test_what_did_not_change_is_the_very_body() -> None:
    answer = answered(*ALL)
    assert answer.rewritten(answer.responses, [text.text for text in answer.texts]) is answer
    # an equal value that is another object says the same
    assert changed(answer, content="t1") == answer.body


def test_changes_are_written_into_a_copy() -> None:
    answer = answered(*ALL)
    before = copy.deepcopy(answer.body)
    rest = answer.texts[-1].text.replace("docs", "D")
    body = changed(
        answer,
        content="T",
        refusal="R",
        reasoning="s1\n\nS2\n\nc1",
        tool_calls=[ToolCall(id="call_1", name="lookup", arguments_json='{"a":1}')],
        texts=["I", "[1]", "P", rest],
    )
    assert body["output"] == [
        reasoning("s1", "S2", content=["c1"], encrypted_content="AAAA"),
        message(text_part("T"), refusal_part("R")),
        call('{"a":1}'),
        custom_call("I"),
        {**mcp_call("[1]"), "server_label": "D"},
        code_call("P"),
    ]
    assert answer.body == before


def test_tokens_go_with_the_text_that_they_are_of() -> None:
    parts = [text_part(text, logprobs=[{"token": text}]) for text in ("first text here", "second text")]
    body = changed(answered(message(*parts)), content_parts=[TextPart("first text heresecond [S]")])
    assert body["output"][0]["content"] == [parts[0], {**parts[1], "text": "second [S]", "logprobs": []}]


def test_texts_are_taken_away() -> None:
    body = changed(answered(*ALL), content="", refusal=None, reasoning=None, tool_calls=())
    assert body["output"] == [
        reasoning("", "", content=[""], encrypted_content="AAAA"),
        message(text_part("")),
        custom_call("i1"),
        mcp_call("[]"),
        code_call("print"),
    ]


def test_what_is_new_is_added() -> None:
    calls = [
        ToolCall(id="n", name="g", arguments_json="[]"),
        ToolCall(id="call_1", name="lookup", arguments_json="{}"),
    ]
    body = changed(answered(call("{}")), content="so", refusal="no", tool_calls=calls)
    assert body["output"] == [
        {
            "id": "fc_n",
            "type": "function_call",
            "call_id": "n",
            "name": "g",
            "arguments": "[]",
            "status": "completed",
        },
        call("{}"),
        message(text_part("so"), refusal_part("no"), item_id="msg_resp_1"),
    ]
    parts = [TextPart("a"), TextPart("b"), TextPart("c")]
    body = changed(answered(message(text_part("x"), text_part("y")), id=None), content_parts=parts)
    assert body["output"] == [message(text_part("abc"), text_part(""))]
    body = changed(answered(id=None), content_parts=parts)
    assert body["output"] == [message(text_part("abc"), item_id="msg_new")]


def test_a_call_without_arguments_is_a_call() -> None:
    answer = answered({"type": "function_call", "name": "f"})
    assert answer.responses[0].tool_calls == (ToolCall(id="", name="f", arguments_json=""),)
    assert changed(answer, content="a")["output"][0] == {"type": "function_call", "name": "f"}


@pytest.mark.parametrize(
    "changes",
    [{"content": "", "content_parts": [ImagePart(url="https://example.org/i")]}, {"reasoning": "so"}],
    ids=["image", "reasoning"],
)
def test_what_the_format_cannot_hold_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InterceptorError, match="no place"):
        changed(answered(message(text_part("a"))), **changes)


def test_a_count_of_tokens_has_no_text() -> None:
    body = {"object": "response.input_tokens", "input_tokens": 12_000_000}
    answer = CODEC.answer(body)
    assert answer.responses == (ModelResponse(),)
    assert answer.texts == ()
    assert changed(answer, model="n") == body
    with pytest.raises(InterceptorError, match="count"):
        changed(answer, content="a")
    noted = CODEC.answer({**body, "note": "canary"})
    assert changed(noted, texts=['{"note":"*"}']) == {**body, "note": "*"}


def test_a_compacted_conversation_is_an_answer() -> None:
    items = [
        message(text_part("a"), role="user"),
        {"type": "compaction", "id": "c", "encrypted_content": "A"},
    ]
    body = {
        "id": "r",
        "object": "response.compaction",
        "created_at": 1_760_000_000,
        "output": items,
        "usage": USAGE,
    }
    answer = CODEC.answer(body)
    assert answer.responses[0].content == "a"
    assert answer.texts == ()
    assert answer.unscanned == ("encrypted_content",)


@pytest.mark.parametrize(
    "body",
    [
        None,
        "text",
        [],
        {},
        {"output": None},
        {"output": {}},
        {"output": ["x"]},
        {"output": [{"type": "message", "content": "x"}]},
        {"output": [{"type": "message", "content": ["x"]}]},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": 1}]}]},
        {"output": [{"type": "reasoning", "summary": {"a": 1}}]},
        {"output": [{"type": "function_call", "name": "f", "arguments": {}}]},
        {"output": [{"type": "function_call", "arguments": "{}"}]},
        {"output": [{"type": "custom_tool_call", "input": 1}]},
    ],
    ids=json.dumps,
)
def test_what_is_no_answer_is_refused(body: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        CODEC.answer(body)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_an_answer_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ProviderError, match="nested"):
        answered(tomorrow=deep)
    with pytest.raises(ProviderError, match="nested"):
        CODEC.answer({"error": {"message": deep}})
    while deep and isinstance(deep, list):
        deep = deep.pop()


@pytest.mark.parametrize(
    ("code", "status", "is_retryable"),
    [
        ("server_error", 500, True),
        ("rate_limit_exceeded", 429, True),
        ("invalid_prompt", 400, False),
        (None, 500, True),
    ],
)
def test_a_response_that_failed_is_the_providers_failure(code: Any, status: int, is_retryable: bool) -> None:
    body = response(status="failed", error={"code": code, "message": "canary"} if code else None)
    with pytest.raises(NativeRejectionError) as caught:
        CODEC.answer(body)
    error = caught.value
    assert (error.status_code, error.retryable, error.is_in_stream) == (status, is_retryable, False)
    assert json.loads(error.body) == body
    assert "canary" not in str(error)
    answer = LOOKUP.answer(body)
    assert answer.body is body
    assert answer.responses[0].finish_reason is FinishReason.OTHER
    assert ("canary" in "".join(text.text for text in answer.texts)) is bool(code)


def test_an_error_in_the_place_of_a_response_is_no_lookup() -> None:
    with pytest.raises(NativeRejectionError):
        LOOKUP.answer({"error": {"code": "server_error"}})


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3)
    ),
    max_leaves=6,
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["output_text", "refusal", "reasoning_text", "summary_text", "new"])},
        optional={
            "text": st.text(max_size=4) | st.none(),
            "refusal": st.text(max_size=4) | st.none(),
            "annotations": VALUES,
            "note": VALUES,
        },
    ),
    max_size=3,
)
TEXTS = st.text(max_size=4) | st.none()
ITEMS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message",
                "reasoning",
                "function_call",
                "custom_tool_call",
                "mcp_call",
                "code_interpreter_call",
                "new",
            ]
        ),
        "name": st.text(min_size=1, max_size=3),
    },
    optional={
        "id": st.text(max_size=2),
        "status": VALUES,
        "content": PARTS | st.none(),
        "summary": PARTS | st.none(),
        "arguments": TEXTS,
        "input": TEXTS,
        "code": TEXTS,
        "output": VALUES,
        "error": VALUES,
    },
)
BODIES = st.fixed_dictionaries(
    {"output": st.lists(ITEMS, max_size=5)},
    optional={"metadata": VALUES, "instructions": VALUES, "usage": VALUES, "status": VALUES, "model": VALUES},
)


@given(body=BODIES)
def test_what_is_shown_is_written_back_as_it_was(body: dict[str, Any]) -> None:
    answer = LOOKUP.answer({"object": "response", **body})
    texts = [text.text for text in answer.texts]
    assert answer.rewritten(answer.responses, texts) is answer
    (shown,) = answer.responses
    assert answer.rewritten((shown.replace(),), texts).body == answer.body


CANARY = "canary-4111"
OPAQUE = {"type", "id", "model"}


def planted(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, str):
        return [path]
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in planted(item, (*path, name))]
    if isinstance(value, list):
        return [found for at, item in enumerate(value) for found in planted(item, (*path, at))]
    return []


@given(body=BODIES, data=st.data())
def test_every_text_of_an_answer_is_seen(body: dict[str, Any], data: st.DataObject) -> None:
    paths = [path for path in planted(body) if path[-1] not in OPAQUE]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    body = copy.deepcopy(body)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = CANARY
    answer = LOOKUP.answer({"object": "response", **body})
    (shown,) = answer.responses
    seen = [
        shown.content,
        *(part.text for part in shown.content_parts or () if isinstance(part, TextPart)),
        shown.refusal or "",
        shown.reasoning or "",
        *(called.arguments_json + called.name for called in shown.tool_calls),
        *(text.text for text in answer.texts),
    ]
    assert CANARY in json.dumps(seen)


def test_texts_have_their_places() -> None:
    assert {text.location for text in answered(*ALL).texts} <= set(DlpContentLocation)
