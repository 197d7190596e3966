"""The five examples of the guide that this project follows, as they stand in the documentation, under more load."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from types import ModuleType

import pytest

from tests.docs.pages import DOCS, module_of
from tests.drivers import HELLO, NO_JITTER, Driver, text_of
from tramapy import (
    CircuitBreakerSettings,
    DlpContext,
    DlpInspectionError,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    InterceptorError,
    Message,
    ModelResponse,
    OperationInterceptor,
    ProviderError,
    RetryPolicySettings,
    TextPart,
)
from tramapy.testing import ScriptedProvider, split_every

CARD = "4111111111111111"


@pytest.fixture(scope="module")
def interceptors() -> ModuleType:
    return module_of(DOCS / "interceptors.md")


@pytest.fixture(scope="module")
def dlp_hook() -> ModuleType:
    return module_of(DOCS / "dlp-hook.md")


@pytest.fixture(scope="module")
def observers() -> ModuleType:
    return module_of(DOCS / "observers.md")


def test_card_masking_masks_both_sides(driver: Driver, interceptors: ModuleType) -> None:
    provider = ScriptedProvider([f"yours is {CARD}"])
    rig = driver.rig(provider, interceptors=[interceptors.CardMasking()])
    assert rig.complete([Message.user(f"pay with {CARD}")]).content == "yours is [CARD]"
    assert provider.requests[0].messages[0].content == "pay with [CARD]"


def test_card_masking_masks_text_parts(driver: Driver, interceptors: ModuleType) -> None:
    provider = ScriptedProvider([ModelResponse(content_parts=(TextPart(CARD), TextPart("!")))])
    rig = driver.rig(provider, interceptors=[interceptors.CardMasking()])
    response = rig.complete([Message.user([TextPart(f"pay with {CARD}")])])
    assert response.content_parts == (TextPart("[CARD]"), TextPart("!"))
    assert provider.requests[0].messages[0].content_parts == (TextPart("pay with [CARD]"),)


@pytest.mark.parametrize("piece_length", [1, 3, 7, 100])
def test_card_masking_holds_in_a_stream_however_it_is_cut(
    driver: Driver, interceptors: ModuleType, piece_length: int
) -> None:
    provider = ScriptedProvider([f"yours is {CARD}, mine too"], split=split_every(piece_length))
    rig = driver.rig(provider, interceptors=[interceptors.CardMasking()])
    assert text_of(rig.stream([Message.user(f"pay with {CARD}")])) == "yours is [CARD], mine too"
    assert provider.requests[0].messages[0].content == "pay with [CARD]"


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        ("078-05-1120 and 219-09-9999, 4111 1111 1111 1111", [("ssn", 2), ("card", 1)]),
        ("4111-1111-1111-1111 alone", [("card", 1)]),
        ("078-05-1120 alone", [("ssn", 1)]),
        ("nothing of the kind", []),
    ],
    ids=["both", "card", "ssn", "clean"],
)
def test_regex_redaction_reports_honest_counts_under_audit(
    driver: Driver, dlp_hook: ModuleType, answer: str, counts: list[tuple[str, int]]
) -> None:
    class Audit(DlpRedactionAuditEmitter):
        records: Sequence[DlpRedaction] = ()

        def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
            self.records = redactions

    audit = Audit()
    rig = driver.rig([answer], dlp=dlp_hook.SsnAndCardRedaction(), dlp_redaction_audit=audit)
    content = rig.complete().content
    assert [(redaction.rule_id, redaction.replacement_count) for redaction in audit.records] == counts
    assert (content == answer) is not bool(counts)
    assert "1111" not in content
    assert "1120" not in content


def test_rejecting_classified_output_is_neutral(driver: Driver, dlp_hook: ModuleType) -> None:
    provider = ScriptedProvider(["CLASSIFIED", "CLASSIFIED", "in the open"])
    rig = driver.rig(
        provider, dlp=dlp_hook.RejectClassified(), circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    for _ in range(2):
        with pytest.raises(DlpInspectionError, match="Model output contains classified data"):
            rig.complete()
    assert rig.complete().content == "in the open"
    assert len(provider.requests) == 3
    assert "circuit.opened" not in rig.names
    assert "retry.scheduled" not in rig.names


def test_classified_words_of_the_caller_are_not_rejected(driver: Driver, dlp_hook: ModuleType) -> None:
    rig = driver.rig(["yes"], dlp=dlp_hook.RejectClassified(), request_dlp=dlp_hook.RejectClassified())
    assert rig.complete([Message.user("Is it CLASSIFIED?")]).content == "yes"


def test_alerting_receives_the_opened_circuit_with_its_provider(
    driver: Driver, observers: ModuleType
) -> None:
    alerts = observers.AlertObserver()
    rig = driver.rig(
        [ProviderError("down", retryable=True)],
        retry=RetryPolicySettings(provider_retries=0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        event_observers=[alerts],
    )
    with pytest.raises(ProviderError):
        rig.complete()
    assert alerts.platform == ["Provider circuit opened: p"]
    assert alerts.security == []


def test_alerting_receives_failed_inspections(driver: Driver, observers: ModuleType) -> None:
    alerts = observers.AlertObserver()
    rig = driver.rig(["x"], dlp=observers.RejectAll(), event_observers=[alerts])
    with pytest.raises(DlpInspectionError):
        rig.complete()
    assert alerts.security == ["tramai.dlp.inspection_failed: rejected"]


def test_alerting_receives_rejected_tool_results(
    driver: Driver, observers: ModuleType, dlp_hook: ModuleType
) -> None:
    alerts = observers.AlertObserver()
    rig = driver.rig(["x"], dlp=dlp_hook.SsnAndCardRedaction(), event_observers=[alerts])
    with pytest.raises(DlpInspectionError):
        rig.complete([*HELLO, Message.tool("x" * 100_001, tool_call_id="call_1")])
    assert alerts.security == ["tramai.dlp.tool_result_rejected: aggregate_text_limit_exceeded"]


def test_a_mask_that_fails_sends_nothing(driver: Driver, interceptors: ModuleType) -> None:
    provider = ScriptedProvider(["never"])
    rig = driver.rig(provider, interceptors=[interceptors.BrokenMasking()], retry=NO_JITTER)
    with pytest.raises(InterceptorError, match="raised LookupError") as failed:
        rig.complete([Message.user(CARD)])
    assert provider.requests == ()
    assert CARD not in str(failed.value)


@pytest.mark.parametrize(
    "cancellation", [KeyboardInterrupt, asyncio.CancelledError], ids=["interrupt", "asyncio"]
)
def test_the_cancellation_safe_mask_passes_a_cancellation_on_and_logs_nothing(
    interceptors: ModuleType, cancellation: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    class Cancelled(interceptors.CancellationSafeMasking):  # type: ignore[name-defined]
        def _masked(self, value: object) -> object:
            raise cancellation

    interceptor: OperationInterceptor = Cancelled()
    provider = ScriptedProvider(["never"])
    rig = Driver("sync").rig(provider, interceptors=[interceptor])
    with caplog.at_level(logging.DEBUG), pytest.raises(cancellation):
        rig.complete([Message.user(CARD)])
    assert provider.requests == ()
    assert "shop" not in {record.name for record in caplog.records}
