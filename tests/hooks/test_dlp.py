"""The values of DLP: results, evidence and rule ids."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from tramapy import DlpRedaction, DlpResult, ToolResultFilteringSettings
from tramapy.hooks.dlp import check_rule_id


def test_a_result_knows_whether_it_has_redactions() -> None:
    assert not DlpResult("text").has_redactions
    assert DlpResult("text", [DlpRedaction("ssn", 1)]).has_redactions


def test_a_result_shows_sizes_and_rules_and_no_text() -> None:
    result = DlpResult("secret", [DlpRedaction("ssn", 2)])
    assert repr(result) == (
        "DlpResult(<6 characters>, redactions=(DlpRedaction(rule_id='ssn', replacement_count=2),))"
    )


def test_a_result_takes_keywords_and_any_iterable() -> None:
    result = DlpResult(sanitized_text="text", redactions=iter([DlpRedaction("ssn", 1)]))
    assert result.redactions == (DlpRedaction("ssn", 1),)


def test_a_result_is_frozen_and_a_value() -> None:
    result = DlpResult("text", [DlpRedaction("ssn", 1)])
    for field in ("sanitized_text", "redactions"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field, None)
    assert result == DlpResult("text", [DlpRedaction("ssn", 1)])
    assert hash(result) == hash(copy.deepcopy(result))
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ((None,), r"^DlpResult\.sanitized_text takes a str, not NoneType$"),
        ((b"text",), r"^DlpResult\.sanitized_text takes a str, not bytes$"),
        (("text", ["ssn"]), r"^DlpResult\.redactions takes DlpRedaction, not str$"),
        (("text", "ssn"), r"^DlpResult\.redactions takes several values, not str; give DlpRedaction values$"),
        (("text", 5), r"^DlpResult\.redactions takes several values, not int; give DlpRedaction values$"),
    ],
)
def test_a_malformed_result_is_refused(fields: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        DlpResult(*fields)


@pytest.mark.parametrize(
    ("count", "error", "complaint"),
    [
        (0, ValueError, "below 1; report a rule only where it replaced something"),
        (-1, ValueError, "below 1"),
        (1.0, TypeError, "takes an int"),
        (True, TypeError, "takes an int"),
    ],
)
def test_evidence_counts_what_was_replaced(count: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        DlpRedaction("ssn", count)


@pytest.mark.parametrize("rule_id", ["a", "0", "ssn", "pii.us:ssn_v-2", "x" * 128])
def test_a_rule_id_is_returned(rule_id: str) -> None:
    assert check_rule_id(rule_id) == rule_id
    assert DlpRedaction(rule_id, 1).rule_id == rule_id


@pytest.mark.parametrize(
    ("rule_id", "complaint"),
    [
        ("", "is blank; name the rule"),
        ("  ", "is blank; name the rule"),
        (" canary", "has blanks around it; remove them"),
        ("canary\n", "has blanks around it; remove them"),
        ("canary" * 30, "is longer than 128 characters; shorten it"),
        ("Canary", "starts with a lower-case letter or digit"),
        ("-canary", "starts with a lower-case letter or digit"),
        ("can ary", "starts with a lower-case letter or digit"),
        ("can\nary", "starts with a lower-case letter or digit"),
        ("canäry", "starts with a lower-case letter or digit"),
    ],
    ids=[
        "empty",
        "blank",
        "padded",
        "newline",
        "long",
        "upper case",
        "hyphen first",
        "inner blank",
        "line",
        "umlaut",
    ],
)
def test_a_bad_rule_id_is_refused_and_never_repeated(rule_id: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as caught:
        check_rule_id(rule_id)
    assert "canary" not in str(caught.value).lower()


def test_a_rule_id_is_a_str() -> None:
    with pytest.raises(TypeError, match="a DLP rule id is a str, not int"):
        check_rule_id(5)  # type: ignore[arg-type]  # that is the point


def test_a_text_that_decides_what_it_equals_becomes_a_plain_one() -> None:
    class Sly(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = str.__hash__

    result = DlpResult(Sly("[X]"))
    assert type(result.sanitized_text) is str
    assert result.sanitized_text == "[X]"


def test_a_tool_limit_is_named_by_a_str() -> None:
    with pytest.raises(TypeError, match="a key of type int; each is a str"):
        ToolResultFilteringSettings(max_aggregate_text_length_by_tool={1: 5})
