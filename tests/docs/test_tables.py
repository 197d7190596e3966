"""Tables of the documentation say what the code says."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_type_hints

import pytest

import tramapy
import tramapy.dlp
import tramapy.providers
import tramapy.telemetry
from tests.docs.pages import DOCS, table_rows
from tramapy import CATALOGUE, CallOptions, PipelineSettings, ProviderError, TramapyError, errors
from tramapy.engine import inspection
from tramapy.engine.reporting import failure_kind
from tramapy.hooks.event_page import render_event_page
from tramapy.messages import FinishReason
from tramapy.resilience.breaker import counts
from tramapy.resilience.retry import is_retryable
from tramapy.wire.finish_reasons import (
    chat_finish_reason,
    messages_finish_reason,
    responses_finish_reason,
)

SAMPLES: dict[type[TramapyError], TramapyError] = {
    errors.ConfigurationError: errors.ConfigurationError("x"),
    errors.ProviderError: errors.ProviderError("x"),
    errors.ProviderTimeoutError: errors.ProviderTimeoutError("x"),
    errors.ProviderCapabilityError: errors.ProviderCapabilityError("x", provider_id="p", capability="vision"),
    errors.ResponseTooLargeError: errors.ResponseTooLargeError("x", limit_bytes=1, read_bytes=2),
    errors.CircuitBreakerOpenError: errors.CircuitBreakerOpenError("p", 1.0),
    errors.DeadlineExceededError: errors.DeadlineExceededError("x"),
    errors.DlpInspectionError: errors.DlpInspectionError("x"),
    errors.InterceptorError: errors.InterceptorError("x"),
    errors.TokenBudgetExceededError: errors.TokenBudgetExceededError(
        "attempt", limit_tokens=1, observed_tokens=2, provider_id="p", model="m"
    ),
}


def _code(cell: str) -> str:
    return cell.strip("`")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def test_the_events_page_is_the_rendered_catalogue() -> None:
    page = (DOCS / "events.md").read_text(encoding="utf-8")
    assert render_event_page(CATALOGUE) in page, "paste what `tramapy events --format markdown` prints"


@pytest.mark.parametrize(
    ("head", "options"),
    [("Setting", PipelineSettings), ("Option", CallOptions)],
    ids=["settings", "call options"],
)
def test_the_configuration_page_names_every_setting_with_its_type(head: str, options: Any) -> None:
    rows = table_rows(DOCS / "configuration.md", head)
    written = {name: reference.__forward_arg__ for name, reference in options.__annotations__.items()}
    assert [(_code(row[0]), _code(row[1])) for row in rows] == list(written.items())
    assert get_type_hints(options).keys() == written.keys()


def test_every_error_has_a_sample() -> None:
    classes = (getattr(errors, name) for name in errors.__all__)
    assert {cls for cls in classes if isinstance(cls, type) and issubclass(cls, TramapyError)} == {
        TramapyError,
        *SAMPLES,
    }


def test_the_errors_page_says_what_is_retried_and_counted() -> None:
    rows = {_code(row[0]): (row[2], row[3]) for row in table_rows(DOCS / "errors.md", "Error", "Whose fault")}
    expected = {
        error_type.__name__: (_yes(is_retryable(error)), _yes(counts(error)))
        for error_type, error in SAMPLES.items()
    }
    expected["ProviderError"] = ("as `retryable` says", "as `counts_on_breaker` says")
    assert rows == expected


@pytest.mark.parametrize("retryable", [True, False], ids=["retryable", "final"])
def test_a_provider_error_is_judged_by_its_fields(retryable: bool) -> None:
    assert is_retryable(ProviderError("x", retryable=retryable)) is retryable
    for counts_on_breaker in (True, False):
        assert (
            counts(ProviderError("x", retryable=retryable, counts_on_breaker=counts_on_breaker))
            is counts_on_breaker
        )
    assert counts(ProviderError("x", retryable=retryable)) is retryable


def test_the_errors_page_draws_the_tree() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    drawn = dict(re.findall(r"^([ │├└─]*)(\w+Error)(?= |$)", page, re.MULTILINE))
    lines = re.findall(r"^([ │├└─]*── )(\w+Error)(?: +also an? (\w+))?$", page, re.MULTILINE)
    parents: list[tuple[int, str]] = [(-1, "Exception")]
    seen: set[str] = set()
    for indent, name, other in lines:
        depth = len(indent)
        while parents[-1][0] >= depth:
            parents.pop()
        bases = [base.__name__ for base in getattr(errors, name).__bases__]
        assert bases == [parents[-1][1], *([other] if other else [])], name
        parents.append((depth, name))
        seen.add(name)
    assert drawn
    assert seen == {"TramapyError", *(error_type.__name__ for error_type in SAMPLES)}


def test_the_pipeline_page_says_who_counts_on_the_breaker() -> None:
    rows = table_rows(DOCS / "pipeline.md", "What ended the attempt")
    found = {match[1]: row for row in rows if (match := re.fullmatch(r"`(\w+Error)`", row[0]))}
    for name in (
        "ProviderTimeoutError",
        "DlpInspectionError",
        "InterceptorError",
        "TokenBudgetExceededError",
    ):
        error = SAMPLES[getattr(errors, name)]
        assert found[name][1] == _yes(is_retryable(error)), name
        assert (found[name][3] == "neutral") is not counts(error), name


def test_failure_kinds_are_those_of_the_catalogue() -> None:
    described = re.findall(r"`(\w+)`", CATALOGUE.keys["failure_kind"].description)
    assert {failure_kind(error) for error in SAMPLES.values()} | {"engine"} == set(described)


def test_the_dlp_page_names_every_reason_code() -> None:
    page = (DOCS / "dlp-hook.md").read_text(encoding="utf-8")
    for reason_code in ("rejected", *inspection._REASONS):
        assert f"`{reason_code}`" in page


def test_names_that_the_tramai_page_gives_exist() -> None:
    known = {
        name
        for module in (tramapy, tramapy.dlp, tramapy.providers, tramapy.telemetry)
        for name in module.__all__
    }
    rows = table_rows(DOCS / "coming-from-tramai.md", "TramAI", "Here")
    assert rows
    for row in rows:
        for name in re.findall(r"`([A-Z]\w+)\b", row[1]):
            assert name in known | {"None"}, f"{name} is not exported"


def test_the_providers_page_lists_every_provider_and_option() -> None:
    page = DOCS / "providers.md"
    listed = {_code(row[0]) for row in table_rows(page, "Class")}
    assert listed == set(tramapy.providers.__all__) - {"ThreadedProvider"}
    options = {_code(row[0]) for row in table_rows(page, "Option")}
    taken = {
        name
        for provider in listed
        for name in inspect.signature(getattr(tramapy.providers, provider)).parameters
    }
    assert options == taken - {"client"}


def test_the_providers_page_says_how_each_finish_reason_is_worded() -> None:
    rows = table_rows(DOCS / "providers.md", "`finish_reason`")
    assert [_code(row[0]) for row in rows] == [reason.name for reason in FinishReason]
    for reason, chat, responses, messages in rows[:-1]:
        expected = FinishReason[_code(reason)]
        assert {chat_finish_reason(word) for word in _words(chat)} == {expected}
        assert {messages_finish_reason(word) for word in _words(messages)} == {expected}
        found = {
            responses_finish_reason(word, None, has_tool_calls="with a call" in responses)
            if word == "completed"
            else responses_finish_reason("incomplete", word, has_tool_calls=False)
            for word in _words(responses)
        }
        assert found == {expected}


def _words(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)
