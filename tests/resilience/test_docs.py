"""The documentation page: its example runs and prints what it says, its tables name the real defaults."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from pathlib import Path

import pytest

from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.resilience.window import CircuitBreakerWindow

PAGE = (Path(__file__).parents[2] / "docs" / "resilience.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group(1)


def test_the_example_prints_what_the_page_says():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "resilience.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == block("text")


@pytest.mark.parametrize("settings", [CircuitBreakerSettings, CircuitBreakerWindow, RetryPolicySettings])
def test_the_tables_name_every_setting_and_its_default(settings):
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)`", PAGE, re.MULTILINE))
    for field in dataclasses.fields(settings):
        default = "100" if field.name == "size_calls" else repr(field.default).replace("'", '"')
        assert rows[field.name] == default
