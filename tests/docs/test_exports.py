"""What `tramapy` exports is sorted, documented, and costs little to import."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import tramapy
from tests.docs.pages import PAGES, ROOT

MANUAL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

HEAVY = frozenset(
    {
        *(
            "anthropic",
            "anyio",
            "httpx",
            "httpx2",
            "libcst",
            "openai",
            "opentelemetry",
            "pydantic",
            "re2",
            "rich",
        ),
        *("structlog", "trio", "typer"),
    }
)


def _isort_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_exports_are_sorted_and_unique() -> None:
    assert list(tramapy.__all__) == sorted(set(tramapy.__all__), key=_isort_order)


@pytest.mark.parametrize("name", tramapy.__all__)
def test_an_export_exists_and_has_a_docstring(name: str) -> None:
    exported = getattr(tramapy, name)
    if inspect.isclass(exported) or inspect.isfunction(exported):
        assert inspect.cleandoc(
            vars(exported)["__doc__"] if inspect.isclass(exported) else exported.__doc__ or ""
        )


@pytest.mark.parametrize("name", tramapy.__all__)
def test_an_export_is_in_the_documentation(name: str) -> None:
    assert re.search(rf"\b{name}\b", MANUAL), f"no page names {name}"


def test_importing_tramapy_imports_nothing_heavy() -> None:
    code = "import sys, tramapy; print(*sorted(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8", cwd=ROOT
    )
    imported = set(result.stdout.split())
    assert "tramapy.engine.attempt" in imported
    assert imported.isdisjoint(HEAVY)
    assert not [
        name
        for name in imported
        if name.startswith(("tramapy.cli.", "tramapy.testing", "tramapy.providers."))
    ]


def test_names_that_are_imported_late_are_listed_and_others_are_refused() -> None:
    assert dir(tramapy) == sorted(tramapy.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tramapy.nothing
