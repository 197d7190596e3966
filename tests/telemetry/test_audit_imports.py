"""What `tramapy.telemetry` exports is imported when it is asked for."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tramapy.telemetry
from tests.docs.pages import PAGES, ROOT

MANUAL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("name", tramapy.telemetry.__all__)
def test_an_export_is_there(name: str) -> None:
    assert getattr(tramapy.telemetry, name).__name__ == name
    assert name in dir(tramapy.telemetry)


@pytest.mark.parametrize("name", tramapy.telemetry.__all__)
def test_an_export_is_in_the_documentation(name: str) -> None:
    assert re.search(rf"\b{name}\b", MANUAL), f"no page names {name}"


def test_a_name_that_is_not_exported_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tramapy.telemetry.nothing


def test_importing_the_package_imports_no_part_of_it() -> None:
    code = "import sys, tramapy.telemetry; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    imported = set(result.stdout.split())
    assert imported.isdisjoint({"anyio", "opentelemetry", "structlog"})
    assert [name for name in imported if name.startswith("tramapy.telemetry.")] == []


def test_the_audit_log_needs_no_event_loop() -> None:
    code = "import sys; from tramapy.telemetry import AuditLog, FileAuditStore; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert {"anyio", "asyncio", "trio"}.isdisjoint(result.stdout.split())
