"""Every call of a wrapped client under every fault, and what follows from it.

A fault's outcome is stated once, and holds for every call: what the caller catches, how many requests came, the
events, and the breaker.

Not every factor meets every other. On a thread every call meets every fault, but for faults that differ in a header
alone: those meet one call of each vendor, for the head is read before any format is known. What differs on the loops
knows no formats either: there every fault meets one call of each vendor, and every call two faults.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

from tests.clients.every_call import (
    CALLS,
    CHAT,
    MESSAGES,
    MODERATIONS,
    STREAMS,
    THINGS,
    Call,
    EveryCallServer,
)
from tests.clients.worlds import SDK_LEAVES_GENERATORS, Use, World, open_count
from tramapy import (
    CircuitBreakerSettings,
    ProviderError,
    ProviderTimeoutError,
    ResponseTooLargeError,
    RetryPolicySettings,
)
from tramapy.errors import ProviderFailureCode, TramapyError
from tramapy.resilience.breaker import BreakerState
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
    PlainAnswer,
    RawBody,
    SlowAnswer,
)

pytestmark = SDK_LEAVES_GENERATORS

TEXT = "one two three four five six"
LIMIT_BYTES = 50_000
SETTINGS: dict[str, Any] = {
    "retry": RetryPolicySettings(provider_retries=2, jitter_ratio=0.0),
    "circuit_breaker": CircuitBreakerSettings(failure_threshold=1),
    "limit_bytes": LIMIT_BYTES,
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong, and what must follow.

    Attributes:
        answers: Makes what the server says, one for each request that may come.
        attempts: How each attempt ends; so many requests come, no more.
        theirs: The vendor's class of what is caught, or the class for each vendor or call; None where nothing is.
        ours: Our class of it; None where it is the vendor's alone.
        code: What our error and the last failed attempt say.
        status: The status that the last failed attempt says.
        sleeps_s: How long the engine waited between the attempts.
        is_open: Whether the breaker is open afterwards.
        timeout_s: How long the client waits for bytes; without a limit on connecting, so that each request comes.
        comes_after: Whether a stream gives text before it fails.
        text: What an answer says as far as it comes.
        is_of_head: Whether nothing but a header tells it from another fault.
        is_of_format: Whether only a call whose format is known is at fault.
    """

    answers: Callable[[], Sequence[Any]]
    attempts: Sequence[str]
    theirs: str | dict[str, str | None] | None = None
    ours: type[TramapyError] | None = None
    code: ProviderFailureCode | None = None
    status: int | None = None
    sleeps_s: Sequence[float] | None = None
    is_open: bool = False
    timeout_s: float | None = None
    comes_after: bool = False
    text: str = TEXT
    is_of_head: bool = False
    is_of_format: bool = False

    def theirs_of(self, call: Call) -> str | None:
        """The name of the vendor's class of what is caught."""
        if not isinstance(self.theirs, dict):
            return self.theirs
        return self.theirs[call.name if call.name in self.theirs else call.vendor]


RETRIED = ["failed", "completed"]
EXHAUSTED = ["failed"] * 3
ONCE = ["failed"]

REJECTED = ProviderFailureCode.HTTP_REJECTED
LIMITED = ProviderFailureCode.RATE_LIMITED
INVALID = ProviderFailureCode.INVALID_RESPONSE
LOST = ProviderFailureCode.TRANSPORT_FAILED
UNREACHED = ProviderFailureCode.CONNECTION_FAILED
CUT = ProviderFailureCode.STREAM_CUT


def times(count: int, answer: Any) -> Callable[[], Sequence[Any]]:
    return lambda: [answer] * count


def then_good(answer: Any) -> Callable[[], Sequence[Any]]:
    return lambda: [answer, TEXT]


def waits(delay_s: float, **headers: str) -> Fault:
    """A 429 after which the engine waits so long."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(
        answers=then_good(HttpRejection(status=429, headers=told)),
        attempts=RETRIED,
        status=429,
        code=LIMITED,
        sleeps_s=[delay_s],
        is_of_head=True,
    )


def limited(**changes: Any) -> Fault:
    """A 429 that is not tried again."""
    headers = changes.pop("headers", {})
    code = changes.pop("word", None)
    return Fault(
        answers=times(1, HttpRejection(status=429, headers=headers, code=code, error_type=code)),
        attempts=ONCE,
        theirs="RateLimitError",
        is_of_head=True,
        **{"status": 429, "code": LIMITED, "is_open": True, **changes},
    )


def refused(status: int, **changes: Any) -> Fault:
    """A refusal that is not tried again, and says nothing of the provider's health."""
    fields: dict[str, Any] = {"answers": times(1, HttpRejection(status=status)), "attempts": ONCE}
    return Fault(
        **{**fields, **changes}, theirs="APIStatusError", status=status, code=REJECTED, is_of_head=True
    )


def repeated(status: int, *, is_open: bool = True) -> Fault:
    """A refusal that is tried again to no avail."""
    answers = times(3, HttpRejection(status=status))
    return refused(status, answers=answers, attempts=EXHAUSTED, is_open=is_open)


def standing() -> SlowAnswer:
    """An answer that never comes."""
    return SlowAnswer(gate=Gate(), answer=TEXT)


def late() -> SlowAnswer:
    """An answer that comes when it was waited for."""
    gate = Gate()

    def release() -> None:
        gate.wait_until_reached()
        gate.release()

    threading.Thread(target=release, daemon=True).start()
    return SlowAnswer(gate=gate, answer=TEXT)


# these end in the same way whether a stream was asked for or not
EARLY = {
    "no fault": Fault(answers=times(1, TEXT), attempts=["completed"]),
    "429": waits(0.05),
    "429 seconds": waits(2.0, retry_after="2"),
    "429 half a second": waits(0.5, retry_after="0.5"),
    "429 zero": waits(0.0, retry_after="0"),
    "429 milliseconds": waits(0.25, retry_after_ms="250"),
    "429 both": waits(0.25, retry_after_ms="250", retry_after="9"),
    "429 bad milliseconds": waits(9.0, retry_after_ms="soon", retry_after="9"),
    "429 past date": waits(0.0, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "429 negative": waits(0.05, retry_after="-1"),
    "429 no number": waits(0.05, retry_after="nan"),
    "429 too long": limited(headers={"retry-after": "500"}),
    "429 far date": limited(headers={"retry-after": "Fri, 21 Oct 2095 07:28:00 GMT"}),
    "429 told not to": limited(headers={"x-should-retry": "false"}),
    "429 quota": limited(word="insufficient_quota", code=ProviderFailureCode.QUOTA_EXHAUSTED, is_open=False),
    "429 without end": Fault(
        answers=times(3, HttpRejection(status=429)),
        attempts=EXHAUSTED,
        theirs="RateLimitError",
        status=429,
        code=LIMITED,
        sleeps_s=[0.05, 0.1],
        is_open=True,
    ),
    "400 told to": Fault(
        answers=then_good(HttpRejection(status=400, headers={"x-should-retry": "true"})),
        attempts=RETRIED,
        status=400,
        code=REJECTED,
    ),
    "408": repeated(408),
    "409": repeated(409, is_open=False),
    "501": refused(501, is_open=True),
    "402": refused(402),
    "403": refused(403),
    "400": Fault(
        answers=times(1, HttpRejection(status=400)),
        attempts=ONCE,
        theirs="BadRequestError",
        status=400,
        code=REJECTED,
    ),
    "500": Fault(
        answers=times(3, HttpRejection(status=500)),
        attempts=EXHAUSTED,
        theirs="InternalServerError",
        status=500,
        code=REJECTED,
        is_open=True,
    ),
    "500 once": Fault(
        answers=then_good(HttpRejection(status=500)), attempts=RETRIED, status=500, code=REJECTED
    ),
    "529": Fault(
        answers=times(3, HttpRejection(status=529)),
        attempts=EXHAUSTED,
        theirs={"openai": "InternalServerError", "anthropic": "OverloadedError"},
        status=529,
        code=REJECTED,
        is_open=True,
    ),
    "reset": Fault(
        answers=times(3, ConnectionReset()),
        attempts=EXHAUSTED,
        theirs="APIConnectionError",
        ours=ProviderError,
        code=UNREACHED,
        is_open=True,
    ),
    "reset once": Fault(answers=then_good(ConnectionReset()), attempts=RETRIED, code=UNREACHED),
    "slow": Fault(answers=lambda: [late()], attempts=["completed"]),
    "timeout": Fault(
        answers=lambda: [standing() for _ in range(3)],
        attempts=EXHAUSTED,
        theirs="APITimeoutError",
        ours=ProviderTimeoutError,
        code=ProviderFailureCode.TIMEOUT,
        is_open=True,
        timeout_s=0.05,
    ),
    "oversized rejection": Fault(
        answers=times(3, OversizedBody(byte_count=4 * LIMIT_BYTES, status=500)),
        attempts=EXHAUSTED,
        theirs="InternalServerError",
        status=500,
        code=REJECTED,
        is_open=True,
    ),
    "bomb as rejection": Fault(
        answers=times(3, GzipBomb(byte_count=4_000_000, status=500)),
        attempts=EXHAUSTED,
        theirs="InternalServerError",
        status=500,
        code=REJECTED,
        is_open=True,
    ),
    "bomb": Fault(
        answers=times(1, GzipBomb(byte_count=4_000_000)),
        attempts=ONCE,
        theirs="APIConnectionError",
        ours=ResponseTooLargeError,
        code=INVALID,
    ),
    "oversized": Fault(
        answers=times(1, OversizedBody(byte_count=4 * LIMIT_BYTES, is_one_event=True)),
        attempts=ONCE,
        theirs="APIConnectionError",
        ours=ResponseTooLargeError,
        code=INVALID,
    ),
}

WHOLE = {
    **EARLY,
    "reset in the middle": Fault(
        answers=times(3, ConnectionReset(answer=TEXT, after_events=1)),
        attempts=EXHAUSTED,
        theirs="APIConnectionError",
        ours=ProviderError,
        code=LOST,
        is_open=True,
    ),
    "no JSON": Fault(
        answers=times(1, RawBody(body=b"{broken")),
        attempts=ONCE,
        theirs="APIConnectionError",
        ours=ProviderError,
        code=INVALID,
        is_open=True,
    ),
    "a stream": Fault(
        answers=times(1, RawBody(body=b"data: {}\n\n", headers={"content-type": "text/event-stream"})),
        is_of_format=True,
        attempts=ONCE,
        theirs="APIConnectionError",
        ours=ProviderError,
        code=INVALID,
        is_open=True,
    ),
}

# the SDK takes the error event of a response for an item like any other
IN_STREAM: dict[str, str | None] = {"openai": "APIError", "anthropic": "APIError", "responses.create": None}

LONG = " ".join(["0" * 1000] * (2 * LIMIT_BYTES // 1000))

AFTER = 6  # events, after which every format has given text


def broken(answer: Any, **changes: Any) -> Fault:
    """A stream that fails after its first text: nothing is tried again."""
    fields: dict[str, Any] = {
        "answers": times(1, answer),
        "attempts": ONCE,
        "theirs": "APIConnectionError",
        "ours": ProviderError,
        "code": CUT,
        "is_open": True,
        "comes_after": True,
    }
    return Fault(**{**fields, **changes})


def broken_early(answer: Any, **changes: Any) -> Fault:
    """A stream that fails before its first text, each time."""
    return broken(answer, answers=times(3, answer), attempts=EXHAUSTED, comes_after=False, **changes)


STREAMED = {
    **EARLY,
    "reset before the first event": broken_early(ConnectionReset(answer=TEXT, after_events=0)),
    "reset before the first event, once": Fault(
        answers=then_good(ConnectionReset(answer=TEXT, after_events=0)), attempts=RETRIED, code=CUT
    ),
    "reset in the middle": broken(ConnectionReset(answer=TEXT, after_events=AFTER)),
    "cut": broken(CutStream(answer=TEXT, after_events=AFTER)),
    "cut before its end": broken(CutStream(answer=TEXT)),
    "cut and dropped": broken(CutStream(answer=TEXT, after_events=AFTER, is_clean=False)),
    "empty": broken_early(CutStream(answer=TEXT, after_events=0)),
    "timeout in the middle": broken(
        None,
        answers=lambda: [SlowAnswer(gate=Gate(), answer=TEXT, after_events=AFTER)],
        theirs="APITimeoutError",
        ours=ProviderTimeoutError,
        code=ProviderFailureCode.TIMEOUT,
        timeout_s=0.5,
    ),
    "error in the middle": broken(
        MidStreamError(detail=ErrorDetail(error_type="server_error"), answer=TEXT, after_events=AFTER),
        theirs=IN_STREAM,
        ours=None,
        code=REJECTED,
        status=500,
    ),
    "overload in the middle": broken(
        MidStreamError(
            detail=ErrorDetail(error_type="overloaded_error", code="overloaded_error"),
            answer=TEXT,
            after_events=AFTER,
        ),
        theirs=IN_STREAM,
        ours=None,
        code=REJECTED,
        status=529,
    ),
    "malformed": broken(MalformedStream(answer=TEXT, after_events=AFTER), code=INVALID),
    "no text in the middle": broken(
        MalformedStream(answer=TEXT, after_events=AFTER, data=b'data: {"type":"ping","x":"\xff\xfe"}\n\n'),
        code=INVALID,
    ),
    "a list in the middle": broken(
        MalformedStream(answer=TEXT, after_events=AFTER, data=b"data: [1]\n\n"), code=INVALID
    ),
    "many events": broken(
        PlainAnswer(LONG),
        ours=ResponseTooLargeError,
        code=INVALID,
        is_open=False,
        text=LONG,
    ),
    "a whole answer": broken(
        RawBody(body={"unasked": 1}), ours=ProviderError, code=INVALID, comes_after=False
    ),
}


def examples(calls: Sequence[Call], faults: dict[str, Fault]) -> list[Any]:
    return [
        pytest.param(world, call, fault, id=f"{name}-{call}-{world}")
        for name, fault in faults.items()
        for call in calls
        if call in (CHAT, MESSAGES) or not fault.is_of_head
        if call not in (MODERATIONS, THINGS) or not fault.is_of_format
        for world in ("sync", "asyncio")
        if world == "sync" or call in (CHAT, MESSAGES)
    ]


def expected_names(fault: Fault, *, is_stream: bool) -> list[str]:
    """The events of a call under a fault; those of the breaker and of restarts are looked at apart."""
    names = ["operation.started"]
    for number, end in enumerate(fault.attempts):
        names += ["route.selected", "attempt.started"]
        if number < len(fault.attempts) - 1:
            if is_stream and number == 0:
                names.append("streaming.startup_retry")  # said once a route
            names.append("retry.scheduled")
        names.append(f"attempt.{end}")
    return [*names, "operation.completed"]


async def check(use: Use, call: Call, fault: Fault, *, is_stream: bool) -> None:
    options = {} if fault.timeout_s is None else {"timeout": httpx2.Timeout(None, read=fault.timeout_s)}
    items: list[Any] = []
    error: Any = None
    text = ""
    try:
        if is_stream:
            text = await call.stream(use.client, into=items, **options)
        else:
            text = await call.ask(use.client, **options)
    except Exception as caught:
        error = caught
    sdk = World("sync", use.vendor).sdk
    theirs = fault.theirs_of(call)
    if theirs is None:
        assert error is None, repr(error)
        assert (text == (TEXT if call.has_text else "")) is (fault.attempts[-1] == "completed")
    else:
        assert isinstance(error, getattr(sdk, theirs)), repr(error)
        if fault.ours is None:
            assert not isinstance(error, TramapyError)
        else:
            assert type(error).__name__ == fault.ours.__name__
            assert isinstance(error, fault.ours)
            assert error.failure_code is fault.code
    if is_stream:
        released = call.text_of(items)
        assert fault.text.startswith(released)
        assert bool(released) is (fault.comes_after or theirs is None)
    use.server.wait_for_requests(len(fault.attempts))  # one that was given up may still be on its way
    assert len(use.server.requests) == len(fault.attempts)
    assert open_count(use.bare) == 0, "no connection is in use"
    check_events(use, call, fault, is_stream=is_stream)
    breaker = use.client._client.tramapy_wrapped.pipeline.breaker
    state = BreakerState.OPEN if fault.is_open else BreakerState.CLOSED
    assert breaker.state(use.vendor) is state


def check_events(use: Use, call: Call, fault: Fault, *, is_stream: bool) -> None:
    names = [name for name in use.names if name != "circuit.opened"]
    assert names == expected_names(fault, is_stream=is_stream)
    assert use.names.count("circuit.opened") == fault.is_open
    observer = use.observer
    assert len({event.attributes["correlation_id"] for event in observer.events}) == 1
    [started] = observer.attributes_of("tramai.operation.started")
    assert (started["method_name"], started["is_stream"]) == (call.name, is_stream)
    [ended] = observer.attributes_of("tramai.operation.completed")
    assert ended["outcome"] == ("success" if fault.attempts[-1] == "completed" else "failed")
    assert ended["attempt_count"] == len(fault.attempts)
    for failed in observer.attributes_of("tramai.attempt.failed"):
        assert failed.get("failure_code") == (None if fault.code is None else fault.code.value)
        assert failed.get("status_code") == fault.status
    if fault.sleeps_s is not None:
        assert list(use.clock.sleeps) == list(fault.sleeps_s)


async def serve(world: World, call: Call, fault: Fault, *, is_stream: bool) -> None:
    async def step(use: Use) -> None:
        await check(use, call, fault, is_stream=is_stream)

    await world.serve(fault.answers(), step, server_class=EveryCallServer, **SETTINGS)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("world_name", "call", "fault"), examples(CALLS, WHOLE))
def test_a_whole_answer(world_name: str, call: Call, fault: Fault) -> None:
    world = World(world_name, call.vendor)
    world.run(lambda: serve(world, call, fault, is_stream=False))


@pytest.mark.unmeasured
@pytest.mark.parametrize(("world_name", "call", "fault"), examples(STREAMS, STREAMED))
def test_a_stream(world_name: str, call: Call, fault: Fault) -> None:
    world = World(world_name, call.vendor)
    world.run(lambda: serve(world, call, fault, is_stream=True))


def raw(call: Call) -> Call:
    """The call, by the response as it came."""
    return replace(
        call, start=lambda client, text, **o: call.start(client.with_raw_response, text, **o).parse()
    )


def streamed(call: Call) -> Call:
    """The call, by a response that is read piece by piece."""

    def start(client: Any, text: str, **options: Any) -> Any:
        def each() -> Iterator[Any]:
            with call.start(client.with_streaming_response, text, **options) as response:
                parsed = response.parse()
                yield from parsed if "stream" in options else [parsed]

        return each() if "stream" in options else next(each())

    return replace(call, start=start)


def helped(call: Call) -> Call:
    """The call, by the SDK's helpers for streams and for parsed answers."""

    def start(client: Any, text: str, **options: Any) -> Any:
        resource = {CHAT: lambda: client.chat.completions, MESSAGES: lambda: client.messages}[call]()
        asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], **options}
        if call is MESSAGES:
            asked["max_tokens"] = 9

        def each() -> Iterator[Any]:
            with resource.stream(**asked) as stream:
                yield from stream

        return each() if asked.pop("stream", False) else resource.parse(**asked)

    kind, name = ("content.delta", "delta") if call is CHAT else ("text", "text")
    return replace(call, start=start, piece=lambda item: getattr(item, name) if item.type == kind else "")


FORM_FAULTS = [
    "no fault",
    "429 seconds",
    "500",
    "529",
    "reset once",
    "timeout",
    "oversized",
    "bomb",
    "no JSON",
]
FORM_STREAM_FAULTS = [
    *FORM_FAULTS[:-1],
    *("cut", "reset in the middle", "error in the middle", "malformed", "timeout in the middle"),
]


@pytest.mark.unmeasured
@pytest.mark.parametrize("form", [raw, streamed, helped], ids=lambda form: form.__name__)
@pytest.mark.parametrize("call", [CHAT, MESSAGES], ids=repr)
def test_every_form_of_a_call(call: Call, form: Callable[[Call], Call]) -> None:
    async def main() -> None:
        rounds = [(name, WHOLE[name], False) for name in FORM_FAULTS]
        rounds += [(name, STREAMED[name], True) for name in FORM_STREAM_FAULTS]
        for name, fault, is_stream in rounds:
            try:
                await serve(World("sync", call.vendor), form(call), fault, is_stream=is_stream)
            except BaseException as error:
                error.add_note(f"under {name}, {'streamed' if is_stream else 'whole'}")
                raise

    World("sync").run(main)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("faults", "is_stream"), [(WHOLE, False), (STREAMED, True)], ids=["plain", "stream"])
@pytest.mark.parametrize("call", [CHAT, MESSAGES], ids=repr)
def test_trio(call: Call, faults: dict[str, Fault], is_stream: bool) -> None:
    async def main() -> None:
        for name, fault in faults.items():
            try:
                await serve(World("trio", call.vendor), call, fault, is_stream=is_stream)
            except BaseException as error:
                error.add_note(f"under {name}")
                raise

    World("trio").run(main)


@pytest.mark.parametrize("calls", [CALLS[:5], CALLS[5:]], ids=["openai", "anthropic"])
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_every_call_on_a_loop(loop: str, calls: Sequence[Call]) -> None:
    async def main() -> None:
        for call in calls:
            await serve(World(loop, call.vendor), call, WHOLE["reset once"], is_stream=False)
            if call in STREAMS:
                await serve(World(loop, call.vendor), call, STREAMED["cut"], is_stream=True)

    World(loop).run(main)
