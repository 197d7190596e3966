"""Embeddings and legacy completions."""

import copy
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.bodies import JSON, list_of, one_of, texts_in
from tramapy import (
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
    ProviderFailureCode,
)
from tramapy.clients.codec import Codec, WireAnswer
from tramapy.clients.openai_choice_events import ChoiceLane
from tramapy.clients.openai_other import CompletionsCodec, EmbeddingsCodec
from tramapy.engine.native import NativeEnd, NativeRejectionError
from tramapy.messages import (
    FinishReason,
    ImagePart,
    Message,
    MessageRole,
    ModelResponse,
    TextPart,
    TokenUsage,
    ToolCall,
)
from tramapy.wire.sse import SseEvent

EMBEDDINGS, COMPLETIONS = EmbeddingsCodec(), CompletionsCodec()
CALL = ToolCall(id="1", name="f", arguments_json="{}")


@pytest.mark.parametrize(
    ("codec", "name"), [(EMBEDDINGS, "input"), (COMPLETIONS, "prompt")], ids=["input", "prompt"]
)
class TestInputs:
    @pytest.mark.parametrize(
        ("value", "texts", "unscanned"),
        [
            ("a", ["a"], ()),
            (["a", "", "b"], ["a", "", "b"], ()),
            ([1, 2_000_000], [], ("token_input",)),
            ([[1, 2_000_000], [3]], [], ("token_input",)),
            (["a", [1]], ["a"], ("token_input",)),
            ([], [], ()),
            (None, [], ()),
        ],
    )
    def test_each_text_is_a_message(
        self, codec: Codec, name: str, value: object, texts: list[str], unscanned: tuple[str, ...]
    ) -> None:
        body: dict[str, object] = {"model": "m", name: value}
        request = codec.request(body)
        assert [(message.role, message.content) for message in request.messages] == [
            (MessageRole.USER, text) for text in texts
        ]
        assert (request.rest, request.unscanned) == ("", unscanned)
        assert request.encoded(request.messages, "m", "") is body

    def test_what_is_neither_text_nor_tokens_is_rest(self, codec: Codec, name: str) -> None:
        body: dict[str, object] = {name: ["a", {"b": "c"}, []], "user": "u"}
        request = codec.request(body)
        assert json.loads(request.rest) == {name: {"1": {"b": "c"}}, "user": "u"}
        rest = request.rest.replace('"c"', '"*"')
        assert request.encoded([request.messages[0].replace(content="+")], "", rest) == {
            name: ["+", {"b": "*"}, []],
            "user": "u",
        }

    def test_changes_are_written_into_a_copy(self, codec: Codec, name: str) -> None:
        body = {"model": "m", name: ["a", "b"], "user": "ann"}
        before = copy.deepcopy(body)
        request = codec.request(body)
        one, two = request.messages
        parts = two.replace(content="", content_parts=[TextPart("x"), TextPart("y")])
        rest = request.rest.replace("ann", "*")
        assert request.encoded([one, parts], "n", rest) == {"model": "n", name: ["a", "xy"], "user": "*"}
        assert body == before

    def test_number_order_and_kind_must_stay(self, codec: Codec, name: str) -> None:
        request = codec.request({"model": "m", name: ["a", "b"]})
        one, two = request.messages
        system = one.replace(role=MessageRole.SYSTEM)
        for messages in ([one], [two, one], [one, two, Message.user("c")], [one, one], [system, two]):
            with pytest.raises(InterceptorError, match="dropped, added or moved"):
                request.encoded(messages, "m", "")
        image = one.replace(content="", content_parts=[ImagePart(url="https://x.example")])
        for changed, words in ((image, "an image"), (one.replace(tool_calls=[CALL]), "tool calls")):
            with pytest.raises(InterceptorError, match=words):
                request.encoded([changed, two], "m", "")

    def test_a_rest_of_another_shape_is_refused(self, codec: Codec, name: str) -> None:
        request = codec.request({name: "a", "user": "u"})
        with pytest.raises(DlpInspectionError):
            request.encoded(request.messages, "", "{}")

    def test_a_request_that_is_too_deep_is_refused(self, codec: Codec, name: str) -> None:
        deep: object = "x"
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(DlpInspectionError, match="too deeply"):
            _ = codec.request({name: {"a": deep}}).rest

    @given(data=st.data())
    def test_every_text_is_shown_or_rest(self, codec: Codec, name: str, data: st.DataObject) -> None:
        value = data.draw(one_of(JSON, list_of(JSON, max_size=3)))
        body = {name: value, "user": data.draw(JSON), "model": data.draw(JSON)}
        request = codec.request(body)
        everything = "\n".join(
            [request.rest, request.model, *(message.content for message in request.messages)]
        )
        assert [text for text in texts_in(body) if text not in everything] == []


EMBEDDED = {
    "object": "list",
    "model": "m",
    "data": [
        {"object": "embedding", "index": 0, "embedding": [0.5] * 5},
        {"object": "embedding", "index": 1, "embedding": "AAAA"},
    ],
    "usage": {"prompt_tokens": 2_000_000, "total_tokens": 2_000_000},
}


def test_vectors_are_no_text() -> None:
    answer = EMBEDDINGS.answer(EMBEDDED)
    assert answer.responses == (ModelResponse(usage=TokenUsage(input_tokens=2_000_000)),)
    assert answer.texts == ()
    assert answer.rewritten(answer.responses, []) is answer
    assert answer.body is EMBEDDED


def test_what_stands_beside_vectors_is_inspected() -> None:
    answer = EMBEDDINGS.answer({"data": [{"embedding": {"a": "b"}, "note": "c"}]})
    (text,) = answer.texts
    assert json.loads(text.text) == {"data": {"0": {"embedding": {"a": "b"}, "note": "c"}}}
    changed = cast("WireAnswer", answer.rewritten(answer.responses, [text.text.replace('"c"', '"*"')]))
    assert changed.body == {"data": [{"embedding": {"a": "b"}, "note": "*"}]}


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (ModelResponse(content="a"), "an answer that has none"),
        (ModelResponse(content_parts=(ImagePart(url="https://x.example"),)), "an image"),
        (ModelResponse(tool_calls=(CALL,)), "tool calls"),
        (ModelResponse(refusal="no"), "a refusal or a reasoning"),
    ],
)
def test_an_answer_without_text_takes_none(response: ModelResponse, words: str) -> None:
    answer = EMBEDDINGS.answer(EMBEDDED)
    with pytest.raises(InterceptorError, match=words):
        answer.rewritten([response], [])


@pytest.mark.parametrize("codec", [EMBEDDINGS, COMPLETIONS])
def test_an_error_is_refused_and_a_wrong_form_invalid(codec: Codec) -> None:
    with pytest.raises(NativeRejectionError):
        codec.answer({"error": {"message": "busy"}})
    with pytest.raises(ProviderError) as caught:
        codec.answer(["a"])
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_embeddings_have_no_stream() -> None:
    with pytest.raises(ConfigurationError, match="no stream that can be governed"):
        EMBEDDINGS.stream(1000)


COMPLETED: dict[str, Any] = {
    "id": "r1",
    "object": "text_completion",
    "created": 1700000000,
    "model": "m",
    "choices": [
        {"index": 0, "text": "a", "logprobs": {"tokens": ["a"]}, "finish_reason": "stop"},
        {"index": 1, "text": "b", "logprobs": {"tokens": ["b"]}, "finish_reason": "length"},
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    "note": "n",
}


def test_each_choice_of_a_completion_is_a_response() -> None:
    answer = COMPLETIONS.answer(COMPLETED)
    usage = TokenUsage(input_tokens=1, output_tokens=2)
    assert answer.responses == (
        ModelResponse(content="a", usage=usage, model="m", response_id="r1"),
        ModelResponse(content="b", model="m", response_id="r1", finish_reason=FinishReason.LENGTH),
    )
    assert [json.loads(text.text) for text in answer.texts] == [{"note": "n"}]
    assert answer.rewritten(answer.responses, [answer.texts[0].text]) is answer


def test_changes_of_a_completion_are_written_into_a_copy() -> None:
    before = copy.deepcopy(COMPLETED)
    answer = COMPLETIONS.answer(COMPLETED)
    one, two = answer.responses
    changed = cast("WireAnswer", answer.rewritten([one, two.replace(content="*")], ['{"note":"+"}']))
    first, second = COMPLETED["choices"]
    assert changed.body == {
        **COMPLETED,
        "choices": [{**first, "logprobs": None}, {**second, "text": "*", "logprobs": None}],
        "note": "+",
    }
    assert before == COMPLETED
    changed = cast("WireAnswer", answer.rewritten([one, two.replace(content="*")], ['{"note":"n"}']))
    assert changed.body == {**COMPLETED, "choices": [first, {**second, "text": "*", "logprobs": None}]}


def test_a_completion_without_probabilities_gets_none() -> None:
    answer = COMPLETIONS.answer({"choices": [{"text": None}, {"text": "b"}]})
    changed = cast("WireAnswer", answer.rewritten([ModelResponse(), ModelResponse(content="*")], []))
    assert changed.body == {"choices": [{"text": None}, {"text": "*"}]}
    with pytest.raises(InterceptorError, match="tool calls"):
        answer.rewritten([ModelResponse(tool_calls=(CALL,)), ModelResponse()], [])


@pytest.mark.parametrize("body", [{"choices": [{"text": 5}]}, {"choices": []}, {}])
def test_a_completion_of_a_wrong_form_is_invalid(body: Mapping[str, object]) -> None:
    with pytest.raises(ProviderError) as caught:
        COMPLETIONS.answer(body)
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def completion_chunk(text: object, index: int = 0, finish: str | None = None) -> SseEvent:
    choice = {"index": index, "text": text, "logprobs": None, "finish_reason": finish}
    return SseEvent(name="", data=json.dumps({"id": "r1", "model": "m", "choices": [choice]}).encode())


def test_a_streamed_completion_has_a_lane_for_each_choice() -> None:
    stream = COMPLETIONS.stream(10_000)
    events = [
        event
        for data in (
            completion_chunk("a"),
            completion_chunk("b", 1),
            completion_chunk("", finish="stop"),
            completion_chunk("c", 1, "length"),
        )
        for event in stream.feed(data)
    ]
    (end,) = stream.feed(SseEvent(name="", data=b"[DONE]"))[-1:]
    one, two = ChoiceLane("text", 0), ChoiceLane("text", 1)
    assert [(piece.lane, piece.text) for event in events for piece in event.pieces] == [
        (one, "a"),
        (two, "b"),
    ]
    assert isinstance(end, NativeEnd)
    responses = end.responses(lambda lane: "ac" if lane == one else "bc")
    assert [(response.content, response.finish_reason) for response in responses] == [
        ("ac", FinishReason.STOP),
        ("bc", FinishReason.LENGTH),
    ]
    assert end.lane_texts(responses) == {one: "ac", two: "bc"}
    assert json.loads(end.tail(two, "x").removeprefix(b"data: ")) == {
        "id": "r1",
        "model": "m",
        "choices": [{"index": 1, "text": "x", "logprobs": None, "finish_reason": None}],
    }


def test_a_completion_whose_stream_never_began_has_one_answer() -> None:
    stream = COMPLETIONS.stream(10_000)
    (end,) = stream.feed(SseEvent(name="", data=b"[DONE]"))
    assert isinstance(end, NativeEnd)
    assert end.responses(lambda lane: "") == (ModelResponse(),)


def test_a_streamed_completion_of_a_wrong_form_is_invalid() -> None:
    with pytest.raises(ProviderError, match="no text"):
        COMPLETIONS.stream(10_000).feed(completion_chunk(5))
    (event,) = COMPLETIONS.stream(10_000).feed(completion_chunk("a"))
    event.pieces[0].write("")
    assert event.frame() == b""
