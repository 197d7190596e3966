"""The package costs nothing until one of its parts is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tramapy.telemetry
from tests.docs.pages import ROOT

_FOREIGN = ("opentelemetry", "google", "structlog", "rich", "typer")


@pytest.mark.parametrize("module", ["tramapy", "tramapy.telemetry", "tramapy.telemetry.jsonl"])
def test_an_import_imports_no_extra(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    imported = {name.partition(".")[0] for name in result.stdout.split()}
    assert "tramapy" in imported
    assert imported.isdisjoint(_FOREIGN)


def test_names_that_are_imported_late_are_listed_and_others_are_refused() -> None:
    assert dir(tramapy.telemetry) == sorted(tramapy.telemetry.__all__)
    assert {*tramapy.telemetry._LAZY} == {*tramapy.telemetry.__all__}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tramapy.telemetry.nothing


@pytest.mark.parametrize("name", tramapy.telemetry.__all__)
def test_an_export_is_what_its_name_says(name: str) -> None:
    exported = getattr(tramapy.telemetry, name)
    assert exported.__doc__
    assert getattr(exported, "__name__", name) == name
