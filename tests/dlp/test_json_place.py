"""Cuts that reach over the marks of JSON."""

from __future__ import annotations

import json

import pytest

from tests.dlp.contexts import default_rules, inspect
from tramapy.dlp import DlpRule
from tramapy.dlp.claims import Claim
from tramapy.dlp.json_place import JsonPlace
from tramapy.dlp.json_spans import fitted_spans
from tramapy.dlp.operators import Operators
from tramapy.dlp.splicing import Splicer


def test_a_backslash_outside_of_a_string_escapes_nothing() -> None:
    place = JsonPlace()
    place.read("[1, ")
    assert place.fit("[R]", '\\ "z"') == '[R]"[R]"'


@pytest.mark.parametrize("number", ["1.5e10", "-2E+30", "4111111111111111.0"])
def test_a_number_in_any_form_becomes_a_string(number: str) -> None:
    dlp = default_rules()
    sanitized = inspect(dlp, f'{{"password": {number}}}').sanitized_text
    assert json.loads(sanitized) in (
        {"password": "[REDACTED:password]"},
        {"password": "[REDACTED:credit_card]"},
    )


def test_a_cut_of_nothing_but_marks_is_none() -> None:
    rule = DlpRule(id="marks", pattern="x", replacement="[R]")
    splicer = Splicer([rule], Operators(None), None)
    text = '{"a": "b"}'
    assert splicer.splice(text, [Claim(3, -7, False, 0)]) == text
    assert splicer.redactions == ()


def fitted(text: str, *spans: tuple[int, int]) -> list[tuple[int, int]]:
    return [
        (claim.start, claim.end) for claim in fitted_spans(text, [Claim(a, -b, False, 0) for a, b in spans])
    ]


def test_quotes_alone_hold_nothing() -> None:
    assert fitted('["", 1]', (1, 3)) == []
    assert fitted(r'["ab\u0041"]', (2, 4)) == [(2, 4)]


def test_two_claims_in_one_number_or_escape_are_one() -> None:
    assert fitted("[123456]", (1, 3), (4, 6)) == [(1, 7)]
    assert fitted(r'["\u0041b"]', (3, 5), (6, 9)) == [(2, 9)]
