"""A stream that goes well: what comes, in which order, and what is said about it."""

from __future__ import annotations

import pytest

from tests.drivers import Driver, response_of, text_of
from tests.engine.doubles import Onlooker, OnRequest, OnResponse, Words, down, retries
from tests.engine.stream_doubles import Opens, Source, Steps
from tramapy import (
    Chunk,
    CircuitBreakerSettings,
    CompletedChunk,
    FinishReason,
    ImagePart,
    InterceptorError,
    Message,
    ModelResponse,
    ProviderCapability,
    ProviderCapabilityError,
    ProviderError,
    Route,
    TextChunk,
    TextPart,
    TokenBudgetExceededError,
    TokenBudgetSettings,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from tramapy.testing import ScriptedProvider

CALL = ToolCall(id="c1", name="search", arguments_json='{"q": 1}')
ANSWER = ModelResponse(
    content="one two three", usage=TokenUsage(input_tokens=3, output_tokens=5), model="m-1"
)


class Observes(OnResponse):
    observes_only = True


def test_rt143_pieces_come_in_order_and_the_stream_ends_once(driver: Driver) -> None:
    provider = ScriptedProvider(["one two three"])
    chunks = driver.rig(provider).stream()
    assert [chunk.text for chunk in chunks[:-1] if isinstance(chunk, TextChunk)] == ["one ", "two ", "three"]
    assert response_of(chunks).content == "one two three"
    assert provider.open_stream_count == 0


def test_rt145_usage_is_reported_with_one_completion(driver: Driver) -> None:
    hook = Observes()
    rig = driver.rig([ANSWER], interceptors=[hook])
    assert response_of(rig.stream()).usage == ANSWER.usage
    assert len(hook.inputs) == 1
    (completed,) = rig.attributes_of("attempt.completed")
    assert (completed["input_tokens"], completed["output_tokens"]) == (3, 5)
    assert rig.names.count("operation.completed") == 1


def test_events_of_a_stream_come_in_order(driver: Driver) -> None:
    rig = driver.rig([ANSWER])
    rig.stream()
    assert rig.names == [
        "operation.started",
        "route.selected",
        "attempt.started",
        "attempt.completed",
        "operation.completed",
    ]
    assert rig.attributes_of("attempt.started")[0]["is_stream"] is True
    assert rig.attributes_of("operation.started")[0]["is_stream"] is True
    assert rig.attributes_of("operation.started")[0]["method_name"] == "stream"
    assert rig.attributes_of("operation.completed")[0]["outcome"] == "success"


def test_rt154_a_fallback_with_another_model_is_asked_for_that_model(driver: Driver) -> None:
    backup = ScriptedProvider(["fine"])
    rig = driver.rig(
        {"p": ScriptedProvider([ProviderError("no", retryable=True)] * 4), "q": backup},
        default_provider="p",
        fallbacks={"m": [Route("q", "other")]},
    )
    assert text_of(rig.stream()) == "fine"
    assert backup.requests[0].model == "other"


def test_rt159_the_messages_are_those_of_the_call_whatever_becomes_of_the_list(driver: Driver) -> None:
    provider = ScriptedProvider(["fine"])
    rig = driver.rig(provider)
    history = [Message.user("then")]

    if driver.is_async:

        async def main() -> None:
            stream = rig.tramapy.stream(history, model="m")
            history.append(Message.user("later"))
            async for _ in stream:
                pass

        driver.run(main)
    else:
        stream = rig.tramapy.stream(history, model="m")
        history.append(Message.user("later"))
        list(stream)
    assert [message.content for message in provider.requests[0].messages] == ["then"]


def test_rt160_tokens_are_masked_like_the_whole_text(driver: Driver) -> None:
    """Changed by decision 3: an interceptor that may rewrite the response makes the stream buffer."""
    mask = OnResponse(lambda response: response.replace(content=response.content.replace("two", "***")))
    chunks = driver.rig(["one two three"], interceptors=[mask]).stream()
    assert text_of(chunks) == response_of(chunks).content == "one *** three"


def test_rt161_a_budget_exceeded_at_the_end_fails_after_the_tokens_and_is_neutral(driver: Driver) -> None:
    rig = driver.rig(
        [ProviderError("no", retryable=True), ANSWER, ProviderError("no", retryable=True)],
        token_budget=TokenBudgetSettings(hard_max_tokens_per_attempt=7),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=2),
        retry=retries(0),
    )
    with pytest.raises(ProviderError):
        rig.stream()
    chunks: list[Chunk] = []
    with pytest.raises(TokenBudgetExceededError):
        rig.stream(into=chunks)
    assert text_of(chunks) == "one two three"
    assert not any(isinstance(chunk, CompletedChunk) for chunk in chunks)
    assert rig.attributes_of("attempt.failed")[-1]["failure_kind"] == "budget"
    with pytest.raises(ProviderError):
        rig.stream()
    assert rig.names.count("circuit.opened") == 1, "a success would have reset the count, a failure filled it"


def test_rt162_a_terminal_failure_is_one_error_and_one_provider_start(driver: Driver) -> None:
    """There is no error chunk: the error is raised from the iteration."""
    provider = ScriptedProvider([["one ", ProviderError("no")]])
    chunks: list[Chunk] = []
    with pytest.raises(ProviderError, match="no"):
        driver.rig(provider).stream(into=chunks)
    assert chunks == [TextChunk("one ")]
    assert len(provider.requests) == 1


def test_nothing_is_sent_before_the_first_piece_is_asked_for(driver: Driver) -> None:
    provider = ScriptedProvider(["fine"])
    rig = driver.rig(provider)
    rig.tramapy.stream([Message.user("hello")], model="m")
    assert provider.requests == ()
    assert rig.names == []


def test_the_response_is_there_after_the_end_and_not_before(driver: Driver) -> None:
    rig = driver.rig([ANSWER])
    seen = []

    if driver.is_async:

        async def main() -> None:
            async with rig.tramapy.stream([Message.user("hello")], model="m") as stream:
                async for chunk in stream:
                    seen.append((type(chunk), stream.response))
                seen.append((None, stream.response))

        driver.run(main)
    else:
        with rig.tramapy.stream([Message.user("hello")], model="m") as stream:
            for chunk in stream:
                seen.append((type(chunk), stream.response))
            seen.append((None, stream.response))
    assert seen[:3] == [(TextChunk, None)] * 3
    assert seen[3:] == [(CompletedChunk, ANSWER), (None, ANSWER)]


@pytest.mark.parametrize("model_text", ["", "one two three"], ids=["left-out", "given"])
def test_a_response_that_leaves_the_text_to_the_pieces_is_completed(driver: Driver, model_text: str) -> None:
    rig = driver.rig([["one ", "two ", "three", CompletedChunk(ANSWER.replace(content=model_text))]])
    assert response_of(rig.stream()) == ANSWER


@pytest.mark.parametrize("stream_hooks", [[], [OnResponse()]], ids=["pass", "buffer"])
def test_a_response_that_leaves_the_tool_calls_to_the_pieces_is_completed(
    driver: Driver, stream_hooks: list[OnResponse]
) -> None:
    script = [
        "one",
        ToolCallChunk(CALL),
        CompletedChunk(ModelResponse(finish_reason=FinishReason.TOOL_CALLS)),
    ]
    chunks = driver.rig([script], interceptors=stream_hooks).stream()
    assert response_of(chunks).tool_calls == (CALL,)
    assert chunks[:-1] == [TextChunk("one"), ToolCallChunk(CALL)]


def test_a_multimodal_response_streams_its_text_parts_when_buffered(driver: Driver) -> None:
    parts = (TextPart("one "), ImagePart(url="https://example.com/i.png"), TextPart("two"))
    answer = ModelResponse(content_parts=parts)
    chunks = driver.rig([[CompletedChunk(answer)]], stream_dlp="buffer", interceptors=[OnResponse()]).stream()
    assert chunks == [TextChunk("one "), TextChunk("two"), CompletedChunk(answer)]


def test_an_empty_piece_is_not_handed_on(driver: Driver) -> None:
    rig = driver.rig([["", "one", "", CompletedChunk(ModelResponse(content="one"))]])
    assert rig.stream()[:-1] == [TextChunk("one")]


def test_an_observing_interceptor_leaves_the_stream_unbuffered(driver: Driver) -> None:
    hook = Observes()
    provider = Steps(["one ", lambda: seen.append(len(chunks)), "two", CompletedChunk(ModelResponse())])
    seen: list[int] = []
    chunks: list[Chunk] = []
    driver.rig({"p": provider}, interceptors=[hook]).stream(into=chunks)
    assert seen == [1], "the first piece was out before the second was asked for"
    assert hook.inputs[0].content == "one two"


def test_request_interceptors_and_content_observers_work_as_for_a_whole_answer(driver: Driver) -> None:
    onlooker = Onlooker()
    upper = OnRequest(lambda messages: [message.replace(content="HELLO") for message in messages])
    provider = ScriptedProvider([ANSWER])
    rig = driver.rig(provider, interceptors=[upper], content_observers=[onlooker])
    rig.stream()
    assert provider.requests[0].messages[0].content == "HELLO"
    assert onlooker.requests == list(provider.requests)
    assert onlooker.responses == [ANSWER]


def test_a_source_may_be_an_iterable(driver: Driver) -> None:
    class Iterable:
        def __iter__(self) -> Source:
            return source

        __aiter__ = __iter__

    source = Source("one", CompletedChunk(ModelResponse(content="one")))
    assert text_of(driver.rig({"p": Opens(Iterable)}).stream()) == "one"
    assert source.close_count == 1


def test_an_awaited_source_is_taken_on_an_event_loop(async_driver: Driver) -> None:
    async def open_source() -> Source:
        return Source("one", CompletedChunk(ModelResponse(content="one")))

    assert text_of(async_driver.rig({"p": Opens(open_source)}).stream()) == "one"


@pytest.mark.parametrize(
    "capabilities",
    [frozenset[ProviderCapability](), frozenset({ProviderCapability.VISION})],
    ids=["none", "vision"],
)
def test_a_provider_that_cannot_stream_is_refused_and_not_called(
    driver: Driver, capabilities: frozenset[ProviderCapability]
) -> None:
    class Whole(ScriptedProvider):
        pass

    Whole.capabilities = capabilities
    provider = Whole(["fine"])
    rig = driver.rig(
        {"p": provider, "q": ScriptedProvider(["fine"])}, default_provider="p", fallbacks={"m": [Route("q")]}
    )
    with pytest.raises(ProviderCapabilityError, match="STREAMING"):
        rig.stream()
    assert provider.requests == ()
    assert rig.names.count("attempt.failed") == 1


def test_the_time_to_the_first_piece_is_told(driver: Driver) -> None:
    provider = Steps(
        [lambda: rig.clock.advance(2.0), "one", lambda: rig.clock.advance(1.0), CompletedChunk(ANSWER)]
    )
    rig = driver.rig({"p": provider})
    rig.stream()
    (completed,) = rig.attributes_of("attempt.completed")
    assert (completed["first_chunk_millis"], completed["duration_millis"]) == (2000, 3000)


def test_attempts_of_a_stream_are_numbered_over_routes(driver: Driver) -> None:
    rig = driver.rig(
        {"p": ScriptedProvider([down()]), "q": ScriptedProvider(["fine"])},
        default_provider="p",
        fallbacks={"m": [Route("q")]},
        retry=retries(0),
    )
    rig.stream()
    assert [(a["provider_id"], a["attempt"]) for a in rig.attributes_of("attempt.started")] == [
        ("p", 0),
        ("q", 1),
    ]


def test_an_observing_interceptor_that_changes_the_response_ends_the_stream(driver: Driver) -> None:
    hook = Observes(lambda response: response.replace(content="other"))
    rig = driver.rig(["one two"], interceptors=[hook])
    chunks: list[Chunk] = []
    with pytest.raises(InterceptorError, match="declares observes_only"):
        rig.stream(into=chunks)
    assert text_of(chunks) == "one two"
    assert not any(isinstance(chunk, CompletedChunk) for chunk in chunks)


def test_outgoing_text_of_a_stream_is_inspected_like_that_of_a_whole_answer(driver: Driver) -> None:
    provider = ScriptedProvider(["fine"])
    rig = driver.rig(provider, dlp=Words(), request_dlp=Words({"mine": "[M]"}))
    call = ToolCall(id="c1", name="search", arguments_json='{"q": "mine"}')
    rig.stream(
        [
            Message.user("mine"),
            Message.assistant(tool_calls=[call]),
            Message.tool("the secret is mine", tool_call_id="c1"),
        ]
    )
    user, assistant, tool = provider.requests[0].messages
    assert user.content == "[M]"
    assert assistant.tool_calls[0].arguments_json == '{"q": "[M]"}'
    assert tool.content == "the [S] is [M]"
