"""A wrapped client answers like the bare one; every call is an operation of the engine's."""

from __future__ import annotations

from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.clients.every_call import CHAT, MESSAGES, RESPONSES, Call
from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go, items_of, text_of
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    DlpRule,
    FinishReason,
    InterceptorError,
    Message,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    ProviderError,
    ProviderTimeoutError,
    ResponseTooLargeError,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
)
from tramapy.errors import ProviderFailureCode, TramapyError
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    Gate,
    GzipBomb,
    HttpRejection,
    MidStreamError,
    OversizedBody,
    PlainAnswer,
    RawBody,
    SlowAnswer,
)

pytestmark = SDK_LEAVES_GENERATORS

RETRIES = RetryPolicySettings(provider_retries=2, jitter_ratio=0.0)
SSN = "123-45-6789"
DLP = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="ssn", pattern=r"\b\d{3}-\d{2}-\d{4}\b", replacement="[SSN]")]
    )
)


class Masking(OperationInterceptor):
    """Puts another word in the place of one."""

    def intercept_request(self, context: OperationCallContext, messages: Any) -> list[Message]:
        return [
            message.replace(content=(message.content or "").replace("secret", "****")) for message in messages
        ]


class Failing(OperationInterceptor):
    """Lets nothing pass."""

    def intercept_request(self, context: OperationCallContext, messages: Any) -> Any:
        raise ValueError("with a secret")


def sent(use: Use) -> list[Any]:
    """The texts of the last messages that the server got."""
    return [request.body["messages"][-1]["content"] for request in use.server.requests]  # type: ignore[index]


def test_the_answer_is_the_bare_client_s(any_world: World) -> None:
    async def step(use: Use) -> None:
        assert await use.ask() == "Hello there."
        assert await use.ask(client=use.bare) == "Hello there."
        first, second = use.server.requests
        assert first.body == second.body
        kept = [name for name in first.headers if name != "x-stainless-retry-count"]
        assert {name: first.headers[name] for name in kept} == {name: second.headers[name] for name in kept}
        assert use.server.connection_count == 1
        assert use.names[0] == "operation.started"
        assert use.names[-1] == "operation.completed"

    any_world.use(["Hello there."] * 2, step)


def test_interceptors_and_dlp_see_every_text(any_world: World) -> None:
    async def step(use: Use) -> None:
        assert await use.ask("a secret") == "It is [SSN]."
        assert await use.stream("a secret") == "It is [SSN] indeed."
        assert sent(use) == ["a ****"] * 2

    any_world.use([f"It is {SSN}.", f"It is {SSN} indeed."], step, interceptors=[Masking()], dlp=DLP)


def test_a_content_filter_under_400_is_the_sdk_s_error_and_a_policy_event(world: World) -> None:
    refused = HttpRejection(status=400, code="content_filter")

    async def step(use: Use) -> None:
        for ask in (use.ask, use.stream):
            with pytest.raises(world.sdk.BadRequestError):
                await ask()
        assert use.names.count("request.refused") == 2
        assert "circuit.opened" not in use.names

    settings = CircuitBreakerSettings(failure_threshold=1)
    world.use([refused] * 2, step, circuit_breaker=settings, retry=RETRIES)


REFUSALS: dict[str, tuple[Call, ModelResponse, str]] = {
    "chat refusal": (CHAT, ModelResponse(refusal="no"), "refusal"),
    "chat filter": (CHAT, ModelResponse(finish_reason=FinishReason.CONTENT_FILTER), "content_filter"),
    "responses refusal": (RESPONSES, ModelResponse(refusal="no"), "refusal"),
    "responses filter": (
        RESPONSES,
        ModelResponse(finish_reason=FinishReason.CONTENT_FILTER),
        "content_filter",
    ),
    "messages refusal": (
        MESSAGES,
        ModelResponse(finish_reason=FinishReason.CONTENT_FILTER),
        "content_filter",
    ),
}


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("name", REFUSALS)
def test_a_model_that_refuses_has_answered_and_is_told_of(name: str, is_stream: bool) -> None:
    call, answer, reason_code = REFUSALS[name]

    async def step(use: Use) -> None:
        options: dict[str, Any] = {"stream": True} if is_stream else {}
        for _ in range(2):  # the breaker has heard of no failure
            said = call.start(use.client, "hello", **options)
            if is_stream:
                await items_of(said)
        assert use.names.count("attempt.completed") == len(use.server.requests) == 2
        refused = use.observer.attributes_of("tramai.response.refused")
        assert [each["reason_code"] for each in refused] == [reason_code] * 2

    settings = CircuitBreakerSettings(failure_threshold=1)
    World("sync", call.vendor).use([answer] * 2, step, circuit_breaker=settings, retry=RETRIES)


class Shape(BaseModel):
    """What an answer is parsed to."""

    name: str


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (FinishReason.LENGTH, openai.LengthFinishReasonError),
        (FinishReason.CONTENT_FILTER, openai.ContentFilterFinishReasonError),
    ],
)
def test_an_answer_that_the_sdk_does_not_parse_was_good(
    world: World, reason: FinishReason, error: type[Exception]
) -> None:
    answer = ModelResponse(content='{"name"', finish_reason=reason)

    async def step(use: Use) -> None:
        messages: Any = [{"role": "user", "content": "x"}]
        for _ in range(2):
            with pytest.raises(error):
                await go(
                    use.client.chat.completions.parse(model="m", messages=messages, response_format=Shape)
                )
        assert use.names.count("attempt.completed") == len(use.server.requests) == 2

    settings = CircuitBreakerSettings(failure_threshold=1)
    world.use([answer] * 2, step, circuit_breaker=settings, retry=RETRIES)


def test_a_retry_after_may_be_a_date(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1_750_000_000.0
    monkeypatch.setattr("tramapy.wrapping.time", SimpleNamespace(time=lambda: now_s))

    async def step(use: Use) -> None:
        assert await use.ask() == "at last"
        assert await use.stream() == "at last"
        assert list(use.clock.sleeps) == [20.0, 20.0]

    busy = HttpRejection(status=429, headers={"retry-after": formatdate(now_s + 20, usegmt=True)})
    world.use([busy, "at last"] * 2, step, retry=RETRIES)


def test_a_stream_is_the_bare_client_s(any_world: World) -> None:
    async def step(use: Use) -> None:
        async def shapes(client: Any) -> list[Any]:
            stream = await go(use.create(client=client, stream=True))
            assert stream.response.status_code == 200
            assert stream.response.headers["content-type"].startswith("text/event-stream")
            return [{**item.model_dump(), "id": None, "created": None} for item in await items_of(stream)]

        ours, theirs = await shapes(use.client), await shapes(use.bare)
        for item in (*ours, *theirs):
            item.get("message", {}).pop("id", None) if item.get("message") else None
        assert ours == theirs

    any_world.use(["one two three"] * 2, step)


def test_raw_and_streaming_responses_work(any_world: World) -> None:
    async def step(use: Use) -> None:
        resource = use.client.chat.completions if use.vendor == "openai" else use.client.messages
        options: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        if use.vendor == "anthropic":
            options["max_tokens"] = 9
        raw = await go(resource.with_raw_response.create(**options))
        assert raw.status_code == 200
        assert raw.http_response.elapsed.total_seconds() > 0
        assert (await go(raw.parse())).model == "m"
        raw = await go(resource.with_raw_response.create(stream=True, **options))
        assert text_of(await items_of(await go(raw.parse()))) == "two words"
        manager = resource.with_streaming_response.create(**options)
        if any_world.is_async:
            async with manager as response:
                assert not response.is_closed
                assert b"third" in await response.read()
        else:
            with manager as response:
                assert not response.is_closed
                assert b"third" in response.read()

    any_world.use(["first", "two words", "third"], step)


def test_retries_are_the_pipeline_s_alone(any_world: World) -> None:
    async def step(use: Use) -> None:
        assert await use.ask() == "at last"
        assert len(use.server.requests) == 3
        assert {request.headers.get("x-stainless-retry-count") for request in use.server.requests} == {"0"}
        assert use.clock.sleeps

    any_world.use([HttpRejection(status=429), ConnectionReset(), "at last"], step, retry=RETRIES)


def test_the_client_s_own_retries_are_the_default(any_world: World) -> None:
    async def step(use: Use) -> None:
        assert use.client.max_retries == 0
        with pytest.raises(any_world.sdk.InternalServerError):
            await use.ask()
        assert len(use.server.requests) == 2

    any_world.use([HttpRejection(status=500)] * 2, step, client_options={"max_retries": 1})


def test_retries_that_are_switched_on_again_are_told_of_once(
    any_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def step(use: Use) -> None:
        client = use.client.with_options(max_retries=2)
        assert await use.ask(client=client) == "at last"
        assert len(use.server.requests) == 3

    zero = {"retry-after-ms": "1"}
    any_world.use(
        [HttpRejection(status=500, headers=zero), HttpRejection(status=500, headers=zero), "at last"],
        step,
        retry=RetryPolicySettings(provider_retries=0),
    )
    warnings = [record for record in caplog.records if record.name == "tramapy.clients"]
    assert len(warnings) == 1
    assert "retries by itself" in warnings[0].getMessage()


@pytest.mark.unmeasured
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500])
@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_a_refusal_is_the_vendor_s_own_error(any_world: World, status: int, is_stream: bool) -> None:
    async def step(use: Use) -> Any:
        ask = use.stream if is_stream else use.ask
        with pytest.raises(any_world.sdk.APIStatusError) as caught:
            await ask()
        with pytest.raises(any_world.sdk.APIStatusError) as expected:
            await ask(client=use.bare)
        assert type(caught.value) is type(expected.value)
        assert caught.value.body == expected.value.body
        assert caught.value.status_code == status
        assert str(caught.value) == str(expected.value)
        assert caught.value.response.headers["x-own"] == "1"

    answer = HttpRejection(status=status, code="some_code", message="because", headers={"x-own": "1"})
    any_world.use([answer] * 2, step)


def test_what_a_refusal_says_is_inspected(any_world: World) -> None:
    async def step(use: Use) -> None:
        for ask in (use.ask, use.stream):
            with pytest.raises(any_world.sdk.BadRequestError) as caught:
                await ask()
            assert SSN not in f"{caught.value} {caught.value.body} {caught.value.response.text}"
            assert "[SSN]" in str(caught.value)

    any_world.use([HttpRejection(status=400, message=f"not {SSN}")] * 2, step, dlp=DLP)


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"", b"[" * 100_000], ids=["html", "empty", "deep"])
def test_a_refusal_in_other_words_stays_what_it_is(any_world: World, body: bytes) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(any_world.sdk.APIStatusError) as caught:
            await use.ask()
        assert caught.value.status_code == 503
        assert caught.value.response.headers["content-type"].startswith("text/plain")

    any_world.use([RawBody(body=body, status=503, headers={"content-type": "text/html"})], step)


def test_a_refusal_is_read_to_its_limit_only(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(world.sdk.InternalServerError) as caught:
            await use.ask()
        assert len(caught.value.response.content) <= 64 * 1024

    world.use([RawBody(body=b"x" * 1_000_000, status=500, headers={"content-type": "text/plain"})], step)


def test_a_refusal_whose_body_is_cut_keeps_its_status(any_world: World) -> None:
    class Cut:
        def steps(self, exchange: Any) -> Any:
            from tramapy.testing import BeginBody, ResetConnection, SendBytes

            yield BeginBody(status=500, length_bytes=100)
            yield SendBytes(b"half")
            yield ResetConnection()

    async def step(use: Use) -> None:
        with pytest.raises(any_world.sdk.InternalServerError):
            await use.ask()

    any_world.use([Cut()], step)


@pytest.mark.parametrize(
    ("answer", "code", "kind"),
    [
        (ConnectionReset(), ProviderFailureCode.CONNECTION_FAILED, ProviderError),
        (
            ConnectionReset(answer="half of it", after_events=1),
            ProviderFailureCode.TRANSPORT_FAILED,
            ProviderError,
        ),
        (RawBody(body=b"no json"), ProviderFailureCode.INVALID_RESPONSE, ProviderError),
        (RawBody(body=b"[" * 100_000), ProviderFailureCode.INVALID_RESPONSE, ProviderError),
        (
            RawBody(body=b"data: {}\n\n", headers={"content-type": "text/event-stream"}),
            ProviderFailureCode.INVALID_RESPONSE,
            ProviderError,
        ),
        (OversizedBody(byte_count=100_000), ProviderFailureCode.INVALID_RESPONSE, ResponseTooLargeError),
        (GzipBomb(byte_count=5_000_000), ProviderFailureCode.INVALID_RESPONSE, ResponseTooLargeError),
        (
            RawBody(
                body=b"no gzip", headers={"content-type": "application/json", "content-encoding": "gzip"}
            ),
            ProviderFailureCode.INVALID_RESPONSE,
            ProviderError,
        ),
    ],
    ids=["reset", "cut", "no json", "deep", "stream", "oversized", "bomb", "no gzip"],
)
def test_a_failure_is_ours_and_the_vendor_s(any_world: World, answer: Any, code: Any, kind: Any) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(kind) as caught:
            await use.ask()
        assert isinstance(caught.value, any_world.sdk.APIConnectionError)
        assert caught.value.failure_code is code
        assert len(use.server.requests) == 1

    any_world.use([answer], step, limit_bytes=50_000)


@pytest.mark.parametrize("megabytes", [15, 17])
def test_an_answer_may_have_sixteen_mebibytes_by_default(world: World, megabytes: int) -> None:
    async def step(use: Use) -> None:
        # the bomb is no JSON: one that is read is told apart from one that is too long
        with pytest.raises(ProviderError) as caught:
            await use.ask()
        assert isinstance(caught.value, ResponseTooLargeError) is (megabytes > 16)

    world.use([GzipBomb(byte_count=megabytes << 20)], step)


@pytest.mark.parametrize(
    "answer",
    [PlainAnswer("x"), RawBody(body=b"no json"), RawBody(body={"error": None})],
    ids=["answer", "no json", "no error"],
)
def test_a_plain_answer_is_no_stream(any_world: World, answer: Any) -> None:
    class Plain:
        def steps(self, exchange: Any) -> Any:
            if not isinstance(answer, PlainAnswer):
                yield from answer.steps(exchange)
                return
            body = exchange.wire.body(exchange, exchange.response_of("x"))
            yield from RawBody(body=body).steps(exchange)

    async def step(use: Use) -> None:
        with pytest.raises(ProviderError, match="no stream") as caught:
            await use.stream()
        assert isinstance(caught.value, any_world.sdk.APIConnectionError)

    any_world.use([Plain()], step)


def test_an_error_that_comes_as_a_plain_answer_is_a_refusal(any_world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(any_world.sdk.RateLimitError):
            await use.stream()

    any_world.use([RawBody(body={"error": {"type": "rate_limit_error", "message": "later"}})], step)


def test_a_timeout_is_ours_and_the_vendor_s(any_world: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        with pytest.raises(ProviderTimeoutError) as caught:
            await use.ask(timeout=0.05)
        assert isinstance(caught.value, any_world.sdk.APITimeoutError)
        assert isinstance(caught.value, TimeoutError)
        gate.release()

    any_world.use([SlowAnswer(gate=gate)], step)


def test_timeout_s_reaches_the_transport(any_world: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        with pytest.raises(ProviderTimeoutError):
            await use.ask()
        with pytest.raises(ProviderTimeoutError):
            await use.stream()
        gate.release()

    any_world.use([SlowAnswer(gate=gate)] * 2, step, timeout_s=0.05)


def test_an_interceptor_s_failure_is_ours_and_sends_nothing(any_world: World) -> None:
    base = any_world.sdk.OpenAIError if any_world.vendor == "openai" else any_world.sdk.AnthropicError

    async def step(use: Use) -> None:
        for ask in (use.ask, use.stream):
            with pytest.raises(InterceptorError) as caught:
                await ask()
            assert isinstance(caught.value, base)
            assert not isinstance(caught.value, any_world.sdk.APIError)
            assert caught.value.__cause__ is None
            assert "secret" not in str(caught.value)
        assert use.server.requests == ()

    any_world.use([], step, interceptors=[Failing()])


def test_an_open_breaker_is_ours(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(world.sdk.InternalServerError):
            await use.ask()
        with pytest.raises(CircuitBreakerOpenError) as caught:
            await use.ask()
        assert isinstance(caught.value, world.sdk.OpenAIError)
        assert caught.value.provider_id == "mine"
        assert len(use.server.requests) == 1

    world.use(
        [HttpRejection(status=500)],
        step,
        provider_id="mine",
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )


def test_a_stream_that_fails_before_its_first_text_is_retried(any_world: World) -> None:
    async def step(use: Use) -> None:
        assert await use.stream() == "whole answer"
        assert len(use.server.requests) == 2

    any_world.use([ConnectionReset(answer="x", after_events=0), "whole answer"], step, retry=RETRIES)


def test_an_error_in_a_stream_is_the_vendor_s_own(any_world: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        items: list[Any] = []
        with pytest.raises(any_world.sdk.APIError) as caught:
            await items_of(stream, items)
        assert not isinstance(caught.value, TramapyError)
        assert text_of(items).startswith("one")
        assert SSN not in str(caught.value)
        assert "[SSN]" in f"{caught.value} {caught.value.body}"
        assert len(use.server.requests) == 1
        assert use.names[-2:] == ["attempt.failed", "operation.completed"]

    error = MidStreamError(
        answer="one two three four",
        after_events=6,
        detail=ErrorDetail(error_type="server_error", message=f"busy {SSN}"),
    )
    any_world.use([error], step, retry=RETRIES, dlp=DLP)


def test_an_error_at_a_stream_s_beginning_is_the_vendor_s_own(any_world: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        with pytest.raises(any_world.sdk.APIError) as caught:
            await items_of(stream)
        assert not isinstance(caught.value, TramapyError)
        assert len(use.server.requests) == 1

    any_world.use([MidStreamError(answer="one two", after_events=0)], step)


def test_a_stream_that_is_cut_does_not_look_whole(any_world: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        with pytest.raises(ProviderError) as caught:
            await items_of(stream)
        assert isinstance(caught.value, any_world.sdk.APIConnectionError)
        assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT
        with pytest.raises(ProviderError) as caught:
            await items_of(await go(use.create(stream=True)))
        assert caught.value.failure_code is ProviderFailureCode.STREAM_CUT

    answers = [
        CutStream(answer="one two three", after_events=5),
        ConnectionReset(answer="one two three", after_events=5),
    ]
    any_world.use(answers, step)


def test_lone_surrogates_come_as_they_were_sent(world: World) -> None:
    """Some clients escape what is no Unicode; it stays so."""

    async def step(use: Use) -> None:
        request = use.client._client.build_request(
            "POST",
            f"{use.server.base_url}/chat/completions",
            content=b'{"model":"m","messages":[{"role":"user","content":"secret \\ud800"}]}',
        )
        response = await go(use.client._client.send(request))
        assert response.json()["choices"][0]["message"]["content"] == "ok"
        assert sent(use) == ["**** \ud800"]

    world.use(["ok"], step, interceptors=[Masking()])


def test_a_name_that_stands_twice_is_sent_once(world: World) -> None:
    async def step(use: Use) -> None:
        request = use.client._client.build_request(
            "POST",
            f"{use.server.base_url}/chat/completions",
            content=b'{"model":"m","messages":"hidden","messages":[{"role":"user","content":"seen"}]}',
        )
        await go(use.client._client.send(request, stream=True))
        assert int(use.server.requests[0].headers["content-length"]) < 70

    world.use(["ok"], step)


@pytest.mark.parametrize("after_events", [0, 6])
def test_an_error_ends_the_body_of_a_stream(any_world: World, after_events: int) -> None:
    """By the HTTP client, which reads on where the SDK stops."""

    async def step(use: Use) -> None:
        http = use.client._client
        path = "chat/completions" if use.vendor == "openai" else "v1/messages"
        body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "x"}]}
        request = http.build_request("POST", f"{any_world.url(use.server)}/{path}", json=body)
        response = await go(http.send(request))
        assert response.text.endswith("\n\n")
        assert "scripted error" in response.text.split("\n\n")[-2]
        assert ("one" in response.text) is (after_events > 0)

    any_world.use([MidStreamError(answer="one two three four", after_events=after_events)], step)


def test_an_error_in_a_stream_that_is_no_json_any_more_is_still_one(any_world: World) -> None:
    rules = [DlpRule(id="all", pattern=r'\{"', replacement="gone ")]
    dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=rules))

    async def step(use: Use) -> None:
        with pytest.raises(any_world.sdk.APIError):
            await items_of(await go(use.create(stream=True)))

    any_world.use([MidStreamError(answer="one", after_events=0)], step, dlp=dlp)


@pytest.mark.parametrize(
    "data",
    [
        '{"message":"busy"}',
        '{"type":"overloaded_error","message":"busy"}',
        '{"error":{"message":"busy"}}',
        "[1]",
    ],
)
def test_an_error_that_its_event_s_name_tells_alone_is_the_vendor_s_own(any_world: World, data: str) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(any_world.sdk.APIError):
            await items_of(await go(use.create(stream=True)))

    body = RawBody(
        body=f"event: error\ndata: {data}\n\n".encode(), headers={"content-type": "text/event-stream"}
    )
    any_world.use([body], step)
