"""Evidence and audit in a stream: written before the replacement is out, as honest as for a whole text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.drivers import Driver, response_of, text_of
from tests.engine.doubles import FailingLedger, Ledger
from tests.engine.stream_doubles import HoldBack, HoldBackStream, Steps
from tramapy import (
    Chunk,
    CompletedChunk,
    DlpContext,
    DlpInspectionError,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    ModelResponse,
)
from tramapy.testing import ScriptedProvider

DONE = CompletedChunk(ModelResponse())


class Watching(DlpRedactionAuditEmitter):
    """Notes what the consumer had when each record was written; `async def` where it may be."""

    def __init__(self, chunks: list[Chunk], *, is_async: bool) -> None:
        self._chunks = chunks
        self.seen: list[tuple[str, tuple[DlpRedaction, ...]]] = []
        if is_async:
            self.emit = self._aemit  # type: ignore[method-assign]  # one double for both kinds

    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> Any:
        self.seen.append((text_of(self._chunks), tuple(redactions)))

    async def _aemit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        Watching.emit(self, context, redactions)


class Lies(HoldBack):
    """Reports other evidence than its own."""

    def __init__(self, evidence: Any, replacements: dict[str, str] | None = None) -> None:
        super().__init__(replacements)
        self._evidence = evidence

    def open_stream(self, context: DlpContext) -> Any:
        stream = LyingStream(self)
        stream.evidence = self._evidence
        return stream


class LyingStream(HoldBackStream):
    evidence: Any

    @property
    def redactions(self) -> Any:
        if isinstance(self.evidence, Exception):
            raise self.evidence
        return self.evidence


ONE = (DlpRedaction("word-0", 1),)


def test_the_record_is_written_before_the_replacement_is_out(driver: Driver) -> None:
    chunks: list[Chunk] = []
    audit = Watching(chunks, is_async=driver.is_async)
    rig = driver.rig([["a ", "secret", " b ", "secret", DONE]], dlp=HoldBack(), dlp_redaction_audit=audit)
    rig.stream(into=chunks)
    assert audit.seen == [("a ", ONE), ("a [S] b ", ONE)]
    assert text_of(chunks) == "a [S] b [S]"


def test_a_replacement_that_looks_like_its_text_is_recorded_first_too(driver: Driver) -> None:
    """`key: ` stands for `key: hunter2`, and is the beginning of it."""
    chunks: list[Chunk] = []
    audit = Watching(chunks, is_async=driver.is_async)
    dlp = HoldBack({"key: hunter2": "key: "})
    rig = driver.rig([["a ", "key: hunter2", " b", DONE]], dlp=dlp, dlp_redaction_audit=audit)
    rig.stream(into=chunks)
    assert audit.seen == [("a ", ONE)]
    assert text_of(chunks) == "a key:  b"


def test_evidence_adds_up_to_that_of_the_whole_text(driver: Driver) -> None:
    ledger = Ledger()
    dlp = HoldBack({"secret": "[S]", "hidden": "[H]"})
    rig = driver.rig(["secret hidden secret secret"], dlp=dlp, dlp_redaction_audit=ledger)
    rig.stream()
    total: dict[str, int] = {}
    for _, redactions in ledger.records:
        for redaction in redactions:
            total[redaction.rule_id] = total.get(redaction.rule_id, 0) + redaction.replacement_count
    assert total == {"word-0": 3, "word-1": 1}
    assert sum(event["replacement_count"] for event in rig.attributes_of("dlp.redacted")) == 4


def test_events_of_redactions_come_without_an_audit_emitter_too(driver: Driver) -> None:
    rig = driver.rig(["a secret b"], dlp=HoldBack())
    rig.stream()
    (redacted,) = rig.attributes_of("dlp.redacted")
    assert (redacted["rule_id"], redacted["replacement_count"]) == ("word-0", 1)
    assert redacted["content_location"] == "model_response_content"


@pytest.mark.parametrize("where", ["mid-stream", "at-the-end"])
def test_an_audit_failure_cuts_the_stream(driver: Driver, where: str) -> None:
    text = ["a ", "secret", " b"] if where == "mid-stream" else ["a ", "secr", "et"]
    provider = ScriptedProvider([[*text, DONE]])
    rig = driver.rig(provider, dlp=HoldBack(), dlp_redaction_audit=FailingLedger())
    chunks: list[Chunk] = []
    with pytest.raises(DlpInspectionError, match="audit emitter failed"):
        rig.stream(into=chunks)
    assert text_of(chunks) == "a "
    assert provider.open_stream_count == 0
    assert "dlp.redacted" not in rig.names
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "audit_failed"
    assert len(provider.requests) == 1, "neither retried nor fallen back from"


@pytest.mark.parametrize(
    "pieces", [["a ", "secret", " b"], ["a ", "secr", "et"]], ids=["mid-stream", "at-the-end"]
)
def test_a_change_without_evidence_cannot_be_audited(driver: Driver, pieces: list[str]) -> None:
    rig = driver.rig([[*pieces, DONE]], dlp=Lies(()), dlp_redaction_audit=Ledger())
    chunks: list[Chunk] = []
    with pytest.raises(DlpInspectionError, match="without redactions"):
        rig.stream(into=chunks)
    assert text_of(chunks) == "a "


def test_a_change_without_evidence_is_tolerated_where_nothing_is_audited(driver: Driver) -> None:
    assert text_of(driver.rig(["a secret b"], dlp=Lies(())).stream()) == "a [S] b"


@pytest.mark.parametrize("has_audit", [False, True])
def test_evidence_without_a_change_fails_at_the_end(driver: Driver, has_audit: bool) -> None:
    settings: dict[str, Any] = {"dlp_redaction_audit": Ledger()} if has_audit else {}
    rig = driver.rig(["a b"], dlp=Lies(ONE), **settings)
    chunks: list[Chunk] = []
    with pytest.raises(DlpInspectionError, match="changed nothing"):
        rig.stream(into=chunks)
    assert not any(isinstance(chunk, CompletedChunk) for chunk in chunks)
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "evidence_without_change"


def test_evidence_without_a_change_is_not_recorded_where_it_comes_at_the_end(driver: Driver) -> None:
    class Late(LyingStream):
        evidence: Any = ()

        def finish(self) -> str:
            self.evidence = ONE
            return super().finish()

    ledger, dlp = Ledger(), HoldBack()
    dlp.open_stream = lambda context: Late(dlp)  # type: ignore[method-assign]  # the mistake under test
    rig = driver.rig(["a b"], dlp=dlp, dlp_redaction_audit=ledger)
    with pytest.raises(DlpInspectionError, match="changed nothing"):
        rig.stream()
    assert ledger.records == []


@pytest.mark.parametrize(
    "wrong", [ValueError("no"), ("word-0",), None], ids=["raises", "no-redaction", "none"]
)
@pytest.mark.parametrize("pieces", [["secret", " b"], ["a b"]], ids=["changed", "unchanged"])
def test_unusable_evidence_fails_closed(driver: Driver, wrong: Any, pieces: list[str]) -> None:
    rig = driver.rig([[*pieces, DONE]], dlp=Lies(wrong))
    with pytest.raises(DlpInspectionError):
        rig.stream()
    assert rig.attributes_of("dlp.inspection_failed")[0]["reason_code"] == "interceptor_failed"


def test_the_audited_context_names_the_attempt_and_the_slot(driver: Driver) -> None:
    ledger = Ledger()
    rig = driver.rig(["a secret b"], dlp=HoldBack(), dlp_redaction_audit=ledger)
    rig.stream(correlation_id="c-1")
    ((context, _),) = ledger.records
    assert (context.correlation_id, context.provider_id, context.model_name) == ("c-1", "p", "m")
    assert (context.content_type.name, context.content_location.name) == (
        "MODEL_OUTPUT",
        "MODEL_RESPONSE_CONTENT",
    )


def test_a_stream_that_swaps_text_and_back_is_judged_by_the_whole(driver: Driver) -> None:
    """What it released early was not yet given to it, and yet the whole text is the same."""

    class Ahead(HoldBackStream):
        def feed(self, text: str) -> str:
            return "ab" if text == "a" else ""

        def finish(self) -> str:
            return ""

    dlp = HoldBack()
    dlp.open_stream = lambda context: Ahead(dlp)  # type: ignore[method-assign]  # the oddity under test
    rig = driver.rig({"p": Steps(["a", "b", DONE])}, dlp=dlp)
    assert response_of(rig.stream()).content == "ab"
