"""DLP on a stream: incremental where it can be, buffered where it cannot, never a raw piece out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import HELLO, Driver, response_of, text_of
from tests.engine.doubles import OnResponse, Scripted, Words
from tests.engine.stream_doubles import HoldBack, HoldBackStream, Opens, Source, Steps
from tramapy import (
    Chunk,
    CompletedChunk,
    CompositeDlpInterceptor,
    DlpContentLocation,
    DlpContext,
    DlpInspectionError,
    DlpRule,
    ModelResponse,
    ProviderError,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    StreamingDlpInterceptor,
    TextChunk,
    TextPart,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
)
from tramapy.testing import ScriptedProvider, assert_no_canary, split_every

CANARY = "canary-7f3a91c2"
CALL = ToolCall(id="c1", name="search", arguments_json='{"q": "secret"}')
CLEAN_CALL = CALL.replace(arguments_json='{"q": "[S]"}')

RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(rules=[DlpRule(id="canary", pattern="canary-[0-9a-f]{8}", replacement="[C]")])
)


class Refuses(HoldBack):
    """Streams, but not this text."""

    def open_stream(self, context: DlpContext) -> HoldBackStream | None:
        return None


class AllAtOnce(OnResponse):
    """May rewrite, so the stream must wait."""


def test_an_incremental_interceptor_holds_back_only_what_is_undecided(driver: Driver) -> None:
    out: list[list[Chunk]] = []
    chunks: list[Chunk] = []
    look = lambda: out.append(list(chunks))  # noqa: E731  # three times the same step
    provider = Steps(["plain sec", look, "ret and se", look, "ven", look, CompletedChunk(ModelResponse())])
    driver.rig({"p": provider}, dlp=HoldBack()).stream(into=chunks)
    assert [text_of(so_far) for so_far in out] == ["plain ", "plain [S] and ", "plain [S] and seven"]
    assert text_of(chunks) == response_of(chunks).content == "plain [S] and seven"


def test_the_held_back_tail_comes_out_at_the_end(driver: Driver) -> None:
    chunks = driver.rig(["a sec"], dlp=HoldBack()).stream()
    assert text_of(chunks) == response_of(chunks).content == "a sec"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"dlp": Words()}, id="interceptor-that-cannot-stream"),
        pytest.param({"dlp": Refuses()}, id="open_stream-returns-none"),
        pytest.param({"dlp": HoldBack(), "stream_dlp": "buffer"}, id="stream_dlp-buffer"),
        pytest.param({"dlp": HoldBack(), "interceptors": [AllAtOnce()]}, id="rewriting-interceptor"),
        pytest.param(
            {"dlp": CompositeDlpInterceptor([HoldBack(), Words()])}, id="composite-with-one-that-cannot"
        ),
    ],
)
def test_any_other_stream_is_buffered_until_its_response_is_whole(
    driver: Driver, settings: dict[str, Any]
) -> None:
    seen: list[int] = []
    chunks: list[Chunk] = []
    provider = Steps(["a sec", "ret", lambda: seen.append(len(chunks)), CompletedChunk(ModelResponse())])
    driver.rig({"p": provider}, **settings).stream(into=chunks)
    assert seen == [0], "nothing was out before the end"
    assert chunks == [TextChunk("a [S]"), CompletedChunk(ModelResponse(content="a [S]"))]


def test_a_composite_of_streams_is_incremental(driver: Driver) -> None:
    first, second = HoldBack({"secret": "hidden"}), HoldBack({"hidden": "[H]"})
    seen: list[str] = []
    chunks: list[Chunk] = []
    provider = Steps(
        ["a sec", "ret b", lambda: seen.append(text_of(chunks)), CompletedChunk(ModelResponse())]
    )
    driver.rig({"p": provider}, dlp=CompositeDlpInterceptor([first, second])).stream(into=chunks)
    assert seen == ["a [H] b"]
    assert text_of(chunks) == "a [H] b"
    assert (first.open_count, second.open_count) == (0, 0)


def test_our_own_rules_are_incremental(driver: Driver) -> None:
    seen: list[str] = []
    chunks: list[Chunk] = []
    provider = Steps(
        [
            "id canary-7f3a",
            "91c2. Next",
            lambda: seen.append(text_of(chunks)),
            CompletedChunk(ModelResponse()),
        ]
    )
    driver.rig({"p": provider}, dlp=RULES).stream(into=chunks)
    assert seen[0].startswith("id [C]. ")
    assert text_of(chunks) == response_of(chunks).content == "id [C]. Next"


def test_an_interceptor_that_only_observes_sees_sanitized_text_and_does_not_buffer(driver: Driver) -> None:
    class Observes(OnResponse):
        observes_only = True

    hook = Observes()
    seen: list[str] = []
    chunks: list[Chunk] = []
    provider = Steps(
        ["secret a ", lambda: seen.append(text_of(chunks)), "b", CompletedChunk(ModelResponse())]
    )
    driver.rig({"p": provider}, dlp=HoldBack(), interceptors=[hook]).stream(into=chunks)
    assert seen == ["[S] a "]
    assert hook.inputs == [ModelResponse(content="[S] a b")]


def test_a_rewriting_interceptor_sees_sanitized_text_and_is_inspected_again(driver: Driver) -> None:
    hook = OnResponse(lambda response: response.replace(content=response.content + " secret"))
    chunks = driver.rig(["a secret"], dlp=HoldBack(), interceptors=[hook]).stream()
    assert hook.inputs == [ModelResponse(content="a [S]")]
    assert text_of(chunks) == response_of(chunks).content == "a [S] [S]"


@pytest.mark.parametrize("way", ["incremental", "buffered"])
def test_tool_calls_are_released_whole_and_inspected(driver: Driver, way: str) -> None:
    settings = {"stream_dlp": "buffer"} if way == "buffered" else {}
    script = ["see ", ToolCallChunk(CALL), CompletedChunk(ModelResponse(content="see ", tool_calls=(CALL,)))]
    dlp = HoldBack()
    chunks = driver.rig([script], dlp=dlp, **settings).stream(tools=[ToolDefinition(name=CALL.name)])
    assert chunks[1] == ToolCallChunk(CLEAN_CALL)
    assert response_of(chunks).tool_calls == (CLEAN_CALL,)
    inspected = [
        c for c, _ in dlp.inspected if c.content_location is DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
    ]
    assert [context.tool_name for context in inspected] == ["search"], "once, not again at the end"


def test_a_tool_call_that_only_the_response_has_is_inspected(driver: Driver) -> None:
    script = ["see ", CompletedChunk(ModelResponse(content="see ", tool_calls=(CALL,)))]
    assert response_of(driver.rig([script], dlp=HoldBack()).stream()).tool_calls == (CLEAN_CALL,)


def test_a_tool_call_passes_as_it_is_without_dlp(driver: Driver) -> None:
    script = [ToolCallChunk(CALL), CompletedChunk(ModelResponse(tool_calls=(CALL,)))]
    assert driver.rig([script]).stream()[0] == ToolCallChunk(CALL)


@pytest.mark.parametrize("slot", ["refusal", "reasoning"])
def test_the_other_slots_of_the_response_are_inspected(driver: Driver, slot: str) -> None:
    answer = ModelResponse(content="a secret", **{slot: "my secret"})  # type: ignore[arg-type]  # a name by parameter
    completed = response_of(driver.rig([answer], dlp=HoldBack()).stream())
    assert (completed.content, getattr(completed, slot)) == ("a [S]", "my [S]")


@pytest.mark.parametrize(
    ("pieces", "content", "released", "completed"),
    [
        (["a ", "b"], "a b and a secret", "a b", "a b and a [S]"),
        (["a secret"], "another secret", "a [S]", "another [S]"),
        ([], "a secret", "", "a [S]"),
    ],
    ids=["longer", "other", "no-pieces"],
)
def test_a_response_that_says_other_than_its_pieces_is_inspected_as_a_whole(
    driver: Driver, pieces: list[str], content: str, released: str, completed: str
) -> None:
    chunks = driver.rig([[*pieces, CompletedChunk(ModelResponse(content=content))]], dlp=HoldBack()).stream()
    assert text_of(chunks) == released
    assert response_of(chunks).content == completed


def test_a_multimodal_response_after_pieces_is_inspected(driver: Driver) -> None:
    answer = ModelResponse(content_parts=(TextPart("my sec"), TextPart("ret")))
    chunks = driver.rig([["my sec", "ret", CompletedChunk(answer)]], dlp=HoldBack()).stream()
    assert text_of(chunks) == "my [S]"
    assert response_of(chunks).content_parts == (TextPart("my [S]"),)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize("dlp", [RULES, HoldBack({CANARY: "[C]"})], ids=["rules", "hold-back"])
def test_no_raw_piece_comes_out_however_the_text_falls(
    driver: Driver, dlp: StreamingDlpInterceptor, size: int
) -> None:
    text = f"it is {CANARY}, and {CANARY}"
    provider = ScriptedProvider([text], split=split_every(size))
    rig = driver.rig(provider, dlp=dlp)
    chunks = rig.stream()
    assert text_of(chunks) == response_of(chunks).content == "it is [C], and [C]"
    assert_no_canary(CANARY, [text_of(chunks), chunks, rig.observer.events])


class Fails(HoldBack):
    """Fails or rejects at a given step of its stream."""

    def __init__(self, at: str, error: Exception) -> None:
        super().__init__({CANARY: "[C]"})
        self._at = at
        self._error = error

    def open_stream(self, context: DlpContext) -> Any:
        if self._at == "open_stream":
            raise self._error
        stream: Any = super().open_stream(context)
        return FailingStream(stream, self._at, self._error)


class FailingStream:
    def __init__(self, stream: HoldBackStream, at: str, error: Exception) -> None:
        self._stream = stream
        self._at = at
        self._error = error
        self._feed_count = 0

    @property
    def redactions(self) -> Any:
        return self._stream.redactions

    def feed(self, text: str) -> str:
        self._feed_count += 1
        if self._at == "feed" and self._feed_count == 2:
            raise self._error
        return self._stream.feed(text)

    def finish(self) -> str:
        if self._at == "finish":
            raise self._error
        return self._stream.finish()

    def abort(self) -> None:
        self._stream.abort()
        if self._at == "abort":
            raise self._error


@pytest.mark.parametrize("at", ["open_stream", "feed", "finish"])
@pytest.mark.parametrize(
    ("error", "reason"),
    [(DlpInspectionError("refused"), "rejected"), (ValueError(CANARY), "interceptor_failed")],
    ids=["rejection", "failure"],
)
def test_a_failing_stream_cuts_and_drops_its_tail(
    driver: Driver, at: str, error: Exception, reason: str
) -> None:
    provider = ScriptedProvider([["see cana", "ry-7f3", CompletedChunk(ModelResponse())]])
    dlp = Fails(at, error)
    rig = driver.rig(provider, dlp=dlp)
    chunks: list[Chunk] = []
    with pytest.raises(DlpInspectionError) as caught:
        rig.stream(into=chunks)
    assert text_of(chunks) == ("" if at == "open_stream" else "see "), "the tail is dropped, not flushed"
    assert dlp.open_count == 0
    assert provider.open_stream_count == 0
    assert len(provider.requests) == (0 if at == "open_stream" else 1)
    (failed,) = rig.attributes_of("dlp.inspection_failed")
    assert failed["reason_code"] == reason
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "dlp"
    assert_no_canary(CANARY, caught.value, rig.observer.events)


def test_a_stream_that_fails_to_abort_is_told_by_type_and_the_source_is_closed(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source("see ", ProviderError("no"))
    rig = driver.rig({"p": Opens(lambda: source)}, dlp=Fails("abort", ValueError(CANARY)))
    with pytest.raises(ProviderError, match="no"):
        rig.stream()
    assert source.close_count == 1
    assert "extension_point=dlp callback=abort error_type=ValueError" in caplog.text


@pytest.mark.parametrize("way", ["incremental", "buffered"])
def test_a_rejection_of_a_tool_call_cuts_the_stream(driver: Driver, way: str) -> None:
    class Rejects(HoldBack):
        def inspect(self, context: DlpContext, text: str) -> Any:
            if context.tool_name is not None:
                raise DlpInspectionError("refused")
            return super().inspect(context, text)

    settings = {"stream_dlp": "buffer"} if way == "buffered" else {}
    script = ["see sec", ToolCallChunk(CALL), CompletedChunk(ModelResponse(content="see sec"))]
    chunks: list[Chunk] = []
    with pytest.raises(DlpInspectionError, match="refused"):
        driver.rig([script], dlp=Rejects(), **settings).stream(into=chunks)
    assert text_of(chunks) == ("" if way == "buffered" else "see ")
    assert not any(isinstance(chunk, ToolCallChunk) for chunk in chunks)


@pytest.mark.parametrize("wrong", [None, 7, b"see "], ids=["none", "number", "bytes"])
def test_a_stream_that_releases_no_text_fails_closed(driver: Driver, wrong: Any) -> None:
    class Broken(HoldBackStream):
        def feed(self, text: str) -> Any:
            return wrong

    dlp = HoldBack()
    dlp.open_stream = lambda context: Broken(dlp)  # type: ignore[method-assign]  # the mistake under test
    rig = driver.rig(["see this"], dlp=dlp)
    with pytest.raises(DlpInspectionError):
        rig.stream()
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "interceptor_failed"


def test_a_stream_that_releases_an_awaitable_fails_closed(driver: Driver) -> None:
    class Broken(HoldBackStream):
        async def feed(self, text: str) -> str:  # type: ignore[override]  # the mistake under test
            return text

    dlp = HoldBack()
    dlp.open_stream = lambda context: Broken(dlp)  # type: ignore[method-assign]  # the same
    with pytest.raises(DlpInspectionError):
        driver.rig(["see this"], dlp=dlp).stream()


def test_an_async_interceptor_inspects_what_was_buffered(async_driver: Driver) -> None:
    words = Words()

    async def inspect(context: DlpContext, text: str) -> Any:
        return words.inspect(context, text)

    chunks = async_driver.rig(["a secret"], dlp=Scripted(inspect)).stream()
    assert text_of(chunks) == "a [S]"


def test_an_error_of_the_provider_drops_the_tail(driver: Driver) -> None:
    dlp = HoldBack({CANARY: "[C]"})
    chunks: list[Chunk] = []
    with pytest.raises(ProviderError):
        driver.rig([["see cana", ProviderError("no")]], dlp=dlp).stream(into=chunks)
    assert text_of(chunks) == "see "
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)


def test_leaving_early_drops_the_tail(driver: Driver) -> None:
    dlp = HoldBack({CANARY: "[C]"})
    chunks = driver.rig(["see cana ry"], dlp=dlp).stream(HELLO, take=1)
    assert text_of(chunks) == "see "
    assert (dlp.open_count, dlp.aborted_count) == (0, 1)
