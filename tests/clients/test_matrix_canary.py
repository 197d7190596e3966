"""Planted secrets in every place of every call, under every fault, and a search through all that comes out.

Not searched is what is the SDK's own and the same without `wrap`: its frames, its logs, and the request that its
errors of a refusal hold. Every call is made on a thread; on the loops, whose code knows no formats, some are.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx2
import pytest

from tests.clients.every_call import (
    CALLS,
    CHAT,
    COMPLETIONS,
    COUNT_TOKENS,
    EMBEDDINGS,
    MESSAGES,
    RESPONSES,
    STREAMS,
    THINGS,
    Call,
    EveryCallServer,
)
from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, go, items_of
from tramapy import (
    AttemptContentObserver,
    CircuitBreakerSettings,
    DlpContentType,
    DlpInterceptor,
    DlpRedactionAuditEmitter,
    DlpRule,
    EngineEventObserver,
    ModelResponse,
    OperationInterceptor,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    ToolCall,
)
from tramapy.errors import TramapyError
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    Gate,
    GzipBomb,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    OversizedBody,
    RawBody,
    SlowAnswer,
    assert_no_canary,
)

pytestmark = SDK_LEAVES_GENERATORS

# plainly fake, and unlike anything that is said by itself
PROMPT = "canary-prompt-5b1e77"
ANSWER = "canary-answer-c0ffee-93"
ARGUMENT = "canary-argument-77aa01"
REFUSED = "canary-refused-18fd2b"
RAISED = "canary-raised-e4d909"
HEADER = "canary-header-90ab1c"
QUERY = "canary-query-33fe20"
KEY = "canary-key-00d1ce"
CANARIES = (PROMPT, ANSWER, ARGUMENT, REFUSED, RAISED, HEADER, QUERY, KEY)

RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="canary", pattern=r"canary-[a-z]+-[0-9a-f-]+", enabled_for=list(DlpContentType))]
    )
)
CALL = ToolCall(id="c1", name="lookup", arguments_json=f'{{"q": "{ARGUMENT}"}}')
TEXT = f"so it is {ANSWER} indeed, and {ANSWER} again"


def loud(call: Call) -> ModelResponse:
    """An answer that says what it should not wherever the format has a place."""
    if call in (CHAT, RESPONSES, MESSAGES):
        model = f"{ANSWER} is no model name"
        return ModelResponse(content=TEXT, reasoning=ANSWER, tool_calls=[CALL], model=model)
    return ModelResponse(content=TEXT)


FAULTS: dict[str, Callable[[Call], Sequence[Any]]] = {
    "none": lambda call: [loud(call)],
    "429 then good": lambda call: [refusal(429, **{"retry-after": HEADER}), loud(call)],
    "400": lambda call: [refusal(400)],
    "500": lambda call: [refusal(500), refusal(500)],
    "no JSON of a refusal": lambda call: [body(f"<p>{REFUSED}</p>".encode(), 503)] * 2,
    "a refusal under 200": lambda call: [body(json.dumps({"error": {"message": REFUSED}}).encode(), 200)] * 2,
    "reset": lambda call: [ConnectionReset()] * 2,
    "reset in the middle": lambda call: [ConnectionReset(answer=loud(call), after_events=6)] * 2,
    "timeout": lambda call: [SlowAnswer(gate=Gate()) for _ in range(2)],
    "no JSON": lambda call: [body(f'{{"x": "{ANSWER}'.encode(), 200)],
    "a list": lambda call: [body(json.dumps([ANSWER]).encode(), 200)],
    "an own type": lambda call: [body(ANSWER.encode(), 200, f"application/json; x={HEADER}")],
    "oversized": lambda call: [OversizedBody(byte_count=200_000)],
    "bomb": lambda call: [GzipBomb(byte_count=1_000_000)],
}
STREAM_FAULTS: dict[str, Callable[[Call], Sequence[Any]]] = {
    **{name: fault for name, fault in FAULTS.items() if name not in ("no JSON", "a list", "an own type")},
    "cut": lambda call: [CutStream(answer=loud(call))],
    "cut in the middle": lambda call: [CutStream(answer=TEXT, after_events=6)],
    "error in the middle": lambda call: [
        MidStreamError(answer=TEXT, after_events=6, detail=ErrorDetail(error_type="x", message=REFUSED))
    ],
    "error at first": lambda call: (
        [MidStreamError(answer=TEXT, after_events=0, detail=ErrorDetail(error_type="x", message=REFUSED))] * 2
    ),
    "malformed": lambda call: [
        MalformedStream(answer=TEXT, after_events=6, data=f'data: {{"x": "{ANSWER}\n\n'.encode())
    ],
    "an unknown event": lambda call: [
        MalformedStream(answer=TEXT, after_events=6, data=f"event: {ANSWER}\ndata: {ANSWER}\n\n".encode())
    ],
}


class Raising(OperationInterceptor):
    """Says in an error what it saw."""

    def __init__(self, side: str) -> None:
        self.side = side

    def intercept_request(self, context: Any, messages: Any) -> Any:
        if self.side == "request":
            raise ValueError(f"{RAISED} {messages[0].content}")
        return messages

    def intercept_response(self, context: Any, response: Any) -> Any:
        if self.side == "response":
            raise ValueError(f"{RAISED} {response.content}")
        return response


class RaisingDlp(DlpInterceptor):
    def inspect(self, context: Any, text: str) -> Any:
        raise ValueError(f"{RAISED} {text}")


class BrokenAudit(DlpRedactionAuditEmitter):
    def emit(self, context: Any, redactions: Any) -> None:
        raise OSError(RAISED)


class BrokenObserver(EngineEventObserver):
    def on_runtime_event(self, event: Any) -> None:
        raise ValueError(RAISED)


class BrokenContentObserver(AttemptContentObserver):
    def on_attempt_request(self, event: Any, request: Any) -> None:
        raise ValueError(f"{RAISED} {request.messages[0].content}")

    def on_attempt_response(self, event: Any, response: Any) -> None:
        raise ValueError(f"{RAISED} {response.content}")


# where all is well with the provider
HOOKS: dict[str, dict[str, Any]] = {
    "dlp raises": {"dlp": RaisingDlp()},
    "request dlp raises": {"request_dlp": RaisingDlp()},
    "audit fails": {"dlp": RULES, "dlp_redaction_audit": BrokenAudit()},
    "a request interceptor raises": {"interceptors": [Raising("request")]},
    "a response interceptor raises": {"interceptors": [Raising("response")]},
    "observers fail": {
        "event_observers": [BrokenObserver()],
        "content_observers": [BrokenContentObserver()],
    },
}


def refusal(status: int, **headers: str) -> HttpRejection:
    return HttpRejection(status=status, message=f"not {REFUSED}", headers={"x-of-theirs": HEADER, **headers})


def body(data: bytes, status: int, content_type: str = "application/json") -> RawBody:
    return RawBody(body=data, status=status, headers={"content-type": content_type, "x-of-theirs": HEADER})


def options_of(call: Call) -> dict[str, Any]:
    """What goes with the text: more places for secrets."""
    if call is THINGS:
        return {"headers": {"x-of-ours": HEADER}, "params": {"q": QUERY}}
    schema = {"type": "object", "properties": {"q": {"type": "string", "description": PROMPT}}}
    more: dict[str, Any] = {
        "extra_headers": {"x-of-ours": HEADER},
        "extra_query": {"q": QUERY},
        "extra_body": {"unknown": {"deep": [PROMPT]}},
    }
    if call is CHAT:
        function = {"name": "lookup", "description": PROMPT, "parameters": schema}
        return {**more, "tools": [{"type": "function", "function": function}], "metadata": {"k": PROMPT}}
    if call is RESPONSES:
        tool = {
            "type": "function",
            "name": "lookup",
            "description": PROMPT,
            "parameters": schema,
            "strict": None,
        }
        return {**more, "instructions": PROMPT, "tools": [tool], "metadata": {"k": PROMPT}}
    if call in (MESSAGES, COUNT_TOKENS):
        return {
            **more,
            "system": PROMPT,
            "tools": [{"name": "lookup", "description": PROMPT, "input_schema": schema}],
        }
    return {**more, "user": PROMPT} if call in (COMPLETIONS, EMBEDDINGS) else more


def parts_of(error: BaseException) -> Iterator[object]:
    """What an error shows; all of it where it is ours."""
    ours = [
        frame
        for frame in traceback.TracebackException.from_exception(error, capture_locals=True).stack
        if "/tramapy/" in frame.filename and "/tests/" not in frame.filename
    ]
    yield [(frame.name, frame.locals) for frame in ours]
    if isinstance(error, TramapyError):
        assert ours or error.__traceback__ is None
        yield error.with_traceback(None)
        return
    yield from (str(error), repr(error), error.args)


async def said_by(use: Use, call: Call, *, is_stream: bool, options: dict[str, Any]) -> list[object]:
    """Make a call, and return all that is said beside its answer."""
    said: list[object] = []
    items: list[Any] = []
    try:
        if is_stream:
            stream = await go(call.start(use.client, PROMPT, stream=True, **options))
            said.append([repr(stream), repr(stream.response), repr(stream.response.stream)])
            await items_of(stream, items)
        else:
            await go(call.start(use.client, PROMPT, **options))
    except Exception as error:
        said += parts_of(error)
        if isinstance(error, use_sdk(use).APIStatusError):
            said += [error.body, error.response.text if error.status_code >= 400 else ""]
    said.append([(event.name, dict(event.attributes)) for event in use.observer.events])
    said.append([repr(use.client), repr(use.client._client), str(use.client._client.tramapy_wrapped)])
    return said


def use_sdk(use: Use) -> Any:
    return World("sync", use.vendor).sdk


async def check(
    world: World, call: Call, answers: Sequence[Any], caplog: Any, *, is_stream: bool, **settings: Any
) -> None:
    caplog.clear()

    async def step(use: Use) -> None:
        options = options_of(call)
        if any(isinstance(answer, SlowAnswer) for answer in answers):
            options["timeout"] = httpx2.Timeout(None, read=0.05)  # after the request is out
        said = await said_by(use, call, is_stream=is_stream, options=options)
        assert use.names[-1] == "operation.completed"
        for record in caplog.records:
            if record.name.startswith("tramapy"):
                said += [record.getMessage(), repr(record.args), record.exc_info]
        # without rules the provider's own words reach the caller, as they do without `wrap`
        canaries = CANARIES if "dlp" in settings else [word for word in CANARIES if word != REFUSED]
        assert_no_canary(canaries, *said)

    await world.serve(
        answers,
        step,
        client_options={"api_key": KEY},
        server_class=EveryCallServer,
        limit_bytes=50_000,
        retry=RetryPolicySettings(provider_retries=1, jitter_ratio=0.0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **settings,
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize(
    ("world_name", "call"),
    [*(("sync", call) for call in CALLS), ("asyncio", CHAT), ("asyncio", EMBEDDINGS), ("trio", MESSAGES)],
    ids=str,
)
def test_no_planted_secret_comes_out(world_name: str, call: Call, is_stream: bool, caplog: Any) -> None:
    if is_stream and call not in STREAMS:
        return
    caplog.set_level(logging.DEBUG, "tramapy")

    async def main() -> None:
        faults = STREAM_FAULTS if is_stream else FAULTS
        rounds = [
            (name, fault(call), {"dlp": RULES, "request_dlp": RULES} if has_rules else {})
            for name, fault in faults.items()
            for has_rules in (True, False)
        ]
        rounds += [(name, [loud(call)], settings) for name, settings in HOOKS.items()]
        for name, answers, settings in rounds:
            try:
                world = World(world_name, call.vendor)
                await check(world, call, answers, caplog, is_stream=is_stream, **settings)
            except BaseException as error:
                error.add_note(f"under {name!r} with {sorted(settings)}")
                raise

    World(world_name).run(main)


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_rules_keep_every_place_from_the_provider(call: Call) -> None:
    async def step(use: Use) -> None:
        await call.ask(use.client, PROMPT, **options_of(call))
        assert_no_canary(PROMPT, use.server.requests[0].body)
        if call in STREAMS:
            items: list[Any] = []
            await call.stream(use.client, PROMPT, into=items, **options_of(call))
            assert_no_canary(PROMPT, use.server.requests[1].body)
            assert_no_canary(ANSWER, [item.model_dump() for item in items])

    World("sync", call.vendor).use(
        [TEXT] * 2, step, server_class=EveryCallServer, dlp=RULES, request_dlp=RULES
    )


@pytest.mark.parametrize("after_events", range(1, 9))
@pytest.mark.parametrize("call", STREAMS, ids=repr)
def test_a_cut_within_a_secret_releases_nothing_of_it(call: Call, after_events: int) -> None:
    async def step(use: Use) -> None:
        items: list[Any] = []
        with pytest.raises(TramapyError):
            await call.stream(use.client, into=items)
        assert_no_canary([ANSWER, "canary-a"], [item.model_dump() for item in items])

    def split(text: str) -> list[str]:
        return [text[start : start + 5] for start in range(0, len(text), 5)]

    class Splitting(EveryCallServer):
        def __init__(self, answers: Any) -> None:
            super().__init__(answers, split=split)

    fault = CutStream(answer=f"is {ANSWER} indeed", after_events=after_events)
    retry = RetryPolicySettings(provider_retries=0)
    World("sync", call.vendor).use([fault], step, server_class=Splitting, dlp=RULES, retry=retry)
