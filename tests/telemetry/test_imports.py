"""The package is cheap to import, and says what to install where an extra is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT
from tramapy import telemetry


def test_importing_the_package_imports_no_extra() -> None:
    code = (
        "import sys, tramapy, tramapy.telemetry, tramapy.telemetry.metric_names; print(*sorted(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8", cwd=ROOT
    )
    imported = set(result.stdout.split())
    assert "tramapy.telemetry" in imported
    assert imported.isdisjoint({"opentelemetry", "google.protobuf", "structlog", "http.server"})


@pytest.mark.parametrize("name", telemetry.__all__)
def test_every_name_is_exported(name: str) -> None:
    assert getattr(telemetry, name).__name__ == name
    assert name in dir(telemetry)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'tramapy\.telemetry' has no attribute 'Nothing'"):
        _ = telemetry.Nothing


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("tramapy.telemetry.otel_import", "opentelemetry.context"),
        ("tramapy.telemetry.otlp_import", "opentelemetry.proto.collector.trace.v1.trace_service_pb2"),
    ],
)
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str, missing: str) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    package, _, name = missing.rpartition(".")
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delattr(importlib.import_module(package), name, raising=False)
    with pytest.raises(ImportError, match=r"pip install 'tramapy\[otel\]'"):
        importlib.import_module(module)
