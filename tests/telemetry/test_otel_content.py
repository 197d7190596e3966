"""Content: one switch and one registration, text after DLP, cut to a length, and never anywhere else."""

from __future__ import annotations

import contextlib
import json
import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from tests.drivers import HELLO, Driver
from tests.engine.doubles import Words, down, retries
from tests.telemetry.recorded import Telemetry, attributes_of
from tests.telemetry.test_otel_spans import attempt_started
from tests.test_canary import ANSWER, CANARIES, CONVERSATION, LOUD, OPTIONS, PATHS, RULES
from tramapy import (
    FinishReason,
    ImagePart,
    Message,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCall,
)
from tramapy.telemetry.genai_names import CAPTURE_CONTENT_VARIABLE
from tramapy.telemetry.otel import TelemetryLimits
from tramapy.testing import assert_no_canary

CALL = ToolCall(id="c1", name="lookup", arguments_json='{"q": 1}')


def capturing(monkeypatch: pytest.MonkeyPatch, value: str = "SPAN_ONLY", **settings: Any) -> Telemetry:
    monkeypatch.setenv(CAPTURE_CONTENT_VARIABLE, value)
    return Telemetry(**settings)


def contents(telemetry: Telemetry) -> dict[str, Any]:
    [attempt] = telemetry.attempts
    names = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")
    return {
        name: json.loads(attributes_of(attempt)[name]) for name in names if name in attributes_of(attempt)
    }


def test_content_is_written_as_the_conventions_say(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = capturing(monkeypatch)
    answer = ModelResponse(
        content="Fine.",
        tool_calls=[CALL],
        refusal="No.",
        reasoning="Because.",
        finish_reason=FinishReason.TOOL_CALLS,
    )
    rig = driver.rig([answer], event_observers=[telemetry.observer], content_observers=[telemetry.observer])
    rig.complete(
        [
            Message.system("Be kind."),
            Message.user([TextPart("Look"), ImagePart(url="http://x.test/secret.png")]),
            Message.assistant("", tool_calls=[CALL]),
            Message.tool("42", tool_call_id="c1"),
        ],
        instructions="Short.",
    )
    call = {"type": "tool_call", "id": "c1", "name": "lookup", "arguments": '{"q": 1}'}
    assert contents(telemetry) == {
        "gen_ai.system_instructions": [{"type": "text", "content": "Short."}],
        "gen_ai.input.messages": [
            {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
            {
                "role": "user",
                "parts": [{"type": "text", "content": "Look"}, {"type": "image", "mime_type": ""}],
            },
            {"role": "assistant", "parts": [call]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "42"}]},
        ],
        "gen_ai.output.messages": [
            {
                "role": "assistant",
                "finish_reason": "tool_calls",
                "parts": [
                    {"type": "text", "content": "Fine."},
                    {"type": "reasoning", "content": "Because."},
                    {"type": "refusal", "content": "No."},
                    call,
                ],
            }
        ],
    }


@pytest.mark.parametrize("value", ["true", "1", "SPAN_ONLY", " span_and_event "])
def test_the_switch_turns_content_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    telemetry = capturing(monkeypatch, value)
    rig = Driver("sync").rig(
        ["one"], event_observers=[telemetry.observer], content_observers=[telemetry.observer]
    )
    rig.complete()
    assert contents(telemetry)


@pytest.mark.parametrize("value", ["", "false", "NO_CONTENT", "EVENT_ONLY", "anything"])
def test_anything_else_leaves_content_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    telemetry = capturing(monkeypatch, value)
    rig = Driver("sync").rig(
        ["one"], event_observers=[telemetry.observer], content_observers=[telemetry.observer]
    )
    rig.complete()
    assert contents(telemetry) == {}


def test_the_switch_alone_is_not_enough(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = capturing(monkeypatch)
    driver.rig(["one"], event_observers=[telemetry.observer]).complete()
    assert contents(telemetry) == {}


def test_the_registration_alone_is_not_enough(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CAPTURE_CONTENT_VARIABLE, raising=False)
    telemetry = Telemetry()
    driver.rig(
        ["one"], event_observers=[telemetry.observer], content_observers=[telemetry.observer]
    ).complete()
    assert contents(telemetry) == {}


def test_each_attempt_shows_its_own_request_and_a_failed_one_no_answer(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    telemetry = capturing(monkeypatch)
    rig = driver.rig(
        [down(), "one"],
        retry=retries(1),
        event_observers=[telemetry.observer],
        content_observers=[telemetry.observer],
    )
    rig.complete()
    first, second = telemetry.attempts
    assert "gen_ai.input.messages" in attributes_of(first)
    assert "gen_ai.output.messages" not in attributes_of(first)
    assert "gen_ai.output.messages" in attributes_of(second)


def test_an_unsampled_attempt_and_an_unknown_one_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = capturing(monkeypatch, sampler=ALWAYS_OFF)
    Driver("sync").rig(
        ["one"], event_observers=[telemetry.observer], content_observers=[telemetry.observer]
    ).complete()
    telemetry.observer.on_attempt_request(attempt_started(), ModelRequest(model="m", messages=HELLO))
    telemetry.observer.on_attempt_response(attempt_started(), ModelResponse())
    assert telemetry.spans == ()


def test_content_is_cut_to_a_length_from_its_oldest_end_and_stays_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    telemetry = capturing(monkeypatch, limits=TelemetryLimits(content_length=10))
    rig = Driver("sync").rig(
        ["answer " * 1_000], event_observers=[telemetry.observer], content_observers=[telemetry.observer]
    )
    rig.complete([Message.user("old " * 1_000), Message.user("new")])
    found = contents(telemetry)
    assert [message["parts"][0]["content"] for message in found["gen_ai.input.messages"]] == [
        "old old...",
        "new",
    ]
    assert found["gen_ai.output.messages"][0]["parts"][0]["content"] == "answer ans..."


def test_thousands_of_messages_parts_and_calls_are_cut_to_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = capturing(monkeypatch)
    rig = Driver("sync").rig(
        [ModelResponse(tool_calls=[CALL] * 500)],
        event_observers=[telemetry.observer],
        content_observers=[telemetry.observer],
    )
    rig.complete([*[Message.user("x")] * 500, Message.user([TextPart("y")] * 500)])
    found = contents(telemetry)
    assert len(found["gen_ai.input.messages"]) == 64
    assert len(found["gen_ai.input.messages"][-1]["parts"]) == 64
    assert len(found["gen_ai.output.messages"][0]["parts"]) == 64


def test_what_dlp_took_out_is_not_shown(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = capturing(monkeypatch)
    rig = driver.rig(
        [f"an {ANSWER}"],
        dlp=Words({ANSWER: "[S]"}),
        request_dlp=Words({ANSWER: "[S]"}),
        event_observers=[telemetry.observer],
        content_observers=[telemetry.observer],
    )
    rig.complete([Message.user(ANSWER)])
    found = contents(telemetry)
    assert found["gen_ai.input.messages"][0]["parts"][0]["content"] == "[S]"
    assert found["gen_ai.output.messages"][0]["parts"][0]["content"] == "an [S]"


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_no_planted_secret_comes_out_with_content_off(
    driver: Driver, entry: str, path: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CAPTURE_CONTENT_VARIABLE, raising=False)
    assert_no_canary(CANARIES, *said(Telemetry(compat_metrics=True), driver, entry, path, caplog))


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_no_planted_secret_comes_out_with_content_on_where_rules_know_it(
    driver: Driver, entry: str, path: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    telemetry = capturing(monkeypatch)
    changed = dict(PATHS[path][1])
    for slot in ("dlp", "request_dlp"):
        changed.setdefault(slot, RULES)
    # an image's address and bytes are never shown; all other text went through rules that know the canaries
    assert_no_canary(CANARIES, *said(telemetry, driver, entry, path, caplog, settings=changed))


def said(
    telemetry: Telemetry,
    driver: Driver,
    entry: str,
    path: str,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any] | None = None,
) -> list[object]:
    caplog.set_level(logging.DEBUG)
    answers, own = PATHS[path]
    chosen = dict(own if settings is None else settings)
    chosen["event_observers"] = [*chosen.get("event_observers", ()), telemetry.observer]
    chosen["content_observers"] = [*chosen.get("content_observers", ()), telemetry.observer]
    rig = driver.rig(answers, **chosen)
    with contextlib.suppress(BaseException):  # what it says is another test's
        getattr(rig, entry)(CONVERSATION, **OPTIONS)
    assert telemetry.spans, "something was told"
    assert telemetry.observer.open_operation_count == 0
    return [*telemetry.everything(), [record.getMessage() for record in caplog.records], LOUD.usage]
