"""Planted secrets through every path of an audited operation, and a search through all that the audit leaves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.drivers import Driver
from tramapy import (
    DlpContentType,
    DlpInspectionError,
    DlpRule,
    Message,
    ModelResponse,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    ToolCall,
    TramapyError,
)
from tramapy.telemetry import AsyncAuditLog, AuditLog, FileAuditStore, verify_audit_files
from tramapy.testing import assert_no_canary

PROMPT = "canary-prompt-5b1e77"
ANSWER = "canary-answer-93c0ff"
ARGUMENT = "canary-argument-77aa01"
RESULT = "canary-result-18fd2b"
CANARIES = (PROMPT, ANSWER, ARGUMENT, RESULT)

RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="planted", pattern=r"canary-[a-z]+-[0-9a-f]+", enabled_for=list(DlpContentType))]
    )
)
CALL = ToolCall(id="c1", name="lookup", arguments_json=f'{{"q": "{ARGUMENT}"}}')
MESSAGES = (
    Message.user(PROMPT),
    Message.assistant(PROMPT, tool_calls=[CALL]),
    Message.tool(RESULT, tool_call_id="c1"),
)
LOUD = ModelResponse(content=ANSWER, refusal=ANSWER, reasoning=ANSWER, tool_calls=[CALL])


def _everything(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(directory.iterdir())]


@pytest.mark.parametrize("way", ["whole", "stream", "id too long", "store closed", "file gone"])
def test_nothing_planted_comes_out_of_the_audit(
    way: str, driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = FileAuditStore(tmp_path / "audit.jsonl", fsync="never")
    log = AuditLog(store)
    settings: dict[str, Any] = {
        "dlp": RULES,
        "request_dlp": RULES,
        "dlp_redaction_audit": AsyncAuditLog(log) if driver.is_async else log,
    }
    rig = driver.rig([LOUD], **settings)
    if way == "store closed":
        store.close()
    elif way == "file gone":
        store.paths[0].unlink()
    run = rig.stream if way == "stream" else rig.complete
    caught: TramapyError | None = None
    try:
        run(MESSAGES, correlation_id="x" * 257 if way == "id too long" else "case-1")
    except DlpInspectionError as error:
        caught = error
    store.close()
    assert (caught is None) == (way in ("whole", "stream"))
    if caught is None:
        found = verify_audit_files(*store.paths)
        assert found.is_valid
        assert found.event_count >= 5
    assert_no_canary(CANARIES, _everything(tmp_path), caught, caplog.records, rig.observer, log, store.head)


def test_a_torn_line_holds_no_more_than_the_line_would(tmp_path: Path) -> None:
    with FileAuditStore(tmp_path / "audit.jsonl", fsync="never") as store:
        rig = Driver("sync").rig([LOUD], dlp=RULES, dlp_redaction_audit=AuditLog(store))
        rig.complete(correlation_id="case-1")
    path = store.paths[0]
    path.write_bytes(path.read_bytes()[:-40])
    (tmp_path / "audit.jsonl.index").unlink()
    FileAuditStore(tmp_path / "audit.jsonl", fsync="never").close()
    assert any(path.suffix == ".torn" for path in tmp_path.iterdir())
    assert_no_canary(CANARIES, _everything(tmp_path))
