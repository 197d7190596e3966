"""No error of a provider holds what was sent or read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.providers.worlds import API_KEY, World
from tramapy.errors import (
    ProviderError,
)
from tramapy.messages import (
    Message,
    ModelRequest,
)
from tramapy.testing import (
    ConnectionReset,
    CutStream,
    ErrorDetail,
    Gate,
    HttpRejection,
    MalformedStream,
    MidStreamError,
    RawBody,
    ScriptedAnswer,
    ScriptedServer,
    SlowAnswer,
    assert_no_canary,
)

LIMIT = 100_000


CANARIES = (
    "plainly-fake-prompt-canary",
    "plainly-fake-body-canary",
    "plainly-fake-header-canary",
    API_KEY,
)


PROMPT, BODY, HEADER = CANARIES[:3]


LEAKY: dict[str, tuple[ScriptedAnswer, bool]] = {
    "rejection": (
        HttpRejection(status=400, message=BODY, code=BODY, headers={"x-request-id": HEADER}),
        False,
    ),
    "stream-rejection": (HttpRejection(status=500, message=BODY, error_type=BODY), True),
    "quota": (HttpRejection(status=429, message=BODY, code="insufficient_quota"), False),
    "no-json": (RawBody(body=f"<{BODY}>".encode()), False),
    "no-choice": (RawBody(body={"choices": [], "x": BODY}), False),
    "error-as-an-answer": (RawBody(body={"error": {"message": BODY, "code": BODY}}), False),
    "nameless-call": (
        RawBody(body={"choices": [{"message": {"tool_calls": [{"function": {"arguments": BODY}}]}}]}),
        False,
    ),
    "nameless-call-item": (
        RawBody(body={"output": [{"type": "function_call", "arguments": BODY}]}),
        False,
    ),
    "nameless-call-block": (
        RawBody(body={"content": [{"type": "tool_use", "input": {"x": BODY}}]}),
        False,
    ),
    "nameless-call-in-the-stream": (
        RawBody(
            body=b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}}\n\n'
            b'data: {"type": "response.failed", "response": {"error": {"message": "'
            + BODY.encode()
            + b'"}}}\n\n'
        ),
        True,
    ),
    "oversized": (RawBody(body={"x": BODY * 10_000}), False),
    "error-in-the-stream": (MidStreamError(detail=ErrorDetail(message=BODY, code=BODY), answer=BODY), True),
    "malformed-event": (MalformedStream(data=f"data: {BODY}\n\n".encode(), answer=BODY), True),
    "cut": (CutStream(answer=BODY), True),
    "reset": (ConnectionReset(answer=BODY, after_events=2), True),
    "reset-at-once": (ConnectionReset(), False),
    "stream-oversized": (RawBody(body=f"data: {BODY * 10_000}".encode()), True),
    "timeout": (SlowAnswer(gate=Gate(), answer=BODY, after_events=1), False),
    "stream-timeout": (SlowAnswer(gate=Gate(), answer=BODY, after_events=2), True),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize(("fault", "is_stream"), LEAKY.values(), ids=LEAKY.keys())
def test_no_error_holds_what_was_sent_or_read(world: World, fault: ScriptedAnswer, is_stream: bool) -> None:
    if isinstance(fault, (ConnectionReset, SlowAnswer)) and is_stream:
        fault = replace(fault, after_events=world.wire.events_to_text)
    request = ModelRequest(
        model="m",
        messages=(Message.user(PROMPT),),
        timeout_s=0.3 if isinstance(fault, SlowAnswer) else None,
    )

    # a callable, because the frames of `failure` are searched too, and a fault shows its code
    error = world.failure(lambda _: fault, is_stream=is_stream, request=request, limit_bytes=LIMIT)

    assert (error.__cause__, error.__context__) == (None, None)
    assert_no_canary(CANARIES, error)


def test_text_that_is_no_unicode_is_refused_without_showing_it(world: World) -> None:
    request = ModelRequest(model="m", messages=(Message.user(f"{PROMPT}\ud800"),))
    with ScriptedServer() as server:
        with pytest.raises(ProviderError, match="lone surrogate") as caught:
            world.complete(server, request)
        assert server.requests == ()

    assert (caught.value.retryable, caught.value.counts_on_breaker) == (False, False)
    assert_no_canary(CANARIES, caught.value)
