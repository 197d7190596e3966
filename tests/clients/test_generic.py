"""Calls without a format of their own."""

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.bodies import JSON, named, texts_in
from tramapy import ConfigurationError, DlpInspectionError, InterceptorError, ProviderError
from tramapy.clients.codec import WireAnswer
from tramapy.clients.generic import GenericCodec
from tramapy.messages import ModelResponse, TokenUsage

CODEC = GenericCodec()


@pytest.mark.parametrize(
    ("body", "texts", "rest", "unscanned"),
    [
        ({}, [], None, ()),
        ({"model": "m", "prompt": "a cat", "size": "1024x1024"}, ["a cat"], {"size": "1024x1024"}, ()),
        ({"input": ["a", "b"], "model": "m"}, ["a", "b"], None, ()),
        ({"input": [1, 2]}, [], None, ("token_input",)),
        (
            {"input": [{"type": "text", "text": "a"}]},
            [],
            {"input": {"0": {"type": "text", "text": "a"}}},
            (),
        ),
        (
            {"input_file_id": "f1", "purpose": "batch", "metadata": {"id": "ann"}},
            [],
            {"metadata": {"id": "ann"}},
            ("input_file_id",),
        ),
        ({"a": {"file_ids": ["f"]}}, [], {"a": {"file_ids": {"0": "f"}}}, ("file_ids",)),
    ],
)
def test_prompts_are_messages_and_all_else_is_rest(
    body: dict[str, object], texts: list[str], rest: object, unscanned: tuple[str, ...]
) -> None:
    request = CODEC.request(body)
    assert [message.content for message in request.messages] == texts
    assert (json.loads(request.rest) if request.rest else None) == rest
    assert request.unscanned == unscanned
    assert request.encoded(request.messages, request.model, request.rest) is body


def test_changes_of_a_request_are_written_into_a_copy() -> None:
    body = {"model": "m", "prompt": "a cat", "user": "ann"}
    request = CODEC.request(body)
    messages = [request.messages[0].replace(content="*")]
    assert request.encoded(messages, "m", '{"user":"+"}') == {"model": "m", "prompt": "*", "user": "+"}
    assert body == {"model": "m", "prompt": "a cat", "user": "ann"}
    with pytest.raises(InterceptorError, match="dropped"):
        request.encoded([], "m", request.rest)


IMAGES: dict[str, Any] = {
    "created": 1700000000,
    "data": [{"b64_json": "AAAA", "revised_prompt": "a fat cat"}],
    "usage": {"input_tokens": 5, "output_tokens": 7_000_000, "total_tokens": 7_000_005},
}


def test_an_answer_is_inspected_as_it_is() -> None:
    before = copy.deepcopy(IMAGES)
    answer = CODEC.answer(IMAGES)
    assert answer.responses == (ModelResponse(usage=TokenUsage(input_tokens=5, output_tokens=7_000_000)),)
    (text,) = answer.texts
    assert json.loads(text.text) == {"data": {"0": {"revised_prompt": "a fat cat"}}}
    assert answer.unscanned == ("b64_json",)
    changed = cast(
        "WireAnswer", answer.rewritten(answer.responses, [text.text.replace("a fat cat", "a * cat")])
    )
    assert changed.body == {**IMAGES, "data": [{"b64_json": "AAAA", "revised_prompt": "a * cat"}]}
    assert changed.responses == answer.responses
    assert before == IMAGES


@pytest.mark.parametrize("body", [None, "text", [], ["a", {"id": "x"}], 5, {"error": {"code": None}}])
def test_an_answer_may_be_any_json(body: object) -> None:
    answer = CODEC.answer(body)
    assert answer.rewritten(answer.responses, [text.text for text in answer.texts]) is answer


def test_names_that_are_no_words_are_inspected() -> None:
    (text,) = CODEC.answer({"usage": {"a": "b"}, "ann@x.example": 5, "id": {"c": "d"}}).texts
    assert json.loads(text.text) == {"usage": {"a": "b"}, "ann@x.example": 5, "id": {"c": "d"}}


def test_a_stream_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no stream that can be governed"):
        CODEC.stream(1000)
    assert CODEC.request({"stream": True}).is_stream


def test_what_is_too_deep_is_refused() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(DlpInspectionError, match="too deeply"):
        CODEC.request({"a": deep})
    with pytest.raises(ProviderError, match="too deeply"):
        CODEC.answer(deep)


NAMES = st.sampled_from(["usage", "status", "prompt", "input", "metadata", "data", "a name!", "CANARY 5000!"])
BODIES = named(
    NAMES,
    st.recursive(JSON, lambda inner: named(NAMES, inner, max_size=2), max_leaves=3),
    max_size=4,
)


@given(BODIES)
def test_every_text_of_a_request_is_shown_or_rest(body: dict[str, object]) -> None:
    request = CODEC.request(body)
    everything = "\n".join([request.rest, *(message.content for message in request.messages)])
    assert [text for text in texts_in(body) if text not in everything] == []
    assert ("CANARY 5000!" in json.dumps(body)) == ("CANARY 5000!" in everything)


@given(BODIES)
def test_every_text_of_an_answer_is_beside(body: dict[str, object]) -> None:
    everything = "\n".join(text.text for text in CODEC.answer(body).texts)
    assert [text for text in texts_in(body) if text not in everything] == []
    assert ("CANARY 5000!" in json.dumps(body)) == ("CANARY 5000!" in everything)
