"""The page on rule-based DLP: its example runs, and its table tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tramapy.dlp.dialect import PatternError, parse

PAGE = (Path(__file__).parents[2] / "docs" / "dlp.md").read_text(encoding="utf-8")


def test_the_example_runs():
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/dlp.md", "exec"), {})


@pytest.mark.parametrize(
    "pattern",
    [r"\x41\u0041\U00000041", r"\d\w\s\D\W\S", "[^a-z]", "(?P<name>a)|(b)|(?:c)", r"^\A.*\Z\z$\b\B"],
)
def test_what_the_table_supports_is_accepted(pattern):
    assert parse(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\p{L}", r"\Qa\E", r"\R", r"\h", "[[:alpha:]]", "[a&&b]", "a{,3}", "(a*)*", r"\Ga", "(?s)a"]
)
def test_what_the_table_refuses_is_refused(pattern):
    with pytest.raises(PatternError):
        parse(pattern)
