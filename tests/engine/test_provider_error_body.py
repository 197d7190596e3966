"""DLP of what a provider says when it fails: `PROVIDER_ERROR_BODY` (decision 2)."""

from __future__ import annotations

import concurrent.futures

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Diagnostics, FailingLedger, Ledger, Scripted, Words, down, raising, retries
from tramapy import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DlpContentLocation,
    DlpContentType,
    DlpInspectionError,
    DlpResult,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    ResponseTooLargeError,
    TramapyError,
)
from tramapy.testing import ScriptedProvider, assert_no_canary

CANARY = "canary-7f3a9c"
MASK = Words({CANARY: "[S]"})


def leaky(**fields: object) -> ProviderError:
    return ProviderError(f"rejected: {CANARY}", **fields)  # type: ignore[arg-type]  # the fields of ProviderError


def test_a_message_is_inspected_where_it_stands(driver: Driver) -> None:
    dlp = Words()
    rig = driver.rig([ProviderError("plain")], dlp=dlp)
    with pytest.raises(ProviderError):
        rig.complete()
    assert dlp.seen == [(DlpContentLocation.PROVIDER_ERROR_BODY, "plain")]
    (context,) = dlp.contexts
    assert (context.content_type, context.provider_id, context.model_name) == (
        DlpContentType.MODEL_OUTPUT,
        "p",
        "m",
    )


def test_a_clean_message_leaves_the_very_same_error(driver: Driver) -> None:
    error = ProviderError("plain")
    rig = driver.rig([error], dlp=MASK)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is error


def test_a_redacted_message_keeps_what_else_the_error_says(driver: Driver) -> None:
    error = leaky(
        status_code=429,
        retry_after_s=99.0,
        failure_code=ProviderFailureCode.RATE_LIMITED,
        counts_on_breaker=True,
    )
    diagnostics = Diagnostics()
    rig = driver.rig([error], dlp=MASK, diagnostic_observers=[diagnostics])
    with pytest.raises(ProviderError, match=r"rejected: \[S\]") as caught:
        rig.complete()
    found = caught.value
    assert (found.retryable, found.status_code, found.retry_after_s) == (False, 429, 99.0)
    assert found.failure_code is ProviderFailureCode.RATE_LIMITED
    assert found.counts_on_breaker
    assert diagnostics.found[0].error is error
    assert_no_canary(CANARY, found, rig.observer.events)


def test_a_timeout_stays_a_timeout(driver: Driver) -> None:
    rig = driver.rig([ProviderTimeoutError(CANARY, retry_after_s=99.0)], dlp=MASK, retry=retries(0))
    with pytest.raises(ProviderTimeoutError, match=r"\[S\]") as caught:
        rig.complete()
    assert caught.value.retry_after_s == 99.0


def test_any_other_subclass_becomes_a_plain_error(driver: Driver) -> None:
    """Its own fields may hold the words, too."""
    rig = driver.rig([ResponseTooLargeError(CANARY, limit_bytes=1, read_bytes=2)], dlp=MASK)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert type(caught.value) is ProviderError
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE


def test_a_redacted_failure_is_retried_as_before(driver: Driver) -> None:
    provider = ScriptedProvider([leaky(retryable=True, retry_after_s=2.0), "answer"])
    rig = driver.rig(provider, dlp=MASK)
    assert rig.complete().content == "answer"
    assert rig.clock.sleeps == (2.0,)


def test_the_redaction_is_evidence(driver: Driver) -> None:
    ledger = Ledger()
    rig = driver.rig([leaky()], dlp=MASK, dlp_redaction_audit=ledger)
    with pytest.raises(ProviderError):
        rig.complete()
    assert ledger.records[0][0].content_location is DlpContentLocation.PROVIDER_ERROR_BODY
    assert rig.attributes_of("dlp.redacted")[0]["content_location"] == "provider_error_body"


@pytest.mark.parametrize(
    "settings",
    [
        {"dlp": Scripted(raising(ValueError(CANARY)))},
        {"dlp": Scripted(raising(DlpInspectionError("refused")))},
        {"dlp": MASK, "dlp_redaction_audit": FailingLedger()},
    ],
    ids=["failing", "rejecting", "audit"],
)
def test_a_failing_inspection_withholds_the_words_and_the_error_stands(
    driver: Driver, settings: dict[str, object]
) -> None:
    rig = driver.rig([leaky(retryable=True, status_code=503), "answer"], retry=retries(0), **settings)
    with pytest.raises(ProviderError, match="Provider 'p' failed; DLP withheld its message") as caught:
        rig.complete()
    assert (caught.value.retryable, caught.value.status_code) == (True, 503)
    assert_no_canary(CANARY, caught.value)
    assert len(rig.attributes_of("dlp.inspection_failed")) == 1
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "provider"


def test_a_cancellation_during_it_is_a_cancellation(driver: Driver) -> None:
    rig = driver.rig([down()], dlp=Scripted(raising(concurrent.futures.CancelledError())))
    with pytest.raises(concurrent.futures.CancelledError):
        rig.complete()
    assert rig.names[-2:] == ["attempt.cancelled", "operation.completed"]


def test_without_words_there_is_nothing_to_inspect(driver: Driver) -> None:
    dlp = Words()
    rig = driver.rig([ProviderError("")], dlp=dlp)
    with pytest.raises(ProviderError):
        rig.complete()
    assert dlp.seen == []


def test_the_words_of_a_defect_are_not_shown_at_all(driver: Driver) -> None:
    dlp = Scripted(lambda _, text: DlpResult(text))
    rig = driver.rig([RuntimeError(CANARY)], dlp=dlp)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert_no_canary(CANARY, caught.value, rig.observer.events)


def test_the_words_of_a_cause_go(driver: Driver) -> None:
    """They were inspected by nobody, and a provider error may well be raised from another."""
    error = ProviderError("plain")
    error.__cause__ = leaky()
    rig = driver.rig([error], dlp=MASK)
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value.__cause__ is None
    assert_no_canary(CANARY, caught.value)


def test_notes_were_not_inspected_so_they_go(driver: Driver) -> None:
    error = ProviderError("plain")
    error.add_note(CANARY)
    rig = driver.rig([error], dlp=MASK)
    with pytest.raises(ProviderError, match="plain") as caught:
        rig.complete()
    assert_no_canary(CANARY, caught.value.with_traceback(None))


class WithBody(ProviderError):
    def __init__(self, message: str, body: object) -> None:
        super().__init__(message)
        self.body = body


class Wordy(ProviderError):
    def __str__(self) -> str:
        return "plain"


class Broken(ProviderError):
    def __str__(self) -> str:
        raise ValueError(CANARY)


class Bare(ProviderError):
    def __init__(self) -> None:
        Exception.__init__(self, CANARY)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(WithBody("plain", CANARY), id="attribute"),
        pytest.param(Wordy(CANARY), id="own-str-over-dirty-args"),
        pytest.param(Broken("plain"), id="str-raises"),
        pytest.param(Bare(), id="no-super-init"),
        pytest.param(ProviderError("plain", status_code=CANARY), id="status"),
        pytest.param(ProviderError("plain", retryable=True, retry_after_s=CANARY), id="hint"),
        pytest.param(ProviderError("plain", failure_code=CANARY), id="failure-code"),
        pytest.param(ExceptionGroup("g", [WithBody("plain", CANARY)]), id="leaf-of-a-group"),
        pytest.param(ResponseTooLargeError("plain", limit_bytes=CANARY, read_bytes=2), id="too-large"),
        pytest.param(CircuitBreakerOpenError(CANARY, 1.0), id="inner-breaker"),
        pytest.param(ConfigurationError(f"bad {CANARY}"), id="configuration"),
    ],
)
def test_what_was_not_inspected_does_not_stay_on_an_error(driver: Driver, error: Exception) -> None:
    rig = driver.rig([error], dlp=MASK, retry=retries(0))
    with pytest.raises(TramapyError) as caught:
        rig.complete()
    assert_no_canary(CANARY, caught.value.with_traceback(None), rig.observer.events)


@pytest.mark.parametrize(
    "error", [Bare(), ProviderError("x", failure_code="y"), ProviderError("x", status_code="z")]
)
def test_an_error_with_unusable_fields_is_a_defect(driver: Driver, error: ProviderError) -> None:
    rig = driver.rig([error], retry=retries(2))
    with pytest.raises(ProviderError, match="fields have the wrong type or are missing") as caught:
        rig.complete()
    assert not caught.value.retryable
    assert rig.clock.sleeps == ()


def test_a_body_that_was_too_large_keeps_its_sizes(driver: Driver) -> None:
    rig = driver.rig([ResponseTooLargeError("plain", limit_bytes=1, read_bytes=2)], dlp=MASK)
    with pytest.raises(ResponseTooLargeError) as caught:
        rig.complete()
    assert (caught.value.limit_bytes, caught.value.read_bytes) == (1, 2)


def test_a_shared_error_is_not_changed_by_its_judgement(driver: Driver) -> None:
    error = ProviderError("down", retryable=True)
    error.__cause__ = ConfigurationError("x")
    rig = driver.rig([error], retry=retries(0))
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert error.counts_on_breaker
    assert not caught.value.counts_on_breaker
