"""Without an observer no event is made, and every outcome is the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drivers import Driver, text_of
from tests.engine.doubles import OnRequest, Scripted, Words, down, raising, retries
from tramapy import (
    DlpInspectionError,
    InterceptorError,
    Message,
    ProviderError,
    Route,
    ToolResultFilteringSettings,
    TramapyError,
)
from tramapy.testing import FakeClock, ScriptedProvider

TOOL = [Message.tool("a secret", tool_call_id="c1")]
SHORT = ToolResultFilteringSettings(default_max_aggregate_text_length=1)

CASES: dict[str, tuple[list[Any], dict[str, Any], type[TramapyError] | str]] = {
    "answer": (["text"], {}, "text"),
    "retry": ([down(), "text"], {"retry": retries(1)}, "text"),
    "exhausted": ([down(), down()], {"retry": retries(1)}, ProviderError),
    "redaction": (["a secret"], {"dlp": Words()}, "a [S]"),
    "failed inspection": (["text"], {"dlp": Scripted(raising(ValueError()))}, DlpInspectionError),
    "rejection": (["text"], {"dlp": Scripted(raising(DlpInspectionError("no")))}, DlpInspectionError),
    "request interceptor": ([], {"interceptors": [OnRequest(raising(ValueError()))]}, InterceptorError),
    "tool result": ([], {"dlp": Words(), "tool_result_filtering": SHORT}, DlpInspectionError),
}


@pytest.mark.parametrize(("answers", "settings", "outcome"), CASES.values(), ids=CASES.keys())
def test_nobody_needs_to_listen(
    driver: Driver, answers: list[Any], settings: dict[str, Any], outcome: Any
) -> None:
    rig = driver.rig([])
    rig.tramapy = type(rig.tramapy)({"p": ScriptedProvider(answers)}, clock=FakeClock(), **settings)
    if isinstance(outcome, str):
        assert rig.complete(TOOL).content == outcome
    else:
        with pytest.raises(outcome):
            rig.complete(TOOL)


def test_a_fallback_needs_no_listener(driver: Driver) -> None:
    rig = driver.rig([])
    rig.tramapy = type(rig.tramapy)(
        {"a": ScriptedProvider([down()]), "b": ScriptedProvider(["from b"])},
        models={"m": "a"},
        fallbacks={"m": [Route("b")]},
        retry=retries(0),
        clock=FakeClock(),
    )
    assert rig.complete().content == "from b"


def test_a_stream_that_starts_again_needs_no_listener(driver: Driver) -> None:
    rig = driver.rig([])
    rig.tramapy = type(rig.tramapy)({"p": ScriptedProvider([down(), "text"])}, clock=FakeClock())
    assert text_of(rig.stream()) == "text"
