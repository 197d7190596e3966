"""The SDK's own parser and accumulator on streams that DLP and interceptors have rewritten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import openai
import pytest

from tests.clients.responses_wire import (
    call,
    code_call,
    custom_call,
    events_of,
    mcp_call,
    message,
    natives_of,
    parsed,
    reasoning,
    refusal_part,
    response,
    sse_of,
    text_part,
)
from tests.drivers import Driver, driver
from tests.engine.native_doubles import Asked, Natives, answered, streamed
from tramapy import (
    DlpResult,
    InterceptorError,
    Message,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    RuleBasedDlpInterceptor,
)
from tramapy.clients.openai_responses_answer import ResponsesAnswer
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration
from tramapy.hooks.dlp import DlpContentType, DlpContext, DlpInterceptor, DlpRedaction

__all__ = ["driver"]

SSN = "219-09-9999"
ASKED = Asked(Message.user("hello"))
ANNOTATION = {
    "type": "url_citation",
    "url": "https://example.org/a",
    "title": f"of {SSN}",
    "start_index": 0,
    "end_index": 2,
}
ITEMS = (
    reasoning(f"think of {SSN} once", "and again"),
    message(
        text_part(f"It is {SSN} today, and {SSN}", annotations=[ANNOTATION], logprobs=[{"token": SSN}]),
        refusal_part(f"not {SSN}"),
    ),
    call('{"number":"' + SSN + '","note":"a"}'),
    custom_call(f"shout {SSN}"),
    mcp_call('{"q":"' + SSN + '"}', output=f"found {SSN}"),
    code_call(f"print('{SSN}')"),
)


class Whole(DlpInterceptor):
    """Inspects whole texts only."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        count = text.count(SSN)
        found = (DlpRedaction("ssn", count),) if count else ()
        return DlpResult(sanitized_text=text.replace(SSN, "[REDACTED]"), redactions=found)


def ssn_dlp() -> RuleBasedDlpInterceptor:
    rule = DlpRule(id="ssn", pattern=r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", enabled_for=DlpContentType)
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


class Answering(OperationInterceptor):
    """Puts another response in the place of the one that came."""

    def __init__(self, **changes: Any) -> None:
        self._changes = changes

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        return response.replace(**self._changes)


def governed(driver: Driver, events: Sequence[dict[str, Any]], **settings: Any) -> bytes:
    rig = driver.rig({"p": Natives(natives_of(events))}, **settings)
    return streamed(rig, ASKED).encode()


def client_of(body: bytes) -> openai.OpenAI:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="plainly-fake-api-key", http_client=http_client, max_retries=0)


class WordsAlone(DlpInterceptor):
    """Inspects whole texts only, and finds words."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return ssn_dlp().inspect(context, text)


def refused(driver: Driver, parts: Sequence[str], *, is_streamed: bool, **settings: Any) -> str:
    """Return what refusals say in the end, joined."""
    item = message(*map(refusal_part, parts))
    if is_streamed:
        _, answer = accumulated(governed(driver, events_of(item, length=3), **settings))
    else:
        rig = driver.rig({"p": Natives(ResponsesAnswer(response(item)))}, **settings)
        native: Any = answered(rig, ASKED)
        answer = openai.types.responses.Response.model_validate(native.body)
    content: Any = answer.output[0]
    return "".join(part.refusal for part in content.content)


@pytest.mark.parametrize("is_streamed", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize(
    "settings",
    [{"dlp": ssn_dlp()}, {"dlp": ssn_dlp(), "stream_dlp": "buffer"}, {"dlp": WordsAlone()}],
    ids=["held", "buffer", "whole"],
)
@pytest.mark.parametrize(
    "parts", [(f"not {SSN}", "1 is it"), ("x", SSN, "y"), ("no", "", f"{SSN}")], ids=["end", "alone", "empty"]
)
def test_what_a_refusal_holds_by_itself_is_found(
    driver: Driver, parts: tuple[str, ...], settings: dict[str, Any], is_streamed: bool
) -> None:
    said = refused(driver, parts, is_streamed=is_streamed, **settings)
    assert said == "".join(parts).replace(SSN, "[REDACTED]")


def accumulated(body: bytes) -> Any:
    """Read a body through the SDK's stream helper; return each snapshot's events and the final response."""
    with (
        client_of(body) as client,
        client.responses.stream(model="m", input="hello") as stream,
    ):
        events = list(stream)
        return events, stream.get_final_response()


def test_without_dlp_the_bytes_are_the_providers(driver: Driver) -> None:
    events = events_of(*ITEMS)
    assert governed(driver, events) == sse_of(events)


@pytest.mark.parametrize(
    "settings", [{}, {"stream_dlp": "buffer"}, {"whole": True}], ids=["held", "buffer", "whole"]
)
def test_the_helper_accumulates_what_was_masked(driver: Driver, settings: dict[str, Any]) -> None:
    dlp = Whole() if settings.pop("whole", False) else ssn_dlp()
    body = governed(driver, events_of(*ITEMS), dlp=dlp, **settings)
    assert SSN.encode() not in body
    events, final = accumulated(body)
    masked = "It is [REDACTED] today, and [REDACTED]"
    assert final.output_text == masked
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == masked
    assert [event.snapshot for event in events if event.type == "response.output_text.delta"][-1] == masked
    assert [event.text for event in events if event.type == "response.output_text.done"] == [masked]
    arguments = '{"number":"[REDACTED]","note":"a"}'
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert done.arguments == arguments
    pieces = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(event.delta for event in pieces) == arguments
    assert pieces[-1].snapshot == arguments
    thought, said, called, custom, mcp, code = final.output
    assert [part.text for part in thought.summary] == ["think of [REDACTED] once", "and again"]
    assert said.content[0].annotations[0].title == "of [REDACTED]"
    assert said.content[0].logprobs == []
    assert said.content[1].refusal == "not [REDACTED]"
    assert called.arguments == arguments
    assert custom.input == "shout [REDACTED]"
    assert (mcp.arguments, mcp.output) == ('{"q":"[REDACTED]"}', "found [REDACTED]")
    assert code.code == "print('[REDACTED]')"


@pytest.mark.parametrize("length", [1, 2, 3, 7, 11, 40])
def test_it_is_masked_however_it_is_cut(driver: Driver, length: int) -> None:
    events = events_of(*ITEMS, length=length)
    body = governed(driver, events, dlp=ssn_dlp())
    assert SSN.encode() not in body
    said: dict[str, str] = {}
    for event in parsed(body):
        if event["type"].endswith(".delta"):
            said[event["type"]] = said.get(event["type"], "") + event["delta"]
    assert sorted(said.values()) == sorted(
        [
            "think of [REDACTED] onceand again",
            "It is [REDACTED] today, and [REDACTED]",
            "not [REDACTED]",
            '{"number":"[REDACTED]","note":"a"}',
            "shout [REDACTED]",
            '{"q":"[REDACTED]"}',
            "print('[REDACTED]')",
        ]
    )


def test_numbers_never_decrease_and_every_piece_is_named(driver: Driver) -> None:
    body = governed(driver, events_of(*ITEMS), dlp=ssn_dlp())
    events = parsed(body)
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(numbers)
    for event in events:
        if event["type"].endswith(".delta"):
            assert event["item_id"]
            assert isinstance(event["output_index"], int)


def test_a_client_that_resumes_after_any_number_misses_no_event(driver: Driver) -> None:
    sent = events_of(*ITEMS)
    events = parsed(governed(driver, sent, dlp=ssn_dlp()))
    for at, event in enumerate(events):
        if event["type"].endswith(".done"):
            before = [other["sequence_number"] for other in events[:at]]
            assert max(before) < event["sequence_number"]


def test_calls_that_an_interceptor_takes_away_are_not_in_the_stream(driver: Driver) -> None:
    body = governed(driver, events_of(*ITEMS), interceptors=[Answering(tool_calls=(), content="no")])
    assert b"function_call" not in body
    events, final = accumulated(body)
    assert final.output_text == "no"
    assert [item.type for item in final.output] == [
        item["type"] for item in ITEMS if item["type"] != "function_call"
    ]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "no"


def test_what_an_interceptor_says_reaches_every_place(driver: Driver) -> None:
    items = (reasoning("so", content=["it is"]), message(text_part("one"), text_part("two")), call("{}"))
    changes = {"content_parts": None, "content": "three", "reasoning": None}
    _, final = accumulated(governed(driver, events_of(*items), interceptors=[Answering(**changes)]))
    assert final.output_text == "three"
    assert [part.text for part in final.output[1].content] == ["three", ""]
    assert [part.text for part in (*final.output[0].summary, *final.output[0].content)] == ["", ""]
    assert final.output[2].arguments == "{}"


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "more"},
        {"refusal": "no"},
        {"reasoning": "why"},
        {"tool_calls": json.loads("[]") or None},
    ],
    ids=["content", "refusal", "reasoning", "call"],
)
def test_a_stream_has_no_place_for_what_is_new(driver: Driver, changes: dict[str, Any]) -> None:
    from tramapy import ToolCall

    if "tool_calls" in changes:
        changes = {"tool_calls": (ToolCall(id="n", name="n", arguments_json="{}"),)}
    with pytest.raises(InterceptorError, match="no place"):
        governed(driver, events_of(custom_call("x")), interceptors=[Answering(**changes)])


def test_only_whole_texts_are_enough(driver: Driver) -> None:
    events = [event for event in events_of(*ITEMS) if not event["type"].endswith(".delta")]
    body = governed(driver, events, dlp=ssn_dlp())
    assert SSN.encode() not in body
    told, final = accumulated(body)
    assert final.output_text == "It is [REDACTED] today, and [REDACTED]"
    assert [event.text for event in told if event.type == "response.output_text.done"] == [final.output_text]
    (done,) = [event for event in told if event.type == "response.function_call_arguments.done"]
    assert done.arguments == '{"number":"[REDACTED]","note":"a"}'


@pytest.mark.parametrize("settings", [{}, {"stream_dlp": "buffer"}], ids=["held", "buffer"])
def test_the_last_event_alone_is_enough(driver: Driver, settings: dict[str, Any]) -> None:
    events = events_of(*ITEMS)
    body = governed(driver, [events[0], events[-1]], dlp=ssn_dlp(), **settings)
    assert SSN.encode() not in body
    told, final = accumulated(body)
    assert [event.type for event in told] == ["response.created", "response.completed"]
    assert final.output_text == "It is [REDACTED] today, and [REDACTED]"
    assert final.output[2].arguments == '{"number":"[REDACTED]","note":"a"}'
