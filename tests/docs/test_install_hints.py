"""What is said about installing can be pasted into any shell: brackets are quoted, and always in the same way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, page_id

SOURCES = [
    *PAGES,
    ROOT / "CHANGELOG.md",
    *sorted(path for package in ("tramapy", "safety_gate") for path in (ROOT / package).rglob("*.py")),
]
EXTRA = re.compile(r"tramapy\[[\w,{}. ]+\]")
INSTALLED = re.compile(r"pip install (?:--upgrade )?'tramapy\[[\w,{}.]+\]'")


def wrong_hints(text: str) -> list[str]:
    """Return the lines that name an extra in another way than `pip install 'tramapy[extra]'`."""
    return [line for line in text.splitlines() if EXTRA.search(INSTALLED.sub("", line))]


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if EXTRA.search(path.read_text("utf-8"))], ids=page_id
)
def test_an_extra_is_named_as_a_shell_takes_it(path: Path) -> None:
    assert wrong_hints(path.read_text("utf-8")) == []


def test_other_ways_are_seen() -> None:
    for hint in ("install tramapy[re2]", 'pip install "tramapy[re2]"', "pip install tramapy[cli,re2]"):
        assert wrong_hints(hint)
    assert not wrong_hints("with pip install 'tramapy[cli,re2]', or")
