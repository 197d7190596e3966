"""What the processor and the filter refuse, and what they remember."""

from __future__ import annotations

from typing import Any

import pytest

from tests.telemetry.log_rig import CANARY, Raising, Redacting
from tramapy import (
    CompositeDlpInterceptor,
    ConfigurationError,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpResult,
    DlpRule,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
)
from tramapy.dlp.actions import DlpAction
from tramapy.telemetry import DlpLogFilter, DlpProcessor
from tramapy.telemetry.log_redaction import LogRedactor

EMAIL = DlpRule(id="mail", pattern=r"[a-z]+@[a-z]+\.[a-z]{2,3}", replacement="[MAIL]")


class Late(DlpInterceptor):
    async def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult(text)


class Placing(DlpInterceptor):
    uses_placeholders = True

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult(text)


@pytest.mark.parametrize("make", [DlpProcessor, DlpLogFilter])
@pytest.mark.parametrize(
    ("dlp", "error_type", "message"),
    [
        (len, TypeError, "dlp is a bare function; derive it from DlpInterceptor"),
        (Redacting, TypeError, "dlp is the class Redacting, and no instance"),
        (Late(), ConfigurationError, "Late.inspect is async; make it a plain method"),
        (Placing(), ConfigurationError, "dlp makes placeholders"),
        (
            RuleBasedDlpInterceptor(RuleBasedDlpConfiguration()),
            ConfigurationError,
            "No rule of dlp looks at MODEL_OUTPUT",
        ),
    ],
    ids=["function", "class", "async", "placeholders", "no rules"],
)
def test_an_interceptor_that_cannot_do_the_work_is_refused(
    make: Any, dlp: Any, error_type: type[Exception], message: str
) -> None:
    with pytest.raises(error_type, match=message):
        make(dlp)


def test_a_content_type_is_one_of_ours() -> None:
    dlp: Any = Redacting()
    with pytest.raises(TypeError, match="content_type is of type str; give a DlpContentType"):
        DlpProcessor(dlp, content_type="logs")  # type: ignore[arg-type]


def test_rules_for_another_content_type_are_asked_for_by_it() -> None:
    rule = DlpRule(
        id="mail", pattern=EMAIL.pattern, replacement="[MAIL]", enabled_for=[DlpContentType.MODEL_INPUT]
    )
    dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule]))
    with pytest.raises(ConfigurationError, match="MODEL_OUTPUT"):
        DlpProcessor(dlp)
    processor = DlpProcessor(dlp, content_type=DlpContentType.MODEL_INPUT)
    assert processor(None, "info", {"event": "to ada@example.com"}) == {"event": "to [MAIL]"}


class Counting(RuleBasedDlpInterceptor):
    count = 0

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.count += 1
        return super().inspect(context, text)


def _rules() -> RuleBasedDlpInterceptor:
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([EMAIL]))


@pytest.mark.parametrize(
    ("dlp", "is_remembered"),
    [
        (_rules(), True),
        (CompositeDlpInterceptor([_rules(), _rules()]), True),
        (CompositeDlpInterceptor([_rules(), Redacting()]), False),
        (Counting(RuleBasedDlpConfiguration([EMAIL])), False),
        (Redacting(), False),
    ],
    ids=["rules", "composite of rules", "composite with another", "subclass", "another"],
)
def test_short_clean_texts_are_remembered_where_the_answer_is_always_the_same(
    dlp: DlpInterceptor, is_remembered: bool
) -> None:
    redactor = LogRedactor(dlp, DlpContentType.MODEL_OUTPUT)
    assert redactor.text("words") == "words"
    assert redactor.text("w" * 65) == "w" * 65
    assert redactor.text("ada@example.com") in ("[MAIL]", "ada@example.com")
    assert redactor.is_known("words") is is_remembered
    assert not redactor.is_known("w" * 65)
    assert redactor.text("words") == "words"


def test_what_was_redacted_is_never_remembered() -> None:
    redactor = LogRedactor(_rules(), DlpContentType.MODEL_OUTPUT)
    for _ in range(2):
        assert redactor.text("ada@example.com") == "[MAIL]"
    assert not redactor.is_known("ada@example.com")


def test_memory_is_bounded() -> None:
    redactor = LogRedactor(_rules(), DlpContentType.MODEL_OUTPUT)
    for number in range(2_049):
        redactor.text(f"word {number}")
    assert redactor.is_known("word 2048")
    assert not redactor.is_known("word 0")


def test_an_action_that_logs_is_heard_while_a_line_is_inspected(caplog: pytest.LogCaptureFixture) -> None:
    dlp = RuleBasedDlpInterceptor(
        RuleBasedDlpConfiguration([DlpRule(id="mail", pattern=EMAIL.pattern, action=DlpAction.LOG)])
    )
    caplog.handler.addFilter(DlpLogFilter(dlp))
    with caplog.at_level("INFO"):
        assert DlpProcessor(dlp)(None, "info", {"event": "to ada@example.com"})["event"] == (
            "to ada@example.com"
        )
    assert [record.getMessage() for record in caplog.records] == [
        "DLP rule mail found something; its action is to log"
    ]


def test_a_failure_leaves_nothing_behind() -> None:
    redactor = LogRedactor(Raising(), DlpContentType.MODEL_OUTPUT)
    for _ in range(5):
        assert redactor.guarded(redactor.text, "fine") == "fine"
        assert repr(redactor.guarded(redactor.text, CANARY)) == (
            "WithheldLine(reason='rejected', error_type='DlpInspectionError')"
        )
